"""examples/accelerate, lightning and ray: `make test-torch-full` installs them and runs this."""

from __future__ import annotations

import ast
import re
import tempfile

import program
import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("framework", ["accelerate", "lightning", "ray"])
def test_two_ranks_find_the_line(framework):
    pytest.importorskip(framework)
    script = program.EXAMPLES / framework / "train.py"
    # What Ray keeps goes with the test. Its sockets lie there too, and their paths must be short.
    with tempfile.TemporaryDirectory(prefix="weft-", ignore_cleanup_errors=True) as kept:
        ranks = 1 if framework == "ray" else 2  # that torchrun starts
        ray = {"HOME": kept, "RAY_TMPDIR": kept, "RAY_AUTH_MODE": "disabled"}
        said = program.run(script, ranks=ranks, **ray)
    assert "2 ranks through weft:" in said
    lines = ast.literal_eval(re.search(r"on each rank (\[\[.*\]\])", said)[1])
    assert lines[0] == lines[1]
    assert lines[0] == pytest.approx([3, 0.5], abs=1e-3)
