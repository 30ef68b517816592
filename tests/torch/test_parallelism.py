"""Tensors and models split over four ranks: DTensor, tensor, sequence and pipeline parallelism."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import (  # noqa: E402
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)
from training import flat  # noqa: E402

WIDTH, HIDDEN = 8, 16


def placed(whole, mesh, placements) -> DTensor:
    """`whole` so laid out. torch distributes no Partial: the ranks' summands are made of it."""
    local = whole.clone()
    kept = [Replicate() if p.is_partial() else p for p in placements]
    for dimension, placement in enumerate(placements):
        if placement.is_partial() and mesh.get_local_rank(dimension) > 0:
            local.zero_()
    summand = distribute_tensor(local, mesh, kept, src_data_rank=None)
    return DTensor.from_local(
        summand.to_local(), mesh, placements, shape=whole.shape, stride=whole.stride()
    )


def redistributed(job, shape, dimensions):
    """Which of all changes of layout do not give back the tensor, to the bit."""
    with world(job):
        mesh = init_device_mesh("cpu", dimensions)
        whole = torch.arange(float(np.prod(shape))).view(shape) + 1
        kinds = [Replicate(), Shard(0), Shard(1), Partial()]
        layouts = list(itertools.product(kinds, repeat=len(dimensions)))
        wrong, tried = [], 0
        for before, after in itertools.product(layouts, layouts):
            if any(p.is_partial() and p != b for p, b in zip(after, before, strict=True)):
                continue  # torch refuses to make summands of a shard
            moved = placed(whole, mesh, before).redistribute(mesh, after)
            tried += 1
            if moved.placements != after or not torch.equal(moved.full_tensor(), whole):
                wrong.append(f"{before} -> {after}")
        return wrong, tried


@pytest.mark.parametrize("shape", [(8, 4), (5, 3)], ids=["even", "uneven"])
@pytest.mark.parametrize(("dimensions", "pairs"), [((4,), 13), ((2, 2), 169)], ids=["1d", "2d"])
def test_dtensors_are_redistributed(team, dimensions, pairs, shape):
    assert team(4).run(redistributed, shape, dimensions) == [([], pairs)] * 4


def meshes(job):
    with world(job):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
        x = torch.tensor([float(10**job.rank)])
        sums = []
        for part in (mesh["data"], mesh["model"], mesh["data", "model"]._flatten("all")):
            y = x.clone()
            dist.all_reduce(y, group=part.get_group())
            sums.append(y.item())
        return sums, mesh.get_coordinate()


def test_meshes_are_sliced(team):
    assert team(4).run(meshes) == [
        ([101.0, 11.0, 1111.0], (0, 0)),
        ([1010.0, 11.0, 1111.0], (0, 1)),
        ([101.0, 1100.0, 1111.0], (1, 0)),
        ([1010.0, 1100.0, 1111.0], (1, 1)),
    ]


class Block(torch.nn.Module):
    """A transformer's feed-forward block."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up = torch.nn.Linear(WIDTH, HIDDEN)
        self.down = torch.nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def blocks(count: int) -> torch.nn.Sequential:
    torch.manual_seed(2)
    return torch.nn.Sequential(*(Block() for _ in range(count)))


def sequence() -> torch.Tensor:
    """Batch, position, feature."""
    torch.manual_seed(4)
    return torch.randn(4, 8, WIDTH)


def tensor_parallel(job, sequence_parallel):
    """The gradients of a step: weights split in two over each pair, the batch between the pairs."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        PrepareModuleInput,
        PrepareModuleOutput,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

    with world(job):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "model"))
        alone, model = blocks(2), blocks(2)
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        if sequence_parallel:
            plan = {
                "norm": SequenceParallel(),
                "up": ColwiseParallel(input_layouts=Shard(1)),
                "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=False),
            }
        for block in model:
            parallelize_module(block, mesh["model"], plan)
        if sequence_parallel:
            ends = {
                "0": PrepareModuleInput(
                    input_layouts=Replicate(), desired_input_layouts=Shard(1),
                    use_local_output=False,
                ),
                "1": PrepareModuleOutput(
                    output_layouts=Shard(1), desired_output_layouts=Replicate()
                ),
            }  # fmt: skip
            parallelize_module(model, mesh["model"], ends)
        for block in model:
            fully_shard(block, mesh=mesh["data"])
        x = sequence()
        alone(x).square().mean().backward()
        model(x.chunk(2)[mesh.get_local_rank("data")]).square().mean().backward()
        pairs = zip(alone.parameters(), model.parameters(), strict=True)
        return max((a.grad - p.grad.full_tensor()).abs().max().item() for a, p in pairs)


@pytest.mark.parametrize("sequence_parallel", [False, True], ids=["tensor", "sequence"])
def test_tensor_parallel_with_fsdp(team, sequence_parallel):
    assert max(team(4).run(tensor_parallel, sequence_parallel)) < 1e-6


def pipelined(job, schedule):
    """Four stages, or eight, two a rank; this rank's gradients and those of one process."""
    from torch.distributed.pipelining import PipelineStage, schedules

    with world(job):
        each = 2 if "Interleaved" in schedule else 1
        alone, mine = blocks(each * job.size), range(job.rank, each * job.size, job.size)
        model = blocks(each * job.size)
        stages = [PipelineStage(model[i], i, len(model), torch.device("cpu")) for i in mine]
        runs = getattr(schedules, schedule)(
            stages if each > 1 else stages[0],
            n_microbatches=4,
            loss_fn=lambda output, target: (output - target).square().mean(),
        )
        x = sequence()
        arguments = [x] if job.rank == 0 else []
        last = job.rank == job.size - 1
        losses = [] if last else None
        runs.step(*arguments, target=x.flip(0) if last else None, losses=losses)
        loss = (alone(x) - x.flip(0)).square().mean()
        loss.backward()
        if last:
            assert abs(sum(losses).item() / 4 - loss.item()) < 1e-6
        return [flat(p.grad for i in mine for p in m[i].parameters()) for m in (alone, model)]


@pytest.mark.parametrize("schedule", ["ScheduleGPipe", "Schedule1F1B", "ScheduleInterleaved1F1B"])
def test_pipelines(team, schedule):
    for expected, gradient in team(4).run(pipelined, schedule):
        assert np.abs(gradient - expected).max() < 1e-6
