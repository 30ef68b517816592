"""Ranks whose hosts have two interfaces each, and use both (`WEFT_INTERFACE=eth0,eth1`)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import weft

from network import Hosts, obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

LONG = 8 << 20


def sent():
    """Bytes that this host's cards have sent, by name."""
    rows = [line.split() for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]]
    return {row[0].rstrip(":"): int(row[9]) for row in rows}


def allreduce(job):
    """What each card sent meanwhile."""
    with job.communicator(timeout=30) as comm:
        x = np.arange(LONG // 4, dtype="float32") % 89
        before = sent()
        np.testing.assert_array_equal(
            comm.allreduce(x + job.rank), x * job.size + sum(range(job.size))
        )
        comm.barrier()  # the peer has it all: so it was sent
        return {card: bytes_ - before[card] for card, bytes_ in sent().items()}


@pytest.mark.parametrize("rails", [["eth0"], ["eth1"], ["eth0", "eth1"]], ids="+".join)
def test_rails_share_what_is_sent(rails):
    with (
        Hosts([0, 1], rate="1gbit", rails=2) as hosts,
        hosts.team({"WEFT_INTERFACE": ",".join(rails)}) as team,
    ):
        for carried in team.run(allreduce):
            assert sum(carried[card] for card in rails) > LONG
            for card in ("eth0", "eth1"):
                share = carried[card] / LONG
                assert abs(share - (card in rails) / len(rails)) < 0.15, carried


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
