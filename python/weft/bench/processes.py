"""The rank processes of a benchmark. None of them outlives the call, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

from weft.bench.messages import Assignment, Measured


class RankFailed(Exception):
    """A rank process died or raised."""


def measure(work: Assignment, progress: Callable[[float], None]) -> list[list[Measured]]:
    """Runs `work` on `work.size` processes: for each rank what it measured, in order.

    `progress` hears how many cases are done. Raises RankFailed naming the first rank that failed.
    """
    processes: list[subprocess.Popen[bytes]] = []
    pipes: list[Connection] = []
    try:
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as directory:
            for rank in range(work.size):
                ours, theirs = Pipe()
                processes.append(_start(theirs))
                pipes.append(ours)
                ours.send(replace(work, rank=rank, directory=directory, parent=os.getpid()))
            return _collect(pipes, processes, progress)
    finally:
        for process in processes:
            _end(process)
        for pipe in pipes:
            pipe.close()


def _start(pipe: Connection) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C reaches the parent only, which ends all ranks.
    process = subprocess.Popen(
        [sys.executable, "-m", "weft.bench.worker", str(pipe.fileno())],
        pass_fds=[pipe.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    pipe.close()
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _collect(
    pipes: list[Connection],
    processes: list[subprocess.Popen[bytes]],
    progress: Callable[[float], None],
) -> list[list[Measured]]:
    results: list[list[Measured]] = [[] for _ in pipes]
    running = {pipe: rank for rank, pipe in enumerate(pipes)}
    while running:
        ready = wait(list(running))
        for pipe, rank in [pair for pair in running.items() if pair[0] in ready]:
            message = _next(pipe, rank, processes[rank])
            if isinstance(message, Measured):
                results[rank].append(message)
            elif message[0] == "progress" and rank == 0:
                progress(message[1])
            elif message[0] == "failed":
                raise RankFailed(_killed(processes) or f"rank {rank}: {message[1]}")
            elif message[0] == "finished":
                del running[pipe]
    return results


def _next(pipe: Connection, rank: int, process: subprocess.Popen[bytes]) -> Any:
    try:
        return pipe.recv()
    except (EOFError, ConnectionError):
        raise RankFailed(_ending(rank, process.wait())) from None


def _killed(processes: list[subprocess.Popen[bytes]], seconds: float = 0.5) -> str | None:
    """The rank whose violent death is why another failed, if there is one.

    The survivor's message may overtake the news of the death, hence the patience.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for rank, process in enumerate(processes):
            if (code := process.poll()) is not None and code < 0:
                return _ending(rank, code)
        time.sleep(0.01)
    return None


def _ending(rank: int, code: int) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    return f"rank {rank}: its process {how}"
