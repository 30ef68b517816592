"""DDP's stock communication hooks, on two ranks: between two a sum has one order.

They are not compared with Gloo: there the quantizing ones fail, and a group whose futures had
Python callbacks now and then hangs when it is destroyed.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.distributed.algorithms.ddp_comm_hooks import (  # noqa: E402
    default_hooks,
    optimizer_overlap_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from training import backward, batch, flat, gradients, network, share  # noqa: E402

ONE_BUCKET, SEVERAL = 25, 0.02  # MiB a bucket


def renamed(hook):
    """By their own names torch admits the bf16 hooks with NCCL only."""

    def same(state, bucket):
        return hook(state, bucket)

    return same


def power():
    return powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=2, start_powerSGD_iter=2, min_compression_rate=0.5
    )


def post_local_sgd():
    return post_localSGD_hook.PostLocalSGDState(None, dist.new_subgroups(1)[0], 100)


# The state and the hook.
HOOKS = {
    "allreduce": (lambda: None, default_hooks.allreduce_hook),
    "fp16_compress": (lambda: None, default_hooks.fp16_compress_hook),
    "bf16_compress": (lambda: None, renamed(default_hooks.bf16_compress_hook)),
    "post_local_sgd": (post_local_sgd, post_localSGD_hook.post_localSGD_hook),
    "quantize_per_tensor": (lambda: None, quantization_hooks.quantization_pertensor_hook),
    "quantize_per_channel": (lambda: None, quantization_hooks.quantization_perchannel_hook),
    "power_sgd": (power, powerSGD_hook.powerSGD_hook),
    "fp16_power_sgd": (power, default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)),
    "bf16_power_sgd": (
        power,
        renamed(default_hooks.bf16_compress_wrapper(powerSGD_hook.powerSGD_hook)),
    ),
}


def hooked(job, name, bucket, dtype=torch.float32):
    """The gradients of the third backward pass (buckets are rebuilt after one), and `mean`."""
    with world(job):
        model = DistributedDataParallel(network(), bucket_cap_mb=bucket)
        state, hook = HOOKS[name]
        model.register_comm_hook(state(), hook)
        for _ in range(3):
            backward(model, *share(job.rank, job.size))
        return flat(p.grad for p in model.parameters()), mean(dtype)


def mean(dtype: torch.dtype) -> np.ndarray:
    """What two ranks' gradients come to if they are sent and summed as `dtype`; no collective."""
    parts = [flat(gradients(network(), *share(rank, 2))) for rank in range(2)]
    first, second = (torch.from_numpy(part).to(dtype).div_(2) for part in parts)
    return (first + second).float().numpy()


@pytest.mark.parametrize("bucket", [ONE_BUCKET, SEVERAL])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("allreduce", torch.float32),
        ("fp16_compress", torch.float16),
        ("bf16_compress", torch.bfloat16),
        ("post_local_sgd", torch.float32),
    ],
)
def test_hooks_that_sum_are_right_to_the_bit(team, name, dtype, bucket):
    for gradient, expected in team(2).run(hooked, name, bucket, dtype):
        assert np.array_equal(gradient, expected)


# These hooks' callbacks start collectives; with several buckets while others are under way.
@pytest.mark.parametrize("bucket", [ONE_BUCKET, SEVERAL])
@pytest.mark.parametrize(
    ("name", "tolerance"),
    [
        ("quantize_per_tensor", 0.02),
        ("quantize_per_channel", 0.02),
        ("power_sgd", 2.0),  # an approximation of rank two
        ("fp16_power_sgd", 2.0),
        ("bf16_power_sgd", 2.0),
    ],
)
def test_hooks_that_approximate(team, name, tolerance, bucket):
    (first, expected), (second, _) = team(2).run(hooked, name, bucket)
    assert np.array_equal(first, second)
    assert 0 < np.abs(first - expected).max() < tolerance * np.abs(expected).max()


def step_in_hook(job):
    """The optimizer steps inside of the hook."""
    from torch.distributed.optim import as_functional_optim

    with world(job):
        model = DistributedDataParallel(network(), bucket_cap_mb=SEVERAL)
        optimizer = as_functional_optim(torch.optim.SGD, 0.1)
        state = optimizer_overlap_hooks._OptimizerHookState(optimizer)
        hook = optimizer_overlap_hooks._hook_then_optimizer(default_hooks.allreduce_hook, state)
        model.register_comm_hook(None, hook)
        for _ in range(3):
            backward(model, *share(job.rank, job.size))
        return flat(model.parameters())


def post_local(job, start):
    """Averaged gradients for `start` iterations; then each rank's own, and averaged parameters."""
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from torch.distributed.optim import PostLocalSGDOptimizer

    with world(job):
        model = DistributedDataParallel(network(), bucket_cap_mb=SEVERAL)
        state = post_localSGD_hook.PostLocalSGDState(None, dist.new_subgroups(1)[0], start)
        model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        averager = PeriodicModelAverager(1, warmup_steps=start)
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
        for _ in range(3):
            backward(model, *share(job.rank, job.size))
            optimizer.step()
        return flat(model.parameters())


@pytest.mark.parametrize(("body", "arguments"), [(step_in_hook, []), (post_local, [2])])
def test_steps(team, body, arguments):
    """As plain SGD on the whole batch: averaging parameters after one step is the same."""
    alone = network()
    optimizer = torch.optim.SGD(alone.parameters(), lr=0.1)
    for _ in range(3):
        backward(alone, *batch(2))
        optimizer.step()
    first, second = team(2).run(body, *arguments)
    assert np.array_equal(first, second)
    assert np.abs(first - flat(alone.parameters())).max() < 1e-6
