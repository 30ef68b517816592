"""What SplitSGD refuses, before it changes anything."""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

from weft.errors import InvalidArgument, Unsupported


def check_options(group: dict[str, Any]) -> None:
    """Raises InvalidArgument if a factor is none."""
    for name in ("lr", "momentum", "dampening", "weight_decay"):
        try:
            value = float(group[name])
        except (TypeError, ValueError, RuntimeError):
            raise InvalidArgument(f"SplitSGD: {name} is {group[name]!r}: give a number") from None
        if not math.isfinite(value) or (value < 0 and name != "dampening"):
            raise InvalidArgument(f"SplitSGD: {name} is {value}: give a finite number, 0 or more")
    if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
        raise InvalidArgument(
            "SplitSGD: nesterov needs a momentum above 0 and a dampening of 0, not "
            f"{group['momentum']} and {group['dampening']}"
        )


def check_parameter(parameter: Any, dtype: torch.dtype, who: str) -> None:
    """Raises InvalidArgument unless it is a dense tensor of this type in the CPU's memory."""
    if not isinstance(parameter, torch.Tensor):
        raise InvalidArgument(f"{who}: a parameter is a {type(parameter).__name__}: give tensors")
    dtensors = sys.modules.get("torch.distributed.tensor")
    if dtensors is not None and isinstance(parameter, dtensors.DTensor):
        raise Unsupported(f"{who}: a parameter is a DTensor: give its local part")
    what = f"{who}: a parameter of shape {tuple(parameter.shape)}"
    if parameter.device.type != "cpu" or parameter.layout != torch.strided:
        raise InvalidArgument(
            f"{what} is {parameter.layout} on {parameter.device}: only dense tensors in the "
            "CPU's memory have halves"
        )
    if parameter.dtype != dtype:
        remedy = (
            "convert it by SplitSGD.from_float32"
            if parameter.dtype == torch.float32
            else f"give {str(dtype).removeprefix('torch.')}"
        )
        raise InvalidArgument(f"{what} is {parameter.dtype}: {remedy}")


def check_gradient(parameter: torch.Tensor, group: dict[str, Any]) -> None:
    """Raises if a step cannot use the parameter's gradient."""
    grad = parameter.grad
    what = f"SplitSGD.step: the gradient of a parameter of shape {tuple(parameter.shape)}"
    if grad.dtype != torch.bfloat16:
        raise InvalidArgument(f"{what} is {grad.dtype}: give bfloat16")
    if grad.layout == torch.strided:
        return
    if grad.layout != torch.sparse_coo or grad.sparse_dim() != 1:
        raise Unsupported(f"{what} is {grad.layout}: it may be dense, or sparse in rows")
    if group["momentum"] or group["weight_decay"]:
        raise Unsupported(
            f"{what} is sparse: put it into a group without momentum and weight decay"
        )


def check_state(state: dict[str, Any], parameter: torch.Tensor, index: int) -> None:
    """Raises InvalidArgument unless this is what SplitSGD saves of such a parameter."""
    types = {"low": torch.int16, "momentum_buffer": torch.float32}
    for name in state.keys() | {"low"}:
        one = state.get(name)
        dtype = types.get(name)
        if one is None or one.dtype != dtype or one.shape != parameter.shape:
            found = "missing" if one is None else f"{one.dtype} of shape {tuple(one.shape)}"
            raise InvalidArgument(
                f"SplitSGD.load_state_dict: parameter {index} has shape {tuple(parameter.shape)}, "
                f"its state {name!r} is {found}: give what SplitSGD.state_dict() returned"
            )
