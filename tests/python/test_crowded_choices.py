"""Where ranks share cores, `weft explain` and `weft tune` say what a communicator chooses."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from weft import _core
from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import weft_library
from weft.bench.processes import burst
from weft.cli import main
from weft.tune.point import Point
from weft.tune.points import builtin

# The fewest that share cores here and are many.
RANKS = max(17, _core.system_info()["usable_cores"] + 1)
few_cores = pytest.mark.skipif(RANKS > 40, reason=f"{RANKS} ranks would have to share cores")


@few_cores
@pytest.mark.parametrize(
    ("collective", "nbytes", "alone", "sharing"),
    [
        ("allreduce", 8, "allreduce/recursive_doubling", "allreduce/one_shot"),
        ("broadcast", 4096, "broadcast/knomial(radix=8)", "broadcast/one_shot"),
        ("reduce", 8, "reduce/binomial", "reduce/direct"),
    ],
)
def test_explain_says_what_runs(collective, nbytes, alone, sharing):
    asked = ["explain", collective, "--bytes", str(nbytes), "--ranks", str(RANKS),
             "--tuning", "none"]  # fmt: skip
    said = CliRunner().invoke(main, asked).output
    assert f"{RANKS} ranks share this machine's cores" in " ".join(said.split())
    known = json.loads(CliRunner().invoke(main, [*asked, "--json", "-"]).output)
    case = Case.sized(collective, nbytes, RANKS, "float32")
    ran = {rank[0].algorithm for rank in burst(weft_library("core"), Job([case], 0, 1))}
    assert ran == {sharing}
    assert (known["chosen"], known["crowded"]) == (sharing, True)
    assert builtin(Point(collective, RANKS, 1, False, (nbytes,))) == alone


@few_cores
def test_tune_judges_the_choice_of_ranks_that_share_cores(tmp_path):
    asked = ["--collectives", "reduce", "--bytes", "8", "--ranks", str(RANKS), "--memory",
             "ordinary", "--output", str(tmp_path / "t.json"), "--json", "-"]  # fmt: skip
    # A process of its own: other tests add algorithms to this one, which ranks do not have.
    command = [sys.executable, "-m", "weft", "tune", *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout.splitlines()[0])
    assert point["built_in"] == "reduce/direct"


@pytest.mark.parametrize(("ranks", "place"), [(1, []), (32, ["--topology", "rx1"])])
def test_ranks_with_a_core_each_share_none(ranks, place):
    asked = ["explain", "allreduce", "--bytes", "8", "--ranks", str(ranks), "--tuning", "none"]
    known = json.loads(CliRunner().invoke(main, [*asked, *place, "--json", "-"]).output)
    assert not known["crowded"]
    assert not any("share this machine's cores" in note for note in known["notes"])
