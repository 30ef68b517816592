"""examples/dlrm: the distributed model learns what one process learns."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("weft._torch", exc_type=ImportError)

from dlrm_training import STEPS, joined, norm, train  # noqa: E402
from group import world  # noqa: E402

BOUND = {"float32": 1e-5, "float64": 1e-10}


def on_rank(job, backend: str, options: dict, share: bool = False) -> dict:
    with world(job, backend=backend):
        parameters = train(job.rank, job.size, options, share)
        return {name: one.numpy() for name, one in parameters.items()}


_alone: dict[str, tuple[dict, dict]] = {}


def one_process(dtype: str) -> tuple[dict, dict]:
    """The parameters at first, and after all steps."""
    if dtype not in _alone:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        _alone[dtype] = tuple(train(0, 1, {"dtype": dtype}, steps=n) for n in (0, STEPS))
        torch.set_num_threads(threads)
    return _alone[dtype]


def check(parts: list[dict], dtype: str) -> None:
    """All ranks together have one process's parameters, and equal copies of those of all."""
    first, right = one_process(dtype)
    together = joined(
        [{name: torch.from_numpy(array) for name, array in one.items()} for one in parts]
    )
    learned = norm(right, first)
    assert learned > 0.1
    assert not any(torch.equal(first[name], right[name]) for name in right)
    # Relative to what was learned, which is less than the parameters themselves.
    assert norm(together, right) <= BOUND[dtype] * learned


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_ranks_learn_what_one_process_learns(team, ranks, dtype) -> None:
    check(team(ranks).run(on_rank, "weft", {"dtype": dtype}), dtype)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("exchange", ["scatter", "scatter_list"])
def test_every_exchange(team, exchange, dtype) -> None:
    check(team(3).run(on_rank, "weft", {"dtype": dtype, "exchange": exchange}), dtype)


@pytest.mark.parametrize("dtype", BOUND)
@pytest.mark.parametrize("strategy", ["allreduce", "sharded", "tree"])
def test_gradient_sync(team, strategy, dtype) -> None:
    check(team(3).run(on_rank, "weft", {"dtype": dtype, "strategy": strategy}), dtype)


@pytest.mark.parametrize(
    ("exchange", "strategy"), [("alltoall", "ddp"), ("scatter", "ddp"), ("scatter_list", "sharded")]
)
def test_blocking_steps(team, exchange, strategy) -> None:
    options = {"dtype": "float64", "exchange": exchange, "blocking": True, "strategy": strategy}
    check(team(3).run(on_rank, "weft", options), "float64")


@pytest.mark.parametrize(("ranks", "strategy"), [(1, "ddp"), (2, "ddp"), (2, "allreduce")])
def test_small_tables_on_every_rank(team, ranks, strategy) -> None:
    options = {"dtype": "float64", "strategy": strategy}
    check(team(ranks).run(on_rank, "weft", options, True), "float64")


@pytest.mark.parametrize("exchange", ["alltoall", "scatter", "scatter_list"])
def test_gloo(team, exchange) -> None:
    options = {"dtype": "float64", "exchange": exchange}
    check(team(3).run(on_rank, "gloo", options), "float64")
