"""Tuning: what is written, going on where it was; and what explain says of it."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from click.testing import CliRunner

import weft
from weft import _core
from weft.cli import main
from weft.tune.candidates import algorithms, with_chunks
from weft.tune.heat import Heat
from weft.tune.point import Point, Timed
from weft.tune.points import builtin, points_of
from weft.tune.table import Table, this_machine
from weft.tune.trial import Final, Outcome

from launch import run


def test_candidates_serve_the_ranks():
    names = algorithms("allreduce", 6, symmetric=False)
    assert "allreduce/two_level(node=2)" in names
    assert "allreduce/two_level(node=4)" not in names
    assert "allreduce/direct" not in names
    assert "allreduce/direct" in algorithms("allreduce", 6, symmetric=True)
    assert "broadcast/knomial(radix=4)" in algorithms("broadcast", 6, symmetric=False)
    assert "allreduce/two_shot(ahead=4)" in names
    assert "alltoall/two_level" not in algorithms("alltoall", 6, symmetric=True)
    assert with_chunks("x(a=1)", 32 << 10) == ["x(a=1,chunk=16K)"]
    # A built-in choice may have a chunk already.
    for text in ("x(chunk=1M)", "x(a=[0,1],chunk=1M)", "x(chunk=1M,a=[0,1])"):
        kept = "a=[0,1]," if "a=" in text else ""
        assert with_chunks(text, 32 << 10) == [f"x({kept}chunk=16K)"]


def test_a_point_has_all_sizes_where_ranks_may_see_different_ones():
    def sizes(collective, ranks):
        return [point.sizes for point in points_of([collective], [8, 1 << 20], ["ordinary"], ranks)]

    together, apart = [(8, 1 << 20)], [(8,), (1 << 20,)]
    assert sizes("scatter", [2]) == sizes("alltoall", [3]) == together
    assert sizes("alltoall", [2]) == sizes("allgather", [3]) == apart


def builtin_choices(job, points):
    return [builtin(Point(*point, (25 << 20,))) for point in points]


def test_the_built_in_choice_is_that_of_the_memory_and_the_nodes():
    points = [("reduce", 2, 1, True), ("reduce", 2, 1, False), ("broadcast", 16, 2, False)]
    # Another model of the machine may have other lengths.
    choices = run(builtin_choices, 1, points, env={"WEFT_MODEL": "zen5"})[0]
    assert choices[:2] == ["reduce/direct(chunk=1M)", "reduce/direct"]
    assert choices[2].startswith("broadcast/two_level(")


def ring_wins():
    """An outcome: 1 µs against 2 of the built-in choice, in each turn."""
    heat = Heat("allreduce/two_shot", {"allreduce/ring": (1e-6,), "allreduce/two_shot": (2e-6,)})
    slow, fast = [(Timed(2e-6, 2e-6),)] * 12, [(Timed(1e-6, 1e-6),)] * 12
    return Outcome("allreduce/two_shot", heat, Final("allreduce/ring", slow, fast, slow))


def test_rows_reach_halfway_to_the_next_size(tmp_path):
    table = Table(this_machine(), [{"collective": "barrier", "ranks": [2, 2], "bytes": [0, None],
                                    "use": "built-in"}])  # fmt: skip
    for size in (1 << 20, 64, 4096):
        point = Point("allreduce", 2, 1, False, (size,))
        table.add(point, ring_wins(), "measured")
    table.save(tmp_path / "t.json")
    again = Table.open(tmp_path / "t.json", this_machine(), fresh=False)
    assert [row["bytes"] for row in again.rows] == [
        [0, 512],
        [513, 65536],
        [65537, None],
        [0, None],
    ]
    assert again.has(Point("allreduce", 2, 1, False, (64,)), "predicted")
    assert not again.has(Point("allreduce", 2, 1, True, (64,)), "measured")
    with pytest.raises(weft.InvalidArgument, match="of another machine"):
        Table.open(tmp_path / "t.json", {"processor": "other", "cores": 1}, fresh=False)
    chosen = _core.select("allreduce", 2, 516, tuning=str(tmp_path / "t.json"))
    assert (str(chosen.choice), chosen.rule, chosen.row) == ("allreduce/ring", "table", 2)


def old_alltoall_row(ranks):
    """As it was written when one row was for all sizes, of two ranks as well."""
    times = [{"bytes": size, "us": {"alltoall/direct": 1.0}} for size in (8, 65536, 1 << 20)]
    return {"collective": "alltoall", "ranks": ranks, "nodes": [1, 1], "symmetric": False,
            "bytes": [0, None], "use": "built-in", "measured": times}  # fmt: skip


def test_rows_for_all_sizes_stay_where_calls_have_no_known_size():
    many, wide = old_alltoall_row([4, 4]), old_alltoall_row([2, None])
    table = Table(this_machine(), [old_alltoall_row([2, 2]), many, wide])
    for size in (1 << 20, 8):
        table.add(Point("alltoall", 2, 1, False, (size,)), ring_wins(), "measured")
    limits = {(*row["ranks"], *row["bytes"]) for row in table.rows}
    halfway = 2896
    assert limits == {(2, 2, 0, halfway), (2, 2, halfway + 1, None), (4, 4, 0, None),
                      (2, None, 0, None)}  # fmt: skip


def command(*words):
    """In a process of its own: other tests add algorithms of theirs to this one."""
    words = [sys.executable, "-m", "weft", *map(str, words)]
    result = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A file that was tuned here, in two goes."""
    file = tmp_path_factory.mktemp("tune") / "tuning.json"
    options = ("--ranks", "2", "--memory", "ordinary", "--output", file)
    command("tune", "--collectives", "allreduce", "--bytes", "8,32K", *options)
    found = command("tune", "--collectives", "allreduce,scatter", "--bytes", "8,32K", *options,
                    "--json", "-")  # fmt: skip
    (point, all_of_them) = map(json.loads, found.splitlines())
    assert point["collective"] == "scatter"  # the rest was there
    return file, point, all_of_them["judgement"]


