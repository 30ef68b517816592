"""This rank's shard of each bucket, and the state that the optimizer keeps for it.

    bucket of two parameters      | a a a a a | b b b b b b b . |      (. is padding)
    shards of ranks 0, 1 and 2    |---- 0 ----|---- 1 ----|---- 2 ----|
    parts of rank 1                          a | b b b b

A part is what a shard has of one parameter. To the optimizer it is a parameter of its own, so that
groups, frozen and unused parameters stay what they are.

A short bucket is not divided: the shard of every rank is all of it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from weft.train.sync.layout import Bucket, Slot, symmetric

WHOLE = 128 << 10
"""Bytes of a bucket that is not divided. Its update is short beside the collective that it saves.
DeepSpeed's ZeRO has "persistent" parameters for the same reason."""
# State that is one number for a parameter, also if the parameter has one element.
_NUMBERS = ("step", "eta", "mu", "mu_product")


@dataclass(eq=False)
class Part:
    """Elements [first, last) of a slot's memory, which are updated together."""

    slot: Slot
    first: int
    last: int
    parameter: Any
    gradient: Any


@dataclass(eq=False)
class Shard:
    """The memory of a bucket under the strategy "sharded". All of it is symmetric."""

    bucket: Bucket
    parameters: Any = field(repr=False)
    """All parameters, flat. The model's parameters are views of it."""
    mine: Any = field(repr=False)
    """A copy of this rank's part of it, where the optimizer works."""
    gradient: Any = field(repr=False)
    """The mean gradient of this part."""
    source: Any = field(repr=False)
    """This rank's part of `parameters`."""
    parts: list[Part] = field(default_factory=list)
    whole: bool = False
    """Every rank has all of it, and `mine` is `parameters`."""


def make_shard(bucket: Bucket, rank: int, ranks: int) -> Shard:
    """Moves the bucket's parameters into memory of its own. Their values stay."""
    import torch

    flat = symmetric(bucket.length, bucket.dtype)
    if is_whole(bucket):
        begin, end = 0, bucket.length
        gradient = symmetric(bucket.length, bucket.dtype)
        shard = Shard(bucket, flat, flat, gradient, flat, whole=True)
    else:
        length = bucket.length // ranks
        begin, end = rank * length, (rank + 1) * length
        mine, gradient = (symmetric(length, bucket.dtype) for _ in range(2))
        shard = Shard(bucket, flat, mine, gradient, flat[begin:end])
    for slot in bucket.slots:
        place = slot.place(flat)
        place.copy_(slot.parameter.detach())
        slot.parameter.data = place
        first, last = slot.range_within(begin, end)
        if first < last:
            start = slot.start + first - begin
            here = slice(start, start + last - first)
            parameter = torch.nn.Parameter(shard.mine[here])
            shard.parts.append(Part(slot, first, last, parameter, shard.gradient[here]))
    return shard


def is_whole(bucket: Bucket) -> bool:
    """Whether the bucket is too short to be divided."""
    return bucket.length * bucket.dtype.itemsize <= WHOLE


def range_of(slot: Slot, bucket: Bucket, rank: int, ranks: int) -> tuple[int, int]:
    """The elements [first, last) of a slot's memory that a rank speaks for. Each has one rank."""
    if is_whole(bucket):
        return (0, slot.count) if rank == 0 else (0, 0)
    length = bucket.length // ranks
    return slot.range_within(rank * length, (rank + 1) * length)


def cut(state: dict[Any, Any], parts: list[Part]) -> defaultdict[Any, dict[str, Any]]:
    """The state of parts, from that of whole parameters."""
    made: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
    for part in parts:
        for key, value in state.get(part.slot.parameter, {}).items():
            made[part.parameter][key] = _part(key, value, part)
    return made


def _part(key: str, value: Any, part: Part) -> Any:
    import torch

    parameter = part.slot.parameter
    single = parameter.dim() == 0 and key in _NUMBERS
    if single or not torch.is_tensor(value) or value.shape != parameter.shape:
        return value.clone() if torch.is_tensor(value) else value
    return in_memory_order(value, parameter)[part.first : part.last].clone()


def in_memory_order(value: Any, parameter: Any) -> Any:
    """The elements of `value` as a flat tensor, in the order of the parameter's memory."""
    import torch

    flat = torch.empty(parameter.numel(), dtype=value.dtype)
    flat.as_strided(parameter.shape, parameter.stride()).copy_(value)
    return flat
