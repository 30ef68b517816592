"""weft.price and `weft price`: the same figures, and what is refused."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import weft
from weft.cli import main
from weft.topology import Wire, flat, load, placed

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


def test_what_the_topology_answers_is_shown():
    assert weft.fit("lr_lr", "tsubame3", ranks=64) == {"node": 4}
    assert weft.fit("lr_lr", "tsubame3", ranks=64, params={"node": 2}) == {}
    command = ["price", "lr_lr", "--topology", "tsubame3", "--ranks", "8", "--bytes", "1M"]
    assert "of the topology: node=4\n" in CliRunner().invoke(main, command).output
    known = json.loads(CliRunner().invoke(main, [*command, "--json", "-"]).output)
    assert (known["fitted"], known["params"]) == ({"node": 4}, {})
    command = ["price", "ta_pc", "--topology", "rx1", "--bytes", "1M"]
    assert "tree=[64," in CliRunner().invoke(main, command).output


def test_a_walk_of_the_topology_survives_a_bad_placement():
    def seconds(algorithm, placement):
        command = ["price", algorithm, "--topology", "rx1", "--ranks", "16", "--bytes", "16M",
                   "--placement", placement, "--json", "-"]  # fmt: skip
        return json.loads(CliRunner().invoke(main, command).output)["seconds"]

    good = seconds("pc", "natural")
    assert seconds("ta_pc", "natural") == good
    assert seconds("ta_pc", "scattered") < 1.1 * good
    assert seconds("pc", "scattered") > 2 * good
    assert seconds("pc", ",".join(map(str, range(16)))) == good


def test_places():
    t = load("rx1")
    natural = t.ranks
    assert placed(t, "natural").ranks == natural
    moved = placed(t, "scattered", ranks=6).ranks
    assert [natural.index(v) for v in moved[:6]] == [0, 4, 2, 1, 5, 3]
    assert moved[6:] == natural[6:]
    assert placed(t, [1, 0], ranks=2).ranks == [natural[1], natural[0], *natural[2:]]
    assert t.ranks == natural
    for wrong in ("backwards", [0, 0], [0]):
        with pytest.raises(weft.InvalidArgument):
            placed(t, wrong, ranks=2)
    with pytest.raises(weft.InvalidArgument, match="64 ranks, not 65"):
        placed(t, "natural", ranks=65)


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
        (["pc", "--topology", "rx2", "--bytes", "1M", "--placement", "bad"], 2, "natural, scat"),
        (["pc", "--topology", "rx2", "--bytes", "1M", "--placement", "0,0"], 1, "each place"),
    ],
)
def test_refused(arguments, status, why):
    result = CliRunner().invoke(main, ["price", *arguments])
    assert result.exit_code == status
    assert why in result.output
