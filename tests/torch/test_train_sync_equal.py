"""weft.train.GradientSync: all ranks have the parameters of one process with the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sync_models import (  # noqa: E402
    OPTIMIZERS,
    Convolutions,
    batch,
    content,
    farthest,
    loss_of,
    mean_gradients,
    prepare,
    share,
    synchronized,
)

STEPS = 4
STRATEGIES = ["allreduce", "sharded", "tree", "flat_tree"]
VARIANTS = {
    "as it is": {},
    "one lane": {"priority": False},
    "phases": {"overlap": False},
    "phases, late": {"overlap": False, "wait": "forward"},
    "in step": {"wait": "step"},
    "a layer a bucket": {"bucket_bytes": 1},
    "a few layers a bucket": {"bucket_bytes": 4000},
    "one bucket": {"bucket_bytes": 1 << 30},
}


def one_process(optimizer, ranks):
    """With the mean of the gradients of `ranks` shares of each batch."""
    torch.set_num_threads(1)
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    for number in range(STEPS):
        for parameter, grad in zip(
            model.parameters(), mean_gradients(model, number, ranks), strict=True
        ):
            parameter.grad = grad
        stepper.step()
    return content(model)


def trained(job, optimizer, strategy, options):
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    with synchronized(job, model, stepper, strategy, **options) as sync:
        for number in range(STEPS):
            loss_of(model, *share(job, number)).backward()
            sync.step()
            sync.zero_grad()
        sync.finish()
        return content(model)


def check(results, wanted):
    """To the bit with two ranks: their sum has one order."""
    for rank, mine in enumerate(results):
        assert all(np.array_equal(a, b) for a, b in zip(mine, results[0], strict=True)), rank
    assert farthest(results[0], wanted) <= (0.0 if len(results) <= 2 else 1e-5)
    assert farthest(wanted, content(Convolutions())) > 0.01  # else nothing was tested


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_variant(team, strategy, variant):
    check(team(2).run(trained, "SGD", strategy, VARIANTS[variant]), one_process("SGD", 2))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_other_numbers_of_ranks(team, strategy, ranks):
    results = team(ranks).run(trained, "SGD", strategy, {"bucket_bytes": 4000})
    check(results, one_process("SGD", ranks))


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_optimizer(team, strategy, optimizer):
    results = team(2).run(trained, optimizer, strategy, {"bucket_bytes": 4000})
    check(results, one_process(optimizer, 2))


def test_the_reference_is_the_whole_batch():
    """The mean of the shares' gradients is the gradient of the mean loss of the batch."""
    model = Convolutions()
    loss_of(model, *batch(0)).backward()
    whole = [parameter.grad.numpy() for parameter in model.parameters()]
    assert farthest([g.numpy() for g in mean_gradients(model, 0, 3)], whole) < 1e-5
