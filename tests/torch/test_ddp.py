"""Training: gradients through Weft are those of one process on the whole batch."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from training import flat, furthest, gradients, network, share  # noqa: E402

from weft import _core  # noqa: E402

from launch import Team  # noqa: E402


def ddp(job, options: dict):
    with world(job):
        return furthest(job, DistributedDataParallel(network(), **options))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_as_bucket_view": True},
        {"bucket_cap_mb": 0.01},
        {"bucket_cap_mb": 0.01, "gradient_as_bucket_view": True, "static_graph": True},
        {"find_unused_parameters": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_gradients(team, ranks, options):
    assert max(team(ranks).run(ddp, options)) < 1e-5


def has_network() -> bool:
    fabrics = {fabric["name"]: fabric for fabric in _core.system_info()["fabrics"]}
    return fabrics["ofi"]["available"]


@pytest.mark.skipif(not has_network(), reason="no libfabric: ranks cannot be on several nodes")
def test_gradients_in_bf16_on_the_wire():
    nodes = [["env", f"WEFT_NODE=ddp-{node}"] for node in (0, 0, 1)]
    with Team(3, {"WEFT_WIRE": "bf16"}, nodes) as team:
        found = team.run(ddp, {})
    # Rounded, a contribution once and a result once more; the same on all ranks.
    assert 1e-5 < found[0] < 2**-7
    assert len(set(found)) == 1


class Halves(torch.nn.Module):
    """Even ranks use one half of it, odd ranks the other."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.halves = torch.nn.ModuleList(torch.nn.Linear(5, 3) for _ in range(2))

    def forward(self, x, rank):
        return self.halves[rank % 2](x)


def unused(job):
    with world(job):
        alone, model = Halves(), DistributedDataParallel(Halves(), find_unused_parameters=True)
        x = torch.arange(5.0)
        for _ in range(2):
            model.zero_grad()
            model(x, job.rank).square().sum().backward()
        sum(alone(x, rank).square().sum() / job.size for rank in range(job.size)).backward()
        return [flat(p.grad for p in m.parameters()) for m in (alone, model)]


def test_unused_parameters(team):
    for expected, gradient in team(2).run(unused):
        assert np.array_equal(gradient, expected)


def uneven_inputs(job):
    """Rank r has r batches more than rank 0."""
    with world(job):
        model = DistributedDataParallel(network())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        steps = 0
        with model.join():
            for _ in range(2 + job.rank):
                gradients(model, *share(job.rank, job.size))
                optimizer.step()
                steps += 1
        return steps, flat(model.parameters())


def alone_as_uneven() -> np.ndarray:
    """The model that three ranks come to: the sum of who is left, divided by three."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        parts = [gradients(model, *share(rank, 3)) for rank in range(max(0, step - 1), 3)]
        for parameter, of_ranks in zip(model.parameters(), zip(*parts, strict=True), strict=True):
            parameter.grad = sum(of_ranks) / 3
        optimizer.step()
    return flat(model.parameters())


def test_join_with_uneven_inputs(team):
    steps, models = zip(*team(3).run(uneven_inputs), strict=True)
    assert steps == (2, 3, 4)
    expected = alone_as_uneven()
    for model in models:
        assert np.array_equal(model, models[0])
        assert np.abs(model - expected).max() < 1e-5


def without_sync(job):
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        x = torch.full((1, 2), float(job.rank + 1))
        with model.no_sync():
            model(x).sum().backward()
        local = model.module.weight.grad[0, 0].item()
        model(x).sum().backward()
        return local, model.module.weight.grad[0, 0].item()


def test_no_sync(team):
    assert team(2).run(without_sync) == [(1.0, 3.0), (2.0, 3.0)]


class Numbers(torch.utils.data.Dataset):
    """Rows that say which they are."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((4,), float(index))


def loading(job):
    """Workers are forked while the group, its threads and its shared memory are in use."""
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        sampler = torch.utils.data.DistributedSampler(Numbers(), job.size, job.rank, shuffle=False)
        seen = []
        for _ in range(2):
            loader = torch.utils.data.DataLoader(
                Numbers(), batch_size=4, sampler=sampler, num_workers=2,
                multiprocessing_context="fork",
            )  # fmt: skip
            for rows in loader:
                model(rows).sum().backward()
                seen += rows[:, 0].tolist()
        total = torch.tensor(sum(seen))
        dist.all_reduce(total)
        return total.item()


def test_data_loaders_fork_safely(team):
    assert team(2).run(loading) == [2.0 * sum(range(24))] * 2


def copied(job):
    """Models and optimizers are deep-copied and pickled while their group exists."""
    with world(job):
        model = DistributedDataParallel(torch.nn.Linear(4, 1))
        twin = copy.deepcopy(model.module)
        return torch.equal(twin.weight, model.module.weight)


def test_models_can_be_copied(team):
    assert team(2).run(copied) == [True, True]
