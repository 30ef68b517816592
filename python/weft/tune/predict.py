"""Predicts the times of candidates on a topology, by the cost model."""

from __future__ import annotations

from weft._core import Topology
from weft.cost import price
from weft.tune.trial import Point, Times


class Predict:
    """Prices candidates, each once: a price has no noise. Not thread safe."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._known: dict[tuple[str, int, int, bool], float] = {}

    def __call__(self, point: Point, names: list[str], turns: int) -> Times:
        """Seconds of each candidate at each size, as often as there are turns."""
        return {
            name: [tuple(self._price(point, name, size) for size in point.sizes)] * turns
            for name in names
        }

    def _price(self, point: Point, name: str, size: int) -> float:
        key = (name, point.ranks, size, point.symmetric)
        if key not in self._known:
            found = price(
                name, self._topology, ranks=point.ranks, nbytes=size, symmetric=point.symmetric
            )
            self._known[key] = max(found.seconds, 1e-12)  # a topology may take no time at all
        return self._known[key]
