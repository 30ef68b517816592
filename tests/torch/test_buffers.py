"""Training's own buffers lie in symmetric memory, without a word from the user."""

from __future__ import annotations

import gc
import os
import resource

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import weft  # noqa: E402

ROWS = 8


def network() -> torch.nn.Module:
    torch.manual_seed(11)
    return torch.nn.Sequential(
        torch.nn.Linear(32, 200),
        torch.nn.Tanh(),
        torch.nn.Linear(200, 300),
        torch.nn.Linear(300, 8),
    )


def rows(job) -> tuple[torch.Tensor, torch.Tensor, slice]:
    """The global batch, its targets, and which rows are this rank's."""
    torch.manual_seed(5)
    x, y = torch.randn(job.size * ROWS, 32), torch.randn(job.size * ROWS, 8)
    return x, y, slice(job.rank * ROWS, (job.rank + 1) * ROWS)


def step(model, x, y) -> None:
    model.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()


def furthest(job, parameters) -> float:
    """The largest difference of `parameters`' gradients from those of one process."""
    x, y, _ = rows(job)
    alone = network()
    step(alone, x, y)
    pairs = zip(alone.parameters(), parameters, strict=True)
    return max((a.grad - g).abs().max().item() for a, g in pairs)


class Watch:
    """Where the tensors lay that the collectives of this process were given."""

    def __init__(self, monkey: list) -> None:
        self.seen: dict[str, set[bool]] = {}
        for name in ("all_gather_single", "reduce_scatter_single"):
            self._wrap(name, monkey)

    def _wrap(self, name: str, monkey: list) -> None:
        original = getattr(dist, name)

        def wrapped(output, input, *args, **kwargs):
            places = self.seen.setdefault(name, set())
            places |= {weft.is_symmetric(output), weft.is_symmetric(input)}
            return original(output, input, *args, **kwargs)

        setattr(dist, name, wrapped)
        monkey.append(lambda: setattr(dist, name, original))


def allocate(numel: int) -> torch.Tensor:
    """Of the process group's memory."""
    cpu = torch.device("cpu")
    return dist.group.WORLD._get_backend(cpu).allocate_tensor(
        numel, dtype=torch.float32, device=cpu
    )


def symmetric_segments() -> set[str]:
    """The inodes of the symmetric memory that this process maps."""
    with open("/proc/self/maps") as maps:
        return {line.split()[4] for line in maps if "memfd:weft" in line}


def buckets(job, options):
    with world(job):
        model = DistributedDataParallel(network(), **options)
        places = []

        def hook(group, bucket):
            places.append(weft.is_symmetric(bucket.buffer()))
            work = dist.all_reduce(bucket.buffer().div_(job.size), group=group, async_op=True)
            return work.get_future().then(lambda future: future.value()[0])

        model.register_comm_hook(dist.group.WORLD, hook)
        x, y, mine = rows(job)
        for _ in range(3):  # buckets are rebuilt after the first backward
            step(model, x[mine], y[mine])
        gradients = [p.grad for p in model.parameters()]
        in_bucket = {weft.is_symmetric(g) for g in gradients}
        return set(places), in_bucket, furthest(job, gradients)


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("bucket", [0.1, 25])
def test_buckets(team, view, bucket):
    options = {"gradient_as_bucket_view": view, "bucket_cap_mb": bucket}
    for places, in_bucket, difference in team(2).run(buckets, options):
        assert places == {True}
        assert in_bucket == {view}
        assert difference < 1e-6


def alone(job):
    with world(job):
        model = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        x, y, _ = rows(job)
        step(model, x, y)
        return {weft.is_symmetric(p.grad) for p in model.parameters()}


def test_one_rank_needs_none(team):
    assert team(1).run(alone) == [{False}]


