"""SGD on bfloat16 weights with float32's precision, in float32's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch

from weft import _core
from weft.errors import InvalidArgument
from weft.optim.arguments import check_gradient, check_options, check_parameter, check_state
from weft.optim.halves import join, split

_FACTORS = {"momentum": 0, "dampening": 0, "weight_decay": 0, "nesterov": False}


class SplitSGD(torch.optim.Optimizer):
    r"""Stochastic gradient descent on the halves of float32 weights (Split-SGD-BF16).

    A parameter is the upper half of a float32 weight, which is a bfloat16. The lower half is int16
    in the optimizer's state, under "low". Both take 4 bytes a weight, as float32 does. The model
    computes with the upper halves, and gradients are bfloat16, so half the bytes travel.

    A step gives the weights, to the bit, that SGD on float32 weights gets from the same gradients.
    Every product is rounded before it is added, on every processor. PyTorch's own kernels do so
    without AVX2 (`ATEN_CPU_CAPABILITY=default`). With AVX2 they fuse product and sum, and the last
    bit of `torch.optim.SGD` then depends on the processor. Denormals are never flushed. Which NaN
    a NaN is, is not specified.

    A sparse gradient (`Embedding(sparse=True)`) changes only its rows. Its entries are taken in
    their order. A row with several entries is rounded after each one, as in `torch.optim.SGD`.

    A checkpoint needs the model's state and the optimizer's state, and resumes to the bit. Writing
    to a parameter by other means changes its upper half only: give all ranks the same weights
    before `from_float32`.

    Example:
        model = Net()                                      # float32
        optimizer = weft.optim.SplitSGD.from_float32(model.parameters(), lr=0.1)
        loss(model(images.bfloat16())).backward()          # the model is bfloat16 now
        optimizer.step()

    Source: Kalamkar et al., "Optimizing Deep Learning Recommender Systems' Training On CPU Cluster
    Architectures", 2020.

    Args:
        params: bfloat16 tensors in the CPU's memory, or groups of them as torch's optimizers take
            them. Their lower halves start at zero; see `from_float32`.
        lr: the step's length, 0 or more. Schedulers may change it, and so may a group.
        momentum: the factor of the momentum, which is float32 and is the gradient at first.
        dampening: 1 - dampening is the factor of the gradient in the momentum.
        weight_decay: times the weight, is added to the gradient.
        nesterov: Nesterov's momentum; needs a momentum and no dampening.

    Raises:
        InvalidArgument: a factor or a parameter is none of these. In `step`: a gradient is not
            bfloat16. Nothing was changed then.
        Unsupported: in `step`: a gradient is sparse, and there is momentum or weight decay (what
            torch does then is no SGD); its rows are not its first dimension alone. Nothing was
            changed then.

    Not thread safe. A long parameter is divided over `torch.get_num_threads()` threads.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        """See the class."""
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening,
            "weight_decay": weight_decay, "nesterov": nesterov,
        }  # fmt: skip
        super().__init__(params, defaults)

    @classmethod
    def from_float32(cls, params: Iterable[Any], lr: float, **options: Any) -> SplitSGD:
        """Turns float32 parameters into bfloat16 in place, and keeps their lower halves.

        Nothing is lost: `float32_weight` gives every weight back. A parameter becomes its float32
        value, truncated. Parameters stay the same objects; their gradients are dropped. Buffers
        stay as they are.

        Args:
            params: float32 tensors, or groups of them.
            lr: as the class takes it.
            **options: the other factors, as the class takes them.

        Raises:
            InvalidArgument: as the class; a parameter is not float32. Nothing was changed then.
        """
        given = [_listed(one) for one in params]
        every = [tensor for one in given for tensor in _tensors(one)]
        for parameter in every:
            check_parameter(parameter, torch.float32, "SplitSGD.from_float32")
        for one in given:
            check_options(
                {**_FACTORS, "lr": lr, **options, **(one if isinstance(one, dict) else {})}
            )
        lows = {parameter: split(parameter) for parameter in every}
        optimizer = cls(given, lr, **options)
        for parameter, low in lows.items():
            optimizer.state[parameter]["low"] = low
        return optimizer

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds a group, as torch's optimizers do. Lower halves start at zero."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            check_options(group)
            for parameter in group["params"]:
                check_parameter(parameter, torch.bfloat16, "SplitSGD")
        except Exception:
            self.param_groups.pop()
            raise
        for parameter in group["params"]:
            self.state[parameter]["low"] = torch.zeros(parameter.shape, dtype=torch.int16)

    def float32_weight(self, parameter: torch.Tensor) -> torch.Tensor:
        """A copy of the float32 weight that the parameter is the upper half of."""
        if parameter not in self.state:
            raise InvalidArgument("SplitSGD.float32_weight: this is none of its parameters")
        return join(parameter, self.state[parameter]["low"])

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of every parameter that has a gradient. Returns what `closure` returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        changed = [
            (parameter, group)
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]
        for parameter, group in changed:
            check_gradient(parameter, group)
        jobs = [self._job(parameter, group) for parameter, group in changed]
        for (parameter, _), job in zip(changed, jobs, strict=True):
            job.run()
            if not parameter.is_contiguous():
                parameter.copy_(job.high)
            else:
                torch.autograd.graph.increment_version(parameter)
        return loss

    def _job(self, parameter: torch.Tensor, group: dict[str, Any]) -> _Job:
        state = self.state[parameter]
        first = bool(group["momentum"]) and state.get("momentum_buffer") is None
        if first:
            state["momentum_buffer"] = torch.empty(parameter.shape, dtype=torch.float32)
        return _Job(
            parameter.detach().contiguous(),
            state["low"],
            parameter.grad,
            state["momentum_buffer"] if group["momentum"] else None,
            _core.SgdOptions(
                float(group["lr"]), float(group["momentum"]), float(group["dampening"]),
                float(group["weight_decay"]), bool(group["nesterov"]), first,
            ),
            float(group["lr"]),
        )  # fmt: skip

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the state that `state_dict` gave. Load the model's state, too.

        Raises:
            InvalidArgument: it is not the state of a SplitSGD with such parameters.
        """
        saved = [index for group in state_dict["param_groups"] for index in group["params"]]
        mine = [parameter for group in self.param_groups for parameter in group["params"]]
        for index, parameter in zip(saved, mine, strict=False):
            check_state(state_dict["state"].get(index, {}), parameter, index)
        super().load_state_dict(state_dict)
        # torch has cast every state to its parameter's type: take the saved ones.
        for index, parameter in zip(saved, mine, strict=True):
            self.state[parameter] = {
                name: one.clone() for name, one in state_dict["state"][index].items()
            }


class _Job(NamedTuple):
    """The step of one parameter. All tensors are contiguous but the gradient."""

    high: torch.Tensor
    low: torch.Tensor
    grad: torch.Tensor
    momentum: torch.Tensor | None
    options: _core.SgdOptions
    lr: float

    def run(self) -> None:
        """Changes the weights, and the momentum if there is one."""
        if self.grad.is_sparse:
            self._rows()
        elif self.high.numel() > 0:
            _core.split_sgd(
                self.high, self.low, self.grad.detach().contiguous(), self.momentum, self.options,
                torch.get_num_threads(),
            )  # fmt: skip

    def _rows(self) -> None:
        grad = self.grad.detach()
        rows, values = grad._indices()[0].contiguous(), grad._values().contiguous()
        if self.high.numel() > 0:
            _core.split_sgd_rows(self.high, self.low, rows, values, self.high.shape[0], self.lr)


def _listed(one: Any) -> Any:
    """A group with its parameters as a list; anything else as it is."""
    if not isinstance(one, dict):
        return one
    params = one["params"]
    return {**one, "params": [params] if isinstance(params, torch.Tensor) else list(params)}


def _tensors(one: Any) -> list[Any]:
    """The parameters of a group, of a pair of name and parameter, or of one parameter."""
    if isinstance(one, dict):
        return [tensor for each in one["params"] for tensor in _tensors(each)]
    return [one[1] if isinstance(one, tuple) else one]
