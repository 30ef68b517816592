"""The arithmetic of the page: times as fast, and what no schedule beats."""

from __future__ import annotations

from weft.train.sync.tree_shape import flat_shape

from gpi.cases import CUT, GPUS, PCIE, SECONDS, STRATEGIES, WIRE, Row

COMPUTATION, NETWORK, BUS = "computation", "network", "PCIe"


def nbytes_of(rows: list[Row], network: str) -> int:
    """Bytes of a network's parameters."""
    turn = {"part": "layers", "network": network}
    (layers,) = (row["layers"] for row in rows if row["turn"] == turn)
    return sum(layer["bytes"] for layer in layers)


def limits(
    nbytes: int, network: str, processor: str, nodes: int, trees: bool = False
) -> dict[str, float]:
    """Seconds that each resource is busy in a step, on the node that uses it most."""
    found = {COMPUTATION: SECONDS[network, processor] / nodes}
    if nodes > 1:
        crossings = tree_crossings(nodes) if trees else 2 * (nodes - 1) / nodes
        found[NETWORK] = crossings * nbytes / WIRE
        if processor in GPUS:
            found[BUS] = nbytes / PCIE  # in each direction
    return found


def tree_crossings(nodes: int) -> int:
    """How often all bytes cross the busiest port, in one direction, with the document's trees."""
    most = 0
    for rank in range(nodes):
        shape = flat_shape(rank, nodes)
        arriving, leaving = len(shape.children), len(shape.receivers)
        from_above = int(rank > 0)  # the model comes from there, the gradient goes there
        most = max(most, arriving + from_above, leaving + from_above)
    return most


def bound(
    rows: list[Row], network: str, processor: str, nodes: int, trees: bool = False
) -> float:  # fmt: skip
    """Times as fast as one node, if all that can overlap does. No schedule is faster."""
    busy = limits(nbytes_of(rows, network), network, processor, nodes, trees)
    return SECONDS[network, processor] / max(busy.values())


def binding(busy: dict[str, float]) -> str:
    """The resource that is busy longest."""
    return max(busy, key=lambda name: busy[name])


def times_as_fast(rows: list[Row], network: str, processor: str, nodes: int, strategy: str,
                  variant: str = "") -> float | None:  # fmt: skip
    """As one node, simulated. None: it was not simulated."""
    if nodes == 1:
        return 1.0
    turn = {"network": network, "processor": processor, "nodes": nodes, "strategy": strategy}
    turn |= {"part": "variant", "variant": variant} if variant else {"part": "step"}
    return _found(rows, turn)


def times_in_a_node(rows: list[Row], gpus: int, strategy: str) -> float | None:
    """As one GPU: AlexNet on several GPUs of a node. None: it was not simulated."""
    if gpus == 1:
        return 1.0
    turn = {"part": "one node", "network": "alexnet", "processor": "K80", "gpus": gpus}
    return _found(rows, turn | {"strategy": strategy})


def _found(rows: list[Row], turn: Row) -> float | None:
    for row in rows:
        if row["turn"] == turn:
            return SECONDS[turn["network"], turn["processor"]] / row["seconds"]
    return None


def strategies_of(processor: str) -> list[str]:
    """Those that were simulated with it."""
    return [name for name in STRATEGIES if name != CUT or processor in GPUS]
