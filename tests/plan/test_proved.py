"""docs/proved.md: Gloo's halving-doubling reduce-scatter as a plan, as it is and with changes."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import weft

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_algorithm" / "gloo_halving_doubling.py"


@pytest.fixture(scope="module")
def gloo():
    """What the example defines; its `own_place` is registered."""
    return runpy.run_path(str(EXAMPLE), run_name="gloo_halving_doubling")


def findings(gloo, ranks, waits_first):
    """Why a plan that writes the result to where it sends from is refused, by paragraph."""

    def write(b):
        gloo["write"](b, front_is_output=True, waits_first=waits_first)

    register = weft.algorithm(
        "reduce_scatter/shares_front", refuses=lambda n, _: None if n == ranks else "not this one"
    )
    with pytest.raises(weft.InvalidPlan) as refused:
        register(write)
    return str(refused.value).partition("\n")[2].strip().split("\n\n")


# By ranks: the steps that overwrite what is being sent, and the sends.
OVERWRITES = {
    2: [("reduce! output[0]@1 = input[1]@1 + slot[1]@0", "put output[0]@1 -> 0 on 0")],
    4: [
        ("reduce! output[0]@3 = input[3]@3 + slot[1]@2 + slot[1]@1", "put output[0]@3 -> 2 on 0"),
        ("copy output[0]@2 = slot[1]@1", "put output[0]@2 -> 0 on 0"),
    ],
    8: [
        (
            "reduce! output[0]@7 = input[7]@7 + slot[1]@6 + slot[1]@5 + slot[1]@3",
            "put output[0]@7 -> 6 on 0",
        ),
        ("copy output[0]@6 = slot[1]@3", "put output[0]@6 -> 4 on 0"),
    ],
}


@pytest.mark.parametrize("ranks", OVERWRITES)
def test_the_overwriting_step_is_named(gloo, ranks):
    found = [text for text in findings(gloo, ranks, waits_first=False) if "out of place" in text]
    assert found[0].startswith(f"put source on rank {ranks - 1}\n")
    assert all(text.startswith("put source") for text in found)
    for step, put in OVERWRITES[ranks]:
        (text,) = [one for one in found if step in one]
        assert "writes the source of a put that" in text
        assert text.count(put) == 1
    # Where rank 1 of 4 writes, its message has been read: the order of the others says so.
    assert not any(text.startswith("put source on rank 1\n") for text in found if ranks == 4)


@pytest.mark.parametrize("ranks", OVERWRITES)
def test_waiting_first_leaves_nothing_out_of_place(gloo, ranks):
    """What remains is of the model: in place its copy into the front replaces a block."""
    assert all("in place" in text for text in findings(gloo, ranks, waits_first=True))


@pytest.mark.parametrize("ranks", [1, 2, 4, 8, 16])
def test_a_place_of_its_own_is_proved(gloo, ranks):
    report = weft.plan.verify(weft.plan.make_plan("own_place", ranks))
    assert report, str(report)


def test_other_counts_are_refused(gloo):
    assert (
        weft.plan.find_algorithm("own_place").refuses(6) == "the number of ranks is a power of two"
    )


def output_of(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_it_runs_to_right_sums(ranks):
    told = output_of(str(EXAMPLE), "--ranks", str(ranks))
    assert told.endswith(f"{ranks} ranks: all sums are right.\n")


def test_the_page_quotes_what_is_said():
    page = (ROOT / "docs" / "proved.md").read_text()
    refusal = output_of(str(EXAMPLE), "--ranks", "2").partition("wrong result")[0]
    assert refusal.count("put source on") == 2
    assert refusal.strip() in page
