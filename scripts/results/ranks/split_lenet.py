"""One rank of a LeNet that is split over a model group: `python split_lenet.py DIRECTORY`.

It runs examples/lenet/model_group.py, for openshmem_mlsl.py. DIRECTORY/settings.json has data,
model and iterations; rank 0 writes DIRECTORY/result.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "lenet"))

import torch
import torch.distributed as dist

from weft.environment import place
from weft.train import Distribution

import data
import model_group

SEED = 0
SAME_STEPS = 20  # after which parameters are compared


def difference(parts: Distribution, dtype: torch.dtype) -> float:
    """How far the parameters are from one process's: the largest of the tensors' relative norms."""
    training, _ = data.digits()
    net, _, _ = model_group.train(parts, training, SAME_STEPS, SEED, dtype)
    whole = model_group.whole_parameters(net, parts)
    found = 0.0
    if dist.get_rank() == 0:
        single, _, _ = model_group.train(None, training, SAME_STEPS, SEED, dtype)
        alone = model_group.whole_parameters(single, None)
        found = max(((whole[n] - one).norm() / one.norm()).item() for n, one in alone.items())
    dist.barrier()
    return found


def trained(settings: dict[str, int]) -> dict[str, Any]:
    """The equality, then a training with its exchanges timed."""
    parts = Distribution(settings["data"], settings["model"])
    training, held_out = data.digits()
    doubles, floats = (difference(parts, dtype) for dtype in (torch.float64, torch.float32))
    net, exchanges, loss = model_group.train(
        parts, training, settings["iterations"], SEED, torch.float32
    )
    report = exchanges.report()  # before the held-out digits pass through the same layer
    return {
        **settings, "difference_float64": doubles, "difference_float32": floats, "loss": loss,
        "accuracy": model_group.accuracy(net, held_out, parts, torch.float32),
        "exchanges": report,
    }  # fmt: skip


def main() -> None:
    """Trains as the settings say."""
    torch.set_num_threads(1)
    directory = Path(sys.argv[1])
    settings = json.loads((directory / "settings.json").read_text())
    rank, size = place(None, None)
    store = dist.FileStore(str(directory / "torch"), size)
    dist.init_process_group("weft", store=store, rank=rank, world_size=size)
    found = trained(settings)
    if rank == 0:
        (directory / "result.json").write_text(json.dumps(found))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
