"""The parts of topologies: wires, switches and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft import _core
from weft.errors import InvalidArgument

MOST_RANKS = 1 << 16
MOST_PARTS = 1 << 20  # vertices, and links, of a topology


@dataclass(frozen=True)
class Wire:
    """A link by its properties: seconds, bytes a second, watts.

    `bandwidth` is that of each direction, or of both together if `duplex` is "half". Each message
    occupies the link for its bytes and for `overhead`, and is `latency` late. `shared=False`: every
    message has the whole bandwidth. `memory`: payloads are fetched by the step that uses them.
    `watts` are (idle, busy).
    """

    latency: float
    bandwidth: float
    overhead: float = 0.0
    duplex: str = "full"
    shared: bool = True
    memory: bool = False
    watts: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Switch:
    """A switch, which all messages through it share; bandwidth 0 is no limit."""

    latency: float = 0.0
    bandwidth: float = 0.0


@dataclass
class Node:
    """Ranks and switches of one node, the links between them, and where the network attaches.

    `places` gives ranks and switches a socket; in a topology without a network also a node.
    """

    ranks: list[str]
    switches: dict[str, Switch] = field(default_factory=dict)
    links: list[tuple[str, str, Wire]] = field(default_factory=list)
    attach: list[str] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """The rates of a rank: bytes a second (0: no time), and seconds for a step and for a call.

    `reduce` counts source bytes: a + b of 8 bytes each are 16. `by_size` has the rates of a rank
    whose buffers have `bytes` bytes together: `copy` and `reduce`; `fetch`, the highest rate at
    which it reads peers' memory; `store`, the highest rate at which it reduces into its own slots.
    """

    copy: float = 0.0
    reduce: float = 0.0
    step: float = 0.0
    call: float = 0.0
    by_size: Sequence[_core.SizedRates] = ()


def single(rank: str = "rank") -> Node:
    """A node of one rank that is attached itself."""
    return Node([rank], attach=[rank])


def pcie_tree(
    *,
    sockets: int,
    plx: int,
    gpus: int,
    pcie: Wire,
    hcas: int = 1,
    between_sockets: Wire | None = None,
) -> Node:
    """Sockets with `plx` switches each, `gpus` ranks under each switch; HCAs attach the network.

    HCA i hangs on socket i mod `sockets`. Without switches (plx=0) the ranks hang on the socket.
    `between_sockets` joins each pair of sockets.
    """
    node = Node([])
    for socket in range(sockets):
        node.switches[f"socket{socket}"] = Switch()
        node.places[f"socket{socket}"] = (0, socket)
        for other in range(socket):
            node.links.append((f"socket{other}", f"socket{socket}", between_sockets or pcie))
        for card in range(max(plx, 1)):
            above = f"socket{socket}"
            if plx:
                above = f"plx{socket * plx + card}"
                node.switches[above] = Switch()
                node.places[above] = (0, socket)
                node.links.append((above, f"socket{socket}", pcie))
            for _ in range(gpus):
                rank = f"gpu{len(node.ranks)}"
                node.ranks.append(rank)
                node.places[rank] = (0, socket)
                node.links.append((rank, above, pcie))
    for hca in range(hcas):
        node.switches[f"hca{hca}"] = Switch()
        node.places[f"hca{hca}"] = (0, hca % sockets)
        node.links.append((f"hca{hca}", f"socket{hca % sockets}", pcie))
        node.attach.append(f"hca{hca}")
    return node


class Plant:
    """A topology under construction: vertices by name, links, ranks in order."""

    def __init__(self) -> None:
        """Empty."""
        self._vertices: list[_core.Vertex] = []
        self._numbers: dict[str, int] = {}
        self._links: list[_core.Link] = []
        self._ranks: list[int] = []

    def vertex(self, name: str, switch: Switch, node: int = -1, socket: int = -1) -> None:
        """Adds a switch, or what is to become a rank. Raises InvalidArgument at the limit."""
        _check_room(self._vertices, "vertices")
        self._numbers[name] = len(self._vertices)
        self._vertices.append(_core.Vertex(name, node, socket, switch.latency, switch.bandwidth))

    def join(self, a: str, b: str, wire: Wire) -> None:
        """Adds a link. Raises InvalidArgument at the limit."""
        _check_room(self._links, "links")
        self._links.append(
            _core.Link(
                self._numbers[a], self._numbers[b], wire.latency, wire.bandwidth, wire.overhead,
                wire.duplex == "full", wire.shared, wire.memory, *wire.watts,
            )
        )  # fmt: skip

    def add_node(self, node: Node, number: int, prefix: str = "") -> list[str]:
        """Adds a node's parts, its ranks as the next ones. Returns where the network attaches."""
        for name in node.ranks:
            own, socket = node.places.get(name, (0, -1))
            if len(self._ranks) == MOST_RANKS:
                raise InvalidArgument(f"there are more than {MOST_RANKS} ranks: give fewer nodes")
            self._ranks.append(len(self._vertices))
            self.vertex(prefix + name, Switch(), number + own, socket)
        for name, switch in node.switches.items():
            own, socket = node.places.get(name, (0, -1))
            self.vertex(prefix + name, switch, number + own, socket)
        for a, b, wire in node.links:
            self.join(prefix + a, prefix + b, wire)
        return [prefix + name for name in node.attach]

    def add_nodes(self, node: Node, count: int) -> list[list[str]]:
        """Adds `count` equal nodes. Returns, by node, where the network attaches."""
        return [self.add_node(node, i, f"node{i}.") for i in range(count)]

    def topology(self, name: str, rates: Rates, one_port: bool) -> _core.Topology:
        """The result. Raises InvalidArgument."""
        return _core.Topology(
            name, self._vertices, self._links, self._ranks, one_port,
            rates.copy, rates.reduce, rates.step, rates.call, rates.by_size,
        )  # fmt: skip


def _check_room(parts: Sequence[object], what: str) -> None:
    if len(parts) == MOST_PARTS:
        raise InvalidArgument(
            f"there are more than {MOST_PARTS} {what}: give fewer nodes or switches"
        )


def unreached(topology: _core.Topology) -> Sequence[str]:
    """The names of the ranks that rank 0 cannot reach."""
    near: dict[int, list[int]] = {}
    for link in topology.links:
        near.setdefault(link.a, []).append(link.b)
        near.setdefault(link.b, []).append(link.a)
    ranks, names = topology.ranks, [vertex.name for vertex in topology.vertices]
    seen, ahead = {ranks[0]}, [ranks[0]]
    while ahead:
        fresh = set(near.get(ahead.pop(), [])) - seen
        seen |= fresh
        ahead.extend(fresh)
    return [names[vertex] for vertex in ranks if vertex not in seen]
