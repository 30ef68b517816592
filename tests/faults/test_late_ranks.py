"""A rank that comes late, after another has failed or left: right numbers or an error.

A call that succeeds has the right result. A call that has failed gives its buffers back: what the
program then stores there no peer sees, and no peer writes there any more.
"""

from __future__ import annotations

import random
import signal
import time

import pytest

import weft
from weft import _core

from calls import TABLE, Buffers, Call
from launch import Team

COUNT = 1000  # too many to travel in the messages themselves
EARLY = 2  # this rank does all that it can before the others come
PATIENCE = 0.15  # of the early rank, in each call
FABRICS = [fabric["name"] for fabric in _core.system_info()["fabrics"] if fabric["available"]]


def abort(comm):
    comm.abort("the early rank gives up")
    comm.close()


# How the early rank ends. Without an abort the others may still get what it has sent.
ENDINGS = {"abort": abort, "close": lambda comm: comm.close()}


def outcome(comm, buffers, number):
    """How the call ends: right, the name of its error, or what is wrong."""
    buffers.fill(number)
    try:
        buffers.run(comm)
    except weft.WeftError as error:
        buffers.spoil()
        return type(error).__name__
    return buffers.wrong(number) or "right"


def one_is_early(job, calls, ending):
    """What this rank has seen of each call, each on a communicator of its own."""
    early = job.rank == EARLY
    world = job.communicator(timeout=20)
    comms = [world.split(0) for _ in calls]
    ours = [Buffers(call, comm) for call, comm in zip(calls, comms, strict=True)]
    for comm, buffers in zip(comms, ours, strict=True):
        for number in range(2):  # so that all memory is mapped
            assert outcome(comm, buffers, number) == "right"
        comm.barrier()
        comm.timeout = PATIENCE if early else 10.0
    if not early:
        time.sleep(2.5 * PATIENCE * len(calls))
    seen = [outcome(comm, buffers, 7) for comm, buffers in zip(comms, ours, strict=True)]
    if early:
        for comm in comms:
            ENDINGS[ending](comm)
        world.close()  # with the last one go the fabric and its memory
    job.meet()
    failed = {"Timeout", "Aborted", "PeerLost"}
    return [
        (buffers.spoilt() if what in failed else "") or what
        for what, buffers in zip(seen, ours, strict=True)
    ]


@pytest.mark.parametrize("symmetric", [False, True], ids=["ordinary", "symmetric"])
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_late_ranks(fabric, ending, symmetric):
    calls = [Call(name, COUNT, symmetric, EARLY) for name in TABLE]
    with Team(3, {"WEFT_FABRIC": fabric}) as team:
        by_rank = team.run(one_is_early, calls, ending, timeout=40)
    for call, seen in zip(calls, zip(*by_rank, strict=True), strict=True):
        assert seen[EARLY] in ("right", "Timeout"), (call, seen)
        # A call that begins after an abort has reached its rank fails, whatever was sent before.
        ended = ending == "abort" or seen[EARLY] == "Timeout"
        fitting = {"Aborted"} if ended else {"right", "Aborted", "PeerLost"}
        assert {*seen[:EARLY]} <= fitting, (call, seen)


TIMEOUT = 1.0


def one_mostly_waits(job, symmetric):
    comm = job.communicator(timeout=20)
    comm.timeout = TIMEOUT
    buffers = Buffers(Call("allreduce", COUNT, symmetric), comm)
    job.say("running")
    seen = "right"
    for number in range(1_000_000):
        if job.rank == 0:
            time.sleep(0.005)
        seen = outcome(comm, buffers, number)
        if seen != "right":
            break
    with pytest.raises(weft.Aborted):
        comm.barrier()
    return seen


@pytest.mark.parametrize("symmetric", [False, True], ids=["ordinary", "symmetric"])
@pytest.mark.parametrize("attempt", range(2))
def test_a_rank_that_stood_still_goes_on(attempt, symmetric):
    """When it goes on its deadline is over, though all that it waited for may be here."""
    with Team(2) as team:
        team.start(one_mostly_waits, symmetric)
        for rank in range(2):
            team.hear(rank)
        time.sleep(0.1 + 0.01 * attempt)
        team.kill(1, signal.SIGSTOP)
        time.sleep(1.5 * TIMEOUT)
        team.kill(1, signal.SIGCONT)
        outcomes = team.finish(timeout=10)
    assert outcomes[0].value == "Timeout", outcomes[0].story()
    assert outcomes[1].value in ("Timeout", "Aborted"), outcomes[1].story()


def times_out_in_the_middle(job, calls):
    """One rank gives up while its peers read its buffers and write there: what is then wrong."""
    world = job.communicator(timeout=20)
    draw = random.Random(job.rank)
    wrong = []
    for number, call in enumerate(calls):
        comm = world.split(0)
        buffers = Buffers(call, comm)
        assert outcome(comm, buffers, number) == "right"
        job.meet(f"call {number}")
        if job.rank == number % job.size:
            comm.timeout = draw.choice((0.001, 0.002, 0.003))
            time.sleep(draw.choice((0, 0.0005)))
        else:
            time.sleep(draw.choice((0, 0.0005, 0.001, 0.002)))
        for turn in range(50):
            seen = outcome(comm, buffers, number + turn)
            if seen != "right":
                break
        time.sleep(0.005)
        if seen.startswith("Call"):
            wrong.append(seen)
        elif seen != "right":
            wrong += [changed] if (changed := buffers.spoilt()) else []
        comm.close()
    return wrong


def test_a_timeout_in_the_middle_of_a_call():
    names = ("allreduce", "broadcast", "allgather", "scatter")
    calls = [Call(name, 1 << 19, symmetric=True) for name in names] * 10
    with Team(3) as team:
        assert team.run(times_out_in_the_middle, calls, timeout=60) == [[], [], []]
