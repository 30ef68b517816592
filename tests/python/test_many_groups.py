"""Groups share descriptors: hundreds of them live under the usual limit of open files."""

from __future__ import annotations

import os
import resource

import numpy as np
import pytest

from weft.tune.model_file import save

from launch import run


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


SLOTS = (4 << 20) + 16 * (68 << 10)  # bytes of a group: Slots::kBytes of src/engine/slots.h


def touched_slots() -> list[int]:
    """KiB in use of each group's slots that this process has mapped, its own and its peers'."""
    found, ours = [], False
    with open("/proc/self/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                begin, end = (int(place, 16) for place in words[0].split("-"))
                ours = "memfd:weft" in line and end - begin == SLOTS
            elif ours and words[0] == "Rss:":
                found.append(int(words[1]))
    return found


def idle_groups_give_their_slots_up(job, groups):
    with job.communicator(timeout=120) as comm:
        made = [comm.split(0) for _ in range(groups)]
        for turn in range(3):
            for number, group in enumerate(made):
                x = group.allreduce(np.full(40_000, number + turn, "f4"))
                assert (x == (number + turn) * job.size).all()
        most = len(touched_slots())
        # Those that wait keep theirs.
        waiting = [group.allreduce(np.full(40_000, 2, "f4"), async_op=True) for group in made[:100]]
        for request in waiting:
            assert (request.wait() == 2 * job.size).all()
        for group in made:
            group.close()
        return most


@pytest.mark.parametrize("model", ["intel", "zen5"])  # lends slots, does not
def test_idle_groups_give_their_slots_up(model):
    few, many = (
        max(run(idle_groups_give_their_slots_up, 2, groups, env={"WEFT_MODEL": model}))
        for groups in (100, 1000)
    )
    assert 2 <= few <= many <= few + 8  # a block that a slow peer still reads is kept


def one_after_another(job, collective, calls, count):
    with job.communicator(timeout=60) as comm:
        for _ in range(calls):
            getattr(comm, collective)(np.ones(count))
        return touched_slots()


def test_two_ranks_write_where_they_have_read(tmp_path):
    """So two slots of each are enough, however many calls there are. Without lending all turn."""

    def slots(model, kib, collective="allgather"):
        env = {"WEFT_MODEL": model}
        touched = run(one_after_another, 2, collective, 100, kib * 128, env=env)
        return max(map(max, touched)) / min(kib, 64)

    assert slots("intel", 8) <= 2
    assert slots("intel", 8, "allreduce") <= 2, "one_shot, which copies and signals"
    assert 2 < slots("intel", 16) <= 16, "they turn from 16 KiB on"
    assert slots("intel", 320) <= 4, "but not in long calls"
    assert slots("zen4", 8) <= 2
    none_lent = tmp_path / "model.json"
    save(none_lent, {"reuse": 512 << 10, "lend_to": 0}, {})
    assert slots(str(none_lent), 8) > 2


def test_five_hundred_groups(team):
    for most, left in team(2).run(many, 500, 1024):
        assert most < 250
        assert left < 30
