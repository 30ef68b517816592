"""The launchers themselves on two machines: torchrun, Open MPI's and MPICH's mpirun, Slurm."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from machines import Machines, Slurm, finish
from network import obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, str(ROOT / "tests" / "hosts" / "launched.py")]
HYDRA = ROOT / "build" / "peers" / "mpich" / "venv" / "bin" / "mpiexec"
LENET = ROOT / "examples" / "lenet" / "train.py"
SECRET = {"WEFT_SECRET": "a rank that does not get it is not let in"}


@pytest.fixture(scope="module")
def machines():
    with Machines() as machines:
        yield machines


def check(output: str) -> None:
    """Four ranks in blocks have come together, of either package."""
    for rank, host in enumerate(["alpha", "alpha", "beta", "beta"]):
        assert f"<rank {rank} of 4 on {host}: 1111 and 1111>" in output, output


@pytest.mark.skipif(
    shutil.which("mpirun.openmpi") is None,
    reason="mpirun.openmpi is not installed (Debian, Ubuntu: openmpi-bin)",
)
def test_open_mpi(machines):
    # What ranks on beta are to know is named.
    names = [name for name in ("PYTHONPATH", "WEFT_SECRET") if name in os.environ | SECRET]
    handed = [word for name in [*names, "MASTER_ADDR=alpha"] for word in ("-x", name)]
    command = [
        "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe",
        "--mca", "plm_rsh_agent", machines.ssh, "--host", "alpha:2,beta:2", *handed, *PROGRAM,
    ]  # fmt: skip
    check(machines.run(0, command, SECRET))


@pytest.mark.skipif(not HYDRA.exists(), reason=f"{HYDRA} is not there: make peers")
def test_mpich(machines):
    command = [
        str(HYDRA), "-launcher", "ssh", "-launcher-exec", machines.ssh, "-hosts", "alpha,beta",
        "-n", "4", "-ppn", "2", "-genv", "MASTER_ADDR", "alpha", "-genv", "MASTER_PORT", "29500",
        *PROGRAM,
    ]  # fmt: skip
    check(machines.run(0, command, SECRET))


@pytest.mark.skipif(bool(Slurm.obstacle()), reason=Slurm.obstacle())
def test_slurm(machines):
    with Slurm(machines) as slurm:
        command = ["srun", "--nodes", "2", "--ntasks-per-node", "2", *PROGRAM]
        check(machines.run(0, command, slurm.environment | SECRET))


def test_lenet_by_torchrun_has_the_same_bits_on_all_ranks(machines, tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    report = tmp_path / "result.json"
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "2",
        "--rdzv-backend", "c10d", "--rdzv-endpoint", "alpha:29400", "--rdzv-id", "lenet",
        str(LENET), "--backend", "weft", "--iterations", "30", "--json", str(report),
    ]  # fmt: skip
    nodes = [machines.start(host, command, {"OMP_NUM_THREADS": "1"}) for host in (0, 1)]
    outputs = [finish(node) for node in nodes]
    result = json.loads(report.read_text())
    assert (result["ranks"], result["backend"]) == (4, "weft"), outputs
    assert result["parameters_identical"]
    assert result["loss"] < 2.0  # 2.30 is guessing
