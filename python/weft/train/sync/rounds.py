"""One averaging of all gradients: a round.

Each backward pass that is not under `no_sync` is a round, and so is `step()` if no round came
before. In a round every live bucket is started once, on its lane, in reverse model order: as soon
as its gradients and those of the buckets before it on the lane are there, or else at the end.
So all ranks start the same collectives in the same order, whatever parameters a rank has used.
"""

from __future__ import annotations

from weft.errors import Unsupported
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Bucket, Layout, Slot
from weft.train.sync.strategy import Strategy
from weft.train.sync.words import Words


class Rounds:
    """Starts buckets and waits for their gradients. Not thread safe."""

    def __init__(self, layout: Layout, strategy: Strategy, lanes: Lanes, words: Words) -> None:
        self._layout, self._strategy, self._lanes, self._words = layout, strategy, lanes, words
        self._waiting: list[list[Bucket]] = []
        self.steps = 0
        """Steps that have been taken."""
        self.open = False
        """Whether a round has begun and not ended."""
        self.needed = True
        """Whether gradients may have changed since the last round."""

    @property
    def live(self) -> list[Bucket]:
        """The buckets of the last round, in model order."""
        return [bucket for bucket in self._layout.buckets if bucket.live]

    def begin(self) -> None:
        """Opens a round. What the last one left is waited for."""
        self.settle()
        self.open, self.needed = True, False
        self._waiting = [[] for _ in self._lanes.data]
        for bucket in self._layout.buckets:
            bucket.begin_round()
            if bucket.live:
                self._strategy.prepare(bucket)
                self._waiting[bucket.lane].append(bucket)

    def arrive(self, slot: Slot) -> None:
        """The backward pass has added to the slot's gradient, for the first time in the round."""
        bucket = slot.bucket
        if bucket.started:
            raise Unsupported(
                f"rank {self._lanes.rank}: GradientSync: {slot.name} got a gradient twice in one "
                "backward pass: pass use_reentrant=False to torch.utils.checkpoint, or use no_sync"
            )
        if not bucket.live:
            return
        slot.take_gradient()
        if not slot.arrived:
            slot.arrived = True
            bucket.missing -= 1
        if bucket.missing == 0:
            self._start(self._waiting[bucket.lane])

    def end(self) -> None:
        """Starts what has not been started; parameters without a gradient count as zero."""
        if not self.open:
            return
        self._words.say(self.steps)
        for waiting in self._waiting:
            for bucket in waiting:
                bucket.missing = 0
            self._start(waiting)
        self.open = False

    def settle(self) -> None:
        """Waits until all gradients are averaged, and learns which were used on any rank."""
        self.end()
        self._words.hear()
        for bucket in self._layout.buckets:
            self._strategy.settle(bucket)

    def show(self) -> None:
        """Has the averaged gradients as `parameter.grad`; None where no rank had one."""
        for bucket in self.live:
            for slot in bucket.slots:
                slot.parameter.grad = slot.view if slot.used else None

    def _start(self, waiting: list[Bucket]) -> None:
        """Starts the last bucket of the lane, and so on, until one is not complete."""
        while waiting and waiting[-1].missing == 0:
            bucket = waiting.pop()
            for slot in bucket.slots:
                if slot.parameter.grad is not slot.view:
                    slot.take_gradient()
            self._strategy.start(bucket)
            bucket.started = True
