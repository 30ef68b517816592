"""Plans from Python: the builder, text, JSON and the verifier."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import errors, plan
from weft.errors import InvalidArgument, InvalidPlan

RANKS = (1, 2, 3, 4, 5, 8)


def shape(collective="allreduce", ranks=4):
    return plan.PlanShape(f"{collective}/test", collective, ranks)


def builder(collective="allreduce", rank=1, ranks=4):
    b = plan.Builder(rank, shape(collective, ranks))
    b.channel(slots=2)
    return b


def built_in_plans():
    for name in plan.algorithm_names():
        for ranks in RANKS:
            if not plan.find_algorithm(name).refuses(ranks):
                yield name, ranks


class TestBuilder:
    def test_writes_what_the_text_says(self):
        b = builder()
        b.blocks(4, 4)
        wide = b.channel(slots=1, wide=True)
        with b.once():
            b.signal([2, 3], 0)
            b.wait(2, 0)
            b.credit(2, 0)
        with b.chunks():
            b.put(b.input(1, blocks=2), to=2, channel=0)
            b.put(b.input(), to=3, channel=0, dst=b.output_of(3, 2))
            b.lag(1)
            b.wait(0, wide, of=b.input(3))
            b.reduce([b.output(3), b.slot(wide)], [b.input(3), b.slot(0, wide)])
            b.reduce(b.output(3), [b.output(3), b.input_of(0, 3)], last=True)
            b.copy(b.output(2), b.input(2))
            b.credit(0, wide, of=b.input(3))
            b.signal(2, wide, of=b.output(3))
        with b.once():
            b.flush()
        written = plan.Plan(shape(ranks=2), [[], b.finish()])
        text = """\
rank 0
rank 1
  once
    signal 2, 3 on 0
    wait 2 on 0
    credit 2 on 0
  chunks
    put input[1, 2] -> 2 on 0
    put output[2]@3 = input[0] -> 3 on 0
    lag 1: wait 0 on 1 for input[3]
    lag 1: reduce output[3], slot[1] = input[3] + slot[1]@0
    lag 1: reduce! output[3] = output[3] + input[3]@0
    lag 1: copy output[2] = input[2]
    lag 1: credit 0 on 1 for input[3]
    lag 1: signal 2 on 1 for output[3]
  once
    flush
