"""The arithmetic of docs/results/caffe_gpi.md."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "results"))

from hiding import tables
from hiding.figures import goals, hidden, hidden_in_pairs, starts_of_forward
from hiding.schedule import Layer, best_step, layers_of


def test_what_was_measured_becomes_layers():
    rows = [["low", 100, 0.0, 9.0], ["high", 300, 2.0, 5.0]]
    low, high = layers_of(rows, update=4.0, bytes_a_second=50.0)
    assert low == Layer(forward=2.0, backward=4.0, update=1.0, wire=2.0)
    assert high == Layer(forward=0.0, backward=3.0, update=3.0, wire=6.0)


# Layers as (forward, backward, update, wire), and the least time of a step.
SCHEDULES = {
    "no bytes": ([(1, 2, 0, 0), (0, 3, 0.5, 0)], 6.5),
    # The only layer is needed as soon as it is ready.
    "nothing to hide": ([(0, 3, 0, 2)], 5.0),
    # The second layer travels under the backward pass of the first, which then waits for itself.
    "under the backward pass": ([(1, 4, 0, 1), (0, 2, 0, 3)], 8.0),
    # The first layer overtakes the second, whose rest travels under its forward pass.
    "overtakes": ([(2, 1, 0, 1), (0, 2, 0, 3)], 6.0),
    "the wire is always busy": ([(0.5, 1, 0, 4), (0, 1, 0, 20)], 25.0),
}


@pytest.mark.parametrize("case", SCHEDULES)
def test_the_best_schedule(case):
    layers, wanted = SCHEDULES[case]
    assert best_step([Layer(*layer) for layer in layers]) == pytest.approx(wanted)


def steps(how, *seconds, model="alexnet", rate="1 Gbit/s", place="2 x 1"):
    turn = {"part": "steps", "model": model, "rate": rate, "place": place, "how": how}
    return {"turn": turn, "seconds": list(seconds)}


def pairs(how, against, *seconds, rate="1 Gbit/s"):
    turn = {"part": "pairs", "model": "alexnet", "rate": rate, "place": "2 x 1", "how": how}
    seconds = [list(pair) for pair in seconds]
    return {"turn": turn | {"against": against}, "seconds": seconds, "wait": "step"}


def test_hidden_is_what_is_gone_of_what_can_go():
    turn = {"model": "alexnet", "rate": "1 Gbit/s", "place": "2 x 1"}
    rows = [
        {"turn": turn | {"part": "wire"}, "seconds": 3.0, "bytes": 300},
        {"turn": turn | {"part": "layers"}, "update": 0.0,
         "layers": [["low", 0, 0.0, 9.0], ["high", 300, 1.0, 5.0]]},
        steps("phases", 12.0, 13.0, 20.0), steps("allreduce", 10.0),
        pairs("allreduce", "phases", (9.5, 13.0), (11.0, 14.0), (10.0, 11.0)),
    ]  # fmt: skip
    # The bytes travel under the 4 s of the lower layer: 9 s.
    assert hidden(rows, ("alexnet", "1 Gbit/s", "2 x 1"), "allreduce") == pytest.approx(0.75)
    assert hidden(rows, ("alexnet", "1 Gbit/s", "2 x 1"), "tree") is None
    # 10 s beside 13 s, the medians of each.
    assert hidden_in_pairs(rows, ("alexnet", "1 Gbit/s", "2 x 1"), "allreduce") == 0.75
    assert hidden_in_pairs(rows, ("alexnet", "10 Gbit/s", "2 x 1"), "allreduce") is None


def test_a_goal_that_is_missed_is_said_to_be():
    rows = [steps("DDP on Gloo", 2.0), steps("allreduce", 1.0), steps("tree", 1.0),
            pairs("tree", "allreduce", (1.2, 1.0), (1.0, 1.0), (2.4, 2.0)),
            pairs("allreduce", "DDP on Weft", (1.0, 2.0), (1.04, 1.0), (2.2, 2.0)),
            pairs("sharded", "DDP on Weft", (5.0, 1.0), (1.0, 1.0), (2.04, 2.0))]  # fmt: skip
    met = {words: is_met for words, _, _, is_met in goals(rows)}
    assert met["AlexNet, 1 Gbit/s, 2 x 1: allreduce over DDP on Weft"] is False
    assert met["AlexNet, 1 Gbit/s, 2 x 1: sharded over DDP on Weft"] is True
    assert met["AlexNet, 1 Gbit/s, 2 x 1: tree over allreduce"] is False
    assert met["allreduce on 2 x 2, 1 Gbit/s: speed over DDP on Gloo"] is None


def test_pairs_say_their_range_and_when_updates_came():
    rows = [pairs("sharded", "DDP on Weft", (5.0, 1.0), (1.0, 1.0), (2.04, 2.0))]
    said = tables.pairs([*rows, pairs("allreduce", "DDP on Weft", (1.0, 2.0))])
    row = "| AlexNet, 1 Gbit/s, 2 x 1 | 0.500 (0.50 to 0.50), step | 1.020 (1.00 to 5.00), step |"
    assert row in said


def test_how_long_after_backward_the_next_forward_pass_begins():
    def event(name, begin, end):
        return {"ph": "X", "cat": "compute", "pid": 0, "name": name,
                "ts": 1e3 * begin, "dur": 1e3 * (end - begin)}  # fmt: skip

    events = [event("forward", 0, 2), event("forward conv1", 0, 1), event("backward", 3, 7),
              event("forward", 7.5, 9), event("backward", 9, 12)]  # fmt: skip
    assert starts_of_forward({"traceEvents": events}) == [[pytest.approx(0.5)]]
