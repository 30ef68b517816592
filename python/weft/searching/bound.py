"""The least time that the links of a topology allow a collective, whatever its algorithm."""

from __future__ import annotations

from collections.abc import Callable

from weft._core import Topology

# Bytes that have to pass from one of g groups of ranks to another, for a whole message of one byte
# on P ranks.
#
# Allreduce: look at one element, and at the message with which some group is the first to know
# its result. The g contributions have met there, which takes g - 1 messages between groups. None
# of the other g - 1 groups knew the result before, so each has yet to receive one. No two of these
# are the same message: 2 (g - 1). (In graphs this is one-way gossip: Harary and Schwenk, "The
# communication complexity of the one-way gossip problem", 1974.)
_CROSSING: dict[str, Callable[[int, int], float]] = {
    "allreduce": lambda g, _: 2 * (g - 1),
    "broadcast": lambda g, _: g - 1,
    "reduce": lambda g, _: g - 1,
    "allgather": lambda g, _: g - 1,
    "reduce_scatter": lambda g, _: g - 1,
    "alltoall": lambda g, ranks: ranks * (g - 1) / g,
    "gather": lambda g, _: (g - 1) / g,
    "scatter": lambda g, _: (g - 1) / g,
}


def bound(collective: str, topology: Topology, ranks: int, nbytes: int) -> float:
    """Seconds that every plan needs at least, without latencies and computing.

    Groups are nodes, and each rank by itself. Every byte that passes between groups goes over a
    link that leaves the sender's group, and over a link that enters the receiver's. The capacity is
    that of all these links in both directions; a half-duplex link counts once. So T >= 2 * crossing
    * N / capacity.
    An example is an allreduce on n nodes, each with half-duplex links of B bytes a second in all: 4
    (n - 1) / n * N / B.
    """
    crossing = _CROSSING.get(collective)
    if crossing is None or ranks < 2:
        return 0.0
    vertices = topology.ranks[:ranks]
    each = {vertex: number for number, vertex in enumerate(vertices)}
    nodes = {v: topology.vertices[v].node for v in vertices}
    groups = [each]
    if -1 not in nodes.values():
        used = set(nodes.values())
        groups.append({v: x.node for v, x in enumerate(topology.vertices) if x.node in used})
    return max(_time(topology, group, crossing, ranks) for group in groups) * nbytes


def _time(
    topology: Topology,
    group: dict[int, int],
    crossing: Callable[[int, int], float],
    ranks: int,
) -> float:
    """For a message of one byte; `group` maps a vertex to its group."""
    count = len(set(group.values()))
    capacity = 0.0
    for link in topology.links:
        ends = group.get(link.a, -1), group.get(link.b, -1)
        if ends[0] == ends[1]:
            continue
        if not link.shared:
            return 0.0
        leaving = sum(end >= 0 for end in ends)
        capacity += leaving * (2 if link.full_duplex else 1) * link.bandwidth
    return 2 * crossing(count, ranks) / capacity if count > 1 and capacity > 0 else 0.0
