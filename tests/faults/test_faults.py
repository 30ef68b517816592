"""What the other ranks see when one dies, stands still, does not come, or calls something else.

Every test is under the launcher's watch: no process, no file and no shared memory is left.
"""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import weft
from weft import _core

from launch import Team

LONG = 1 << 20

FABRICS = [fabric["name"] for fabric in _core.system_info()["fabrics"] if fabric["available"]]


@pytest.fixture(params=FABRICS)
def over(request):
    """The environment in which ranks talk over one of the fabrics that there are."""
    return {"WEFT_FABRIC": request.param}


def allreduce_forever(job, timeout):
    comm = job.communicator(timeout=timeout)
    x = np.ones(LONG, "float32")
    comm.allreduce(x)
    job.say("running")
    entered = time.monotonic()
    try:
        while True:
            entered = time.monotonic()
            comm.allreduce(x)
    finally:
        job.say(time.monotonic() - entered)


def cause(error):
    """The first cause's text: of the rank that saw it, or as an abort brought it."""
    return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("ranks", [2, 3])
def test_killed_rank_is_named_within_a_second(ranks):
    victim = ranks - 1
    with Team(ranks) as team:
        team.start(allreduce_forever, 60)
        for rank in range(ranks):
            assert team.hear(rank) == "running"
        killed = time.monotonic()
        team.kill(victim, signal.SIGKILL)
        outcomes = team.finish(timeout=10, ranks=list(range(victim)))
        assert time.monotonic() - killed < 1.0
    kinds = {type(outcome.error) for outcome in outcomes}
    assert weft.PeerLost in kinds
    assert kinds <= {weft.PeerLost, weft.Aborted}
    assert all(f"rank {victim} is lost" in cause(outcome.error) for outcome in outcomes)


@pytest.mark.parametrize("ranks", [2, 3])
def test_stopped_rank_is_named_after_the_timeout(ranks):
    victim = ranks - 1
    with Team(ranks) as team:
        team.start(allreduce_forever, 1.0)
        for rank in range(ranks):
            assert team.hear(rank) == "running"
        team.kill(victim, signal.SIGSTOP)
        outcomes = team.finish(timeout=10, ranks=list(range(victim)))
        waited = [team.hear(rank) for rank in range(victim)]
        assert all(0.5 < seconds < 3.0 for seconds in waited)
    kinds = {type(outcome.error) for outcome in outcomes}
    assert weft.Timeout in kinds
    assert kinds <= {weft.Timeout, weft.Aborted}
    for outcome in outcomes:
        assert f"rank {victim}" in cause(outcome.error)
        assert "allreduce" in cause(outcome.error)


def come(job):
    job.communicator(timeout=0.5)


def test_rank_that_never_comes_is_named():
    with Team(3) as team:
        team.start(come, only=[0, 1])
        outcomes = team.finish(timeout=10)[:2]
    for outcome in outcomes:
        assert isinstance(outcome.error, weft.Timeout)
        assert "rank(s) 2" in str(outcome.error)


def leaves_early(job):
    comm = job.communicator(timeout=20)
    comm.barrier()
    if job.rank == 1:
        comm.close()
        return
    comm.allreduce(np.ones(LONG))


def test_rank_that_leaves_is_named(over):
    with Team(2, over) as team:
        team.start(leaves_early)
        outcome = team.finish(timeout=20)[0]
    assert isinstance(outcome.error, (weft.PeerLost, weft.Aborted))
    assert "rank 1" in str(outcome.error)


def raises_in_block(job):
    with job.communicator(timeout=20) as comm:
        if job.rank == 1:
            raise ZeroDivisionError("of its own")
        comm.allreduce(np.ones(4))


def test_exception_in_a_block_ends_the_others(over):
    with Team(3, over) as team:
        team.start(raises_in_block)
        first, second, third = team.finish(timeout=20)
    assert isinstance(second.error, ZeroDivisionError)
    for outcome in (first, third):
        assert isinstance(outcome.error, weft.Aborted)
        assert "rank 1 raised ZeroDivisionError: of its own" in str(outcome.error)


# What rank 1 calls while the others call allreduce(ones(8), "sum"), and what both sides are called.
ODD_CALLS = {
    "count": (lambda c: c.allreduce(np.ones(9)), "8", "9"),
    "dtype": (lambda c: c.allreduce(np.ones(8, "float32")), "float64", "float32"),
    "op": (lambda c: c.allreduce(np.ones(8), "max"), "sum", "max"),
    "kind": (lambda c: c.broadcast(np.ones(8)), "allreduce", "broadcast"),
    "barrier": (lambda c: c.barrier(), "allreduce", "barrier"),
    "algorithm": (lambda c: c.allreduce(np.ones(8), algorithm="ring"), "allreduce", "algorithm"),
    "scale": (lambda c: c.allreduce(np.ones(8), "premul_sum", scale=2), "sum", "premul_sum"),
}


def odd_call(job, name):
    comm = job.communicator(timeout=20)
    if job.rank == 1:
        ODD_CALLS[name][0](comm)
    else:
        comm.allreduce(np.ones(8), "sum")
    comm.barrier()


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ODD_CALLS)
def test_mismatch_names_both_sides(name, ranks):
    _, ours, theirs = ODD_CALLS[name]
    with Team(ranks) as team:
        team.start(odd_call, name)
        outcomes = team.finish(timeout=20)
    kinds = [type(outcome.error) for outcome in outcomes]
    assert set(kinds) <= {weft.Mismatch, weft.Aborted}, [o.story() for o in outcomes]
    assert weft.Mismatch in kinds
    for outcome in outcomes:
        assert "rank 1" in str(outcome.error)
        assert ours in str(outcome.error)
        assert theirs in str(outcome.error)


def odd_root(job, count):
    comm = job.communicator(timeout=5)
    comm.broadcast(np.ones(count), root=1 if job.rank == 1 else 0)
    comm.barrier()


@pytest.mark.parametrize("count", [1, 1_000_000])
@pytest.mark.parametrize("ranks", [2, 3])
def test_mismatched_root(ranks, count):
    with Team(ranks) as team:
        team.start(odd_root, count)
        outcomes = team.finish(timeout=20)
    kinds = {type(outcome.error) for outcome in outcomes}
    assert weft.Mismatch in kinds, [outcome.story() for outcome in outcomes]
    assert kinds <= {weft.Mismatch, weft.Aborted}
    assert all("root" in str(outcome.error) for outcome in outcomes)


def dead_afterwards(job):
    comm = job.communicator(timeout=20)
    # An abort ends what others still are in, be it the barrier at the end of weft.init.
    job.meet()
    if job.rank == 0:
        comm.abort("the user wants to")
    for _ in range(2):
        with pytest.raises(weft.Aborted, match="the user wants to"):
            comm.allreduce(np.ones(10))
    comm.close()


def test_abort_ends_all_for_good(over):
    with Team(3, over) as team:
        team.run(dead_afterwards)


def interrupted_init(job):
    if job.rank == 0:
        import os
        import threading

        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            job.communicator(timeout=60)


def test_ctrl_c_ends_init():
    with Team(2) as team:
        start = time.monotonic()
        team.run(interrupted_init, timeout=10)
        assert time.monotonic() - start < 5
