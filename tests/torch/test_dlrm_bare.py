"""What docs/results/dlrm.md compares with: a step's computation, and its bytes over plain TCP."""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch.distributed as dist

from network import obstacle

RESULTS = Path(__file__).resolve().parents[2] / "scripts" / "results"
sys.path[:0] = [str(RESULTS), str(RESULTS / "ranks")]

from bare_tcp import BareTcp  # noqa: E402
from dlrm_pages import cases, figures  # noqa: E402


@pytest.fixture
def pair():
    store = dist.HashStore()
    with ThreadPoolExecutor(2) as pool:
        ends = [pool.submit(BareTcp, store, "127.0.0.1", rank, 1 - rank, 3_000_001)
                for rank in range(2)]  # fmt: skip
        return [end.result(timeout=20) for end in ends]


def test_all_bytes_go_both_ways(pair):
    for _ in range(3):
        for end in pair:
            end.received[:] = bytes(len(end.received))
            end.start()
        for end, other in zip(pair, (2, 1), strict=True):
            end.wait()
            assert end.received == bytes([other]) * 3_000_001


def test_who_is_first_waits(pair):
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(pair[0].meet)
        with pytest.raises(concurrent.futures.TimeoutError):
            first.result(timeout=0.2)
        pair[1].meet()
        first.result(timeout=20)


def test_a_partner_that_goes_is_an_error_and_no_wait(pair):
    pair[0].start()
    threading.Timer(0.2, pair[1].close).start()
    with pytest.raises(OSError, match=r"partner|reset|pipe"):
        pair[0].wait()


@pytest.mark.parametrize(("place", "kind"), [("2 x 1", "overlapping"), ("2 x 2", "blocking")])
def test_the_wire_has_a_steps_bytes(place, kind):
    if why := obstacle():
        pytest.skip(why)
    from dlrm_pages.measure import trained

    turn = cases.turn("mlperf", (place, "10 Gbit/s"), cases.BARE, "float32", kind)
    row = {"turn": turn, **trained(turn, cases.TRIAL)}
    payload = row["gradient_bytes"] + figures.alltoall_bytes(row)[1]
    # Each frame's head is 66 bytes on 1448. What earlier steps still send counts, too.
    assert 1.045 * payload <= figures.wire_bytes([row], turn) <= 1.25 * payload
    assert figures.parts([row], turn)["compute"] > 0
