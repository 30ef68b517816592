"""How candidates compete: which are tried, which are dropped early, which one wins."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from weft.sizes import size_text
from weft.tune.candidates import with_chunks

_FAR = 1.5  # times the best: dropped at once
_NEAR = 1.15  # times the best: worth the final
_FINALISTS = 3
_TURNS = 5
_MARGIN = 0.97  # of the built-in choice's time: less than this is a tie


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


# Seconds of each candidate at each of a point's sizes. All candidates run in turn, as often as
# asked; each turn is one list entry.
Times = dict[str, list[tuple[float, ...]]]
Measure = Callable[[Point, list[str], int], Times]


@dataclass
class Outcome:
    """The winner, and the times of all candidates."""

    use: str
    builtin: str
    seconds: dict[str, tuple[float, ...]]  # by size

    @property
    def gain(self) -> float:
        """The built-in choice's time over the winner's."""
        return _mean(self.seconds[self.builtin]) / _mean(self.seconds[self.use])


def compete(point: Point, builtin: str, names: list[str], measure: Measure) -> Outcome:
    """Finds the best candidate of `names` for `point`; a tie goes to the built-in choice.

    All candidates run once. Then those that are not far behind run with other chunks. Then the best
    run in a final of several turns. A challenger must win each turn, and the median by 3%.
    """
    trial = _Trial(point, builtin, measure)
    trial.run([name for name in names if name != builtin], 1)
    near = trial.within(_FAR)[:_FINALISTS]
    trial.run([text for name in near for text in with_chunks(name, max(point.sizes))], 1)
    finalists = [name for name in trial.within(_NEAR) if name != builtin][:_FINALISTS]
    trial.run(finalists, _TURNS)
    return Outcome(trial.winner(finalists), builtin, trial.seconds())


class _Trial:
    """Times as ratios to the built-in choice's in the same turn.

    The built-in choice runs in every turn. The machine changes from minute to minute (which cores
    are near each other), and a turn shows both the same machine.
    """

    def __init__(self, point: Point, builtin: str, measure: Measure) -> None:
        self._point, self._builtin, self._measure = point, builtin, measure
        self._ratios: dict[str, list[tuple[float, ...]]] = {}
        self._base: tuple[float, ...] = ()  # seconds of the built-in choice, the last time

    def run(self, names: list[str], turns: int) -> None:
        """Measures `names` again; without names it only measures the first time."""
        if not names and self._base:
            return
        times = self._measure(self._point, [self._builtin, *names], turns)
        base = times[self._builtin]
        self._base = _median(base)
        for name in (self._builtin, *names):
            pairs = zip(times[name], base, strict=True)
            self._ratios[name] = [
                tuple(m / t for m, t in zip(mine, theirs, strict=True)) for mine, theirs in pairs
            ]

    def within(self, factor: float) -> list[str]:
        """The candidates that took at most `factor` times the least, the best first."""
        mean = {name: _mean(_median(turns)) for name, turns in self._ratios.items()}
        limit = factor * min(mean.values())
        return sorted((name for name in mean if mean[name] <= limit), key=mean.__getitem__)

    def winner(self, finalists: list[str]) -> str:
        """The best that won every turn and more than the margin, else the built-in choice."""
        best, least = self._builtin, _MARGIN
        for name in finalists:
            turns = [_mean(turn) for turn in self._ratios[name]]
            if max(turns) < 1 and statistics.median(turns) < least:
                best, least = name, statistics.median(turns)
        return best

    def seconds(self) -> dict[str, tuple[float, ...]]:
        """The times of all candidates, as if all had run in the last burst."""
        return {
            name: tuple(r * b for r, b in zip(_median(turns), self._base, strict=True))
            for name, turns in self._ratios.items()
        }


def _median(turns: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(statistics.median(of_size) for of_size in zip(*turns, strict=True))


def _mean(values: tuple[float, ...]) -> float:
    """Geometric: a size counts by what is gained there, not by how long it takes."""
    return math.exp(statistics.fmean(map(math.log, values)))
