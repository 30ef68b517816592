"""Who wins a trial, with made-up times: noise, regret, and figures that cannot be right."""

from __future__ import annotations

import itertools
import timeit

import numpy as np
import pytest
from click.testing import CliRunner

from weft.cli import main
from weft.tune.candidates import algorithms
from weft.tune.measure import Here
from weft.tune.point import ImpossibleTime, Point, Timed
from weft.tune.trial import compete, noise

POINT = Point("allreduce", 4, 1, False, (1 << 20,))
DEFAULT = "allreduce/two_shot"


class Made:
    """A machine in which a candidate takes what `seconds` says, in turn `n` what `times(n)` says.

    `jitter`: the factors of the built-in choice's runs, again and again.
    """

    def __init__(self, seconds, jitter=(1.0,), times=lambda turn: 1.0, least=0.0):
        self.seconds, self.times, self.limit = seconds, times, least
        self.jitter = itertools.cycle(jitter)
        self.turns = 0

    def turn(self, point, names):
        self.turns += 1
        return [
            tuple(Timed(self._of(name), 3 * self._of(name)) for _ in point.sizes) for name in names
        ]

    def _of(self, name):
        factor = next(self.jitter) if name == DEFAULT else 1.0
        return self.seconds.get(name, 1.0) * factor * self.times(self.turns)

    def least(self, point):
        return (self.limit,) * len(point.sizes)


def trial(made, names=None):
    return compete(POINT, DEFAULT, names or algorithms("allreduce", 4, symmetric=False), made)


@pytest.mark.parametrize(
    ("seconds", "winner"),
    [
        ({}, DEFAULT),
        ({"allreduce/ring": 0.5}, "allreduce/ring"),
        ({"allreduce/ring": 0.98}, DEFAULT),  # a tie
        ({"allreduce/two_shot(chunk=16K)": 0.9}, "allreduce/two_shot(chunk=16K)"),
        ({"allreduce/ring": 0.9, "allreduce/one_shot": 0.8}, "allreduce/one_shot"),
        ({"allreduce/ring": 3.0, "allreduce/ring(chunk=16K)": 0.1}, DEFAULT),
    ],
)
def test_the_best_wins_and_a_tie_is_built_in(seconds, winner):
    assert trial(Made(seconds)).use == winner


@pytest.mark.parametrize(
    ("jitter", "use"),
    [
        ((1.0, 1.0, 1.02), "allreduce/ring"),
        ((1.0, 1.0, 1.15), DEFAULT),
    ],
)
def test_a_gain_within_the_noise_is_not_written(jitter, use):
    """The ring takes 0.92 of the built-in choice, which differs from itself by 2% or 15%."""
    outcome = trial(Made({"allreduce/ring": 0.92}, jitter))
    assert outcome.final.challenger == "allreduce/ring"
    assert outcome.use == use
    assert outcome.reason() == ("written" if use == "allreduce/ring" else "within noise")
    assert outcome.final.noise == pytest.approx(max(jitter), rel=0.01)


def test_turns_are_compared_and_no_seconds_are_made_up():
    """The machine becomes half as fast with each turn.

    What is listed was measured: no candidate's time is a multiple that another turn gave.
    """
    seconds = {"allreduce/two_shot(chunk=16K)": 0.5, "allreduce/ring": 0.9, "allreduce/direct": 1.8}
    made = Made(seconds, times=lambda turn: 2.0**turn)
    outcome = trial(made, [DEFAULT, "allreduce/ring", "allreduce/direct"])
    assert outcome.use == "allreduce/two_shot(chunk=16K)"
    assert outcome.final.gain == pytest.approx(2)
    # Turn 1: all; turn 2: with chunks; turns 3 to 5: the heat, whose median is turn 4's.
    assert outcome.heat.seconds[outcome.use] == pytest.approx((0.5 * 2**4,))
    dropped, behind = outcome.heat.dropped["allreduce/direct"]
    assert dropped == pytest.approx((3.6,))
    assert behind == pytest.approx(2)


