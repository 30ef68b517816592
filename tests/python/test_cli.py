"""The command `weft`: help with an example, JSON, and no process left however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from weft.cli import main
from weft.traits import TRAITS

KEYS = [
    "collective", "library", "algorithm", "bytes", "ranks", "dtype", "api", "symmetric",
    "median_us", "p99_us", "min_us", "algbw_GBps", "busbw_GBps", "correct",
    "processor",
]  # fmt: skip


def weft(*arguments):
    return [sys.executable, "-m", "weft", *arguments]


def test_the_help_of_weft_itself_has_examples():
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "Examples:\n" in result.output
    assert "weft bench allreduce" in result.output


@pytest.mark.parametrize("command", sorted(main.commands))
def test_help_has_an_example(command):
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"weft {command}" in result.output
    assert "--json" in result.output


def test_info():
    result = CliRunner().invoke(main, ["info", "--json"])
    known = json.loads(result.output)
    fabrics = {fabric["name"]: fabric for fabric in known["fabrics"]}
    assert fabrics["shm"]["available"]
    ofi = fabrics["ofi"]
    assert ("libfabric " if ofi["available"] else "because") in ofi["text"]
    for name in ("mpi", "shmem"):
        assert not fabrics[name]["available"]
        assert "because" in fabrics[name]["text"]
    assert known["affinity_processors"] == len(os.sched_getaffinity(0))
    assert 1 <= known["usable_cores"] <= known["affinity_processors"]
    assert not known["tuning"]["available"]
    wrong = CliRunner().invoke(main, ["info", "--json"], env={"WEFT_TUNING": "/nowhere"})
    assert json.loads(wrong.output)["tuning"]["text"] == "/nowhere: it cannot be read"
    text = CliRunner().invoke(main, ["info"]).output
    for word in (known["version"], "fabric shm", "cores", "huge pages", "PyTorch adapter"):
        assert word in text


@pytest.mark.parametrize("collective", TRAITS)
def test_bench_core(collective, tmp_path):
    file = tmp_path / "rows.jsonl"
    command = weft("bench", collective, "--ranks", "3", "--sizes", "8,64K", "--iterations", "2",
                   "--symmetric", "--json", str(file))  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(found) == (1 if collective == "barrier" else 2)
    for row in found:
        assert list(row) == KEYS
        assert row["correct"] is True
        assert (row["collective"], row["library"], row["ranks"]) == (collective, "weft", 3)
        assert 0 < row["min_us"] <= row["median_us"] <= row["p99_us"]
    assert collective in done.stdout


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "int16", "complex128", "bool"])
def test_bench_moves_every_width(dtype):
    command = weft("bench", "allgather", "--dtype", dtype, "--sizes", "64", "--iterations", "2",
                   "--json", "-")  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["correct"]


def test_bench_against_gloo_through_torch(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    from weft import _build_info

    if _build_info.TORCH_MISSING:
        pytest.skip(_build_info.TORCH_MISSING)
    command = weft("bench", "allreduce", "--sizes", "8,1M", "--iterations", "3", "--api", "torch",
                   "--rounds", "2", "--peers", "gloo", "--json", "-")  # fmt: skip
    if _has_matplotlib():
        command += ["--plot", str(tmp_path / "plot.png")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["library"], row["bytes"]) for row in found] == [
        ("weft", 8), ("gloo", 8), ("weft", 1 << 20), ("gloo", 1 << 20)
    ]  # fmt: skip
    assert all(row["correct"] for row in found)
    if _has_matplotlib():
        assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def _has_matplotlib():
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = CliRunner().invoke(main, ["bench", "allreduce", "--plot", "x.png"])
    assert result.exit_code == 1
    assert "weft[plot]" in result.output


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--sizes", "8,many"], "'many' is not a size"),
        (["--peers", "nccl"], "gloo"),
        (["--api", "torch", "--algorithm", "ring"], "needs --api core"),
        (["--ranks", "0"], "0"),
        (["--dtype", "float31"], "float31"),
    ],
)
def test_refused_options(arguments, why):
    result = CliRunner().invoke(main, ["bench", "allreduce", *arguments])
    assert result.exit_code == 2
    assert why in result.output


def test_failing_rank_is_reported():
    command = weft("bench", "allreduce", "--dtype", "float8_e5m2", "--iterations", "1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Unsupported: rank" in done.stderr
    assert "float8_e5m2" in done.stderr


def children(pid):
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# How the run is ended: signal to the parent or to a rank, exit status, what the parent says.
ENDINGS = {
    "ctrl-c": ("parent", signal.SIGINT, 130, "interrupted"),
    "rank killed": ("rank", signal.SIGKILL, 1, "its process was killed by SIGKILL"),
    "parent killed": ("parent", signal.SIGKILL, -signal.SIGKILL, ""),
    "parent terminated": ("parent", signal.SIGTERM, -signal.SIGTERM, ""),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_process_is_left(ending, tmp_path):
    whom, number, status, said = ENDINGS[ending]
    parent = subprocess.Popen(
        weft("bench", "allreduce", "--sizes", "8,1M", "--seconds", "100"),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    until(lambda: len(children(parent.pid)) == 2)
    ranks = children(parent.pid)
    until(lambda: any(path.is_dir() for path in tmp_path.glob("weft-bench-*/weft")))
    os.kill(parent.pid if whom == "parent" else ranks[1], number)
    _, errors = parent.communicate(timeout=30)
    assert parent.returncode == status
    assert said in errors
    until(lambda: not any(alive(pid) for pid in ranks))


def verify_json(*arguments):
    result = CliRunner().invoke(main, ["verify", *arguments, "--json", "-"])
    return result.exit_code, json.loads(result.stdout), result.stderr


def test_verify():
    code, found, _ = verify_json("lr", "--ranks", "1-3,8")
    assert (code, found["ok"]) == (0, True)
    assert [case["ranks"] for case in found["cases"]] == [1, 2, 3, 8]
    for case in found["cases"]:
        assert case["algorithm"] == "allreduce/ring"
        assert case["proved"]
        assert case["consistent"]
        assert case["scenarios"] > 0
    _, rooted, text = verify_json("broadcast/knomial", "--ranks", "5", "--param", "radix=3")
    assert [case["params"]["root"] for case in rooted["cases"]] == [0, 1, 2, 4]
    assert {case["params"]["radix"] for case in rooted["cases"]} == {3}
    assert "broadcast/knomial" in text


OWN = """
import weft

