"""What every collective gives, as a table, and a rank's check of one row."""

from __future__ import annotations

import numpy as np

ROOT = 0
DTYPES = ["bool", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64", "complex64"]
COUNT = 1031  # of each block: odd, over one cache line, under one slot


def add(xs):
    return np.logical_or.reduce(xs) if xs[0].dtype == bool else sum(xs[1:], xs[0])


# name: (elements of x in blocks, result on rank r from all ranks' x, ranks that have a result)
TABLE = {
    "allreduce": (False, lambda xs, r, n: add(xs), "all"),
    "broadcast": (False, lambda xs, r, n: xs[ROOT], "all"),
    "reduce": (False, lambda xs, r, n: add(xs), "root"),
    "allgather": (False, lambda xs, r, n: np.stack(xs), "all"),
    "gather": (False, lambda xs, r, n: np.stack(xs), "root"),
    "reduce_scatter": (True, lambda xs, r, n: add(xs)[r], "all"),
    "alltoall": (True, lambda xs, r, n: np.stack([x[r] for x in xs]), "all"),
    "scatter": (True, lambda xs, r, n: xs[ROOT][r], "all"),
}
REDUCING = ("allreduce", "reduce", "reduce_scatter")


def inputs(blocks, size, dtype):
    shape = (size, COUNT) if blocks else (COUNT,)
    draw = np.random.default_rng(7).integers
    return [draw(0, 5, shape).astype(dtype) for _ in range(size)]


def check(job, name, dtype, async_op):
    blocks, result, where = TABLE[name]
    xs = inputs(blocks, job.size, dtype)
    options = {"op": "bit_or" if dtype == "bool" else "sum"} if name in REDUCING else {}
    if name == "scatter" and job.rank != ROOT:
        options["out"] = np.empty(COUNT, dtype)
    with job.communicator(timeout=20) as comm:
        got = getattr(comm, name)(xs[job.rank], async_op=async_op, **options)
        got = got.wait() if async_op else got
    if where == "root" and job.rank != ROOT:
        assert got is None
        return
    wanted = result(xs, job.rank, job.size)
    assert got.shape == wanted.shape
    assert got.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(got, wanted)
