"""Sockets and caches in `weft info`: of made-up machines, and where hwloc is missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from weft import _core


def info(**env):
    """`weft info --json` in a process of its own, since hwloc is loaded once."""
    command = [sys.executable, "-m", "weft", "info", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(not _core.system_info()["layout"]["available"], reason="hwloc is not there")
def test_two_sockets():
    known = info(HWLOC_SYNTHETIC="pack:2 numa:2 l2:1 core:1 pu:2")
    assert [(s["number"], s["cores"], s["processors"]) for s in known["sockets"]] == [
        (0, 2, "0-3"), (1, 2, "4-7")
    ]  # fmt: skip
    assert [node["processors"] for node in known["numa_nodes"]] == ["0-1", "2-3", "4-5", "6-7"]
    (cache,) = known["caches"]
    assert (cache["level"], cache["shared_by"]) == (2, ["0-1", "2-3", "4-5", "6-7"])


def test_without_hwloc(tmp_path):
    (tmp_path / "libhwloc.so.15").write_text("no library")
    known = info(LD_LIBRARY_PATH=str(tmp_path))
    assert not known["layout"]["available"]
    assert "hwloc" in known["layout"]["text"]
    assert "Debian" in known["layout"]["text"]
    assert known["sockets"] == known["numa_nodes"] == known["caches"] == []
    assert known["usable_cores"] >= 1
