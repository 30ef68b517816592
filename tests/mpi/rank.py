"""One rank of an MPI job, for test_fabric.py: does what its arguments name, over MPI."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pytest

import weft

from collective_table import TABLE, check

# A fabric carries bytes: one type of each length. tests/python/test_collectives.py has them all.
DTYPES = ("bool", "int16", "float32", "complex64")
FABRIC = os.environ["FABRIC"]


class Job:
    """What `check` asks for; one communicator after the other, by the rendezvous of the job."""

    def __init__(self, first: weft.Communicator) -> None:
        self.rank, self.size = first.rank, first.size

    def communicator(self, **options):
        return weft.init(fabric=FABRIC, **options)


def table(comm: weft.Communicator) -> None:
    job = Job(comm)
    for name in TABLE:
        for dtype in DTYPES:
            for async_op in (False, True):
                check(job, name, dtype, async_op)


def sizes(comm: weft.Communicator) -> None:
    """From nothing to several chunks."""
    for count in (0, 1, 13, 112, 113, 5000, 100_003, 3_000_001):
        x = np.arange(count, dtype=np.float64) % 11 + comm.rank
        expected = sum(np.arange(count) % 11 + r for r in range(comm.size))
        np.testing.assert_array_equal(comm.allreduce(x), expected)


def many(comm: weft.Communicator) -> None:
    """Communicators one after the other, and two side by side, while a message is waited for."""
    got, right, left = np.zeros(1), (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    pending = comm.irecv(got, left) if comm.size > 1 else None
    for _ in range(20):
        mine = np.full(3, float(comm.rank))
        with weft.init(fabric=FABRIC) as one, weft.init(fabric=FABRIC) as two:
            gathered, added = one.allgather(mine, async_op=True), two.allreduce(mine, async_op=True)
            assert added.wait()[0] == sum(range(comm.size))
            assert gathered.wait()[:, 0].tolist() == list(range(comm.size))
    if pending is not None:
        comm.send(np.full(1, float(comm.rank)), right)
        pending.wait()
        assert got[0] == left


def points(comm: weft.Communicator) -> None:
    if comm.size > 1:
        for count in (1, 100, 200_000):
            pass_on(comm, count)


def pass_on(comm: weft.Communicator, count: int) -> None:
    """To the rank on the right."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sending = comm.isend(np.full(count, comm.rank, np.int32), right, tag=3)
    got = np.empty(count, np.int32)
    comm.recv(got, left, tag=3)
    sending.wait()
    assert set(got.tolist()) == {left}


def elsewhere(comm: weft.Communicator) -> None:
    """After each call the ranks wait for each other where nobody looks for Weft's mail."""
    x = np.ones(700_000)
    calls = (comm.allreduce, comm.allgather, comm.broadcast, lambda x: pass_on(comm, x.size))
    for turn in range(5):
        for number, call in enumerate(calls if comm.size > 1 else calls[:3]):
            call(x)
            meet(comm, f"{turn}.{number}")
    if comm.size > 2:
        leave_for_later(comm)


def leave_for_later(comm: weft.Communicator) -> None:
    """What rank 0 has sent to rank 2 lies there unread, while ranks 0 and 1 go on."""
    if comm.rank == 0:
        comm.send(np.ones(3), 2)
        comm.send(np.ones(700_000), 1)
        comm.recv(np.ones(700_000), 1)
    elif comm.rank == 1:
        comm.recv(np.ones(700_000), 0)
        comm.send(np.ones(700_000), 0)
    meet(comm, "later")
    if comm.rank == 2:
        comm.recv(np.ones(3), 0)


def meet(comm: weft.Communicator, name: str) -> None:
    """By files."""
    folder = Path(os.environ["WEFT_RENDEZVOUS"])
    (folder / f"{name} {comm.rank}").touch()
    until = time.monotonic() + 10
    while len(list(folder.glob(f"{name} *"))) < comm.size:
        assert time.monotonic() < until, f"call {name}: another rank's has not ended"
        time.sleep(0.001)


def fails_with(text: str, call) -> None:
    """Who is told first tells the others: any of them may see an abort."""
    began = time.monotonic()
    with pytest.raises((weft.Aborted, weft.PeerLost), match=text):
        call()
    assert time.monotonic() - began < 10


def two_calls(comm: weft.Communicator) -> None:
    comm.barrier()
    comm.allreduce(np.ones(100_000))


def abort(comm: weft.Communicator) -> None:
    if comm.rank > 0:
        return fails_with("on purpose", lambda: two_calls(comm))
    comm.barrier()
    return comm.abort("on purpose")


def leave(comm: weft.Communicator) -> None:
    """Rank 0 ends while the others wait for it."""
    if comm.rank > 0:
        return fails_with("rank 0", lambda: two_calls(comm))
    comm.barrier()
    return comm.close()


def again(comm: weft.Communicator) -> None:
    """All make a second one, while rank 0 alone has closed its first."""
    comm.barrier()
    if comm.rank == 0:
        comm.close()
    with weft.init(fabric=FABRIC, timeout=30) as other:
        assert other.allreduce(np.ones(1))[0] == other.size


def fork(comm: weft.Communicator) -> None:
    """A child leaves its parent's lanes alone, also when it ends as Python does.

    Open MPI's OpenSHMEM ends itself once more when a child does that, and crashes.
    """
    leave = os._exit if "shmem" in FABRIC else sys.exit
    child = os.fork()
    if child == 0:
        with pytest.raises(weft.Unsupported, match="fork"):
            comm.allreduce(np.ones(3))
        leave(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert comm.allreduce(np.ones(1))[0] == comm.size


def late(comm: weft.Communicator) -> None:
    """Rank 0 leaves a long message that nobody receives, and its memory."""
    if comm.rank == 0:
        comm.isend(np.ones(3_000_000), 1)
        time.sleep(0.2)
        comm.abort("enough")
    else:
        time.sleep(0.5)


def split(comm: weft.Communicator) -> None:
    """Some ranks have left before others know that all have joined."""
    for _ in range(100):
        comm.split(0, comm.rank).close()


def stop(comm: weft.Communicator) -> None:
    """Rank 1 stands still for longer than the timeout, then goes on."""
    comm.barrier()
    comm.timeout = 1.5
    if comm.rank == 1:
        waker = subprocess.Popen(["sh", "-c", f"sleep 4; kill -CONT {os.getpid()}"])
        os.kill(os.getpid(), signal.SIGSTOP)
        waker.wait()
        comm.timeout = 20  # it hears of the others' abort, however busy the cores are
        return fails_with("rank 1", lambda: comm.allreduce(np.ones(100_000)))
    with pytest.raises((weft.Timeout, weft.Aborted), match="rank 1"):
        comm.allreduce(np.ones(100_000))


def die(comm: weft.Communicator) -> None:
    comm.barrier()
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.allreduce(np.ones(3))


def main() -> None:
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        if name in os.environ:  # neighbours share no memory, as if they were on two hosts
            os.environ["WEFT_NODE"] = f"node {int(os.environ[name]) % 2}"
    with weft.init(fabric=FABRIC, timeout=30) as comm:
        assert comm.size == int(os.environ["EXPECTED_RANKS"])
        for part in sys.argv[1:]:
            globals()[part](comm)
        print(f"rank {comm.rank}: ok", flush=True)


if __name__ == "__main__":
    main()
