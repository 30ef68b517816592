"""What is tuned, and what a measurement of it gives."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from weft.sizes import size_text


@dataclass(frozen=True)
class Point:
    """One row of a table is found for this."""

    collective: str
    ranks: int
    nodes: int
    symmetric: bool
    sizes: tuple[int, ...]  # bytes of the whole message; several if one choice is for all of them

    @property
    def memory(self) -> str:
        """The kind of memory, in a word."""
        return "symmetric" if self.symmetric else "ordinary"

    def sizes_text(self) -> str:
        """The size, for people."""
        return size_text(self.sizes[0]) if len(self.sizes) == 1 else "all"

    def text(self) -> str:
        """For progress and messages."""
        bytes_text = f"{self.sizes_text()} bytes" if len(self.sizes) == 1 else "all sizes"
        return f"{self.collective}, {self.ranks} ranks, {bytes_text}, {self.memory} memory"


@dataclass(frozen=True)
class Timed:
    """Seconds of one candidate at one size in one turn, over its samples."""

    median: float
    p99: float


Timing = tuple[Timed, ...]  # of one candidate, at each of a point's sizes
Seconds = tuple[float, ...]  # one number instead, at each of a point's sizes


class Measure(Protocol):
    """Where times come from."""

    def turn(self, point: Point, names: list[str]) -> list[Timing]:
        """The candidates of `names`, one after the other. A name may come twice."""

    def least(self, point: Point) -> Seconds:
        """Seconds at each size that no candidate can be below."""


class ImpossibleTime(ValueError):
    """A figure that cannot be right; the text says which, and the limit."""


class Turns:
    """Takes turns for one point, and refuses figures that cannot be right."""

    def __init__(self, point: Point, measure: Measure) -> None:
        self.point = point
        self._measure = measure
        self._least = measure.least(point)
        self._tails: dict[str, list[float]] = {}

    def take(self, names: list[str]) -> list[Timing]:
        """One turn. Raises ImpossibleTime, or BurstFailed if a rank fails."""
        taken = self._measure.turn(self.point, names)
        for name, timing in zip(names, taken, strict=True):
            for size, timed, least in zip(self.point.sizes, timing, self._least, strict=True):
                _check(name, size, timed.median, least)
                self._tails.setdefault(name, []).append(timed.p99 / timed.median)
        return taken

    def tail(self, name: str) -> float:
        """The 99th percentile of a candidate that has run, over its median, in a usual turn."""
        return statistics.median(self._tails[name])


def _check(name: str, size: int, seconds: float, least: float) -> None:
    if not (math.isfinite(seconds) and seconds > 0):
        raise ImpossibleTime(f"{name} took {seconds * 1e6:g} µs for {size_text(size)} bytes")
    if seconds < least:
        raise ImpossibleTime(
            f"{name} took {seconds * 1e6:.3g} µs for {size_text(size)} bytes: the memory accesses "
            f"alone need {least * 1e6:.3g} µs at least"
        )


def medians(timings: Iterable[Timing]) -> Seconds:
    """Of several turns of one candidate, the median at each size."""
    return tuple(
        statistics.median(t.median for t in of_size) for of_size in zip(*timings, strict=True)
    )


def mean(values: Iterable[float]) -> float:
    """Geometric: a size counts by what is gained there, not by how long it takes."""
    return math.exp(statistics.fmean(map(math.log, values)))


def times(one: Timing, other: Timing) -> float:
    """How many times as long `one` took as `other`, over all sizes."""
    return mean(a.median / b.median for a, b in zip(one, other, strict=True))
