"""What each rank does for hosts.py: allreduces of torch tensors, timed."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from group import world

SECONDS = 1.0  # for each size


def measure(job, backend: str, sizes: list[int]) -> list[list[float]]:
    """Seconds of the slowest rank, for each size: as many samples as fit, five at least.

    Owners rewrite their inputs before each, all meet, and each result is checked.
    """
    with world(job, timeout=120, backend=backend):
        return [samples(job, nbytes) for nbytes in sizes]


def samples(job, nbytes: int) -> list[float]:
    """Of one size, in place."""
    data = torch.empty(nbytes // 4)
    base = torch.arange(data.numel(), dtype=torch.float32) % 61
    took: list[float] = []
    again = torch.ones(1)
    began = time.monotonic()
    while again.item():
        torch.add(base, float(job.rank + len(took) % 7), out=data)
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(data)
        mine = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
        wanted = job.size * (base + len(took) % 7) + sum(range(job.size))
        if not torch.equal(data, wanted):
            raise AssertionError(f"rank {job.rank}: {nbytes} bytes came out wrong")
        dist.all_reduce(mine, dist.ReduceOp.MAX)
        took.append(mine.item())
        more = len(took) < 6 or (time.monotonic() - began < SECONDS and len(took) < 500)
        again[0] = float(more)
        dist.broadcast(again, 0)
    return took[1:]
