"""How candidates meet: who is tried, who is dropped early, who wins."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from weft.bench.cases import size_text
from weft.tune.candidates import with_chunks

# Collectives in which ranks may not see the same number of bytes: one choice for all sizes.
SIZELESS = frozenset({"alltoall", "gather", "scatter"})

_FAR = 1.5  # times the best: dropped at once
_NEAR = 1.15  # times the best: worth the final
_FINALISTS = 3
_TURNS = 5
_MARGIN = 0.97  # of the built-in choice's time: less than this is a tie


@dataclass(frozen=True)
class Point:
    """What one row of a table is found for."""

    collective: str
    ranks: int
    nodes: int
    symmetric: bool
    sizes: tuple[int, ...]  # bytes of the whole message; several where one choice serves all

    @property
    def memory(self) -> str:
        """Where buffers lie, in a word."""
        return "symmetric" if self.symmetric else "ordinary"

    def sizes_text(self) -> str:
        """The size, for people."""
        return size_text(self.sizes[0]) if len(self.sizes) == 1 else "all"

    def text(self) -> str:
        """For progress and messages."""
        bytes_text = f"{self.sizes_text()} bytes" if len(self.sizes) == 1 else "all sizes"
        return f"{self.collective}, {self.ranks} ranks, {bytes_text}, {self.memory} memory"


# Seconds of each candidate at each of a point's sizes: all candidates in turn, as often as said,
# one list entry a turn.
Times = dict[str, list[tuple[float, ...]]]
Measure = Callable[[Point, list[str], int], Times]


@dataclass
class Outcome:
    """Who won, and what everyone took."""

    use: str
    builtin: str
    seconds: dict[str, tuple[float, ...]] = field(default_factory=dict)  # medians, by size

    @property
    def gain(self) -> float:
        """The built-in choice's time over the winner's."""
        return _mean(self.seconds[self.builtin]) / _mean(self.seconds[self.use])


def compete(point: Point, builtin: str, names: list[str], measure: Measure) -> Outcome:
    """Finds the best candidate of `names` for `point`; a tie goes to the built-in choice.

    First all algorithms once, then the chunks of those that are not far behind, then a final of
    several turns. A challenger has to win each of them, and by 3% in the median.
    """
    names = [builtin, *(name for name in names if name != builtin)]
    times = measure(point, names, 1)
    cut = [
        text
        for name in _within(times, _FAR)[:_FINALISTS]
        for text in with_chunks(name, max(point.sizes))
    ]
    if cut:
        times |= measure(point, cut, 1)
    finalists = [name for name in _within(times, _NEAR) if name != builtin][:_FINALISTS]
    if finalists:
        times |= measure(point, [builtin, *finalists], _TURNS)
    use = _winner(times, builtin, finalists)
    medians = {name: _median(turns) for name, turns in times.items()}
    return Outcome(use, builtin, medians)


def _within(times: Times, factor: float) -> list[str]:
    """Those that took at most `factor` times the least, the best first."""
    mean = {name: _mean(_median(turns)) for name, turns in times.items()}
    limit = factor * min(mean.values())
    return sorted((name for name in mean if mean[name] <= limit), key=mean.__getitem__)


def _winner(times: Times, builtin: str, finalists: list[str]) -> str:
    """Turns are compared in pairs: what the machine does in between meets both."""
    best, least = builtin, _MARGIN
    for name in finalists:
        pairs = zip(times[name], times[builtin], strict=True)
        ratios = [_mean(mine) / _mean(theirs) for mine, theirs in pairs]
        if max(ratios) < 1 and statistics.median(ratios) < least:
            best, least = name, statistics.median(ratios)
    return best


def _median(turns: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.median(of_size) for of_size in zip(*turns, strict=True))


def _mean(seconds: tuple[float, ...]) -> float:
    """Geometric: a size counts by what is gained there, not by how long it takes."""
    return math.exp(statistics.fmean(map(math.log, seconds)))
