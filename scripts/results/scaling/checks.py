"""Simulated collectives beside closed formulas: the document's cluster, no time for software."""

from __future__ import annotations

import weft
from scaling.cases import CLUSTER, SCALINGS, Row, records, shape
from scaling.program import exchanged
from weft.topology import Topology, load

UPLINKS, OF_A_LEAF = 16, 32
KINDS = {"allreduce": "allreduce/ring", "alltoall": "alltoall/pairwise"}


def cases() -> list[Row]:
    """Each configuration's collectives, the gradients as one message."""
    return [
        {"part": "collective", "collective": kind, "configuration": name, "sockets": sockets}
        for kind in KINDS
        for name, one in SCALINGS.items()
        for sockets in one.sockets
        if sockets > 2
    ]


def simulated(case: Row) -> Row:
    """Seconds, and those of the formula."""
    place = load(CLUSTER)
    name, sockets, kind = case["configuration"], case["sockets"], case["collective"]
    nbytes = message(name, kind, sockets)
    chunk = -(-nbytes // sockets)  # blocks travel whole
    found = weft.simulate(KINDS[kind], place, ranks=sockets, nbytes=nbytes, chunk=chunk,
                          model="plain")  # fmt: skip
    formula = ring if kind == "allreduce" else pairwise
    return {**case, "bytes": nbytes, "seconds": found.seconds,
            "formula": formula(place, sockets, nbytes)}  # fmt: skip


def message(name: str, kind: str, sockets: int) -> int:
    """Bytes of a rank's message in float32."""
    if kind == "allreduce":
        return 4 * shape(name).dense_parameters
    return exchanged(name, "float32", sockets, records(name, "strong", sockets))


def ring(place: Topology, ranks: int, nbytes: int) -> float:
    """2 (P - 1) steps of a block, at the pace of the slowest link; a block has N / P bytes.

    Latencies of the ring's links differ, so the longest way to a neighbour counts.
    """
    longest = max(place.latencies(rank)[(rank + 1) % ranks] for rank in range(ranks))
    return 2 * (ranks - 1) * (longest + nbytes / ranks / port(place))


def pairwise(place: Topology, ranks: int, nbytes: int) -> float:
    """P - 1 steps of a block, no step begins before the last has ended everywhere.

    Powers of two: step d is between r and r xor d. The first step is between the sockets of a node.
    From step 32 on all 32 sockets of a leaf send over its 16 uplinks. Else step d is to the d-th
    next rank, and no step has a way of its own for all.
    """
    block = nbytes / ranks
    power_of_two = ranks & (ranks - 1) == 0
    total = 0.0
    for step in range(1, ranks):
        partners = [rank ^ step if power_of_two else (rank + step) % ranks for rank in range(ranks)]
        latency = max(place.latencies(rank)[other] for rank, other in enumerate(partners))
        inside = power_of_two and step == 1
        sharers = OF_A_LEAF / UPLINKS if step >= OF_A_LEAF else 1.0
        total += latency + sharers * block / (between(place) if inside else port(place))
    return total


def between(place: Topology) -> float:
    """Bytes a second between the sockets of a node."""
    return max(link.bandwidth for link in place.links)


def port(place: Topology) -> float:
    """Bytes a second of a socket's port."""
    return min(link.bandwidth for link in place.links)
