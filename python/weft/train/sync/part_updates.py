"""The user's optimizer, run on parts of parameters as their gradients come.

    bucket of a long layer      | piece 0 | piece 1 | piece 2 |
    its weight w, its bias b      w w w w   w w w w   w w b        w has three parts, b has one

To the optimizer each part is a parameter. An element-wise optimizer gives it the bits that the
whole parameter would get.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft.train.sync.layout import Bucket, Slot, strides
from weft.train.sync.shard_state import told_of
from weft.train.sync.shards import Part, cut
from weft.train.sync.strategy import Hyperparameters
from weft.train.sync.updates import Updates


def parts_of(bucket: Bucket, begin: int, end: int, gradients: Any) -> list[Part]:
    """What the elements [begin, end) of the bucket have of each parameter.

    gradients: those of these elements, flat.
    """
    parts = []
    for slot in bucket.slots:
        first, last = slot.range_within(begin, end)
        if first < last:
            start = slot.start + first - begin
            parts.append(_part(slot, first, last, gradients[start : start + last - first]))
    return parts


def whole_part(slot: Slot, gradient: Any) -> Part:
    """All of a parameter, in its shape, wherever it lies."""
    import torch

    return Part(slot, 0, slot.count, torch.nn.Parameter(slot.parameter.data), gradient)


class PartUpdates:
    """Takes steps on parts. The state of whole parameters is where users look for it.

    Parts of a parameter have their state in that of the parameter: `optimizer.state` and
    `optimizer.state_dict()` have the usual form. If the user has put another state there, as
    `load_state_dict` does, the next step goes on from that.

    Not thread safe. The program may change the state between steps.
    """

    def __init__(self, optimizer: Any, updates: Updates, parts: list[Part]) -> None:
        """optimizer: the user's. updates: what takes the steps. parts: of whole parameters."""
        self._optimizer, self._updates = optimizer, updates
        self._of: defaultdict[Slot, list[Part]] = defaultdict(list)
        for part in parts:
            self._of[part.slot].append(part)
        self._state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self._flat: defaultdict[Slot, dict[str, Any]] = defaultdict(dict)
        self._shown: dict[Slot, dict[str, Any]] = {}

    def run(self, parts: list[Part], values: Hyperparameters) -> None:
        """Takes a step on these parts with their gradients, which stay."""
        slots = dict.fromkeys(part.slot for part in parts)
        for slot in slots:
            if not _same(self._shown.get(slot, {}), self._known(slot)):
                self._take(slot)
        chosen: list[list[Any]] = [[] for _ in values]
        for part in parts:
            part.parameter.grad = part.gradient
            chosen[part.slot.group].append(part.parameter)
        if parts:
            self._updates.run(values, chosen, self._state)
        for part in parts:
            part.parameter.grad = None
            self._show(part)
        for slot in slots:
            self._shown[slot] = dict(self._known(slot))

    def _known(self, slot: Slot) -> dict[str, Any]:
        return self._optimizer.state.get(slot.parameter, {})

    def _take(self, slot: Slot) -> None:
        """Goes on from the state that the user's optimizer has of the slot."""
        parts, known = self._of[slot], self._optimizer.state
        self._flat.pop(slot, None)
        for part in parts:
            self._state.pop(part.parameter, None)
        if slot.parameter not in known:
            return
        if _is_whole(parts[0]):
            self._state[parts[0].parameter] = known[slot.parameter]
            return
        self._state.update(cut(known, parts))
        known[slot.parameter] = {}
        for part in parts:
            self._show(part)

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

        slot, flat = part.slot, self._flat[part.slot]
        if key not in flat:
            flat[key] = torch.empty(slot.count, dtype=dtype)
            shaped = flat[key].as_strided(slot.parameter.shape, strides(slot.parameter))
            self._optimizer.state[slot.parameter][key] = shaped
        return flat[key][part.first : part.last]


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether both have the same objects by the same keys."""
    return one.keys() == other.keys() and all(one[key] is other[key] for key in one)


def _part(slot: Slot, first: int, last: int, gradient: Any) -> Part:
    """A part with the parameter's shape if it is all of it; else flat."""
    import torch

    if (first, last) == (0, slot.count):
        shape = slot.parameter.shape
        return whole_part(slot, gradient.as_strided(shape, strides(slot.parameter)))
    flat = slot.parameter.data.as_strided((slot.count,), (1,))[first:last]
    return Part(slot, first, last, torch.nn.Parameter(flat), gradient)


def _is_whole(part: Part) -> bool:
    return (part.first, part.last) == (0, part.slot.count)
