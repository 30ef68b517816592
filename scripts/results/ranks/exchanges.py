"""A model, its optimizer, and the ways in which the ranks of step.py exchange gradients."""

from __future__ import annotations

import hashlib
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
from torch.nn.parallel import DistributedDataParallel

import weft

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
PHASES = {"overlap": False, "wait": "step", "priority": False}
HIDDEN = {"wait": "forward"}
# Options of GradientSync by the name of the variant.
SYNCS: dict[str, dict[str, Any]] = {
    "phases": PHASES,
    "allreduce, waits in step": {"wait": "step"},
    "allreduce": HIDDEN,
    "allreduce, barrier": HIDDEN,
    "allreduce, one lane": {**HIDDEN, "priority": False},
    "allreduce, bf16": {**HIDDEN, "wire": "bfloat16"},
    "sharded": {**HIDDEN, "strategy": "sharded"},
    "sharded, phases": {"strategy": "sharded", **PHASES},
    "sharded, one lane": {**HIDDEN, "strategy": "sharded", "priority": False},
    "tree": {"strategy": "tree", "update": "backward"},
    "tree, phases": {"strategy": "tree", **PHASES},
    "tree, updates at step": {"strategy": "tree"},
    "flat_tree": {"strategy": "flat_tree", "update": "backward"},
}


def network(name: str) -> nn.Module:
    """Equal on all ranks, without dropout."""
    torch.manual_seed(0)
    sys.path.insert(0, str(EXAMPLES / ("lenet" if name == "lenet" else "alexnet")))
    if name == "lenet":
        from model import lenet

        return lenet()
    from models import MODELS

    return MODELS[name](0.0)


def in_bf16(state, bucket):
    """Torch's hook, which DDP refuses on CPUs by its name."""
    return bf16_compress_hook(state, bucket)


class MpiPhases:
    """Computes all, then averages a tensor after the other by MPI's function, then updates."""

    def __init__(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self._net, self._optimizer = net, optimizer
        self._comm = weft.init()

    def step(self) -> None:
        """As `GradientSync.step`."""
        for parameter in self._net.parameters():
            grad = parameter.grad
            self._comm.allreduce(grad, "avg", out=grad, algorithm="native")
        self._optimizer.step()

    def zero_grad(self) -> None:
        """As `GradientSync.zero_grad`."""
        self._optimizer.zero_grad()

    def finish(self) -> None:
        """Nothing is left."""

    def close(self) -> None:
        """Leaves."""
        self._comm.close()


class Steps:
    """Training steps of one rank."""

    def __init__(self, model: str, how: str, chooses: bool = False) -> None:
        """chooses: GradientSync finds out whether updates come under the next forward pass."""
        self.inner = self.net = net = network(model)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        self.sync: Any = None
        if how.startswith("DDP"):
            self.net = DistributedDataParallel(net, gradient_as_bucket_view=True)
            if "bf16" in how:
                self.net.register_comm_hook(None, in_bf16)
        elif how.startswith("MPI"):
            self.sync = MpiPhases(net, self.optimizer)
        elif how in SYNCS:
            options = dict(SYNCS[how])
            if chooses and options.get("wait") == HIDDEN["wait"]:
                del options["wait"]
            comm = weft.Communicator.from_group(wire=options.pop("wire", ""))
            self.sync = weft.train.GradientSync(net, self.optimizer, group=comm, **options)

    def one(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        """A step, whose updates may be under way."""
        nn.functional.cross_entropy(self.net(images), labels).backward()
        trained = self.sync or self.optimizer
        trained.step()
        trained.zero_grad()

    def finish(self) -> None:
        """All updates are done."""
        if self.sync:
            self.sync.finish()

    def run(self, images: torch.Tensor, labels: torch.Tensor, count: int) -> float:
        """The seconds of `count` steps in a row of steps without end.

        What a step before them has left under way stands for what the last one leaves.
        """
        self.one(images, labels)
        begin = time.perf_counter()
        for _ in range(count):
            self.one(images, labels)
        passed = time.perf_counter() - begin
        self.finish()
        return passed

    def settle(self, images: torch.Tensor, labels: torch.Tensor) -> str | None:
        """Trains until all is as it stays. Returns GradientSync's choice of `wait`."""
        self.run(images, labels, 2)
        if not isinstance(self.sync, weft.train.GradientSync):
            return None
        while self.sync.wait is None:
            self.one(images, labels)
        self.finish()
        return self.sync.wait

    def parameters(self) -> torch.Tensor:
        """A copy of all, flat."""
        return torch.cat([p.detach().flatten() for p in self.inner.parameters()])

    def digest(self) -> str:
        """Of all parameters."""
        return hashlib.sha256(self.parameters().numpy().tobytes()).hexdigest()

    def close(self) -> None:
        """Leaves the ranks."""
        if self.sync:
            self.sync.close()
