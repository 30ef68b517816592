"""Training: gradients through Weft are those of one process on the whole batch."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import (  # noqa: E402
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

LOCAL_BATCH = 6


def network() -> torch.nn.Module:
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(4 * 36, 96), torch.nn.Tanh(), torch.nn.Linear(96, 10),
    )  # fmt: skip


def batch(size: int, seed: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """The global batch; rank r trains on rows r * LOCAL_BATCH and on."""
    torch.manual_seed(seed)
    return torch.randn(size * LOCAL_BATCH, 1, 8, 8), torch.randint(10, (size * LOCAL_BATCH,))


def gradients(model, x, y) -> list[torch.Tensor]:
    model.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    return [p.grad.clone() for p in model.parameters()]


def furthest(job, model) -> float:
    """The largest difference from one process's gradients, relative to the largest of them."""
    x, y = batch(job.size)
    expected = gradients(network(), x, y)
    mine = slice(job.rank * LOCAL_BATCH, (job.rank + 1) * LOCAL_BATCH)
    for _ in range(3):  # buckets are rebuilt after the first backward
        got = gradients(model, x[mine], y[mine])
    scale = max(g.abs().max() for g in expected)
    return max((g - e).abs().max() / scale for g, e in zip(got, expected, strict=True)).item()


def ddp(job, options: dict):
    with world(job):
        return furthest(job, DistributedDataParallel(network(), **options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_as_bucket_view": True},
        {"bucket_cap_mb": 0.01},
        {"bucket_cap_mb": 0.01, "gradient_as_bucket_view": True, "static_graph": True},
        {"find_unused_parameters": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_gradients(team, ranks, options):
    assert max(team(ranks).run(ddp, options)) < 1e-5


def bf16_compress(state, bucket):
    """The stock hook under another name: by its own, torch admits it with NCCL only."""
    return default_hooks.bf16_compress_hook(state, bucket)


def hooked(job, name):
    with world(job):
        # These hooks' callbacks start collectives. With several buckets their order would be
        # that in which callbacks happen to run, which differs between ranks (Gloo hangs).
        bucket = 25 if "power" in name or "quantization" in name else 0.02
        model = DistributedDataParallel(network(), bucket_cap_mb=bucket)
        everyone = dist.group.WORLD
        power = powerSGD_hook.PowerSGDState(
            everyone, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=0.5
        )
        hooks = {
            "allreduce": (everyone, default_hooks.allreduce_hook),
            "fp16_compress": (everyone, default_hooks.fp16_compress_hook),
            "bf16_compress": (everyone, bf16_compress),
            "power_sgd": (power, powerSGD_hook.powerSGD_hook),
            "fp16_power_sgd": (
                power,
                default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook),
            ),
            "post_local_sgd": (
                post_localSGD_hook.PostLocalSGDState(everyone, None, start_localSGD_iter=100),
                post_localSGD_hook.post_localSGD_hook,
            ),
            "quantization_pertensor": (everyone, quantization_hooks.quantization_pertensor_hook),
            "quantization_perchannel": (everyone, quantization_hooks.quantization_perchannel_hook),
        }
        model.register_comm_hook(*hooks[name])
        difference = furthest(job, model)
        flat = torch.cat([p.grad.view(-1) for p in model.parameters()])
        every = [torch.empty_like(flat) for _ in range(job.size)]
        dist.all_gather(every, flat)
        return difference, all(torch.equal(other, flat) for other in every)


@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("allreduce", 1e-5),
        ("fp16_compress", 1e-2),
        ("bf16_compress", 3e-2),
        ("power_sgd", 2.0),  # an approximation of rank two
        ("fp16_power_sgd", 2.0),
        ("post_local_sgd", 1e-5),
        ("quantization_pertensor", 2e-2),
        ("quantization_perchannel", 2e-2),
    ],
)
def test_stock_hooks(team, name, tolerance):
    for difference, alike in team(2).run(hooked, name):
        assert difference < tolerance
        assert alike


def uneven_inputs(job):
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        steps = 0
        with model.join():
            for _ in range(2 + job.rank):
                model(torch.ones(3, 4)).sum().backward()
                steps += 1
        return steps


def test_join_with_uneven_inputs(team):
    assert team(3).run(uneven_inputs) == [2, 3, 4]


def without_sync(job):
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        x = torch.full((1, 2), float(job.rank + 1))
        with model.no_sync():
            model(x).sum().backward()
        local = model.module.weight.grad[0, 0].item()
        model(x).sum().backward()
        return local, model.module.weight.grad[0, 0].item()


def test_no_sync(team):
    assert team(2).run(without_sync) == [(1.0, 3.0), (2.0, 3.0)]


def zero_redundancy(job):
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with world(job):
        x, y = batch(job.size)
        alone, model = network(), DistributedDataParallel(network())
        plain = torch.optim.Adam(alone.parameters(), lr=0.01)
        sharded = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
        mine = slice(job.rank * LOCAL_BATCH, (job.rank + 1) * LOCAL_BATCH)
        for _ in range(3):
            gradients(alone, x, y)
            plain.step()
            gradients(model, x[mine], y[mine])
            sharded.step()
        pairs = zip(alone.parameters(), model.parameters(), strict=True)
        return max((a - b).abs().max().item() for a, b in pairs)


def test_zero_redundancy_optimizer(team):
    assert max(team(2).run(zero_redundancy)) < 1e-3


def fully_sharded(job):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with world(job):
        alone, model = network(), network()
        mesh = init_device_mesh("cpu", (job.size,))
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        x, y = batch(job.size)
        mine = slice(job.rank * LOCAL_BATCH, (job.rank + 1) * LOCAL_BATCH)
        expected = gradients(alone, x, y)
        torch.nn.functional.cross_entropy(model(x[mine]), y[mine]).backward()
        got = [p.grad.full_tensor() for p in model.parameters()]
        return max((g - e).abs().max().item() for g, e in zip(got, expected, strict=True))


def test_fully_sharded_data_parallel(team):
    assert max(team(2).run(fully_sharded)) < 1e-5


class Numbers(torch.utils.data.Dataset):
    """Rows that say which they are."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((4,), float(index))


def loading(job):
    """Workers are forked while the group, its threads and its shared memory are in use."""
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        sampler = torch.utils.data.DistributedSampler(Numbers(), job.size, job.rank, shuffle=False)
        seen = []
        for _ in range(2):
            loader = torch.utils.data.DataLoader(
                Numbers(), batch_size=4, sampler=sampler, num_workers=2,
                multiprocessing_context="fork",
            )  # fmt: skip
            for rows in loader:
                model(rows).sum().backward()
                seen += rows[:, 0].tolist()
        total = torch.tensor(sum(seen))
        dist.all_reduce(total)
        return total.item()


def test_data_loaders_fork_safely(team):
    assert team(2).run(loading) == [2.0 * sum(range(24))] * 2


def copied(job):
    """Models and optimizers are deep-copied and pickled while their group exists."""
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        twin = copy.deepcopy(model.module)
        return torch.equal(twin.weight, model.module.weight)


def test_models_can_be_copied(team):
    assert team(2).run(copied) == [True, True]
