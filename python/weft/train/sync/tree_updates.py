"""The master's optimizer, run on pieces of buckets as their sums come.

Other optimizers than element-wise ones get all pieces of a bucket at once, so that every parameter
is whole.
"""

from __future__ import annotations

from typing import Any

from weft.train.sync.layout import Slot
from weft.train.sync.part_updates import PartUpdates, parts_of
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.tree_memory import Piece
from weft.train.sync.updates import Updates

Unit = tuple[Piece, ...]
"""Pieces of one bucket, side by side, that are updated together."""


class TreeUpdates:
    """Takes the master's steps.

    Not thread safe: the worker's thread takes steps, and the program loads a state between them.
    """

    def __init__(self, updates: Updates, units: list[Unit], size: int) -> None:
        """size: the number of ranks. The parameters are where they stay."""
        self._size, self._means = size, _scratch(units)
        self._parts = {
            unit: parts_of(unit[0].bucket, *_range(unit), self._means[unit[0].bucket.dtype])
            for unit in units
        }
        every = [part for of_unit in self._parts.values() for part in of_unit]
        self._steps = PartUpdates(updates.optimizer, updates.twin(), every)

    def run(self, unit: Unit, values: Hyperparameters, used: set[Slot]) -> None:
        """Takes a step with the mean of the sums in the unit's gradients, which stay.

        used: slots for which some rank has a gradient.
        """
        import torch

        bucket, (first, last) = unit[0].bucket, _range(unit)
        means = self._means[bucket.dtype][: last - first]
        torch.div(bucket.gradients[first:last], self._size, out=means)
        self._steps.run([part for part in self._parts[unit] if part.slot in used], values)


def _range(unit: Unit) -> tuple[int, int]:
    return unit[0].first, unit[-1].last


def _scratch(units: list[Unit]) -> dict[Any, Any]:
    """By dtype, memory for the means of the longest unit."""
    import torch

    lengths: dict[Any, int] = {}
    for unit in units:
        dtype, (first, last) = unit[0].bucket.dtype, _range(unit)
        lengths[dtype] = max(lengths.get(dtype, 0), last - first)
    return {dtype: torch.empty(length, dtype=dtype) for dtype, length in lengths.items()}
