"""The arithmetic of docs/results/dlrm.md, and what it measures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "results"))

from dlrm_pages import cases, figures, goals, tables  # noqa: E402

SLOW = ("2 x 1", "1 Gbit/s")


def watch(**seconds: float) -> dict[str, float]:
    """A rank's stopwatch of one step: 100 ms, of which 40 are the forward pass."""
    return {"step": 0.1, "forward": 0.04, **{n.replace("_", " "): s for n, s in seconds.items()}}


def row(turn: dict, watches: list[dict], wire: int = 0, steps: int = 1) -> dict:
    """One block. Each rank takes as long as its stopwatch says."""
    ranks = [{"took": one["step"], "wire": wire, "watch": one} for one in watches]
    return {"turn": turn, "blocks": [{"steps": steps, "ranks": ranks}], "owned": [3, 2],
            "minibatch": 100, "vector_bytes": 1000, "processor": "a processor"}  # fmt: skip


def steps(how: str, kind: str, *watches: dict, dtype: str = "float32", **more: int) -> dict:
    turn = cases.turn("mlperf", SLOW, how, dtype, kind)
    return row(turn, list(watches), **more)


WAITS = watch(allreduce=0.02, alltoall_forward=0.01, alltoall_backward=0.02,
              beside_alltoall_forward=0.003, beside_alltoall_backward=0.004)  # fmt: skip
IDLER = WAITS | {"allreduce": 0.05}


def test_the_rank_that_waits_least_says_what_a_step_is_made_of():
    found = figures.parts([steps("weft", "blocking", IDLER, WAITS)], _turn("weft", "blocking"))
    assert found == pytest.approx({
        "step": 100, "compute": 50, "allreduce": 20, "alltoall": 30, "forward": 30,
        "beside forward": 3, "beside backward": 4,
    })  # fmt: skip


def _turn(how: str, kind: str, dtype: str = "float32") -> dict:
    return cases.turn("mlperf", SLOW, how, dtype, kind)


def test_a_step_is_the_slowest_ranks_and_the_median_of_the_quicker_rounds_blocks():
    def took(number: int, *seconds: float) -> dict:
        blocks = [steps("weft", "blocking", WAITS, WAITS | {"step": t}) for t in seconds]
        whole = blocks[0] | {"turn": blocks[0]["turn"] | {"round": number}}
        return whole | {"blocks": [one for block in blocks for one in block["blocks"]]}

    rows = [took(0, 0.2, 0.9, 0.8), took(1, 0.2, 0.3, 0.7)]
    assert figures.step_ms(rows, rows[0]["turn"]) == pytest.approx(300)
    gloo = steps("gloo", "blocking", watch() | {"step": 0.6})
    assert figures.over_gloo([*rows, gloo], rows[0]["turn"]) == pytest.approx(2)
    assert figures.over_gloo(rows, rows[0]["turn"]) is None


def test_of_plain_tcp_is_its_step_over_the_step():
    bare = steps("bare", "overlapping", watch() | {"step": 0.08})
    rows = [steps("weft", "overlapping", WAITS), bare]
    assert figures.of_bare(rows, rows[0]["turn"]) == pytest.approx(0.8)
    assert figures.of_bare(rows[:1], rows[0]["turn"]) is None
    assert "| **0.80** |" in tables.steps(rows, "mlperf", hosts=True)
    assert "| on hosts: of plain TCP's rate | at least 0.95 | 0 of 1 | **0.8** |" in goals.goals(
        rows
    )


def test_bytes_of_an_exchange_are_those_of_the_busier_direction():
    one = steps("weft", "blocking", WAITS, WAITS)
    # Host 0 owns 3 tables of 5. It sends them for the other 50 records, and gets 2 for its own.
    assert figures.alltoall_bytes(one) == (150_000, 250_000)


