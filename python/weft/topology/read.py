"""A topology from a file; docs/topology.md describes what may stand in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from weft import _core
from weft.errors import InvalidArgument
from weft.topology import networks, parts
from weft.topology.fields import BYTES, BYTES_PER_SECOND, SECONDS, Field, read
from weft.topology.parts import MOST_RANKS, Node, Rates, Switch, Wire

_TOP = ("name", "nodes", "network", "ports", "rates")
_WIRE = ("overhead", "duplex", "shared", "memory", "watts")


def topology_of(path: Path, nodes: int | None = None) -> _core.Topology:
    """Reads a file; `nodes` replaces the number that stands there.

    Raises InvalidArgument with the line of what is wrong.
    """
    whole = read(path)
    top = whole.fields(["node"], _TOP)
    name = top["name"].text() if "name" in top else path.stem
    general: dict[str, Any] = {
        "name": name,
        "rates": _rates(top["rates"]) if "rates" in top else Rates(),
        "one_port": "ports" in top and top["ports"].choice(["one", "many"]) == "one",
    }
    node = _node(top["node"])
    if "network" not in top:
        if nodes or "nodes" in top:
            raise (top.get("nodes") or whole).wrong("nodes without a network that joins them")
        topology = networks.alone(node, **general)
    elif nodes is None and "nodes" not in top:
        raise top["network"].wrong("a network joins nodes: say how many, as in `nodes: 8`")
    else:
        count = nodes or top["nodes"].whole()
        topology = _network(top["network"], count, node, general)
    if lost := parts.unreached(topology):
        raise top["node"].wrong(f"no way leads from rank 0 to {', '.join(lost[:5])}: add links")
    return topology


def _wire(field: Field) -> Wire:
    return _wire_of(field.fields(["latency", "bandwidth"], _WIRE))


def _wire_of(found: dict[str, Field]) -> Wire:
    wire: dict[str, Any] = {
        "latency": found["latency"].quantity(SECONDS),
        "bandwidth": found["bandwidth"].quantity(BYTES_PER_SECOND, positive=True),
    }
    if "overhead" in found:
        wire["overhead"] = found["overhead"].quantity(SECONDS)
    if "duplex" in found:
        wire["duplex"] = found["duplex"].choice(["full", "half"])
    for flag in ("shared", "memory"):
        if flag in found:
            wire[flag] = found[flag].flag()
    if "watts" in found:
        watts = found["watts"].items()
        if len(watts) != 2:
            raise found["watts"].wrong("watts are two numbers: [idle, busy]")
        wire["watts"] = (watts[0].quantity({"W": 1.0}), watts[1].quantity({"W": 1.0}))
    return Wire(**wire)


def _switch(field: Field) -> Switch:
    return _switch_of(field.fields([], ["latency", "bandwidth"]))


def _switch_of(found: dict[str, Field]) -> Switch:
    return Switch(
        found["latency"].quantity(SECONDS) if "latency" in found else 0.0,
        found["bandwidth"].quantity(BYTES_PER_SECOND) if "bandwidth" in found else 0.0,
    )


def _place(found: dict[str, Field]) -> tuple[int, int]:
    return (
        found["node"].whole(0) if "node" in found else 0,
        found["socket"].whole(0) if "socket" in found else -1,
    )


def _rates(field: Field) -> Rates:
    units = {
        "copy": BYTES_PER_SECOND, "reduce": BYTES_PER_SECOND, "step": SECONDS, "call": SECONDS
    }  # fmt: skip
    found = field.fields([], [*units, "by_size"])
    by_size = found.pop("by_size", None)
    rates: dict[str, Any] = {word: one.quantity(units[word]) for word, one in found.items()}
    return Rates(**rates, by_size=_by_size(by_size) if by_size else ())


def _by_size(field: Field) -> list[_core.SizedRates]:
    rates: list[_core.SizedRates] = []
    for item in field.items():
        found = item.fields(["bytes", "copy", "reduce"], ["fetch", "store"])
        bytes = found.pop("bytes").quantity(BYTES, positive=True)
        if rates and bytes <= rates[-1].bytes:
            raise item.wrong("by_size goes from few bytes to many")
        given = {word: one.quantity(BYTES_PER_SECOND) for word, one in found.items()}
        rates.append(_core.SizedRates(bytes, **given))
    return rates


def _node(field: Field) -> Node:
    if any(name.text() == "pcie_tree" for name, _ in field.pairs()):
        return _pcie_tree(field.fields(["pcie_tree"])["pcie_tree"])
    found = field.fields(["ranks"], ["switches", "links", "attach"])
    node = Node([])
    _ranks(found["ranks"], node)
    if "switches" in found:
        for name, value in found["switches"].pairs():
            if name.text() in node.ranks:
                raise name.wrong(f"{name.text()} is a rank already")
            given = value.fields([], ["latency", "bandwidth", "node", "socket"])
            node.switches[name.text()] = _switch_of(given)
            node.places[name.text()] = _place(given)
    for item in found["links"].items() if "links" in found else []:
        _link(item, node)
    if "attach" in found:
        node.attach = [_known(item, node) for item in found["attach"].items()]
    return node


def _ranks(field: Field, node: Node) -> None:
    if field.is_list():
        for item in field.items():
            if item.text() in node.ranks:
                raise item.wrong(f"{item.text()} is there twice")
            node.ranks.append(item.text())
        return
    for name, value in field.pairs():
        node.ranks.append(name.text())
        node.places[name.text()] = _place(value.fields([], ["node", "socket"]))


def _known(field: Field, node: Node) -> str:
    name = field.text()
    if name not in node.ranks and name not in node.switches:
        raise field.wrong(f"{name} is neither a rank nor a switch of the node")
    return name


def _link(field: Field, node: Node) -> None:
    found = field.fields(["between", "latency", "bandwidth"], _WIRE)
    ends = found["between"].items()
    if len(ends) != 2 or ends[0].text() == ends[1].text():
        raise found["between"].wrong("a link is between two: [a, b]")
    node.links.append((_known(ends[0], node), _known(ends[1], node), _wire_of(found)))


def _pcie_tree(field: Field) -> Node:
    found = field.fields(["sockets", "plx", "gpus", "pcie"], ["hcas", "between_sockets"])
    sockets, plx, gpus = found["sockets"].whole(), found["plx"].whole(0), found["gpus"].whole()
    hcas = found["hcas"].whole(0) if "hcas" in found else 1
    if sockets * (sockets + max(plx, 1) * (1 + gpus)) + hcas > MOST_RANKS:
        raise field.wrong(f"a node has more than {MOST_RANKS} parts: give fewer")
    return parts.pcie_tree(
        sockets=sockets,
        plx=plx,
        gpus=gpus,
        pcie=_wire(found["pcie"]),
        hcas=hcas,
        between_sockets=_wire(found["between_sockets"]) if "between_sockets" in found else None,
    )


# Kind -> what it needs, and what else it may be given, beside `link`.
_NETWORKS: dict[str, tuple[list[str], list[str]]] = {
    "flat": ([], ["switch"]),
    "fat_tree": (["nodes_a_leaf", "uplink"], ["roots", "rails", "leaf", "root"]),
    "dragonfly": (
        ["routers", "nodes_a_router", "local", "between_groups"],
        ["global_links", "router"],
    ),
}
_NUMBERS = ("nodes_a_leaf", "roots", "rails", "routers", "nodes_a_router", "global_links")
_WIRES = ("uplink", "local", "between_groups")


def _network(field: Field, count: int, node: Node, general: dict[str, Any]) -> _core.Topology:
    kinds = field.fields([], _NETWORKS)
    if len(kinds) != 1:
        raise field.wrong(f"a network is one of {', '.join(_NETWORKS)}")
    ((kind, value),) = kinds.items()
    if not node.attach:
        raise field.wrong("the node says not where the network attaches: `attach: [name, ...]`")
    required, optional = _NETWORKS[kind]
    found = value.fields(["link", *required], optional)
    link = _wire(found.pop("link"))
    options: dict[str, Any] = {}
    for word, given in found.items():
        if word in _NUMBERS:
            options[word] = given.whole()
        else:
            options[word] = _wire(given) if word in _WIRES else _switch(given)
    generator = getattr(networks, kind)
    try:
        topology: _core.Topology = generator(count, link, node=node, **options, **general)
    except InvalidArgument as error:
        raise field.wrong(str(error)) from None
    return topology
