"""Whether all ranks have the same model, and whether its tensors can be sent at all."""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from weft.errors import Mismatch
from weft.train.group import Group, exchange


def why_not_dense(tensor: Any) -> str:
    """Why a tensor cannot be sent or written, and what to do; empty if it can."""
    import torch

    dtensors = sys.modules.get("torch.distributed.tensor")
    if dtensors is not None and isinstance(tensor, dtensors.DTensor):
        return "is a DTensor, whose ranks have different parts: broadcast before sharding"
    if torch.nn.parameter.is_lazy(tensor):
        return "is not initialized: run the model once, or give it its sizes"
    if tensor.device.type != "cpu":
        return f"is on the device {tensor.device}: move the model to the CPU first"
    if tensor.layout != torch.strided or tensor.is_quantized:
        return f"has the layout {tensor.layout}, dtype {tensor.dtype}: make it dense first"
    if any(n > 1 and step == 0 for n, step in zip(tensor.shape, tensor.stride(), strict=True)):
        return "has elements that share memory (expand()): make it contiguous() first"
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        return "was made in inference mode: call this in inference mode, too, or clone() it"
    return ""


def described(tensors: dict[str, Any]) -> list[str]:
    """Name, dtype and shape of each tensor, in order."""
    return [f"{name}, {one.dtype} {list(one.shape)}" for name, one in tensors.items()]


def digest(lines: list[str]) -> str:
    """Equal for equal lines."""
    return hashlib.sha256(json.dumps(lines).encode()).hexdigest()


def refuse_different(
    ranks: Group, digests: list[str], mine: list[str], who: str, remedy: str = ""
) -> None:
    """Raises `Mismatch` on every rank, with the first difference, unless all digests are equal.

    digests: of every rank's `described` tensors, as `exchange` gave them. mine: this rank's lines.
    Collective where digests differ.
    """
    if all(one == digests[0] for one in digests):
        return
    models = exchange(ranks, mine)
    rank = next(r for r, one in enumerate(models) if one != models[0])
    most = max(len(models[0]), len(models[rank]))
    theirs, first = (models[r] + ["nothing"] * (most - len(models[r])) for r in (rank, 0))
    place = next(i for i in range(most) if theirs[i] != first[i])
    raise Mismatch(
        f"{who}: models differ. Tensor {place} on rank {rank}: {theirs[place]}. On rank 0: "
        f"{first[place]}. {remedy or 'Make the same model on all ranks'}"
    )
