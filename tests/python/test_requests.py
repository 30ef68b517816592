"""Operations in flight: they finish by themselves, keep their arrays, and can be waited for."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

import weft


def finishes_unwaited(job):
    with job.communicator(timeout=20) as comm:
        request = comm.allreduce(np.ones(100_000), async_op=True)
        deadline = time.monotonic() + 15
        while not request.test():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert request.result[0] == job.size


def keeps_arrays(job):
    with job.communicator(timeout=20) as comm:
        out = np.zeros((40, 25_000))
        for row in out:
            comm.allreduce(np.full(25_000, job.rank + 1.0), out=row, async_op=True)
            gc.collect()  # the inputs are known to the operations only
        comm.barrier()
        np.testing.assert_array_equal(out, np.full(out.shape, job.size * (job.size + 1) / 2))


def keeps_order(job):
    with job.communicator(timeout=20) as comm:
        x = np.ones(1000)
        requests = [comm.allreduce(x, out=x, async_op=True) for _ in range(5)]
        requests.append(comm.broadcast(x * 0 + 7, out=np.empty(1000), async_op=True))
        assert requests[-1].wait()[0] == 7
        assert all(request.test() for request in requests)
        assert x[0] == job.size**5


def wait_may_be_repeated(job):
    with job.communicator(timeout=20) as comm:
        if job.rank == 0:
            request = comm.irecv(np.empty(4), source=1)
            with pytest.raises(weft.Timeout, match="goes on"):
                request.wait(0.02)
            with pytest.raises(weft.InvalidArgument, match="has not finished"):
                _ = request.result
            with pytest.raises(weft.InvalidArgument, match="above zero"):
                request.wait(0)
            comm.barrier()
            np.testing.assert_array_equal(request.wait(10), np.arange(4.0))
        else:
            comm.barrier()
            comm.send(np.arange(4.0), 0)


def used_by_threads(job):
    with job.communicator(timeout=20) as comm:
        parts = [comm.split(0, 0) for _ in range(3)]
        seen = []

        def work(part, value):
            for _ in range(50):
                seen.append(part.allreduce(np.full(64, value))[0] == value * job.size)

        threads = [threading.Thread(target=work, args=(p, v)) for v, p in enumerate(parts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [True] * 150
        for part in parts:
            part.close()


@pytest.mark.parametrize(
    "body", [finishes_unwaited, keeps_arrays, keeps_order, wait_may_be_repeated, used_by_threads]
)
def test_requests(team, body):
    team(2).run(body)


def interrupted_wait(job):
    with job.communicator(timeout=60) as comm:
        if job.rank == 0:
            request = comm.irecv(np.empty(1), source=1)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                request.wait()
            assert time.monotonic() - start < 5
            comm.barrier()
            request.wait()
        else:
            comm.barrier()
            comm.send(np.ones(1), 0)


def test_ctrl_c_ends_a_wait(team):
    team(2).run(interrupted_wait)


def interrupted_collective(job):
    with job.communicator(timeout=60) as comm:
        start = time.monotonic()
        if job.rank == 0:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                comm.barrier()
        else:
            time.sleep(0.5)
            # Though rank 0 had said that it is there: this call begins after the end.
            with pytest.raises(weft.Aborted, match="rank 0 was interrupted while it waited"):
                comm.barrier()
        assert time.monotonic() - start < 5


def interrupted_behind_a_request(job):
    """The collective waits in the queue for one that rank 1 never enters."""
    with job.communicator(timeout=60) as comm:
        if job.rank == 0:
            first = comm.allreduce(np.ones(4), async_op=True)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                comm.barrier()
            with pytest.raises(weft.Aborted, match="interrupted"):
                first.wait()
        else:
            time.sleep(1)


@pytest.mark.parametrize("body", [interrupted_collective, interrupted_behind_a_request])
def test_ctrl_c_ends_a_collective_everywhere(team, body):
    team(2).run(body)


def forked(job):
    """A child that forgets the communicator it inherited disturbs nobody."""
    comm = job.communicator(timeout=20)
    comm.allreduce(np.ones(1), async_op=True).wait()
    child = os.fork()
    if child == 0:
        comm.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert comm.allreduce(np.ones(1))[0] == job.size
    comm.close()


def test_a_forked_child_leaves_the_communicator_to_its_parent(team):
    team(2).run(forked)


def closed(job):
    comm = job.communicator(timeout=20)
    comm.close()
    comm.close()
    with pytest.raises(weft.InvalidArgument, match="is closed"):
        comm.allreduce(np.ones(1))
    with pytest.raises(weft.InvalidArgument, match="is closed"):
        comm.barrier(async_op=True)


def test_use_after_close(team):
    team(2).run(closed)