def sharded(job):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    undo: list = []
    with world(job):
        mesh = init_device_mesh("cpu", (job.size,))
        model = network()
        for layer in model:
            if isinstance(layer, torch.nn.Linear):
                fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        watch = Watch(undo)
        x, y, mine = rows(job)
        segments = []
        for _ in range(8):
            step(model, x[mine], y[mine])
            segments.append(symmetric_segments())
        for restore in undo:
            restore()
        gradients = [p.grad.full_tensor() for p in model.parameters()]
        return watch.seen, segments[-1] == segments[3], furthest(job, gradients)


def test_fully_sharded_buffers(team):
    for seen, steady, difference in team(2).run(sharded):
        assert seen == {"all_gather_single": {True}, "reduce_scatter_single": {True}}
        assert steady, "each step takes the blocks of the one before"
        assert difference < 1e-6


def left(job):
    gc.collect()
    before = symmetric_segments()
    with world(job):
        model = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        x, y, mine = rows(job)
        for _ in range(2):
            step(model, x[mine], y[mine])
        kept = allocate(1 << 20).fill_(job.rank)
    right = furthest(job, [p.grad for p in model.parameters()])
    values = kept.unique().tolist()  # a tensor outlives its group
    del model, kept
    gc.collect()
    return right, values, before, symmetric_segments()


def test_nothing_is_left_after_the_group(team):
    for rank, (difference, values, before, after) in enumerate(team(2).run(left)):
        assert difference < 1e-6
        assert values == [float(rank)]
        assert not before
        assert not after


def forked(job):
    """A child that spoils the gradients, then frees them, does so for itself."""
    with world(job):
        model = DistributedDataParallel(network(), gradient_as_bucket_view=True)
        x, y, mine = rows(job)
        for _ in range(2):
            step(model, x[mine], y[mine])
        child = os.fork()
        if child == 0:
            inherited = furthest(job, [p.grad for p in model.parameters()]) < 1e-6
            for p in model.parameters():
                p.grad.fill_(7)
            del model, p
            gc.collect()
            os._exit(0 if inherited else 1)
        code = os.waitpid(child, 0)[1]
        return code, furthest(job, [p.grad for p in model.parameters()])


def test_a_forked_child_spoils_nothing(team):
    for code, difference in team(2).run(forked):
        assert code == 0
        assert difference < 1e-6


def distrusted(job):
    """After a failed collective memory changes hands no more: a slow peer may still write there."""
    places = []
    with world(job):
        for _ in range(2):
            x = allocate(1 << 20)
            places.append(x.data_ptr())
            dist.all_reduce(x)
            del x
        y = allocate(1 << 20)
        places.append(y.data_ptr())
        job.meet()
        dist.group.WORLD._get_backend(torch.device("cpu")).abort()
        with pytest.raises(dist.DistBackendError):
            dist.all_reduce(y)
        segments = symmetric_segments()
        del y
        return places, len(segments - symmetric_segments())


def test_memory_of_a_failed_collective_is_not_used_again(team):
    for places, gone in team(2).run(distrusted):
        assert len(set(places)) == 1
        assert gone == 1


def without_descriptors(job):
    """Rank 1 may open no more files, so its tensor lies in ordinary memory."""
    n = 300_000
    with world(job):
        dist.barrier()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if job.rank == 1:
            lowest = os.dup(0)
            os.close(lowest)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
        mine = allocate(job.size * n)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        mine.copy_(torch.arange(job.size * n) + job.rank)
        part = torch.empty(n)
        dist.reduce_scatter_single(part, mine)
        first = torch.equal(part, (2 * torch.arange(job.size * n) + 1).float().chunk(2)[job.rank])
        dist.all_reduce(mine)
        second = torch.equal(mine, (2 * torch.arange(job.size * n) + 1).float())
        dist.all_gather_single(mine, part)
        third = torch.equal(mine, (2 * torch.arange(job.size * n) + 1).float())
        return weft.is_symmetric(mine), first, second, third


def test_ranks_may_differ_in_where_their_tensors_lie(team):
    assert team(2).run(without_descriptors) == [(True,) * 4, (False, True, True, True)]
