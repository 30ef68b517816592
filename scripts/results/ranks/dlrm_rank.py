"""One rank of dlrm.py's trainings: `python dlrm_rank.py DIRECTORY`.

DIRECTORY/settings.json says what to do; rank 0 writes DIRECTORY/result.json. Whoever starts the
ranks says in RANK, or in Open MPI's variables, which one this is.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "testing"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import dlrm_training as training
import torch
import torch.distributed as dist
from bare_steps import FAKE, BareSteps
from dlrm_pages.cases import BARE, EMPTY
from dlrm_steps import Row, Steps, description, gathered
from empty_steps import EmptySteps
from torch.testing._internal.distributed.fake_pg import FakeStore

KINDS = {BARE: BareSteps, EMPTY: EmptySteps}


def steps(asked: Row, rank: int, ranks: int) -> Row:
    """Timed blocks of training steps."""
    running = KINDS.get(asked["how"], Steps)(asked, rank, ranks)
    count = running.steps_in(asked["seconds"] / asked["blocks"], asked["warm"])
    blocks = [running.block(count) for _ in range(asked["blocks"])]
    memory = running.gathered(running.memory())
    running.trainer.close()
    item = running.trainer.dtype.itemsize
    return {"blocks": blocks, "memory": memory, **description(running.shape, ranks, item)}


def equal(asked: Row, rank: int, ranks: int) -> Row:
    """How far the ranks are from one process, relative to what that one has learned."""
    options = {"dtype": asked["dtype"], "exchange": asked["exchange"]}
    together = training.joined(gathered(training.train(rank, ranks, options), ranks))
    if rank > 0:
        return {}
    alone = {"dtype": asked["dtype"]}
    first, right = (training.train(0, 1, alone, steps=n) for n in (0, training.STEPS))
    return {"difference": training.norm(together, right), "learned": training.norm(right, first)}


def area(asked: Row, rank: int, ranks: int) -> Row:
    """The AUC on the planted log."""
    reached = training.area(rank, ranks, {"dtype": asked["dtype"]})
    if statistics.pvariance(gathered(reached, ranks)) > 0:
        raise AssertionError("ranks have different scores")
    return {"auc": reached, "best": training.best_area()}


def main() -> None:
    """Does what the settings say."""
    directory = Path(sys.argv[1])
    asked = json.loads((directory / "settings.json").read_text()) | {"directory": str(directory)}
    torch.set_num_threads(1)
    ranks, rank = asked["ranks"], 0
    if ranks > 1:
        rank = int(os.environ.get("RANK") or os.environ["OMPI_COMM_WORLD_RANK"])
        if asked["dtype"] == "bfloat16":
            os.environ["WEFT_WIRE"] = "bfloat16"  # as examples/dlrm/train.py
        bare = asked["backend"] == FAKE
        store = FakeStore() if bare else dist.FileStore(str(directory / "store"), ranks)
        dist.init_process_group(asked["backend"], store=store, rank=rank, world_size=ranks)
    found = {"steps": steps, "equal": equal, "auc": area}[asked["part"]](asked, rank, ranks)
    if rank == 0:
        (directory / "result.json").write_text(json.dumps(found))
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
