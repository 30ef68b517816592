"""Objects, subgroups, functional collectives, and what stands on them."""

from __future__ import annotations

import os
import resource

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import values, world  # noqa: E402

from launch import Team  # noqa: E402


def objects(job):
    with world(job):
        mine = {"rank": job.rank, "text": "x" * 10**job.rank}
        every: list = [None] * job.size
        dist.all_gather_object(every, mine)
        first = [mine if job.rank == 0 else None, None]
        dist.broadcast_object_list(first, 0)
        at_root = [None] * job.size if job.rank == 1 else None
        dist.gather_object(mine, at_root, 1)
        share: list = [None]
        dist.scatter_object_list(share, [f"for {r}" for r in range(job.size)], 0)
        received: list = [None]
        if job.rank == 0:
            dist.send_object_list([mine], 1)
        elif job.rank == 1:
            dist.recv_object_list(received, 0)
        ranks = [one["rank"] for one in at_root] if at_root else []
        return [one["rank"] for one in every], first[0]["rank"], ranks, share[0], received[0]


def test_objects(team):
    results = team(3).run(objects)
    assert [r[0] for r in results] == [[0, 1, 2]] * 3
    assert [r[1] for r in results] == [0] * 3
    assert [r[2] for r in results] == [[], [0, 1, 2], []]
    assert [r[3] for r in results] == ["for 0", "for 1", "for 2"]
    assert [r[4] for r in results] == [None, {"rank": 0, "text": "x"}, None]


def many(job, groups, limit):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with world(job):
        dist.all_reduce(torch.ones(3))
        room = len(os.listdir("/proc/self/fd")) + limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (room, before[1]))
        try:
            made = [dist.new_group() for _ in range(groups)]
            for group in made:
                x = torch.ones(5000)
                dist.all_reduce(x, group=group)
                assert x[-1] == job.size
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_many_groups_share_descriptors(team):
    team(2).run(many, 60, 40)


def subgroups(job):
    with world(job):
        members = {"even": [0, 2], "odd": [1, 3], "most": [1, 2, 3], "alone": [2]}
        groups = {name: dist.new_group(ranks) for name, ranks in members.items()}
        results = {}
        for name, group in groups.items():
            if dist.get_rank(group) >= 0:
                x = torch.full((1000,), 10.0**job.rank)
                dist.all_reduce(x, group=group)
                results[name] = x[-1].item()
        x = torch.full((5,), float(job.rank))
        if job.rank in (1, 3):
            dist.broadcast(x, 3, group=groups["odd"])  # roots are named by their global rank
        results["root"] = x[0].item()
        dist.destroy_process_group(groups["odd"] if job.rank in (1, 3) else groups["even"])
        y = torch.ones(1)
        dist.all_reduce(y)
        results["world"] = y.item()
        return results


def test_subgroups(team):
    even, odd, most = 101.0, 1010.0, 1110.0
    assert team(4).run(subgroups) == [
        {"even": even, "root": 0.0, "world": 4.0},
        {"odd": odd, "most": most, "root": 3.0, "world": 4.0},
        {"even": even, "most": most, "alone": 100.0, "root": 2.0, "world": 4.0},
        {"odd": odd, "most": most, "root": 3.0, "world": 4.0},
    ]


def many_groups(job):
    with world(job):
        groups = [dist.new_group(list(range(job.size))) for _ in range(40)]
        works, tensors = [], []
        for number, group in enumerate(groups):
            tensors.append(torch.full((100,), float(number)))
            works.append(dist.all_reduce(tensors[-1], group=group, async_op=True))
        for work in reversed(works):
            work.wait()
        return all(bool((x == job.size * n).all()) for n, x in enumerate(tensors))


def test_forty_groups_at_once(team):
    assert team(2).run(many_groups) == [True, True]


def split(job):
    with world(job) as group:
        ranks = [0, 2] if job.rank in (0, 2) else [1, 3]
        part = group.split_group(ranks, group_name=f"part{ranks[0]}")
        x = torch.full((3,), 10.0**job.rank)
        part.allreduce([x]).wait()
        return part.rank(), part.size(), x[0].item()


def test_a_group_splits(team):
    assert team(4).run(split) == [(0, 2, 101.0), (0, 2, 1010.0), (1, 2, 101.0), (1, 2, 1010.0)]


def functional(job):
    import torch.distributed._functional_collectives as funcol

    with world(job) as group:
        x = values(job.rank)
        every = [values(r) for r in range(job.size)]
        total = torch.stack(every).sum(0)
        return [
            torch.equal(funcol.all_reduce(x, "sum", group), total),
            torch.equal(funcol.all_gather_tensor(x, 0, group), torch.cat(every)),
            torch.equal(
                funcol.reduce_scatter_tensor(torch.cat([x] * job.size), "sum", 0, group), total
            ),
            torch.equal(funcol.broadcast(x, 1, group), every[1]),
            torch.equal(
                funcol.all_to_all_single(x[: job.size], [1] * job.size, [1] * job.size, group),
                torch.stack([every[r][job.rank] for r in range(job.size)]),
            ),
            all(
                torch.equal(a, total)
                for a in funcol.all_reduce_coalesced([x, x.clone()], "sum", group)
            ),
        ]


