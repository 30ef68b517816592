"""Sharded training on four ranks comes to the model of one process on the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from group import world  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from training import backward, batch, flat, network, share  # noqa: E402

STEPS = 3


def trained(model, x, y, optimizer) -> None:
    """Some steps on the same rows."""
    for _ in range(STEPS):
        backward(model, x, y)
        optimizer.step()


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def alone(job) -> np.ndarray:
    model = network()
    trained(model, *batch(job.size), sgd(model))
    return flat(model.parameters())


def linear_layers(model):
    return [layer for layer in model if isinstance(layer, torch.nn.Linear)]


def fsdp1(job, strategy):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    with world(job):
        hybrid = "HYBRID" in strategy
        model = FullyShardedDataParallel(
            network(),
            device_mesh=init_device_mesh("cpu", (2, job.size // 2) if hybrid else (job.size,)),
            sharding_strategy=ShardingStrategy[strategy],
            auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}),
            device_id=torch.device("cpu"),
            use_orig_params=True,
        )
        trained(model, *share(job.rank, job.size), sgd(model))
        with FullyShardedDataParallel.summon_full_params(model):
            return flat(model.parameters()), alone(job)


@pytest.mark.parametrize("strategy", ["FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD"])
def test_fsdp1(team, strategy):
    for got, expected in team(4).run(fsdp1, strategy):
        assert np.abs(got - expected).max() < 1e-5


def fsdp2(job, shape, options):
    """Shape (2, 2) is HSDP: replicated twice, sharded in two."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with world(job):
        model = network()
        mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard")[-len(shape) :])
        for layer in linear_layers(model):
            fully_shard(layer, mesh=mesh, **options)
        fully_shard(model, mesh=mesh, **options)
        trained(model, *share(job.rank, job.size), sgd(model))
        return flat(p.full_tensor() for p in model.parameters()), alone(job)


@pytest.mark.parametrize("options", [{}, {"reshard_after_forward": False}], ids=["plain", "kept"])
@pytest.mark.parametrize("shape", [(4,), (2, 2)], ids=["fsdp", "hsdp"])
def test_fsdp2(team, shape, options):
    for got, expected in team(4).run(fsdp2, shape, options):
        assert np.abs(got - expected).max() < 1e-5


def zero(job):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with world(job):
        model = DistributedDataParallel(network())
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9
        )
        trained(model, *share(job.rank, job.size), optimizer)
        states = sum(len(state) for state in optimizer.optim.state_dict()["state"].values())
        return flat(model.parameters()), alone(job), states


def test_zero_redundancy_optimizer(team):
    results = team(4).run(zero)
    for got, expected, _ in results:
        assert np.abs(got - expected).max() < 1e-5
    # Each parameter's momentum is kept by one rank.
    assert sum(states for _, _, states in results) == len(list(network().parameters()))


def zero_overlapped(job, interleaved):
    """Rank after rank steps its parameters inside of DDP's hook; torch refuses this on Gloo."""
    from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook, default_hooks
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with world(job):
        model = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        optimizer = ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1, momentum=0.9
        )
        make = getattr(
            ddp_zero_hook,
            "hook_with_zero_step_interleaved" if interleaved else "hook_with_zero_step",
        )
        model.register_comm_hook(None, make(default_hooks.allreduce_hook, model, optimizer))
        # The first two passes only find out how the buckets lie.
        for _ in range(2 + STEPS):
            backward(model, *share(job.rank, job.size))
        return flat(model.parameters()), alone(job)


@pytest.mark.parametrize("interleaved", [False, True], ids=["plain", "interleaved"])
def test_zero_redundancy_optimizer_in_ddps_hook(team, interleaved):
    for got, expected in team(4).run(zero_overlapped, interleaved):
        assert np.abs(got - expected).max() < 1e-5
