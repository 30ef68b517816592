"""What launchers' variables are taken for: rank, size, and where ranks meet."""

from __future__ import annotations

import os

import pytest

import weft
from weft.environment import meeting_place, place
from weft.launchers import first_host

LAUNCHERS = {
    "torchrun": "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 MASTER_ADDR=alpha MASTER_PORT=29400 "
    "TORCHELASTIC_RUN_ID=none",
    "openmpi": "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 "
    "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=775815169",
    "mpich": "PMI_RANK=3 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2",
    "slurm": "SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1 SLURM_JOB_ID=42 "
    "SLURM_STEP_ID=0 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=node[07-08]",
}
MARKS = ("RANK", "WORLD_SIZE", "MASTER_", "LOCAL_", "WEFT_RENDEZVOUS", "TORCHELASTIC_", "OMPI_",
         "PMI", "MPI_", "I_MPI_", "SLURM")  # fmt: skip


@pytest.fixture
def environment():
    """`environment("slurm", NAME=value)`: those variables and no others of any launcher."""
    before = dict(os.environ)

    def of(*names, **variables):
        for name in [name for name in os.environ if name.startswith(MARKS)]:
            del os.environ[name]
        for name in names:
            os.environ.update(word.split("=") for word in LAUNCHERS[name].split())
        os.environ.update(variables)

    yield of
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_rank_and_size(environment, launcher):
    environment(launcher)
    assert place(None, None) == (3, 4)
    assert place(1, None) == (1, 4)


@pytest.mark.parametrize(
    ("names", "variables", "wanted"),
    [
        # A torchrun that srun started on each node; an mpirun whose daemons srun started.
        (["torchrun", "slurm"], {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (3, 4)),
        (["openmpi", "slurm"], {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (3, 4)),
        (["mpich", "slurm"], {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, (3, 4)),
        # A batch script's own variables, and ranks that a task has started by itself.
        ([], {"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (1, 2)),
        (["slurm"], {"RANK": "1", "WORLD_SIZE": "2"}, (1, 2)),
        # What is incomplete does not matter to who says both.
        (["openmpi"], {"OMPI_COMM_WORLD_RANK": "", "RANK": "1", "WORLD_SIZE": "4"}, (1, 4)),
    ],
)
def test_who_is_believed(environment, names, variables, wanted):
    environment(*names, **variables)
    assert place(None, None) == wanted


@pytest.mark.parametrize(
    ("launcher", "variables", "address", "another_job"),
    [
        ("openmpi", {"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, "127.0.0.1", {"PMIX_NAMESPACE": "7"}),
        ("openmpi", {"MASTER_ADDR": "alpha"}, "alpha", {"PMIX_NAMESPACE": "7"}),
        ("mpich", {"MPI_LOCALNRANKS": "4", "I_MPI_HYDRA_UUID": "d142"}, "127.0.0.1",
         {"I_MPI_HYDRA_UUID": "8169"}),
        ("slurm", {"SLURM_STEP_NUM_NODES": "1"}, "127.0.0.1", {"SLURM_JOB_ID": "43"}),
        ("slurm", {}, "node07", {"SLURM_STEP_ID": "1"}),
        ("slurm", {"MASTER_ADDR": "alpha"}, "alpha", {"SLURM_STEP_ID": "1"}),
    ],
)  # fmt: skip
def test_meeting_place_follows_from_the_job(environment, launcher, variables, address, another_job):
    environment(launcher, **variables)
    host, port, job = meeting_place(3, 4)
    assert host == address
    assert 12000 <= port < 32000
    environment(launcher, **variables | another_job)
    assert meeting_place(3, 4)[0] == address
    assert meeting_place(3, 4)[1] != port
    assert meeting_place(3, 4)[2] != job


@pytest.mark.parametrize("launcher", ["openmpi", "mpich", "slurm"])
def test_what_is_set_is_the_meeting_place(environment, launcher):
    environment(launcher, MASTER_ADDR="alpha", MASTER_PORT="29400")
    assert meeting_place(3, 4) == ("alpha", 29400, "")


@pytest.mark.parametrize(
    ("launcher", "variables", "words"),
    [
        ("openmpi", {}, "rank 3: .*MASTER_ADDR, the host.* `mpirun -x MASTER_ADDR=HOST"),
        ("mpich", {}, "MASTER_ADDR.* and MASTER_PORT.*`mpiexec -genv MASTER_ADDR HOST"),
        ("mpich", {"MPI_LOCALNRANKS": "4"}, "give MASTER_PORT, a port .* `mpiexec -genv"),
        ("slurm", {"SLURM_DISTRIBUTION": "arbitrary"}, "`export MASTER_ADDR=HOST` before `srun`"),
        ("openmpi", {"OMPI_COMM_WORLD_SIZE": ""}, "OMPI_COMM_WORLD_SIZE is not set.*start all"),
        ("mpich", {"PMI_SIZE": ""}, "PMI_SIZE is not set.*start all"),
        ("slurm", {"SLURM_PROCID": ""}, "SLURM_PROCID is not set.*start all"),
        ("openmpi", {"OMPI_COMM_WORLD_RANK": "x"}, "OMPI_COMM_WORLD_RANK is 'x'"),
        ("slurm", {"SLURM_PROCID": "4"}, "SLURM_PROCID is 4, but .* 4 ranks: start"),
        ("slurm", {"RANK": "0"}, "RANK is set but WORLD_SIZE is not set: .*or unset RANK"),
        ("mpich", {"WORLD_SIZE": "4"}, "WORLD_SIZE is set but RANK is not set"),
        ("openmpi", {"RANK": "0", "WORLD_SIZE": "4"},
         "RANK is 0, but OMPI_COMM_WORLD_RANK is 3, both of 4 ranks: unset RANK"),
        ("slurm", {"MASTER_PORT": "here"}, "MASTER_PORT is 'here': set it to a whole number"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_remedy(environment, launcher, variables, words):
    for call in (weft.init, weft.launch_environment):
        environment(launcher, **variables)
        with pytest.raises(weft.InvalidArgument, match=words):
            call()


def test_launch_environment_sets_what_torch_reads(environment):
    environment("slurm", MASTER_PORT="29400")
    assert weft.launch_environment() == {
        "RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "node07",
    }  # fmt: skip
    assert os.environ["MASTER_ADDR"] == "node07"
    assert os.environ["MASTER_PORT"] == "29400"
    assert weft.launch_environment() == {}
    assert place(None, None) == (3, 4)


@pytest.mark.parametrize("names", [["torchrun"], ["torchrun", "slurm"], []])
def test_launch_environment_leaves_alone_who_has_all(environment, names):
    environment(*names)
    before = dict(os.environ)
    assert weft.launch_environment() == {}
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("hosts", "first"),
    [
        ("alpha", "alpha"),
        ("alpha,beta", "alpha"),
        ("node[03-05,9],login", "node03"),
        ("node[9,03-05]", "node9"),
        ("r[1-2]n[007-8],x", "r1n007"),
        ("n[1-2]-ib,n3-ib", "n1-ib"),
        ("gpu-a[12]", "gpu-a12"),
    ],
)
def test_first_host_of_a_list(hosts, first):
    assert first_host(hosts) == first
