"""Where each parameter's gradient lies: slots in buckets, and buckets on lanes.

    parameters       conv1.weight conv1.bias conv2.weight conv2.bias  fc1.weight     fc2.weight
    buckets          [0: small layers together ---------------------] [1: a long one] [2: another]
    lanes             0                                                1               2

A layer is a module with parameters of its own. Layers are in the order in which the module lists
them, which is as a rule that of the forward pass. The layout depends on the model and the options
alone, so it is equal on all ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import weft

_ALIGNMENT = 64  # bytes; a cache line
# Bytes of a bucket, unless the user says. The least take half a millisecond at 1 Gbit/s.
_SHARE_OF_MODEL, _LEAST_BUCKET, _MOST_BUCKET = 8, 64 << 10, 4 << 20
_SHORT_BUCKET = 32 << 10
"""A collective for less takes longer than the bytes."""


@dataclass(eq=False)
class Slot:
    """A parameter and its place in a bucket."""

    name: str
    parameter: Any
    group: int
    """The number of the optimizer's parameter group."""
    number: int = 0
    """The place among all slots, in model order."""
    start: int = 0
    """The first element in the bucket."""
    bucket: Bucket = field(init=False, repr=False)
    view: Any = field(default=None, repr=False)
    """The part of `bucket.gradients`, in the parameter's shape. None before the first round."""
    arrived: bool = False
    """Whether this round's backward pass has brought its gradient."""
    used: bool = False
    """Whether any rank had a gradient in the last round."""
    entered: bool = False
    """Whether a module that has the parameter has run since the last step."""

    @property
    def count(self) -> int:
        """Elements."""
        return self.parameter.numel()

    def place(self, flat: Any) -> Any:
        """The slot's part of a flat tensor of the bucket's length, with the parameter's strides."""
        part = flat[self.start : self.start + self.count]
        return part.as_strided(self.parameter.shape, strides(self.parameter))

    def range_within(self, begin: int, end: int) -> tuple[int, int]:
        """The slot's elements that are in the elements [begin, end) of its bucket."""
        first = min(max(begin - self.start, 0), self.count)
        last = min(max(end - self.start, 0), self.count)
        return first, last

    def take_gradient(self) -> None:
        """Has the gradient in the bucket, as `parameter.grad`. Without one the place is zeroed."""
        grad = self.parameter.grad
        if grad is self.view:
            return
        if grad is None:
            self.view.zero_()
        else:
            self.view.copy_(grad)
            self.parameter.grad = self.view


@dataclass(eq=False)
class Bucket:
    """Slots whose gradients travel together."""

    number: int
    """The place among all buckets, in model order."""
    dtype: Any
    slots: list[Slot]
    length: int
    """Elements of `gradients`."""
    lane: int = 0
    gradients: Any = field(default=None, repr=False)
    """The flat gradients, in symmetric memory. None before the first round."""
    live: bool = False
    """Whether the bucket takes part in this round: some parameter requires a gradient."""
    missing: int = 0
    """Parameters of this round whose gradients have not arrived."""
    started: bool = False
    """Whether this round's collective was started."""

    def layers(self, begin: int = 0, end: int | None = None) -> dict[str, int]:
        """The layers that have parameters in the elements [begin, end), and the bytes of each."""
        found: dict[str, int] = {}
        for slot in self.slots:
            first, last = slot.range_within(begin, self.length if end is None else end)
            if first < last:
                name = slot.name.rpartition(".")[0] or slot.name
                found[name] = found.get(name, 0) + (last - first) * self.dtype.itemsize
        return found

    def begin_round(self) -> None:
        """Nothing has arrived."""
        trained = [slot.parameter.requires_grad for slot in self.slots]
        self.live, self.started, self.missing = any(trained), False, sum(trained)
        for slot in self.slots:
            slot.arrived = False

    def place_gradients(self) -> None:
        """Gives the bucket its memory, once."""
        if self.gradients is None:
            self.gradients = symmetric(self.length, self.dtype)
            for slot in self.slots:
                # Through .data: each view then counts writes to itself alone.
                slot.view = slot.place(self.gradients).data


@dataclass(eq=False)
class Layout:
    """All slots and buckets, in model order."""

    slots: list[Slot]
    buckets: list[Bucket]
    modules: dict[Any, list[Slot]]
    """The slots that a module reads in its forward pass."""
    model: Any

    @property
    def lanes(self) -> int:
        """How many lanes the buckets are on."""
        return 1 + max((bucket.lane for bucket in self.buckets), default=0)

    def by_parameter(self) -> dict[Any, Slot]:
        """Slots by their parameter."""
        return {slot.parameter: slot for slot in self.slots}


