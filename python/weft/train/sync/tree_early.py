"""Updates during the backward pass, before the program has called step()."""

from __future__ import annotations

from typing import Any

from weft.errors import InvalidArgument
from weft.train.sync.layout import Bucket
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.updates import Updates


class EarlyUpdates:
    """What one round of a tree with update="backward" may do, and what it refuses.

    A layer is updated with the hyperparameters that the optimizer has when its backward pass
    begins. So those at `step()` have to be the same. Not thread safe.
    """

    def __init__(self, updates: Updates, rank: int) -> None:
        self._updates, self._rank = updates, rank
        self.values: Hyperparameters = []
        """Of this round."""
        self._updated: set[Bucket] = set()
        self.begun = False
        """Whether layers may have been updated for a step that has not been called."""

    def begin(self, untaken: bool) -> None:
        """A round begins. untaken: `step()` has not taken the gradients of the one before."""
        if untaken:
            raise InvalidArgument(
                f'rank {self._rank}: GradientSync: update="backward", and step() was not called '
                "after a backward pass, which has updated layers: call it after each, or have all "
                'but the last under no_sync(), or use update="step"'
            )
        if not self.begun:
            self.begun, self.values = True, self._updates.hyperparameters()

    def may_update(self, bucket: Bucket) -> bool:
        """Whether all gradients of the bucket are there: each of its parameters is then used.

        If some are missing, only the end of the round says whether another rank has them. The same
        goes for a frozen parameter that has kept a gradient.
        """
        for slot in bucket.slots:
            trained, kept = slot.parameter.requires_grad, slot.parameter.grad is not None
            if not slot.arrived and (trained or kept):
                return False
        for slot in bucket.slots:
            slot.used = slot.arrived
        self._updated.add(bucket)
        return True

    def end(self, buckets: list[Bucket], values: Hyperparameters) -> list[Bucket]:
        """`step()` was called, with these hyperparameters; the buckets that wait for it."""
        self.begun = False
        updated, self._updated = self._updated, set()
        if updated and not _equal(values, self.values):
            raise InvalidArgument(
                f"rank {self._rank}: GradientSync: hyperparameters were changed between backward() "
                'and step(), and update="backward" has used the old ones: change them after '
                'step(), or use update="step"'
            )
        return [bucket for bucket in buckets if bucket not in updated]


def _equal(one: Hyperparameters, other: Hyperparameters) -> bool:
    return all(
        a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
        for a, b in zip(one, other, strict=True)
    )


def _same(one: Any, other: Any) -> bool:
    """Of numbers, words, tuples and tensors."""
    import torch

    if torch.is_tensor(one) and torch.is_tensor(other):
        return torch.equal(one, other)
    return bool(one == other)
