"""weft.Window of the ranks of a process group, with tensors."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402

import weft  # noqa: E402


def ring(job, backend):
    with world(job, backend=backend), weft.Window.from_group(None, 64, signals=3) as window:
        x = torch.full((8,), float(job.rank), dtype=torch.bfloat16)
        window.put(x, (job.rank + 1) % job.size, signal=job.rank)
        left = window.wait_some()
        came = torch.from_numpy(window.array()).view(torch.bfloat16)[:8].tolist()
        dist.barrier()
        return left, came


@pytest.mark.parametrize("backend", ["weft", "gloo"])
def test_a_ring_of_tensors(team, backend):
    results = team(3).run(ring, backend)
    assert results == [(left, [float(left)] * 8) for left in (2, 0, 1)]


def pair(job):
    with world(job, backend="weft"):
        group = dist.new_group([2, 0])
        if job.rank == 1:
            with pytest.raises(weft.InvalidArgument, match="not in the group"):
                weft.Window.from_group(group, 8)
            return None
        with weft.Window.from_group(group, 8, 1) as window:
            window.put(torch.tensor([job.rank]), 1 - window.rank, signal=0)
            window.wait_signal(0)
            return int(window.array("int64")[0]), window.rank, window.size


def test_a_group_has_its_own_ranks(team):
    assert team(3).run(pair) == [(2, 0, 2), None, (0, 1, 2)]
