"""What a results script does while a host has moved or shared its cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from weft.bench.cases import Case
from weft.bench.job import Measured
from weft.bench.libraries import limit

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "results"
NEAR, FAR = 1.0, 3.0


@pytest.fixture
def placement(monkeypatch):
    """Placement whose looks are given; the last of them stays. Ten near ones come first."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from defaults.placement import Look, Placement

    def made(*looks, patience=30.0):
        left = [NEAR] * 10 + list(looks)
        look = Look(lambda: left.pop(0) if len(left) > 1 else left[0], 2)
        return Placement([Look(lambda: NEAR, 2), look], patience)

    made.look = Look
    return made


@pytest.mark.parametrize(
    ("looks", "measured", "moved"),
    [
        ((NEAR, NEAR), 1, 0),
        ((NEAR, 1.9), 1, 0),  # a busy neighbour
        ((NEAR, FAR, NEAR, NEAR), 2, 1),  # moved meanwhile: measured again
        ((FAR, FAR, FAR, NEAR, NEAR), 1, 0),  # far before: nothing is measured until they are near
        ((NEAR, FAR, FAR, NEAR, FAR, NEAR, NEAR), 3, 2),
    ],
)
def test_what_was_measured_with_far_cores_is_thrown_away(placement, looks, measured, moved):
    numbers = iter(range(1, 10))
    found = placement(*looks)
    assert found.steady(lambda: next(numbers)) == measured
    assert found.counts() == {"moved": moved, "far": 0}


def test_a_core_whose_other_half_computes_is_found_shared(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from defaults import placement

    cores = os.sched_getaffinity(0)
    asked, slower = [], [1.0]

    def counting(core):
        os.sched_setaffinity(0, {core})
        asked.append(core)
        return slower[-1] if core == max(cores) else 1.0

    monkeypatch.setattr(placement, "_counting", counting)
    look = placement.Look(placement.shared, 1.2)
    assert look.passes()
    slower.append(1.5)
    assert look.passes() == (len(cores) > 2)  # others than the first two are not looked at
    assert asked[:2] == sorted(cores)[:2]
    assert os.sched_getaffinity(0) == cores


def test_cores_that_stay_far_are_counted(placement):
    found = placement(NEAR, FAR, patience=0.05)
    assert found.steady(lambda: "as it is") == "as it is"
    assert found.counts() == {"moved": 1, "far": 1}
    assert found.steady(lambda: "again") == "again"
    assert found.counts() == {"moved": 1, "far": 2}


def test_sizes_that_met_moved_cores_are_measured_again(placement, monkeypatch):
    from defaults import peers

    apart = {8: [FAR, FAR, FAR, NEAR], 16: [FAR, NEAR], 32: [NEAR]}
    asked = []

    def burst(_, job):
        sizes = [case.bytes for case in job.cases]
        asked.append(sizes)
        seconds = [len(asked) * 1e-6]
        return [
            [Measured(True, None, seconds, NEAR) for _ in sizes],
            [Measured(True, None, seconds, apart[n].pop(0)) for n in sizes],
        ]

    monkeypatch.setattr(peers, "burst", burst)
    monkeypatch.setattr(peers, "look_apart", lambda: placement.look(lambda: NEAR, 2))
    found = placement(NEAR)
    cases = {n: Case.sized("broadcast", n, 2, "float32") for n in (8, 16, 32)}
    assert list(peers._round(limit(), cases, found).items()) == [(8, 4.0), (16, 2.0), (32, 1.0)]
    assert asked == [[8, 16, 32], [8, 16], [8], [8]]
    assert found.counts() == {"moved": 3, "far": 0}


def test_sizes_that_always_meet_moved_cores_are_counted(placement, monkeypatch):
    from defaults import peers

    one = [Measured(True, None, [1e-6], FAR)]
    monkeypatch.setattr(peers, "burst", lambda *_: [one, one])
    monkeypatch.setattr(peers, "look_apart", lambda: placement.look(lambda: NEAR, 2))
    found = placement(NEAR, patience=0.05)
    case = Case.sized("broadcast", 8, 2, "float32")
    assert peers._round(limit(), {8: case}, found) == {8: 1.0}
    assert found.moved > 0
    assert found.far == 1


@pytest.mark.parametrize(("quicker", "moved"), [(10, 0), (14, 1)])
def test_the_median_of_the_looks_is_the_norm(placement, quicker, moved):
    found = placement(NEAR, *[0.6] * quicker, 1.3, 0.6)
    for _ in range(quicker + 1):
        found.steady(lambda: None)
    assert found.moved == moved


def test_what_was_measured_in_a_far_quicker_moment_is_thrown_away(placement):
    found = placement(NEAR, 0.1, NEAR)
    numbers = iter(range(1, 10))
    assert found.steady(lambda: next(numbers)) == 2
    assert found.counts() == {"moved": 1, "far": 0}


@pytest.mark.parametrize(("near", "usual"), [(3, NEAR), (2, FAR)])
def test_the_norm_may_be_what_a_quarter_is_quicker_than(placement, near, usual):
    looks = [NEAR] * near + [FAR] * (10 - near)
    look = placement.look(lambda: looks.pop(), 2, quicker=1 / 4)
    assert [one for one in (NEAR, FAR) if look.is_usual(one)] == [usual]
