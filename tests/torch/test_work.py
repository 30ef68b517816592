"""Operations in flight: handles, futures, errors, and what is left afterwards."""

from __future__ import annotations

import contextlib
import datetime
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import values, world  # noqa: E402

from launch import run  # noqa: E402


def until(condition, seconds: float = 20.0) -> bool:
    """Polls; true if `condition` held in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def nobody_waits(job, numel):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with world(job):
        x = torch.full((numel,), float(job.rank + 1))
        future = dist.all_reduce(x, async_op=True).get_future()
        done = until(future.done)
        value = future.value()
        return done, len(value), value[0].data_ptr() == x.data_ptr(), x[-1].item()


@pytest.mark.parametrize("numel", [2, 1_000_003])
def test_a_future_completes_with_nobody_waiting_on_one_core(team, numel):
    assert team(2).run(nobody_waits, numel) == [(True, 1, True, 3.0)] * 2


def dropped_handles(job):
    with world(job):
        tensors = [torch.full((100_000,), 1.0) for _ in range(20)]
        for x in tensors:
            dist.all_reduce(x, async_op=True)  # the handle dies at once
        dist.barrier()
        return all(bool((x == job.size).all()) for x in tensors)


def test_an_operation_outlives_its_handle(team):
    assert team(2).run(dropped_handles) == [True, True]


def dropped_tensors(job):
    with world(job):
        for _ in range(50):
            dist.all_reduce(torch.ones(100_000), async_op=True)
            strided = torch.ones(2000)[::2]
            dist.all_gather([torch.zeros(1000)[::2] for _ in range(job.size)],
                            strided[::2], async_op=True)  # fmt: skip
        gc.collect()
        dist.barrier()
        return True


def test_an_operation_keeps_its_tensors(team):
    assert team(2).run(dropped_tensors) == [True, True]


def handle_of(job):
    with world(job):
        x = values(job.rank)
        work = dist.all_reduce(x, async_op=True)
        done = until(work.is_completed)
        again = dist.all_reduce(x, async_op=True)
        again.wait(datetime.timedelta(seconds=10))
        outcome = again.get_future_result().wait()
        again.block_current_stream()
        same = work.result()[0].data_ptr() == x.data_ptr()
        return done, work.is_success(), same, outcome


def test_what_a_handle_tells(team):
    success = 0  # of c10d's WorkResult
    assert team(2).run(handle_of) == [(True, True, True, success)] * 2


def chained(job):
    """A callback that starts a collective and waits for it, as PowerSGD's does, many at once."""
    with world(job):
        futures = []
        for i in range(8):
            x = torch.full((1000,), float(i))

            def then(future, i=i):
                y = future.value()[0]
                return dist.all_reduce(y, async_op=True).get_future().wait()[0] + i

            futures.append(dist.all_reduce(x, async_op=True).get_future().then(then))
        return [future.wait()[0].item() for future in futures]


def test_callbacks_may_wait_for_collectives(team):
    assert team(2).run(chained) == [[4.0 * i + i for i in range(8)]] * 2


def out_of_step(job):
    """Callbacks that start collectives, on ranks that are never at the same place."""
    with world(job, timeout=20):
        pair = dist.new_group([0, 1])
        futures = []
        for i in range(4):
            future = dist.all_reduce(torch.ones(100 + i), async_op=True).get_future()
            if job.rank == 2:
                time.sleep(0.03)  # so the future is complete before it has a callback

            def first(future, i=i):
                x = future.value()[0][: 10 + i]
                if job.rank < 2:
                    dist.all_reduce(x[:5], group=pair)
                inner = dist.all_reduce(x, async_op=True).get_future()
                return inner.then(lambda done: dist.all_reduce(done.value()[0][:3])).wait() or x

            def second(future, i=i):
                dist.all_reduce(future.value()[-1:])
                return future.value()

            futures.append(future.then(first).then(second))
            if job.rank == 0:
                time.sleep(0.03)  # so the callbacks run before the next collective starts
        main = torch.ones(7)
        dist.all_reduce(main)
        return main[0].item(), [future.wait().tolist() for future in futures]


