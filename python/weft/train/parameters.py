"""Whose parameters everybody starts from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from weft.errors import InvalidArgument, Mismatch
from weft.train.agreement import described, digest, refuse_different, why_not_dense
from weft.train.group import Group, exchange, group_of, raise_first

_WHO = "broadcast_parameters"
_SOURCES = ("rank0", "best", "average")
_BUCKET = 32 << 20  # bytes of a message
_ALIGNMENT = 16  # bytes; the longest element is a complex128


def broadcast_parameters(
    model: Any, source: str = "rank0", *, loss: Any = None, group: Any = None
) -> int | None:
    """Gives all ranks the same parameters and buffers, bit for bit. Collective.

    Every parameter and every buffer of the model is written in place, also buffers with
    persistent=False. Tied parameters stay tied. Gradients, `requires_grad` and the autograd graph
    stay as they are. A backward pass over a graph that has saved a parameter then raises torch's
    error on every rank: call this before the forward pass. Tensors travel in buckets of 32 MiB, and
    a longer one by itself; a rank needs that much memory besides.

    Args:
        model: a `torch.nn.Module` in the CPU's memory, with the same names, shapes and dtypes on
            all ranks. Strides may differ.
        source: "rank0": the group's rank 0. "best": the rank with the lowest `loss`; if several
            have it, the lowest rank of these. "average": floating and complex tensors get the mean
            of all ranks. It is summed in float32 or complex64, or in the tensor's type if that is
            longer, and rounded once. Other tensors, such as BatchNorm's `num_batches_tracked`, get
            rank 0's values: a mean of counters is no counter. Equal on all ranks.
        loss: this rank's loss, for "best" only: a number, or a tensor of one. May be infinite.
        group: a `weft.Communicator`, or a process group of torch. None: torch's default process
            group. If the model is split over model groups, pass the data group.

    Returns:
        The rank in the group whose tensors all ranks now have; None for "average".

    Raises:
        InvalidArgument: on every rank, naming the rank and the remedy: `loss` is NaN or missing,
            `source` is unknown, or the model has a tensor that cannot be sent (a DTensor, one that
            is sparse, on another device, without memory, or whose elements overlap). On this rank
            alone: there is no such group.
        Mismatch: on every rank: models differ, with the first difference, or sources do. No tensor
            was written, and the group stays usable.

        Errors of the group itself (`PeerLost`, `Timeout`, ...) may leave tensors partly written.

    Thread safe as the group's collectives are. No other thread may use the model meanwhile.
    """
    ranks = group_of(group, _WHO)
    fault, tensors = "", {}
    mine: dict[str, Any] = {}
    try:
        tensors = _tensors(model)
        mine = {"source": _source(source), "loss": _loss(source, loss)}
        mine["model"] = digest(described(tensors))
    except InvalidArgument as error:
        fault = str(error)
    every = exchange(ranks, {"fault": fault, **mine})
    raise_first([one["fault"] for one in every], _WHO)
    _refuse_other_sources(every)
    refuse_different(ranks, [one["model"] for one in every], described(tensors), _WHO)
    root = 0
    if source == "best":
        root = min(range(ranks.size), key=lambda rank: (every[rank]["loss"], rank))
    _send(ranks, list(tensors.values()), root, average=source == "average")
    return None if source == "average" else root


def _tensors(model: Any) -> dict[str, Any]:
    """All parameters and buffers by kind and name; tied ones once, by their first name."""
    import torch

    if not isinstance(model, torch.nn.Module):
        raise InvalidArgument(f"model is a {type(model).__name__}: give a torch.nn.Module")
    found = {f"parameter {name}": one for name, one in model.named_parameters()}
    found |= {f"buffer {name}": one for name, one in model.named_buffers()}
    for name, tensor in found.items():
        if why := why_not_dense(tensor):
            raise InvalidArgument(f"{name} {why}")
    return {name: tensor.detach() for name, tensor in found.items()}


def _source(source: Any) -> str:
    if not isinstance(source, str) or source not in _SOURCES:
        raise InvalidArgument(f"source is {source!r}: give one of {', '.join(_SOURCES)}")
    return source


def _loss(source: str, loss: Any) -> float:
    """The loss as a number; 0 if nobody asks for it."""
    if source != "best":
        return 0.0
    try:
        if isinstance(loss, (str, bytes)):
            raise TypeError
        number = float(loss)
    except (OverflowError, RuntimeError, TypeError, ValueError):
        raise InvalidArgument(
            f'loss is {loss!r}: source "best" needs a number, this rank\'s loss'
        ) from None
    if math.isnan(number):
        raise InvalidArgument("loss is NaN: no rank is the best beside it; leave this model out")
    return number


def _refuse_other_sources(every: list[dict]) -> None:
    """Raises `Mismatch` where ranks give different sources. `every` is what all ranks said."""
    for rank, one in enumerate(every):
        if one["source"] != every[0]["source"]:
            raise Mismatch(
                f"{_WHO}: rank {rank} has source {one['source']!r}, rank 0 "
                f"{every[0]['source']!r}: give the same on all ranks"
            )


def _send(ranks: Group, tensors: list[Any], root: int, average: bool) -> None:
    """Averages at the root if asked to; then the root's tensors go to all ranks."""
    import torch

    with torch.no_grad():
        filled = [tensor for tensor in tensors if tensor.numel() > 0]
        if average:
            _average(ranks, filled, root)
        for bucket in _buckets(filled):
            room, parts = _room(bucket)
            if ranks.rank == root:
                _copy(bucket, parts)
            ranks.broadcast(room, root)
            _copy(parts, bucket)  # at the root, too: autograd then notices on all ranks alike


