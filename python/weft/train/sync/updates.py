"""The user's optimizer, run on some of its parameters with the hyperparameters of one step."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any

from weft.errors import InvalidArgument

# Of torch.optim. They compute each element of a parameter from its own gradient and state.
_ELEMENTWISE = (
    "SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD",
    "Adadelta",
)  # fmt: skip
# These look at a whole parameter, but at no other one.
_SEPARATE = ("Adafactor", "Muon")


def is_elementwise(optimizer: Any) -> bool:
    """Whether the optimizer is torch's or Weft's, and may update parts of a parameter."""
    return _is_one_of(optimizer, _ELEMENTWISE)


def is_separate(optimizer: Any) -> bool:
    """Whether it is torch's or Weft's, and may update parameters one after another."""
    return _is_one_of(optimizer, _ELEMENTWISE + _SEPARATE)


def needs_closure(optimizer: Any) -> bool:
    """Whether `step` cannot be called without a closure, as that of LBFGS."""
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty


def elementwise_names() -> str:
    """For errors."""
    return ", ".join(_ELEMENTWISE)


def _is_one_of(optimizer: Any, names: tuple[str, ...]) -> bool:
    import torch

    from weft.optim import SplitSGD

    # A subclass may override anything.
    known = [getattr(torch.optim, name) for name in names if hasattr(torch.optim, name)]
    return type(optimizer) in [*known, SplitSGD]


class Updates:
    """Runs `optimizer.step()`. Not thread safe: for that long its groups are others."""

    def __init__(self, optimizer: Any, elementwise: bool = False) -> None:
        """elementwise: so the user says of a class that Weft does not know."""
        self.optimizer = optimizer
        self.elementwise = elementwise or is_elementwise(optimizer)
        """Whether parts of a parameter may be updated by themselves."""
        self.has_hooks = bool(
            optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks
        )
        self._running = False
        self._guard = optimizer.register_step_pre_hook(self._refuse_direct_step)
        self._parameters = self._sizes()

    def twin(self) -> Updates:
        """Another one, for another thread: with the same state and parameter groups of its own."""
        optimizer = object.__new__(type(self.optimizer))
        optimizer.__dict__.update(self.optimizer.__dict__)
        # A scheduler's wrapper of step() is bound to the user's optimizer.
        optimizer.__dict__.pop("step", None)
        optimizer._optimizer_step_pre_hooks = OrderedDict()
        optimizer._optimizer_step_post_hooks = OrderedDict()
        return Updates(optimizer)

    def hyperparameters(self) -> list[dict[str, Any]]:
        """Those of each group as they are now, for an update that runs later."""
        if self._sizes() != self._parameters:
            raise InvalidArgument(
                "GradientSync: the optimizer's parameter groups were changed: make a new "
                "GradientSync after add_param_group()"
            )
        return [
            {
                key: value.clone() if hasattr(value, "clone") else value
                for key, value in group.items()
                if key != "params"
            }
            for group in self.optimizer.param_groups
        ]

    def order(self) -> dict[Any, int]:
        """The number of each parameter in `optimizer.state_dict()`."""
        groups = self.optimizer.param_groups
        return {p: i for i, p in enumerate(p for group in groups for p in group["params"])}

    def run_all(self) -> None:
        """A step on all parameters that have a gradient."""
        import torch

        self._running = True
        try:
            if torch.is_inference_mode_enabled():
                # The state that a first step makes has to outlive the forward pass.
                with torch.inference_mode(False):
                    self.optimizer.step()
            else:
                self.optimizer.step()
        finally:
            self._running = False

    def run(
        self, hyperparameters: list[dict[str, Any]], chosen: list[list[Any]], state: Any = None
    ) -> None:
        """A step on `chosen`, parameters by group. `state`: theirs, if not the optimizer's own."""
        optimizer = self.optimizer
        groups, own = optimizer.param_groups, optimizer.state
        optimizer.param_groups = [
            {"params": parameters, **values}
            for values, parameters in zip(hyperparameters, chosen, strict=True)
            if parameters
        ]
        optimizer.state = own if state is None else state
        try:
            self.run_all()
        finally:
            optimizer.param_groups, optimizer.state = groups, own

    def note_step(self) -> None:
        """Tells schedulers of the learning rate that a step was made, although it may run later."""
        self.optimizer._opt_called = True

    def close(self) -> None:
        """The optimizer may be used by itself again."""
        self._guard.remove()

    def _refuse_direct_step(self, *_: Any) -> None:
        if not self._running:
            raise InvalidArgument(
                "optimizer.step() would use gradients that are not averaged: call step() of the "
                "GradientSync, or close() it first"
            )

    def _sizes(self) -> list[int]:
        return [len(group["params"]) for group in self.optimizer.param_groups]
