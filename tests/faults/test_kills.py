"""A few ranks killed at random moments; `make test-faults` kills a thousand."""

from __future__ import annotations

import pytest

import kills
from calls import TABLE
from network import obstacle

REASON = obstacle()
HOSTS = pytest.mark.skipif(bool(REASON), reason=REASON)
PLACES = [
    pytest.param(kills.shared_memory, id="shm"),
    pytest.param(kills.two_hosts, id="two_hosts", marks=HOSTS),
]


@pytest.mark.parametrize("where", PLACES)
def test_what_the_others_see(where):
    with where() as place:
        for case in kills.cases(range(2 * len(TABLE)), place):
            row = kills.one_kill(place, case)
            assert row["outcome"] == "typed", f"{row['text']}\n{row}"
