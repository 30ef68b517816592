"""What goes wrong between hosts: every rank left has an error in time that names who and where.

Every test is under the launcher's watch, too: no process, no file, no shared memory is left.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import weft

from network import Hosts, obstacle

REASON = obstacle()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

LONG = 1 << 20
TIMEOUT = 1.0
WALL_TIMEOUT = 4.0
MEETING = 4.0  # in which ranks that go on afterwards find each other, also on busy cores

# Of a fabric: version, token, process, host, provider, address, port, libfabric's name for it.
ADDRESS = re.compile(rb"ofi \d+ [0-9a-f]+ \d+ \S+ \S+ \S+ (\d+) ([0-9a-f]+)")


class Words:
    """A rendezvous in a directory. `tell` and `hear` may change what this rank says and is told."""

    def __init__(self, directory, tell=lambda key, value: value, hear=lambda key, value: value):
        self._directory = Path(directory)
        self._tell, self._hear = tell, hear

    def set(self, key, value):
        path = self._directory / key.replace("/", "%")
        path.with_suffix(".part").write_bytes(self._tell(key, value))
        path.with_suffix(".part").rename(path)

    def get(self, key, seconds):
        path = self._directory / key.replace("/", "%")
        deadline = time.monotonic() + seconds
        while not path.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(key)
            time.sleep(0.002)
        return self._hear(key, path.read_bytes())


def init(job, words, timeout=TIMEOUT, **options):
    """`weft.init` with a short timeout, once all ranks are there and have loaded libfabric."""
    weft._core.system_info()
    job.meet()
    return weft.init(job.rank, job.size, words, timeout=timeout, **options)


def ended(places, body, *args, victims=(), **network):
    """The outcomes of the ranks that are no victims, and the addresses of the hosts."""
    with Hosts(places, **network) as hosts, hosts.team() as team:
        team.start(body, *args)
        outcomes = team.finish(timeout=TIMEOUT + 15)
        for rank in victims:
            assert outcomes[rank].exit_code == -signal.SIGKILL
        left = [rank for rank in range(len(places)) if rank not in victims]
        return [outcomes[rank] for rank in left], hosts.network.addresses


# How hosts lie wrongly: addresses, WEFT_INTERFACE of each, the error, words of it on all ranks.
WRONG = {
    "no_such_interface": (None, ["", "eth7"], weft.InvalidArgument, ["rank 1", '"eth7"', "eth0"]),
    "other_subnet": (
        ["10.77.0.1/24", "10.78.0.1/24"], ["eth0", "eth0"], weft.PeerLost,
        ["no way to process", "10.7", "WEFT_INTERFACE"],
    ),
}  # fmt: skip


def come_by(job, interfaces):
    if interfaces[job.rank]:
        os.environ["WEFT_INTERFACE"] = interfaces[job.rank]
    init(job, job.directory, fabric="shm+ofi")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_addresses(name):
    addresses, interfaces, error, words = WRONG[name]
    outcomes, _ = ended([0, 1], come_by, interfaces, addresses=addresses)
    for outcome in outcomes:
        assert isinstance(outcome.error, error), outcome.story()
        for word in words:
            assert word in str(outcome.error)


def add_up(job):
    with weft.init(job.rank, job.size, job.directory, timeout=20) as comm:
        assert comm.allreduce(np.full(LONG, job.rank + 1.0))[LONG - 1] == 3


def test_hosts_with_ipv6_only():
    with Hosts([0, 1], addresses=["fd77::1/64", "fd77::2/64"]) as hosts, hosts.team() as team:
        team.run(add_up)


def come_behind_a_wall(job, which):
    """A host swallows what comes from one of its ports: nobody gets in there.

    Rank 1's host, or both: where one of two lets the other in, libfabric has its connection.
    """

    def tell(key, value):
        blocks = job.rank == 1 or which == "libfabric"
        if blocks and (found := ADDRESS.search(value)):
            # A socket's address: its family, then its port, the high byte first.
            port = int(found[1]) if which == "weft" else int(found[2][4:8], 16)
            rule = ["ip", "rule", "add", "sport", str(port), "ipproto", "tcp", "blackhole"]
            subprocess.run(rule, check=True)
        return value

    # The other rank waits meanwhile, and to start `ip` takes long on a busy machine.
    init(job, Words(job.directory, tell), WALL_TIMEOUT, fabric="ofi")


@pytest.mark.parametrize("which", ["weft", "libfabric"])
def test_blocked_port(which):
    outcomes, addresses = ended([0, 1], come_behind_a_wall, which)
    for outcome in outcomes:
        assert isinstance(outcome.error, weft.Timeout), outcome.story()
    # Rank 0 meets the wall. Rank 1 has its words, or waits for it for as long and says that.
    assert re.search(rf"rank 1\b.*process \d+.*{addresses[1]}", str(outcomes[0].error))
    words = rf"process \d+.*({'|'.join(addresses)})|rank\(s\) 0, which did not come"
    assert re.search(words, str(outcomes[1].error))


def come_of_another_version(job):
    """Each is told that the other has another version, and says then what nobody understands."""

    def hear(key, value):
        other = [b"9.9.9", b"0.0.1"][job.rank]
        return b"5:%s4:near7:a word!" % other if "hello" in key else value

    init(job, Words(job.directory, hear=hear))


def test_another_version():
    outcomes, _ = ended([0, 1], come_of_another_version)
    for rank, outcome in enumerate(outcomes):
        assert isinstance(outcome.error, weft.Mismatch), outcome.story()
        for word in (["9.9.9", "0.0.1"][rank], weft.__version__, "host near", f"rank {1 - rank}"):
            assert word in str(outcome.error)


def die_at(job, step):
    """Rank 2, alone on its host, is killed while all are in weft.init."""

    def tell(key, value):
        if job.rank == 2 and step in key:
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    init(job, Words(job.directory, tell))


@pytest.mark.parametrize("step", ["network", "lanes"])
def test_killed_in_init(step):
    outcomes, _ = ended([0, 0, 1], die_at, step, victims=[2])
    for outcome in outcomes:
        # Who dials it in time does not even have to wait.
        assert isinstance(outcome.error, (weft.Timeout, weft.PeerLost)), outcome.story()
        assert re.search(rf"rank\(s\) 2, which .*{step}|rank 2: its process", str(outcome.error))


def die(job):
    job.say(os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


def die_before_the_second(job):
    with init(job, job.directory, MEETING):
        if job.rank == 2:
            die(job)
        init(job, job.directory)


def die_before_receiving(job):
    comm = init(job, job.directory, MEETING)
    if job.rank == 2:
        die(job)
    comm.send(np.ones(LONG), 2)


def die_in_a_part(job):
    comm = init(job, job.directory, MEETING)
    part = comm.split(0 if job.rank else -1)
    if job.rank == 0:
        comm.recv(np.ones(LONG), 2)
    for n in range(1000):
        if job.rank == 2 and n == 5:
            die(job)
        part.allreduce(np.ones(LONG))


# Rank 2 of 3, alone on its host, dies; what the others say.
DEATHS = {
    "between": (die_before_the_second, weft.Timeout, "rank(s) 2"),
    "receiver": (die_before_receiving, weft.PeerLost, "process {pid} died"),
    "part": (die_in_a_part, weft.PeerLost, "process {pid} died"),
}


@pytest.mark.parametrize("name", DEATHS)
def test_killed(name):
    body, error, said = DEATHS[name]
    with Hosts([0, 0, 1]) as hosts, hosts.team() as team:
        team.start(body)
        pid = team.hear(2)
        died = time.monotonic()
        outcomes = team.finish(timeout=20)[:2]
        assert time.monotonic() - died < TIMEOUT + 2
    assert error in {type(outcome.error) for outcome in outcomes}
    for outcome in outcomes:
        assert isinstance(outcome.error, (error, weft.Aborted)), outcome.story()
        assert said.format(pid=pid) in str(outcome.error)


def allreduce_forever(job):
    comm = init(job, job.directory, MEETING)
    comm.barrier()
    job.say("running")
    while True:
        comm.allreduce(np.ones(LONG))


def test_host_that_hangs():
    with Hosts([0, 0, 1, 1]) as hosts, hosts.team() as team:
        team.start(allreduce_forever)
        assert [team.hear(rank) for rank in range(4)] == ["running"] * 4
        began = time.monotonic()
        for rank in (2, 3):
            team.kill(rank, signal.SIGSTOP)
        outcomes = team.finish(timeout=MEETING + 9, ranks=[0, 1])
        assert time.monotonic() - began < MEETING + 3  # of which one to say goodbye
        address = hosts.network.addresses[1]
    assert weft.Timeout in {type(outcome.error) for outcome in outcomes}
    for outcome in outcomes:
        assert isinstance(outcome.error, (weft.Timeout, weft.Aborted)), outcome.story()
        assert re.search(rf"for rank [23], process \d+ .*{address}.*does not", str(outcome.error))


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def left_in_the_middle(job):
    """Rank 1 sends; rank 0 leaves when a part has arrived. How many files that left open here."""
    before = open_files()
    comm = job.communicator(timeout=10 * TIMEOUT)
    x = np.ones(16 * LONG, "float32")
    comm.barrier()
    if job.rank == 1:
        with pytest.raises(weft.Aborted, match="enough"):
            comm.send(x, 0)
    else:
        request = comm.irecv(x, 1)
        time.sleep(0.15)
        comm.abort("enough")
        with pytest.raises(weft.Aborted):
            request.wait()
        del request  # it holds the communicator
    comm.close()
    del comm
    return open_files() - before


def test_a_fabric_that_goes_while_a_peer_writes_leaves_nothing():
    """Libfabric 1.17 crashed then in every second run."""
    with Hosts([0, 1], rate="200mbit") as hosts, hosts.team() as team:
        for _ in range(6):
            assert team.run(left_in_the_middle, timeout=20) == [0, 0]


def times_out(job):
    before = open_files()
    comm = job.communicator(timeout=TIMEOUT)
    x = np.ones(4 * LONG, "float32")
    comm.barrier()
    job.say("sends")
    with pytest.raises(weft.Timeout):
        comm.send(x, 0) if job.rank == 1 else comm.recv(x, 1)
    comm.close()
    del comm
    return open_files() - before


def test_a_peer_that_stands_still_in_a_write_leaves_nothing():
    with Hosts([0, 1], rate="200mbit") as hosts, hosts.team() as team:
        team.start(times_out)
        for rank in range(2):
            team.hear(rank)
        time.sleep(0.05)
        team.kill(1, signal.SIGSTOP)
        left = team.finish(10, [0])[0]
    assert left.value == 0, left.story()
