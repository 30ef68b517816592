"""Measurements with the two cores as they mostly are: hosts move virtual cores, for seconds.

A move makes any library several times as slow. And while another guest uses the other half of a
core, with which it shares its units, all takes up to twice the time. Two looks without a library
tell: before and after each measurement. On some hosts cores are mostly shared. There a shared core
is what counts, and what is measured on one that is alone is thrown away.
"""

from __future__ import annotations

import bisect
import functools
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import limit
from weft.bench.processes import burst

Taken = TypeVar("Taken")
_RANKS = 2
_SECONDS = 0.01
_TIMES = 7
_FIRST = 10  # looks, before anything is measured


def apart() -> float:
    """Seconds of a meeting of two cores: how far they are from each other."""
    case = Case.sized("allreduce", 8, _RANKS, "float32")
    return max(rank[0].apart for rank in burst(limit(), Job([case], _SECONDS, None)))


def shared() -> float:
    """Seconds of some Python on the slower core. They grow while somebody uses its other half."""
    mask = os.sched_getaffinity(0)
    try:
        return max(map(_counting, sorted(mask)[:_RANKS]))
    finally:
        os.sched_setaffinity(0, mask)


def _counting(core: int) -> float:
    os.sched_setaffinity(0, {core})
    taken = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        number = 0
        for more in range(4000):
            number += more
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


class Look:
    """Whether something takes its norm, or at most `most` times more or less.

    A share of all looks is quicker than the norm: half of them, unless `quicker` says another.
    """

    def __init__(self, measure: Callable[[], float], most: float, quicker: float = 0.5) -> None:
        self._measure = measure
        self._most = most
        self._quicker = quicker
        self._seen = sorted(measure() for _ in range(_FIRST))

    def passes(self, *, waiting: bool = False) -> bool:
        """Measures once more. While one waits for it to pass, the norm stays what it was."""
        seconds = self._measure()
        if not waiting:
            bisect.insort(self._seen, seconds)
        return self.is_usual(seconds)

    def is_usual(self, seconds: float) -> bool:
        """Whether that would pass."""
        norm = self._seen[int(self._quicker * len(self._seen))]
        return norm / self._most <= seconds <= self._most * norm


@functools.cache
def look_apart() -> Look:
    """At how near the cores are. Kept, as the next, so that a moment is not the norm.

    Far cores take four times as long, and up to three quarters of the looks may find them so.
    """
    return Look(apart, 2, quicker=1 / 4)


@functools.cache
def usual_looks() -> list[Look]:
    """At who shares the cores, and how near they are."""
    return [Look(shared, 1.2), look_apart()]


class Placement:
    """Whether the cores are as they mostly are, and what was measured while not.

    Not thread safe.
    """

    def __init__(self, looks: Sequence[Look] | None = None, patience: float = 30) -> None:
        """`patience`: seconds until a measurement counts although the cores stay as they are."""
        self.moved = 0  # measurements that were thrown away
        self.far = 0  # measurements that count nevertheless
        self._looks = usual_looks() if looks is None else looks
        self._patience = patience
        self._good = self._is_good()

    def counts(self) -> dict[str, int]:
        """Both, for a row of data."""
        return {"moved": self.moved, "far": self.far}

    def steady(
        self, measure: Callable[[], Taken], usual: Callable[[Taken], bool] | None = None
    ) -> Taken:
        """What is measured with usual cores before and afterwards.

        `usual` says whether they were, if it is given: what is measured may know it better than a
        look afterwards.
        """
        end = time.monotonic() + self._patience
        while time.monotonic() < end:
            if not self._good:
                self._good = self._is_good(waiting=True)
                continue
            taken = measure()
            self._good = self._is_good()
            if usual(taken) if usual else self._good:
                return taken
            self.moved += 1
        self.far += 1
        return measure()

    def _is_good(self, *, waiting: bool = False) -> bool:
        return all(look.passes(waiting=waiting) for look in self._looks)
