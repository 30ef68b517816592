"""facebookresearch/dlrm's own program, unchanged: `make test-torch-full` runs this."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import program
import pytest

pytest.importorskip("torch")

CHECKOUT = Path(os.environ.get("DLRM_CHECKOUT", program.EXAMPLES.parent / "build" / "dlrm"))
PROGRAM = CHECKOUT.absolute() / "dlrm_s_pytorch.py"
STEPS = 8
# Five tables: two ranks and four get different numbers of them, so the alltoall is uneven.
OPTIONS = (
    "--arch-sparse-feature-size=16 --arch-embedding-size=1000-800-600-400-200 "
    "--arch-mlp-bot=13-64-16 --arch-mlp-top=64-32-1 --mini-batch-size=128 --loss-function=bce "
    f"--round-targets=true --learning-rate=1 --num-batches={STEPS} --test-freq={STEPS}"
).split()

pytestmark = pytest.mark.skipif(
    "DLRM_CHECKOUT" not in os.environ and not PROGRAM.is_file(),
    reason=f"no facebookresearch/dlrm in {CHECKOUT}: make test-torch-full fetches it",
)


def trained(folder: Path, backend: str, ranks: int, *options: str) -> tuple[str, list[float]]:
    """What the program prints, and its numbers: the loss of each step, then the accuracy in %."""
    for needed in ("tensorboard", "tqdm", "sklearn"):
        pytest.importorskip(needed)
    words = [f"--dist-backend={backend}", *OPTIONS, *options]
    said = program.run(PROGRAM, *words, ranks=ranks, cwd=folder, DLRM_ALLTOALL_IMPL="")
    assert f"Running on {ranks} ranks using {backend} backend" in said
    losses = re.findall(r"Finished training it \d+/\d+ of epoch 0, .* loss (\d+\.\d+)", said)
    (accuracy,) = re.findall(r"accuracy (\d+\.\d+) %", said)
    assert len(losses) == STEPS
    return said, [float(number) for number in [*losses, accuracy]]


def alltoalls(trace: Path) -> Counter[str]:
    """How often each of the names below is in a rank's profile."""
    names = ("weft:all_to_all_single", "DLRM alltoall_req_bwd_single")
    events = json.loads(trace.read_text())["traceEvents"]
    return Counter(event["name"] for event in events if event.get("name") in names)


@pytest.mark.parametrize("ranks", [2, 4])
def test_trains_by_alltoall_to_the_losses_of_gloo(tmp_path, ranks):
    _, expected = trained(tmp_path, "gloo", ranks)
    said, found = trained(tmp_path, "weft", ranks, "--enable-profiling")
    assert "fail to enable" not in said
    assert found == pytest.approx(expected, abs=5e-6)  # six digits are printed
    traces = list(tmp_path.glob("dlrm_s_pytorch*.json"))
    assert len(traces) == ranks
    for trace in traces:  # forward, backward, and forward for each batch of the test
        counted = {"weft:all_to_all_single": 3 * STEPS, "DLRM alltoall_req_bwd_single": STEPS}
        assert alltoalls(trace) == counted
