"""The optimizer's state in the form of one process, from the shards of all ranks."""

from __future__ import annotations

from typing import Any

from weft.errors import Unsupported
from weft.train.group import CommunicatorGroup, exchange
from weft.train.sync.lanes import Lanes
from weft.train.sync.layout import Slot
from weft.train.sync.shards import Part, range_of
from weft.train.sync.updates import Updates


def gathered(
    state: dict[Any, dict[str, Any]],
    parts: list[Part],
    slots: list[Slot],
    lanes: Lanes,
    updates: Updates,
) -> dict[int, dict[str, Any]]:
    """`optimizer.state_dict()["state"]` of one process: by number of the parameter. Collective.

    An allgather for each parameter and key, and one before that says which there are.
    """
    mine = {p.slot.number: state[p.parameter] for p in parts if p.parameter in state}
    told = {
        number: {key: told_of(slots[number].name, key, value) for key, value in of.items()}
        for number, of in mine.items()
    }
    every = exchange(CommunicatorGroup(lanes.control), told)
    keys: dict[int, dict[str, Any]] = {}
    for one in every:
        for number, of in one.items():
            keys.setdefault(int(number), {}).update(of)
    order = updates.order()
    whole = {
        order[slots[number].parameter]: {
            key: _whole(kind, mine.get(number, {}).get(key), slots[number], lanes)
            for key, kind in keys[number].items()
        }
        for number in sorted(keys)
    }
    return dict(sorted(whole.items()))


def told_of(name: str, key: str, value: Any) -> list[Any]:
    """What a rank says of a part's state: a kind, a dtype, and a number's value."""
    import torch

    if not torch.is_tensor(value):
        if value is None or isinstance(value, (bool, int, float, str)):
            return ["value", "", value]
    elif value.dim() == 0:
        return ["number", str(value.dtype).removeprefix("torch."), value.item()]
    elif value.dim() == 1:
        return ["elements", str(value.dtype).removeprefix("torch."), 0]
    raise Unsupported(
        f"GradientSync: the optimizer's state {key} of {name} is a {type(value).__name__}: "
        'save it yourself, or use strategy="allreduce"'
    )


def _whole(told: list[Any], mine: Any, slot: Slot, lanes: Lanes) -> Any:
    """One entry of a parameter's state. Collective if it has elements."""
    import torch

    kind, dtype, value = told
    if kind == "value":
        return value
    if kind == "number":
        return torch.tensor(value, dtype=getattr(torch, dtype))
    ranges = [range_of(slot, slot.bucket, rank, lanes.size) for rank in range(lanes.size)]
    counts = [last - first for first, last in ranges]
    flat = torch.empty(slot.count, dtype=getattr(torch, dtype))
    part = flat[:0] if mine is None or counts[lanes.rank] == 0 else mine
    lanes.control.allgather(part, output_counts=counts, out=flat)
    parameter = slot.parameter
    return flat.as_strided(parameter.shape, parameter.stride()).clone()
