"""What the tools say of a plan that hands its call to the fabric: neither proved nor priced."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import weft
from weft import plan
from weft.cli import main
from weft.cost import price
from weft.errors import InvalidPlan, Unsupported
from weft.topology import Rates, Wire, flat


def run(*arguments):
    return CliRunner().invoke(main, list(arguments))


def topology(ranks=4):
    return flat(ranks, Wire(latency=1e-6, bandwidth=1e9), rates=Rates(copy=1e9, reduce=1e9))


def test_verify_never_says_proved(tmp_path):
    result = run("verify", "allreduce/native", "--ranks", "1-3", "--json", str(tmp_path / "p.json"))
    assert result.exit_code == 3
    assert "opaque, not proved" in result.output
    assert "WRONG" not in result.output
    found = json.loads((tmp_path / "p.json").read_text())
    assert not found["ok"]
    assert all(case["opaque"] and not case["proved"] for case in found["cases"])


def test_no_price():
    with pytest.raises(Unsupported, match=r"allreduce/native .* no price"):
        price("allreduce/native", topology(), nbytes=1024)
    result = run("price", "allreduce/native", "--topology", "tsubame3", "--bytes", "1M")
    assert result.exit_code != 0
    assert "no price" in result.output


def test_is_drawn_as_one_box_for_each_rank(tmp_path):
    page, trace = tmp_path / "native.html", tmp_path / "native.json"
    result = run(
        "show", "allreduce/native", "--ranks", "3", "--html", str(page), "--timeline", str(trace)
    )
    assert result.exit_code == 0, result.output
    assert "the fabric&#x27;s own function" in page.read_text()
    boxes = [one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "X"]
    assert [(one["name"], one["tid"]) for one in boxes] == [("native", rank) for rank in range(3)]
    result = run("show", "allreduce/native", "--topology", "tsubame3", "--html", str(page))
    assert "no price" in result.output


def test_explain_says_what_it_is():
    words = ("explain", "allreduce", "--bytes", "1M", "--ranks", "4", "--tuning", "none")
    for more in ((), ("--topology", "tsubame3")):
        result = run(*words, "--algorithm", "native", *more)
        assert result.exit_code == 0, result.output
        assert "fabric's own function" in " ".join(result.output.split())
        assert "neither proved nor priced" in " ".join(result.output.split())
    assert "native" not in run(*words, "--all").output


def test_text_and_json_forms():
    native = plan.make_plan("broadcast/native", 3, {"root": 1})
    assert plan.parse_plan(str(native)) == native
    assert plan.plan_from_json(plan.plan_to_json(native)) == native
    assert "broadcast/native" not in plan.algorithm_names()


def test_a_call_on_a_fabric_without_natives():
    with weft.init(rank=0, size=1) as comm, pytest.raises(Unsupported, match="choose another"):
        comm.allreduce(np.ones(3, np.float32), algorithm="native")


def test_no_user_can_register_it():
    text = "plan allreduce/x collective=allreduce ranks=1 input=1 output=1\nrank 0\nonce\nnative\n"
    assert not plan.verify(plan.parse_plan(text))
    with pytest.raises(InvalidPlan):
        plan.parse_plan(text.replace("native", "native input[0]"))
