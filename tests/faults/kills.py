"""Ranks killed at random moments: what the others see, and what is left.

    with shared_memory() as place:                # or two_hosts()
        for case in cases(range(100), place):
            print(one_kill(place, case))          # a dict: outcome, and what it was

An outcome is "typed" (every survivor's calls gave right results until one raised a typed error,
and nobody wrote into its buffers after that), or "wrong", "hang", "crash", "untyped". Survivors
serve many kills, so that what one leaves behind shows.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import weft

from calls import TABLE, Buffers, Call
from launch import Job, Outcome, Team
from network import Hosts

COUNTS = (1, 100, 1000, 20_000, 1 << 18)  # elements of 4 bytes: up to 1 MiB
TIMEOUT = 5.0
GRACE = 5.0  # for what a failed call waits at most, and for process ends
LATEST = 0.08  # seconds from the first call to the kill
FAILURES = ("PeerLost", "Aborted", "Timeout")


@dataclass(frozen=True)
class Case:
    """One kill. The seed decides the delays of the ranks, too."""

    seed: int
    call: Call
    victim: int
    after: float  # seconds


@dataclass
class Place:
    """Where ranks live, and the team of them."""

    name: str
    team: Team


@contextlib.contextmanager
def shared_memory() -> Iterator[Place]:
    """Three ranks that share memory."""
    with Team(3) as team:
        yield Place("shm, 3 ranks", team)


@contextlib.contextmanager
def two_hosts(libfabric: str = "") -> Iterator[Place]:
    """Two ranks on each of two hosts, over this libfabric or the system's."""
    env = {"WEFT_LIBFABRIC": libfabric} if libfabric else {}
    with Hosts([0, 0, 1, 1]) as hosts, hosts.team(env) as team:
        yield Place("two hosts of 2 ranks" + (", newer libfabric" if libfabric else ""), team)


def cases(seeds: range, place: Place) -> Iterator[Case]:
    names = sorted(TABLE)
    for seed in seeds:
        draw = random.Random(seed)
        # In turn, so that few kills meet every collective.
        name, symmetric = names[seed % len(names)], bool(seed // len(names) % 2)
        root = draw.randrange(place.team.ranks)
        call = Call(name, draw.choice(COUNTS), symmetric, root)
        yield Case(seed, call, draw.randrange(place.team.ranks), draw.random() * LATEST)


def call_until_it_fails(job: Job, case: Case) -> dict[str, Any]:
    draw = random.Random(case.seed * 64 + job.rank)
    comm = job.communicator(timeout=TIMEOUT)
    buffers = Buffers(case.call, comm)
    job.say("running")
    for number in range(1_000_000):
        time.sleep(draw.choice((0, 0, 0, 0.0005, 0.01)))
        buffers.fill(number)
        try:
            buffers.run(comm)
        except weft.WeftError as error:
            buffers.spoil()
            seen = {"error": type(error).__name__, "text": str(error), "rounds": number}
            break
        if wrong := buffers.wrong(number):
            return {"wrong": wrong}
    if draw.random() < 0.5:
        comm.close()
    time.sleep(draw.choice((0, 0.02)))  # a late peer may write there still
    if spoilt := buffers.spoilt():
        return {"wrong": spoilt}
    comm.close()
    return seen


def one_kill(place: Place, case: Case) -> dict[str, Any]:
    team, victim = place.team, case.victim
    team.start(call_until_it_fails, case)
    for rank in range(team.ranks):
        team.hear(rank)
    time.sleep(case.after)
    killed = time.monotonic()
    team.kill(victim, signal.SIGKILL)
    left = [rank for rank in range(team.ranks) if rank != victim]
    outcomes = team.finish(TIMEOUT + GRACE, left)
    seconds = time.monotonic() - killed
    for rank in range(team.ranks):
        if rank == victim or outcomes[left.index(rank)].exit_code is not None:
            team.revive(rank)
    verdicts = [verdict(outcome) for outcome in outcomes]
    bad = [what for what in verdicts if what["outcome"] != "typed"]
    row = {"place": place.name, "seconds": round(seconds, 3), **asdict(case)}
    return row | (bad or verdicts)[0]


def verdict(outcome: Outcome) -> dict[str, Any]:
    if outcome.timed_out:
        return {"outcome": "hang", "text": outcome.story()}
    if outcome.exit_code is not None:
        return {"outcome": "crash", "text": outcome.story()}
    if outcome.error is not None or outcome.value.get("error") not in (None, *FAILURES):
        return {"outcome": "untyped", "text": outcome.traceback or outcome.value["text"]}
    if "wrong" in outcome.value:
        return {"outcome": "wrong", "text": outcome.value["wrong"]}
    return {"outcome": "typed", "text": outcome.value["text"], "rounds": outcome.value["rounds"]}


def descriptors(place: Place) -> list[int]:
    """How many each rank has open."""
    return [len(os.listdir(f"/proc/{pid}/fd")) for pid in place.team.pids]
