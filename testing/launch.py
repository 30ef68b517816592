"""Ranks for tests: functions run in N fresh processes, and nothing of them is left behind.

    from launch import run, Team

    def body(job, count):                     # a function at the top of the test module
        with job.communicator() as comm:      # or weft.init(...), init_process_group(...)
            return comm.allreduce(np.ones(count)).sum()

    def test_sum():
        assert run(body, 3, 4) == [12.0] * 3  # values by rank; RankFailed with all tracebacks

    with Team(2) as team:                     # processes that serve many calls, for tables
        team.run(body, 4)
        team.start(body, 4)                   # without waiting: faults are made in between
        team.hear(1)                          # what rank 1 said with job.say(...)
        team.kill(1, signal.SIGKILL)
        outcomes = team.finish(timeout=10)    # one Outcome a rank, never raises for a rank

The function is found by its module's file and its name; arguments and results are pickled. Each
call gets a `Job`: rank, size, a rendezvous directory of its own, and the environment
RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, WEFT_RENDEZVOUS. Processes are forked from one that
has imported torch (nursery.py), or started anew where `env` or a prefix asks for it. They die with
the process that started them. At the deadline every rank prints the Python stacks of its threads
and is killed.

Leaving a Team asserts that all processes ended by themselves (unless the test killed them), that
no descendant lives, that nothing new is in /dev/shm, and that TMPDIR, a private one, is empty.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from leftovers import MARK, OF_MPI, command, left_in_shared_memory, living, shared_memory
from nursery import Forked, Nursery
from rank import Job as Job  # tests take it from here

# Seconds without an end. Several ranks that import torch on busy cores take half a minute.
HANGS = 120.0

_nursery = Nursery()


class RankFailed(AssertionError):
    """Some rank raised, died or ran past the deadline; the text has every such rank's story."""


class LeftBehind(AssertionError):
    """A process, a file or a piece of shared memory outlived its team."""


@dataclass
class Outcome:
    """How one rank's call ended: with a value, an exception, a dead process or not in time."""

    value: Any = None
    error: BaseException | None = None
    traceback: str = ""
    exit_code: int | None = None  # of a process that ended during the call; negative: by a signal
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.error is None and self.exit_code is None and not self.timed_out

    def story(self) -> str:
        if self.timed_out:
            return "did not finish in time and was killed"
        if self.exit_code is not None:
            return f"its process ended with {self.exit_code}"
        return self.traceback or f"returned {self.value!r}"


