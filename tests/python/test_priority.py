"""Priorities of communicators, from Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

import weft


def mixed(job):
    """Calls on three communicators at once."""
    with job.communicator(priority=2) as comm:
        low, high = comm.split(0, priority=-4), comm.split(0, priority=9)
        priorities = [c.priority for c in (comm, comm.split(0), low, high, high.split(0))]
        assert priorities == [2, 2, -4, 9, 9]
        requests = [low.allreduce(np.full(300_000, comm.rank + i), async_op=True) for i in range(3)]
        requests += [high.allreduce(np.full(10, comm.rank * i), async_op=True) for i in range(3)]
        assert comm.allreduce(np.ones(5)).tolist() == [2] * 5
        results = [request.wait() for request in requests]
        assert all((x == 1 + 2 * i).all() for i, x in enumerate(results[:3]))
        assert all((x == i).all() for i, x in enumerate(results[3:]))


def test_communicators_of_different_priorities_work_side_by_side(team):
    team(2).run(mixed)


def differ_in_split(job):
    with job.communicator() as comm:
        with pytest.raises(weft.InvalidArgument, match="rank 0 gives color 3 the priority 0, rank"):
            comm.split(3, priority=comm.rank)
        assert comm.allreduce(np.ones(1)).item() == 2


def differ_in_init(job):
    with pytest.raises(weft.InvalidArgument, match="rank 0 gives priority=0 and rank 1 gives pri"):
        job.communicator(priority=job.rank)


def test_ranks_must_agree(team):
    team(2).run(differ_in_split)
    team(2).run(differ_in_init)


def not_whole(job):
    with job.communicator() as comm:
        for priority in ("high", 1.5, 2**31):
            said = re.escape(f"rank {comm.rank}: split: priority is {priority!r}")
            with pytest.raises(weft.InvalidArgument, match=said):
                comm.split(0, priority=priority)
        assert comm.allreduce(np.ones(1)).item() == 2


def test_a_priority_is_a_whole_number(team):
    team(2).run(not_whole)
    with pytest.raises(weft.InvalidArgument, match="rank 0: init: priority is 'first'"):
        weft.init(0, 1, rendezvous="/nowhere", priority="first")