def _average(ranks: Group, tensors: list[Any], root: int) -> None:
    """The mean of all ranks' floating and complex tensors, at the root.

    By a reduce, and not an allreduce: the broadcast that follows makes all ranks equal to the bit
    on any backend, and WEFT_WIRE rounds no reduce.
    """
    wide: dict[Any, list[Any]] = {}
    for tensor in tensors:
        if tensor.is_floating_point() or tensor.is_complex():
            wide.setdefault(_wide(tensor.dtype), []).append(tensor)
    for dtype, same in wide.items():
        for bucket in _buckets(same, dtype):
            room, parts = _room(bucket, dtype)
            _copy(bucket, parts)
            ranks.sum_at(room.view(dtype), root)
            if ranks.rank == root:
                room.view(dtype).div_(ranks.size)
                _copy(parts, bucket)


def _wide(dtype: Any) -> Any:
    """The type in which values of `dtype` are added up."""
    import torch

    if dtype in (torch.float64, torch.complex128):
        return dtype
    return torch.complex64 if dtype.is_complex else torch.float32


def _buckets(tensors: list[Any], dtype: Any = None) -> Iterator[list[Any]]:
    """Tensors in order, at most _BUCKET bytes together in `dtype`. A longer one is alone."""
    bucket: list[Any] = []
    length = 0
    for tensor in tensors:
        own = tensor.numel() * (dtype or tensor.dtype).itemsize
        if bucket and length + own > _BUCKET:
            yield bucket
            bucket, length = [], 0
        bucket.append(tensor)
        length += own
    if bucket:
        yield bucket


def _room(bucket: list[Any], dtype: Any = None) -> tuple[Any, list[Any]]:
    """Zeroed bytes for a bucket, and each tensor's part of them, in `dtype` or its own."""
    import torch

    ends, end = [], 0
    for tensor in bucket:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = start + tensor.numel() * (dtype or tensor.dtype).itemsize
        ends.append((start, end))
    room = torch.zeros(-(-end // _ALIGNMENT) * _ALIGNMENT, dtype=torch.uint8)
    parts = [
        room[start:end].view(dtype or tensor.dtype).view(tensor.shape)
        for tensor, (start, end) in zip(bucket, ends, strict=True)
    ]
    return room, parts


def _copy(sources: list[Any], targets: list[Any]) -> None:
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)
