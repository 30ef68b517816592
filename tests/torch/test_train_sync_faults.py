"""weft.train.GradientSync: what goes wrong in the middle is an error on all ranks, and no hang."""

from __future__ import annotations

import os
import signal
import time

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from sync_models import (  # noqa: E402
    Branches,
    Convolutions,
    loss_of,
    prepare,
    share,
    short_pieces,
)
from torch.utils.checkpoint import checkpoint  # noqa: E402

import weft  # noqa: E402
from weft.train import GradientSync  # noqa: E402
from weft.train.sync.wait_choice import BLOCK, FIRST  # noqa: E402

from launch import Team  # noqa: E402

STRATEGIES = ["allreduce", "sharded", "tree", "flat_tree"]
SOON = 10.0  # seconds; far below the communicator's timeout


def step(job, model, sync, number=0):
    loss_of(model, *share(job, number)).backward()
    sync.step()
    sync.zero_grad()


def sparse_gradient(job, model, sync):
    if job.rank == 0:
        numbers = torch.tensor([1, 2])
        F.embedding(numbers, model.last.weight, sparse=True).sum().backward()
    step(job, model, sync)
    sync.finish()


def direct_step(job, model, sync):
    loss_of(model, *share(job, 0)).backward()
    sync._updates.optimizer.step()


def more_groups(job, model, sync):
    sync._updates.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    step(job, model, sync)


def with_closure(job, model, sync):
    sync.step(lambda: 1.0)


def written(job, model, sync, layer="last"):
    loss_of(model, *share(job, 0)).backward()
    sync.step()
    if job.rank == 0:
        getattr(model, layer).weight.grad.zero_()
    sync.finish()
    step(job, model, sync)
    sync.finish()


def written_in_pieces(job, model, sync):
    written(job, model, sync, "long")


def read_late(job, model, sync):
    step(job, model, sync)
    F.linear(torch.ones(1, 40), model.last.weight).sum().backward()


def other_rounds(job, model, sync):
    loss_of(model, *share(job, 0)).backward()
    if job.rank == 0:
        loss_of(model, *share(job, 1)).backward()
    sync.step()
    for number in range(2):
        step(job, model, sync, number)
    sync.finish()


def frozen_here(job, model, sync):
    model.last.bias.requires_grad_(job.rank == 0)
    step(job, model, sync)
    sync.finish()


def moved(job, model, sync):
    step(job, model, sync)
    model.last.weight.data = model.last.weight.data.clone()
    step(job, model, sync)
    sync.finish()


# What is done, the strategy, and the error of some rank.
FAULTS = {
    "sparse": (sparse_gradient, "allreduce", "Unsupported", "the gradient of last.weight is spars"),
    "direct": (direct_step, "allreduce", "InvalidArgument", "call step() of the GradientSync"),
    "groups": (more_groups, "allreduce", "InvalidArgument", "make a new GradientSync after add_p"),
    "closure": (with_closure, "allreduce", "Unsupported", "step() takes no closure"),
    "written": (written, "allreduce", "InvalidArgument", "the gradient of last.weight was written"),
    "written, in pieces": (written_in_pieces, "allreduce", "InvalidArgument", "t of long.weight w"),
    "late": (read_late, "allreduce", "InvalidArgument", "last.weight has a gradient, but no m"),
    "rounds": (other_rounds, "allreduce", "Mismatch", "different numbers of backward passes"),
    "rounds, sharded": (other_rounds, "sharded", "Mismatch", "the same calls in the same order"),
    "frozen": (frozen_here, "allreduce", "Mismatch", "last.bias requires a gradient on some ranks"),
    "moved": (moved, "sharded", "InvalidArgument", "last.weight was moved out of the memory"),
}


def fault(job, case):
    prepare(job)
    do, strategy, *_ = FAULTS[case]
    model = Convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with job.communicator() as comm, short_pieces():
        sync = GradientSync(model, optimizer, strategy, group=comm, bucket_bytes=4000)
        begun = time.monotonic()
        with pytest.raises((weft.WeftError, RuntimeError)) as raised:
            do(job, model, sync)
        took = time.monotonic() - begun
        sync.close()
    return type(raised.value).__name__, str(raised.value), took