def test_tune_measures_here(tuned):
    rows = json.loads(tuned[0].read_text())["rows"]
    assert [(row["collective"], row["bytes"]) for row in rows] == [
        ("allreduce", [0, 512]), ("allreduce", [513, None]), ("scatter", [0, None]),
    ]  # fmt: skip
    for row in rows:
        for one in row["measured"]:
            assert all(0 < us < 1e6 for us in one["us"].values())
        # What is written is the quickest that is listed, over all sizes of the row.
        listed = {
            name: math.prod(one["us"][name] for one in row["measured"])
            for name in row["measured"][0]["us"]
        }
        assert row["use"] in ("built-in", min(listed, key=listed.__getitem__))
    assert "allreduce/one_shot" in rows[0]["measured"][0]["us"]


def test_tune_judges_the_defaults(tuned):
    _, point, judgement = tuned
    assert judgement["calls"] == 1
    assert judgement["worth"] == (point["use"] != point["built_in"])
    assert judgement["worst_regret"] == judgement["median_regret"] == point["regret"] >= 1
    assert judgement["worst"] == "scatter all, 2 ranks, ordinary"
    whys = {one["candidate"]: one["why"] for one in point["candidates"]}
    assert whys[point["use"]] == "used"
    assert all(whys.values())
    if point["ratios"]:
        assert len(point["ratios"]) == 2 * len(point["default_against_itself"]) == 24
        assert point["noise"] >= 1


def test_explain_shows_what_was_measured(tuned):
    words = ("explain", "allreduce", "--bytes", "40K", "--tuning", tuned[0])
    known = json.loads(command(*words, "--topology", "rx3", "--ranks", 2, "--json", "-"))
    assert (known["measured_at"], known["row"], known["ranks"]) == (32 << 10, 2, 2)
    first = known["candidates"][0]
    assert first["measured_us"] == min(c.get("measured_us", 1e9) for c in known["candidates"])
    assert all("predicted_us" in candidate for candidate in known["candidates"])
    assert [c["candidate"] for c in known["candidates"] if c["chosen"]] == [known["chosen"]]
    text = command(*words)
    assert "row 2 of" in text
    assert "<- runs" in text
    named = command(*words, "--algorithm", "ring(chunk=4K)")
    assert "allreduce/ring(chunk=4K)" in named
    assert "the call names it" in named
    other = command("explain", "reduce_scatter", "--bytes", "1M", "--ranks", 64, "--reproducible",
                    "--tuning", tuned[0])  # fmt: skip
    assert "fewest bytes a rank" in " ".join(other.split())
    assert "adds up in an order of its own" in other


def test_explain_says_why_others_are_no_candidates():
    def unsuitable(collective):
        words = ("explain", collective, "--bytes", "64K", "--ranks", 6, "--tuning", "none")
        return json.loads(command(*words, "--json", "-"))["unsuitable"]

    assert "alltoall/two_level: serves equal counts only: name it in the call" in (
        unsuitable("alltoall")
    )
    assert "allreduce/direct: reaches into peers' memory, which has to be symmetric" in (
        unsuitable("allreduce")
    )


def test_a_topology_is_priced_where_nothing_was_measured(tmp_path):
    file = tmp_path / "rx1.json"
    command("tune", "--topology", "rx1", "--ranks", 16, "--collectives", "broadcast", "--bytes",
            "8,16M", "--memory", "ordinary", "--output", file)  # fmt: skip
    rows = json.loads(file.read_text())["rows"]
    assert [row["nodes"] for row in rows] == [[2, 2], [2, 2]]
    large = rows[1]["predicted"][0]["us"]
    assert "broadcast/two_level(node=8)" in large  # a communicator does not know the topology
    assert large[rows[1]["use"]] < 0.97 * large["broadcast/one_shot"]
    known = json.loads(command("explain", "broadcast", "--bytes", "16M", "--ranks", 16,
                               "--topology", "rx1", "--tuning", file, "--json", "-"))  # fmt: skip
    assert known["chosen"] == rows[1]["use"]
    assert "by the cost model" in known["reason"]


def test_only_what_crosses_in_bf16_is_a_candidate_there():
    words = ("explain", "allreduce", "--bytes", "25M", "--ranks", 16, "--topology", "rx1")
    known = json.loads(command(*words, "--wire", "bf16", "--tuning", "none", "--json", "-"))
    assert known["chosen"] == "allreduce/two_level(node=8,wire=1,chunk=512K)"
    assert all("wire=1" in candidate["candidate"] for candidate in known["candidates"])
    assert "allreduce/ring: sends float32 as it is" in known["unsuitable"]
    whole = json.loads(command(*words, "--tuning", "none", "--json", "-"))
    price = {one["candidate"]: one["predicted_us"] for one in whole["candidates"]}
    narrow = next(one for one in known["candidates"] if one["chosen"])
    assert narrow["predicted_us"] < 0.9 * price["allreduce/two_level(node=8)"]


def test_what_is_wrong_is_said(tmp_path):
    (tmp_path / "old.json").write_text('{"weft_tuning": 0}')
    for words in (("explain", "allreduce", "--bytes", "8", "--tuning", tmp_path / "old.json"),
                  ("tune", "--output", tmp_path / "old.json")):  # fmt: skip
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 1
        assert "version 0, but Weft reads version 1" in " ".join(result.output.split())
