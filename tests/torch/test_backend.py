"""What a group can do besides collectives: coalescing, other groups from it, hooks, estimates."""

from __future__ import annotations

import datetime
import os
import signal
import threading
import time

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
import torch.distributed.distributed_c10d as c10d  # noqa: E402
from group import values, world  # noqa: E402

from weft import _core  # noqa: E402

from launch import Team  # noqa: E402

CPU = torch.device("cpu")


def gathered(size: int, salt: int = 0) -> torch.Tensor:
    return torch.cat([values(r, salt=salt) for r in range(size)])


def coalesced(job):
    """Each kind of block, by the manager with and without a device, and by hand."""
    right, left = (job.rank + 1) % job.size, (job.rank - 1) % job.size
    with world(job) as group:
        checks = {}
        sent = [values(job.rank, salt=i) for i in range(3)]
        received = [torch.zeros(3, 4) for _ in sent]
        batch = [dist.P2POp(dist.isend, x, right) for x in sent]
        batch += [dist.P2POp(dist.irecv, y, left) for y in received]
        works = dist.batch_isend_irecv(batch)
        works[0].get_future().wait()
        checks["one handle"] = len(works) == 1 and works[0].is_completed()
        checks["batch"] = all(torch.equal(y, values(left, salt=i)) for i, y in enumerate(received))

        for device in (None, CPU):
            tensors = [torch.ones(n) for n in (3, 1000, 70_000)]
            with dist._coalescing_manager(device=device):
                for x in tensors:
                    dist.all_reduce(x)
            checks[f"all_reduce {device}"] = all(bool((x == job.size).all()) for x in tensors)
            outputs = [torch.zeros(4, 3 * job.size).t() for _ in range(3)]  # not contiguous
            with dist._coalescing_manager(device=device, async_ops=True) as manager:
                for i, y in enumerate(outputs):
                    dist.all_gather_into_tensor(y, values(job.rank, salt=i))
            manager.wait()
            checks[f"all_gather {device}"] = all(
                torch.equal(y, gathered(job.size, i)) for i, y in enumerate(outputs)
            )
            wholes = [gathered(job.size, i).t().contiguous().t() for i in range(3)]
            parts = [torch.zeros(3, 4) for _ in wholes]
            with dist._coalescing_manager(device=device):
                for x, y in zip(parts, wholes, strict=True):
                    dist.reduce_scatter_tensor(x, y, dist.ReduceOp.AVG)
            checks[f"reduce_scatter {device}"] = all(
                torch.equal(x, values(job.rank, salt=i)) for i, x in enumerate(parts)
            )

        group._start_coalescing(CPU)
        x, y = torch.full((5,), float(job.rank)), torch.zeros(3, 4)
        assert dist.broadcast(x, 1) is None
        assert dist.isend(sent[0], right) is None
        assert dist.irecv(y, left) is None
        checks["nothing yet"] = x[0].item() == job.rank
        group._end_coalescing(CPU).wait()
        checks["mixed"] = x[0].item() == 1 and torch.equal(y, values(left))
        return [name for name, right in checks.items() if not right]


def test_coalescing(team):
    assert team(3).run(coalesced) == [[]] * 3


def refused_in_a_batch(job):
    with world(job) as group:
        spread = torch.ones(1, 3).expand(2, 3)
        batch = [dist.P2POp(dist.irecv, spread, 1 - job.rank)]
        with pytest.raises(ValueError, match="clone"):
            dist.batch_isend_irecv(batch)
        with pytest.raises(ValueError, match="not started coalescing"):
            group._end_coalescing(CPU)
        x = torch.ones(1)
        dist.all_reduce(x)
        return x.item()


def test_a_refused_batch_leaves_the_group_usable(team):
    assert team(2).run(refused_in_a_batch) == [2.0, 2.0]


def shrunk(job, dies: bool):
    with world(job, timeout=20) as group:
        x = torch.ones(4)
        dist.all_reduce(x)
        if dies:
            job.say("ready")
            if job.rank == 1:
                time.sleep(60)  # killed here
            with pytest.raises(dist.DistBackendError):
                dist.all_reduce(x)
            found = group._get_backend(CPU).get_error()
            assert found == torch._C._distributed_c10d.ErrorType.REMOTE_ERROR
        if job.rank == 1:
            with pytest.raises(RuntimeError, match="exclusion list"):
                dist.shrink_group([1])
            return None
        smaller = dist.shrink_group([1], shrink_flags=c10d.SHRINK_ABORT if dies else 0)
        y = torch.full((3,), float(job.rank))
        dist.all_reduce(y)
        every: list = [None] * 2
        dist.all_gather_object(every, job.rank)
        return smaller.rank(), smaller.size(), y[0].item(), every


def test_a_group_shrinks(team):
    expected = [(0, 2, 2.0, [0, 2]), None, (1, 2, 2.0, [0, 2])]
    assert team(3).run(shrunk, False) == expected