def test_functional_collectives(team):
    assert team(3).run(functional) == [[True] * 6] * 3


def coalesced(job):
    with world(job):
        tensors = [torch.full((n,), 1.0) for n in (3, 1000, 0, 70_000)]
        with dist._coalescing_manager():
            for x in tensors:
                dist.all_reduce(x)
        inputs = [values(job.rank), values(job.rank, salt=1)]
        outputs = [torch.empty(job.size * 3, 4) for _ in inputs]
        with dist._coalescing_manager(async_ops=True) as manager:
            for x, y in zip(inputs, outputs, strict=True):
                dist.all_gather_into_tensor(y, x)
        manager.wait()
        return all(bool((x == job.size).all()) for x in tensors) and all(
            torch.equal(y, torch.cat([values(r, salt=i) for r in range(job.size)]))
            for i, y in enumerate(outputs)
        )


def test_coalescing_manager(team):
    assert team(2).run(coalesced) == [True, True]


def distributed_tensor(job):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    with world(job):
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        torch.manual_seed(0)
        a, b = torch.randn(8, 6), torch.randn(6, 10)
        left = distribute_tensor(a, mesh, [Shard(0), Shard(1)])
        right = distribute_tensor(b, mesh, [Replicate(), Shard(0)])
        product = (left @ right).redistribute(mesh, [Shard(1), Replicate()]).full_tensor()
        return torch.allclose(product, a @ b, atol=1e-5)


def test_distributed_tensors(team):
    assert all(team(4).run(distributed_tensor))


def symmetric(job):
    with world(job) as group:
        backend = group._get_backend(torch.device("cpu"))
        x = backend.allocate_tensor(300_000, dtype=torch.float32, device=torch.device("cpu"))
        x.fill_(job.rank + 1)
        dist.all_reduce(x)
        right = bool((x == 3).all())
        part = x[1000:2000]
        del x
        dist.all_reduce(part)  # a view keeps the memory
        return backend.supports_tensor_alloc(torch.device("cpu")), right, part[-1].item()


def test_symmetric_tensors(team):
    assert team(2).run(symmetric) == [(True, True, 6.0)] * 2


def lazily_conjugate(job):
    with world(job):
        x = values(job.rank, torch.complex64).conj()
        options = dist.BroadcastOptions()
        options.rootRank = 1
        # Straight to the backend: torch's dispatcher would hand it a resolved copy.
        dist.group.WORLD._get_backend(torch.device("cpu")).broadcast([x], options).wait()
        return torch.equal(x, values(1, torch.complex64).conj())


def test_lazily_conjugate_tensors(team):
    assert team(2).run(lazily_conjugate) == [True, True]


def checked(job):
    with world(job):
        x = torch.ones(100)
        dist.all_reduce(x)
        dist.barrier()
        every = [torch.empty(3, 4) for _ in range(job.size)]
        dist.all_gather(every, values(job.rank))
        return x[0].item(), all(torch.equal(every[r], values(r)) for r in range(job.size))


def test_under_torchs_own_checks():
    with Team(2, env={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}) as team:
        assert team.run(checked) == [(2.0, True)] * 2


def beside_gloo(job):
    with world(job):
        gloo = dist.new_group(backend="gloo")
        x, y = torch.ones(10), torch.ones(10)
        dist.all_reduce(x)
        dist.all_reduce(y, group=gloo)
        return x[0].item(), y[0].item(), dist.get_backend(), dist.get_backend(gloo)


def test_beside_gloo(team):
    assert team(2).run(beside_gloo) == [(2.0, 2.0, "weft", "gloo")] * 2


def mapped(job, backends):
    """A world whose devices have different backends, and a group made of it."""
    from torch.distributed.tensor import Shard, distribute_tensor

    with world(job, backend=backends):
        group = dist.new_group()
        x = torch.ones(3) + job.rank
        dist.all_reduce(x, group=group)
        names = [None] * job.size
        cpu = torch.device("cpu")
        serving = [type(g._get_backend(cpu)).__name__ for g in (dist.group.WORLD, group)]
        dist.all_gather_object(names, serving)
        mesh = dist.init_device_mesh("cpu", (job.size,))
        whole = distribute_tensor(torch.arange(4.0), mesh, [Shard(0)]).full_tensor()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
        model(torch.full((1, 2), float(job.rank))).sum().backward()
        return x.tolist(), names, whole.tolist(), model.module.weight.grad.tolist()


@pytest.mark.parametrize("backends", ["cpu:weft", "cpu:weft,cuda:gloo"])
def test_maps_of_devices_to_backends(team, backends):
    names = [["ProcessGroupWeft", "ProcessGroupWeft"]] * 2
    expected = ([3.0] * 3, names, [0.0, 1.0, 2.0, 3.0], [[0.5, 0.5]])
    assert team(2).run(mapped, backends) == [expected] * 2
