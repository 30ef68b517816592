"""weft.Communicator.from_group: a communicator of the ranks of any process group."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402

import weft  # noqa: E402


def powers(comm, rank):
    """The sum of 10**rank over the members, who they are in order, and this one's place."""
    mine = np.array([10.0**rank])
    ranks = comm.allgather(np.array([rank]))[:, 0].tolist()
    return float(comm.allreduce(mine)[0]), ranks, comm.rank


def whole(job, backend):
    with world(job, backend=backend):
        with weft.Communicator.from_group() as comm:
            first = powers(comm, job.rank)
        with weft.Communicator.from_group(dist.group.WORLD) as comm:
            second = powers(comm, job.rank)
        both = torch.ones(1)
        dist.all_reduce(both)  # the group is still in use
        assert both.item() == job.size
        return first, second


@pytest.mark.parametrize("backend", ["weft", "gloo"])
def test_the_default_group_twice(team, backend):
    results = team(3).run(whole, backend)
    for rank, (first, second) in enumerate(results):
        assert first == second == (111.0, [0, 1, 2], rank)


def parts(job, backend):
    with world(job, backend=backend):
        pair, rest = dist.new_group([2, 0]), dist.new_group([1, 2])
        found = {}
        for name, group in (("pair", pair), ("rest", rest)):
            if dist.get_rank(group) < 0:
                with pytest.raises(weft.InvalidArgument) as raised:
                    weft.Communicator.from_group(group)
                found[name] = str(raised.value)
                continue
            with weft.Communicator.from_group(group) as comm:
                found[name] = powers(comm, job.rank)
        return found


@pytest.mark.parametrize("backend", ["weft", "gloo"])
def test_subgroups_and_ranks_outside(team, backend):
    outside = "from_group: this rank is not in the group: only its members call"
    assert team(3).run(parts, backend) == [
        {"pair": (101.0, [0, 2], 0), "rest": f"rank 0: {outside}"},
        {"pair": f"rank 1: {outside}", "rest": (110.0, [1, 2], 0)},
        {"pair": (101.0, [0, 2], 1), "rest": (110.0, [1, 2], 1)},
    ]


def outlives(job):
    with world(job, backend="gloo"):
        comm = weft.Communicator.from_group(wire="bfloat16", timeout=77.0)
    with comm:
        return comm.timeout, powers(comm, job.rank)[0]


def test_it_outlives_the_group_and_takes_the_options(team):
    assert team(2).run(outlives) == [(77.0, 11.0)] * 2


def again(job):
    """Two default groups of one name, one after the other, over one store."""
    sums = []
    store = dist.FileStore(job.directory + "/both", job.size)
    for _ in range(2):
        dist.init_process_group("gloo", store=store, rank=job.rank, world_size=job.size)
        with weft.Communicator.from_group() as comm:
            sums.append(powers(comm, job.rank)[0])
        dist.barrier()
        dist.destroy_process_group()
        store = dist.PrefixStore("second", store)
    return sums


def test_a_second_default_group(team):
    assert team(2).run(again) == [[11.0, 11.0]] * 2


def test_what_is_no_group_is_refused():
    with pytest.raises(weft.InvalidArgument, match="from_group: there is no group: call torch"):
        weft.Communicator.from_group()
    with pytest.raises(weft.InvalidArgument, match="from_group: group is a str: give a process"):
        weft.Communicator.from_group("world")
