"""PyTorch's own tests of a backend: a few of them, by the runner of `make test-torch-full`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's own tests need expecttest")

RUN = Path(__file__).parent / "acceptance" / "run.py"
FEW = "^test_(all_reduce_sum|sparse_all_reduce_sum|send_recv|barrier_timeout_full_group)$"


def test_torchs_own_tests_pass_and_are_not_run_twice(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    command = [sys.executable, str(RUN), "--only", FEW, "--results", str(results)]
    for told in (4, 0):
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4 passed" in done.stdout
        assert done.stdout.count("passed (") == told
    assert len(results.read_text().splitlines()) == 4
