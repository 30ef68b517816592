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


def test_five_hundred_groups(team):
    for most, left in team(2).run(many, 500, 1024):
        assert most < 250
        assert left < 30
