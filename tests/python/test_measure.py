"""`weft topology --measure`: what it writes can be read, priced, and is no nonsense."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import weft
from weft import _core
from weft.cli import main

CORES = len(os.sched_getaffinity(0))


LAYOUT = _core.system_info()["layout"]["available"]


def run(*words, env=None):
    return CliRunner().invoke(main, ["topology", *words], env=env)


@pytest.mark.skipif(CORES < 2, reason="two ranks need two cores")
def test_measured_file_is_a_topology(tmp_path):
    file = tmp_path / "here.yaml"
    words = ("--measure", "--ranks", "2", "--rounds", "2", "--output", str(file), "--json")
    found = run(*words, env={"HWLOC_SYNTHETIC": "pack:1024 core:1 pu:1"})
    assert found.exit_code == 0, found.output
    t = weft.topology.load(file)
    copy = json.loads(found.stdout)["by_size"][0]["copy"]
    assert copy == pytest.approx(t.by_size[0].copy, rel=1e-3)  # of four digits
    if LAYOUT:
        assert [vertex.socket for vertex in t.vertices] == sorted(os.sched_getaffinity(0))[:2]
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


@pytest.mark.skipif(CORES < 2, reason="two ranks need two cores")
def test_ranks_of_a_job(tmp_path):
    file = tmp_path / "job.yaml"
    command = [sys.executable, "-m", "weft", "topology", "--job", "--output", str(file)]
    job = {"WORLD_SIZE": "2", "WEFT_RENDEZVOUS": str(tmp_path / "meet")}
    ranks = [
        subprocess.Popen(
            command, env=os.environ | job | {"RANK": str(rank)}, stdout=subprocess.PIPE
        )
        for rank in range(2)
    ]
    said = [rank.communicate(timeout=60)[0].decode() for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert "2 ranks" in said[0]
    assert said[1] == ""
    t = weft.topology.load(file)
    assert [t.vertices[rank].node for rank in t.ranks] == [0, 0]
    assert t.links[0].memory


def test_refused():
    crowd = run("--measure", "--ranks", str(CORES + 1))
    assert crowd.exit_code == 1
    assert f"give 2 to {CORES}" in crowd.output
    assert run("--measure", "rx1").exit_code == 2
    assert run("rx1", "--output", "x.yaml").exit_code == 2
    assert run("--job", "--measure").exit_code == 2
    assert run("--job", "--ranks", "2").exit_code == 2
    assert run().exit_code == 2
