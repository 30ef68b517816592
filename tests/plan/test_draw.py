"""Drawings: schedules that follow the plan, documents that parse, every message drawn."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from click.testing import CliRunner

import weft
from weft import plan
from weft.cli import main
from weft.draw.labels import label
from weft.draw.schedule import run
from weft.draw.svg import pattern, ticks
from weft.draw.timeline import trace

SVG = "{http://www.w3.org/2000/svg}"
NAMES = plan.algorithm_names()


def schedule_of(name, ranks, *, size=None, **options):
    return run(plan.make_plan(name, ranks), size=size, **options)


@pytest.mark.parametrize(
    ("name", "ranks", "steps"),
    [
        ("allreduce/one_shot", 5, 4.5),  # copy into the slot, message, sum of five blocks
        ("allreduce/two_shot", 5, 8.5),  # message, sum, message, a copy of each peer's block
        # P-1 messages with a sum after each, then P-1 with a copy after each, all but the last
        # of which go into a slot, too.
        ("allreduce/ring", 2, 4),
        ("allreduce/ring", 4, 14),
        ("allreduce/ring", 8, 34),
        ("broadcast/chain", 5, 12),  # a message and a copy a rank, and into slots on the way
        ("barrier/dissemination", 8, 3),
        ("gather/direct", 3, 3),
    ],
)
def test_steps_on_the_longest_path(name, ranks, steps):
    assert schedule_of(name, ranks).end == pytest.approx(steps)


def test_chunks_overlap():
    alone = schedule_of("broadcast/chain", 4).end
    many = schedule_of("broadcast/chain", 4, size=16 * 1024, chunk=1024).end
    assert alone < many < 16 * alone / 2


@pytest.mark.parametrize("name", ["allreduce/ring", "allreduce/two_level", "broadcast/chain"])
def test_times_are_prices(name):
    made = plan.make_plan(name, 8)
    found = run(made, "tsubame3", size=1 << 20, chunk=1 << 16)
    price = weft.price(made, "tsubame3", nbytes=1 << 20, chunk=1 << 16)
    assert (found.unit, found.end) == ("us", pytest.approx(price.seconds * 1e6))
    assert len(found.messages) == price.messages
    assert max(task.end for task in found.tasks) <= found.end * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_plan_can_be_drawn(name):
    ranks = 2 if plan.find_algorithm(name).refuses(5) else 5
    schedule = schedule_of(name, ranks)
    for message in schedule.messages:
        assert message.sent <= message.arrived <= message.received <= schedule.end
        assert message.received <= message.credited
    for task in schedule.tasks:
        assert 0 <= task.start < task.end <= schedule.end
    root = ET.fromstring(pattern(schedule))
    arrows = [p for p in root.iter(f"{SVG}path") if p.get("marker-end")]
    assert len(arrows) == len(schedule.messages)
    texts = {text.text for text in root.iter(f"{SVG}text")}
    assert {f"rank {rank}" for rank in range(ranks)} <= texts


def test_labels_name_what_is_sent():
    schedule = schedule_of("allreduce/ring", 4)
    from_0 = [label(m.value, schedule) for m in schedule.messages if m.source == 0]
    assert from_0 == ["x0[3]", "Σ0,3[2]", "Σ0,2-3[1]", "y[0]", "y[3]", "y[2]"]
    halving = schedule_of("allreduce/rabenseifner", 4)
    assert label(halving.messages[0].value, halving) == "x0[2-3]"
    chunked = schedule_of("allreduce/two_shot", 2, size=4096, chunk=1024)
    assert label(chunked.messages[0].value, chunked) == "x0[1].0"


def test_trace_has_each_step_and_arrow():
    schedule = schedule_of("allreduce/two_shot", 3)
    events = json.loads(trace(schedule))["traceEvents"]
    phases = Counter(event["ph"] for event in events)
    assert phases["s"] == phases["f"] == len(schedule.messages)
    steps = [event for event in events if event["ph"] == "X" and event["cat"] == "step"]
    assert len(steps) == len(schedule.tasks)
    assert {event["tid"] for event in steps} == {0, 1, 2}
    assert all(event["dur"] > 0 for event in steps)


@pytest.mark.parametrize(("end", "most"), [(1, 1), (3, 3), (12, 12), (0.37, 0.35), (180, 180)])
def test_ticks_are_few_and_round(end, most):
    found = ticks(end)
    assert 5 <= len(found) <= 13
    assert found[0] == 0
    assert found[-1] == pytest.approx(most, rel=0.2)
    assert found[-1] <= end * 1.000001


def test_show(tmp_path):
    files = {kind: tmp_path / f"plan.{kind}" for kind in ("svg", "timeline", "html", "json")}
    options = [word for kind, file in files.items() for word in (f"--{kind}", str(file))]
    result = CliRunner().invoke(main, ["show", "lr", "--ranks", "3", *options])
    assert (result.exit_code, result.output) == (0, "")
    ring = plan.make_plan("allreduce/ring", 3)
    assert plan.plan_from_json(files["json"].read_text()) == ring
    ET.fromstring(files["svg"].read_text())
    assert json.loads(files["timeline"].read_text())["otherData"]["unit"] == "steps"
    on = CliRunner().invoke(main, ["show", "lr_lr", "--ranks", "8", "--topology", "tsubame3",
                                   "--bytes", "1M", "--timeline", "-"])  # fmt: skip
    assert json.loads(on.output)["otherData"]["unit"] == "us"
    html = files["html"].read_text()
    assert html.count("<svg") == 2
    assert "plan allreduce/ring collective=allreduce ranks=3" in html
    for elsewhere in ("src=", "href=", "@import"):
        assert elsewhere not in html
    text = CliRunner().invoke(main, ["show", "lr", "--ranks", "3"]).output
    assert plan.parse_plan(text) == ring


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["rign"], "no algorithm"),
        (["lr", "--param", "nod=3"], "nod"),
        (["sendrecv/stream", "--ranks", "3"], "2 ranks"),
        (["lr", "--bytes", "many"], "many"),
        (["lr", "--topology", "tsubame4"], "tsubame4"),
        (["lr", "--ranks", "17", "--topology", "rx2"], "17"),
    ],
)
def test_show_refuses(arguments, word):
    result = CliRunner().invoke(main, ["show", *arguments])
    assert result.exit_code != 0
    assert word in result.output
    assert "Traceback" not in result.output
