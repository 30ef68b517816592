"""The master's optimizer, run on pieces of buckets as their sums come.

    bucket of a long layer      | piece 0 | piece 1 | piece 2 |
    its weight w, its bias b      w w w w   w w w w   w w b        w has three parts, b has one

To the optimizer each part is a parameter. An element-wise optimizer gives it the bits that the
whole parameter would get. Other optimizers get all pieces of a bucket at once, so that every
parameter is whole.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft.train.sync.layout import Slot, strides
from weft.train.sync.shard_state import told_of
from weft.train.sync.shards import Part, cut, range_within
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.tree_memory import Piece
from weft.train.sync.updates import Updates

Unit = tuple[Piece, ...]
"""Pieces of one bucket, side by side, that are updated together."""


class TreeUpdates:
    """Takes the master's steps. The state of whole parameters is where users look for it.

    Parts of a parameter have their state in that of the parameter: `optimizer.state` and
    `optimizer.state_dict()` have the usual form.

    Not thread safe: the worker's thread takes steps, and the program loads a state between them.
    """

    def __init__(self, updates: Updates, units: list[Unit], size: int) -> None:
        """size: the number of ranks. The parameters are where they stay."""
        self._optimizer, self._twin, self._size = updates.optimizer, updates.twin(), size
        self._means = _scratch(units)
        self._parts = {unit: self._cut(unit) for unit in units}
        self._state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self._flat: dict[tuple[Slot, str], Any] = {}
        self.take_state()

    def run(self, unit: Unit, values: Hyperparameters, used: set[Slot]) -> None:
        """Takes a step with the mean of the sums in the unit's gradients, which stay.

        used: slots for which some rank has a gradient.
        """
        import torch

        bucket, first, last = unit[0].bucket, unit[0].first, unit[-1].last
        means = self._means[bucket.dtype][: last - first]
        torch.div(bucket.gradients[first:last], self._size, out=means)
        parts = [part for part in self._parts[unit] if part.slot in used]
        chosen: list[list[Any]] = [[] for _ in values]
        for part in parts:
            part.parameter.grad = part.gradient
            chosen[part.slot.group].append(part.parameter)
        if parts:
            self._twin.run(values, chosen, self._state)
        for part in parts:
            part.parameter.grad = None
            self._show(part)

    def take_state(self) -> None:
        """Goes on from the state that the user's optimizer has."""
        parts = [part for of_unit in self._parts.values() for part in of_unit]
        known = self._optimizer.state
        whole = {p.parameter: known[p.slot.parameter] for p in parts if _has_state(p, known)}
        self._state.clear()
        self._flat.clear()
        self._state.update(cut(known, [part for part in parts if not _is_whole(part)]))
        self._state.update(whole)
        for part in parts:
            if not _is_whole(part):
                known.pop(part.slot.parameter, None)
        for part in parts:
            self._show(part)

    def _cut(self, unit: Unit) -> list[Part]:
        bucket, begin, end = unit[0].bucket, unit[0].first, unit[-1].last
        means, parts = self._means[bucket.dtype], []
        for slot in bucket.slots:
            first, last = range_within(slot, begin, end)
            if first < last:
                start = slot.start + first - begin
                parts.append(_part(slot, first, last, means[start : start + last - first]))
        return parts

    def _show(self, part: Part) -> None:
        """Has the part's state in that of its parameter."""
        import torch

        if part.parameter not in self._state:
            return
        known, state = self._optimizer.state, self._state[part.parameter]
        if _is_whole(part):
            known[part.slot.parameter] = state
            return
        for key, value in state.items():
            if torch.is_tensor(value) and value.shape == part.parameter.shape:
                place = self._place(part, key, value.dtype)
                if place.data_ptr() != value.data_ptr():
                    state[key] = place.copy_(value)
            else:
                told_of(part.slot.name, key, value)  # refuses what no two parts have in common
                known[part.slot.parameter][key] = value

    def _place(self, part: Part, key: str, dtype: Any) -> Any:
        """Where the part's elements are in the parameter's state."""
        import torch

        slot = part.slot
        flat = self._flat.get((slot, key))
        if flat is None:
            flat = self._flat[slot, key] = torch.empty(slot.count, dtype=dtype)
            shaped = flat.as_strided(slot.parameter.shape, strides(slot.parameter))
            self._optimizer.state[slot.parameter][key] = shaped
        return flat[part.first : part.last]


def _scratch(units: list[Unit]) -> dict[Any, Any]:
    """By dtype, memory for the means of the longest unit."""
    import torch

    lengths: dict[Any, int] = {}
    for unit in units:
        dtype, length = unit[0].bucket.dtype, unit[-1].last - unit[0].first
        lengths[dtype] = max(lengths.get(dtype, 0), length)
    return {dtype: torch.empty(length, dtype=dtype) for dtype, length in lengths.items()}


def _part(slot: Slot, first: int, last: int, gradient: Any) -> Part:
    """A part with the parameter's shape if it is all of it; else flat."""
    import torch

    if (first, last) == (0, slot.count):
        shaped = gradient.as_strided(slot.parameter.shape, strides(slot.parameter))
        return Part(slot, first, last, torch.nn.Parameter(slot.parameter.data), shaped)
    flat = slot.parameter.data.as_strided((slot.count,), (1,))[first:last]
    return Part(slot, first, last, torch.nn.Parameter(flat), gradient)


def _is_whole(part: Part) -> bool:
    return (part.first, part.last) == (0, part.slot.count)


def _has_state(part: Part, known: dict[Any, Any]) -> bool:
    return _is_whole(part) and part.slot.parameter in known
