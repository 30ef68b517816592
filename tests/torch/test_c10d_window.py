"""torch's own windows, c10d::Window: what is put lies in the peer's tensor before the signal."""

from __future__ import annotations

import contextlib
import datetime
import random
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import bits, world  # noqa: E402

import weft  # noqa: E402

from launch import Team  # noqa: E402

pytestmark = pytest.mark.skipif(
    not hasattr(dist, "_new_window"),
    reason=f"torch {torch.__version__} has no c10d::Window: it came with 2.14",
)

DTYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]


@contextlib.contextmanager
def window_of(tensor):
    window = dist._new_window(tensor)
    yield window
    window.tensor_deregister()


def filled(rank: int, peer: int, count: int, dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 * rank + peer)
    return torch.randint(0, 200, (count,), generator=generator).to(dtype)


def everyone(job, count, async_op):
    """Each rank puts a row into the tensor of each rank, its own too. The last ones are strided."""
    with world(job):
        assert dist._supports_window()
        for dtype in DTYPES:
            mine = torch.full((job.size + 1, count), 1).to(dtype)
            with window_of(mine) as window:
                works = []
                for peer in range(job.size):
                    row = filled(job.rank, peer, count, dtype)
                    if dtype is DTYPES[-1]:
                        row = torch.stack([row, row], 1)[:, 0]
                    works.append(window.put(row, peer, job.rank * count, async_op))
                    del row  # the window keeps what it reads
                    works.append(window.signal(peer, async_op))
                works += [window.wait_signal(peer, async_op) for peer in range(job.size)]
                for work in works:
                    work.wait()
                    assert work.is_completed()
                    assert work.is_success()
                for peer in range(job.size):
                    assert bits(mine[peer]) == bits(filled(peer, job.rank, count, dtype)), dtype
                assert bits(mine[-1]) == bits(torch.full((count,), 1).to(dtype))
                kind = type(window.get_attr(0).access_type)
                assert window.get_attr(0).access_type == kind.UNIFIED


@pytest.mark.parametrize("async_op", [False, True])
@pytest.mark.parametrize("count", [0, 1, 300_000])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_everyone_puts_to_everyone(team, ranks, count, async_op):
    team(ranks).run(everyone, count, async_op)


def random_puts(job):
    """Into stripes of each origin, beside a stripe that the owner itself keeps writing."""
    stripe, rounds = 500, 200
    with world(job):
        mine = torch.zeros(job.size, stripe, dtype=torch.int32)
        models = {peer: torch.zeros(stripe, dtype=torch.int32) for peer in range(job.size)}
        choices = {peer: random.Random(f"{peer} to {job.rank}") for peer in range(job.size)}
        sent = {peer: random.Random(f"{job.rank} to {peer}") for peer in range(job.size)}

        def piece(choice):
            count = choice.choice([0, 1, 7, stripe])
            return choice.randrange(stripe - count + 1), [
                choice.randrange(1 << 30) for _ in range(count)
            ]

        others = [peer for peer in range(job.size) if peer != job.rank]
        with window_of(mine) as window:
            for turn in range(rounds):
                mine[job.rank] = turn
                for peer in others:
                    at, data = piece(sent[peer])
                    x = torch.tensor(data, dtype=torch.int32)
                    window.put(x, peer, job.rank * stripe + at, turn % 2 == 0)
                    window.signal(peer, False)
                for peer in others:
                    at, data = piece(choices[peer])
                    models[peer][at : at + len(data)] = torch.tensor(data, dtype=torch.int32)
                    window.wait_signal(peer, False)
                    assert torch.equal(mine[peer], models[peer])
                assert torch.all(mine[job.rank] == turn)
                dist.barrier()


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_random_puts_do_what_a_model_does(team, ranks):
    team(ranks).run(random_puts)


def counted(job):
    """The n-th wait is for the n-th signal: a wait that timed out is made again."""
    with world(job), window_of(torch.zeros(4)) as window:
        if job.rank == 0:
            options = torch._C._distributed_c10d.WaitSignalOptions()
            options.timeout = datetime.timedelta(milliseconds=50)
            with pytest.raises(dist.DistBackendError, match="rank 0 waits for signal 1"):
                window.wait_signal(1, False, options)
            waits = [window.wait_signal(1, True) for _ in range(3)]
            assert not any(work.is_completed() for work in waits)
            dist.barrier()
            waits[0].wait()
            waits[1].wait()
            assert not waits[2].is_completed()
            with pytest.raises(dist.DistBackendError, match="at least 3"):
                waits[2].wait(datetime.timedelta(milliseconds=50))
            threading.Timer(0.2, dist.barrier).start()
            waits[2].wait()
        else:
            dist.barrier()
            window.signal(0, False)
            window.signal(0, True)
            dist.barrier()
            window.signal(0, False)
        dist.barrier()


