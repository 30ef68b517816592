"""The arithmetic of docs/results/dlrm_scaling.md: sockets, programs, cases, speed-ups."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "results"))

from scaling import cases, checks, figures, simulation  # noqa: E402
from scaling.program import Communication, exchanged, owned, programs  # noqa: E402
from scaling.sockets import Socket, slowdowns, socket  # noqa: E402

from weft._build_info import SIMGRID_MISSING  # noqa: E402
from weft.steps import Collective, Compute, Wait  # noqa: E402

OWN = Communication("allreduce", "alltoall", lanes=True, slowdown=1.0)
FAST = 1e30  # bytes a second: memory takes no time


def perceptrons(name: str, count: int, seconds: float) -> dict[str, float]:
    layers = {*cases.bottom(name), *cases.top(name)}
    found = {
        f"{what} {a}x{b}": seconds for a, b in layers for what in ("forward", "inputs", "weights")
    }
    return found | {"interaction forward": seconds, "interaction backward": seconds}


def made_up(name: str, count: int, memory: float = FAST, slower: float = 1.0) -> Socket:
    tables = {"lookup": 0.002, "sparse update": 0.004, "dense update": 0.5}
    seconds = {count: perceptrons(name, count, 1.0)}
    return Socket(name, "float32", seconds, tables, memory, slower)


def test_sizes_are_the_documents():
    mib = 1 << 20
    shapes = {name: cases.shape(name) for name in cases.SCALINGS}
    gradients = {name: round(4 * one.dense_parameters / mib, 1) for name, one in shapes.items()}
    assert gradients == {"small": 9.5, "large": 1046.8, "mlperf": 9.0}
    whole = {name: 4 * cases.shape(name).exchanged / mib for name in cases.SCALINGS}
    assert whole == {"small": 16, "large": 1024, "mlperf": 208}


@pytest.mark.parametrize(("name", "ranks"), [("small", 8), ("large", 64), ("mlperf", 2)])
def test_sockets_exchange_all_embeddings_once(name, ranks):
    count = cases.records(name, "strong", ranks)
    assert ranks * exchanged(name, "float32", ranks, count) == 4 * cases.shape(name).exchanged
    assert 2 * exchanged(name, "bfloat16", ranks, count) == exchanged(name, "float32", ranks, count)


def test_tables_that_do_not_divide():
    assert owned(26, 4) == [7, 7, 6, 6]
    assert exchanged("mlperf", "float32", 4, 4096) == 7 * 16384 * 128 * 4


def test_a_socket_is_bound_by_its_cores_or_its_memory():
    one = made_up("small", 1024)
    assert one.layer("forward", 1024, 512, 64) == 1.0
    assert made_up("small", 1024, slower=3.0).layer("forward", 1024, 512, 64) == 3.0
    slow = made_up("small", 1024, memory=1000.0)
    assert slow.layer("forward", 1024, 512, 64) == 4 * (1024 * 512 + 512 * 64 + 1024 * 64) / 1000
    # Measured with a 24th of 8192 records, rounded up to 342, in one table.
    assert one.lookup(8, 8192) == pytest.approx(8 * 0.002 * (8192 / 24) / 342)
    assert one.lookup(4, 4096) == pytest.approx(one.lookup(8, 8192) / 4)
    assert made_up("small", 1024, memory=1.0).sparse_update(2, 10) == 2 * 10 * 50 * 64 * 8
    assert (
        made_up("small", 1024, memory=1.0).dense_update()
        == 12 * cases.shape("small").dense_parameters
    )


def test_a_step_computes_everything_once_and_sends_all_gradients():
    name, count = "large", 512
    program = programs(made_up(name, count), 32, count, OWN)[0]
    layers = [*cases.bottom(name), *cases.top(name)]
    seconds = {"bottom": 0.0, "top": 0.0}
    for one in program:
        if isinstance(one, Compute) and one.name.split()[0] in seconds:
            seconds[one.name.split()[0]] += one.seconds
    # Forward, weights, inputs; but no gradient of the records themselves.
    assert seconds == {"bottom": 3 * 8 - 1, "top": 3 * 16}
    started = [one for one in program if isinstance(one, Collective)]
    gradients = [one for one in started if one.name.startswith("gradients")]
    assert sum(one.nbytes for one in gradients) == sum(4 * (a + 1) * b for a, b in layers)
    assert all(one.nbytes >= cases.BUCKET for one in gradients[:-1])
    assert [one.priority for one in started if one not in gradients] == [1, 1]
    assert next(one.name for one in program if isinstance(one, Wait)) == "exchange forward"
    assert {one.name for one in started} == {one.name for one in program if isinstance(one, Wait)}


def test_blocking_steps_wait_at_once_and_one_rank_waits_for_nothing():
    blocking = Communication("allreduce", "alltoall", lanes=False, slowdown=1.0, blocking=True)
    program = programs(made_up("small", 1024), 8, 1024, blocking)[0]
    for number, one in enumerate(program):
        if isinstance(one, Collective):
            assert program[number + 1] == Wait(one.name)
            assert one.priority == 0
    alone = programs(made_up("small", 8192), 1, 8192, OWN)[0]
    assert all(isinstance(one, Compute) for one in alone)


def turn(**what: object) -> dict:
    return {
        "turn": {key: one for key, one in what.items() if key != "seconds"},
        "seconds": what["seconds"],
    }


def test_medians_of_the_rounds():
    rows = [
        turn(part="perceptrons", configuration="small", dtype="float32", records=1024, round=n,
             seconds=perceptrons("small", 1024, taken))
        for n, taken in enumerate([1.0, 9.0, 2.0])
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no operators of small in float32"):
        socket(rows, "small", "float32", FAST)
    tables = {"lookup": 1.0, "sparse update": 1.0, "dense update": 1.0}
    rows.append(turn(part="tables", configuration="small", dtype="float32", seconds=tables))
    assert socket(rows, "small", "float32", FAST).layer("inputs", 1024, 512, 64) == 2.0


def test_slowdowns_are_over_no_worker_and_never_below_one():
    taken = {"none": 1.0, "free": 0.9, "shared": 2.5}
    rows = [turn(part="slowdown", worker=place, seconds=one) for place, one in taken.items()]
    assert slowdowns(rows) == {"workers": 1.0, "stealing": 2.5}


def test_speed_ups_are_by_records_over_the_documents_baseline():
    plain = {"topology": "opa64", "dtype": "float32", "blocking": False, "assumed": "",
             "part": "strong", "configuration": "mlperf", "backend": "workers"}  # fmt: skip
    rows = [{**plain, "sockets": 2, "records": 8192, "seconds": 1.0},
            {**plain, "sockets": 26, "records": 631, "seconds": 0.1}]  # fmt: skip
    assert figures.speed_up(rows, "mlperf", 26) == pytest.approx(10 * 26 * 631 / 16384)
    assert figures.efficiency(rows, "mlperf", 26, "strong", "workers") == pytest.approx(
        0.77, abs=0.01
    )
    with pytest.raises(ValueError, match="0 rows"):
        figures.speed_up(rows, "mlperf", 13)


def test_every_step_that_a_table_needs_is_measured_and_simulated_once():
    steps = simulation.cases()
    keys = [tuple(sorted(one.items())) for one in steps]
    assert len({*keys}) == len(keys)
    there = {(one["configuration"], one["dtype"], one["records"])
             for one in cases.operator_turns() if one["part"] == "perceptrons"}  # fmt: skip
    for one in steps:
        count = cases.records(one["configuration"], one["part"], one["sockets"])
        assert (one["configuration"], one["dtype"], count) in there


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)
@pytest.mark.parametrize("sockets", [4, 8, 32])
@pytest.mark.parametrize("kind", checks.KINDS)
def test_collectives_are_their_formulas(kind, sockets):
    row = checks.simulated({"collective": kind, "configuration": "large", "sockets": sockets})
    assert row["seconds"] == pytest.approx(row["formula"], rel=0.01)


def test_products_of_bf16_may_be_said_to_be_twice_as_fast():
    def row(dtype, seconds):
        turn = {"part": "perceptrons", "configuration": "small", "dtype": dtype, "records": 64}
        return {"turn": turn, "seconds": perceptrons("small", 64, seconds)}

    tables = {"part": "tables", "configuration": "small"}
    rows = [row("float32", 1.0), row("bfloat16", 3.0)]
    rows += [{"turn": tables | {"dtype": dtype}, "seconds": {"lookup": 1.0}}
             for dtype in ("float32", "bfloat16")]  # fmt: skip
    width = cases.bottom("small")[0]
    measured = socket(rows, "small", "bfloat16", FAST)
    assert measured.layer("forward", 64, *width) == 3.0
    fast = socket(rows, "small", "bfloat16", FAST, products=0.5)
    assert fast.layer("forward", 64, *width) == 0.5
    assert fast.interaction("forward", 64) == 3.0
