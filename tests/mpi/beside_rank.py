"""One rank of an MPI job, for test_from_mpi.py: `beside_rank.py PART LEVEL`, Weft beside mpi4py."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pytest

import weft


def load_mpi(level: str, initialize: bool):
    import mpi4py

    mpi4py.rc(thread_level=level, initialize=initialize)
    from mpi4py import MPI

    return MPI


if sys.argv[1] == "another":
    weft.init(fabric="mpi").close()
MPI = load_mpi(sys.argv[2], sys.argv[1] != "uninitialised")
FABRICS = ("mpi", None, "shm", "shm+mpi")


def check(theirs: MPI.Comm, ours: weft.Communicator) -> None:
    """Weft's ranks are those of `theirs`, in their order; the program's own use goes on."""
    assert (ours.rank, ours.size) == (theirs.rank, theirs.size)
    mine = np.arange(1000.0) + MPI.COMM_WORLD.rank
    added = ours.allreduce(mine)
    np.testing.assert_array_equal(added, theirs.allreduce(mine))
    order = ours.allgather(np.array([MPI.COMM_WORLD.rank]))
    assert order[:, 0].tolist() == theirs.allgather(MPI.COMM_WORLD.rank)


def kinds() -> None:
    """Any communicator: the world, a copy, splits in another order, one rank."""
    world = MPI.COMM_WORLD
    odd = world.Split(world.rank % 2, -world.rank)
    grid = world.Create_cart([world.size])
    for fabric in FABRICS:
        for theirs in (world, world.Dup(), odd, grid, MPI.COMM_SELF):
            with weft.Communicator.from_mpi(theirs, fabric=fabric, timeout=20) as ours:
                check(theirs, ours)
                with ours.split(0) as part:
                    check(theirs, part)


def some() -> None:
    """Nobody but the members takes part: the other ranks never hear of it."""
    world = MPI.COMM_WORLD
    if world.rank == 0:
        world.recv(source=1)  # until all is over
        return
    members = world.Create_group(world.group.Excl([0]))
    for fabric in FABRICS:
        with weft.Communicator.from_mpi(members, fabric=fabric, timeout=20) as ours:
            check(members, ours)
            if fabric == "mpi":
                got = ours.allreduce(np.ones(5), algorithm="native")
                assert got.tolist() == [members.size] * 5
    members.Barrier()
    if world.rank == 1:
        world.send("over", dest=0)


def meanwhile() -> None:
    """The program calls MPI while Weft's calls are under way, on the same ranks."""
    world = MPI.COMM_WORLD
    with weft.Communicator.from_mpi(world, fabric="mpi", timeout=20) as ours:
        open_receive = world.irecv(source=(world.rank - 1) % world.size)
        for count in (1, 5000, 300_000):
            x = np.full(count, float(world.rank))
            for algorithm in ("ring", "native"):
                requests = [ours.allreduce(x, async_op=True, algorithm=algorithm) for _ in range(5)]
                for i in range(20):
                    assert world.allreduce(i) == i * world.size
                for request in requests:
                    assert set(request.wait().tolist()) == {sum(range(world.size))}
        world.send("mine", dest=(world.rank + 1) % world.size)
        assert open_receive.wait() == "mine"


def between() -> None:
    """One thread at a time: Weft's calls and the program's take turns."""
    world = MPI.COMM_WORLD
    assert MPI.Query_thread() == MPI.THREAD_SERIALIZED
    with weft.Communicator.from_mpi(world, fabric="mpi", timeout=20) as ours:
        for i in range(20):
            check(world, ours)
            x = np.full(3000, float(i))
            assert ours.allreduce(x, algorithm="native")[0] == i * world.size
            assert ours.allreduce(x, async_op=True).wait()[0] == i * world.size


def often() -> None:
    """More often than MPICH has communicators left, of its 2,000, with the same members."""
    world = MPI.COMM_WORLD
    held = [world.Dup() for _ in range(1500)]
    for i in range(600):
        with weft.Communicator.from_mpi(world, fabric="mpi", timeout=20) as ours:
            assert ours.allreduce(np.ones(1))[0] == world.size, i
    for one in held:
        one.Free()


def refused(error: type, text: str, comm, **options) -> None:
    with pytest.raises(error, match=text):
        weft.Communicator.from_mpi(comm, **options)


def wrong() -> None:
    world = MPI.COMM_WORLD
    copy = world.Dup()
    copy.Free()
    half = world.Split(world.rank % 2)
    both = half.Create_intercomm(0, world, 1 - world.rank % 2)
    refused(weft.InvalidArgument, "MPI_COMM_NULL", MPI.COMM_NULL)
    refused(weft.InvalidArgument, "MPI_COMM_NULL", copy)
    refused(weft.InvalidArgument, "between two groups.*Merge", both)
    for other in (None, 3, "world", world.group):
        refused(weft.InvalidArgument, "give a communicator of mpi4py", other)
    refused(weft.InvalidArgument, 'fabric "none"', world, fabric="none")
    refused(weft.InvalidArgument, "timeout", world, timeout=-1)
    refused(weft.Unsupported, "all ranks of the job", world, fabric="shm+shmem")
    with weft.Communicator.from_mpi(world, timeout=20) as ours:
        check(world, ours)
    MPI.Finalize()
    refused(weft.Unsupported, "make communicators before MPI_Finalize", world)


def another() -> None:
    """mpi4py has loaded another MPI than Weft had before."""
    refused(weft.Unsupported, "two MPI libraries", MPI.COMM_WORLD)


def uninitialised() -> None:
    refused(weft.InvalidArgument, "Init_thread", MPI.COMM_WORLD)
    MPI.Init_thread(MPI.THREAD_MULTIPLE)
    with weft.Communicator.from_mpi(MPI.COMM_WORLD, fabric="mpi", timeout=20) as ours:
        check(MPI.COMM_WORLD, ours)
    MPI.Finalize()


def late() -> None:
    """One rank comes later: the others wait."""
    if MPI.COMM_WORLD.rank == 0:
        time.sleep(1)
    with weft.Communicator.from_mpi(MPI.COMM_WORLD, timeout=20) as ours:
        check(MPI.COMM_WORLD, ours)


def fails() -> None:
    """What one rank finds wrong, all raise."""
    tuning = os.devnull if MPI.COMM_WORLD.rank == 0 else ""
    refused(weft.InvalidArgument, "rank 0", MPI.COMM_WORLD, tuning=tuning, timeout=20)
    with weft.Communicator.from_mpi(MPI.COMM_WORLD, timeout=20) as ours:
        check(MPI.COMM_WORLD, ours)


rank = MPI.COMM_WORLD.rank if MPI.Is_initialized() else "?"
globals()[sys.argv[1]]()
print(f"rank {rank}: ok", flush=True)
