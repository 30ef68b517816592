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
            with pytest.raises(weft.InvalidArgument, match="not above zero"):
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
