"""examples/dlrm: sizes, tables, records, overlap and memory."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import sys
import weakref

import program
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("weft._torch", exc_type=ImportError)

from group import world  # noqa: E402

sys.path.insert(0, str(program.EXAMPLES / "dlrm"))

from weft.errors import InvalidArgument  # noqa: E402

from dlrm.auc import auc, expected_auc  # noqa: E402
from dlrm.clicks import PlantedClicks, RandomClicks  # noqa: E402
from dlrm.configurations import CONFIGURATIONS  # noqa: E402
from dlrm.model import interact  # noqa: E402
from dlrm.records import part  # noqa: E402
from dlrm.tables import Tables, split_tables  # noqa: E402
from dlrm.trainer import Trainer  # noqa: E402

TINY = dataclasses.replace(CONFIGURATIONS["tiny"], minibatch=60)
MIB = 1 << 20


@pytest.mark.parametrize(
    ("name", "tables", "allreduce", "alltoall"),
    [("small", 8, 9.5, 16), ("large", 64, 1047, 1024), ("mlperf", 26, 9.0, 208)],
)
def test_sizes_are_the_published_ones(name, tables, allreduce, alltoall) -> None:
    shape = CONFIGURATIONS[name]
    assert len(shape.rows) == tables
    assert 4 * shape.dense_parameters / MIB == pytest.approx(allreduce, rel=0.01)
    assert 4 * shape.exchanged == alltoall * MIB


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_shrinking_changes_rows_and_minibatch_only(name) -> None:
    whole, shrunk = CONFIGURATIONS[name], CONFIGURATIONS[name].shrink(16)
    assert shrunk.minibatch == whole.minibatch // 16
    assert (shrunk.rows == whole.rows) == (name == "small")
    assert shrunk.rows_factor == (1 if name == "small" else 16)
    rest = dataclasses.replace(shrunk, rows=whole.rows, minibatch=whole.minibatch, rows_factor=1)
    assert rest == whole


def test_model_has_the_parameters_of_its_configuration() -> None:
    trainer = Trainer(TINY, split_tables(TINY, 0, 1), lr=0.1)
    assert sum(p.numel() for p in trainer.model.dense.parameters()) == TINY.dense_parameters
    tables = {tuple(p.shape) for p in trainer.model.tables.parameters()}
    assert tables == {(rows, TINY.dimension) for rows in TINY.rows}


@pytest.mark.parametrize(
    ("ranks", "share", "owned", "shared"),
    [
        (1, False, ((0, 1, 2, 3, 4, 5, 6),), ()),
        (2, False, ((0, 1, 2, 3), (4, 5, 6)), ()),
        (3, False, ((0, 1, 2), (3, 4), (5, 6)), ()),
        (4, False, ((0, 1), (2, 3), (4, 5), (6,)), ()),
        (2, True, ((2,), (5,)), (0, 1, 3, 4, 6)),
    ],
)
def test_tables_are_split_contiguously(ranks, share, owned, shared) -> None:
    split = split_tables(TINY, ranks - 1, ranks, share)
    assert (split.owned, split.shared, split.mine) == (owned, shared, owned[-1])


@pytest.mark.parametrize(
    ("ranks", "share", "said"), [(8, False, "7 tables"), (3, True, "2 tables")]
)
def test_more_ranks_than_tables_are_refused(ranks, share, said) -> None:
    with pytest.raises(InvalidArgument, match=rf"rank 1: tiny has {said}.*at most"):
        split_tables(TINY, 1, ranks, share)


@pytest.mark.parametrize("wrong", [-1, 5])
def test_an_index_out_of_its_table_is_refused(wrong) -> None:
    tables = Tables(TINY, (1, 3), 0, torch.float32, sparse=True)
    good = torch.zeros(4, 3, dtype=torch.int64)
    bad = good.clone()
    bad[2, 1] = wrong
    with pytest.raises(InvalidArgument, match=f"table 1 has 5 rows, but record 2 .* row {wrong}"):
        tables([bad, good])


def test_a_minibatch_that_the_ranks_do_not_divide_is_refused() -> None:
    split = split_tables(TINY, 2, 7)
    with pytest.raises(InvalidArgument, match=r"rank 2: a minibatch of 60 .* 7 ranks: .*multiple"):
        part(RandomClicks(TINY, 0).records(0), split, torch.float32)


@pytest.mark.parametrize("source", [RandomClicks, PlantedClicks])
@pytest.mark.parametrize("share", [False, True])
def test_ranks_together_see_the_records_of_one_process(source, share) -> None:
    clicks = source(TINY, seed=3)
    whole = part(clicks.records(4), split_tables(TINY, 0, 1, share), torch.float32)
    parts = [
        part(source(TINY, seed=3).records(4), split_tables(TINY, r, 2, share), torch.float32)
        for r in range(2)
    ]
    assert torch.equal(whole.dense, torch.cat([one.dense for one in parts]))
    assert torch.equal(whole.labels, torch.cat([one.labels for one in parts]))
    owned = [indices for one in parts for indices in one.owned]
    assert all(torch.equal(a, b) for a, b in zip(whole.owned, owned, strict=True))
    shared = [torch.cat(both) for both in zip(*(one.shared for one in parts), strict=True)]
    assert all(torch.equal(a, b) for a, b in zip(whole.shared, shared, strict=True))
    assert not torch.equal(clicks.records(5).dense(), clicks.records(4).dense())


def test_interaction_has_each_pair_once() -> None:
    x, pooled = torch.randn(2, 3), torch.randn(2, 4, 3)
    right = []
    for one, bags in zip(x, pooled, strict=True):
        vectors = [one, *bags]
        pairs = [vectors[i] @ vectors[j] for i in range(5) for j in range(i)]
        right.append(torch.cat([one, torch.stack(pairs)]))
    torch.testing.assert_close(interact(x, pooled), torch.stack(right))


def events(job, blocking: bool) -> list[str]:
    """What one step on this rank did, in its order."""
    with world(job):
        split = split_tables(TINY, job.rank, job.size)
        trainer = Trainer(TINY, split, lr=0.1, blocking=blocking)
        seen, exchange, bottom = [], trainer.model.exchange, trainer.model.dense_module.bottom
        for name in ("send", "send_back", "_wait"):
            inner, said = getattr(exchange, name), name.lstrip("_")
            setattr(exchange, name, lambda *a, n=said, f=inner: (seen.append(n), f(*a))[1])
        bottom.register_forward_hook(lambda *_: seen.append("bottom"))
        bottom[0].weight.register_post_accumulate_grad_hook(lambda _: seen.append("bottom back"))
        for sgd, name in ((trainer._table_sgd, "tables"), (trainer._dense_sgd, "perceptrons")):
            sgd.step = lambda n=name, f=sgd.step: (seen.append(n), f())
        trainer.step(part(PlantedClicks(TINY, 1).records(0), split, torch.float32))
        return seen


def test_exchanges_run_under_the_bottom_perceptron(team) -> None:
    there, back = ["send", "bottom", "wait"], ["send_back", "bottom back", "wait"]
    # The tables learn in the backward pass, while gradients of the perceptrons travel.
    assert team(2).run(events, False) == [[*there, *back, "tables", "perceptrons"]] * 2
    blocking = ["send", "wait", "bottom", "wait", "send_back", "wait", "bottom back", "wait"]
    assert team(2).run(events, True) == [[*blocking, "perceptrons", "tables"]] * 2


def outlives_its_last_name(job, blocking: bool) -> bool:
    """Whether a trainer that nobody names any more is there until garbage is collected."""
    with world(job):
        split = split_tables(TINY, job.rank, job.size)
        trainer = Trainer(TINY, split, lr=0.1, blocking=blocking)
        trainer.step(part(PlantedClicks(TINY, 1).records(0), split, torch.float32))
        gone = weakref.ref(trainer)
        gc.collect()
        gc.disable()
        del trainer
        outlives = gone() is not None
        gc.enable()
        return outlives


@pytest.mark.parametrize("blocking", [True, False])
def test_a_trainer_goes_with_its_last_name(team, blocking) -> None:
    # Else DDP has its process group until the interpreter ends, where Gloo aborts.
    assert team(2).run(outlives_its_last_name, blocking) == [False, False]


def tables_in_memory(job, dtype: str) -> list[int]:
    """The tables that some tensor of this process has the shape of, after a step."""
    with world(job):
        split = split_tables(TINY, job.rank, job.size)
        trainer = Trainer(TINY, split, lr=0.1, dtype=dtype)
        trainer.step(part(PlantedClicks(TINY, 1).records(0), split, trainer.dtype))
        gc.collect()
        shapes = {one.shape for one in gc.get_objects() if isinstance(one, torch.Tensor)}
        shapes |= {one.shape for one in (*trainer.state()["tables"].values(),)}
        return [t for t, rows in enumerate(TINY.rows) if (rows, TINY.dimension) in shapes]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_rank_holds_its_own_tables_only(team, dtype) -> None:
    assert team(3).run(tables_in_memory, dtype) == [[0, 1, 2], [3, 4], [5, 6]]


def test_auc_is_that_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    torch.manual_seed(0)
    for levels in (2, 7, 1000):
        scores, labels = torch.randint(levels, (500,)), torch.randint(2, (500,))
        assert auc(scores, labels) == pytest.approx(metrics.roc_auc_score(labels, scores))
    with pytest.raises(ValueError, match="0 of 3 are clicks"):
        auc(torch.zeros(3), torch.zeros(3))


def test_expected_auc_is_that_of_all_outcomes() -> None:
    p = torch.tensor([0.3, 0.9, 0.2, 0.6])
    right, pairs = 0.0, 0.0
    for outcome in itertools.product([0, 1], repeat=4):
        labels = torch.tensor(outcome)
        chance = float(torch.where(labels == 1, p, 1 - p).prod())
        clicks = int(labels.sum())
        count = clicks * (4 - clicks)
        if count:
            right += chance * count * auc(p, labels)
            pairs += chance * count
    assert expected_auc(p) == pytest.approx(right / pairs)


def test_nobody_beats_the_planted_logs_best_auc() -> None:
    shape = dataclasses.replace(TINY, minibatch=20_000)
    clicks = PlantedClicks(shape, seed=2)
    records = clicks.records(0)
    reached = auc(records.probabilities(), records.labels())
    best = clicks.best_auc(1)
    assert 0.75 < best < 0.95
    assert reached == pytest.approx(best, abs=0.01)
    assert 0.1 < float(records.labels().mean()) < 0.5
