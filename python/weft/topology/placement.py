"""Placements: a topology with its ranks numbered another way."""

from __future__ import annotations

from collections.abc import Sequence

from weft._core import Topology
from weft.errors import InvalidArgument

PLACEMENTS = ("natural", "scattered")


def placed(
    topology: Topology, placement: str | Sequence[int], *, ranks: int | None = None
) -> Topology:
    """The topology with its first `ranks` ranks in each other's places.

        weft.price("pc", placed(load("rx1"), "scattered", ranks=16), ranks=16, nbytes=64 << 20)

    Args:
        topology: it stays as it is.
        placement: "natural" changes nothing; "scattered" puts consecutive ranks as far apart as
            their numbers can be (the bits of the place reversed, so that neighbours are in
            different halves of the cluster); a list has the place of each rank, as the number of
            the rank that the topology has there.
        ranks: how many change places; by default all. The rest stays behind them.

    Raises:
        InvalidArgument: the list is no permutation, or the topology has fewer ranks.
    """
    count = len(topology.ranks) if ranks is None else ranks
    if not 1 <= count <= len(topology.ranks):
        raise InvalidArgument(
            f"topology {topology.name} has {len(topology.ranks)} ranks, not {count}"
        )
    order = _order(placement, count)
    moved = [topology.ranks[place] for place in order]
    return Topology(
        topology.name, topology.vertices, topology.links, moved + topology.ranks[count:],
        topology.one_port, topology.copy, topology.reduce, topology.step, topology.call,
        topology.by_size,
    )  # fmt: skip


def _order(placement: str | Sequence[int], count: int) -> list[int]:
    if placement == "natural":
        return list(range(count))
    if placement == "scattered":
        width = (count - 1).bit_length()
        reversed_bits = (int(f"{i:0{width}b}"[::-1], 2) for i in range(1 << width))
        return [place for place in reversed_bits if place < count]
    if isinstance(placement, str):
        raise InvalidArgument(
            f"placement {placement!r}: give {', '.join(PLACEMENTS)} or a list of places"
        )
    if sorted(placement) != list(range(count)):
        raise InvalidArgument(f"placement {list(placement)}: name each place 0 .. {count - 1} once")
    return list(placement)
