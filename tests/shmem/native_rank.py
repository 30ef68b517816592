"""One rank of an OpenSHMEM job, for test_natives.py: OpenSHMEM's own collectives, run by Weft."""

from __future__ import annotations

import contextlib
import sys

import numpy as np
import pytest

import weft

COUNTS = (0, 1, 13, 5000, 800_003)  # the last: in several pieces
INTEGERS = ("int16", "int32", "int64")
FLOATS = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
OPS = {
    "sum": INTEGERS + FLOATS + COMPLEX,
    "prod": INTEGERS + FLOATS + COMPLEX,
    "min": INTEGERS + FLOATS,
    "max": INTEGERS + FLOATS,
    "avg": FLOATS,
    "bit_and": INTEGERS,
    "bit_or": INTEGERS,
    "bit_xor": INTEGERS,
}


def numbers(rank: int, shape, dtype: str) -> np.ndarray:
    """Small whole numbers, so that every order of additions gives the same bits."""
    return np.random.default_rng(rank).integers(0, 3, shape).astype(dtype)


def same(comm: weft.Communicator, name: str, x: np.ndarray, **options) -> None:
    """OpenSHMEM's function gives what Weft's algorithm gives, waited for or not."""
    call = getattr(comm, name)
    wanted = call(x.copy(), **options)
    for async_op in (False, True):
        got = call(x.copy(), algorithm="native", async_op=async_op, **options)
        got = got.wait() if async_op else got
        np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {options} {x.dtype} {x.shape}")


def table(comm: weft.Communicator) -> None:
    for count in COUNTS:
        for op, dtypes in OPS.items():
            for dtype in dtypes if count < 100_000 else dtypes[:1]:
                same(comm, "allreduce", numbers(comm.rank, count, dtype), op=op)
        for dtype in ("uint8", "float16", "float64"):
            mine = numbers(comm.rank, count, dtype)
            for root in {0, comm.size - 1}:
                same(comm, "broadcast", mine, root=root)
            same(comm, "allgather", mine)
            same(comm, "alltoall", numbers(comm.rank, (comm.size, count), dtype))
    # Blocks of several pieces, of one, and empty ones.
    sizes = [(800_003, 0, 1)[rank % 3] for rank in range(comm.size)]
    mine = numbers(comm.rank, sizes[comm.rank], "float64")
    same(comm, "allgather", mine, output_counts=sizes)
    comm.barrier(algorithm="native")


def pairs(comm: weft.Communicator) -> None:
    """Groups of neighbours, and of every second rank, by turns: each has the common place alone."""
    groups = [comm.split(comm.rank // 2), comm.split(comm.rank % 2)]
    for turn in range(40):
        group = groups[turn % 2]
        mine = numbers(comm.rank + turn, 1000, "float32")
        got = group.allreduce(mine, algorithm="native")
        np.testing.assert_array_equal(got, group.allreduce(mine, algorithm="ring"))
    for group in groups:
        group.close()


def several(comm: weft.Communicator) -> None:
    """Calls under way on two communicators of the same ranks: their functions do not mix."""
    others = [comm.split(0), comm.split(0)]
    for turn in range(100):
        mine = [numbers(comm.rank + turn + i, 3000, "float32") for i in range(2)]
        requests = [
            other.allreduce(x, algorithm="native", async_op=True)
            for other, x in zip(others, mine, strict=True)
        ]
        got = [request.wait() for request in requests]
        for other, x, sum_of_all in zip(others, mine, got, strict=True):
            np.testing.assert_array_equal(sum_of_all, other.allreduce(x, algorithm="ring"))
    for other in others:
        other.close()


def crossed(comm: weft.Communicator) -> None:
    """Ranks that begin two functions in different orders get the right sums, or time out."""
    others = [(comm.split(0), 1), (comm.split(0), 10)]
    if comm.rank % 2:
        others.reverse()
    under_way = []
    for other, value in others:
        other.timeout = 2.0
        x = np.full(3, value, np.int32)
        under_way.append((other.allreduce(x, algorithm="native", async_op=True), value * comm.size))
    for request, right in under_way:
        with contextlib.suppress(weft.Timeout, weft.Aborted):
            np.testing.assert_array_equal(request.wait(), np.full(3, right))


def obstacles(comm: weft.Communicator) -> None:
    for name, x, said in [
        ("allreduce", np.ones(3, np.float16), "OpenSHMEM has no sum of float16"),
        ("allreduce", np.ones(3, np.uint32), "OpenSHMEM has no sum of uint32"),
        ("reduce_scatter", np.ones((comm.size, 3)), "OpenSHMEM has no such collective"),
    ]:
        with pytest.raises(weft.Unsupported, match=said):
            getattr(comm, name)(x, algorithm="native")
    backwards = comm.split(0, key=-comm.rank)
    with pytest.raises(weft.Unsupported, match="in rising order"):
        backwards.allreduce(np.ones(3), algorithm="native")
    np.testing.assert_array_equal(backwards.allreduce(np.ones(3)), np.full(3, comm.size))
    backwards.close()


def late(comm: weft.Communicator) -> None:
    """Rank 0 never comes: the others' call ends with its timeout, and the lock is free."""
    comm.barrier(algorithm="native")
    if comm.rank == 0:
        with pytest.raises((weft.Aborted, weft.PeerLost)):
            comm.recv(np.ones(1), 1)
        return
    comm.timeout = 1.0
    with pytest.raises((weft.Timeout, weft.Aborted)):
        comm.allreduce(np.ones(3), algorithm="native")


def main() -> None:
    with weft.init(fabric="shmem", timeout=30) as comm:
        globals()[sys.argv[1]](comm)
        print(f"rank {comm.rank}: ok\n", end="", flush=True)


if __name__ == "__main__":
    main()
