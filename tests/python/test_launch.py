"""The launcher's own promises: values, failures, deadlines, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import leftovers
import pytest

from launch import LeftBehind, RankFailed, Team, outcomes, run


def multiply(job, factor):
    assert os.environ["RANK"] == str(job.rank)
    assert os.environ["WORLD_SIZE"] == str(job.size)
    return job.rank * factor


def raise_on_one(job):
    if job.rank == 1:
        raise ValueError("on purpose")
    return "fine"


def hang(job):
    job.say("here")
    signal.pause()


def leave_child(job):
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])


def leave_fork(job):
    if os.fork() == 0:
        signal.pause()


def leave_file(job):
    tempfile.mkstemp(prefix="left")


def leave_shared_memory(job, directory):
    Path(directory, "segment").write_bytes(b"x")


def leave_hanging_thread(job):
    import threading

    threading.Thread(target=threading.Event().wait).start()


def test_values_by_rank():
    assert run(multiply, 3, 10) == [0, 10, 20]


def test_team_serves_many_calls():
    with Team(2) as team:
        assert [team.run(multiply, factor) for factor in (1, 2)] == [[0, 1], [0, 2]]


def test_failure_names_the_rank():
    with pytest.raises(RankFailed, match=r"rank 1: (?s:.*)ValueError: on purpose"):
        run(raise_on_one, 2)
    first, second = outcomes(raise_on_one, 2)
    assert first.value == "fine"
    assert isinstance(second.error, ValueError)


def test_killed_rank_is_an_outcome():
    with Team(2) as team:
        team.start(hang)
        assert [team.hear(rank) for rank in (0, 1)] == ["here", "here"]
        team.kill(0)
        team.kill(1, signal.SIGTERM)
        assert [o.exit_code for o in team.finish(10)] == [-signal.SIGKILL, -signal.SIGTERM]


def test_deadline_prints_stacks_and_kills(capfd):
    with Team(1) as team:
        team.start(hang)
        team.hear(0)
        assert team.finish(timeout=0.01)[0].timed_out
    assert "in hang" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "complaint", "timeout"),
    [
        # A rank that leaves is given time for it: on busy cores a second may not do.
        (leave_child, "still lives", 20),
        (leave_fork, "still lives", 20),
        (leave_file, "left in TMPDIR", 20),
        (leave_hanging_thread, "did not leave", 1),
    ],
)
def test_leftovers_are_found(body, complaint, timeout):
    team = Team(1)
    team.run(body)
    with pytest.raises(LeftBehind, match=complaint):
        team.close(timeout)


def test_shared_memory_left_is_found(tmp_path, monkeypatch):
    # In /dev/shm itself, the teams of tests that run beside this one would find it, too.
    assert Path("/dev/shm") == leftovers.SHARED_MEMORY
    monkeypatch.setattr(leftovers, "SHARED_MEMORY", tmp_path)
    team = Team(1)
    team.run(leave_shared_memory, tmp_path)
    with pytest.raises(LeftBehind, match="/segment is left"):
        team.close()


def test_leftovers_of_a_call_are_found_once():
    with Team(1) as team:
        team.check_clean()
        team.run(leave_file)
        with pytest.raises(LeftBehind, match="left in TMPDIR"):
            team.check_clean()
        team.check_clean()


def parent_and_modules(job):
    return os.getppid(), "weft" in sys.modules, os.environ.get("FI_LOG_LEVEL")


@pytest.mark.parametrize("env", [{}, {"FI_LOG_LEVEL": "warn"}])
def test_ranks_are_children_with_the_asked_environment(env):
    """A variable that a library may read when it is loaded has to be there from the start."""
    with Team(2, env) as team:
        expected = (os.getpid(), not env, env.get("FI_LOG_LEVEL"))
        assert team.run(parent_and_modules) == [expected] * 2


def set_and_delete(job):
    seen = os.environ.get("WEFT_ISA"), os.environ["RANK"]
    os.environ["WEFT_ISA"] = "7"
    os.environ["RANK"] = "11"
    return seen


def test_settings_end_with_their_call():
    with Team(1) as team:
        for _ in range(2):
            assert team.run(set_and_delete) == [(None, "0")]
