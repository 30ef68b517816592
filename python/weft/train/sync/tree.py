"""Gradients go up a tree to the master, which updates them; models come down another tree.

    backward of layer      3   2   1 |                next forward   1   2   3
    up, to the master        3 3 3 2 2 1              |
    update at the master       3 3 3 2 2 1            |
    down, to all ranks           3 3 3 2 2 1          |

The one-sided scheme of CaffeGPI (tree_shape.py names the paper and the trees), on a `weft.Window`.
Both directions of a link carry data at the same time. A rank that has the whole model begins its
next iteration, whatever the others do. Buckets are cut into pieces, each of which goes up, is
updated and comes down by itself. Of those that wait for a link, the first of the model goes first.
An optimizer that is not element-wise updates whole buckets. Ranks of a node are joined first.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

from weft.errors import InvalidArgument, PeerLost
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Bucket, Layout, Slot
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.tree_early import EarlyUpdates
from weft.train.sync.tree_memory import Places
from weft.train.sync.tree_outbox import UNDER_WAY
from weft.train.sync.tree_shape import Shape, flat_shape, shape_of
from weft.train.sync.tree_updates import TreeUpdates, Unit
from weft.train.sync.tree_worker import TreeWorker
from weft.train.sync.updates import Updates
from weft.train.sync.words import Words
from weft.train.tracing.recorder import WAIT, active
from weft.window import Window


class Tree:
    """`Strategy` "tree"."""

    cuts = True
    """Whether buckets are cut into pieces, which overtake others."""

    def __init__(
        self, layout: Layout, lanes: Lanes, updates: Updates, words: Words, early: bool = False
    ) -> None:
        """early: layers are updated during the backward pass, before `begin_update`."""
        self._lanes, self._updates, self._words = lanes, updates, words
        self._early = EarlyUpdates(updates, lanes.rank) if early else None
        rank, size = lanes.rank, lanes.size
        self._places = places = Places(layout, self.shape(rank), self.cuts)
        self._window = Window(lanes.control, places.nbytes, places.signals)
        self._homes: dict[Slot, int] = {}
        for bucket in layout.buckets:
            self._move(bucket)
        units = [unit for bucket in layout.buckets for unit in self._units(bucket)]
        self._steps = None if rank else TreeUpdates(updates, units, size)
        self._worker = TreeWorker(
            self._window,
            places,
            {peer: Places(layout, self.shape(peer), self.cuts) for peer in places.shape.peers()},
            units,
            UNDER_WAY if self.cuts else None,
            self._update,
            lanes.guard,
        )
        self._sent = dict.fromkeys(layout.buckets, 0)
        self._stepped = dict.fromkeys(layout.buckets, 0)
        self._going_up: set[Bucket] = set()
        self._not_stepped: set[Bucket] = set()
        self._worker.begin()

    def shape(self, rank: int) -> Shape:
        """The rank's place in the trees."""
        return shape_of(rank, self._lanes.control.place)

    def _move(self, bucket: Bucket) -> None:
        """Puts the bucket's parameters into the window. Their values stay."""
        import torch

        bucket.place_gradients()
        offset, nbytes = self._places.offsets[bucket], bucket.length * bucket.dtype.itemsize
        flat = torch.empty(0, dtype=bucket.dtype)
        if bucket.length:
            memory = self._window.array()[offset : offset + nbytes]
            flat = torch.from_numpy(memory).view(bucket.dtype)
        for slot in bucket.slots:
            place = slot.place(flat)
            place.copy_(slot.parameter.detach())
            slot.parameter.data = place
            self._homes[slot] = place.data_ptr()

    def _units(self, bucket: Bucket) -> list[Unit]:
        pieces = self._places.of_bucket[bucket]
        if self._updates.elementwise:
            return [(piece,) for piece in pieces]
        return [tuple(pieces)] if pieces else []

    def prepare(self, bucket: Bucket) -> None:
        if self._early:
            self._early.begin(bool(self._not_stepped))
        if self._not_stepped:
            # No step took the last gradients. Their way up ends before the next ones take it.
            self._lanes.control.barrier()
            self._not_stepped.clear()

    def start(self, bucket: Bucket) -> None:
        if bucket.length == 0:
            return
        self._refuse_moved(bucket)
        self._not_stepped.add(bucket)
        self._sent[bucket] += 1
        self._going_up.add(bucket)
        self._worker.hand_over(bucket)
        if self._early and self._lanes.rank == 0 and self._early.may_update(bucket):
            self._allow([bucket], self._early.values)

    def under_way(self, bucket: Bucket) -> bool:
        return bucket in self._going_up

    def settle(self, bucket: Bucket) -> None:
        if bucket not in self._going_up:
            return
        if self._stepped[bucket] < self._sent[bucket]:  # else tree_worker.py says why it is settled
            self._await(self._places.handed_over(bucket), bucket)
        self._going_up.discard(bucket)
        self._leave_to_master(bucket)

    def begin_update(self, buckets: list[Bucket], values: Hyperparameters, later: bool) -> None:
        self._not_stepped.clear()
        rest = buckets
        if self._early:
            rest = self._early.end(buckets, values)
        if self._lanes.rank == 0:
            self._words.hear()
            for slot in (slot for bucket in buckets for slot in bucket.slots):
                slot.parameter.grad = slot.view if slot.used else None
            self._allow(rest, values)
        if not later:
            for bucket in buckets:
                self.finish_update(bucket, values)
            self.quiet()

    def _allow(self, buckets: list[Bucket], values: Hyperparameters) -> None:
        self._worker.allow(
            {
                bucket: (self._sent[bucket], (values, {s for s in bucket.slots if s.used}))
                for bucket in buckets
                if bucket.length
            }
        )

    def finish_update(self, bucket: Bucket, values: Hyperparameters) -> None:
        if bucket.length:
            self._await(self._places.up_to_date(bucket), bucket)
            self._stepped[bucket] = self._sent[bucket]

    def quiet(self) -> None:
        with contextlib.suppress(PeerLost):  # who has left reads nothing
            for bucket, number in self._stepped.items():
                if number:
                    self._window.wait_signal(self._places.passed_on(bucket), number)

    @property
    def halfway(self) -> bool:
        return self._early is not None and self._early.begun

    def norm(self, buckets: list[Bucket], norm_type: float) -> Any:
        """The master's, which alone has the sums. Collective."""
        import torch

        sums = [slot.view for bucket in buckets for slot in bucket.slots if slot.used]
        norm = torch.nn.utils.get_total_norm(sums, norm_type) / self._lanes.size
        return self._lanes.control.broadcast(norm.reshape(1), 0)[0]

    def scale(self, buckets: list[Bucket], factor: Any) -> None:
        for bucket in buckets:
            bucket.gradients.mul_(factor)

    def state_dict(self) -> dict[str, Any]:
        """The master's, for all. Collective."""
        import io

        import torch

        control, packed = self._lanes.control, io.BytesIO()
        if control.rank == 0:
            torch.save(self._updates.optimizer.state_dict(), packed)
        size = int(control.broadcast(torch.tensor([packed.getbuffer().nbytes]), 0)[0])
        whole = torch.empty(size, dtype=torch.uint8)
        if control.rank == 0:
            whole.copy_(torch.frombuffer(packed.getbuffer(), dtype=torch.uint8))
        control.broadcast(whole, 0, out=whole)
        return torch.load(io.BytesIO(whole.numpy().tobytes()), weights_only=False)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._updates.optimizer.load_state_dict(state)

    def close(self) -> None:
        """Gives all optimizers the master's state, and ends the thread. Collective."""
        whole = self.state_dict()
        if self._lanes.rank:
            self._updates.optimizer.load_state_dict(whole)
        self._worker.stop()
        self._lanes.control.barrier()  # no rank's thread waits for signals any more
        self._window.close()

    def _update(self, unit: Unit, allowed: tuple[Hyperparameters, set[Slot]]) -> None:
        """Runs in the worker's thread, at the master."""
        assert self._steps is not None
        self._steps.run(unit, *allowed)

    def _leave_to_master(self, bucket: Bucket) -> None:
        """What went up counts there: a further backward pass adds to zero here."""
        if self._lanes.rank == 0:
            return
        for slot in bucket.slots:
            if slot.parameter.grad is slot.view:
                slot.view.zero_()

    def _refuse_moved(self, bucket: Bucket) -> None:
        for slot in bucket.slots:
            if slot.count and slot.parameter.data_ptr() != self._homes[slot]:
                raise InvalidArgument(
                    f"rank {self._lanes.rank}: GradientSync: {slot.name} was moved out of the "
                    'memory of strategy "tree": write its values in place (copy_), and convert or '
                    "move the model before making the GradientSync"
                )

    def _await(self, signal: int, bucket: Bucket) -> None:
        recorder, begin = active(), time.perf_counter_ns()
        self._window.wait_signal(signal, self._sent[bucket])
        if recorder is not None:
            recorder.span(WAIT, "wait", begin, time.perf_counter_ns())


class FlatTree(Tree):
    """`Strategy` "flat_tree": the document's own trees, over all ranks in their order.

    Each bucket goes up and comes down as a whole, in the order of the backward pass.
    """

    cuts = False

    def shape(self, rank: int) -> Shape:
        return flat_shape(rank, self._lanes.size)
