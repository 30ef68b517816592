"""What `weft bench` counts: sizes, bytes, exact patterns, statistics."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from weft.bench.cases import ITEM_BYTES, Case
from weft.bench.job import Job, Measured, read_job, read_samples
from weft.bench.libraries import weft_library
from weft.bench.noise import note
from weft.bench.patterns import PERIOD, encoded, expected, fill, tile
from weft.bench.results import rows
from weft.traits import TRAITS

# collective: (count, input and output of rank 0, of rank 1) for 64 bytes of float32 on 4 ranks
SIDES = {
    "allreduce": (16, (16, 16), (16, 16)),
    "broadcast": (16, (16, 16), (None, 16)),
    "reduce": (16, (16, 16), (16, None)),
    "allgather": (4, (4, 16), (4, 16)),
    "reduce_scatter": (4, (16, 4), (16, 4)),
    "alltoall": (4, (16, 16), (16, 16)),
    "gather": (4, (4, 16), (4, None)),
    "scatter": (4, (16, 4), (None, 4)),
    "sendrecv": (16, (16, 16), (16, 16)),
    "barrier": (0, (None, None), (None, None)),
}


@pytest.mark.parametrize("collective", TRAITS)
def test_elements(collective):
    case = Case.sized(collective, 64, 4, "float32")
    assert (case.count, case.sides(0), case.sides(1)) == SIDES[collective]
    assert case.bytes == (0 if collective == "barrier" else 64)


def test_bytes_are_those_of_whole_blocks_and_at_least_one_element():
    assert Case.sized("allgather", 8, 3, "float32").bytes == 12
    assert Case.sized("allreduce", 1, 2, "float64").bytes == 8
    assert Case.sized("alltoall", 100, 3, "float32").bytes == 96


@pytest.mark.parametrize("dtype", ITEM_BYTES)
def test_storage_has_the_width_of_the_type(dtype):
    assert encoded(tile(0, 0, 2), dtype).itemsize == ITEM_BYTES[dtype]


def test_bfloat16_is_the_upper_half_of_float32():
    assert encoded(np.array([0, 1, 3]), "bfloat16").tolist() == [0x0000, 0x3F80, 0x4040]


@pytest.mark.parametrize("ranks", [2, 50, 127])
def test_sums_stay_exact_in_eight_bits(ranks):
    assert sum(tile(r, 0, ranks).max() for r in range(ranks)) <= 127


def test_tiles_differ_by_rank_and_iteration():
    tiles = [tile(rank, iteration, 2).tolist() for rank in (0, 1) for iteration in (0, 1)]
    assert len({tuple(t) for t in tiles}) == 4


@pytest.mark.parametrize("count", [1, PERIOD, 3 * PERIOD + 7])
@pytest.mark.parametrize("shift", [0, 5])
def test_fill_repeats_the_tile(count, shift):
    values = encoded(tile(1, 2, 2), "int32")
    array = np.empty(count, "int32")
    fill(array, values, shift)
    np.testing.assert_array_equal(array, [values[(e + shift) % PERIOD] for e in range(count)])


@pytest.mark.parametrize("collective", [c for c in TRAITS if c != "barrier"])
def test_expected_is_what_numpy_computes(collective):
    ranks, shift = 3, 4
    case = Case.sized(collective, 3 * 4 * 1500, ranks, "int32")
    before = case.elements()[0]
    xs = np.empty((ranks, before), "int32")
    for rank in range(ranks):
        fill(xs[rank], encoded(tile(rank, 9, ranks), "int32"), shift)
    blocks = xs.reshape(ranks, -1, case.count)
    for rank in range(ranks):
        wanted = {
            "allreduce": xs.sum(0),
            "broadcast": xs[0],
            "reduce": xs.sum(0),
            "allgather": xs.ravel(),
            "gather": xs.ravel(),
            "reduce_scatter": blocks[:, rank % blocks.shape[1]].sum(0),
            "alltoall": blocks[:, rank % blocks.shape[1]].ravel(),
            "scatter": blocks[0, rank % blocks.shape[1]],
            "sendrecv": xs[rank - 1],
        }[collective]
        got = expected(case, rank, 9, shift)
        if case.sides(rank)[1] is None:
            assert got is None
        else:
            np.testing.assert_array_equal(got, wanted)


def test_rows_take_the_slowest_rank_of_each_sample():
    case = Case.sized("allreduce", 1 << 20, 4, "float32")
    measured = [
        [Measured(True, "allreduce/ring", [1e-3, 2e-3, 9e-3])],
        [Measured(False, "allreduce/ring", [3e-3, 1e-3, 1e-3])],
    ]
    (row,) = rows([case], [weft_library("core")], [measured])
    assert (row.median_us, row.min_us) == (3000.0, 2000.0)
    assert row.algbw_GBps == pytest.approx((1 << 20) / 3e-3 / 1e9, rel=1e-4)
    assert row.busbw_GBps == pytest.approx(row.algbw_GBps * 1.5, rel=1e-4)
    assert not row.correct
    assert "cores" in row.processor


def test_a_long_tail_is_said():
    case = Case.sized("allreduce", 8, 2, "float32")
    usual, late = [1e-6] * 99, [40e-6] * 3
    found = [
        next(rows([case], [weft_library("core")], [[[Measured(True, None, samples)]]]))
        for samples in (usual, usual + late)
    ]
    tails = {f"{place}": row.tail for place, row in enumerate(found)}
    assert tails == pytest.approx({"0": 1, "1": 40})
    assert note({"0": tails["0"]}) == ""
    assert note(tails).startswith(
        "noisy: p99 is 40 times the median (1; tens of times in 1 of 2). Other work had the cores"
    )


def test_a_job_is_read_as_it_was_written(tmp_path):
    cases = [Case.sized(c, 64, 4, "float32", symmetric=True) for c in ("allgather", "alltoall")]
    job = Job(cases, 0.25, 3)
    job.write(tmp_path, "/proc/1/fd/3", batched=True)
    assert read_job(tmp_path) == job


def test_a_job_in_parts_is_read_as_it_was_written(tmp_path):
    job = Job([Case("allreduce", 10, 2, "float32", parts=(7, 3), together=True)], 0.25, None)
    job.write(tmp_path, "/proc/1/fd/3", batched=True)
    assert read_job(tmp_path) == job


@pytest.mark.parametrize("other", [{"symmetric": True}, {"together": True}, {"ranks": 3}])
def test_a_job_of_cases_that_differ_is_refused(other):
    one = Case("allreduce", 10, 2, "float32")
    with pytest.raises(ValueError, match="differ in ranks, symmetric or together"):
        Job([one, dataclasses.replace(one, **other)], 0.25, None)


def test_samples_are_read_as_they_were_written(tmp_path):
    of_ranks = [
        [Measured(True, "allreduce/ring", [1e-3, 2.5e-7], 1.5e-7)],
        [Measured(False, None, [0.5])],
    ]
    for rank, measured in enumerate(of_ranks):
        lines = [one.line(index) for index, one in enumerate(measured)]
        (tmp_path / f"samples.{rank}").write_text("".join(lines))
    assert read_samples(tmp_path, 2) == of_ranks
