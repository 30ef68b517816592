"""weft.price and `weft price`: the same figures, and what is refused."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import weft
from weft.cli import main
from weft.topology import Wire, flat

M = 32 << 20


def test_price_is_the_formula():
    t = flat(16, Wire(latency=1e-6, bandwidth=10e9))  # two links from rank to rank
    found = weft.price("allreduce/rabenseifner", t, nbytes=M, chunk=M)
    assert found.seconds == pytest.approx(2 * 4 * 2e-6 + 2 * 15 / 16 * M / 10e9, rel=0.01)
    assert (found.messages, found.depth, found.chunk) == (16 * 8, 8, M)
    assert found.bytes == pytest.approx(16 * 2 * 15 / 16 * M)
    plan = weft.plan.make_plan("allreduce/rabenseifner", 16)
    assert weft.price(plan, t, nbytes=M, chunk=M).seconds == found.seconds
    assert weft.price("allreduce/ring", t, nbytes=M).seconds > found.seconds


def test_two_levels_beat_the_ring_on_tsubame3():
    ring = weft.price("allreduce/ring", "tsubame3", ranks=64, nbytes=M)
    levels = weft.price("allreduce/two_level", "tsubame3", ranks=64, nbytes=M, params={"node": 4})
    assert levels.seconds < ring.seconds
    assert "leaf" in ring.busiest


def test_command_says_the_same(tmp_path):
    file = tmp_path / "price.json"
    command = ["price", "knomial", "--param", "radix=4", "--topology", "rx1", "--bytes", "1M",
               "--ranks", "32", "--chunk", "64K", "--json", str(file)]  # fmt: skip
    assert CliRunner().invoke(main, command).exit_code == 0
    known = json.loads(file.read_text())
    found = weft.price(
        "knomial", "rx1", ranks=32, nbytes=1 << 20, chunk=64 << 10, params={"radix": 4}
    )
    assert known["seconds"] == found.seconds
    assert (known["ranks"], known["nbytes"], known["chunk"]) == (32, 1 << 20, 64 << 10)
    text = CliRunner().invoke(main, command[:-2]).output
    assert f"{found.seconds * 1e6:.6g} us" in text
    assert found.busiest in text


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["allreduce/ring", "--topology", "rx2", "--bytes", "1M", "--ranks", "99"], 1, "16 ranks"),
        (["allreduce/ring", "--topology", "rx9", "--bytes", "1M"], 1, "neither a file"),
        (["ringg", "--topology", "rx2", "--bytes", "1M"], 1, "no algorithm"),
        (
            ["knomial", "--topology", "rx2", "--bytes", "1M", "--param", "radix"],
            2,
            "such as node=4",
        ),
        (["allreduce/ring", "--topology", "rx2", "--bytes", "big"], 2, "not a size"),
    ],
)
def test_refused(arguments, status, why):
    result = CliRunner().invoke(main, ["price", *arguments])
    assert result.exit_code == status
    assert why in result.output
