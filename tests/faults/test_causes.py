"""What ranks are told of a cause that lies elsewhere: a limit, the network, another call."""

from __future__ import annotations

import os
import resource
import socket
import time

import numpy as np
import pytest

import weft
from weft import _core

from launch import Team

FABRICS = [fabric["name"] for fabric in _core.system_info()["fabrics"] if fabric["available"]]
weft.init  # noqa: B018  a rank without descriptors cannot load it


def come_without_descriptors(job, left):
    """The last rank has no descriptor left, or as few as `left`."""
    held = []
    if job.rank == job.size - 1:
        whole = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, whole[1]))
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for _ in range(left):
            os.close(held.pop())
    began = time.monotonic()
    try:
        with pytest.raises(weft.WeftError) as caught:
            job.communicator(timeout=60)
        return time.monotonic() - began, str(caught.value)
    finally:
        for fd in held:
            os.close(fd)
        if held:
            resource.setrlimit(resource.RLIMIT_NOFILE, whole)


def is_told_at_once(team, left):
    ranks = team.run(come_without_descriptors, left)
    for took, said in ranks:
        assert took < 20, ranks  # of 60
        assert f"rank {team.ranks - 1}" in said or said == ranks[-1][1], ranks
        assert "ulimit -n" in said, ranks


@pytest.mark.parametrize("left", range(11))
def test_no_descriptors(team, left):
    is_told_at_once(team(3), left)


@pytest.mark.skipif("ofi" not in FABRICS, reason="no libfabric")
@pytest.mark.parametrize("left", [0, 1, 4, 8])
def test_no_descriptors_for_the_network(left):
    with Team(2, {"WEFT_FABRIC": "ofi"}) as team:
        is_told_at_once(team, left)


def cut(job, kind):
    """Rank 1 lives on, and what connects it does not."""
    comm = job.communicator(timeout=20)
    comm.barrier()
    if job.rank == 1:
        for name in os.listdir("/proc/self/fd"):
            try:
                end = socket.socket(fileno=os.dup(int(name)))
            except OSError:
                continue
            with end:
                if end.family in kind[0] and end.type == kind[1] and end.fileno() > 2:
                    try:
                        end.getpeername()
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
        job.say(os.getpid())
        time.sleep(2)
        return
    comm.allreduce(np.ones(4))


KINDS = {
    "shm": (((socket.AF_UNIX,), socket.SOCK_SEQPACKET), "lives, but its connection was cut"),
    "ofi": (((socket.AF_INET, socket.AF_INET6), socket.SOCK_STREAM), "its connection was cut"),
}


@pytest.mark.parametrize("fabric", [name for name in FABRICS if name in KINDS])
def test_a_living_peer_is_not_called_dead(fabric):
    kind, words = KINDS[fabric]
    with Team(2, {"WEFT_FABRIC": fabric}) as team:
        team.start(cut, kind)
        pid = team.hear(1)
        first, second = team.finish(timeout=20)
    assert second.ok, second.story()
    assert isinstance(first.error, weft.PeerLost), first.story()
    assert f"process {pid}" in str(first.error)
    assert words in str(first.error)


def all_are_root(job, then):
    comm = job.communicator(timeout=20)
    comm.broadcast(np.full(4, float(job.rank)), root=job.rank)
    time.sleep(0.5)  # what has been sent has arrived
    if then == "call":
        comm.allreduce(np.ones(4))
    if then == "broadcasts":
        for _ in range(1000):
            comm.broadcast(np.ones(4), root=job.rank)
    comm.close()


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("then", ["call", "broadcasts", "close"])
def test_every_rank_is_root(team, then, ranks):
    team = team(ranks)
    team.start(all_are_root, then)
    ends = team.finish(timeout=30)
    kinds = [type(end.error) for end in ends]
    assert weft.Mismatch in kinds, [end.story() for end in ends]
    assert set(kinds) <= {weft.Mismatch, weft.Aborted, weft.PeerLost, type(None)}
    for end in ends:
        assert end.ok or "broadcast of 4 float64 with root" in str(end.error), end.story()


def other_scale(job):
    job.communicator(timeout=20).allreduce(np.ones(4), "premul_sum", scale=0.5 + job.rank)


def other_splits(job):
    comm = job.communicator(timeout=20)
    outputs = [[1, 2], [4, 1]][job.rank]  # rank 0 sends 3 to rank 1, which expects 4
    comm.alltoall(np.ones(4), input_counts=[[1, 3], [2, 2]][job.rank], output_counts=outputs)
    comm.barrier()


def wait_alone(job):
    comm = job.communicator(timeout=20)
    if job.rank == 0:
        comm.allreduce(np.ones(4), timeout=0.25)
    else:
        time.sleep(1)


def receive_alone(job):
    comm = job.communicator(timeout=20)
    if job.rank == 0:
        comm.timeout = 0.25
        comm.recv(np.ones(4), 1)
    else:
        time.sleep(1)


def split_alone(job):
    comm = job.communicator(timeout=20)
    if job.rank == 0:
        comm.alltoall(np.ones(4), input_counts=[1, 3], output_counts=[1, 2], timeout=0.25)
    else:
        time.sleep(1)


def come_alone(job):
    if job.rank == 0:
        job.communicator(timeout=0.25)


# What two ranks do, the error of rank 0, and what it says.
SAID = {
    "scale": (other_scale, weft.Mismatch, ["(scale 0.5)", "another scale"]),
    "splits": (other_splits, weft.Mismatch, ["(input_counts", "output_counts", "alltoall of 3 "]),
    "timeout": (wait_alone, weft.Timeout, ["the timeout of 0.25 s is over"]),
    "receive": (receive_alone, weft.Timeout, ["the timeout of 0.25 s is over"]),
    "split": (
        split_alone, weft.Timeout,
        ["alltoall of 4 float64", "(input_counts 1, 3, output_counts 1, 2)"],
    ),
    "init": (come_alone, weft.Timeout, ["rank(s) 1", "within 0.25 s"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_messages_name(team, name):
    body, error, words = SAID[name]
    team = team(2)
    team.start(body)
    ends = team.finish(timeout=30)
    said = " / ".join(str(end.error) for end in ends)
    assert error in {type(end.error) for end in ends}, said
    for word in words:
        assert word in said
