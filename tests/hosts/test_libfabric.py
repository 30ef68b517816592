"""A newer libfabric than the system's: the one that MPICH's package brings along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from weft import _core

from network import Hosts, obstacle

NEWER = Path(__file__).parents[2] / "build/peers/mpich/venv/lib/mpich/libfabric.so.1"
REASON = obstacle() or ("" if NEWER.exists() else f"{NEWER} is not there: make peers")
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

# Within a packet's body, with its packet, and written to its place.
COUNTS = [1, 100, 10_000, 65_536, 1_000_003]


def allreduce(job):
    """What serves, by `weft info`."""
    with job.communicator(timeout=30) as comm:
        for count in COUNTS:
            x = np.arange(count, dtype="float32") % 97
            for algorithm in (None, "allreduce/one_shot(chunk=1M)"):
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
