"""Whether `step()` leaves updates to the next forward pass: as steps turn out to be shorter."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

FORWARD, STEP = "forward", "step"
FIRST = 4
"""Steps before the trial. The first calls of everything take longer."""
BLOCK = 4
"""Steps in a row with the same choice. The first of them pays for what the other choice left."""
LEAST, MOST = 3, 100
"""Pairs of blocks in a trial."""
ENOUGH = 20.0
"""Seconds after which a trial ends. The times of long steps differ less from each other."""
CLEAR = 1.03
"""All pairs differ by so much, to the same side: the trial need not go on."""
# What ranks say of the trial. A bit each, joined by "or".
_OPEN, _FOR_FORWARD, _FOR_STEP = 1, 2, 4


class WaitChoice:
    """A value of `wait`, the same on all ranks.

    If none is given, the first steps try both by turns. Updates under the next forward pass hide
    what the network takes. But they also cost: threads that carry the collectives then run beside
    the computation. Where no core is free for them, a step gets longer. Which of the two weighs
    more depends on the network, the processor and the model, so it is measured.

    A step is known by its number. Ranks say what they found in the words of a round, and hear them
    before the next step. Not thread safe.
    """

    def __init__(self, wait: str | None) -> None:
        self.chosen = wait
        """None during the trial."""
        self._begins = 0  # the first step with `chosen`
        self._seconds: defaultdict[int, list[float]] = defaultdict(list)  # of steps, by block
        self._started = self._now = 0.0
        self._last: float | None = None

    def at(self, step: int) -> str:
        """The value for a step."""
        if self.chosen and step >= self._begins:
            return self.chosen
        return STEP if _block(step) % 2 else FORWARD

    def took(self, step: int, now: float) -> None:
        """A step has returned at `now`, in seconds."""
        if self.chosen:
            return
        if self._last is not None and step > FIRST and _block(step) == _block(step - 1):
            self._seconds[_block(step)].append(now - self._last)
        self._started = self._started or now
        self._last = self._now = now

    def interrupt(self) -> None:
        """Something else than a step waited for updates."""
        self._last = None

    def opinion(self, step: int) -> int:
        """What this rank says in the round of a step."""
        if self.chosen:
            return 0
        pairs, rest = divmod(step - FIRST, 2 * BLOCK)
        if rest or pairs < LEAST:
            return _OPEN
        ratios = self._ratios(pairs)
        if pairs < MOST and self._now - self._started < ENOUGH and not _clear(ratios):
            return _OPEN
        return _FOR_STEP if ratios and median(ratios) < 1 else _FOR_FORWARD

    def hear(self, step: int, opinions: int) -> None:
        """What all ranks said in that round. From the next step on they choose alike."""
        if self.chosen or opinions & _OPEN:
            return
        self.chosen = STEP if opinions == _FOR_STEP else FORWARD
        self._begins = step + 1
        self._seconds.clear()

    def _ratios(self, pairs: int) -> list[float]:
        """Time of wait="step" over that of "forward", of each pair of blocks that has both."""
        blocks = [(self._seconds[2 * pair + 1], self._seconds[2 * pair]) for pair in range(pairs)]
        return [median(one) / median(other) for one, other in blocks if one and other]


def _block(step: int) -> int:
    """Even ones try "forward"."""
    return max(step - FIRST, 0) // BLOCK


def _clear(ratios: list[float]) -> bool:
    if len(ratios) < LEAST:
        return False
    return min(ratios) > CLEAR or max(ratios) < 1 / CLEAR
