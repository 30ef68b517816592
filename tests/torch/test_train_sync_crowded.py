"""weft.train.GradientSync, strategy "allreduce": calls of the optimizer where ranks share cores."""

from __future__ import annotations

from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch")

from sync_models import content, prepare, synchronized  # noqa: E402

from weft.train.sync import allreduce  # noqa: E402
from weft.train.sync.allreduce import Allreduce  # noqa: E402
from weft.train.sync.updates import Updates  # noqa: E402


def first_layer_is_late(job, crowded, together):
    """The calls of the optimizer up to the second forward pass, and the parameters then."""
    prepare(job)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    calls = []

    def is_here(strategy, bucket):
        return bucket.number > 0 or not strategy.under_way(bucket)

    def counted(updates, run_all=Updates.run_all):
        calls.append(len(updates.optimizer.param_groups[0]["params"]))
        run_all(updates)

    with (
        synchronized(job, model, optimizer, bucket_bytes=64) as sync,
        patch.object(Allreduce, "_is_here", is_here),
        patch.object(Updates, "run_all", counted),
        patch.object(allreduce, "TOGETHER", together),
    ):
        sync._lanes.crowded = crowded
        model(torch.ones(4, 8) * (job.rank + 1)).sum().backward()
        sync.step()
        sync.zero_grad()
        model(torch.ones(4, 8))
        return calls, content(model)


@pytest.mark.parametrize(
    ("crowded", "together", "calls"),
    [(False, 1 << 20, [2, 2]), (True, 1 << 20, [4]), (True, 1, [2, 2])],
    ids=["cores of their own", "shared cores", "shared cores, long layers"],
)
def test_ranks_that_share_cores_update_short_layers_at_once(team, crowded, together, calls):
    (first, mine), (second, theirs) = team(2).run(first_layer_is_late, crowded, together)
    assert first == second == calls
    assert all((one == other).all() for one, other in zip(mine, theirs, strict=True))
