"""Every rank gets the mean of all gradients and updates all parameters.

    backward of layer    4   3   2   1 |                       next forward   1   2   3   4
    on the wire              4   3   2   1   (1 and 2 may overtake 3 and 4)
    update                             |                                      1   2   3   4

A long layer is averaged in pieces. Each is updated once it is there, while those after it travel.
The layer-wise scheme of CaffeGPI, with an allreduce in place of the trees: Kuehn, Keuper,
Pfreundt, "Using GPI-2 for Distributed Memory Parallelization of the Caffe Toolbox to Speed up Deep
Neural Network Training".
"""

from __future__ import annotations

from typing import Any

from weft.errors import InvalidArgument
from weft.request import Request
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Bucket, Layout, Slot
from weft.train.sync.long_bucket import LongBucket, halves
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.updates import Updates, is_elementwise
from weft.train.sync.words import Words

PIECE = 8 << 20
"""Bytes of the last piece of a long bucket, at least: long beside the start of a collective."""
TOGETHER = 4 << 20
"""Bytes of buckets whose update is long beside the call of the optimizer."""


class Allreduce:
    """`Strategy` "allreduce"."""

    halfway = False

    def __init__(self, layout: Layout, lanes: Lanes, updates: Updates, words: Words) -> None:
        self._lanes, self._updates, self._words = lanes, updates, words
        self._ranges: dict[Bucket, list[tuple[int, int]]] = {}
        self._long: dict[Bucket, LongBucket] = {}
        self._requests: dict[Bucket, list[Request]] = {}
        self._to_update: list[Bucket] = []
        self._versions: dict[Slot, int] = {}

    def prepare(self, bucket: Bucket) -> None:
        bucket.place_gradients()
        if bucket in self._ranges:
            return
        least = bucket.length
        if is_elementwise(self._updates.optimizer):
            least = PIECE // bucket.dtype.itemsize
        self._ranges[bucket] = ranges = halves(bucket.length, least)
        if len(ranges) > 1:
            self._long[bucket] = LongBucket(bucket, ranges, self._updates)

    def start(self, bucket: Bucket) -> None:
        self._requests[bucket] = [self._average(bucket, *one) for one in self._ranges[bucket]]

    def _average(self, bucket: Bucket, begin: int, end: int) -> Request:
        flat = bucket.gradients[begin:end]
        return self._lanes.start(
            self._lanes.data[bucket.lane].allreduce,
            flat,
            "avg",
            out=flat,
            symmetric=True,
            carries=lambda: bucket.layers(begin, end),
        )

    def under_way(self, bucket: Bucket) -> bool:
        return bucket in self._requests

    def settle(self, bucket: Bucket) -> None:
        for request in self._requests.pop(bucket, []):
            self._lanes.wait(request)

    def begin_update(self, buckets: list[Bucket], values: Hyperparameters, later: bool) -> None:
        if later:
            self._to_update = list(buckets)
        else:
            self._words.hear()
            for bucket in buckets:
                self.settle(bucket)
        for bucket in buckets:
            for slot in bucket.slots:
                if later:
                    slot.parameter.grad = slot.view
                    self._versions[slot] = slot.view._version
                else:
                    slot.parameter.grad = slot.view if slot.used else None
        if not later:
            self._updates.run_all()

    def finish_update(self, bucket: Bucket, values: Hyperparameters) -> None:
        """Also of others whose means are here: a call of the optimizer for each would cost more."""
        if bucket not in self._to_update:
            return
        self._words.hear()
        here = [one for one in self._to_update if self._is_here(one)]
        if bucket not in here:
            if bucket in self._long or self._fill_the_wait(here):
                self._update(here, values)
                here = []
            else:
                self.settle(bucket)
            here.append(bucket)
        self._update(here, values)

    def _fill_the_wait(self, here: list[Bucket]) -> bool:
        """Whether to update these while the mean of another bucket comes.

        Nothing better can be done then. But where ranks share cores, others compute meanwhile, and
        for short buckets one call of the optimizer less counts more.
        """
        nbytes = sum(one.length * one.dtype.itemsize for one in here)
        return nbytes >= TOGETHER or not self._lanes.crowded

    def _is_here(self, bucket: Bucket) -> bool:
        return all(map(self._lanes.has_ended, self._requests.get(bucket, ())))

    def _update(self, buckets: list[Bucket], values: Hyperparameters) -> None:
        cleared = []
        for bucket in buckets:
            self._refuse_written(bucket)
            for slot in bucket.slots:
                if slot.parameter.grad is None:
                    cleared.append(slot)
                slot.parameter.grad = slot.view if slot.used else None
        self._update_whole([one for one in buckets if one not in self._long], values)
        for bucket in buckets:
            if bucket in self._long:
                self._update_pieces(bucket, values)
        for slot in cleared:
            slot.parameter.grad = None
        self._to_update = [one for one in self._to_update if one not in buckets]

    def _update_whole(self, buckets: list[Bucket], values: Hyperparameters) -> None:
        chosen: list[list[Any]] = [[] for _ in values]
        for bucket in buckets:
            self.settle(bucket)
            for slot in bucket.slots:
                if slot.used:
                    chosen[slot.group].append(slot.parameter)
        if any(chosen):
            self._updates.run(values, chosen)

    def _update_pieces(self, bucket: Bucket, values: Hyperparameters) -> None:
        requests = self._requests.pop(bucket, [])
        for piece in range(len(self._ranges[bucket])):
            if requests:
                self._lanes.wait(requests[piece])
            self._long[bucket].update(piece, values)

    def quiet(self) -> None:
        pass  # a collective that has ended reads nothing

    def norm(self, buckets: list[Bucket], norm_type: float) -> Any:
        import torch

        return torch.nn.utils.get_total_norm(_used(buckets), norm_type)

    def scale(self, buckets: list[Bucket], factor: Any) -> None:
        for gradient in _used(buckets):
            gradient.mul_(factor)

    def state_dict(self) -> dict[str, Any]:
        return self._updates.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._updates.optimizer.load_state_dict(state)

    def close(self) -> None:
        pass

    def _refuse_written(self, bucket: Bucket) -> None:
        """A gradient that was written while it was averaged is wrong, perhaps on all ranks."""
        for slot in bucket.slots:
            if self._versions.pop(slot) != slot.view._version:
                raise InvalidArgument(
                    f"rank {self._lanes.rank}: GradientSync: the gradient of {slot.name} was "
                    "written between step() and the end of its update: call zero_grad() of the "
                    "GradientSync in place of the optimizer's or the model's, or finish() before"
                )


def _used(buckets: list[Bucket]) -> list[Any]:
    return [slot.view for bucket in buckets for slot in bucket.slots if slot.used]
