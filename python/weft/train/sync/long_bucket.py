"""A bucket that is averaged and updated a piece at a time."""

from __future__ import annotations

from weft.train.sync.layout import Bucket, Slot, strides
from weft.train.sync.part_updates import PartUpdates, parts_of, whole_part
from weft.train.sync.shards import Part
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.updates import Updates

_STEP = 64
"""Pieces begin at multiples of so many elements, so on cache lines."""


def halves(length: int, least: int) -> list[tuple[int, int]]:
    """Cuts `length` elements: a piece is half of what is left, and has about `least` or more.

    So collectives are few, each update has time until the next piece comes, and the last is short.
    """
    ranges, begin = [], 0
    while (half := (length - begin) // 2 // _STEP * _STEP) >= max(least, 1):
        ranges.append((begin, begin + half))
        begin += half
    return [*ranges, (begin, length)]


class LongBucket:
    """Updates the parameters of a bucket piece by piece, where the program has them.

    Not thread safe.
    """

    def __init__(self, bucket: Bucket, ranges: list[tuple[int, int]], updates: Updates) -> None:
        """ranges: the elements [begin, end) of each piece. Needs `bucket.gradients`."""
        self._bucket, self._ranges, self._updates = bucket, ranges, updates
        self._cut()

    def update(self, piece: int, values: Hyperparameters) -> None:
        """Takes a step on the piece with its gradients. Pieces come in their order."""
        import torch

        # Parts and their state have to outlive a forward pass in inference mode.
        with torch.inference_mode(False):
            if piece == 0 and self._homes != self._places():
                self._cut()
            used = [part for part in self._parts[piece] if part.slot.used]
            self._steps.run(used, values)

    def _cut(self) -> None:
        self._homes = self._places()
        self._parts = [self._parts_within(begin, end) for begin, end in self._ranges]
        every = [part for of_piece in self._parts for part in of_piece]
        self._steps = PartUpdates(self._updates.optimizer, self._updates, every)

    def _places(self) -> list[tuple[int, tuple[int, ...]]]:
        """Where the parameters are. The program may give them other memory between steps."""
        parameters = [slot.parameter for slot in self._bucket.slots]
        return [(parameter.data_ptr(), parameter.stride()) for parameter in parameters]

    def _parts_within(self, begin: int, end: int) -> list[Part]:
        bucket = self._bucket
        parts = parts_of(bucket, begin, end, bucket.gradients[begin:end])
        parts = [part for part in parts if not _is_indivisible(part.slot)]
        for slot in bucket.slots:
            last = min(max(slot.start + slot.count - 1, slot.start), bucket.length - 1)
            if _is_indivisible(slot) and begin <= last < end:
                parts.append(whole_part(slot, slot.view))
        return parts


def _is_indivisible(slot: Slot) -> bool:
    """Whether the parameter's elements are not side by side in memory, or it has none."""
    parameter = slot.parameter
    return slot.count == 0 or parameter.stride() != strides(parameter)