def test_a_group_shrinks_after_a_death():
    with Team(3) as team:
        team.start(shrunk, True)
        for rank in range(3):
            team.hear(rank)
        team.kill(1, signal.SIGKILL)
        outcomes = team.finish(30, [0, 2])
        assert [o.value for o in outcomes] == [(0, 2, 2.0, [0, 2]), (1, 2, 2.0, [0, 2])], [
            o.story() for o in outcomes
        ]


def merged(job):
    with world(job):
        halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        half = halves[job.rank // 2]
        store = dist.FileStore(os.path.join(job.directory, "merged"), job.size)
        limit = datetime.timedelta(seconds=20)
        whole = half.merge_remote_group(store, 4, limit, "both", "two halves")
        x = torch.full((5,), 10.0**job.rank)
        whole.allreduce([x]).wait()
        found = whole.size(), x[0].item(), whole.group_name
        whole.shutdown()
        return found


def test_groups_merge(team):
    results = team(4).run(merged)
    assert [r[:2] for r in results] == [(4, 1111.0)] * 4


def hooked(job):
    with world(job) as group:
        assert not group._has_hooks()
        seen = []
        group._register_on_completion_hook(
            lambda info: seen.append((info.op_type, info.active_duration.total_seconds()))
        )
        dist.all_reduce(torch.ones(10))
        work = dist.broadcast(torch.ones(100_000), 0, async_op=True)
        work.wait()
        dist.isend(torch.ones(3), 1 - job.rank)
        dist.recv(torch.ones(3), 1 - job.rank)
        group._wait_for_pending_works()
        kinds = sorted(str(kind).rsplit(".", 1)[-1] for kind, _ in seen)
        return group._has_hooks(), kinds, all(0 < seconds < 10 for _, seconds in seen)


def test_completion_hooks_see_every_operation(team):
    kinds = ["ALLREDUCE", "BROADCAST", "RECV", "SEND"]
    assert team(2).run(hooked) == [(True, kinds, True)] * 2


def timed(job):
    with world(job) as group:
        work = dist.all_reduce(torch.ones(10), async_op=True)
        work.wait()
        with pytest.raises(RuntimeError, match="not timed"):
            work._get_duration()
        group._enable_collectives_timing()
        work = dist.all_reduce(torch.ones(1_000_000), async_op=True)
        work.wait()
        return 0 < work._get_duration() < 10_000  # milliseconds


def test_operations_are_timed_if_asked(team):
    assert team(2).run(timed) == [True, True]


def estimated(job):
    with world(job):
        x, y = torch.full((8,), 7.0), torch.full((4 << 20,), 7.0)
        times = []
        for tensor in (x, y):
            with dist._time_estimator() as estimate:
                dist.all_reduce(tensor)
                dist.all_reduce(tensor, async_op=True).wait()
            times.append(estimate.estimated_time)
        if job.rank == 0:  # after the first, of one rank alone
            with dist._time_estimator() as estimate:
                dist.all_gather_into_tensor(torch.zeros(16), x)
                dist.batch_isend_irecv([dist.P2POp(dist.isend, y, 1)])
            assert estimate.estimated_time > 0
            with dist._time_estimator() as estimate:
                pass
            assert estimate.estimated_time == 0
        with pytest.raises(ValueError, match="5 elements"), dist._time_estimator():
            dist.reduce_scatter_tensor(x, torch.ones(5))
        untouched = bool((x == 7).all()) and bool((y == 7).all())
        dist.all_reduce(x)
        return times, untouched, x[0].item()


two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="two ranks on one core have no estimates"
)


@two_cores
def test_time_estimates(team):
    results = team(2).run(estimated)
    (small, large), untouched, total = results[0]
    assert results[0] == results[1], "ranks estimate the same"
    assert untouched
    assert total == 14.0
    assert 0.1 < small < 100_000  # microseconds
    assert large > 2 * small


def estimated_ways(job):
    """What there is to estimate besides: other calls, roots, counts, memory, peers."""
    with world(job) as group:
        backend = group._get_backend(CPU)
        right = (job.rank + 1) % job.size
        x, y = torch.full((1 << 20,), 7.0), torch.zeros(1 << 20)
        shared = backend.allocate_tensor(1 << 20, dtype=torch.float32, device=CPU).fill_(7.0)
        splits = [100 * (i + 1) for i in range(job.size)]
        calls = {
            "allreduce": lambda: dist.all_reduce(x),
            "symmetric": lambda: dist.all_reduce(shared),
            "broadcast": lambda: dist.broadcast(x, job.size - 1),
            "reduce": lambda: dist.reduce(x, job.size - 1),
            "barrier": dist.barrier,
            "uneven": lambda: dist.all_to_all_single(
                y[: sum(splits)], x[: sum(splits)], splits, splits
            ),
            "allgather": lambda: dist.all_gather_into_tensor(y, x[: x.numel() // job.size]),
        }
        if job.size > 1:
            calls["send"] = lambda: dist.send(x, right)
            calls["receive from any"] = lambda: group.recv_anysource([x], 0)
        times = {}
        for name, call in calls.items():
            with dist._time_estimator() as estimate:
                call()
            times[name] = estimate.estimated_time
        return times


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=two_cores)])
def test_estimates_of_every_kind(team, ranks):
    times, *others = team(ranks).run(estimated_ways)
    assert all(time > 0 for time in times.values()), times
    assert all(other == times for other in others)
    if ranks > 1:
        assert times["symmetric"] < times["allreduce"], "it copies once less"
        assert times["barrier"] < times["broadcast"] < times["allreduce"]


