"""weft.Window among processes, over shared memory and over the network."""

from __future__ import annotations

import os
import signal
import time
import weakref
from pathlib import Path

import numpy as np
import psutil
import pytest

import weft

FABRICS = ["shm", "ofi"]


def exchange(job, fabric):
    """Everybody puts to everybody; sums of what came."""
    with job.communicator(fabric=fabric) as comm:
        count, size = 30_001, comm.size
        with weft.Window(comm, 4 * count * size, size) as window:
            x = np.arange(count, dtype=np.float32) * (comm.rank + 1)
            for peer in range(size):
                window.put(x, peer, 4 * count * comm.rank, signal=comm.rank, value=7)
            for peer in range(size):
                assert window.wait_signal(peer) == 7
            window.quiet()
            x[:] = -1
            came = window.array("float32").reshape(size, count)
            assert (came[:, 1] == np.arange(1, size + 1)).all()
            assert (came[:, count - 1] == (count - 1) * np.arange(1, size + 1)).all()
            direct = window.peer(comm.rank)
            assert direct.ctypes.data == window.array().ctypes.data
            assert (window.peer((comm.rank + 1) % size) is None) == (fabric == "ofi" and size > 1)
            comm.barrier()
        assert came[0, 1] == 1  # the memory lives as long as its arrays
        return True


@pytest.mark.parametrize("fabric", FABRICS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_everybody_puts_to_everybody(team, fabric, ranks):
    assert team(ranks).run(exchange, fabric) == [True] * ranks


def forgotten(job, fabric):
    """A program that never calls quiet: sources that are free again go."""
    with job.communicator(fabric=fabric) as comm, weft.Window(comm, 800, 1) as window:
        sources = [np.full(100, number, np.float64) for number in range(20)]
        known = [weakref.ref(source) for source in sources]
        target = (comm.rank + 1) % comm.size
        for number in range(20):
            window.put(sources.pop(0), target, signal=0, value=number + 1)
        window.wait_signal(0, 20)
        comm.barrier()
        window.put(np.zeros(1), comm.rank, signal=0, value=21)
        return sum(one() is not None for one in known)


@pytest.mark.parametrize("fabric", FABRICS)
def test_sources_go_without_quiet(team, fabric):
    assert max(team(2).run(forgotten, fabric)) <= 1


def some_and_reset(job, fabric):
    with job.communicator(fabric=fabric) as comm, weft.Window(comm, 8, 6) as window:
        if comm.rank == 0:
            with pytest.raises(weft.Timeout, match=r"rank 0 waits for one of the signals 0 to 5"):
                window.wait_some(timeout=0.05)
            comm.barrier()
            first = window.wait_some(1, 4)
            assert window.fetch_reset(first) == 3
            assert window.read_signal(first) == 0
            assert window.wait_signal(5, 2) == 2
        else:
            comm.barrier()
            if comm.rank == 1:
                window.signal(0, 4, 3)
            window.signal(0, 5, signal_op="add")
        comm.barrier()
        return first if comm.rank == 0 else None


@pytest.mark.parametrize("fabric", FABRICS)
def test_some_signal_is_awaited_and_reset(team, fabric):
    assert team(3).run(some_and_reset, fabric)[0] == 4


def refusals(job):
    with job.communicator() as comm, weft.Window(comm, 100, 2) as window:
        x, peer, me = np.ones(30, np.float32), 1 - comm.rank, f"rank {comm.rank}"
        for call, words in (
            (lambda: window.put(x, peer), "120 bytes at offset 0 do not lie"),
            (lambda: window.put(x[:5], peer, 96), "has 100 bytes"),
            (lambda: window.put(x[:5], peer, -4), "offset is -4"),
            (lambda: window.put(x[:5], 2), "there is no rank 2"),
            (lambda: window.put(x[:5], "1"), "target is '1'"),
            (lambda: window.put(x[:5], peer, signal=2), "no signal 2"),
            (lambda: window.put(x[:5], peer, signal=0, signal_op="or"), 'signal_op is "or"'),
            (lambda: window.put(x[:5], peer, signal=0, value=-1), "value is -1"),
            (lambda: window.put("text", peer), "put: data"),
            (lambda: window.wait_signal(0, timeout=-1), "timeout is -1"),
            (lambda: window.wait_some(2), "no signal 2"),
            (lambda: window.array("no type"), "dtype is 'no type'"),
        ):
            with pytest.raises(weft.InvalidArgument, match=words) as raised:
                call()
            assert me in str(raised.value)
        comm.barrier()
        assert not window.array().any()
        assert [window.read_signal(i) for i in range(2)] == [0, 0]
        with pytest.raises(weft.InvalidArgument):
            weft.Window(comm, 10 if comm.rank else "many", 1)
        with pytest.raises(weft.InvalidArgument, match=r"weft\.Communicator"):
            weft.Window(None, 10)
        window.close()
        window.close()
        with pytest.raises(weft.InvalidArgument, match="closed"):
            window.put(x[:5], peer)
        return comm.allreduce(np.ones(1))[0]


def test_wrong_arguments_change_nothing(team):
    assert team(2).run(refusals) == [2.0, 2.0]


def wait_for_ever(job, fabric):
    comm = job.communicator(fabric=fabric)
    window = weft.Window(comm, 1 << 20, 2)
    window.put(np.ones(1 << 18, np.float32), (comm.rank + 1) % comm.size, signal=0)
    window.wait_signal(0)
    comm.barrier()
    job.meet()
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    began = time.monotonic()
    with pytest.raises((weft.PeerLost, weft.Aborted), match="rank 1") as first:
        window.wait_signal(1, timeout=30)
    with pytest.raises((weft.PeerLost, weft.Aborted)):
        window.put(np.ones(1 << 18, np.float32), 1)
    with pytest.raises((weft.PeerLost, weft.Aborted)):
        window.quiet()
    assert time.monotonic() - began < 20
    return str(first.value)


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_dead_peer_ends_the_wait(team, fabric):
    ranks = team(3)
    ranks.start(wait_for_ever, fabric)
    outcomes = ranks.finish()
    assert outcomes[1].exit_code == -signal.SIGKILL
    assert all(outcomes[rank].ok for rank in (0, 2)), [o.story() for o in outcomes]


def stands_still(job, fabric):
    """Rank 1 is stopped for longer than rank 0's wait may last, and then goes on."""
    with job.communicator(fabric=fabric, timeout=20) as comm, weft.Window(comm, 4000, 1) as window:
        comm.barrier()
        if comm.rank == 1:
            job.meet()
            os.kill(os.getpid(), signal.SIGSTOP)
            window.put(np.ones(1000, np.float32), 0, signal=0)
            window.quiet()
        else:
            job.meet()
            with pytest.raises(weft.Timeout, match="rank 0 waits for signal 0"):
                window.wait_signal(0, timeout=0.5)
            Path(job.directory, "waited").touch()
            window.wait_signal(0)
            assert (window.array("float32") == 1).all()
        job.meet("end")
        return Path(job.directory, "waited").exists()


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_rank_that_stood_still_goes_on(team, fabric):
    ranks = team(2)
    ranks.start(stands_still, fabric)
    process = psutil.Process(ranks._processes[1].pid)
    while process.status() != psutil.STATUS_STOPPED:
        time.sleep(0.05)
    time.sleep(1)
    process.resume()
    assert [outcome.value for outcome in ranks.finish()] == [True, True]
