"""examples/tensor_parallel: a model split over two ranks says what the whole model says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

GENERATE = Path(__file__).resolve().parents[2] / "examples" / "tensor_parallel" / "generate.py"


def test_two_ranks_decode_what_one_process_decodes(tmp_path: Path) -> None:
    pytest.importorskip("weft._torch", exc_type=ImportError)
    report = tmp_path / "result.json"
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    short = ["--steps", "12", "--tokens", "20", "--rounds", "1", "--json", str(report)]
    done = subprocess.run(
        [sys.executable, *launcher, str(GENERATE), "--backend", "weft", "gloo", *short],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(report.read_text())
    assert result["ranks"] == 2
    assert result["same_as_one_process"], result["text"]
    assert result["text"].startswith("The Zen of P")
    assert len(result["text"]) == 32
    assert result["largest_difference"] < 1e-3
    assert set(result["symbols_per_second"]) == {"weft", "gloo"}
    assert all(rate > 0 for rate in result["symbols_per_second"].values())
