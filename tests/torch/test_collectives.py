"""Every operation of torch.distributed against what it means, computed in one place."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import operations  # noqa: E402
import torch.distributed as dist  # noqa: E402
from group import bits, values, world  # noqa: E402
from operations import MOVES, REDUCTIONS, Case  # noqa: E402

RANKS = [1, 2, 3, 4]
INTEGERS = [torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32,
            torch.uint64, torch.int64]  # fmt: skip
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
OPAQUE = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
          torch.float8_e8m0fnu, torch.complex32]  # fmt: skip
MOVED = [torch.bool, *INTEGERS, *FLOATS, *COMPLEX, *OPAQUE]
LAYOUTS = ["contiguous", "strided", "transposed"]
SHAPES = [(), (0,), (0, 3), (1,), (3, 4), (7, 11), (300, 17)]


def complaints(case: Case, operation) -> list[str]:
    """What is wrong with the results of one call on this rank."""
    found = []
    for place, (got, expected) in enumerate(operation(case)):
        exact = case.reduction != "AVG"
        if exact and bits(got) != bits(expected):
            found.append(f"{case} result {place}: {got} instead of {expected}")
        elif not exact:
            torch.testing.assert_close(got, expected, msg=lambda text: f"{case}: {text}")
    if not case.neighbours_intact():
        found.append(f"{case}: memory beside the tensors was written")
    return found


def run_cases(job, name: str, changes: list[dict]) -> list[str]:
    operation = getattr(operations, name)
    found = []
    with world(job):
        for change in changes:
            for asynchronous in (False, True):
                case = Case(job.rank, job.size, asynchronous=asynchronous, **change)
                found += complaints(case, operation)
    return found


def check(team, ranks: int, operation, changes: list[dict]) -> None:
    found = team(ranks).run(run_cases, operation.__name__, changes)
    assert not any(found), "\n".join(text for rank in found for text in rank[:3])


@pytest.mark.parametrize("operation", MOVES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("ranks", RANKS)
def test_moves(team, ranks, operation):
    check(team, ranks, operation, [{"dtype": dtype} for dtype in MOVED])


@pytest.mark.parametrize("operation", REDUCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("ranks", RANKS)
def test_reductions(team, ranks, operation):
    every = ["SUM", "PRODUCT", "MIN", "MAX"]
    table = [
        *(([torch.bool, *INTEGERS], op) for op in [*every, "BAND", "BOR", "BXOR"]),
        *((FLOATS, op) for op in [*every, "AVG", "TWICE"]),
    ]
    changes = [{"dtype": d, "reduction": op} for dtypes, op in table for d in dtypes]
    check(team, ranks, operation, changes)


@pytest.mark.parametrize("operation", [*MOVES, *REDUCTIONS], ids=lambda f: f.__name__)
@pytest.mark.parametrize("ranks", [1, 3])
def test_layouts_and_shapes(team, ranks, operation):
    changes = [{"layout": layout, "shape": shape} for layout in LAYOUTS for shape in SHAPES]
    if operation.__name__.startswith("all_to_all_single"):
        changes = [change for change in changes if change["shape"] != ()]
    check(team, ranks, operation, changes)


def complex_products(job):
    with world(job) as group:
        results = []
        for dtype in COMPLEX:
            x = values(job.rank, dtype)
            options = dist.AllreduceOptions()
            options.reduceOp = dist.ReduceOp.PRODUCT
            group.allreduce([x], options).wait()
            expected = torch.stack([values(r, dtype) for r in range(job.size)]).prod(0)
            results.append(torch.equal(x, expected))
        return all(results)


@pytest.mark.parametrize("ranks", [2, 3])
def test_complex_products(team, ranks):
    """torch.distributed reduces complex tensors as pairs of real ones; the backend need not."""
    assert team(ranks).run(complex_products) == [True] * ranks


def unusual_arguments(job):
    with world(job):
        x = values(job.rank).float()
        dist.all_reduce(x, dist._make_nccl_premul_sum(torch.tensor([0.5])))
        halves = torch.stack([values(r) for r in range(job.size)]).sum(0) / 2
        row = torch.full((1, 5), float(job.rank))
        every = [torch.empty(3, 5) for _ in range(job.size)]
        dist.all_gather(every, row.expand(3, 5))
        return torch.equal(x, halves), [int(one.unique()) for one in every]


def test_factors_in_tensors_and_expanded_inputs(team):
    assert team(3).run(unusual_arguments) == [(True, [0, 1, 2])] * 3


def sparse_sum(job):
    """Other places and other numbers of elements on each rank; a row twice on one of them."""
    with world(job):
        rank, size = job.rank, job.size
        stored = 0 if rank == 1 else 3
        rows = torch.tensor([[0, rank, rank]])[:, :stored]
        values = torch.arange(6.0).reshape(3, 2)[:stored] + rank
        mine = torch.sparse_coo_tensor(rows, values, (size + 1, 2), check_invariants=True)
        dense = mine.to_dense()
        dist.all_reduce(dense)
        again = mine.clone()
        dist.all_reduce(mine)
        found = dist.all_reduce(again, async_op=True).get_future().wait()[0]
        return (
            mine.is_sparse,
            torch.equal(mine.to_dense(), dense),
            torch.equal(found.to_dense(), dense),
        )


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_sparse_tensors_are_summed(team, ranks):
    assert team(ranks).run(sparse_sum) == [(True, True, True)] * ranks


def sparse_disagreement(job):
    with world(job):
        shape = (4, 2) if job.rank == 0 else (5, 2)
        with pytest.raises(ValueError, match="other sizes or sparse dimensions"):
            dist.all_reduce(torch.zeros(shape).to_sparse())
        with pytest.raises(ValueError, match="can be summed and nothing else"):
            dist.all_reduce(torch.zeros(4, 2).to_sparse(), dist.ReduceOp.MAX)
        dist.barrier()


def test_sparse_tensors_of_other_shapes_are_refused_everywhere(team):
    team(2).run(sparse_disagreement)
