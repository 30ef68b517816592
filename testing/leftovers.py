"""What may be left when rank processes have ended: living descendants and files in /dev/shm."""

from __future__ import annotations

import os
import time
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
# What jobs of MPI and OpenSHMEM make there. Of those that a test kills, some stays until its end.
OF_MPI = ("mpich_shm", "Intel_MPI", "vader_segment", "sm_segment", "ucx_shm")
# In the environment of a team's processes, and so of all that they start.
MARK = "WEFT_TEST_TEAM"


def shared_memory() -> set[str]:
    return set(os.listdir(SHARED_MEMORY)) if SHARED_MEMORY.is_dir() else set()


def left_in_shared_memory(before: set[str]) -> list[Path]:
    """Files that are there, were not there before, and have no user.

    Another program's shared memory is its own affair. Between making and mapping its memory, or
    unmapping and removing it, it has no user for a moment. So this looks again.
    """
    left = _unused(shared_memory() - before)
    end = time.monotonic() + 2
    while left and time.monotonic() < end:
        time.sleep(0.05)
        left = [name for name in _unused(set(left)) if (SHARED_MEMORY / name).exists()]
    return [SHARED_MEMORY / name for name in left]


def _unused(names: set[str]) -> list[str]:
    return sorted(name for name in names if not _mapped_by_anyone(SHARED_MEMORY / name))


def living(mark: str, sessions: set[int]) -> list[int]:
    """Processes that have inherited `mark`, or belong to one of `sessions`.

    A forked process shows the environment of the one that it was forked from. So a rank's own forks
    are found by its session, and the programs that they started by the mark.
    """
    wanted = f"{MARK}={mark}".encode()
    return [
        pid for pid in _processes() if wanted in _read(pid, "environ") or _session(pid) in sessions
    ]


def command(pid: int) -> str:
    return _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace")


def _mapped_by_anyone(path: Path) -> bool:
    return any(str(path).encode() in _read(pid, "maps") for pid in _processes())


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _session(pid: int) -> int:
    """Of a living process; 0 for one that has ended."""
    state, _, _, session = (_read(pid, "stat").rpartition(b")")[2].split() or [b"Z", 0, 0, 0])[:4]
    return 0 if state == b"Z" else int(session)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:  # ended meanwhile, or another user's
        return b""
