"""SimGrid's own collectives on an exported platform take as long as the simulated plans."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from click.testing import CliRunner

import weft
from weft._build_info import SIMGRID_MISSING
from weft.cli import main
from weft.topology import Wire, flat, load
from weft.topology.simgrid import write_platform

M = 1 << 20
PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, count = atoi(argv[1]) / 4;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  float *in = calloc(count, 4), *out = calloc(count, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  double times[2] = {MPI_Wtime(), 0}, latest[2];
  MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  times[1] = MPI_Wtime();
  MPI_Reduce(times, latest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("seconds %.9g\n", latest[1] - latest[0]);
  MPI_Finalize();
  return 0;
}
"""

pytestmark = [
    pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING),
    pytest.mark.skipif(
        not (shutil.which("smpicc") and shutil.which("smpirun")),
        reason="smpicc and smpirun are not there (Debian: libsimgrid-dev)",
    ),
]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("smpi")
    (folder / "allreduce.c").write_text(PROGRAM)
    command = ["smpicc", "-O1", "allreduce.c", "-o", "allreduce"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    return folder / "allreduce"


def test_command_writes_the_same(tmp_path):
    command = ["topology", "tsubame3", "--nodes", "2", "--simgrid", str(tmp_path / "a.xml")]
    assert CliRunner().invoke(main, command).exit_code == 0
    write_platform(load("tsubame3", nodes=2), tmp_path / "b.xml")
    assert (tmp_path / "a.xml").read_text() == (tmp_path / "b.xml").read_text()


@pytest.mark.parametrize("topology", ["tsubame3", "flat"])
def test_ring_takes_what_smpis_does(topology, program, tmp_path):
    star = flat(8, Wire(latency=1e-6, bandwidth=10e9))
    place = load("tsubame3", nodes=2) if topology == "tsubame3" else star
    write_platform(place, tmp_path / "platform.xml")
    (tmp_path / "hosts").write_text("".join(f"rank{rank}\n" for rank in range(8)))
    done = subprocess.run(
        ["smpirun", "-np", "8", "-platform", "platform.xml", "-hostfile", "hosts",
         "--cfg=smpi/allreduce:lr", "--cfg=smpi/simulate-computation:no", str(program), str(4 * M)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    seconds = float(re.search(r"seconds (\S+)", done.stdout)[1])
    ours = weft.simulate("lr", place, nbytes=4 * M, chunk=4 * M).seconds
    assert ours == pytest.approx(seconds, rel=0.01)