def test_the_bound_of_a_blocking_step_adds_compute_and_wire():
    rows = [steps("weft", "blocking", WAITS, WAITS, wire=2_500_000)]
    assert figures.wire_bytes(rows, rows[0]["turn"]) == 2_500_000
    assert figures.bound_ms(rows, rows[0]["turn"]) == pytest.approx(50 + 20)
    assert figures.of_bound(rows, rows[0]["turn"]) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("wire", "bound"),
    [
        # An exchange is 1.2 ms each way here, less than what it hides behind: compute alone.
        (1_000_000, 50),
        # Gradients of (12.75 MB - 0.25 MB) take 100 ms, after 30 of forward, with one exchange.
        (12_750_000, 30 + 100 + 1.2),
    ],
)
def test_the_bound_of_an_overlapping_step_is_compute_or_the_link(wire, bound):
    rows = [steps("weft", "blocking", WAITS, WAITS), steps("weft", "overlapping", WAITS, wire=wire)]
    assert figures.bound_ms(rows, rows[1]["turn"]) == pytest.approx(bound)
    assert figures.bound_ms(rows[1:], rows[1]["turn"]) is None  # no blocking step: no compute


def test_an_exchange_hides_only_behind_what_is_computed_beside_it():
    quick = WAITS | {"beside alltoall forward": 0.001, "beside alltoall backward": 0.0}
    rows = [steps("weft", "blocking", quick), steps("weft", "overlapping", WAITS, wire=500_000)]
    assert figures.bound_ms(rows, rows[1]["turn"]) == pytest.approx(50 + 0.2 + 1.2)


def test_bf16_and_shares_are_of_blocking_steps():
    half = {name: seconds / 2 for name, seconds in WAITS.items()}
    rows = [steps("gloo", "blocking", WAITS), steps("gloo", "blocking", half, dtype="bfloat16")]
    assert figures.narrower(rows, _turn("gloo", "blocking", "bfloat16")) == pytest.approx(0.5)
    assert figures.share(rows, _turn("weft", "overlapping")) == pytest.approx(0.5)
    assert figures.share([], _turn("weft", "overlapping")) is None


def test_goals_count_who_reaches_them():
    assert goals.least([1.5, 1.2, None], 1.25) == ["at least 1.25", "1 of 2", "**1.2**"]
    assert goals.most([0.5, 0.6], 0.55) == ["at most 0.55", "1 of 2", "**0.6**"]
    rows = [steps("weft", "blocking", WAITS, wire=5_000_000), steps("gloo", "blocking", WAITS)]
    text = goals.goals(rows)
    assert "| on hosts: of the bound | at least 0.95 | 0 of 1 | **0.9** |" in text
    assert "| on hosts: rate over Gloo's | at least 1 | 1 of 1 | **1** |" in text


def test_a_difference_is_relative_to_what_was_learned():
    rows = [{"turn": {"part": "equal", "place": "1 x 2", "exchange": "scatter",
                      "dtype": "float32"}, "difference": 3e-6, "learned": 2.0}]  # fmt: skip
    assert "| 1 x 2 | scatter | float32 | 1.5e-06 | 1e-05 |" in tables.equal(rows)
    assert "| 1 of 1 | **0.15** |" in goals.goals(rows)


def test_what_is_not_there_is_said():
    found = tables.all_of([])
    assert all("ot measured" in text for text in found.values())


def test_the_page_has_a_place_for_each_table():
    page = (ROOT / "docs" / "results" / "dlrm.md").read_text()
    assert all(f"<!-- {name} -->\n" in page for name in tables.all_of([]))


def test_no_turn_is_twice_and_every_value_of_each_axis_is_there():
    turns = cases.step_turns(cases.FULL) + cases.further_turns(cases.FULL)
    texts = [str(turn) for turn in turns]
    assert len(set(texts)) == len(texts)

    def values(name: str) -> set[str]:
        return {turn[name] for turn in turns}

    assert values("how") == set(cases.NAMES)
    assert values("config") == set(cases.SIZES)
    assert values("place") == set(cases.PLACES)
    assert values("exchange") == {"alltoall", "scatter", "scatter_list"}
    assert values("dtype") == {"float32", "bfloat16"}
    important = {(t["how"], t["steps"], t["dtype"], t["place"], t["rate"])
                 for t in turns if t["config"] == "mlperf"}  # fmt: skip
    assert important >= {
        (how, kind, dtype, *where) for how in ("weft", "gloo") for kind in cases.BOTH
        for dtype in ("float32", "bfloat16") for where in cases.EVERYWHERE
    }  # fmt: skip
