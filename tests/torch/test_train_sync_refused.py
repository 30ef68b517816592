"""weft.train.GradientSync: wrong arguments, and models that differ, change nothing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from sync_models import Convolutions, content, farthest, loss_of, prepare, share  # noqa: E402

import weft  # noqa: E402
from weft.train import GradientSync  # noqa: E402


class Own(torch.optim.SGD):
    """A class that Weft does not know."""


def sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def made(change=None, optimizer=sgd, **options):
    """Model, optimizer and options of a rank."""
    model = Convolutions()
    if change:
        change(model)
    return model, optimizer(model), options


def add_embedding(model):
    model.table = torch.nn.Embedding(3, 2, sparse=True)


def add_eighth(model):
    model.eighth = torch.nn.Parameter(torch.zeros(2).to(torch.float8_e4m3fn), False)


def add_parameter(model):
    model.more = torch.nn.Parameter(torch.zeros(2))


def other_name(model):
    model.final = model.last
    del model.last


def other_shape(model):
    model.last = torch.nn.Linear(40, 6)


def other_strides(model):
    model.second.to(memory_format=torch.contiguous_format)


def other_value(model):
    model.long.weight.data[39, 95] += 1e-7


WRONG = {
    "model": (lambda: ([], sgd(Convolutions()), {}), "model is a list: give a torch.nn.Module"),
    "optimizer": (lambda: (Convolutions(), "SGD", {}), "optimizer is a str: give one of torch.op"),
    "strategy": (lambda: made(strategy="ring"), "strategy is 'ring': give one of allreduce, shar"),
    "no strategy": (lambda: made(strategy=None), "strategy is None: give one of allreduce, shar"),
    "overlap": (lambda: made(overlap=1), "overlap is 1: give True or False"),
    "priority": (lambda: made(priority="x"), "priority is 'x': give True or False"),
    "update": (lambda: made(update="never"), "update is 'never': give one of step, backward"),
    "update early": (
        lambda: made(update="backward", strategy="sharded"),
        'strategy "sharded" updates at step(): give a strategy that is one of tree, flat_tree',
    ),
    "wait": (lambda: made(wait="never"), "wait is 'never': give one of step, forward, or None"),
    "bucket": (lambda: made(bucket_bytes=0), "bucket_bytes is 0: give a whole number from 1"),
    "foreign": (
        lambda: (Convolutions(), sgd(Convolutions()), {}),
        "the optimizer's group 0 has a parameter of shape [] that the model has not",
    ),
    "device": (
        lambda: made(lambda model: model.last.to("meta")),
        "last.weight is on the device meta: move the model to the CPU first",
    ),
    "dtype": (lambda: made(add_eighth), "eighth has the dtype torch.float8_e4m3fn: convert it to"),
    "sparse": (lambda: made(add_embedding), "table has sparse gradients: make it with sparse=Fal"),
    "LBFGS": (
        lambda: made(optimizer=lambda m: torch.optim.LBFGS(m.parameters())),
        "LBFGS evaluates the model in its step, by a closure: use an optimizer that does not",
    ),
    "Adafactor": (
        lambda: made(optimizer=lambda m: torch.optim.Adafactor(m.parameters()), strategy="sharded"),
        "Adafactor is not known to update each element by itself: use one of SGD, Adam",
    ),
    "own": (
        lambda: made(optimizer=lambda m: Own(m.parameters(), lr=0.1), strategy="sharded"),
        "Own is not known to update each element by itself: use one of SGD, Adam, AdamW, Adagrad, "
        "RMSprop, Adamax, NAdam, RAdam, Rprop, ASGD, Adadelta, pass elementwise=True if it does, "
        'or strategy="allreduce"',
    ),
    "own, late": (
        lambda: made(optimizer=lambda m: Own(m.parameters(), lr=0.1), wait="forward"),
        'wait="forward" updates a layer at a time, and Own is not known to allow that',
    ),
}


def refused(job, cases, only):
    """What each case raises, if the ranks in `only` are the ones that are wrong."""
    prepare(job)
    found = {}
    for case in cases:
        model, optimizer, options = WRONG[case][0]() if job.rank in only else made()
        places = _places(model)
        with job.communicator() as comm:
            with pytest.raises(weft.WeftError) as raised:
                GradientSync(model, optimizer, group=comm, **options)
            alive = comm.allreduce(torch.ones(1)).item() == job.size
        unchanged = _places(model) == places
        found[case] = (type(raised.value).__name__, str(raised.value), alive and unchanged)
    return found


def _places(model):
    if not isinstance(model, torch.nn.Module):
        return None
    hooks = [len(module._forward_pre_hooks) for module in model.modules()]
    grads = [p._post_accumulate_grad_hooks for p in model.parameters()]
    places = [p.data_ptr() for p in model.parameters() if p.device.type == "cpu"]
    return hooks, grads, places


@pytest.mark.parametrize("only", [(0, 1), (1,)])
def test_wrong_arguments_are_refused_on_every_rank(team, only):
    for found in team(2).run(refused, list(WRONG), only):
        for case, (kind, text, well) in found.items():
            assert (kind, well) == ("InvalidArgument", True), (case, kind, text)
            assert text.startswith(f"rank {only[0]}: GradientSync: "), text
            assert WRONG[case][1] in text


DIFFERENT = {
    "name": (lambda: made(other_name), "models differ. Tensor 7 on rank 1: outside.weight, "),
    "more": (lambda: made(add_parameter), "models differ. Tensor 1 on rank 1: more, torch.float32"),
    "shape": (lambda: made(other_shape), "last.weight, torch.float32 [6, 40], strides [40, 1], "),
    "strides": (lambda: made(other_strides), "second.weight, torch.float32 [6, 4, 3, 3], strides"),
    "value": (lambda: made(other_value), "Call weft.train.broadcast_parameters(model) first"),
    "frozen": (
        lambda: made(lambda model: model.last.requires_grad_(False)),
        "last.weight, torch.float32 [5, 40], strides [40, 1], frozen, group 0. On rank 0: last.we",
    ),
    "strategy": (lambda: made(strategy="sharded"), "rank 1 has strategy 'sharded', rank 0 'allred"),
    "bucket": (lambda: made(bucket_bytes=7), "rank 1 has bucket_bytes 7, rank 0 None: give the"),
    "optimizer": (
        lambda: made(optimizer=lambda m: torch.optim.Rprop(m.parameters(), lr=0.1)),
        "rank 1 has optimizer 'Rprop', rank 0 'SGD': give the same on all ranks",
    ),
    "rate": (
        lambda: made(optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.2)),
        "rank 1 has lr of the optimizer's group 0 '0.2', rank 0 '0.1': give the same on all",
    ),
}


def different(job):
    prepare(job)
    found = {}
    for case, (make, _) in DIFFERENT.items():
        model, optimizer, options = make() if job.rank == 1 else made()
        places = _places(model)
        with job.communicator() as comm:
            with pytest.raises(weft.Mismatch) as raised:
                GradientSync(model, optimizer, group=comm, **options)
            alive = comm.allreduce(torch.ones(1)).item() == job.size
        found[case] = (str(raised.value), alive and _places(model) == places)
    return found


def test_ranks_that_differ_are_refused_on_every_rank(team):
    results = team(3).run(different)
    for found in results:
        for case, (text, well) in found.items():
            assert well, case
            assert DIFFERENT[case][1] in text, (case, text)
            assert text == results[0][case][0]


def own_optimizer(job, strategy, options):
    prepare(job)
    model, optimizer, _ = made(optimizer=lambda m: Own(m.parameters(), lr=0.1))
    with job.communicator() as comm:
        sync = GradientSync(model, optimizer, strategy, group=comm, **options)
        for number in range(3):
            loss_of(model, *share(job, number)).backward()
            sync.step()
            sync.zero_grad()
        sync.close()
    return content(model)


def test_an_unknown_optimizer_works_where_it_may(team):
    plain = team(2).run(own_optimizer, "allreduce", {})
    for strategy in ("allreduce", "sharded"):
        declared = team(2).run(own_optimizer, strategy, {"elementwise": True})
        assert all(farthest(mine, plain[0]) == 0 for mine in declared)


def groups(job, backend):
    """Over the default group, a part of it, and with bf16 on the wire."""
    sums = []
    with world(job, backend=backend):
        pair = dist.new_group([2, 0])
        for group, ranks in ((None, 3), (pair, 2)):
            if group is pair and job.rank == 1:
                with pytest.raises(weft.InvalidArgument, match="rank is not in the group"):
                    GradientSync(*made()[:2], group=group)
                continue
            model, optimizer, _ = made()
            sync = GradientSync(model, optimizer, group=group)
            (model.last.weight.sum() * 10.0**job.rank).backward()
            sync.finish()
            sums.append(round(float(model.last.weight.grad[0, 0]) * ranks))
            sync.close()
    return sums


@pytest.mark.parametrize("backend", ["weft", "gloo"])
def test_over_process_groups(team, backend):
    assert team(3).run(groups, backend) == [[111, 101], [111], [111, 101]]


def test_without_a_group_the_remedy_is_named():
    with pytest.raises(weft.InvalidArgument, match="GradientSync: there is no group: call torch"):
        GradientSync(*made()[:2])
