"""weft.train.GradientSync: checkpoints, which fit any strategy and any number of ranks."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sync_models import (  # noqa: E402
    OPTIMIZERS,
    Convolutions,
    content,
    farthest,
    loss_of,
    mean_gradients,
    prepare,
    share,
    synchronized,
)

import weft  # noqa: E402

STRATEGIES = ["allreduce", "sharded", "tree", "flat_tree"]
SMALL = {"bucket_bytes": 4000}


def steps(job, model, sync, numbers):
    for number in numbers:
        loss_of(model, *share(job, number)).backward()
        sync.step()
        sync.zero_grad()


def packed(*states) -> bytes:
    stream = io.BytesIO()
    torch.save(states, stream)
    return stream.getvalue()


def saved(job, optimizer, strategy):
    """Three steps, and then the checkpoint of each rank."""
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    with synchronized(job, model, stepper, strategy, **SMALL) as sync:
        steps(job, model, sync, range(3))
        return packed(model.state_dict(), sync.state_dict())


def resumed(job, checkpoint, optimizer, strategy, before):
    """Two steps more. `before`: the optimizer is loaded before the GradientSync is made."""
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    parameters, state = torch.load(io.BytesIO(checkpoint))
    model.load_state_dict(parameters)
    if before:
        stepper.load_state_dict(state)
    with synchronized(job, model, stepper, strategy, **SMALL) as sync:
        if not before:
            steps(job, model, sync, [9])
            model.load_state_dict(parameters)
            sync.load_state_dict(state)
        steps(job, model, sync, range(3, 5))
        sync.finish()
        return content(model)


def one_process(optimizer, numbers, ranks=2, checkpoint=None):
    torch.set_num_threads(1)
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    if checkpoint:
        parameters, state = torch.load(io.BytesIO(checkpoint))
        model.load_state_dict(parameters)
        stepper.load_state_dict(state)
    for number in numbers:
        grads = mean_gradients(model, number, ranks)
        for parameter, grad in zip(model.parameters(), grads, strict=True):
            parameter.grad = grad
        stepper.step()
    return model, stepper


def equal_states(one, other):
    assert one["param_groups"] == other["param_groups"]
    assert one["state"].keys() == other["state"].keys()
    for number, state in one["state"].items():
        assert list(state) == list(other["state"][number])
        for key, value in state.items():
            wanted = other["state"][number][key]
            if torch.is_tensor(wanted):
                assert value.dtype == wanted.dtype
                assert torch.equal(value, wanted), (number, key)
            else:
                assert value == wanted


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_state_is_that_of_one_process(team, strategy, optimizer):
    checkpoints = team(2).run(saved, optimizer, strategy)
    model, stepper = one_process(optimizer, range(3))
    for checkpoint in checkpoints:
        parameters, state = torch.load(io.BytesIO(checkpoint))
        assert all(torch.equal(v, parameters[name]) for name, v in model.state_dict().items())
        equal_states(state, stepper.state_dict())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "NAdam", "ASGD"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_training_goes_on_from_it(team, strategy, optimizer, before):
    checkpoint = team(2).run(saved, optimizer, strategy)[0]
    results = team(2).run(resumed, checkpoint, optimizer, strategy, before)
    model, _ = one_process(optimizer, range(5))
    assert all(farthest(mine, content(model)) == 0 for mine in results)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_on_another_number_of_ranks_and_with_the_other_strategy(team, strategy):
    checkpoint = team(3).run(saved, "Adam", "sharded")[2]
    results = team(2).run(resumed, checkpoint, "Adam", strategy, False)
    model, _ = one_process("Adam", range(3, 5), checkpoint=checkpoint)
    assert all(farthest(mine, content(model)) == 0 for mine in results)


def divided(job, strategy):
    """Elements of the optimizer's state on this rank, and of the parameters."""
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS["Adam"](model.parameters())
    with synchronized(job, model, stepper, strategy) as sync:
        steps(job, model, sync, range(2))
        sync.finish()
        own = getattr(sync._strategy, "_state", {})
        states = [*stepper.state.values(), *own.values()]
    elements = sum(state["exp_avg"].numel() for state in states)
    return elements, sum(p.numel() for p in model.parameters())


def test_the_state_is_divided(team):
    whole = team(3).run(divided, "allreduce")
    assert all(elements == count for elements, count in whole)
    parts = team(3).run(divided, "sharded")
    assert sum(elements for elements, _ in parts) == parts[0][1]
    assert max(elements for elements, _ in parts) < 0.4 * parts[0][1]


def closed(job, strategy):
    """After close() the optimizer works by itself, with its whole state."""
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS["Adam"](model.parameters())
    with synchronized(job, model, stepper, strategy, **SMALL) as sync:
        steps(job, model, sync, range(3))
        kept = copy.deepcopy(sync.state_dict())
    sync.close()
    equal_states(stepper.state_dict(), kept)
    loss_of(model, *share(job, 3)).backward()
    stepper.step()
    return content(model)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_after_close_the_optimizer_has_its_state(team, strategy):
    results = team(2).run(closed, strategy)
    assert farthest(results[0], results[1]) > 0  # each rank went its own way


def refused(job):
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS["Adam"](model.parameters())
    texts = []
    with synchronized(job, model, stepper, "sharded") as sync:
        steps(job, model, sync, range(1))
        for call in (stepper.state_dict, lambda: stepper.load_state_dict({})):
            with pytest.raises(weft.InvalidArgument) as raised:
                call()
            texts.append(str(raised.value))
        steps(job, model, sync, range(1))
    return texts


def test_the_optimizers_own_state_is_refused_while_it_is_in_parts(team):
    for rank, texts in enumerate(team(2).run(refused)):
        for text, name in zip(texts, ("state_dict", "load_state_dict"), strict=True):
            assert text.startswith(f"rank {rank}: optimizer.{name}(): the ranks have parts")


def copied(job, strategy):
    """A deep copy of a model is a model without a GradientSync."""
    prepare(job)
    model = Convolutions()
    stepper = OPTIMIZERS["SGD"](model.parameters())
    with synchronized(job, model, stepper, strategy, **SMALL) as sync:
        steps(job, model, sync, range(2))
        sync.finish()
        other = copy.deepcopy(model)
        before = content(other)
        other(share(job, 0)[0]).sum().backward()
        steps(job, model, sync, range(2))
        sync.finish()
        same = all(np.array_equal(a, b) for a, b in zip(content(other), before, strict=True))
        return same, farthest(content(model), before) > 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_copy_of_the_model_is_free(team, strategy):
    assert team(2).run(copied, strategy) == [(True, True)] * 2
