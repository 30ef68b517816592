"""Weft's own algorithms over OpenSHMEM: one rank a process, started by oshrun."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest
from oshrun import OSHRUN, WAYS, finish, needs_oshrun, start
from ports import free_port

RESULTS = ("table", "sizes", "elsewhere", "many", "points")
RANK = str(Path(__file__).parents[1] / "mpi" / "rank.py")

pytestmark = needs_oshrun


def play(ranks, directory, *parts, way="loads", fabric="shmem", **variables):
    variables |= {
        "WEFT_RENDEZVOUS": str(directory),
        "EXPECTED_RANKS": str(ranks),
        "FABRIC": fabric,
        "UCX_TLS": WAYS[way],
    }
    return start(RANK, parts, ranks, **variables)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_results(ranks, tmp_path):
    code, output = play(ranks, tmp_path, *RESULTS)
    assert (code, output.count(": ok")) == (0, ranks), output


def test_results_over_a_network(tmp_path):
    code, output = play(3, tmp_path, *RESULTS, way="puts")
    assert (code, output.count(": ok")) == (0, 3), output


@pytest.mark.parametrize("way", WAYS)
def test_results_beside_shared_memory(way, tmp_path):
    code, output = play(3, tmp_path, *RESULTS, way=way, fabric="shm+shmem")
    assert (code, output.count(": ok")) == (0, 3), output


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("part", ["abort", "leave", "again", "fork", "late", "split", "stop"])
def test_failures(part, way, tmp_path):
    code, output = play(3, tmp_path, part, way=way)
    assert (code, output.count(": ok")) == (0, 3), output


def test_torch():
    """DDP ends with the parameters of one process."""
    pytest.importorskip("torch")
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    program = str(Path(RANK).with_name("torch_rank.py"))
    code, output = start(program, (), 2, WEFT_FABRIC="shmem", **where)
    assert (code, output.count(": ok")) == (0, 2), output


def test_a_killed_rank_ends_the_job(tmp_path):
    """OpenSHMEM tells the others nothing. Its launcher ends them."""
    began = time.monotonic()
    code, output = play(3, tmp_path, "die")
    assert code != 0
    assert output.count(": ok") == 0, output
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("size", "said"),
    [
        ("4M", "the symmetric heap has|of symmetric memory wanted"),
        ("a lot", "SHMEM_SYMMETRIC_SIZE=a lot is no size of a heap"),
        ("900T", "exceeds this machine's memory"),
    ],
)
def test_a_heap_of_the_wrong_size(size, said, tmp_path):
    """Each rank names the variable."""
    code, output = play(2, tmp_path, "table", SHMEM_SYMMETRIC_SIZE=size)
    assert code != 0
    assert output.count(": ok") == 0, output
    assert re.search(said, output), output
    assert "SHMEM_SYMMETRIC_SIZE" in output


def test_without_a_launcher(tmp_path):
    program = f"import weft; weft.init(0, 1, {str(tmp_path)!r}, fabric='shmem')"
    code, output = finish([sys.executable, "-c", program])
    assert code == 1
    assert "start it by oshrun" in output


def test_info_names_the_library():
    command = [*OSHRUN, "-n", "1", sys.executable, "-m", "weft", "info"]
    code, output = finish(command)
    assert code == 0
    assert "liboshmem.so" in output
