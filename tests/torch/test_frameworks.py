"""examples/accelerate, lightning and ray: `make test-torch-full` installs them and runs this."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.mark.parametrize("framework", ["accelerate", "lightning", "ray"])
def test_two_ranks_find_the_line(framework):
    pytest.importorskip(framework)
    launcher = [] if framework == "ray" else TORCHRUN
    # What Ray keeps goes with the test. Its sockets lie there too, and their paths must be short.
    with tempfile.TemporaryDirectory(prefix="weft-", ignore_cleanup_errors=True) as kept:
        done = subprocess.run(
            [sys.executable, *launcher, str(EXAMPLES / framework / "train.py")],
            env=os.environ
            | {"OMP_NUM_THREADS": "1", "HOME": kept, "RAY_TMPDIR": kept}
            | {"RAY_AUTH_MODE": "disabled"},
            capture_output=True,
            text=True,
            timeout=240,
        )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "2 ranks through weft:" in said
    lines = ast.literal_eval(re.search(r"on each rank (\[\[.*\]\])", said)[1])
    assert lines[0] == lines[1]
    assert lines[0] == pytest.approx([3, 0.5], abs=1e-3)
