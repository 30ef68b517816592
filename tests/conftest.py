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


# They serve all modules: to import torch takes each rank two seconds of a core.
@pytest.fixture(scope="session")
def _teams():
    teams: dict[int, Team] = {}
    with contextlib.ExitStack() as closing:

        def of(ranks: int) -> Team:
            if ranks not in teams or teams[ranks].broken:
                teams[ranks] = Team(ranks)
                closing.callback(teams[ranks].close)
            return teams[ranks]

        yield of


@pytest.fixture(scope="module")
def team(_teams):
    """`team(3)`: a Team of three ranks. At the end of a test module it has to have left nothing."""
    used: set[Team] = set()

    def of(ranks: int) -> Team:
        used.add(_teams(ranks))
        return _teams(ranks)

    yield of
    for one in used:
        one.check_clean()
