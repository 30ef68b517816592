"""What all Python tests share: teams of ranks serve whole tables."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from launch import Team

os.environ["WEFT_TUNING"] = "none"  # what was measured for this user decides no test
# Ranks inherit that it is ignored, as a shell without job control leaves it to what runs behind.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """A file's tests run in one process, and so do all those of MPI's jobs (`left_behind.py`)."""
    for item in items:
        jobs = item.path.parent.name in ("mpi", "shmem")
        item.add_marker(pytest.mark.xdist_group("jobs" if jobs else str(item.path)))


# They serve all modules: to import torch takes each rank two seconds of a core.
@pytest.fixture(scope="session")
def _teams():
    teams: dict[int, Team] = {}
    yield teams
    with contextlib.ExitStack() as closing:
        for one in teams.values():
            closing.callback(one.close)


@pytest.fixture(scope="module")
def team(_teams):
    """`team(3)`: a Team of three ranks. At the end of a test module it has to have left nothing."""
    used: list[Team] = []

    def of(ranks: int) -> Team:
        one = _teams.get(ranks)
        if one is None or one.broken:
            one = _teams[ranks] = Team(ranks)
        if one not in used:
            one.take_stock()
            used.append(one)
        return one

    yield of
    with contextlib.ExitStack() as closing:
        for one in used:
            if one.broken or one.busy:
                closing.callback(one.close)
                if _teams.get(one.ranks) is one:
                    del _teams[one.ranks]
            else:
                closing.callback(one.check_clean)
