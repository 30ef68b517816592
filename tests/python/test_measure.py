"""`weft topology --measure`: what it writes can be read, priced, and is no nonsense."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

import weft
from weft.cli import main

CORES = len(os.sched_getaffinity(0))


def run(*words):
    return CliRunner().invoke(main, ["topology", *words])


@pytest.mark.skipif(CORES < 2, reason="two ranks need two cores")
def test_measured_file_is_a_topology(tmp_path):
    file = tmp_path / "here.yaml"
    found = run("--measure", "--ranks", "2", "--rounds", "2", "--output", str(file), "--json")
    assert found.exit_code == 0, found.output
    t = weft.topology.load(file)
    assert json.loads(found.stdout)["by_size"][0]["copy"] == t.by_size[0].copy
    (link,) = t.links
    assert link.memory
    # A message takes no less than light to the next core, no more than a sleeping one needs.
    assert 5e-9 < link.latency < 1e-3
    assert all(1e8 < rate < 1e13 for one in t.by_size for rate in (one.copy, one.fetch, one.store))
    assert 0 < t.step + t.call < 1e-4
    assert text_says_spread(file.read_text())
    small, large = (weft.price("allreduce/two_shot", t, nbytes=n).seconds for n in (8, 25 << 20))
    assert link.latency < small < large < 10.0


def text_says_spread(text):
    lines = [line for line in text.splitlines() if "latency" in line]
    return len(lines) == 1 and "# [" in lines[0]


def test_refused():
    crowd = run("--measure", "--ranks", str(CORES + 1))
    assert crowd.exit_code == 1
    assert f"give 2 to {CORES}" in crowd.output
    assert run("--measure", "rx1").exit_code == 2
    assert run("rx1", "--output", "x.yaml").exit_code == 2
    assert run().exit_code == 2