def test_callbacks_that_start_collectives_do_so_in_one_order(team):
    for main, found in team(3).run(out_of_step):
        assert main == 3.0
        for i, x in enumerate(found):
            # Three ranks' 3, of which two had doubled the first five; then thrice the first three,
            # and thrice the last.
            assert x == [45.0] * 3 + [15.0] * 2 + [9.0] * (4 + i) + [27.0]


def failing_callback(job):
    with world(job):
        future = dist.all_reduce(torch.ones(2), async_op=True).get_future()

        def fails(future):
            raise ValueError("this one fails")

        after = future.then(fails).then(lambda failed: failed.value())
        with pytest.raises(RuntimeError, match="this one fails"):
            after.wait()
        called = threading.Event()
        future.add_done_callback(lambda future: called.set())
        return called.wait(10), isinstance(future, torch.futures.Future), future.done()


def test_callbacks_that_fail(team):
    assert team(2).run(failing_callback) == [(True, True, True)] * 2


def strided_future(job):
    with world(job):
        around = torch.zeros(10)
        x = around[::2]
        x.fill_(job.rank + 1)
        future = dist.all_reduce(x, async_op=True).get_future()
        assert until(future.done)
        return around.tolist()


def test_copies_are_back_when_the_future_is_complete(team):
    assert team(2).run(strided_future) == [[3.0, 0.0] * 5] * 2


def mixed(job):
    """Asynchronous, synchronous and point to point, from one thread, not waited for in order."""
    with world(job):
        other = 1 - job.rank
        pending, expected = [], []
        for i in range(60):
            x = torch.full((1 + 997 * (i % 7),), float(i + job.rank))
            if i % 3 == 0:
                pending.append((dist.all_reduce(x, async_op=True), x, 2 * i + 1.0))
            elif i % 3 == 1:
                dist.all_reduce(x)
                expected.append((x, 2 * i + 1.0))
            else:
                y = torch.empty_like(x)
                pending.append((dist.irecv(y, other, tag=i), y, i + other * 1.0))
                pending.append((dist.isend(x, other, tag=i), x, i + job.rank * 1.0))
        for work, x, value in reversed(pending):
            work.wait()
            expected.append((x, value))
        return all(bool((x == value).all()) for x, value in expected)


def test_mixtures(team):
    assert team(2).run(mixed) == [True, True]


def big_exchange(job):
    with world(job):
        x = torch.full((100 << 18,), float(job.rank))
        y = torch.empty_like(x)
        sent = dist.isend(x, 1 - job.rank)
        received = dist.irecv(y, 1 - job.rank)
        sent.wait()
        received.wait()
        return bool((y == 1 - job.rank).all())


def test_both_send_100_mib_first(team):
    assert team(2).run(big_exchange) == [True, True]


def any_source(job):
    with world(job):
        if job.rank:
            dist.send(torch.full((4,), float(job.rank)), 0, tag=job.rank % 2)
            return True
        seen = {}
        for tag in (0, 1, 1):
            x = torch.zeros(4)
            source = dist.recv(x, tag=tag)
            seen[source] = x[0].item()
            assert source % 2 == tag
        return seen == {1: 1.0, 2: 2.0, 3: 3.0}


def test_receive_from_any_source(team):
    assert all(team(4).run(any_source))


def batch(job):
    with world(job):
        right, left = (job.rank + 1) % job.size, (job.rank - 1) % job.size
        x, y = values(job.rank), torch.zeros(3, 4)
        operations = [dist.P2POp(dist.isend, x, right), dist.P2POp(dist.irecv, y, left)]
        for work in dist.batch_isend_irecv(operations):
            work.wait()
        return torch.equal(y, values(left))


def test_batches(team):
    assert all(team(3).run(batch))