@pytest.mark.parametrize("case", FAULTS)
def test_an_error_on_all_ranks(team, case):
    results = team(2).run(fault, case)
    _, _, kind, text = FAULTS[case]
    assert any(name == kind and text in words for name, words, _ in results), results
    assert all(name in (kind, "Aborted") for name, _, _ in results), results
    assert all(took < SOON for _, _, took in results)


def dead_afterwards(job):
    """After an error every method that waits says so."""
    prepare(job)
    model = Convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with job.communicator() as comm:
        sync = GradientSync(model, optimizer, group=comm)
        with pytest.raises(weft.WeftError):
            frozen_here(job, model, sync)
        texts = []
        for call in (sync.step, sync.finish, sync.state_dict, lambda: sync.clip_grad_norm_(1.0)):
            with pytest.raises(weft.Aborted) as raised:
                call()
            texts.append(str(raised.value))
        sync.close()
        with pytest.raises(weft.InvalidArgument, match="call step"):
            optimizer.step()
    return texts


def test_after_an_error_it_is_dead(team):
    for texts in team(2).run(dead_afterwards):
        assert all("GradientSync: it has ended: " in text for text in texts)
        assert all("last.bias" in text for text in texts)


def killed(job, strategy, place, last):
    """Rank 1 dies in its step `last`; the others report what they get."""
    prepare(job)
    model = Convolutions()
    optimizer = torch.optim.Adam(model.parameters())

    def die(number, here):
        if (job.rank, number, here) == (1, last, place):
            os.kill(os.getpid(), signal.SIGKILL)

    def train():
        sync = GradientSync(model, optimizer, strategy, group=job.communicator(), bucket_bytes=4000)
        for number in range(200):
            loss = loss_of(model, *share(job, number))
            die(number, "before backward")
            loss.backward()
            die(number, "before step")
            sync.step()
            sync.zero_grad()
            die(number, "after step")

    with short_pieces(), pytest.raises(weft.WeftError) as raised:
        train()
    return type(raised.value).__name__


# Steps that leave updates to the next forward pass, and in the trial of `wait` one that does not.
LAST = [3, FIRST + BLOCK + 1]


@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("place", ["before backward", "before step", "after step"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rank_that_dies(strategy, place, last):
    with Team(3) as team:
        team.kill(1, 0)  # it is not held against the team how this rank ends
        team.start(killed, strategy, place, last)
        outcomes = team.finish(60)
    for rank in (0, 2):
        assert outcomes[rank].value in ("PeerLost", "Aborted"), outcomes[rank].story()


def gives_up(job, strategy):
    """Rank 1 raises in its own code."""
    prepare(job)
    model = Convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        with (
            job.communicator() as comm,
            short_pieces(),
            GradientSync(model, optimizer, strategy, group=comm) as sync,
        ):
            step(job, model, sync)
            if job.rank == 1:
                raise ZeroDivisionError("bad luck")
            for number in range(100):
                step(job, model, sync, number)

    with pytest.raises((weft.WeftError, ZeroDivisionError)) as raised:
        train()
    return type(raised.value).__name__, str(raised.value)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_rank_that_gives_up(team, strategy):
    (kind, text), raised = team(2).run(gives_up, strategy, timeout=20)
    assert raised == ("ZeroDivisionError", "bad luck")
    assert kind == "Aborted"
    assert "rank 1: ZeroDivisionError: bad luck" in text


def reentrant(job, use):
    """A checkpointed model whose layers are used twice."""
    prepare(job)
    model = Branches()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, _ = share(job, 0)
    with job.communicator() as comm:
        sync = GradientSync(model, optimizer, group=comm, bucket_bytes=4000)
        x = torch.relu(model.inward(images.flatten(1)))
        for _ in range(2):
            x = checkpoint(model.right, x, use_reentrant=use)
        model.out(x).sum().backward()
        sync.finish()
        mean = [model.right.weight.grad.clone(), model.inward.weight.grad.clone()]
        sync.close()
    whole = Branches()
    for rank in range(job.size):
        job.rank = rank
        images, _ = share(job, 0)
        x = torch.relu(whole.inward(images.flatten(1)))
        whole.out(whole.right(whole.right(x))).sum().backward()
    total = [whole.right.weight.grad / job.size, whole.inward.weight.grad / job.size]
    return all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(mean, total, strict=True))


@pytest.mark.parametrize("use", [False, True])
def test_checkpointed_activations(team, use):
    assert team(2).run(reentrant, use) == [True, True]