class Team:
    """N processes, one a rank. Not thread safe. Use it as a context manager.

    `env` is added to the environment of all; `prefixes[rank]` is a command that starts the rank's
    process by exec, such as `nsenter --net=...`.
    """

    def __init__(
        self,
        ranks: int,
        env: dict[str, str] | None = None,
        prefixes: list[list[str]] | None = None,
    ) -> None:
        self.ranks = ranks
        self._prefixes = prefixes or [[]] * ranks
        self._mark = uuid.uuid4().hex
        self._shared_before = shared_memory()
        self._root = Path(tempfile.mkdtemp(prefix="weft-test-"))
        self._calls = 0
        self._killed: set[int] = set()
        self._said: list[list[Any]] = [[] for _ in range(ranks)]
        self._outcomes: list[Outcome | None] = [None] * ranks
        (self._root / "tmp").mkdir()
        self._processes: list[subprocess.Popen | Forked] = [None] * ranks
        self._sessions: set[int] = set()
        self._env = env or {}
        self._pipes: list[Connection] = [self._spawn(rank) for rank in range(ranks)]

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    @property
    def broken(self) -> bool:
        """Whether some rank is gone: killed by the test, dead, or too late."""
        return bool(self._killed)

    @property
    def busy(self) -> bool:
        """Whether a call was started whose outcome nobody has asked for."""
        return self._calls > 0 and None in self._outcomes

    def run(self, target: Callable, *args: Any, timeout: float = HANGS) -> list[Any]:
        """Calls `target(job, *args)` on every rank; the values by rank. Raises RankFailed."""
        self.start(target, *args)
        outcomes = self.finish(timeout)
        if all(outcome.ok for outcome in outcomes):
            return [outcome.value for outcome in outcomes]
        stories = (f"rank {rank}: {o.story()}" for rank, o in enumerate(outcomes) if not o.ok)
        raise RankFailed("\n".join(stories))

    def start(self, target: Callable, *args: Any, only: list[int] | None = None) -> None:
        """Starts `target` on every rank, or on the ranks in `only`, and returns at once."""
        self._calls += 1
        directory = self._root / f"call{self._calls}"
        directory.mkdir(mode=0o700)
        place = (target.__module__, sys.modules[target.__module__].__file__, target.__qualname__)
        message = pickle.dumps((place, str(directory), args))
        self._outcomes = [None] * self.ranks
        for rank in range(self.ranks) if only is None else only:
            self._pipes[rank].send_bytes(message)
        for rank in set(range(self.ranks)) - set(range(self.ranks) if only is None else only):
            self._outcomes[rank] = Outcome()

    def hear(self, rank: int, timeout: float = HANGS) -> Any:
        """The next thing that `rank` said. Fails if the rank ends first."""
        deadline = time.monotonic() + timeout
        while not self._said[rank]:
            if self._outcomes[rank] is not None:
                raise RankFailed(f"rank {rank} said nothing: {self._outcomes[rank].story()}")
            if not self._receive([rank], deadline):
                raise RankFailed(f"rank {rank} said nothing within {timeout} s")
        return self._said[rank].pop(0)

    def kill(self, rank: int, number: int = signal.SIGKILL) -> None:
        """Sends a signal to one rank; it is then not held against the team how the rank ends."""
        self._killed.add(rank)
        os.kill(self._processes[rank].pid, number)

    def revive(self, rank: int) -> None:
        """Starts a rank anew whose process has ended."""
        self._processes[rank].wait(10)
        self._pipes[rank].close()
        self._pipes[rank] = self._spawn(rank)
        self._killed.discard(rank)
        self._said[rank] = []

    def finish(self, timeout: float = HANGS, ranks: list[int] | None = None) -> list[Outcome]:
        """The outcomes of `ranks` (all) in order. Who is late is killed."""
        ranks = list(range(self.ranks)) if ranks is None else ranks
        deadline = time.monotonic() + timeout
        while missing := [rank for rank in ranks if self._outcomes[rank] is None]:
            if not self._receive(missing, deadline):
                for rank in missing:
                    self._outcomes[rank] = Outcome(timed_out=True)
                self._end(missing, signal.SIGABRT)  # faulthandler prints the stacks
        return [self._outcomes[rank] for rank in ranks]

    def close(self, timeout: float = 20.0) -> None:
        """Ends the processes and asserts that nothing is left. Raises LeftBehind."""
        for pipe in self._pipes:
            pipe.close()
        complaints = []
        deadline = time.monotonic() + timeout
        for rank, process in enumerate(self._processes):
            if rank in self._killed:
                self._end([rank], signal.SIGKILL)
                continue
            try:
                code = process.wait(max(0.1, deadline - time.monotonic()))
                if code != 0:
                    complaints.append(f"rank {rank} ended with {code}")
            except subprocess.TimeoutExpired:
                complaints.append(f"rank {rank} did not leave within {timeout} s")
                self._end([rank], signal.SIGABRT)
        complaints += self._strays() + self._files_left()
        shutil.rmtree(self._root, ignore_errors=True)
        if complaints:
            raise LeftBehind("; ".join(complaints))

    def check_clean(self) -> None:
        """Asserts, between two calls, that these left no file behind. Raises LeftBehind, once."""
        if complaints := self._files_left():
            self.take_stock()
            raise LeftBehind("; ".join(complaints))

    def take_stock(self) -> None:
        """What is there now is not held against the calls that follow."""
        self._shared_before = shared_memory()
        for path in (self._root / "tmp").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def __enter__(self) -> Team:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self.close()
            return
        # The test's own failure is the news; ranks may hang because of it.
        self._end(list(range(self.ranks)), signal.SIGKILL)
        self._strays()
        shutil.rmtree(self._root, ignore_errors=True)

    def _spawn(self, rank: int) -> Connection:
        ours, theirs = Pipe()
        environment = {
            **os.environ,
            "TMPDIR": str(self._root / "tmp"),
            MARK: self._mark,
            **self._env,
        }
        paths = [str(Path(__file__).parent), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        if not self._prefixes[rank] and _nursery.serves(environment):
            process = _nursery.fork(theirs.fileno(), rank, self.ranks, environment)
        else:
            process = self._start_anew(theirs.fileno(), rank, environment)
        self._processes[rank] = process
        self._sessions.add(process.pid)
        theirs.close()
        return ours

    def _start_anew(self, pipe: int, rank: int, environment: dict[str, str]) -> subprocess.Popen:
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"import rank; rank.serve({pipe}, {rank}, {self.ranks})"
        )
        return subprocess.Popen(
            [*self._prefixes[rank], sys.executable, "-c", code],
            env=environment,
            pass_fds=[pipe],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )

    def _receive(self, ranks: list[int], deadline: float) -> bool:
        """Takes what `ranks` have sent; False if nothing came before the deadline."""
        pipes = {self._pipes[rank]: rank for rank in ranks}
        ready = wait(list(pipes), max(0.0, deadline - time.monotonic()))
        for pipe in ready:
            rank = pipes[pipe]
            try:
                kind, content = pipe.recv()
            except (EOFError, ConnectionError):
                code = self._processes[rank].wait(10)
                self._killed.add(rank)
                self._outcomes[rank] = Outcome(exit_code=code)
                continue
            if kind == "said":
                self._said[rank].append(content)
            else:
                self._outcomes[rank] = Outcome(**content)
        return bool(ready)

    def _end(self, ranks: list[int], number: int) -> None:
        for attempt in (number, signal.SIGKILL):
            for rank in ranks:
                self._killed.add(rank)
                if self._processes[rank].poll() is None:
                    os.killpg(self._processes[rank].pid, signal.SIGCONT)
                    os.killpg(self._processes[rank].pid, attempt)
            try:
                for rank in ranks:
                    self._processes[rank].wait(5)
                return
            except subprocess.TimeoutExpired:
                continue

    def _strays(self) -> list[str]:
        """What still lives of the team, and is killed now."""
        complaints = []
        for pid in living(self._mark, self._sessions):
            complaints.append(f"process {pid} still lives: {command(pid)}")
            os.kill(pid, signal.SIGKILL)
        return complaints

    def _files_left(self) -> list[str]:
        complaints = []
        for path in left_in_shared_memory(self._shared_before):
            if not path.name.startswith(OF_MPI):
                complaints.append(f"{path} is left")
        for path in (self._root / "tmp").iterdir():
            complaints.append(f"{path.name} is left in TMPDIR")
        return complaints


def run(target: Callable, ranks: int, *args: Any, timeout: float = HANGS, **options: Any) -> list:
    """One call of `target(job, *args)` on `ranks` fresh processes: the values by rank."""
    with Team(ranks, **options) as team:
        return team.run(target, *args, timeout=timeout)


def outcomes(target: Callable, ranks: int, *args: Any, timeout: float = HANGS) -> list[Outcome]:
    """As `run`, for tests of failures: how each rank's call ended."""
    with Team(ranks) as team:
        team.start(target, *args)
        return team.finish(timeout)
