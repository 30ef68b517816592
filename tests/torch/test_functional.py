"""Collectives inside of torch.compile and of autograd."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.distributed import _functional_collectives as functional  # noqa: E402
from training import flat, gradients, network, share  # noqa: E402


def collectives(x, group):
    """Each functional collective once; wants the first dimension to be one a rank."""
    total = functional.all_reduce(x * 2, "sum", group)
    gathered = functional.all_gather_tensor(total.sum(1), 0, group)
    part = functional.reduce_scatter_tensor(x + gathered.sum(), "avg", 0, group)
    turned = functional.all_to_all_single(x, None, None, group)
    sent = functional.broadcast(part, 1, group)
    together = functional.all_reduce_coalesced([x, part.expand_as(x).contiguous()], "max", group)
    return total, gathered, part, turned, sent, *together


def compiled(job, backend):
    tempfile.tempdir = job.directory  # inductor keeps headers there, which are to go with the test
    with world(job):
        x = torch.arange(3.0 * job.size).view(job.size, 3) * (job.rank + 1)
        group = dist.group.WORLD
        program = torch.compile(collectives, backend=backend, fullgraph=True)
        pairs = zip(collectives(x, group), program(x, group), strict=True)
        return [torch.equal(eager, got) for eager, got in pairs]


def compiled_training(job, backend):
    """The same through DDP, compiled and not."""
    with world(job):
        plain = torch.nn.parallel.DistributedDataParallel(network())
        model = torch.nn.parallel.DistributedDataParallel(network())
        model = torch.compile(model, backend=backend)
        batch = share(job.rank, job.size)
        for _ in range(2):
            expected, got = gradients(plain, *batch), gradients(model, *batch)
        return flat(expected), flat(got)


needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="torch's inductor needs g++ while the program runs"
)
BACKENDS = ["aot_eager", pytest.param("inductor", marks=[needs_compiler, pytest.mark.long])]


@pytest.mark.parametrize("backend", BACKENDS)
def test_functional_collectives_are_compiled(team, backend):
    assert team(2).run(compiled, backend, timeout=200) == [[True] * 7] * 2


def test_compiled_training(team):
    for expected, got in team(2).run(compiled_training, "aot_eager", timeout=200):
        assert np.abs(expected - got).max() < 1e-6


def differentiable(x, rank, size):
    """What torch.distributed.nn has, in one scalar of all ranks' tensors."""
    from torch.distributed import nn

    # The functions' default is the group that was the world when they were imported.
    everyone = dist.group.WORLD
    rows = list(x.chunk(size))
    like = [torch.empty_like(row) for row in rows]
    ranks = torch.arange(1.0, size + 1).view(-1, 1, 1)
    parts = [
        nn.all_reduce(x, group=everyone) * (rank + 1),
        torch.stack(nn.all_gather(x, everyone)) * ranks,
        nn.broadcast(x, 1, everyone),
        nn.reduce(x, 0, group=everyone) * (rank == 0),
        nn.reduce_scatter(torch.empty_like(rows[0]), rows, group=everyone) * 3,
        torch.cat(nn.all_to_all(like, rows, everyone)) * (rank + 2),
        nn.all_to_all_single(torch.empty_like(x), x, group=everyone) * (rank + 3),
        nn.scatter(rows, 0, everyone) * (rank + 4),
        torch.stack(nn.gather(x, 0, everyone)) * ranks * (rank == 0),
    ]
    return sum(part.square().sum() for part in parts)


def differentiated(job, backend):
    with world(job, backend=backend):
        x = (torch.arange(6.0 * job.size).view(job.size, 6) - 3 * job.rank).requires_grad_()
        loss = differentiable(x, job.rank, job.size)
        loss.backward()
        return loss.item(), x.grad.tolist()


def test_gradients_flow_through_collectives(team):
    """The numbers are whole, so on three ranks, too, the order of sums does not matter."""
    assert team(3).run(differentiated, "weft") == team(3).run(differentiated, "gloo")
