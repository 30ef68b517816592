"""What the ranks tell each other about a round, beside the gradients."""

from __future__ import annotations

import numpy as np

from weft.errors import Mismatch
from weft.request import Request
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Slot
from weft.train.sync.wait_choice import WaitChoice

# What each rank says of each parameter. A byte each, joined by "or".
_USED, _TRAINED, _FROZEN = 1, 2, 4
_OF_ROUND = 3  # bytes before them


class Words:
    """One small allreduce a round: which parameters have a gradient on any rank.

    It also finds ranks that are not in the same step, whose gradients must not be averaged, and
    carries what they found for the choice of `wait`. Not thread safe.
    """

    def __init__(self, slots: list[Slot], lanes: Lanes, choice: WaitChoice) -> None:
        self._slots, self._lanes, self._choice = slots, lanes, choice
        self._bytes = np.zeros(_OF_ROUND + len(slots), np.uint8)
        self._steps = 0
        self._request: Request | None = None

    def say(self, steps: int) -> None:
        """Starts to tell what this rank has in a round after so many steps."""
        # The two have a bit in common if another rank says another number.
        self._bytes[:2] = steps % 256, 255 - steps % 256
        self._bytes[2] = self._choice.opinion(steps)
        self._steps = steps
        parameters = [slot.parameter for slot in self._slots]
        self._bytes[_OF_ROUND:] = [
            (_USED if p.grad is not None else 0) | (_TRAINED if p.requires_grad else _FROZEN)
            for p in parameters
        ]
        self._request = self._lanes.start(
            self._lanes.control.allreduce, self._bytes, "bit_or", out=self._bytes
        )

    def hear(self) -> None:
        """Waits for what all ranks said; `Slot.used` then has it. Does nothing the second time."""
        if self._request is None:
            return
        self._lanes.wait(self._request)
        self._request = None
        said = self._bytes[_OF_ROUND:].tolist()
        if what := self._differs(said):
            raise Mismatch(f"rank {self._lanes.rank}: GradientSync: {what}")
        for slot, word in zip(self._slots, said, strict=True):
            slot.used = bool(word & _USED)
        self._choice.hear(self._steps, int(self._bytes[2]))

    def _differs(self, said: list[int]) -> str:
        if self._bytes[0] & self._bytes[1]:
            return (
                "ranks have made different numbers of backward passes: make the same number "
                "between two steps on every rank, or put all but the last under no_sync()"
            )
        for slot, word in zip(self._slots, said, strict=True):
            if word & _TRAINED and word & _FROZEN:
                return (
                    f"{slot.name} requires a gradient on some ranks and is frozen on others: set "
                    "requires_grad alike on all ranks"
                )
        return ""
