"""The worker thread: its options, its place, what is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import weft

from launch import Team, run

MASK = sorted(os.sched_getaffinity(0))


def workers():
    """Mask and nice value of each worker of this process."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == "weft-worker":
            thread = int(task.name)
            mask = sorted(os.sched_getaffinity(thread))
            found.append((mask, os.getpriority(os.PRIO_PROCESS, thread)))
    return found


def placed(job, options):
    """Where the worker is, after an asynchronous call."""
    with job.communicator(workers=options) as comm:
        assert workers() == []
        request = comm.allreduce(np.ones(5), async_op=True)
        deadline = time.monotonic() + 30
        while not request.test() and time.monotonic() < deadline:
            time.sleep(0.001)  # the worker does it
        return workers()


def at(cores, nice=None):
    return [(cores, os.getpriority(os.PRIO_PROCESS, 0) if nice is None else nice)]


def test_the_worker_runs_where_it_is_told():
    with Team(2, env={"OMP_NUM_THREADS": "1"}) as team:
        told = weft.Workers(cores=[MASK[-1]], priority=6)
        assert team.run(placed, told) == [at([MASK[-1]], 6)] * 2


def test_variables_place_it():
    env = {"WEFT_WORKER_CORES": str(MASK[0]), "WEFT_WORKER_NICE": "3"}
    with Team(1, env=env) as team:
        assert team.run(placed, None) == [at([MASK[0]], 3)]
        assert team.run(placed, weft.Workers(priority=4)) == [at([MASK[0]], 4)]


@pytest.mark.skipif(len(MASK) < 2, reason="one processor")
def test_it_takes_what_compute_threads_leave():
    with Team(1, env={"OMP_NUM_THREADS": str(len(MASK) - 1)}) as team:
        assert team.run(placed, None) == [at([MASK[-1]])]
    with Team(1, env={"OMP_NUM_THREADS": str(len(MASK))}) as team:
        assert team.run(placed, None) == [at(MASK)], "none is left: not bound"


@pytest.mark.skipif(len(MASK) < 2, reason="one processor")
def test_it_stays_in_the_mask():
    prefix = ["taskset", "-c", str(MASK[-1])]
    with Team(1, env={"OMP_NUM_THREADS": "1"}, prefixes=[prefix]) as team:
        assert team.run(placed, None) == [at([MASK[-1]])]
        said = rf"rank 0: workers: cores has {MASK[0]}, which is not in the affinity mask"
        assert re.search(said, team.run(refused, weft.Workers(cores=[MASK[0]]))[0])


def refused(job, options):
    with pytest.raises(weft.WeftError) as error:
        job.communicator(workers=options)
    assert isinstance(error.value, (weft.InvalidArgument, weft.Unsupported))
    return str(error.value)


def one_rank_refuses(job):
    return refused(job, weft.Workers(cores=[60000]) if job.rank == 1 else None)


def test_what_one_rank_cannot_have_all_ranks_refuse():
    for text in run(one_rank_refuses, 2):
        assert text.startswith("rank 1: workers: cores has 60000"), text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (weft.Workers(count=-1), "workers: count is -1: give a whole number from 0"),
        (weft.Workers(count=3), "workers: count is 3, but one thread"),
        (weft.Workers(count="two"), "workers: count is 'two'"),
        (weft.Workers(cores="3"), "workers: cores is '3': give a list"),
        (weft.Workers(cores=[]), "workers: cores is empty"),
        (weft.Workers(cores=[0, -1]), r"workers: cores\[1\] is -1"),
        (weft.Workers(priority=20), "workers: priority is 20"),
        (7, r"workers is 7: give weft.Workers"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, said):
    with pytest.raises((weft.InvalidArgument, weft.Unsupported), match="rank 0: .*" + said):
        weft.init(0, 1, rendezvous=tmp_path, workers=options)


def second_asks_for_another(job):
    with job.communicator(workers=weft.Workers(priority=2)) as first:
        with pytest.raises(weft.InvalidArgument, match=r"the nice value is 5, but the communicato"):
            job.communicator(workers=weft.Workers(priority=5))
        with job.communicator() as same, job.communicator(workers=weft.Workers(priority=2)):
            assert same.allreduce(np.ones(1)).item() == job.size
        return first.allreduce(np.ones(1)).item()


def test_communicators_share_a_worker():
    assert run(second_asks_for_another, 2) == [2, 2]  # fresh processes have no worker yet


def without(job):
    with job.communicator(workers=weft.Workers(count=0)) as comm:
        other = comm.split(0)
        late = other.allreduce(np.full(100_000, 2.0), async_op=True)
        if comm.rank == 1:
            late.wait()
        assert comm.allreduce(np.ones(100_000))[-1] == job.size
        asked = comm.allreduce(np.ones(100_000), async_op=True)
        while not asked.test():
            pass
        assert workers() == []
        return late.wait()[-1] + asked.wait()[-1]


def test_without_a_worker_waits_and_questions_drive():
    assert run(without, 2) == [6.0] * 2


def info(*options, **env):
    command = [sys.executable, "-m", "weft", "info", *options]
    return subprocess.run(
        command, env=os.environ | env, capture_output=True, text=True, check=True
    ).stdout


def test_info_says_where_and_why():
    known = json.loads(info("--json", OMP_NUM_THREADS=str(len(MASK))))["worker"]
    assert (known["exists"], known["cores"]) == (True, "")
    assert "OMP_NUM_THREADS" in known["why"]
    known = json.loads(info("--json", WEFT_WORKER_CORES=str(MASK[0])))["worker"]
    assert (known["cores"], known["why"]) == (str(MASK[0]), "as asked")
    assert "refused" in info(WEFT_WORKERS="9")
    assert re.search(r"worker thread +none: threads inside", info(WEFT_WORKERS="0"))


def crowded(job, cores):
    """Whether the ranks of the world, and of a part of it, share cores."""
    os.sched_setaffinity(0, {cores[job.rank]})
    with job.communicator() as comm, comm.split(0) as part:
        return comm.crowded, part.crowded


@pytest.mark.skipif(len(MASK) < 2, reason="needs two cores")
def test_ranks_know_whether_they_share_cores():
    with Team(2, env={}) as team:
        assert team.run(crowded, [MASK[0], MASK[0]]) == [(True, True)] * 2
        assert team.run(crowded, [MASK[0], MASK[1]]) == [(False, False)] * 2
