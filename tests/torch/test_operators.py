"""torch.ops.weft: the short way to an allreduce, and what torch.compile makes of it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import values, world  # noqa: E402


def results(job):
    with world(job) as group:
        name = group.group_name
        every = torch.stack([values(r) for r in range(job.size)])
        x = values(job.rank)
        same = torch.ops.weft.all_reduce_(x, name)
        right = [same.data_ptr() == x.data_ptr(), torch.equal(x, every.sum(0))]
        for op, expected in [("sum", every.sum(0)), ("max", every.amax(0)), ("avg", every.mean(0))]:
            x = values(job.rank).t()  # strided
            y = torch.ops.weft.all_reduce(x, name, op)
            right += [torch.allclose(y, expected.t()), y.is_contiguous()]
            right.append(torch.equal(x, values(job.rank).t()))
        half = torch.ones(10, dtype=torch.bfloat16)
        torch.ops.weft.all_reduce_(half[::2], name)
        right.append(half.tolist() == [float(job.size), 1.0] * 5)
        pair = dist.new_group([0, 1])
        if job.rank < 2:
            x = torch.ones(3)
            right.append(torch.ops.weft.all_reduce_(x, pair.group_name)[0].item() == 2)
        return all(right)


def test_results(team):
    assert team(3).run(results) == [True] * 3


def refusals(job):
    with world(job) as group:
        x = torch.ones(2)
        gloo = dist.new_group(backend="gloo")
        with pytest.raises(ValueError, match='no reduction "median"'):
            torch.ops.weft.all_reduce_(x, group.group_name, "median")
        with pytest.raises(ValueError, match="is gloo, not weft"):
            torch.ops.weft.all_reduce_(x, gloo.group_name)
        with pytest.raises(RuntimeError, match="nobody"):
            torch.ops.weft.all_reduce_(x, "nobody")
        with pytest.raises(NotImplementedError, match="avg"):
            torch.ops.weft.all_reduce(x.int(), group.group_name, "avg")


def test_refusals(team):
    team(2).run(refusals)


def compiled(job):
    import torch._dynamo

    with world(job) as group:
        name = group.group_name

        def layer(x):
            y = torch.relu(x)
            torch.ops.weft.all_reduce_(y, name)
            return torch.ops.weft.all_reduce(y * 2, name) + 1

        x = values(job.rank) - 1
        graphs = []

        def count(graph, inputs):
            graphs.append(graph)
            return torch._dynamo.lookup_backend("aot_eager")(graph, inputs)

        made = torch.compile(layer, backend=count, fullgraph=True)
        again = torch.equal(made(x), layer(x)) and torch.equal(made(x + 1), layer(x + 1))
        fake = torch.ops.weft.all_reduce(torch.empty(3, 5, device="meta"), name)
        torch.library.opcheck(torch.ops.weft.all_reduce, (x, name))
        return len(graphs), again, tuple(fake.shape), fake.device.type


def test_compiled_in_one_graph(team):
    assert team(2).run(compiled) == [(1, True, (3, 5), "meta")] * 2
