"""One rank of an MPI job, for test_natives.py: MPI's own collectives, run by Weft."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pytest

import weft

from collective_table import DTYPES, REDUCING, TABLE

COUNTS = (0, 1, 13, 5000, 100_003)
FLOATS = ("float32", "float64", "complex64", "complex128")
INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
# What MPI reduces: sums everywhere, the rest where it is defined.
OPS = {
    "sum": INTEGERS + FLOATS,
    "prod": INTEGERS + FLOATS,
    "min": INTEGERS + FLOATS[:2],
    "max": INTEGERS + FLOATS[:2],
    "avg": FLOATS,
    "premul_sum": FLOATS,
    "bit_and": INTEGERS,
    "bit_or": INTEGERS,
    "bit_xor": INTEGERS,
}


def numbers(rank: int, shape, dtype: str) -> np.ndarray:
    """Small whole numbers, so that every order of additions gives the same bits."""
    return np.random.default_rng(rank).integers(0, 3, shape).astype(dtype)


def same(comm: weft.Communicator, name: str, x, async_op=False, out=None, **options) -> None:
    """MPI's function gives what Weft's algorithm gives."""
    if name == "scatter" and out is None:
        out = np.zeros_like(x[0])
    outs = [None if out is None else out.copy() for _ in range(2)]
    call = getattr(comm, name)
    wanted = call(x, out=outs[0], **options)
    before = x.copy()
    got = call(x, out=outs[1], algorithm="native", async_op=async_op, **options)
    got = got.wait() if async_op else got
    np.testing.assert_array_equal(x, before)
    assert (got is None) == (wanted is None)
    if wanted is not None:
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted, err_msg=f"{name} {options} {x.dtype} {x.shape}")


def table(comm: weft.Communicator) -> None:
    """Each collective, for each type, size and root, waited for or not."""
    for name, (blocks, _, where) in TABLE.items():
        dtypes = INTEGERS + FLOATS if name in REDUCING else DTYPES
        for dtype in dtypes:
            for i, count in enumerate(COUNTS):
                x = numbers(comm.rank, (comm.size, count) if blocks else (count,), dtype)
                rooted = where == "root" or name in ("broadcast", "scatter")
                options = {"root": i % comm.size} if rooted else {}
                same(comm, name, x, async_op=i % 2 == 0, **options)
    comm.barrier(algorithm="native")
    comm.barrier(algorithm="native", async_op=True).wait()


def reductions(comm: weft.Communicator) -> None:
    for op, dtypes in OPS.items():
        options = {"op": op, "scale": 0.75} if op == "premul_sum" else {"op": op}
        for dtype in dtypes:
            for name in REDUCING:
                same(comm, name, numbers(comm.rank, (comm.size, 501), dtype), **options)


def in_place(comm: weft.Communicator) -> None:
    for name in ("allreduce", "alltoall", "broadcast"):
        x = numbers(comm.rank, (comm.size, 77), "int32")
        wanted = getattr(comm, name)(x)
        np.testing.assert_array_equal(getattr(comm, name)(x, out=x, algorithm="native"), wanted)


def uneven(comm: weft.Communicator) -> None:
    """Counts that differ by rank, some of them 0; on one rank all are."""
    for bias in (0, 1, 1000):
        counts = [(r + bias) * r for r in range(comm.size)]
        mine = numbers(comm.rank, counts[comm.rank], "float32")
        all_of = numbers(comm.rank, sum(counts), "float32")
        share = np.zeros(counts[comm.rank], "float32")
        same(comm, "allgather", mine, output_counts=counts)
        same(comm, "gather", mine, output_counts=counts, root=comm.size - 1)
        same(comm, "reduce_scatter", all_of, input_counts=counts)
        same(comm, "scatter", all_of, out=share, input_counts=counts)
        to = [(comm.rank + r) * bias for r in range(comm.size)]
        same(comm, "alltoall", numbers(9, sum(to), "int64"), input_counts=to, output_counts=to)
        # One rank gives counts, the others none.
        given = {"input_counts": [3] * comm.size} if comm.rank == 0 else {}
        also = {"output_counts": [3] * comm.size} if comm.rank == 0 else {}
        same(comm, "alltoall", numbers(comm.rank, 3 * comm.size, "int64"), **given, **also)


def several(comm: weft.Communicator) -> None:
    """Many under way at once, on three communicators, with Weft's own between them."""
    first, second = comm.split(0), comm.split(0, -comm.rank)
    expected = sum(range(comm.size))
    for _ in range(8):
        requests = []
        for one in (comm, first, second):
            for count in (1, 1000, 200_000):
                x = np.full(count, float(one.rank))
                requests.append(one.allreduce(x, async_op=True, algorithm="native"))
                requests.append(one.allreduce(x, async_op=True))
                requests.append(one.allreduce(x, op="max", async_op=True, algorithm="native"))
        for i, request in enumerate(requests):
            wanted = comm.size - 1 if i % 3 == 2 else expected
            assert set(request.wait().tolist()) == {wanted}
    first.close()
    second.close()


