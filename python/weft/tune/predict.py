"""Predicts the times of candidates on a topology, by the cost model."""

from __future__ import annotations

from weft._core import Topology
from weft.cost import price
from weft.tune.point import Point, Seconds, Timed, Timing


class Predict:
    """Prices candidates, each once: a price has no noise. Not thread safe."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._known: dict[tuple[str, int, int, bool], Timed] = {}

    def turn(self, point: Point, names: list[str]) -> list[Timing]:
        """Each candidate at each size."""
        return [tuple(self._price(point, name, size) for size in point.sizes) for name in names]

    def least(self, point: Point) -> Seconds:
        """A price has no limit: a topology may take no time at all."""
        return (0.0,) * len(point.sizes)

    def _price(self, point: Point, name: str, size: int) -> Timed:
        key = (name, point.ranks, size, point.symmetric)
        if key not in self._known:
            found = price(
                name, self._topology, ranks=point.ranks, nbytes=size, symmetric=point.symmetric
            )
            seconds = max(found.seconds, 1e-12)
            self._known[key] = Timed(seconds, seconds)
        return self._known[key]
