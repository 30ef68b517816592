"""PyTorch's own tests of a backend: a part of what `make test-torch-full` runs, by its runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's own tests need expecttest")
psutil = pytest.importorskip("psutil")

RUN = Path(__file__).parent / "acceptance" / "run.py"

# The set, the ranks, and which of its tests.
PARTS = {
    "collectives": ("gloo", 3,
        "^test_(sparse_)?(all_reduce|reduce|broadcast|gather|scatter|all_gather)"
        "(?!.*(cuda|group_(min|max|product)|coalesced_group))"),
    "barriers": ("gloo", 2, "barrier_(timeout_global|full_group$|gloo)"),
    "point to point": ("gloo", 2, "^test_(send_recv|isend|irecv|batch_isend_irecv)"),
    "DDP": ("nccl", 2,
        "ddp_(hook_parity_p|grad_div|join_model|control_flow|static_graph_n)|no_sync|backend_bool"
        "|coalescing_manager|reduce_scatter|post_localSGD_optimizer_parity$"),
    "all to all": ("mpi", 3, "^test_all_to_all"),
    "FSDP": ("fsdp", 2, "_(FULL_SHARD|divide|gradient|FULL_STATE).*"),
    "DTensor": ("dtensor", 4, "^test_(redistribute|partial_.*avg|transformer|loss|mlp)"),
}  # fmt: skip


def run(results: Path, imitated: str, ranks: int, tests: str) -> subprocess.Popen:
    """The runner, started."""
    return subprocess.Popen(
        [sys.executable, str(RUN), "--set", imitated, "--world-size", str(ranks),
         "--only", tests, "--results", str(results)],
        env=os.environ | {"TMPDIR": str(results.parent)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


# The others stand here for many small tests of this folder; `make test-long` has them.
SHORT = ("collectives", "point to point")


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=() if part in SHORT else pytest.mark.long) for part in PARTS]
)
def test_torchs_own_tests_pass(tmp_path: Path, part: str) -> None:
    process = run(tmp_path / "results.jsonl", *PARTS[part])
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert " passed" in told, told


def test_no_test_is_run_twice(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    for lines in (2, 0):
        told, _ = run(results, "gloo", 2, "^test_(broadcast|destroy_group)$").communicate()
        assert told.count("passed (") == lines
        assert "2 passed" in told
    assert len(results.read_text().splitlines()) == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_broken_off_it_leaves_no_process_and_no_record(tmp_path: Path, number: int) -> None:
    results = tmp_path / "results.jsonl"
    process = run(results, "gloo", 2, "^test_barrier_timeout_full_group$")
    runner, deadline = psutil.Process(process.pid), time.monotonic() + 60
    while len(under := runner.children(recursive=True)) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert psutil.wait_procs(under, timeout=10)[1] == []
    assert not results.exists()
    if number != signal.SIGKILL:
        assert list(tmp_path.glob("weft-*")) == []
