"""What all Python tests share: `launch` is importable, and teams of ranks serve whole tables."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from launch import Team


@pytest.fixture(scope="module")
def team():
    """`team(3)`: a Team of three ranks that lives as long as the test module."""
    teams: dict[int, Team] = {}

    def of(ranks: int) -> Team:
        if ranks in teams and teams[ranks].broken:
            teams.pop(ranks).close()
        if ranks not in teams:
            teams[ranks] = Team(ranks)
        return teams[ranks]

    yield of
    for made in teams.values():
        made.close()
