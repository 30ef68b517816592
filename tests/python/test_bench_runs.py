"""How `weft bench` runs libraries: rounds, pooled samples, and what a failing library leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.bench.bursts import measure
from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import PEERS, Launch, Library, limit, weft_library
from weft.bench.processes import BurstFailed, burst

CASES = [Case.sized("allreduce", size, 2, "float32") for size in (8, 65536)]


def shell(text, ranks=2):
    """A library whose ranks are shell scripts; $1 is the job's directory, $2 the rank."""
    commands = lambda directory: [  # noqa: E731
        ["sh", "-c", text, "sh", str(directory), str(rank)] for rank in range(ranks)
    ]
    return Library("shell", "none", lambda ranks, directory: Launch(commands(directory), {}))


def samples(*lines):
    return f"printf '%s\\n' {' '.join(repr(line) for line in lines)} > $1/samples.$2"


# In the environment of all that these tests start: other bursts may run beside them.
OURS = f"BURSTS_OF={os.getpid()}"


@pytest.fixture(autouse=True)
def mark_as_ours(monkeypatch):
    monkeypatch.setenv(*OURS.split("="))


def marked():
    """Processes of any burst of these tests that are alive."""
    found, wanted = [], (b"WEFT_BENCH_BURST=", OURS.encode())
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
                if all(one in environment for one in wanted):
                    found.append(int(folder.name))
            except OSError:
                pass
    return found


def test_rounds_take_turns_and_pool_samples():
    heard = []
    measured = measure(
        CASES, [weft_library("core"), limit()], 3, 1.0, 6, lambda *told: heard.append(told)
    )
    assert heard == [(name, turn, 6) for turn, name in enumerate(["weft", "limit"] * 3)]
    for library in measured:
        for rank in library:
            assert [len(one.seconds) for one in rank] == [6, 6]
            assert all(one.correct for one in rank)


def test_a_round_has_at_least_a_sample():
    heard = []
    measure(CASES[:1], [limit()], 5, 1.0, 2, lambda *told: heard.append(told))
    assert len(heard) == 2


def test_a_wrong_result_in_one_round_is_remembered(tmp_path):
    once = tmp_path / "first"
    script = (
        f"[ -e {once}$2 ] && right=1 || right=0; touch {once}$2; "
        'printf "0 $right - apart=0 0.5\\n" > $1/samples.$2'
    )
    (of_shell,) = measure(CASES[:1], [shell(script)], 2, 1.0, 2, lambda *told: None)
    assert [one.correct for rank in of_shell for one in rank] == [False, False]
    assert [one.seconds for rank in of_shell for one in rank] == [[0.5, 0.5]] * 2


# What a rank does, and what is said of it.
FAILURES = {
    "is of another version": (
        "printf '0 1 - 2.5e-7 3e-7\\n' > $1/samples.$2", "another version of Weft.*make peers"
    ),
    "exits": ("echo no luck; exit 3", r"exited with 3\n    no luck"),
    "dies": ('[ $2 = 1 ] && kill -9 $$; sleep 1000', "rank 1: its process was killed by SIGKILL"),
    "leaves a child": ("sleep 1000 & exit 1", "exited with 1"),
}  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_library_is_named_and_leaves_nothing(failure, tmp_path, monkeypatch):
    script, why = FAILURES[failure]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(BurstFailed, match=f"^shell: .*{why}"):
        burst(shell(script), Job(CASES, 0.1, None))
    assert not marked()
    assert not list(tmp_path.iterdir())


def test_a_child_that_a_finished_library_leaves_is_ended():
    script = samples("0 1 - apart=0 0.5") + "; setsid sleep 1000 & exit 0"
    burst(shell(script), Job(CASES[:1], 0.1, 1))
    assert not marked()


def test_a_program_that_is_not_there():
    absent = Library("absent", "none", lambda ranks, directory: Launch([["/no/such/program"]], {}))
    with pytest.raises(BurstFailed, match="cannot start /no/such/program"):
        burst(absent, Job(CASES, 0.1, None))


def test_a_peer_that_is_not_set_up_names_the_remedy(tmp_path):
    command = [sys.executable, "-m", "weft", "bench", "allreduce", "--peers", "mpich"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode == 1
    assert "make peers" in done.stderr


@pytest.mark.parametrize("collective", ["allreduce", "broadcast", "alltoall", "allgather"])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", [name for name in PEERS if name != "gloo"])
def test_peers_give_right_results(name, ranks, collective):
    if why := PEERS[name].missing():
        pytest.skip(why)
    case = Case.sized(collective, 4096, ranks, "float32")
    for (one,) in burst(PEERS[name], Job([case], 0.1, 2)):
        assert one.correct
        assert len(one.seconds) == 2


LIBRARIES = {"weft": weft_library("core"), "weft, torch": weft_library("torch")} | PEERS


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("name", [name for name in LIBRARIES if name != "oneccl"])
def test_allreduces_in_parts_give_right_results(name, together):
    if why := LIBRARIES[name].missing():
        pytest.skip(why)
    case = Case("allreduce", 31_001, 2, "float32", parts=(1000, 1, 30_000), together=together)
    for (one,) in burst(LIBRARIES[name], Job([case], 0.1, 3)):
        assert one.correct
        assert len(one.seconds) == 3


def test_parts_that_do_not_add_up_are_refused():
    case = Case("allreduce", 100, 2, "float32", parts=(50, 49))
    with pytest.raises(BurstFailed, match="is not understood at 'case'"):
        burst(weft_library("core"), Job([case], 0.1, 3))


@pytest.mark.parametrize("symmetric", [False, True])
def test_a_long_operation_has_more_than_its_first_samples(symmetric):
    case = Case.sized("broadcast", 4 << 20, 2, "float32", symmetric=symmetric)
    for rank in burst(weft_library("core"), Job([case], 1e-4, None)):
        assert rank[0].correct
        assert len(rank[0].seconds) >= 5


@pytest.mark.parametrize(
    "collective", ["allreduce", "broadcast", "alltoall", "allgather", "reduce_scatter"]
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_the_limit_gives_right_results(ranks, collective):
    cases = [Case.sized(collective, size, ranks, "float32") for size in (8, 4096, 300_000)]
    for rank in burst(limit(), Job(cases, 0.1, 3)):
        assert all(one.correct for one in rank)


def test_json_has_a_row_for_each_library_and_size():
    command = [sys.executable, "-m", "weft", "bench", "allreduce", "--sizes", "8,4K", "--limit",
               "--iterations", "2", "--json", "-"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["bytes"], row["library"], row["api"]) for row in found] == [
        (8, "weft", "core"), (8, "limit", "memory"), (4096, "weft", "core"),
        (4096, "limit", "memory"),
    ]  # fmt: skip