def again(comm: weft.Communicator) -> None:
    """More communicators one after the other than have MPI's functions at once."""
    for i in range(300):
        with comm.split(0) as part:
            assert part.allreduce(np.ones(1), algorithm="native")[0] == comm.size, i


def threads(comm: weft.Communicator) -> None:
    """Two threads make communicators at the same time, in orders of their own."""
    parents = [comm.split(0), comm.split(0, -comm.rank)]
    failures: list[BaseException] = []

    def work(parent: weft.Communicator) -> None:
        try:
            for _ in range(30):
                part = parent.split(0)
                assert part.allreduce(np.ones(1), algorithm="native")[0] == comm.size
        except BaseException as error:
            failures.append(error)

    started = [threading.Thread(target=work, args=(parent,)) for parent in parents]
    for one in started:
        one.start()
    for one in started:
        one.join()
    assert not failures, failures


def refused(comm: weft.Communicator, text: str, call, **options) -> None:
    with pytest.raises(weft.Unsupported, match=text):
        call(algorithm="native", **options)
    comm.barrier()  # it stays usable


def obstacles(comm: weft.Communicator) -> None:
    for dtype in ("bool", "float16"):
        x, op = np.ones(3, dtype), "bit_or" if dtype == "bool" else "sum"
        refused(comm, f"MPI does not reduce {dtype}", comm.allreduce, x=x, op=op)
    with weft.init(fabric="mpi", reproducible=True, timeout=20) as strict:
        refused(strict, "order of its own", strict.allreduce, x=np.ones(3))
        same(strict, "allreduce", np.ones(3, "int32"))


def too_many(comm: weft.Communicator) -> None:
    """Those that are open at the limit have none, on all ranks alike. Two lanes each."""
    kept = [comm.split(0) for _ in range(255)]  # `comm` itself is the 256th
    for one in (comm, kept[0], kept[-1]):
        same(one, "allreduce", np.ones(3))
    with comm.split(0) as last:
        refused(last, "has 512 communicators", last.allreduce, x=np.ones(3))
        assert last.allreduce(np.ones(3))[0] == comm.size
    kept.pop().close()
    with comm.split(0) as last:
        same(last, "allreduce", np.ones(3))


def fails_with(text: str, call) -> None:
    began = time.monotonic()
    with pytest.raises((weft.Aborted, weft.PeerLost), match=text):
        call()
    assert time.monotonic() - began < 10


def abort(comm: weft.Communicator) -> None:
    """Rank 0 never begins what the others wait for. Nobody's next communicator suffers."""
    comm.timeout = 20
    comm.barrier()
    if comm.rank == 0:
        time.sleep(0.3)
        comm.abort("on purpose")
    else:
        x = np.full(100_000, 7.0)
        out = np.full(100_000, -1.0)
        if comm.rank == 1:
            fails_with("on purpose", lambda: comm.allreduce(x, out=out, algorithm="native"))
        else:
            request = comm.allreduce(x, out=out, algorithm="native", async_op=True)
            fails_with("on purpose", request.wait)
        assert set(out.tolist()) == {-1.0}
        comm.close()
    with weft.init(fabric="mpi", timeout=20) as second:
        same(second, "allreduce", np.ones(100_000))


def ahead(comm: weft.Communicator) -> None:
    """The root's broadcast has ended, and nobody else's has begun: MPI's communicator is lost."""
    if comm.rank == 0:
        comm.barrier()
        x = np.ones(4)
        comm.broadcast(x, out=x, algorithm="native")
        comm.abort("on purpose")
    else:
        # In the first already, if the abort is here before all others.
        fails_with("on purpose", lambda: [comm.barrier(), comm.barrier()])
    comm.close()
    with weft.init(fabric="mpi", timeout=20) as second:
        for count in (1, 4, 5000):
            same(second, "broadcast", np.full(count, float(comm.rank)), root=1)


def die(comm: weft.Communicator) -> None:
    """MPI tells the others nothing. Its launcher ends them."""
    comm.barrier()
    if comm.rank == 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    comm.allreduce(np.ones(100_000), algorithm="native")


def leave(comm: weft.Communicator) -> None:
    """Rank 0 ends while the others wait for it in MPI's function."""
    comm.barrier()
    if comm.rank == 0:
        return comm.close()
    comm.timeout = 3
    with pytest.raises((weft.Aborted, weft.PeerLost, weft.Timeout)) as caught:
        comm.allreduce(np.ones(100_000), algorithm="native")
    assert "the fabric's own function" in str(caught.value)


def main() -> None:
    with weft.init(fabric="mpi", timeout=20) as comm:
        globals()[sys.argv[1]](comm)
        print(f"rank {comm.rank}: ok", flush=True)


if __name__ == "__main__":
    main()
