"""Simulates the document's 4 to 16 processes, with costs a message that were measured here."""

from __future__ import annotations

from statistics import median

from mlsl.cases import DOCUMENT_SECONDS, PARTS, Amount, Row
from mlsl.messages import MACHINE
from mlsl.training import GLOBAL_BATCH

import weft
from weft.topology.networks import alone, flat
from weft.topology.parts import Node, Rates, Wire

from page import of

# What a library's costs are measured with.
LIBRARIES = {"MPI": "weft_mpi_openmpi", "OpenSHMEM": "weft_shmem"}
# An assumption: what is said of Aries. Seconds from node to node, bytes a second in a direction.
LATENCY, BANDWIDTH = 1.3e-6, 10e9
PLANS = ("one_shot", "two_shot", "recursive_doubling", "ring", "rabenseifner", "multi_leader")


def turns(amount: Amount) -> list[Row]:
    """A place of the document and a library."""
    return [
        {"part": "simulation", "nodes": nodes, "each": each, "library": library}
        for nodes, each in DOCUMENT_SECONDS
        for library in LIBRARIES
    ]


def measured(turn: Row, rows: list[Row]) -> Row:
    """Seconds of an iteration's computation and of its eight allreduces, one after the other.

    Raises:
        ValueError: the costs of a message or the computation are not measured yet.
    """
    nodes, each = turn["nodes"], turn["each"]
    ranks = nodes * each
    inputs = {"compute": compute(rows, ranks), **costs(rows, LIBRARIES[turn["library"]])}
    place = cluster(nodes, each, inputs)
    found = [_cheapest(place, 4 * count) for count in PARTS] if ranks > 1 else []
    return {"inputs": inputs, "messages": found,
            "seconds": inputs["compute"] + sum(one["seconds"] for one in found)}  # fmt: skip


def costs(rows: list[Row], library: str) -> Row:
    """Seconds of a message, its bytes a second, and the rates of a rank: medians of the rounds."""
    own = [row for row in rows if row["turn"]["part"] == "costs"]
    exchanges = [row["seconds"] for row in own if row["turn"]["library"] == library]
    machines = [row["rates"] for row in own if row["turn"]["library"] == MACHINE]
    if not exchanges or not machines:
        raise ValueError(f"no costs of {library} are there: measure the messages first")
    least, largest = (f(map(int, exchanges[0])) for f in (min, max))
    short = median(one[str(least)] for one in exchanges)
    long = median(one[str(largest)] for one in exchanges)
    rates = {name: median(one[name] for one in machines) for name in machines[0]}
    return {"overhead": short, "bandwidth": (largest - least) / (long - short), **rates}


def compute(rows: list[Row], ranks: int) -> float:
    """Seconds of a rank's iteration without exchanges.

    Raises:
        ValueError: it is not measured.
    """
    own = [row for row in rows if row["turn"]["part"] == "compute"]
    taken = [row["seconds"] / row["iterations"] for row in of(own, batch=GLOBAL_BATCH // ranks)]
    if not taken:
        raise ValueError(f"no computation of {GLOBAL_BATCH // ranks} records: train first")
    return median(taken)


def cluster(nodes: int, each: int, inputs: Row) -> weft.topology.Topology:
    """Nodes on one switch. A message costs its sender the same within a node and between nodes."""
    rates = Rates(*(inputs[name] for name in ("copy", "reduce", "step", "call")))
    inside = Wire(latency=0.0, bandwidth=inputs["bandwidth"], overhead=inputs["overhead"])
    outside = Wire(latency=LATENCY / 2, bandwidth=BANDWIDTH, overhead=inputs["overhead"])
    names = [f"rank{number}" for number in range(each)]
    links = [(names[a], names[b], inside) for b in range(each) for a in range(b)]
    node = Node(names, links=links, attach=names)
    if nodes == 1:
        return alone(node, rates=rates)
    return flat(nodes, outside, node=node, rates=rates)


def _cheapest(place: weft.topology.Topology, nbytes: int) -> Row:
    """The cheapest plan by price, simulated."""
    prices = {}
    for plan in PLANS:
        try:
            prices[plan] = weft.price(f"allreduce/{plan}", place, nbytes=nbytes, chunk=nbytes)
        except weft.InvalidArgument:
            continue  # not for this number of ranks
    plan = min(prices, key=lambda name: prices[name].seconds)
    found = weft.simulate(f"allreduce/{plan}", place, nbytes=nbytes, chunk=nbytes, model="plain")
    return {"bytes": nbytes, "plan": plan, "priced": prices[plan].seconds,
            "seconds": found.seconds}  # fmt: skip