def profiled(job):
    with world(job):
        x = torch.ones(6)
        with torch.autograd.profiler.profile(record_shapes=True) as profile:
            dist.all_reduce(x)
            dist.broadcast(x, 0, async_op=True).wait()
            dist.barrier()
        found = {e.name: e for e in profile.function_events if e.name.startswith("weft:")}
        return {name: (e.is_async, e.input_shapes) for name, e in found.items()}


def test_profiles_show_the_operations(team):
    expected = {
        "weft:all_reduce": (True, [[6]]),
        "weft:broadcast": (True, [[6]]),
        "weft:barrier": (True, []),
    }
    assert team(2).run(profiled) == [expected] * 2


def threads() -> list[str]:
    """The names of this process's threads, those of Weft only."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended meanwhile
            found.append((task / "comm").read_text().strip())
    return [name for name in found if name.startswith("weft")]


def what_is_left(job):
    handles = len(os.listdir("/proc/self/fd"))
    used = 0
    for _ in range(3):
        with world(job):
            dist.all_reduce(torch.ones(10), async_op=True).get_future().wait()
            half = dist.new_group([0, 1])
            dist.all_reduce(torch.ones(10), group=half)
            used = max(used, len(threads()))
    until(lambda: not threads())
    return used > 0, threads(), len(os.listdir("/proc/self/fd")) - handles


def test_destroyed_groups_leave_no_thread_and_no_descriptor():
    for used, left, descriptors in run(what_is_left, 2):
        assert used
        assert left == []
        assert descriptors <= 0


def again_in_the_same_store(job):
    store = dist.FileStore(os.path.join(job.directory, "kept"), job.size)
    results = []
    for round in range(3):
        dist.init_process_group("weft", store=store, rank=job.rank, world_size=job.size)
        x = torch.full((5,), float(round))
        dist.all_reduce(x)
        results.append(x[0].item())
        dist.destroy_process_group()
    return results


def test_a_world_made_again_over_the_same_store(team):
    assert team(2).run(again_in_the_same_store) == [[0.0, 2.0, 4.0]] * 2


def leaves_a_callback(job, place):
    with world(job):
        future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
        future.then(lambda _: (time.sleep(0.5), Path(place, f"{job.rank}").touch()))
        assert until(future.done)


def test_processes_end_after_their_callbacks(tmp_path):
    """A thread that asks for the GIL of an interpreter at its end would abort the process."""
    run(leaves_a_callback, 2, str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1"}


def never_destroyed(job):
    store = dist.FileStore(os.path.join(job.directory, "torch"), job.size)
    dist.init_process_group("weft", store=store, rank=job.rank, world_size=job.size)
    x = torch.ones(5)
    dist.all_reduce(x, async_op=True).get_future().wait()
    return x[0].item()


def test_processes_end_without_destroying_their_group():
    assert run(never_destroyed, 2) == [2.0, 2.0]


def forked(job):
    """A child that uses and destroys the group it inherited disturbs nobody."""
    with world(job):
        dist.all_reduce(torch.ones(1), async_op=True).get_future().wait()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                dist.all_reduce(torch.ones(1))
                text = "nothing was raised"
            except RuntimeError as error:
                text = str(error)
            dist.destroy_process_group()
            gc.collect()
            os.write(writer, text.encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        code = os.waitpid(child, 0)[1]
        x = torch.ones(1)
        dist.all_reduce(x, async_op=True).get_future().wait()
        return text, code, x.item()


def test_a_forked_child_is_refused_and_harmless(team):
    for text, code, total in team(2).run(forked):
        assert "fork" in text
        assert (code, total) == (0, 2.0)


def interrupted(job):
    with world(job):
        start = time.monotonic()
        if job.rank == 0:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                dist.all_reduce(torch.ones(1))
        else:
            time.sleep(0.5)
            # Though rank 0 had sent its part: this call begins after the end.
            with pytest.raises(dist.DistBackendError, match="rank 0 was interrupted"):
                dist.all_reduce(torch.ones(1))
        assert time.monotonic() - start < 5


def test_ctrl_c_ends_a_collective_everywhere(team):
    team(2).run(interrupted)
