"""What has to be right, and equal on all ranks, before a `GradientSync` changes anything."""

from __future__ import annotations

import hashlib
from typing import Any

from weft import arguments
from weft.errors import InvalidArgument, Mismatch
from weft.train.agreement import described, digest, refuse_different, why_not_dense
from weft.train.group import Group, exchange, raise_first
from weft.train.sync.layout import strides
from weft.train.sync.strategy import TREES, strategies
from weft.train.sync.updates import elementwise_names, is_elementwise, is_separate, needs_closure

WHO = "GradientSync"
_DTYPES = ("float32", "float64", "bfloat16", "float16", "complex64", "complex128")
_UPDATES = ("step", "backward")
_WAITS = ("step", "forward")


def agree(ranks: Group, model: Any, optimizer: Any, options: dict[str, Any]) -> None:
    """Raises on every rank if one of them has a wrong argument, or if they differ. Collective.

    options: strategy, overlap, priority, update, wait, bucket_bytes, elementwise, as the user gave
    them.

    Raises:
        InvalidArgument: some rank's argument is wrong.
        Mismatch: options, hyperparameters, models or values of parameters differ.
    """
    fault = ""
    lines: list[str] = []
    values: list[str] = []
    said: dict[str, Any] = {}
    try:
        _refuse_wrong(model, optimizer, options)
        lines, values = _lines(model, optimizer)
        said = {**options, **_hyperparameters(optimizer)}
    except InvalidArgument as error:
        fault = str(error)
    mine = {"fault": fault, "said": said, "model": digest(lines), "values": digest(values)}
    every = exchange(ranks, mine)
    raise_first([one["fault"] for one in every], WHO)
    _refuse_other_options([one["said"] for one in every])
    refuse_different(ranks, [one["model"] for one in every], lines, WHO)
    refuse_different(
        ranks,
        [one["values"] for one in every],
        values,
        WHO,
        "Call weft.train.broadcast_parameters(model) first",
    )


def _refuse_wrong(model: Any, optimizer: Any, options: dict[str, Any]) -> None:
    import torch

    if not isinstance(model, torch.nn.Module):
        raise InvalidArgument(f"model is a {type(model).__name__}: give a torch.nn.Module")
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise InvalidArgument(f"optimizer is a {type(optimizer).__name__}: give one of torch.optim")
    names = {parameter: name for name, parameter in model.named_parameters()}
    for index, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            if parameter not in names:
                raise InvalidArgument(
                    f"the optimizer's group {index} has a parameter of shape "
                    f"{list(parameter.shape)} that the model has not: make one module of all"
                )
            _refuse_tensor(names[parameter], parameter)
    for name, module in model.named_modules():
        if getattr(module, "sparse", False) is True:
            raise InvalidArgument(f"{name} has sparse gradients: make it with sparse=False")
    _refuse_options(optimizer, **options)


def _refuse_tensor(name: str, parameter: Any) -> None:
    if why := why_not_dense(parameter):
        raise InvalidArgument(f"{name} {why}")
    if str(parameter.dtype).removeprefix("torch.") not in _DTYPES:
        raise InvalidArgument(
            f"{name} has the dtype {parameter.dtype}: convert it to one of {', '.join(_DTYPES)}"
        )


def _refuse_options(
    optimizer: Any,
    strategy: Any,
    overlap: Any,
    priority: Any,
    update: Any,
    wait: Any,
    bucket_bytes: Any,
    elementwise: Any,
) -> None:
    known = ", ".join(strategies())
    if not isinstance(strategy, str) or strategy not in strategies():
        raise InvalidArgument(f"strategy is {strategy!r}: give one of {known}")
    for name, value in (("overlap", overlap), ("priority", priority), ("elementwise", elementwise)):
        arguments.flag(value, name)
    if bucket_bytes is not None:
        arguments.whole(bucket_bytes, "bucket_bytes", 1)
    if update not in _UPDATES:
        raise InvalidArgument(f"update is {update!r}: give one of {', '.join(_UPDATES)}")
    if update == "backward" and strategy not in TREES:
        raise InvalidArgument(
            f'update is "backward", and strategy "{strategy}" updates at step(): give a strategy '
            f"that is one of {', '.join(TREES)}, or leave update away"
        )
    if wait is not None and wait not in _WAITS:
        raise InvalidArgument(f"wait is {wait!r}: give one of {', '.join(_WAITS)}, or None")
    kind = type(optimizer).__name__
    if needs_closure(optimizer):
        raise InvalidArgument(
            f"{kind} evaluates the model in its step, by a closure: use an optimizer that does not"
        )
    if strategy == "sharded" and not (elementwise or is_elementwise(optimizer)):
        raise InvalidArgument(
            f'strategy "sharded" cuts parameters into shards, and {kind} is not known to update '
            f"each element by itself: use one of {elementwise_names()}, pass elementwise=True if "
            'it does, or strategy="allreduce"'
        )
    if strategy in TREES and not (elementwise or is_separate(optimizer)):
        raise InvalidArgument(
            f'strategy "{strategy}" updates a layer at a time, and {kind} is not known to allow '
            "that: pass elementwise=True if it updates each element by itself, or "
            'strategy="allreduce"'
        )
    if wait == "forward" and not (elementwise or is_separate(optimizer)):
        raise InvalidArgument(
            f'wait="forward" updates a layer at a time, and {kind} is not known to allow that: '
            'pass elementwise=True if it updates each element by itself, or wait="step"'
        )


def _lines(model: Any, optimizer: Any) -> tuple[list[str], list[str]]:
    """A line for each parameter: what it is, and what its values are."""
    groups = {p: i for i, group in enumerate(optimizer.param_groups) for p in group["params"]}
    found = {name: p for name, p in model.named_parameters() if p in groups}
    lines, values = [], []
    for line, (name, parameter) in zip(described(found), found.items(), strict=True):
        flat = _memory(parameter)
        trained = "trained" if parameter.requires_grad else "frozen"
        lines.append(f"{line}, strides {_told(parameter)}, {trained}, group {groups[parameter]}")
        values.append(f"{name}, sha256 of values {hashlib.sha256(flat).hexdigest()[:16]}")
    return lines, values


def _told(parameter: Any) -> list[int]:
    """The strides where they matter."""
    pairs = zip(parameter.shape, strides(parameter), strict=True)
    return [step if extent > 1 else 0 for extent, step in pairs]


def _memory(parameter: Any) -> Any:
    import torch

    # One element counts as contiguous whatever its stride, but `view` needs a stride of 1.
    flat = parameter.detach().contiguous().as_strided((parameter.numel(),), (1,))
    return flat.view(torch.uint8).numpy() if flat.numel() else b""


def _hyperparameters(optimizer: Any) -> dict[str, str]:
    told = {"optimizer": type(optimizer).__name__}
    for index, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if key != "params":
                told[f"{key} of the optimizer's group {index}"] = repr(value)
    return told


def _refuse_other_options(every: list[dict[str, Any]]) -> None:
    for rank, one in enumerate(every):
        for key in [*every[0], *one]:
            mine, first = (said.get(key, "nothing") for said in (one, every[0]))
            if mine != first:
                raise Mismatch(
                    f"{WHO}: rank {rank} has {key} {mine!r}, rank 0 {first!r}: give the same on "
                    "all ranks"
                )
