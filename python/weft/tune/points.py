"""The points of a tuning run, and what is built in for each."""

from __future__ import annotations

from collections.abc import Iterator

from weft import _core
from weft._core import Topology
from weft.traits import TRAITS
from weft.tune.placement import nodes_of
from weft.tune.point import Point


def points_of(
    collectives: list[str],
    sizes: list[int],
    memories: list[str],
    ranks: list[int] | None = None,
    topology: Topology | None = None,
) -> Iterator[Point]:
    """All of them; without `ranks` for 2, 4, ... up to the cores, or to the topology's ranks."""
    for count in ranks or _usual_ranks(topology):
        for memory in memories:
            for collective in collectives:
                together = [tuple(sizes)]  # one choice where ranks may see different ones
                if TRAITS[collective].has_known_size(count):
                    together = [(size,) for size in sizes]
                nodes = nodes_of(topology, count)
                for some in together:
                    yield Point(collective, count, nodes, memory == "symmetric", some)


def builtin(point: Point, *, crowded: bool = False) -> str:
    """The built-in choice for a point, at its least size if it has several.

    `crowded`: its ranks outnumber their cores.
    """
    selection = _core.select(
        point.collective, point.ranks, point.sizes[0],
        symmetric=point.symmetric, nodes=point.nodes, crowded=crowded,
    )  # fmt: skip
    return str(selection.choice)


def _usual_ranks(topology: Topology | None) -> list[int]:
    most = len(topology.ranks) if topology else _core.system_info()["usable_cores"]
    return [
        1 << power for power in range(1, max(2, most).bit_length()) if 1 << power <= max(2, most)
    ]
