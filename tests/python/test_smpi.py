"""SimGrid's own collectives on an exported platform take as long as the simulated plans."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from weft._build_info import SIMGRID_MISSING
from weft.cli import main
from weft.topology import Wire, flat, load
from weft.topology.simgrid import write_platform

KI, MI = 1 << 10, 1 << 20
SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "results" / "smpi.py"

pytestmark = [
    pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING),
    pytest.mark.skipif(
        not (shutil.which("smpicc") and shutil.which("smpirun")),
        reason="smpicc and smpirun are not there (Debian: libsimgrid-dev)",
    ),
]


# Topologies are made in tests: where torch and hypothesis are loaded, what a parametrized table
# of pytest's holds outlives the interpreter, and nanobind reports it as leaked.
def star():
    return flat(8, Wire(latency=1e-6, bandwidth=10e9))


@pytest.fixture(scope="module")
def smpi():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPT.parent))
        import smpi

        yield smpi


@pytest.fixture(scope="module")
def program(smpi, tmp_path_factory):
    return smpi.compiled(tmp_path_factory.mktemp("smpi"))


def test_command_writes_the_same(tmp_path):
    command = ["topology", "tsubame3", "--nodes", "2", "--simgrid", str(tmp_path / "a.xml")]
    assert CliRunner().invoke(main, command).exit_code == 0
    write_platform(load("tsubame3", nodes=2), tmp_path / "b.xml")
    assert (tmp_path / "a.xml").read_text() == (tmp_path / "b.xml").read_text()


@pytest.mark.parametrize(
    ("name", "nbytes", "chunk", "model"),
    [
        ("lr", 4 * MI, 4 * MI, "smpi"),
        ("rab", 4 * MI, 4 * MI, "smpi"),
        ("rab", 64 * KI, 64 * KI, "smpi"),
        ("NTSL_Isend", 8 * KI, 8 * KI, "smpi"),  # one segment
        ("NTSL_Isend", MI, MI, "plain"),  # 128 of them, which SimGrid carries all at once
    ],
)
@pytest.mark.parametrize("network", ["tsubame3", "flat"])
def test_plan_takes_what_smpis_does(name, nbytes, chunk, model, network, smpi, program, tmp_path):
    place = star() if network == "flat" else load(network, nodes=2)
    write_platform(place, tmp_path / "platform.xml")
    case = smpi.Case(name, 8, nbytes, chunk, model)
    theirs = smpi.run(program, tmp_path / "platform.xml", case)
    assert smpi.simulated(place, case) == pytest.approx(theirs, rel=0.01)


def test_chain_follows_piece_by_piece_where_smpis_does_not(smpi, program, tmp_path):
    place = star()
    write_platform(place, tmp_path / "platform.xml")
    case = smpi.Case("NTSL_Isend", 8, MI, smpi.SEGMENT, "plain")
    theirs = smpi.run(program, tmp_path / "platform.xml", case)
    assert smpi.simulated(place, case) < theirs / 4