def strides(parameter: Any) -> tuple[int, ...]:
    """The strides of a tensor in a gapless buffer: its own if it has no gaps."""
    import torch

    return torch.empty_like(parameter, device="meta").stride()


def symmetric(count: int, dtype: Any) -> Any:
    """A zeroed flat tensor that peers read and write in place."""
    import torch

    if count == 0:
        return torch.empty(0, dtype=dtype)
    return torch.from_numpy(weft.empty(count * dtype.itemsize, "uint8")).view(dtype)


def lay_out(model: Any, optimizer: Any, bucket_bytes: int | None, lanes: int, parts: int) -> Layout:
    """Divides the optimizer's parameters of `model` into buckets of about `bucket_bytes`.

    A parameter is in one bucket. A bucket has one dtype, and does not mix parameters that require
    gradients now with frozen ones. Its length is a multiple of `parts` cache lines. At most `lanes`
    lanes have about as many buckets each, in model order.
    """
    groups = {p: i for i, group in enumerate(optimizer.param_groups) for p in group["params"]}
    slots = {p: Slot(name, p, groups[p]) for name, p in model.named_parameters() if p in groups}
    for number, slot in enumerate(slots.values()):
        slot.number = number
    every = list(slots.values())
    short = 0 if bucket_bytes else _SHORT_BUCKET
    buckets = _buckets(every, bucket_bytes or _usual_bytes(every), short, parts)
    for bucket in buckets:
        bucket.lane = bucket.number * min(lanes, len(buckets)) // len(buckets)
        for slot in bucket.slots:
            slot.bucket = bucket
    modules = {module: _read_by(module, slots) for module in model.modules()}
    return Layout(every, buckets, modules, model)


def _usual_bytes(slots: list[Slot]) -> int:
    return min(max(_bytes(slots) // _SHARE_OF_MODEL, _LEAST_BUCKET), _MOST_BUCKET)


def _buckets(slots: list[Slot], bucket_bytes: int, short: int, parts: int) -> list[Bucket]:
    """Layers together until they have `bucket_bytes`; a longer layer is alone.

    A bucket that would have less than `short` bytes goes with the one before.
    """
    made: list[list[Slot]] = []
    filling: dict[tuple[Any, bool], list[Slot]] = {}
    for layer in _layers(slots):
        for slot in layer:
            kind = _kind(slot)
            mates = [mate for mate in layer if _kind(mate) == kind]
            now = filling.get(kind)
            if now is None or (slot is mates[0] and _bytes(now) + _bytes(mates) > bucket_bytes):
                now = filling[kind] = []
                made.append(now)
            now.append(slot)
    made.sort(key=lambda bucket: bucket[0].number)
    made = _without_short(made, short)
    return [
        Bucket(number, members[0].parameter.dtype, members, _length(members, parts))
        for number, members in enumerate(made)
    ]


def _without_short(buckets: list[list[Slot]], short: int) -> list[list[Slot]]:
    made: list[list[Slot]] = []
    for bucket in buckets:
        if made and _bytes(bucket) < short and _kind(made[-1][0]) == _kind(bucket[0]):
            made[-1] += bucket
        else:
            made.append(bucket)
    return made


def _kind(slot: Slot) -> tuple[Any, bool]:
    """What the slots of a bucket have in common."""
    return slot.parameter.dtype, slot.parameter.requires_grad


def _layers(slots: list[Slot]) -> list[list[Slot]]:
    """Slots by the module that has the parameter first."""
    layers: dict[str, list[Slot]] = {}
    for slot in slots:
        layers.setdefault(slot.name.rpartition(".")[0], []).append(slot)
    return list(layers.values())


def _bytes(slots: list[Slot]) -> int:
    return sum(slot.count * slot.parameter.dtype.itemsize for slot in slots)


def _length(slots: list[Slot], parts: int) -> int:
    """Sets where each slot starts; the length of all of them."""
    step = _ALIGNMENT // slots[0].parameter.dtype.itemsize
    end = 0
    for slot in slots:
        slot.start = end
        end = -(-(end + slot.count) // step) * step
    return -(-end // (step * parts)) * step * parts


def _read_by(module: Any, slots: dict[Any, Slot]) -> list[Slot]:
    """The slots of the parameters that a forward pass of `module` itself reads."""
    import torch

    # It reads the parameters of its projection and never calls it.
    deep = isinstance(module, torch.nn.MultiheadAttention)
    return [slots[p] for p in module.parameters(recurse=deep) if p in slots]
