"""Pass two: the challenger meets the built-in choice, and the noise of the machine is measured."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from weft.tune.heat import Heat, pick
from weft.tune.point import Measure, Point, Seconds, Timing, Turns, mean, medians, times

TURNS = 12
_MARGIN = 1.03  # a gain of less is a tie, also where nothing is noisy
_TOO_NOISY = 1.15  # the default against itself: above, a challenger that does not win says nothing


@dataclass
class Final:
    """Turns of the built-in choice, the challenger and the built-in choice again."""

    challenger: str
    first: list[Timing] = field(default_factory=list)  # the built-in choice
    middle: list[Timing] = field(default_factory=list)  # the challenger
    last: list[Timing] = field(default_factory=list)  # the built-in choice again

    def ratios(self) -> list[float]:
        """The built-in choice's time over the challenger's, two of each turn.

        The built-in choice runs before the challenger and after it, so that a machine that becomes
        slower does not count in the median.
        """
        pairs = zip(self.first, self.middle, self.last, strict=True)
        return [times(base, b) for a, b, c in pairs for base in (a, c)]

    def against_itself(self) -> list[float]:
        """The built-in choice's second time over its first, by turn."""
        return [times(c, a) for a, c in zip(self.first, self.last, strict=True)]

    @property
    def gain(self) -> float:
        """How many times as fast the challenger is: the median of the ratios."""
        return statistics.median(self.ratios())

    @property
    def noise(self) -> float:
        """A ratio at least 1: 95% of the built-in choice's turns against itself are within it."""
        return noise(self.against_itself())

    @property
    def wins(self) -> bool:
        """Whether the challenger gains more than the margin, and more than the noise."""
        return self.gain > max(_MARGIN, self.noise)

    def seconds(self) -> tuple[Seconds, Seconds]:
        """Medians of the built-in choice, and of the challenger, at each size."""
        return medians([*self.first, *self.last]), medians(self.middle)


def noise(ratios: list[float]) -> float:
    """The 95th percentile of how far ratios are from 1, whichever side is larger."""
    return float(np.quantile([max(ratio, 1 / ratio) for ratio in ratios], 0.95))


@dataclass
class Outcome:
    """What is written, and why."""

    builtin: str
    heat: Heat
    final: Final | None  # None: the built-in choice was the quickest of pass one
    tail: float = 1.0  # the built-in choice's 99th percentile over its median, in a usual turn

    @property
    def use(self) -> str:
        """The challenger, if it wins, else the built-in choice."""
        return self.final.challenger if self.final and self.final.wins else self.builtin

    @property
    def regret(self) -> float:
        """The built-in choice's time over the best one's, at least 1, whether or not it wins."""
        return max(1.0, self.final.gain) if self.final else 1.0

    @property
    def undecided(self) -> bool:
        """Whether the machine was too noisy to say that the built-in choice is good."""
        return self.final is not None and not self.final.wins and self.final.noise > _TOO_NOISY

    def reason(self) -> str:
        """Why that is written, in a few words."""
        if not self.final:
            return "default wins"
        if self.final.wins:
            return "written"
        return "not faster" if self.final.gain <= 1 else "within noise"

    def comparable(self) -> dict[str, Seconds]:
        """Seconds for the file. None is below those of the heat's quickest.

        A dropped candidate ran in an earlier turn. It is left out if the machine was so much faster
        then that its seconds would say the opposite of what its turn said.
        """
        least = mean(self.heat.seconds[self.heat.fastest])
        dropped = {
            name: seconds
            for name, (seconds, _) in self.heat.dropped.items()
            if mean(seconds) > least
        }
        return self.heat.seconds | dropped

    def candidates(self) -> Iterator[tuple[str, Seconds, str]]:
        """Each candidate, its seconds in pass one, and why it is used or not."""
        for name, seconds in sorted(self.heat.seconds.items(), key=lambda item: mean(item[1])):
            yield name, seconds, self._why(name)
        for name, (seconds, behind) in self.heat.dropped.items():
            yield name, seconds, f"dropped: {behind:.2f} times the best of its turn"

    def _why(self, name: str) -> str:
        if name == self.use:
            return "used"
        final = self.final
        if final and name == final.challenger:
            return (
                f"{final.gain:.3f} times as fast as the default in {len(final.first)} turns; "
                f"the default against itself {final.noise:.3f}"
            )
        return "slower" if name == self.builtin else "not the quickest beside the default"


def compete(point: Point, builtin: str, names: list[str], measure: Measure) -> Outcome:
    """Finds the best of `names` for `point`; a tie goes to the built-in choice.

    Raises ImpossibleTime or BurstFailed: then there is no outcome.
    """
    turns = Turns(point, measure)
    heat = pick(builtin, names, turns)
    final = None
    if heat.challenger and heat.fastest != builtin:
        final = meet(builtin, heat.challenger, turns)
    return Outcome(builtin, heat, final, turns.tail(builtin))


def meet(builtin: str, challenger: str, turns: Turns) -> Final:
    """Pass two."""
    final = Final(challenger)
    for _ in range(TURNS):
        taken = turns.take([builtin, challenger, builtin])
        for side, timing in zip((final.first, final.middle, final.last), taken, strict=True):
            side.append(timing)
    return final
