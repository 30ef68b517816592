"""Reproducible communicators: the same bits by every instruction set, also mixed ones."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

import weft
from weft import _core

from launch import run

RANKS = 5


def digests(job, sets):
    """One digest a result; the instruction set is chosen at the first reduction of a process."""
    os.environ["WEFT_ISA"] = sets[job.rank % len(sets)]
    found = []
    with job.communicator(reproducible=True) as comm:
        for seed, dtype in enumerate((np.float16, np.float32, np.float64, np.complex64)):
            random = np.random.default_rng((seed, job.rank))
            exponent = random.integers(-14, 12, 3001)
            x = (random.standard_normal(3001) * 2.0**exponent).astype(dtype)
            for op in ("sum", "avg", "prod"):
                total = comm.allreduce(x, op)
                found.append(hashlib.sha256(total.tobytes()).hexdigest())
            share = comm.reduce_scatter(x[:3000])
            shares = comm.allgather(share)
            assert shares.tobytes() == comm.allreduce(x[:3000]).tobytes()
        with pytest.raises(weft.Unsupported, match="allreduce/ring adds up"):
            comm.allreduce(np.ones(3), algorithm="ring")
    return _core.system_info()["instruction_set"], found


def available():
    """Those that this machine runs; the library says so of each in a process of its own."""
    best = _core.system_info()["instruction_set"]
    return {"avx512": ["avx512", "avx2", "baseline"], "avx2": ["avx2", "baseline"]}.get(
        best, ["baseline"]
    )


def test_every_instruction_set_gives_the_same_bits():
    mixed = run(digests, RANKS, available())
    same = run(digests, RANKS, ["baseline"])
    assert [isa for isa, _ in same] == ["baseline"] * RANKS
    assert {isa for isa, _ in mixed} == set(available())
    results = {tuple(found) for _, found in mixed + same}
    assert len(results) == 1
