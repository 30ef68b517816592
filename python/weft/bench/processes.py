"""The processes of one burst. None of them outlives the call, however it ends."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from weft.bench.job import Job, Measured, read_samples
from weft.bench.libraries import Launch, Library

_MEETING_BYTES = 4096
_START_SECONDS = 60.0  # for starting and for what a schedule does not foresee
_PATIENCE = 5.0  # of a launcher that was asked to end its ranks
_PR_SET_PDEATHSIG = 1
_MARK = "WEFT_BENCH_BURST"
_prctl = ctypes.CDLL(None).prctl


class BurstFailed(Exception):
    """A process of a library died, raised or did not end; the text says which and why."""


def burst(library: Library, job: Job) -> list[list[Measured]]:
    """Runs `job` in fresh processes of `library`: by rank, then by case, what was measured.

    Raises BurstFailed.
    """
    memory = os.memfd_create("weft-bench-meeting")
    try:
        os.ftruncate(memory, _MEETING_BYTES)
        with tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
            directory = Path(name)
            job.write(directory, f"/proc/{os.getpid()}/fd/{memory}", library.batched)
            run_ranks(
                library.name, library.launch(job.ranks, directory), directory,
                10 * job.seconds * len(job.cases),
            )  # fmt: skip
            try:
                return read_samples(directory, job.ranks)
            except ValueError as error:
                raise BurstFailed(f"{library.name}: {error}") from None
    finally:
        os.close(memory)


def run_ranks(name: str, launch: Launch, directory: Path, seconds: float) -> None:
    """Runs the processes of `launch` to their end, for `seconds` and what a start takes at most.

    `directory` is theirs alone and becomes the place of their logs; `name` is for errors. Raises
    BurstFailed.
    """
    processes: list[subprocess.Popen[bytes]] = []
    environment = os.environ | launch.environment | {_MARK: str(directory)}
    deadline = time.monotonic() + _START_SECONDS + seconds
    try:
        for number, command in enumerate(launch.commands):
            processes.append(_start(command, environment, directory / f"log.{number}"))
        _wait(processes, name, directory, deadline)
    finally:
        _end(processes, f"{_MARK}={directory}")


def _start(command: list[str], environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    parent = os.getpid()

    def die_with_parent() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    # A session of its own: Ctrl-C reaches the parent only, which ends all of them.
    with log.open("wb") as output:
        try:
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise BurstFailed(f"cannot start {command[0]}: {error.strerror}") from None


def _wait(
    processes: list[subprocess.Popen[bytes]], name: str, directory: Path, deadline: float
) -> None:
    """Sleeps until all have ended well. Raises BurstFailed as soon as one has not."""
    poll = select.poll()
    running = {os.pidfd_open(process.pid): process for process in processes}
    try:
        for descriptor in running:
            poll.register(descriptor, select.POLLIN)
        left = len(running)
        while left:
            ended = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
            if not ended:
                raise BurstFailed(f"{name}: did not end in time{_said(directory)}")
            for descriptor, _ in ended:
                poll.unregister(descriptor)
                left -= 1
                if running[descriptor].wait() != 0:
                    raise BurstFailed(f"{name}: {_why(processes, directory)}")
    finally:
        for descriptor in running:
            os.close(descriptor)


def _why(processes: list[subprocess.Popen[bytes]], directory: Path) -> str:
    """The violent death that made others fail, if there is one, else what was printed.

    A survivor may end before the news of the death is here, hence the patience.
    """
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        for rank, process in enumerate(processes):
            if (code := process.poll()) is not None and code < 0:
                name = signal.Signals(-code).name
                return f"rank {rank}: its process was killed by {name}{_said(directory)}"
        time.sleep(0.01)
    codes = [process.returncode for process in processes if process.returncode]
    return f"a process exited with {codes[0]}{_said(directory)}"


def _said(directory: Path, lines: int = 20) -> str:
    """The end of what the processes printed."""
    text = "\n".join(
        log.read_text(errors="replace").strip() for log in sorted(directory.glob("log.*"))
    )
    return "".join(f"\n    {line}" for line in text.strip().splitlines()[-lines:])


def _end(processes: list[subprocess.Popen[bytes]], mark: str) -> None:
    """Ends them and whatever they started: launchers are asked first, since they clean up."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + _PATIENCE
    for process in processes:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    while left := _marked(mark):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in processes:
            process.poll()  # a child that nobody has waited for stays in the list
        time.sleep(0.01)


def _marked(mark: str) -> list[int]:
    """Processes whose environment carries `mark`, as all descendants of a burst's do."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            with suppress(OSError):  # another user's, or gone
                if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found
