"""Outsiders who connect and say nothing, or little: they take no rank's descriptors for long."""

from __future__ import annotations

import os
import re
import resource
import socket
import time
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import _core

from launch import Team

FABRICS = [fabric["name"] for fabric in _core.system_info()["fabrics"] if fabric["available"]]
OFI = r"ofi \d+ \w{32} \d+ \S+ \S+ (\S+) (\d+) (\w+)"  # an address; libfabric's own is last
LIMIT = 256  # descriptors of a rank
IDLE = 1500  # connections to each rank
PATIENCE = 5  # seconds that a connection has to say who it is
NEEDED = 4 * IDLE + 200  # descriptors of this test


def meet_beset(job):
    """Ranks 0 and 1 meet, are beset by strangers, and meet rank 2, which comes only then."""
    whole = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, whole[1]))
    here = Path(job.directory)
    first = weft.init(job.rank, 2, here / "first", timeout=30) if job.rank < 2 else None
    before = len(os.listdir("/proc/self/fd"))
    job.say("here")
    while not (here / "beset").exists():
        time.sleep(0.01)
    taken = len(os.listdir("/proc/self/fd")) - before
    files = [os.open("/dev/null", os.O_RDONLY) for _ in range(LIMIT // 4)]
    with weft.init(job.rank, 3, here / "all", timeout=30) as comm:
        assert comm.allreduce(np.ones(100_000))[-1] == 3
        with comm.split(0) as part:
            assert part.allreduce(np.ones(4))[0] == 3
    if first:
        assert first.allreduce(np.ones(4))[0] == 2  # the known ones are not dropped
        first.close()
    for file in files:
        os.close(file)
    return taken


def listeners(directory):
    """Of ranks 0 and 1: how to make sockets that connect to them."""
    for rank in range(2):
        said = (directory / "first" / "weft1" / f"weft%2Fhello%2F{rank}").read_text("latin-1")
        for token in re.findall(r"shm \d+ (\w{32}) ", said):
            yield socket.AF_UNIX, socket.SOCK_SEQPACKET, f"\0weft-{token}"
        for ip, port, rail in re.findall(OFI, said):
            family = socket.AF_INET6 if ":" in ip else socket.AF_INET
            yield family, socket.SOCK_STREAM, (ip, int(port))
            # A socket's address: its family, then its port, the high byte first.
            yield family, socket.SOCK_STREAM, (ip, int(rail[4:8], 16))


def connect(family, kind, address):
    stranger = socket.socket(family, kind)
    stranger.settimeout(10)
    stranger.connect(address)
    return stranger


def is_open(stranger):
    stranger.setblocking(False)
    try:
        return stranger.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def until_dropped(stranger, byte):
    """Seconds that one who says a byte now and then is listened to."""
    began = time.monotonic()
    while is_open(stranger) and time.monotonic() - began < 4 * PATIENCE:
        try:
            stranger.send(byte)
        except OSError:
            break
        time.sleep(0.2)
    return time.monotonic() - began


@pytest.mark.parametrize("fabric", FABRICS)
def test_strangers_take_no_descriptors(fabric):
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most < NEEDED:
        pytest.skip(f"ulimit -n is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (NEEDED, most))
    with Team(3, {"WEFT_FABRIC": fabric}) as team:
        team.start(meet_beset)
        for rank in range(3):
            team.hear(rank)
        directory = next(team._root.glob("call*"))
        places = list(listeners(directory))
        assert len(places) >= 2
        if fabric == "ofi":  # "weft", as a message begins; of a packet each byte would be whole
            assert PATIENCE - 1 < until_dropped(connect(*places[0]), b"w") < PATIENCE + 3
        idle = [connect(*place) for place in places for _ in range(IDLE)]
        time.sleep(2)  # libfabric's port is looked after a few times a second
        open_ones = sum(map(is_open, idle))
        (directory / "beset").touch()
        for end in team.finish(timeout=60):
            assert end.ok, end.story()
            assert end.value < 140, "descriptors taken by strangers"
        assert 0 < open_ones <= 64 * len(places)
        for stranger in idle:
            stranger.close()
