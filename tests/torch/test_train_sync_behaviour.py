"""weft.train.GradientSync: what users expect of a training loop, against one process."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sync_models import (  # noqa: E402
    Branches,
    OneProcess,
    Ranks,
    content,
    farthest,
    prepare,
    synchronized,
)

from weft.errors import Aborted, InvalidArgument, PeerLost  # noqa: E402
from weft.train import GradientSync  # noqa: E402

STRATEGIES = ["allreduce", "sharded", "tree", "flat_tree"]


def momentum(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def two_groups(model):
    weights = [p for p in model.parameters() if p.dim() > 1]
    biases = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": biases, "lr": 0.3, "weight_decay": 0.0}, {"params": weights}]
    return torch.optim.SGD(groups, lr=0.05, momentum=0.9, weight_decay=0.1)


def tensor_rate(model):
    return torch.optim.SGD(model.parameters(), lr=torch.tensor(0.2), momentum=0.9)


def plain_steps(run):
    for number in range(4):
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()


def accumulated(run):
    for number in range(3):
        with run.sync.no_sync():
            run.backward(10 * number)
            run.backward(10 * number + 1)
        run.backward(10 * number + 2)
        run.sync.step()
        run.sync.zero_grad()


def all_under_no_sync(run):
    for number in range(3):
        with run.sync.no_sync():
            run.backward(number)
        run.sync.step()
        run.sync.zero_grad()


def no_sync_last(run):
    for number in range(3):
        run.backward(number)
        with run.sync.no_sync():
            run.backward(number + 10)
        run.sync.step()
        run.sync.zero_grad()


def twice(run):
    for number in range(3):
        run.backward(number)
        run.backward(number + 10)
        run.sync.step()
        run.sync.zero_grad()


def two_graphs(run):
    for number in range(3):
        losses = [run.loss(number), run.loss(number + 10)]
        for loss in losses:
            run.run_backward(loss)
        run.sync.step()
        run.sync.zero_grad()


def gradients_kept(run):
    for number in range(4):
        run.backward(number)
        run.sync.step()


def gradients_zeroed(run):
    for number in range(4):
        branches = ("right",) if number == 0 else ("left",)
        run.backward(number, lambda rank, branches=branches: branches)
        run.sync.step()
        run.sync.zero_grad(set_to_none=False)


def zeroed_by_the_model(run):
    for number in range(3):
        run.backward(number)
        run.sync.step()
        run.model.zero_grad()
        run.sync.zero_grad()


def gradients_thrown_away(run):
    run.backward(0)
    run.sync.zero_grad()
    plain_steps(run)


def frozen_and_not(run):
    for number in range(6):
        run.model.frozen.requires_grad_(number >= 2)
        run.model.inward.requires_grad_(number != 3)
        run.model.out.bias.requires_grad_(number < 4)
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()


def unused_here_and_there(run):
    for number in range(6):
        run.backward(
            number,
            lambda rank, n=number: {
                0: ("right",),
                1: ("left",) if rank == 0 else ("right",),
                2: () if rank == 1 else ("left", "right"),
            }.get(n, ("left", "frozen")),
        )
        run.sync.step()
        run.sync.zero_grad()


def unused_and_kept(run):
    for number in range(4):
        run.backward(number, lambda rank, n=number: ("right",) if rank == n % 2 else ("left",))
        run.sync.step()


def schedule(run):
    steps = torch.optim.lr_scheduler.ExponentialLR(run.optimizer, 0.5)
    for number in range(4):
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()
        steps.step()


def without_backward(run):
    run.sync.step()
    plain_steps(run)
    run.sync.step()
    run.sync.step()


def evaluated_between(run):
    for number in range(3):
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()
        with torch.inference_mode():
            run.model(torch.ones(2, 64))


def written_between(run):
    for number in range(3):
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()
        run.sync.finish()
        with torch.no_grad():
            for parameter in run.model.parameters():
                parameter.clamp_(-0.1, 0.1)


def loaded_between(run):
    first = {name: value.clone() for name, value in run.model.state_dict().items()}
    plain_steps(run)
    run.model.load_state_dict(first)
    plain_steps(run)


def clipped(run):
    for number in range(4):
        run.backward(number)
        run.sync.clip_grad_norm_(0.1)
        run.sync.step()
        run.sync.zero_grad()


def rate_changed_before_step(run):
    run.backward(0)
    run.optimizer.param_groups[0]["lr"] = 0.5
    run.sync.step()
    run.backward(1)


def clipped_and_added(run):
    for number in range(3):
        run.backward(number)
        run.sync.clip_grad_norm_(0.1, float("inf"))
        run.backward(number + 10)
        run.sync.step()
        run.sync.zero_grad()


# Script, optimizer, and how far the result may be from one process with two ranks.
CASES = {
    "plain": (plain_steps, adam, 0.0),
    "accumulated": (accumulated, momentum, 0.0),
    "all under no_sync": (all_under_no_sync, momentum, 0.0),
    "no_sync last": (no_sync_last, momentum, 1e-5),
    "twice": (twice, momentum, 1e-5),
    "two graphs": (two_graphs, momentum, 1e-5),
    "kept": (gradients_kept, momentum, 1e-5),
    "zeroed": (gradients_zeroed, momentum, 0.0),
    "zeroed by the model": (zeroed_by_the_model, momentum, 0.0),
    "thrown away": (gradients_thrown_away, momentum, 0.0),
    "frozen": (frozen_and_not, momentum, 0.0),
    "unused": (unused_here_and_there, momentum, 0.0),
    "unused, adam": (unused_here_and_there, adam, 0.0),
    "unused and kept": (unused_and_kept, momentum, 1e-5),
    "two groups": (plain_steps, two_groups, 0.0),
    "schedule": (schedule, two_groups, 0.0),
    "schedule of a tensor": (schedule, tensor_rate, 0.0),
    "without backward": (without_backward, momentum, 0.0),
    "evaluated": (evaluated_between, adam, 0.0),
    "written": (written_between, momentum, 0.0),
    "loaded": (loaded_between, momentum, 0.0),
    "clipped": (clipped, momentum, 1e-5),
    "clipped and added": (clipped_and_added, momentum, 1e-5),
}


def one_process(case):
    torch.set_num_threads(1)
    script, make, _ = CASES[case]
    model = Branches()
    script(OneProcess(model, make(model), 2))
    return content(model)


def on_ranks(job, case, strategy, options):
    prepare(job)
    script, make, _ = CASES[case]
    model = Branches()
    optimizer = make(model)
    with synchronized(job, model, optimizer, strategy, **options) as sync:
        script(Ranks(job, model, optimizer, sync))
        sync.finish()
        return content(model)


def compare(results, case):
    wanted = one_process(case)
    assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
    assert farthest(results[0], wanted) <= CASES[case][2]
    assert farthest(wanted, content(Branches())) > 0.01  # else nothing was tested


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_as_in_one_process(team, strategy, case):
    compare(team(2).run(on_ranks, case, strategy, {"bucket_bytes": 4000}), case)


@pytest.mark.parametrize("case", ["accumulated", "frozen", "unused", "schedule", "clipped", "kept"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_as_in_one_process_without_overlap(team, strategy, case):
    options = {"bucket_bytes": 4000, "overlap": False, "priority": False}
    compare(team(2).run(on_ranks, case, strategy, options), case)


# What changes gradients, or leaves them, after layers were updated.
TOO_LATE = ["no_sync last", "twice", "two graphs", "thrown away", "clipped", "clipped and added"]


@pytest.mark.parametrize("case", [case for case in CASES if case not in TOO_LATE])
@pytest.mark.parametrize("strategy", ["tree", "flat_tree"])
def test_updates_during_the_backward_pass(team, strategy, case):
    options = {"bucket_bytes": 1000, "update": "backward"}
    compare(team(2).run(on_ranks, case, strategy, options), case)


@pytest.mark.parametrize(
    "script", [*(CASES[case][0] for case in TOO_LATE), rate_changed_before_step]
)
def test_updates_during_the_backward_pass_cannot_be_taken_back(team, script):
    ranks = team(2)
    ranks.start(too_late, script)
    errors = [outcome.error for outcome in ranks.finish()]
    assert all(isinstance(error, (InvalidArgument, Aborted, PeerLost)) for error in errors), errors
    refused = [str(error) for error in errors if isinstance(error, InvalidArgument)]
    assert refused, errors
    assert all('update="backward"' in text or 'update="step"' in text for text in refused)


def too_late(job, script):
    prepare(job)
    model = Branches()
    optimizer = momentum(model)
    options = {"update": "backward", "bucket_bytes": 1000}
    with (
        job.communicator() as comm,
        GradientSync(model, optimizer, "tree", group=comm, **options) as sync,
    ):
        script(Ranks(job, model, optimizer, sync))
