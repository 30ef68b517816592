"""Measurements with the two cores where they mostly are: hosts move virtual cores, for seconds.

A move makes any library several times as slow. The time of a two-core operation of 8 bytes shows
it, without a library: it is measured before and after.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import limit
from weft.bench.processes import burst

Taken = TypeVar("Taken")
_RANKS = 2
_SECONDS = 0.01
_FIRST = 10  # looks, before anything is measured
_DOUBTED = 2  # of the quickest looks; the next one says how near the cores can be
_FURTHER = 2  # times as long: they were moved


def apart() -> float:
    """Seconds of the operation."""
    case = Case.sized("allreduce", 8, _RANKS, "float32")
    of_ranks = [rank[0] for rank in burst(limit(), Job([case], _SECONDS, None))]
    slowest = map(max, zip(*(one.seconds for one in of_ranks), strict=True))
    return statistics.median(slowest)


class Placement:
    """How near the cores are, and what was measured while they were not. Not thread safe."""

    def __init__(self, look: Callable[[], float] = apart, patience: float = 30) -> None:
        """`patience`: seconds until a measurement counts although the cores stay far."""
        self.moved = 0  # measurements that were thrown away
        self.far = 0  # measurements that count nevertheless
        self._look = look
        self._patience = patience
        self._quickest = sorted(look() for _ in range(_FIRST))[: _DOUBTED + 1]
        self._near = self._is_near()

    def counts(self) -> dict[str, int]:
        """Both, for a row of data."""
        return {"moved": self.moved, "far": self.far}

    def steady(self, measure: Callable[[], Taken]) -> Taken:
        """What is measured with near cores before and after."""
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            if not self._near:
                self._near = self._is_near()
                continue
            taken = measure()
            self._near = self._is_near()
            if self._near:
                return taken
            self.moved += 1
        self.far += 1
        return measure()

    def _is_near(self) -> bool:
        seconds = self._look()
        self._quickest = sorted([*self._quickest, seconds])[: _DOUBTED + 1]
        return seconds < _FURTHER * self._quickest[-1]
