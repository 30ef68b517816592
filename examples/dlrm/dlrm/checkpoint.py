"""Checkpoints: one file a rank, since each rank has other tables.

    DIRECTORY/latest           step, ranks and settings of the newest whole checkpoint, as JSON
    DIRECTORY/step-200/rank-0  what rank 0 needs to go on
    DIRECTORY/step-200/rank-1  ...

`latest` is replaced after all ranks have written. Killed at any time, a run finds a whole one.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
import torch.distributed as dist

from weft.errors import InvalidArgument


def save(directory: Path, step: int, trained: dict, state: dict, rank: int, ranks: int) -> None:
    """Writes a checkpoint that all ranks can find, and removes older ones. Collective.

    `trained`: the settings that have to be the same to go on.
    """
    folder = directory / f"step-{step}"
    folder.mkdir(parents=True, exist_ok=True)
    partly = folder / f"rank-{rank}.partly"
    torch.save(state, partly)
    partly.replace(folder / f"rank-{rank}")
    _meet(ranks)
    if rank == 0:
        partly = directory / "latest.partly"
        partly.write_text(json.dumps({"step": step, "ranks": ranks, "trained": trained}))
        partly.replace(directory / "latest")
        for old in directory.glob("step-*"):
            if old != folder:
                shutil.rmtree(old)
    _meet(ranks)


def load(directory: Path, trained: dict, rank: int, ranks: int) -> tuple[int, dict]:
    """The step of the newest checkpoint, and this rank's state.

    Raises:
        InvalidArgument: there is none, or it is of other settings or another number of ranks.
    """
    try:
        latest = json.loads((directory / "latest").read_text())
    except OSError as error:
        raise InvalidArgument(f"there is no checkpoint in {directory}: {error.strerror}") from error
    if latest["ranks"] != ranks:
        raise InvalidArgument(
            f"rank {rank}: the checkpoint in {directory} is of {latest['ranks']} ranks, each with "
            f"tables of its own: go on with {latest['ranks']} ranks, not {ranks}"
        )
    for name, value in trained.items():
        if latest["trained"][name] != value:
            raise InvalidArgument(
                f"rank {rank}: the checkpoint in {directory} has {name} {latest['trained'][name]}, "
                f"not {value}: give the settings that it was trained with"
            )
    return latest["step"], torch.load(directory / f"step-{latest['step']}" / f"rank-{rank}")


def _meet(ranks: int) -> None:
    if ranks > 1:
        dist.barrier()
