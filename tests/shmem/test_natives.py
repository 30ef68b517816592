"""OpenSHMEM's own collectives, run by Weft, give what Weft's give."""

from __future__ import annotations

from pathlib import Path

import pytest
from oshrun import WAYS, needs_oshrun, start

RANK = str(Path(__file__).with_name("native_rank.py"))

PARTS = ("pairs", "several", "crossed", "obstacles", "late")

pytestmark = needs_oshrun


@pytest.mark.parametrize(
    ("part", "ranks", "way"),
    [
        *[("table", ranks, "loads") for ranks in (1, 2, 3, 5)],
        *[(part, 4, way) for part in PARTS for way in WAYS],
        ("table", 3, "puts"),
    ],
)
def test_natives(part, ranks, way, tmp_path):
    code, output = start(RANK, (part,), ranks, WEFT_RENDEZVOUS=str(tmp_path), UCX_TLS=WAYS[way])
    assert (code, output.count(": ok")) == (0, ranks), output