@weft.algorithm("allreduce/{name}", consistent={consistent})
def own(b):
    x, channel = b.input(), b.channel(slots=2)
    others = [(b.rank + i) % b.ranks for i in range(1, b.ranks)]
    with b.chunks():
        if others:
            b.copy(b.slot(channel), x)
            b.signal(others, channel, of=x)
        for rank in others:
            b.wait(rank, channel, of=x)
        b.reduce(b.output(), [x, *(b.slot(rank, channel) for rank in others)], last=True)
        for rank in others:
            if b.ranks != {forgets}:
                b.credit(rank, channel, of=x)
"""


@pytest.mark.parametrize(
    ("values", "code", "words"),
    [
        ({"name": "v1", "consistent": False, "forgets": 0}, 0, ("allreduce/v1", "may differ")),
        # Wrong where registration does not look: found because the command is asked to look there.
        ({"name": "v2", "consistent": False, "forgets": 6}, 1, ("for 6 ranks", "never credited")),
        ({"name": "v3", "consistent": True, "forgets": 0}, 1, ("claim on rank 1", "x1 + x2")),
        ({"name": "v4", "consistent": False, "forgets": 3}, 1, ("for 3 ranks", "never credited")),
    ],
)  # fmt: skip
def test_verify_own_file(tmp_path, values, code, words):
    file = tmp_path / "own.py"
    file.write_text(OWN.format(**values))
    result = CliRunner().invoke(main, ["verify", str(file), "--ranks", "2-7"])
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.output


def test_verify_counts_roundings_for_the_wire():
    words = ("--ranks", "4", "--param", "node=2", "--param")
    for name, roundings in (("allreduce/two_level", 2), ("reduce_scatter/two_level", 1)):
        for wire in (0, 1):
            _, found, _ = verify_json(name, *words, f"wire={wire}")
            assert found["cases"][0]["proved"]
            assert found["cases"][0]["narrowings"] == wire * roundings


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["rign"], 'no algorithm "rign"'),
        (["ring"], "allgather/ring"),
        (["missing.py"], "no file missing.py"),
        (["lr", "--ranks", "0-3"], "at least 1"),
        (["lr", "--ranks", "many"], "1-17"),
        (["allreduce/two_level", "--param", "nod=3"], "it has: node, place, wide, wire"),
        (["allreduce/tree_levels", "--ranks", "5", "--param", "node=2"], "does not divide"),
        (["lr", "--param", "node"], "node=4"),
        (["lr_rab", "--param", "outer=rab"], "outer = rab"),
        (["pc", "--ranks", "3", "--param", "order=[0,2]"], "name each rank"),
    ],
)
def test_verify_refuses(arguments, word):
    result = CliRunner().invoke(main, ["verify", *arguments])
    assert result.exit_code != 0
    assert word in result.output
    assert "Traceback" not in result.output


def test_verify_a_file_without_an_algorithm(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    result = CliRunner().invoke(main, ["verify", str(file)])
    assert result.exit_code == 2
    assert "registers no algorithm" in result.output