def estimated_over_a_network(job):
    os.environ["WEFT_FABRIC"] = "ofi"
    try:
        with world(job):
            refused = pytest.raises(NotImplementedError, match="do not share memory")
            with refused, dist._time_estimator():
                pass
            x = torch.ones(4)
            dist.all_reduce(x)
            return x[0].item()
    finally:
        del os.environ["WEFT_FABRIC"]


@pytest.mark.skipif(
    not any(f["name"] == "ofi" and f["available"] for f in _core.system_info()["fabrics"]),
    reason="no libfabric",
)
def test_ranks_that_share_no_memory_have_no_estimates(team):
    assert team(2).run(estimated_over_a_network) == [2.0, 2.0]


def estimated_on_one_core(job):
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with world(job):
            refused = pytest.raises(NotImplementedError, match="2 ranks on 1 cores take turns")
            with refused, dist._time_estimator():
                pass
            x = torch.ones(4)
            dist.all_reduce(x)
            return x[0].item()
    finally:
        os.sched_setaffinity(0, cores)


def test_ranks_that_take_turns_have_no_estimates(team):
    assert team(2).run(estimated_on_one_core) == [2.0, 2.0]


def used_after_abort(job):
    with world(job, timeout=20) as group:
        pending = dist.irecv(torch.ones(4), 1 - job.rank)
        work = dist.all_reduce(torch.ones(4), async_op=True) if job.rank == 0 else None
        dist.send(torch.ones(1), 1 - job.rank, tag=5)
        dist.recv(torch.ones(1), 1 - job.rank, tag=5)
        job.meet()
        if job.rank == 0:
            group.abort()
        for handle in filter(None, (pending, work)):
            with pytest.raises(dist.DistBackendError, match="rank 0 aborted the process group"):
                handle.wait()
            assert not handle.is_success()
            with pytest.raises(dist.DistBackendError, match="rank 0 aborted the process group"):
                handle.wait()
            with pytest.raises(RuntimeError, match="rank 0 aborted the process group"):
                handle.get_future().wait()
        with pytest.raises(dist.DistBackendError, match="rank 0 aborted the process group"):
            dist.all_reduce(torch.ones(4), async_op=True)


def test_work_raises_after_an_abort(team):
    team(2).run(used_after_abort)


def crossed(job):
    """Three groups, three threads, each in another order on each rank."""
    with world(job, timeout=30):
        groups = [dist.new_group(list(range(job.size))) for _ in range(3)]
        totals = [0.0] * 3

        def use(which):
            for step in range(20):
                x = torch.full((1 + 5000 * (step % 3),), float(which + 1))
                work = dist.all_reduce(x, group=groups[which], async_op=step % 2 == 1)
                if work:
                    work.wait()
                totals[which] += x[-1].item()

        threads = [
            threading.Thread(target=use, args=((i + job.rank) % 3,), daemon=True) for i in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return totals, any(thread.is_alive() for thread in threads)


def test_groups_used_from_several_threads(team):
    assert team(3).run(crossed) == [([60.0, 120.0, 180.0], False)] * 3


def in_order_of_the_rank(job):
    """One thread, two groups: their asynchronous collectives start in another order on each."""
    with world(job, timeout=20):
        groups = [dist.new_group([0, 1]), dist.new_group([0, 1])]
        order = groups if job.rank == 0 else groups[::-1]
        tensors = {group: torch.ones(50_000) for group in groups}
        works = [dist.all_reduce(tensors[g], group=g, async_op=True) for g in order]
        for work in works:
            work.wait()
        return [tensors[g][-1].item() for g in groups]


def test_groups_used_in_different_orders(team):
    assert team(2).run(in_order_of_the_rank) == [[2.0, 2.0]] * 2


def other_devices(job):
    with world(job) as group:
        backend = group._get_backend(CPU)
        elsewhere = torch.ones(3, device="meta")
        with pytest.raises(ValueError, match=f"rank {job.rank}, all_reduce: tensor is on meta"):
            backend.allreduce([elsewhere], dist.AllreduceOptions())
        options = dist.ReduceScatterOptions()
        with pytest.raises(ValueError, match="is on meta"):
            backend._reduce_scatter_base(elsewhere, torch.ones(6), options)
        return c10d._get_pg_default_device(group).type


def test_tensors_on_other_devices_are_refused(team):
    assert team(2).run(other_devices) == ["cpu", "cpu"]