def test_a_burst_that_was_disturbed_makes_nobody_fast():
    """The fault of before: the default took 50 times as long in the turn of the chunks.

    A multiple of that turn, times the default's seconds of another, made 1.4 µs of 70.
    """
    seconds = {DEFAULT: 70e-6, "allreduce/two_shot(chunk=64K)": 71e-6}
    made = Made(seconds, jitter=(1.0, 50.0, *[1.0] * 200))
    made.seconds |= dict.fromkeys(algorithms("allreduce", 4, symmetric=False), 79e-6) | seconds
    outcome = trial(made)
    assert outcome.use == DEFAULT
    listed = outcome.comparable()
    assert min(of_size[0] for of_size in listed.values()) == pytest.approx(70e-6)
    assert listed["allreduce/two_shot(chunk=64K)"] == pytest.approx((71e-6,))


def test_what_is_written_is_the_quickest_that_is_listed():
    """A dropped candidate's turn was ten times as fast as the heat's."""
    made = Made(
        {"allreduce/ring": 0.5, "allreduce/one_shot": 0.9},
        times=lambda turn: 0.1 if turn == 1 else 1.0,
    )
    outcome = trial(made)
    listed = outcome.comparable()
    assert outcome.use == min(listed, key=listed.__getitem__) == "allreduce/ring"
    assert "allreduce/one_shot" not in listed
    whys = {name: why for name, _, why in outcome.candidates()}
    assert whys["allreduce/one_shot"] == "dropped: 1.80 times the best of its turn"
    assert whys["allreduce/ring"] == "used"


@pytest.mark.parametrize(
    ("seconds", "why"),
    [
        (1.4e-6, "took 1.4 µs for 1M bytes: the memory accesses alone need 6 µs at least"),
        (0.0, "took 0 µs for 1M bytes"),
        (-1e-6, "took -1 µs"),
        (float("nan"), "took nan µs"),
    ],
)
def test_an_impossible_figure_is_refused(seconds, why):
    made = Made({"allreduce/ring": seconds} | {DEFAULT: 80e-6}, least=6e-6)
    with pytest.raises(ImpossibleTime, match=f"^allreduce/ring {why}"):
        trial(made)


def test_a_point_with_an_impossible_figure_is_left_out(tmp_path, monkeypatch):
    from weft.tune.predict import Predict

    monkeypatch.setattr(Predict, "least", lambda self, point: (1.0,))
    file = tmp_path / "t.json"
    words = ["tune", "--topology", "rx1", "--ranks", "4", "--collectives", "allreduce", "--bytes",
             "8", "--memory", "ordinary", "--output", str(file), "--json", "-"]  # fmt: skip
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    assert "left out: allreduce, 4 ranks, 8 bytes" in " ".join(done.output.split())
    assert '"refused": "allreduce/' in done.output
    assert not file.exists()


def test_the_limit_of_this_machine_is_below_a_copy_and_above_nonsense():
    least = Here().least(Point("allreduce", 2, 1, False, (8, 1 << 20)))
    source, target = np.ones(1 << 20, np.uint8), np.ones(1 << 20, np.uint8)
    copies = timeit.repeat(lambda: np.copyto(target, source), number=1, repeat=50)
    assert 0 < least[0] < 1e-9
    assert 1e-6 < least[1] < min(copies)
    halves = Here().least(Point("reduce", 2, 1, False, (1 << 20,)))
    assert halves[0] == pytest.approx(least[1] / 2)
    assert Here().least(Point("broadcast", 2, 1, False, (1 << 20,))) == pytest.approx(halves)


def test_noise_is_the_95th_percentile_of_how_far_ratios_are_from_1():
    assert noise([1.0] * 12) == 1.0
    assert noise([1.0] * 50 + [0.5] * 50) == 2.0
    assert noise([1.0, 1.0, 2.0]) == pytest.approx(1.9)
    assert noise([1.01] * 96 + [9.0] * 4) == pytest.approx(1.01)
