"""weft.train.GradientSync without `wait`: whether updates come under the next forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch")

from sync_models import content, prepare, share, synchronized  # noqa: E402

from weft.train.sync import wait_choice  # noqa: E402
from weft.train.sync.wait_choice import (  # noqa: E402
    BLOCK,
    ENOUGH,
    FIRST,
    LEAST,
    MOST,
    WaitChoice,
)

EARLIEST, LATEST = FIRST + 2 * BLOCK * LEAST, FIRST + 2 * BLOCK * MOST
STEP = ENOUGH / LATEST / 2  # seconds of a short step


class Rank:
    """Steps of one rank, whose time goes as it is told."""

    def __init__(self, seconds: Callable[[str, int], float]) -> None:
        self.choice, self._seconds, self._now = WaitChoice(None), seconds, 0.0

    def step(self, step: int) -> str:
        now = self.choice.at(step)
        self._now += self._seconds(now, step)
        self.choice.took(step, self._now)
        return now


def trial(*ranks: Rank) -> tuple[int, str]:
    """The first step after the trial, and the choice."""
    for step in range(LATEST + 2):
        said = [rank.choice.opinion(step) for rank in ranks]
        modes = {rank.step(step) for rank in ranks}
        assert len(modes) == 1
        for rank in ranks:
            rank.choice.hear(step, said[0] | said[-1])
        chosen = {rank.choice.chosen for rank in ranks}
        assert len(chosen) == 1
        if (choice := chosen.pop()) is not None:
            assert {rank.choice.at(step + 1) for rank in ranks} == {choice}
            return step + 1, choice
    raise AssertionError("the trial has no end")


def steps_longer(by: float) -> Callable[[str, int], float]:
    return lambda mode, step: STEP * (1 + by if mode == "step" else 1)


def noisy(by: float) -> Callable[[str, int], float]:
    """Every third pair of blocks says the opposite, and each block has a step that takes long."""

    def seconds(mode, step):
        pair, late = (step - FIRST) // (2 * BLOCK), (step - FIRST) % BLOCK == 2
        sign = -1 if pair % 3 == 2 else 1
        return STEP * (1 + 0.9 * late + (sign * by if mode == "step" else 0))

    return seconds


def dear_first(mode, step):
    """The first step of each block, and those before the trial, take long for one of the two."""
    first = step < FIRST or (step - FIRST) % BLOCK == 0
    return STEP * (5 if first and mode == "forward" else 1.1 if mode == "step" else 1)


def long_steps(mode, step):
    """Nothing is clear, and the 20 seconds are over when the trial may first end."""
    return 0.99 if mode == "step" else 1.0


@pytest.mark.parametrize(
    ("seconds", "ends", "choice"),
    [
        (steps_longer(0.1), EARLIEST, "forward"),
        (steps_longer(-0.1), EARLIEST, "step"),
        (steps_longer(0.01), LATEST, "forward"),
        (steps_longer(-0.01), LATEST, "step"),
        (steps_longer(0.0), LATEST, "forward"),
        (noisy(0.1), LATEST, "forward"),
        (noisy(-0.1), LATEST, "step"),
        (dear_first, EARLIEST, "forward"),
        (long_steps, EARLIEST, "step"),
    ],
)
def test_the_quicker_one_is_chosen(seconds, ends, choice):
    assert trial(Rank(seconds)) == (ends + 1, choice)


def test_ranks_that_found_different_things_choose_alike():
    one, other = steps_longer(-0.1), steps_longer(0.01)
    assert trial(Rank(one), Rank(other)) == (LATEST + 1, "forward")
    assert trial(Rank(one), Rank(steps_longer(-0.01))) == (LATEST + 1, "step")


def test_steps_after_finish_do_not_count():
    rank = Rank(steps_longer(-0.1))
    for step in range(LATEST + 1):
        if said := rank.choice.opinion(step):
            rank.choice.hear(step, said)
        rank.step(step)
        rank.choice.interrupt()
    assert rank.choice.chosen == "forward"


@pytest.mark.parametrize("wait", ["step", "forward"])
def test_what_the_user_wants_is_not_tried(wait):
    choice = WaitChoice(wait)
    assert {choice.at(step) for step in range(LATEST)} == {choice.chosen} == {wait}


def net():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 9), torch.nn.Linear(9, 5))


def train(job, slow, strategy, wait=None, finishes=lambda rank, step: False):
    """One of the two takes 20 ms more. The choice, the value at each step, and the parameters."""
    prepare(job)
    model, modes = net(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def noted(choice, step, at=WaitChoice.at):
        modes.append(at(choice, step))
        if modes[-1] == slow:
            time.sleep(0.02)
        return modes[-1]

    with (
        synchronized(job, model, optimizer, strategy=strategy, wait=wait) as sync,
        patch.object(WaitChoice, "at", noted),
        patch.object(wait_choice, "MOST", 5),
    ):
        for number in range(FIRST + 2 * BLOCK * 5 + 3):
            images, labels = share(job, number)
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            if finishes(job.rank, number):
                sync.finish()
            sync.step()
            sync.zero_grad()
        sync.finish()
        return sync.wait, modes, content(model)


@pytest.mark.parametrize("strategy", ["allreduce", "sharded"])
@pytest.mark.parametrize(("slow", "choice"), [("forward", "step"), ("step", "forward")])
def test_ranks_choose_alike_and_compute_what_they_would(team, strategy, slow, choice):
    tried = team(3).run(train, slow, strategy)
    told = team(3).run(train, "neither", strategy, choice)
    for (wait, modes, mine), (_, _, theirs) in zip(tried, told, strict=True):
        assert wait == choice
        assert modes == tried[0][1]
        assert modes[: FIRST + 2 * BLOCK] == ["forward"] * (FIRST + BLOCK) + ["step"] * BLOCK
        assert modes[-1] == choice
        assert all((a == b).all() for a, b in zip(mine, theirs, strict=True))


def by_turns(rank, step):
    return rank == step % 2


def always(rank, step):
    return True


def test_ranks_that_finish_by_themselves_choose_alike(team):
    """A rank that calls `finish` before `step` hears the others' words before the rest do."""
    (wait, modes, _), other = team(2).run(train, "forward", "allreduce", None, by_turns)
    assert (wait, modes) == other[:2]
    assert wait == "step"


def test_steps_beside_finish_do_not_count(team):
    results = team(2).run(train, "forward", "allreduce", None, always)
    assert [wait for wait, _, _ in results] == ["forward"] * 2


def train_with_opinions(job):
    said = [wait_choice._FOR_STEP, wait_choice._FOR_FORWARD][job.rank]
    with patch.object(WaitChoice, "opinion", lambda choice, step: 0 if choice.chosen else said):
        return train(job, "neither", "allreduce")[:2]


def test_ranks_hear_each_other(team):
    (wait, modes), other = team(2).run(train_with_opinions)
    assert (wait, modes) == other
    assert wait == "forward"
    assert "step" not in modes


def refuses_to_try(job):
    prepare(job)
    found = {}
    for name, options in {
        "tree": {"strategy": "tree"},
        "phases": {"overlap": False},
        "allreduce": {},
    }.items():
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with synchronized(job, model, optimizer, **options) as sync:
            found[name] = sync.wait
    return found


def test_only_what_may_do_both_tries_both(team):
    wanted = {"tree": "forward", "phases": "step", "allreduce": None}
    assert team(2).run(refuses_to_try) == [wanted, wanted]
