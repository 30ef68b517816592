"""What the tests of GradientSync share: models, batches, and one process that computes the same."""

from __future__ import annotations

import contextlib
import os
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F

from weft.train import GradientSync
from weft.train.sync import allreduce, shards

SAMPLES = 12  # of a global batch; 2 and 3 ranks divide it
OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.01),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.05),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.5, centered=True),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.01),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.01),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.01),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.05),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0),
}


class Convolutions(torch.nn.Module):
    """Small and long layers, a transposed parameter, and one read outside of its module."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first = torch.nn.Conv2d(1, 4, 3)
        self.second = torch.nn.Conv2d(4, 6, 3).to(memory_format=torch.channels_last)
        self.long = torch.nn.Linear(6 * 16, 40)
        self.last = torch.nn.Linear(40, 5)
        self.outside = torch.nn.Linear(5, 5, bias=False)
        self.factor = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        x = F.relu(self.first(x))
        x = F.relu(self.second(x))
        x = F.relu(self.long(x.flatten(1)))
        return F.linear(self.last(x), self.outside.weight) * self.factor


def batch(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A global batch."""
    generator = torch.Generator().manual_seed(number)
    images = torch.randn(SAMPLES, 1, 8, 8, generator=generator)
    return images, torch.randint(0, 5, (SAMPLES,), generator=generator)


def share(job, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's part of a global batch."""
    images, labels = batch(number)
    return images[job.rank :: job.size], labels[job.rank :: job.size]


def loss_of(model, images, labels):
    """The mean over the samples: the mean of the ranks' gradients is that of the whole batch."""
    return F.cross_entropy(model(images), labels)


def prepare(job) -> None:
    """First in each test. Ranks share few cores. What torch keeps in TMPDIR goes where it may."""
    torch.set_num_threads(1)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = job.directory


def mean_gradients(model, number: int, ranks: int, loss=None) -> list[torch.Tensor | None]:
    """What one process has after it averaged the gradients of the ranks' shares, in rank order."""
    loss = loss or loss_of
    sums: list[torch.Tensor | None] = [None for _ in model.parameters()]
    for rank in range(ranks):
        images, labels = batch(number)
        parts = torch.autograd.grad(
            loss(model, images[rank::ranks], labels[rank::ranks]),
            list(model.parameters()),
            allow_unused=True,
        )
        for i, part in enumerate(parts):
            if part is not None:
                sums[i] = part if sums[i] is None else sums[i] + part
    return [None if total is None else total / ranks for total in sums]


@contextlib.contextmanager
def short_pieces():
    """Strategies then cut some of the buckets that models here have, and others not."""
    with patch.object(allreduce, "PIECE", 2048), patch.object(shards, "WHOLE", 3000):
        yield


@contextlib.contextmanager
def synchronized(job, model, optimizer, *args, **options):
    """A GradientSync over a communicator of the call's ranks, closed at the end."""
    with job.communicator() as comm, short_pieces():
        sync = GradientSync(model, optimizer, *args, group=comm, **options)
        yield sync
        sync.close()


def content(model) -> list[np.ndarray]:
    """A copy of all parameters."""
    return [parameter.detach().numpy().copy() for parameter in model.parameters()]


def farthest(mine: list[np.ndarray], wanted: list[np.ndarray]) -> float:
    """The greatest difference of a parameter, relative to the greatest value wanted of it."""
    differences = [0.0]
    for one, other in zip(mine, wanted, strict=True):
        scale = max(float(np.abs(other).max()), 1e-3)
        differences.append(float(np.abs(one - other).max()) / scale)
    return max(differences)


class Branches(torch.nn.Module):
    """Layers that a call may leave out, a weight used twice, a layer that is frozen at first."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(11)
        self.inward = torch.nn.Linear(64, 24)
        self.left = torch.nn.Linear(24, 24)
        self.right = torch.nn.Linear(24, 24)
        self.frozen = torch.nn.Linear(24, 24).requires_grad_(False)
        self.never = torch.nn.Linear(3, 3)
        self.tied = torch.nn.Linear(24, 24)
        self.tied.weight = self.left.weight
        self.out = torch.nn.Linear(24, 5)

    def forward(self, x, branches=("left", "frozen", "tied")):
        x = torch.relu(self.inward(x.flatten(1)))
        for name in branches:
            x = torch.relu(getattr(self, name)(x)) + 0.1 * x
        return self.out(x)


def usual(rank):
    """The layers that a rank uses if the script does not say others."""
    return ("left", "frozen", "tied")


class Ranks:
    """A script's view of one rank: its model, and its GradientSync."""

    def __init__(self, job, model, optimizer, sync) -> None:
        self.model, self.optimizer, self.sync = model, optimizer, sync
        self._job = job

    def loss(self, number: int, branches=usual):
        """Of this rank's share of a batch. `branches` says which layers each rank uses."""
        images, labels = share(self._job, number)
        return F.cross_entropy(self.model(images, branches(self._job.rank)), labels)

    def run_backward(self, loss) -> None:
        """Adds the gradients of a `loss`."""
        loss.backward()

    def backward(self, number: int, branches=usual) -> None:
        """Both."""
        self.run_backward(self.loss(number, branches))


class OneProcess:
    """The same script in one process, which has the gradients of each rank and averages them."""

    def __init__(self, model, optimizer, ranks: int) -> None:
        self.model, self.optimizer, self.sync = model, optimizer, self
        self._parameters = list(model.parameters())
        self._grads: list[list] = [[None] * len(self._parameters) for _ in range(ranks)]

    def loss(self, number: int, branches=usual):
        images, labels = batch(number)
        size = len(self._grads)
        return [
            F.cross_entropy(self.model(images[rank::size], branches(rank)), labels[rank::size])
            for rank in range(size)
        ]

    def run_backward(self, losses) -> None:
        for loss, own in zip(losses, self._grads, strict=True):
            self._load(own)
            loss.backward()
            own[:] = [p.grad for p in self._parameters]
        self._load([None] * len(self._parameters))

    def backward(self, number: int, branches=usual) -> None:
        self.run_backward(self.loss(number, branches))

    def step(self) -> None:
        self._average()
        self.optimizer.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        for own in self._grads:
            own[:] = [
                None if set_to_none or grad is None else torch.zeros_like(grad) for grad in own
            ]

    def no_sync(self):
        return contextlib.nullcontext()

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        self._average()
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, max_norm, norm_type)
        for own in self._grads:
            own[:] = [None if p.grad is None else p.grad.clone() for p in self._parameters]
        return norm

    def finish(self) -> None:
        pass

    def _load(self, grads) -> None:
        for parameter, grad in zip(self._parameters, grads, strict=True):
            parameter.grad = grad

    def _average(self) -> None:
        means = []
        for column in zip(*self._grads, strict=True):
            known = [grad for grad in column if grad is not None]
            means.append(sum(known[1:], known[0]) / len(column) if known else None)
        self._load(means)
