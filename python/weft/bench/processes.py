"""The rank processes of a benchmark. None of them outlives the call, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait

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
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
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


def _collect(
    pipes: list[Connection],
    processes: list[subprocess.Popen[bytes]],
    progress: Callable[[float], None],
) -> list[list[Measured]]:
    results: list[list[Measured]] = [[] for _ in pipes]
    running = {pipe: rank for rank, pipe in enumerate(pipes)}
    while running:
        for pipe in wait(list(running)):
            rank = running[pipe]
            message = _next(pipe, rank, processes[rank])
            if isinstance(message, Measured):
                results[rank].append(message)
            elif message[0] == "progress" and rank == 0:
                progress(message[1])
            elif message[0] == "failed":
                raise RankFailed(f"rank {rank}: {message[1]}")
            elif message[0] == "finished":
                processes[rank].wait()
                del running[pipe]
    return results


def _next(pipe: Connection, rank: int, process: subprocess.Popen[bytes]):
    try:
        return pipe.recv()
    except (EOFError, ConnectionError):
        code = process.wait()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        raise RankFailed(f"rank {rank}: its process {how}") from None
