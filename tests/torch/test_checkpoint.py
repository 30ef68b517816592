"""Distributed checkpoints: what four ranks wrote, two read."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.distributed.checkpoint as dcp  # noqa: E402
from group import world  # noqa: E402
from torch.distributed.checkpoint.state_dict import (  # noqa: E402
    get_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.fsdp import fully_shard  # noqa: E402
from training import backward, flat, network, share  # noqa: E402


def sharded(job):
    """A model over all ranks and its optimizer, after one step."""
    model = network()
    fully_shard(model, mesh=init_device_mesh("cpu", (job.size,)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    backward(model, *share(job.rank, job.size))
    optimizer.step()
    return model, optimizer


def state_of(model, optimizer) -> dict:
    """As `dcp` wants it: shards, under names."""
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


def whole(model, optimizer) -> np.ndarray:
    """All parameters and what Adam keeps of them."""
    moments = [s["exp_avg"] for s in optimizer.state_dict()["state"].values()]
    return flat(t.full_tensor() for t in [*model.parameters(), *moments])


def saved(job, folder, how):
    with world(job):
        model, optimizer = sharded(job)
        state = state_of(model, optimizer)
        if how == "async":
            # While a thread writes the copy, training goes on; its collectives need a group.
            beside = dist.new_group(backend="weft")
            writing = dcp.async_save(state, checkpoint_id=folder, process_group=beside)
            kept = whole(model, optimizer)
            backward(model, *share(job.rank, job.size))
            optimizer.step()
            writing.result()
            assert not np.array_equal(kept, whole(model, optimizer))
            return kept
        dcp.save(state, checkpoint_id=folder)
        return whole(model, optimizer)


def loaded(job, folder):
    with world(job):
        model, optimizer = sharded(job)
        state = state_of(model, optimizer)
        dcp.load(state, checkpoint_id=folder)
        set_state_dict(
            model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
        )
        return whole(model, optimizer)


@pytest.mark.parametrize("how", ["save", "async"])
def test_a_checkpoint_is_read_by_fewer_ranks(team, tmp_path, how):
    folder = str(tmp_path / "checkpoint")
    written = team(4).run(saved, folder, how)
    for read in team(2).run(loaded, folder):
        assert np.array_equal(read, written[0])
