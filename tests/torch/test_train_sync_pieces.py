"""weft.train.GradientSync: long layers that strategy "allreduce" averages and updates in pieces."""

from __future__ import annotations

import copy
import itertools
from unittest.mock import patch

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from sync_models import (  # noqa: E402
    Branches,
    Convolutions,
    OneProcess,
    Ranks,
    content,
    farthest,
    loss_of,
    prepare,
    share,
    synchronized,
)

from weft.optim import SplitSGD  # noqa: E402
from weft.train.sync import allreduce  # noqa: E402
from weft.train.sync.lanes import Lanes  # noqa: E402
from weft.train.sync.layout import lay_out  # noqa: E402
from weft.train.sync.long_bucket import LongBucket, halves  # noqa: E402


def steps(run, numbers):
    for number in numbers:
        run.backward(number)
        run.sync.step()
        run.sync.zero_grad()


def moved(run):
    """Parameters get other memory."""
    steps(run, range(2))
    run.sync.finish()
    for parameter in run.model.parameters():
        parameter.data = parameter.data.clone()
    steps(run, range(2, 5))


def with_gaps(run):
    """Rows of matrices no longer lie side by side."""
    steps(run, range(2))
    run.sync.finish()
    for parameter in run.model.parameters():
        if parameter.dim() == 2:
            wider = torch.zeros(parameter.shape[0], parameter.shape[1] + 3)
            wider[:, :-3] = parameter.data
            parameter.data = wider[:, :-3]
    steps(run, range(2, 5))


def state_loaded(run):
    """Without the GradientSync's knowledge."""
    steps(run, range(1))
    kept = copy.deepcopy(run.optimizer.state_dict())
    steps(run, range(1, 3))
    run.optimizer.load_state_dict(kept)
    steps(run, range(3, 5))


def state_cleared(run):
    steps(run, range(2))
    run.sync.finish()
    run.optimizer.state.clear()
    steps(run, range(2, 5))


def state_written(run):
    steps(run, range(2))
    run.sync.finish()
    for state in run.optimizer.state.values():
        state["exp_avg"].zero_()
    steps(run, range(2, 5))


def state_replaced(run):
    steps(run, range(2))
    run.sync.finish()
    for state in run.optimizer.state.values():
        state["exp_avg_sq"] = torch.ones_like(state["exp_avg_sq"])
    steps(run, range(2, 5))


SCRIPTS = [moved, with_gaps, state_loaded, state_cleared, state_written, state_replaced]


def adam(model):
    return torch.optim.Adam(model.parameters(), lr=0.01)


def on_ranks(job, script):
    prepare(job)
    model = Branches()
    optimizer = adam(model)
    with synchronized(job, model, optimizer, bucket_bytes=4000) as sync:
        script(Ranks(job, model, optimizer, sync))
        sync.finish()
        return content(model)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_the_program_changes_counts(team, script):
    torch.set_num_threads(1)
    model = Branches()
    script(OneProcess(model, adam(model), 2))
    for mine in team(2).run(on_ranks, script):
        assert farthest(mine, content(model)) == 0


def halves_of_weights(job, piece):
    """bfloat16 weights and SplitSGD's state of them, as one process saves it."""
    prepare(job)
    model = Branches()
    optimizer = SplitSGD.from_float32(model.parameters(), 0.1, momentum=0.9)
    with (
        synchronized(job, model, optimizer, bucket_bytes=4000) as sync,
        patch.object(allreduce, "PIECE", piece),
    ):
        for number in range(4):
            images, labels = share(job, number)
            F.cross_entropy(model(images.bfloat16()).float(), labels).backward()
            sync.step()
            sync.zero_grad()
        cut = len(sync._strategy._long)
        state = sync.state_dict()["state"]
        kept = [one.float().numpy() for _, of in sorted(state.items()) for one in of.values()]
    weights = [p.detach().float().numpy().copy() for p in model.parameters()]
    return cut, [*weights, *kept]


def test_split_sgd_has_the_same_halves_in_pieces(team):
    for (cut, mine), (uncut, whole) in zip(
        team(2).run(halves_of_weights, 256), team(2).run(halves_of_weights, 1 << 30), strict=True
    ):
        assert cut > 0
        assert uncut == 0
        assert len(mine) == len(whole)
        assert all(np.array_equal(a, b) for a, b in zip(mine, whole, strict=True))


def order_of_long(job):
    """How waits for a mean and updates of pieces follow each other in one step."""
    prepare(job)
    model, seen = Convolutions(), []
    wait, update = Lanes.wait, LongBucket.update

    def noted_wait(self, request):
        seen.append(f"wait {id(request)}")
        wait(self, request)

    def noted_update(self, piece, values):
        seen.append(f"update {piece}")
        update(self, piece, values)

    with synchronized(job, model, adam(model), bucket_bytes=4000) as sync:
        loss_of(model, *share(job, 0)).backward()
        with (
            patch.object(Lanes, "wait", noted_wait),
            patch.object(LongBucket, "update", noted_update),
        ):
            sync.step()
            sync.finish()
    return seen


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_piece_is_updated_before_the_next_one_is_waited_for(team, ranks):
    # The long layer has 15520 bytes: 7680, 3840, and the rest, whose half would be below 2048.
    for seen in team(ranks).run(order_of_long):
        begin = seen.index("update 0")
        assert seen[begin : begin + 5 : 2] == ["update 0", "update 1", "update 2"]
        waits = seen[begin - 1 : begin + 4 : 2]
        assert len(set(waits)) == 3, waits
        assert all(one.startswith("wait") for one in waits)


@pytest.mark.parametrize(
    ("length", "least", "pieces"),
    [
        (0, 0, [0]),
        (1, 0, [1]),
        (127, 1, [127]),
        (128, 1, [64, 64]),
        (3880, 512, [1920, 960, 1000]),
        (3880, 2000, [3880]),
        (1 << 20, 1 << 18, [1 << 19, 1 << 18, 1 << 18]),
    ],
)
def test_a_piece_is_half_of_what_is_left(length, least, pieces):
    ranges = halves(length, least)
    assert [end - begin for begin, end in ranges] == pieces
    assert ranges[0][0] == 0
    assert ranges[-1][1] == length
    assert all(one[1] == other[0] for one, other in itertools.pairwise(ranges))


def test_ranges_of_a_bucket_carry_its_layers():
    model = torch.nn.Sequential(torch.nn.Linear(10, 30), torch.nn.Linear(30, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (bucket,) = lay_out(model, optimizer, 1 << 20, 1, 1).buckets
    assert bucket.layers() == {"0": 1320, "1": 248}
    cuts = [*range(0, bucket.length, 64), bucket.length]
    carried = [bucket.layers(*one) for one in itertools.pairwise(cuts)]
    assert carried[0] == {"0": 256}
    assert [sum(one.get(name, 0) for one in carried) for name in ("0", "1")] == [1320, 248]
    assert np.all([sum(one.values()) <= 256 for one in carried])
