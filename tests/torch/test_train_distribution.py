"""weft.train.Distribution over torch's process groups."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402

import weft  # noqa: E402
from weft.train import Distribution, broadcast_parameters  # noqa: E402


def total(group, value: float) -> float:
    x = torch.tensor([value])
    dist.all_reduce(x, group=group)
    return x.item()


def grid(job, data, model):
    with world(job):
        made = Distribution(data, model)
        mine = 10.0**job.rank
        backends = {dist.get_backend(made.data_group), dist.get_backend(made.model_group)}
        assert backends == {"weft"}
        assert dist.get_rank(made.data_group) == made.data_index
        assert dist.get_rank(made.model_group) == made.model_index
        mesh = dist.init_device_mesh("cpu", (data, model), mesh_dim_names=("data", "model"))
        assert mesh.get_coordinate() == (made.data_index, made.model_index)
        members = [dist.get_process_group_ranks(one) for one in (made.data_group, made.model_group)]
        meshes = [dist.get_process_group_ranks(mesh.get_group(one)) for one in ("data", "model")]
        assert members == meshes
        return total(made.data_group, mine), total(made.model_group, mine), total(None, mine)


def test_groups_are_those_of_a_device_mesh(team):
    assert team(4).run(grid, 2, 2) == [
        (101.0, 11.0, 1111.0),
        (1010.0, 11.0, 1111.0),
        (101.0, 1100.0, 1111.0),
        (1010.0, 1100.0, 1111.0),
    ]


@pytest.mark.parametrize(("data", "model"), [(1, 2), (2, 1)])
def test_one_group_may_have_all_ranks(team, data, model):
    own, whole = (0, 1) if model == 2 else (1, 0)
    results = team(2).run(grid, data, model)
    assert [one[whole] for one in results] == [11.0] * 2
    assert [one[own] for one in results] == [1.0, 10.0]


def trained_in_parts(job):
    """DDP and first parameters over the data group, whose ranks are not those of the world."""
    with world(job):
        made = Distribution(2, 2)
        model = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(model.weight, job.rank)
        winner = broadcast_parameters(model, "best", loss=-job.rank, group=made.data_group)
        first = model.weight.item()
        model = torch.nn.parallel.DistributedDataParallel(model, process_group=made.data_group)
        model(torch.tensor([[10.0**job.rank]])).sum().backward()
        return winner, first, model.module.weight.grad.item()


def test_data_groups_have_their_own_parameters_and_gradients(team):
    even, odd = (1, 2.0, 101.0 / 2), (1, 3.0, 1010.0 / 2)  # the winner is a rank of the group
    assert team(4).run(trained_in_parts) == [even, odd, even, odd]


def refused(job):
    errors = []
    with world(job):
        part = dist.new_group([0, 1])
        for arguments in [(2, 2), (job.rank + 1, 2 - job.rank), (2, 1, part)]:
            with pytest.raises(weft.WeftError) as raised:
                Distribution(*arguments)
            errors.append((type(raised.value).__name__, str(raised.value)))
        return errors, total(None, 1.0)


def test_wrong_parts_are_refused(team):
    for rank, (errors, alive) in enumerate(team(2).run(refused)):
        assert alive == 2.0
        assert errors[0][0] == "InvalidArgument"
        assert errors[0][1].startswith("rank 0: Distribution: data 2 * model 2 is 4, and there are")
        assert errors[1] == ("Mismatch", "Distribution: rank 1 has data and model [2, 1], rank 0 "
                             "[1, 2]: give the same numbers on all ranks")  # fmt: skip
        assert errors[2][0] == "InvalidArgument"
        assert f"rank {rank}: Distribution: group is a part of the default" in errors[2][1]
