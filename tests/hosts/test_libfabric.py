"""A newer libfabric than the system's: scripts/setup takes it from MPICH's package."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import _core

from network import Hosts, obstacle

NEWER = Path(__file__).parents[2] / "build/libfabric/lib/mpich/libfabric.so.1"
REASON = obstacle() or ("" if NEWER.exists() else f"{NEWER} is not there: scripts/setup test")
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

# Within a packet's body, with its packet, and written to its place.
COUNTS = [1, 100, 10_000, 65_536, 1_000_003]


def allreduce(job):
    """What serves, by `weft info`."""
    with job.communicator(timeout=30) as comm:
        for count in COUNTS:
            x = np.arange(count, dtype="float32") % 97
            for algorithm in (None, "allreduce/one_shot(chunk=2M)"):
                total = comm.allreduce(x + job.rank, algorithm=algorithm)
                np.testing.assert_array_equal(total, x * job.size + sum(range(job.size)))
    return next(each["text"] for each in _core.system_info()["fabrics"] if each["name"] == "ofi")


@pytest.mark.parametrize("interfaces", ["eth0", "eth0,eth1"])
@pytest.mark.parametrize("places", [[0, 1], [0, 1, 1, 2]], ids=str)
def test_payloads_go_with_their_messages(places, interfaces):
    env = {"WEFT_LIBFABRIC": str(NEWER), "WEFT_INTERFACE": interfaces}
    with Hosts(places, rails=2) as hosts, hosts.team(env) as team:
        for text in team.run(allreduce):
            assert "libfabric 2." in text
            assert ", tcp on eth0" in text


# What rank 0 sends and rank 1 gets.
CALLS = {
    "broadcast": lambda comm, x: comm.broadcast(x, 0, async_op=True),
    "send": lambda comm, x: comm.irecv(x, 0) if comm.rank else comm.isend(x, 1),
}


def fail_on_the_way(job, name):
    """What rank 1 got in its buffer, and why no more: it slept until rank 0 had given up."""
    comm = job.communicator(timeout=20 if job.rank else 1)
    other = comm.allgather(np.array([os.getpid()])).ravel()[1]
    done = Path(job.directory) / "done"
    x = np.full(1 << 20, 1 - job.rank, dtype="float32")
    request = CALLS[name](comm, x)
    if job.rank == 0:
        time.sleep(0.2)
        os.kill(other, signal.SIGSTOP)
        with pytest.raises(weft.Timeout, match="rank 1"):
            request.wait()
        x[:] = 7
        os.kill(other, signal.SIGCONT)
        while not done.exists():
            time.sleep(0.01)
        return None
    with pytest.raises((weft.Aborted, weft.PeerLost)) as failure:
        request.wait()
    done.touch()
    return set(x.tolist()), str(failure.value)


@contextmanager
def slow_hosts():
    """Two, whose systems hold little of what is sent."""
    with Hosts([0, 1], rate="50mbit") as hosts:
        for host, which in itertools.product(range(2), ("rmem", "wmem")):
            small = f"echo 4096 65536 65536 > /proc/sys/net/ipv4/tcp_{which}"
            subprocess.run([*hosts.network.prefix(host), "sh", "-c", small], check=True)
        yield hosts


@pytest.mark.parametrize("name", CALLS)
def test_memory_is_the_callers_after_a_failure(name):
    """What was on its way from there when rank 0 gave up, and changed then, reaches nobody."""
    with slow_hosts() as hosts, hosts.team({"WEFT_LIBFABRIC": str(NEWER)}) as team:
        seen, why = team.run(fail_on_the_way, name, timeout=20)[1]
    assert seen <= {0.0, 1.0}
    assert "rank 0" in why


def fail_while_written_to(job, aborts):
    """What rank 0 has in its buffer some time after the call had failed in which it got it."""
    comm = job.communicator(timeout=20 if job.rank or aborts else 1)
    other = comm.split(0)
    x = np.ones(1 << 20, dtype="float32")
    request = comm.allreduce(x, out=x, async_op=True)
    # Sums come after 2 MiB and a part of another, which take 0.35 s and more.
    while job.rank == 0 and ((x[: 1 << 19] == 1).any() or (x[1 << 19 :] == 1).all()):
        assert not request.test()
    job.say("arriving")
    if job.rank == 0 and aborts:
        comm.abort("enough")
    failures = (weft.Aborted, weft.PeerLost, weft.Timeout)
    # Rank 1 may have all that it needs.
    with suppress(*failures) if job.rank else pytest.raises(failures):
        request.wait()
    x[:] = 7
    job.say("failed")
    if aborts:
        other.barrier()
    time.sleep(1)
    return set(x.tolist())


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL, None])
def test_nobody_writes_into_memory_after_a_failure(number):
    """Not even the rest of what had begun to arrive. After an abort others of both ranks go on."""
    with slow_hosts() as hosts, hosts.team({"WEFT_LIBFABRIC": str(NEWER)}) as team:
        team.start(fail_while_written_to, number is None)
        assert team.hear(0) == "arriving"
        if number:
            team.kill(1, number)
        assert team.hear(0) == "failed"
        if number == signal.SIGSTOP:
            team.kill(1, signal.SIGCONT)
        outcomes = team.finish(timeout=20, ranks=[0] if number == signal.SIGKILL else None)
    assert [outcome.value for outcome in outcomes] == [{7.0}] * len(outcomes), outcomes
