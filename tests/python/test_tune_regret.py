"""What `weft tune` says of its outcomes: the regret in one line, and the table."""

from __future__ import annotations

import io

from rich.console import Console

from weft.tune.heat import Heat
from weft.tune.point import Point, Timed
from weft.tune.regret import judge
from weft.tune.shown import table
from weft.tune.trial import TURNS, Final, Outcome

POINT = Point("allreduce", 4, 1, False, (1 << 20,))
DEFAULT = "allreduce/two_shot"


def final(ratio, itself=1.0):
    """A challenger that is `ratio` times as fast as the default."""
    slow, fast, again = ((Timed(s, s),) for s in (1.0, 1 / ratio, itself))
    return Final("allreduce/ring", [slow] * TURNS, [fast] * TURNS, [again] * TURNS)


def test_a_judgement_is_one_line():
    heat = Heat(DEFAULT, {DEFAULT: (1.0,), "allreduce/ring": (0.8,)})
    found = [(POINT, Outcome(DEFAULT, heat, one)) for one in (None, final(0.9), final(1.22))]
    judgement = judge(found)
    assert judgement.text() == (
        "defaults: median regret 1.00, worst 1.22 (allreduce 1M, 4 ranks, ordinary): "
        "tuning is worth it for 1 of 3 calls"
    )
    assert (found[1][1].reason(), found[1][1].regret) == ("not faster", 1.0)
    inside = judge([(POINT, Outcome(DEFAULT, heat, final(1.1, itself=1.4)))])
    assert inside.text() == (
        "defaults: median regret 1.32, worst 1.32 (allreduce 1M, 4 ranks, ordinary, within its "
        "noise of 1.40): tuning is worth it for none of 1 calls, and 1 were too noisy to say"
    )


def test_the_table_keeps_its_figures_where_names_are_long():
    name = "allreduce/multi_leader(node=8,leaders=2,inner=direct,outer=rabenseifner,chunk=256K)"
    heat = Heat(DEFAULT, {DEFAULT: (1.0,), name: (0.8,)})
    lines = io.StringIO()
    Console(file=lines, width=110).print(table([(POINT, Outcome(DEFAULT, heat, final(1.25)))]))
    shown = lines.getvalue().splitlines()
    first = next(line.split() for line in shown if line.startswith("  allreduce"))
    assert first[:6] == ["allreduce", "4", "1M", "ordinary", "two_shot", "1000000"]
    assert first[-4:] == ["800000", "1.25", "1.00", "written"]
