"""A small network and its data, for tests that compare training on ranks with one process."""

from __future__ import annotations

import numpy as np
import torch

LOCAL_BATCH = 6


def network() -> torch.nn.Module:
    """The same on every rank."""
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 96), torch.nn.Tanh(), torch.nn.Linear(96, 10),
    )  # fmt: skip


def batch(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The global batch; rank r trains on rows r * LOCAL_BATCH and on."""
    torch.manual_seed(3)
    return torch.randn(size * LOCAL_BATCH, 1, 8, 8), torch.randint(10, (size * LOCAL_BATCH,))


def share(rank: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A rank's rows of the global batch."""
    mine = slice(rank * LOCAL_BATCH, (rank + 1) * LOCAL_BATCH)
    x, y = batch(size)
    return x[mine], y[mine]


def backward(model, x, y) -> None:
    """One forward and backward pass."""
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()


def gradients(model, x, y) -> list[torch.Tensor]:
    """After one backward pass."""
    backward(model, x, y)
    return [p.grad.clone() for p in model.parameters()]


def furthest(job, model) -> float:
    """The largest difference from one process's gradients, relative to the largest of them."""
    expected = gradients(network(), *batch(job.size))
    for _ in range(3):  # buckets are rebuilt after the first backward
        got = gradients(model, *share(job.rank, job.size))
    scale = max(g.abs().max() for g in expected)
    return max((g - e).abs().max() / scale for g, e in zip(got, expected, strict=True)).item()


def flat(tensors) -> np.ndarray:
    """One vector, which unlike tensors a rank can return."""
    return torch.cat([t.detach().reshape(-1) for t in tensors]).numpy()
