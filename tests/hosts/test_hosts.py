"""Ranks on several hosts: results, what shares memory with whom, errors.

Hosts are network namespaces of this machine: they share its memory and its name, not its network.
"""

from __future__ import annotations

import os
import re
import signal
import time

import numpy as np
import pytest

import weft

from collective_table import TABLE, check
from network import Hosts, obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

LONG = 1 << 20

PLACES = {
    "blocks": [0, 0, 1, 1],
    "round_robin": [0, 1, 0, 1],
    "uneven": [0, 1, 1, 2],
}


@pytest.fixture(scope="module", params=PLACES)
def team(request):
    with Hosts(PLACES[request.param]) as hosts, hosts.team() as team:
        yield team


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
@pytest.mark.parametrize("name", TABLE)
def test_result(team, name, dtype):
    team.run(check, name, dtype, False)


def exchange(job):
    """Everything that a message may be, and many of them."""
    with job.communicator(timeout=20) as comm:
        for count in (1, 5000, LONG):
            x = np.arange(count, dtype="float32") % 89 + job.rank
            total = comm.allreduce(x)
            wanted = (np.arange(count) % 89) * job.size + sum(range(job.size))
            np.testing.assert_array_equal(total, wanted)
            right, left = (job.rank + 1) % job.size, (job.rank - 1) % job.size
            got = np.empty_like(x)
            sent = comm.isend(x, right)
            comm.recv(got, left)
            sent.wait()
            np.testing.assert_array_equal(got, x - job.rank + left)
        x = weft.empty(LONG, "float32")
        x[:] = job.rank
        assert comm.allreduce(x, out=x)[LONG - 1] == sum(range(job.size))
        half = comm.split(job.rank % 2, 0)
        assert half.allreduce(np.ones(3))[0] == half.size
        half.close()
        for n in range(200):
            assert comm.allreduce(np.array([n]))[0] == n * job.size


def test_exchange(team):
    team.run(exchange)


def over_shm_only(job):
    job.communicator(timeout=20, fabric="shm")


def test_shared_memory_alone_says_what_it_cannot_reach():
    with Hosts([0, 1]) as hosts, hosts.team() as team:
        team.start(over_shm_only)
        outcomes = team.finish(timeout=20)
    for rank, outcome in enumerate(outcomes):
        assert isinstance(outcome.error, weft.Unsupported)
        assert f"cannot reach rank {1 - rank}" in str(outcome.error)


def allreduce_forever(job, timeout):
    comm = job.communicator(timeout=timeout)
    x = np.ones(LONG, "float32")
    comm.allreduce(x)
    job.say("running")
    while True:
        comm.allreduce(x)


def running(hosts, timeout):
    team = hosts.team()
    team.start(allreduce_forever, timeout)
    for rank in range(team.ranks):
        assert team.hear(rank) == "running"
    return team


def test_killed_rank_is_named_within_a_second():
    with Hosts([0, 0, 1, 1]) as hosts, running(hosts, 60) as team:
        killed = time.monotonic()
        team.kill(3, signal.SIGKILL)
        outcomes = team.finish(timeout=10, ranks=[0, 1, 2])
        assert time.monotonic() - killed < 1.0
        pid = team.pids[3]
    kinds = {type(outcome.error) for outcome in outcomes}
    assert weft.PeerLost in kinds
    assert kinds <= {weft.PeerLost, weft.Aborted}
    for outcome in outcomes:
        assert "rank 3 is lost" in str(outcome.error)
        assert f"process {pid} died" in str(outcome.error)


def test_pulled_cable_is_named_with_the_address_in_time():
    with Hosts([0, 1]) as hosts, running(hosts, 2) as team:
        pulled = time.monotonic()
        hosts.network.pull(1)
        outcomes = team.finish(timeout=10)
        assert time.monotonic() - pulled < 6
        for rank, outcome in enumerate(outcomes):
            assert isinstance(outcome.error, weft.Timeout), outcome.story()
            for part in (f"rank {1 - rank}", hosts.network.addresses[1 - rank], "does not answer"):
                assert part in str(outcome.error)


def come(job, timeout=3):
    job.communicator(timeout=timeout)


@pytest.mark.parametrize(
    ("env", "error", "word"),
    [
        ({"WEFT_INTERFACE": "eth7"}, weft.Unsupported, "eth0 (10.77.0."),
        ({"WEFT_INTERFACE": "lo"}, (weft.PeerLost, weft.Timeout, weft.Aborted), "127.0.0.1"),
        ({"WEFT_OFI_PROVIDER": "nosuch"}, weft.Unsupported, "WEFT_OFI_PROVIDER"),
        ({"WEFT_LIBFABRIC": "/nowhere/libfabric.so.1"}, weft.Unsupported, "WEFT_LIBFABRIC"),
        ({"WEFT_FABRIC": "nosuch"}, weft.InvalidArgument, "shm+ofi"),
    ],
    ids=["no_interface", "wrong_interface", "no_provider", "no_library", "no_fabric"],
)
def test_wrong_settings_are_named(env, error, word):
    with Hosts([0, 1]) as hosts, hosts.team(env) as team:
        team.start(come)
        outcomes = team.finish(timeout=20)
    for outcome in outcomes:
        assert isinstance(outcome.error, error), outcome.story()
        assert word in str(outcome.error)


def come_with_a_secret(job, secrets):
    os.environ["WEFT_SECRET"] = secrets[job.rank]
    weft._core.system_info()  # loads libfabric
    job.meet()
    with job.communicator(timeout=20) as comm:
        comm.barrier()


def test_a_secret_lets_in_who_knows_it():
    with Hosts([0, 1]) as hosts, hosts.team() as team:
        team.run(come_with_a_secret, ["one", "one"])
    with Hosts([0, 1]) as hosts, hosts.team() as team:
        team.start(come_with_a_secret, ["one", "two"])
        outcomes = team.finish(timeout=20)
    for rank, outcome in enumerate(outcomes):
        assert isinstance(outcome.error, weft.PeerLost), outcome.story()
        for part in (f"rank {1 - rank}", hosts.network.addresses[1 - rank]):
            assert part in str(outcome.error)
    # A rank that dials when the other has already refused it and left sees only that it is gone.
    causes = ["WEFT_SECRET" in str(outcome.error) for outcome in outcomes]
    assert any(causes)
    for knows, outcome in zip(causes, outcomes, strict=True):
        assert knows or re.search(r"is gone|connection was cut", str(outcome.error))
