"""Every collective gives what it defines: collective x ranks x dtype, in and out of place."""

from __future__ import annotations

import numpy as np
import pytest

import weft

from collective_table import DTYPES, ROOT, TABLE, check, inputs


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TABLE)
def test_result(team, name, dtype, ranks):
    team(ranks).run(check, name, dtype, False)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("name", TABLE)
def test_async(team, name, ranks):
    team(ranks).run(check, name, "float32", True)


OPS = {
    "sum": lambda xs: sum(xs),
    "prod": lambda xs: np.prod(xs, axis=0),
    "min": lambda xs: np.min(xs, axis=0),
    "max": lambda xs: np.max(xs, axis=0),
    "avg": lambda xs: sum(xs) / len(xs),
    "premul_sum": lambda xs: sum(0.5 * x for x in xs),
    "bit_and": lambda xs: np.bitwise_and.reduce(xs),
    "bit_or": lambda xs: np.bitwise_or.reduce(xs),
    "bit_xor": lambda xs: np.bitwise_xor.reduce(xs),
}


def reduction(job, op, dtype):
    xs = inputs(False, job.size, dtype)
    with job.communicator(timeout=20) as comm:
        scale = {"scale": 0.5} if op == "premul_sum" else {}
        np.testing.assert_allclose(comm.allreduce(xs[job.rank], op, **scale), OPS[op](xs))


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("op", OPS)
def test_reduction(team, op, ranks):
    team(ranks).run(reduction, op, "int32" if op.startswith("bit") else "float64")


def counts_by_rank(job):
    counts = [3 * r + 1 for r in range(job.size)]
    starts = np.concatenate([[0], np.cumsum(counts)])
    mine = slice(starts[job.rank], starts[job.rank + 1])
    whole = np.arange(starts[-1], dtype="float32")
    with job.communicator(timeout=20) as comm:
        gathered = comm.allgather(whole[mine], output_counts=counts)
        np.testing.assert_array_equal(gathered, whole)
        at_root = comm.gather(whole[mine], output_counts=counts)
        assert (at_root is None) == (job.rank != ROOT)
        if at_root is not None:
            np.testing.assert_array_equal(at_root, whole)
        share = comm.reduce_scatter(whole, input_counts=counts)
        np.testing.assert_array_equal(share, whole[mine] * job.size)
        out = np.empty(counts[job.rank], "float32")
        comm.scatter(whole if job.rank == ROOT else None, input_counts=counts, out=out)
        np.testing.assert_array_equal(out, whole[mine])


def alltoall_counts(job):
    # Rank s sends 10 * s + d + 1 elements, all 100 * s + d, to rank d; some sends are empty.
    def many(s, d):
        return 0 if s == d else 10 * s + d + 1

    me, ranks = job.rank, range(job.size)
    x = np.concatenate([np.full(many(me, d), 100 * me + d) for d in ranks])
    wanted = np.concatenate([np.full(many(s, me), 100 * s + me) for s in ranks])
    with job.communicator(timeout=20) as comm:
        got = comm.alltoall(
            x, input_counts=[many(me, d) for d in ranks], output_counts=[many(s, me) for s in ranks]
        )
    np.testing.assert_array_equal(got, wanted)


def alltoall_in_place(job):
    # Ranks s and d exchange s + d elements.
    me, ranks = job.rank, range(job.size)
    counts = [me + r for r in ranks]
    with job.communicator(timeout=20) as comm:
        for algorithm in ("", "staged"):
            x = np.concatenate([np.full(me + d, 100 * me + d) for d in ranks])
            got = comm.alltoall(
                x, out=x, input_counts=counts, output_counts=counts, algorithm=algorithm
            )
            assert got is x
            np.testing.assert_array_equal(
                x, np.concatenate([np.full(s + me, 100 * s + me) for s in ranks])
            )
        if job.size > 1:
            others = [*counts[1:], counts[0]]
            with pytest.raises(weft.InvalidArgument, match="must be equal"):
                comm.alltoall(x, out=x, input_counts=counts, output_counts=others)
        comm.barrier()


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("body", [counts_by_rank, alltoall_counts, alltoall_in_place])
def test_counts_by_rank(team, body, ranks):
    team(ranks).run(body)


def every_algorithm(job, names):
    x = np.arange(5000, dtype="float32")
    with job.communicator(timeout=20) as comm:
        for name in names:
            assert comm.algorithm_for("allreduce", x.size, algorithm=name) == f"allreduce/{name}"
            np.testing.assert_array_equal(comm.allreduce(x, algorithm=name), x * job.size)


def test_algorithm_by_name(team):
    team(3).run(every_algorithm, ["ring", "two_shot", "recursive_doubling"])


def held(job):
    import time

    with job.communicator(timeout=20) as comm:
        for late in range(job.size):
            if job.rank == late:
                time.sleep(0.02)
            entered = np.array([time.monotonic_ns()])
            comm.barrier()
            left = time.monotonic_ns()
            assert left >= comm.allreduce(entered, "max")[0]


def test_barrier_holds_until_the_last_has_come(team):
    team(3).run(held)
