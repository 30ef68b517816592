"""Measurements with the two cores where they mostly are: hosts move virtual cores, for seconds.

A move makes any library up to six times as slow. The time of a two-core operation of 8 bytes
shows it, without a library: it is measured before and after.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TypeVar

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import limit
from weft.bench.processes import burst

Taken = TypeVar("Taken")
_RANKS = 2
_SECONDS = 0.01
_FIRST = 10  # turns, of which the quickest says how near the cores can be
_FURTHER = 2  # times as long: they were moved
_TRIES = 12


class Placement:
    """How near the cores are, and how often they were not."""

    def __init__(self) -> None:
        self.moved = 0  # measurements that were thrown away
        self._least = min(_apart() for _ in range(_FIRST))
        self._before: bool | None = None  # whether they were near at the last look

    def steady(self, measure: Callable[[], Taken]) -> Taken:
        """What is measured with near cores before and after. After some tries, as they are."""
        for _ in range(_TRIES):
            before = self._near() if self._before is None else self._before
            taken = measure()
            self._before = self._near()
            if before and self._before:
                return taken
            self.moved += 1
        return taken

    def _near(self) -> bool:
        apart = _apart()
        self._least = min(self._least, apart)
        return apart < _FURTHER * self._least


def _apart() -> float:
    """Seconds of the operation."""
    case = Case.sized("allreduce", 8, _RANKS, "float32")
    of_ranks = [rank[0] for rank in burst(limit(), Job([case], _SECONDS, None))]
    slowest = map(max, zip(*(one.seconds for one in of_ranks), strict=True))
    return statistics.median(slowest)
