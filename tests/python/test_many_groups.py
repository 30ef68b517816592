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


def shared_megabytes() -> float:
    """Of shared memory that this process has touched."""
    with open("/proc/self/status") as file:
        kib = next(line.split()[1] for line in file if line.startswith("RssShmem:"))
    return int(kib) / 1024


def idle_groups_give_their_slots_up(job, groups):
    with job.communicator(timeout=120) as comm:
        made = [comm.split(0) for _ in range(groups)]
        for turn in range(3):
            for number, group in enumerate(made):
                x = group.allreduce(np.full(40_000, number + turn, "f4"))
                assert (x == (number + turn) * job.size).all()
        most = shared_megabytes()
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
    # Megabytes. A group keeps its mailboxes, 0.06 to 0.1. Slots that its three turns touch are 0.5.
    assert many - few < 900 * 0.2


def test_five_hundred_groups(team):
    for most, left in team(2).run(many, 500, 1024):
        assert most < 250
        assert left < 30