def test_signals_are_counted(team):
    team(2).run(counted)


def wrong(job):
    with world(job):
        window = dist._new_window()
        x, peer = torch.ones(4), 1 - job.rank
        with pytest.raises(weft.InvalidArgument, match="no tensor is registered"):
            window.put(x, peer, 0, False)
        tensors = {0: torch.ones(3, 4), 1: torch.ones(4, 3).t()}
        with pytest.raises(weft.InvalidArgument, match=r"rank 1, tensor_register.*contiguous"):
            window.tensor_register(tensors[job.rank])
        mine = torch.zeros(10 + job.rank, dtype=[torch.float32, torch.int64][job.rank])
        window.tensor_register(mine)
        with pytest.raises(weft.InvalidArgument, match="this window has a tensor"):
            window.tensor_register(mine)
        other = [torch.int64, torch.float32][job.rank]
        y = x.to(other)
        refused = [
            (lambda: window.put(x.to(torch.half), peer, 0, False), f"type Half.*rank {peer}"),
            (lambda: window.put(y, peer, 8 + peer, False), f"4 elements at offset {8 + peer}"),
            (lambda: window.put(y, peer, -1, False), "offset -1"),
            (lambda: window.put(y, peer, 1 << 62, False), "do not lie"),
            (lambda: window.put(y, 2, 0, False), "no rank 2: ranks are 0 to 1"),
            (lambda: window.put(y.to_sparse(), peer, 0, False), "sparse|layout|dense"),
            (lambda: window.signal(-1, False), "no rank -1"),
            (lambda: window.wait_signal(1 << 33, True), "no rank"),
            (lambda: window.get_attr(7), "no rank 7"),
        ]
        for call, words in refused:
            with pytest.raises(weft.InvalidArgument, match=f"(?s)rank {job.rank}.*({words})"):
                call()
        with pytest.raises(NotImplementedError, match="ordinary memory"):
            window.map_remote_tensor(peer)
        dist.barrier()
        assert not mine.any()  # nothing of it was changed
        dist.barrier()
        window.put(y, peer, 6 + peer, False)
        window.signal(peer, False)
        window.wait_signal(peer, False)
        assert mine.tolist() == [0] * (6 + job.rank) + [1] * 4
        window.tensor_deregister()
        with pytest.raises(weft.InvalidArgument, match="no tensor is registered"):
            window.signal(peer, False)
        window.tensor_register(torch.zeros(1), owning=False)
        window.tensor_deregister()


def test_wrong_arguments_are_named_and_change_nothing(team):
    team(2).run(wrong)


def owned(job):
    """The window keeps a tensor that nobody else holds; after it nobody writes there."""
    with world(job):
        window = dist._new_window(torch.zeros(100_000))
        window.put(torch.ones(100_000), 1 - job.rank, 0, True)
        window.tensor_deregister()
        mine = torch.zeros(100_000)
        window.tensor_register(mine)
        window.put(torch.ones(100_000), 1 - job.rank, 0, True)
        window.tensor_deregister()  # delivers
        assert mine.sum() == 100_000
        left_open = dist._new_window(mine)
        left_open.signal(1 - job.rank, True)
        dist.barrier()


def test_registered_again_and_left_open(team):
    team(2).run(owned)


def killed(job):
    with world(job, timeout=100):
        window = dist._new_window(torch.zeros(4))
        waits = window.wait_signal(1, True)
        dist.barrier()
        job.say("ready")
        if job.rank == 1:
            time.sleep(60)  # killed here
        with pytest.raises(dist.DistBackendError, match=r"rank 1.* died"):
            window.wait_signal(1, False)
        assert waits.is_completed()
        assert not waits.is_success()
        with pytest.raises(dist.DistBackendError):
            waits.wait()
        with pytest.raises(dist.DistBackendError):
            window.put(torch.ones(4), 1, 0, True)


def test_a_dead_rank_is_named_before_the_timeout():
    with Team(3) as team:
        team.start(killed)
        for rank in range(3):
            team.hear(rank)
        team.kill(1, signal.SIGKILL)
        for outcome in team.finish(20, [0, 2]):
            assert outcome.ok, outcome.story()
