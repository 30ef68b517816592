"""Groups share descriptors: hundreds of them live under the usual limit of open files."""

from __future__ import annotations

import os
import resource

import numpy as np


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def many(job, groups, limit):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, before[1]))
    try:
        with job.communicator(timeout=60) as comm:
            first = descriptors()
            made = [comm.split(0) for _ in range(groups)]
            for number, group in enumerate(made):
                x = group.allreduce(np.full(5000, number))  # which needs slots
                assert x[0] == x[-1] == number * job.size
            most = descriptors()
            for group in made:
                group.close()
            comm.barrier()
            return most - first, descriptors() - first
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


SLOTS = 4 << 20  # bytes that a group has for its slots: kSlotBytes of include/weft/plan.h


def mapped_slots() -> int:
    """How many groups' slots this process has mapped, its own and those of its peers."""
    with open("/proc/self/maps") as file:
        shared = [line.split()[0].split("-") for line in file if "memfd:weft" in line]
    return sum(int(end, 16) - int(begin, 16) == SLOTS for begin, end in shared)


def idle_groups_give_their_slots_up(job, groups):
    with job.communicator(timeout=120) as comm:
        made = [comm.split(0) for _ in range(groups)]
        for turn in range(3):
            for number, group in enumerate(made):
                x = group.allreduce(np.full(40_000, number + turn, "f4"))
                assert (x == (number + turn) * job.size).all()
        most = mapped_slots()
        # Those that wait keep theirs.
        waiting = [group.allreduce(np.full(40_000, 2, "f4"), async_op=True) for group in made[:100]]
        for request in waiting:
            assert (request.wait() == 2 * job.size).all()
        for group in made:
            group.close()
        return most


def test_idle_groups_give_their_slots_up(team):
    few = max(team(2).run(idle_groups_give_their_slots_up, 100))
    many = max(team(2).run(idle_groups_give_their_slots_up, 1000))
    assert 2 <= few <= many <= few + 8  # a block that a slow peer still reads is kept


def test_five_hundred_groups(team):
    for most, left in team(2).run(many, 500, 1024):
        assert most < 250
        assert left < 30
