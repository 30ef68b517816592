"""Ranks in containers of one kernel: processes, IPC, mounts, users and networks of their own.

Sharing memory takes one network namespace and one user; nothing else that a container has apart
stands in its way. Where there are two networks ranks talk as hosts do.
"""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import weft

from launch import Team
from network import Network, obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

LONG = 1 << 18
INNER = ["unshare", "--mount", "--ipc", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
OWN_SHM = ["sh", "-c", 'mount -t tmpfs none /dev/shm; exec "$@"', "sh"]

# What starts rank 0 and rank 1, on one network.
CONTAINERS = {
    "two_containers": [INNER, INNER],
    "own_dev_shm": [[*INNER, *OWN_SHM], [*INNER, *OWN_SHM]],
    "foreign_proc": [["unshare", "--pid", "--fork", "--kill-child"]] * 2,
    "one_container": [[], INNER],
    "users_apart": [["unshare", "--user", "--map-root-user"], []],
}


def exchange(job, fabric):
    with job.communicator(timeout=20, fabric=fabric) as comm:
        x = weft.empty(LONG, "float32")
        for n in (1, LONG):
            x[:n] = job.rank + 1
            assert comm.allreduce(x[:n], out=x[:n])[n - 1] == 3
            assert comm.allreduce(np.ones(n))[0] == 2
        for n in range(200):
            assert comm.allreduce(np.array([n]))[0] == 2 * n


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_on_one_network_share_memory(name):
    with Team(2, prefixes=CONTAINERS[name]) as team:
        team.run(exchange, "shm")


def test_containers_on_two_networks_talk_as_hosts():
    with Network(2) as network:
        prefixes = [[*network.prefix(host), *INNER] for host in (0, 1)]
        with Team(2, prefixes=prefixes) as team:
            team.run(exchange, "")


def forever(job):
    with job.communicator(timeout=30) as comm:
        comm.allreduce(np.ones(LONG))
        job.say("running")
        while True:
            comm.allreduce(np.ones(LONG))


def test_killed_container_is_noticed_within_a_second():
    with Team(2, prefixes=[INNER, INNER]) as team:
        team.start(forever)
        assert [team.hear(rank) for rank in (0, 1)] == ["running", "running"]
        killed = time.monotonic()
        team.kill(1, signal.SIGKILL)
        (outcome,) = team.finish(timeout=10, ranks=[0])
        assert time.monotonic() - killed < 1.0
    assert isinstance(outcome.error, weft.PeerLost), outcome.story()
    assert "rank 1 is lost" in str(outcome.error)
