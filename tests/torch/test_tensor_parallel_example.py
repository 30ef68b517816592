"""examples/tensor_parallel: a model split over two ranks says what the whole model says."""

from __future__ import annotations

import json
from pathlib import Path

import program
import pytest

pytest.importorskip("torch")

GENERATE = program.EXAMPLES / "tensor_parallel" / "generate.py"


def test_two_ranks_decode_what_one_process_decodes(tmp_path: Path) -> None:
    pytest.importorskip("weft._torch", exc_type=ImportError)
    report = tmp_path / "result.json"
    short = ["--steps", "6", "--tokens", "12", "--rounds", "1", "--json", str(report)]
    program.run(GENERATE, "--backend", "weft", "gloo", *short, ranks=2)
    result = json.loads(report.read_text())
    assert result["ranks"] == 2
    assert result["same_as_one_process"], result["text"]
    assert result["text"].startswith("The Zen of P")
    assert len(result["text"]) == 24
    assert result["largest_difference"] < 1e-3
    assert set(result["symbols_per_second"]) == {"weft", "gloo"}
    assert all(rate > 0 for rate in result["symbols_per_second"].values())