"""
        assert str(written).partition("\n")[2] == text
        assert b.shape.channels == [plan.Channel(2), plan.Channel(1, wide=True)]

    def test_steady_sections_become_rounds(self):
        b = builder("alltoall", rank=0, ranks=5)
        for distance in range(1, 5):
            with b.chunks():
                b.put(b.input(distance), distance, 0)
        (section,) = b.finish()
        assert section.rounds == 4
        assert [section.steps[0].peers[0].at(i) for i in range(4)] == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("says", "write"),
        [
            ("ranks are 0 .. 3", lambda b: b.put(b.input(), 4, 0)),
            ("twice", lambda b: b.put(b.input(), [2, 2], 0)),
            ("one for each", lambda b: b.put(b.input(), [2, 3], 0, dst=b.output_of(2))),
            ("not declared", lambda b: b.wait(2, 7, b.input())),
            ("reads the own slot", lambda b: b.copy(b.output(), b.slot(0))),
            ("lag(256)", lambda b: b.lag(256)),
            ("a section in a section", lambda b: b.once().__enter__()),
            ("3 destinations", lambda b: b.copy([b.output()] * 3, b.input())),
        ],
    )
    def test_misuse_is_refused_at_its_line(self, says, write):
        b = builder()
        with pytest.raises(InvalidPlan, match=r"allreduce/test, rank 1: .*") as refused, b.chunks():
            write(b)
        assert says in str(refused.value)
        assert b.finish() == []  # the section is dropped, the builder goes on

    def test_any_exception_drops_the_section(self):
        b = builder()

        def fails():
            with b.chunks():
                b.copy(b.output(), b.input())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fails()
        assert b.finish() == []

    def test_outside_of_sections(self):
        with pytest.raises(InvalidPlan, match="outside of a section"):
            builder().flush()

    def test_group(self):
        group = plan.Group(4, [6, 4, 1])
        assert (len(group), group.me, list(group)) == (3, 1, [6, 4, 1])
        assert [group.at(i) for i in (-1, 3)] == [1, 6]
        assert list(plan.Group(0, 3)) == [0, 1, 2]
        with pytest.raises(InvalidPlan, match="not a member"):
            plan.Group(5, [6, 4])


class TestValues:
    def test_compare(self):
        assert plan.Range("input", 3) == plan.Range("input", plan.Index(3))
        assert plan.Range("input", 3) != plan.Range("output", 3)
        assert plan.Index(3) != "3"
        assert plan.Index(0, 3, -1, 4).at(5) == 2

    @pytest.mark.parametrize(
        ("kind", "says", "make"),
        [
            (InvalidPlan, "modulus 0", lambda: plan.Index(0, 0, 1, 0)),
            (InvalidPlan, "none of input, output, slot", lambda: plan.Range("inputs", 0)),
            (InvalidPlan, "none of copy", lambda: plan.Step("move", plan.Range("input", 0))),
            (InvalidPlan, "lag 256", lambda: plan.Step("flush", plan.Range("input", 0), lag=256)),
            (InvalidArgument, "broadcast", lambda: plan.PlanShape("a/b", "dance", 2)),
        ],
    )
    def test_refused(self, kind, says, make):
        with pytest.raises(kind, match=says):
            make()

    def test_digest_tells_shapes_apart(self):
        assert shape(ranks=3).digest == shape(ranks=3).digest != shape(ranks=4).digest


class TestForms:
    @pytest.mark.parametrize(("name", "ranks"), list(built_in_plans()))
    def test_round_trips(self, name, ranks):
        made = plan.make_plan(name, ranks)
        assert plan.parse_plan(str(made)) == made
        assert plan.plan_from_json(plan.plan_to_json(made)) == made
        assert plan.plan_from_json(plan.plan_to_json(made, indent=1)) == made

    def test_text_errors_name_the_line(self):
        with pytest.raises(InvalidPlan, match="line 2"):
            plan.parse_plan("plan a/b collective=barrier ranks=1 input=0 output=0\nrang 0\n")

    def test_words_and_lists_round_trip(self):
        made = plan.make_plan("lr_rab", 4)
        assert made.shape.params["outer"] == "rabenseifner"
        chain = plan.make_plan("pc", 4, {"order": [2, 0, 1, 3]})
        assert chain.shape.params == {"order": [2, 0, 1, 3], "root": 0}
        for one in (made, chain):
            assert plan.plan_from_json(plan.plan_to_json(one)) == one
            assert plan.parse_plan(str(one)) == one
        with pytest.raises(TypeError):
            plan.make_plan("pc", 4, {"order": [2.5]})
        with pytest.raises(TypeError):
            plan.make_plan("lr_lr", 4, {"outer": "two words"})

    @pytest.mark.parametrize(
        ("says", "change"),
        [
            ("plan: unknown key 'size'", lambda d: d.update(size=3)),
            ("plan: 'ranks' is missing", lambda d: d.pop("ranks")),
            ("plan.ranks: expected a number, found true", lambda d: d.update(ranks=True)),
            ("plan.ranks: expected a number of 32", lambda d: d.update(ranks=1 << 31)),
            ("plan: expected format 'weft-plan', version 1", lambda d: d.update(version=2)),
            ("plan: .*dance", lambda d: d.update(collective="dance")),
            (r"plan.channels\[0\].slots: expected", lambda d: d["channels"][0].update(slots="4")),
            (r"plan.channels\[0\]: expected an object", lambda d: d.update(channels=[4])),
            (r"plan.programs\[1\]: expected a list", lambda d: d["programs"].insert(1, {})),
            (r"plan.params.root: expected a number", lambda d: d["params"].update(root=True)),
            (r"plan.programs\[0\]\[0\].steps\[0\]: .*none of copy",
             lambda d: d["programs"][0][0]["steps"][0].update(verb="move")),
            (r"steps\[0\].src\[0\].block: 'base' is missing",
             lambda d: d["programs"][0][0]["steps"][0]["src"][0].update(block={})),
            (r"steps\[0\].extent.buffer: expected input or output",
             lambda d: d["programs"][0][0]["steps"][0]["extent"].update(buffer="slot")),
        ],
    )  # fmt: skip
    def test_json_errors_name_the_place(self, says, change):
        document = json.loads(plan.plan_to_json(plan.make_plan("broadcast/knomial", 3)))
        change(document)
        with pytest.raises(InvalidPlan, match=says):
            plan.plan_from_json(json.dumps(document))

    @pytest.mark.parametrize("text", ["{", "", "[]", "null", '{"format": "weft-plan"}'])
    def test_json_of_something_else(self, text):
        with pytest.raises(InvalidPlan):
            plan.plan_from_json(text)


class TestVerify:
    @pytest.mark.parametrize("ranks", RANKS)
    def test_proves(self, ranks):
        report = plan.verify(plan.make_plan("allgather/ring", ranks))
        assert report.ok
        assert report
        assert report.scenarios > 0
        assert report.findings == []

    def test_finds(self):
        text = str(plan.make_plan("broadcast/knomial", 2)).replace("    credit", "    # credit")
        report = plan.verify(plan.parse_plan(text))
        assert not report
        finding = report.findings[0]
        assert (finding.fault, finding.rank in (0, 1)) == ("contract", True)
        assert finding.text in str(report)

    @given(st.integers(0, 10_000))
    @settings(max_examples=60, deadline=None)
    def test_every_lost_line_of_a_ring_is_found(self, which):
        lines = str(plan.make_plan("allreduce/ring", 3)).splitlines(keepends=True)
        steps = [i for i, line in enumerate(lines) if line.startswith("    ")]
        lost = steps[which % len(steps)]
        broken = plan.parse_plan("".join(lines[:lost] + lines[lost + 1 :]))
        assert not plan.verify(broken, max_trips=2), f"line {lost + 1}: {lines[lost]}"


def test_errors_are_those_of_the_package():
    assert issubclass(errors.InvalidPlan, errors.WeftError)
