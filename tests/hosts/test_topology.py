"""Ranks on several hosts tell what joins them."""

from __future__ import annotations

import os

import pytest

import weft

from network import Hosts, obstacle

REASON = obstacle()
pytestmark = [
    pytest.mark.skipif(bool(REASON), reason=REASON),
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="two ranks need two cores"),
]
# Of 1 Gbit/s, 0.117e9 bytes/s are left for payload. More than half of that on busy cores, too.
LEAST = 0.07e9


def tell(job):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[job.rank]})
    with job.communicator(timeout=20) as comm:
        return weft.topology.text_of(comm.topology())


def narrowest(t):
    """Bytes a second of the narrowest link between the ranks."""
    (way,) = t.paths([(0, 1)])
    return min(t.links[link].bandwidth for link, _ in way)


def test_hosts_and_their_links(tmp_path):
    with Hosts([0, 1], rate="1gbit") as hosts:
        for _ in range(10):
            with hosts.team() as team:
                first, second = team.run(tell)
            assert first == second
            (tmp_path / "job.yaml").write_text(first)
            t = weft.topology.load(tmp_path / "job.yaml")
            if narrowest(t) > LEAST:  # busy cores send less, for as long as they are busy
                break
    assert [t.vertices[rank].node for rank in t.ranks] == [0, 1]
    assert t.latencies(0)[1] > 1e-6
    assert LEAST < narrowest(t) < 0.13e9
    assert weft.fit("allreduce/two_level", t) == {"node": 1}
