"""Ranks whose hosts have two interfaces each, and use both (`WEFT_INTERFACE=eth0,eth1`)."""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import pytest

import weft

from network import Hosts, obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

LONG = 25 << 20


def allreduce(job, calls):
    """Seconds of the slowest rank's allreduce of LONG bytes, after one to warm up."""
    with job.communicator(timeout=30) as comm:
        x = np.arange(LONG // 4, dtype="float32") % 89
        wanted = x * job.size + sum(range(job.size))
        took = []
        for _ in range(calls + 1):
            comm.barrier()
            start = time.monotonic()
            total = comm.allreduce(x + job.rank)
            took.append(time.monotonic() - start)
            np.testing.assert_array_equal(total, wanted)
        return statistics.median(took[1:])


def seconds(interfaces):
    with (
        Hosts([0, 1], rate="1gbit", rails=2) as hosts,
        hosts.team({"WEFT_INTERFACE": interfaces}) as team,
    ):
        return max(team.run(allreduce, 3))


def test_two_rails_are_nearly_twice_as_fast():
    one, two = seconds("eth0"), seconds("eth0,eth1")
    # The wire's bound is 0.21 s by one rail.
    assert one > 0.19
    assert one > 1.7 * two, (one, two)


def come(job, interfaces):
    os.environ["WEFT_INTERFACE"] = interfaces[job.rank]
    job.communicator(timeout=10)


@pytest.mark.parametrize(
    ("interfaces", "word"),
    [
        (["eth0,eth1", "eth0"], "rails"),
        (["eth0,eth0", "eth0,eth0"], "twice"),
        (["eth0,eth7", "eth0,eth7"], "eth1 (10.78.0."),
    ],
    ids=["unequal", "twice", "no_such"],
)
def test_wrong_rails_are_named(interfaces, word):
    with Hosts([0, 1], rails=2) as hosts, hosts.team() as team:
        team.start(come, interfaces)
        outcomes = team.finish(timeout=20)
    for outcome in outcomes:
        assert isinstance(outcome.error, weft.Unsupported), outcome.story()
        assert word in str(outcome.error)
