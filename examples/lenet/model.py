"""LeNet and its solver as Caffe's example has them (examples/mnist in BVLC/caffe)."""

from collections.abc import Iterator

import torch
from torch import nn


def lenet() -> nn.Sequential:
    """LeNet: two convolutions, two inner products, 431,080 parameters in eight tensors."""
    net = nn.Sequential(
        nn.Conv2d(1, 20, kernel_size=5),
        nn.MaxPool2d(2),
        nn.Conv2d(20, 50, kernel_size=5),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 500),
        nn.ReLU(),
        nn.Linear(500, 10),
    )
    for name, parameter in net.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        else:
            # Caffe's "xavier": uniform in +-sqrt(3 / fan_in).
            nn.init.kaiming_uniform_(parameter, nonlinearity="linear")
    return net


class CaffeSGD(torch.optim.Optimizer):
    """v = momentum * v + rate * (gradient + decay * w);  w -= v.

    torch.optim.SGD multiplies by the rate after the momentum instead, which differs as
    soon as the rate changes: Caffe's steps already taken keep the rate they had.
    """

    def __init__(
        self,
        parameters: Iterator[tuple[str, nn.Parameter]],
        lr: float = 0.01,
        momentum: float = 0.9,
        weight_decay: float = 5e-4,
    ) -> None:
        """Takes named parameters: biases learn at twice the rate."""
        named = list(parameters)
        groups = [
            {"params": [p for name, p in named if not name.endswith("bias")], "lr": lr},
            {"params": [p for name, p in named if name.endswith("bias")], "lr": 2 * lr},
        ]
        super().__init__(groups, {"momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        """One update of every parameter from its gradient."""
        for group in self.param_groups:
            for w in group["params"]:
                v = self.state[w].setdefault("velocity", torch.zeros_like(w))
                v.mul_(group["momentum"])
                v.add_(w.grad, alpha=group["lr"])
                v.add_(w, alpha=group["lr"] * group["weight_decay"])
                w.sub_(v)


def inverse_decay(optimizer: CaffeSGD) -> torch.optim.lr_scheduler.LambdaLR:
    """Caffe's policy "inv": rate * (1 + gamma * iteration) ** -power."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda t: (1 + 1e-4 * t) ** -0.75)
