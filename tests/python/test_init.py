"""Coming together: arguments, environment, torchrun, stores; sub-communicators by split."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from ports import free_port

import weft

EXAMPLE = Path(__file__).parents[2] / "examples" / "numpy" / "allreduce.py"
VARIABLES = ("RANK", "WORLD_SIZE", "WEFT_RENDEZVOUS", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def bare(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def from_environment(job):
    with weft.init(timeout=20) as comm:
        assert (comm.rank, comm.size, comm.timeout) == (job.rank, job.size, 20)
        assert comm.allreduce(np.ones(1))[0] == job.size


def several_in_turn(job):
    comms = [weft.init(timeout=20) for _ in range(3)]
    for comm in comms:
        assert comm.allreduce(np.ones(1))[0] == job.size
    for comm in reversed(comms):
        comm.close()


class Folder:
    """A store of the user's own: what the documentation asks for and nothing else."""

    def __init__(self, directory):
        self.directory = Path(directory)

    def set(self, key, value):
        assert isinstance(value, bytes)
        part = self.directory / f"{key.replace('/', '_')}.part{os.getpid()}"
        part.write_bytes(value)
        part.rename(self.directory / key.replace("/", "_"))

    def get(self, key, seconds):
        import time

        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            path = self.directory / key.replace("/", "_")
            if path.exists():
                return path.read_bytes()
            time.sleep(0.001)
        raise TimeoutError(key)


def own_store(job):
    with weft.init(job.rank, job.size, Folder(job.directory), timeout=20) as comm:
        assert comm.allreduce(np.ones(1))[0] == job.size


def own_store_alone(job):
    if job.rank == 0:
        with pytest.raises(weft.Timeout, match="rank\\(s\\) 1"):
            weft.init(0, 2, Folder(job.directory), timeout=0.1)


def broken_store(job):
    class Broken:
        def set(self, key, value):
            raise KeyError("full")

        def get(self, key, seconds):
            raise AssertionError

    with pytest.raises(KeyError, match="full"):
        weft.init(job.rank, job.size, Broken(), timeout=20)


@pytest.mark.parametrize(
    "body", [from_environment, several_in_turn, own_store, own_store_alone, broken_store]
)
def test_init(team, body):
    team(2).run(body)


def torch_environment(job, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    del os.environ["WEFT_RENDEZVOUS"]
    with weft.init(timeout=20) as first, weft.init(timeout=20) as second:
        assert first.allreduce(np.ones(1))[0] == job.size
        assert second.allreduce(np.ones(1))[0] == job.size
    for _ in range(10):  # one after the other: who is early meets a store that stays
        with weft.init(timeout=20) as comm:
            assert comm.allreduce(np.ones(1))[0] == job.size


def test_torch_store_hosted_by_rank_0(team):
    pytest.importorskip("torch", reason="torch is not installed")
    team(3).run(torch_environment, free_port())


def test_torchrun():
    pytest.importorskip("torch", reason="torch is not installed")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run([*command, EXAMPLE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # Lines of two ranks may run into each other.
    for rank in (0, 1):
        assert f"rank {rank} of 2: mean 0.5, weights 1.0" in done.stdout


def test_example_by_rendezvous_file():
    with tempfile.TemporaryDirectory() as directory:
        env = {**os.environ, "WORLD_SIZE": "2", "WEFT_RENDEZVOUS": directory}
        ranks = [
            subprocess.Popen(
                [sys.executable, EXAMPLE], env={**env, "RANK": str(rank)}, stdout=subprocess.PIPE
            )
            for rank in (0, 1)
        ]
        outputs = [process.communicate(timeout=60)[0].decode() for process in ranks]
    assert outputs == [f"rank {rank} of 2: mean 0.5, weights 1.0\n" for rank in (0, 1)]


PROGRAMS = {
    "not closed": ("", [(0, ""), (0, "")]),
    "not closed, in flight": ("comm.allreduce(np.ones(9), async_op=True)", [(0, ""), (0, "")]),
    "raises": (
        "assert comm.rank == 1, 'of its own'; comm.barrier()",
        [(1, "AssertionError: of its own"), (1, "PeerLost: rank 0")],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_end_without_a_trace(name, tmp_path):
    line, wanted = PROGRAMS[name]
    text = f"import numpy as np, weft; comm = weft.init(); comm.allreduce(np.ones(4)); {line}"
    env = {**os.environ, "WORLD_SIZE": "2", "WEFT_RENDEZVOUS": str(tmp_path)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", text],
            env={**env, "RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    errors = [process.communicate(timeout=30)[1] for process in ranks]
    for process, error, (status, said) in zip(ranks, errors, wanted, strict=True):
        assert process.returncode == status, error
        assert said in error
        assert bool(error) == bool(said)
        assert "leaked" not in error


@pytest.mark.parametrize(
    ("environment", "why"),
    [
        ({}, "RANK is not set.*torchrun.*WEFT_RENDEZVOUS"),
        ({"RANK": "0"}, "WORLD_SIZE is not set.*torchrun.*WEFT_RENDEZVOUS"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "no rendezvous.*torchrun.*WEFT_RENDEZVOUS"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h"}, "MASTER_PORT is not set"),
        ({"RANK": "zero", "WORLD_SIZE": "2"}, "RANK is 'zero': set it to a whole number"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "rank 2 of 2 ranks"),
    ],
)
def test_incomplete_environment(bare, environment, why):
    for name, value in environment.items():
        bare.setenv(name, value)
    with pytest.raises(weft.InvalidArgument, match=why):
        weft.init()


def test_missing_torch_names_the_other_way(bare):
    for name, value in zip(VARIABLES, ("0", "2", None, "127.0.0.1", "1"), strict=True):
        if value:
            bare.setenv(name, value)
    bare.setitem(sys.modules, "torch.distributed", None)
    with pytest.raises(weft.InvalidArgument, match=r"torch cannot be imported.*WEFT_RENDEZVOUS"):
        weft.init()


def test_a_world_of_one_needs_no_rendezvous(bare):
    with weft.init(0, 1) as comm:
        assert comm.allreduce(np.arange(3)).tolist() == [0, 1, 2]
        assert comm.split(0).size == 1


def halves(job):
    with job.communicator(timeout=20) as comm:
        half = comm.split(color=job.rank % 2, key=-job.rank)
        members = [rank for rank in reversed(range(job.size)) if rank % 2 == job.rank % 2]
        assert (half.rank, half.size) == (members.index(job.rank), len(members))
        assert half.allreduce(np.array([job.rank]))[0] == sum(members)
        # Collectives of parent and child may alternate.
        for _ in range(5):
            assert comm.allreduce(np.ones(10))[0] == job.size
            assert half.allreduce(np.ones(10))[0] == len(members)
        half.close()
        none = comm.split(color=0 if job.rank == 0 else -1)
        assert (none is None) == (job.rank != 0)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_split(team, ranks):
    team(ranks).run(halves)
