"""weft.train.GradientSync: bf16 on the wire is that of the communicator it was given."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from sync_models import prepare  # noqa: E402

from weft import _core  # noqa: E402
from weft.train import GradientSync  # noqa: E402

from launch import Team  # noqa: E402

NETWORK = next(fabric for fabric in _core.system_info()["fabrics"] if fabric["name"] == "ofi")
FINE = 1 + 2**-20  # bf16 rounds it to 1


def mean(job, strategy, wire):
    """What one step with the gradient FINE and rate 1 takes from a parameter."""
    prepare(job)
    model = torch.nn.Linear(512, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    with (
        job.communicator(wire=wire, timeout=30) as comm,
        GradientSync(model, optimizer, strategy, group=comm) as sync,
    ):
        (model.weight.sum() * FINE).backward()
        sync.step()
        sync.finish()
    return sorted({-x for x in model.weight.detach().flatten().tolist()})


@pytest.mark.skipif(not NETWORK["available"], reason=NETWORK["text"])
@pytest.mark.parametrize("strategy", ["allreduce", "sharded"])
def test_gradients_cross_nodes_in_half_the_bytes(strategy):
    with Team(2, prefixes=[["env", f"WEFT_NODE=sync-{rank}"] for rank in range(2)]) as team:
        assert team.run(mean, strategy, "none") == [[FINE]] * 2
        for narrow in team.run(mean, strategy, "bfloat16"):
            # A rank's own gradient may stay as it is until the result is rounded.
            assert all(1 <= x < FINE for x in narrow)
