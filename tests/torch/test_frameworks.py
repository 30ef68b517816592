"""The examples of frameworks on top of PyTorch, which `make test-torch-full` installs."""

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


@pytest.mark.parametrize("ranks", [2, 4])
def test_sharded_embeddings_train_to_the_losses_of_gloo(ranks):
    pytest.importorskip("torchrec")
    script = program.EXAMPLES / "torchrec" / "train.py"
    losses = {}
    for backend in ("gloo", "weft"):
        said = program.run(script, "--backend", backend, ranks=ranks)
        assert f"{ranks} ranks through {backend}:" in said
        assert re.search(r"item +\| row_wise", said)
        assert re.search(r"shop +\| table_wise", said)
        assert re.search(rf"shop .* rank:{ranks - 1}/cpu", said)
        losses[backend] = ast.literal_eval(re.search(r"^losses (\[.*\])", said, re.MULTILINE)[1])
    assert losses["weft"] == pytest.approx(losses["gloo"], rel=1e-4)
    assert losses["weft"][-1] < losses["weft"][0] / 2
