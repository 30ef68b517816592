"""Rank processes as forks of one that has imported what most ranks need.

To import torch takes a rank two seconds of a core. The nursery is a fresh process that imports it
once. Each rank is a fork of it, and a child of the process that asked, as if that had started it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_PRELOADED = ("numpy", "torch.distributed", "weft")
_PR_SET_CHILD_SUBREAPER = 36
# What a program reads when it is called, not when it is loaded. A rank for which something else
# differs is not forked. (Scikit-learn sets some for another OpenMP than torch's, once imported, and
# torch one for its compiler's cache.)
_READ_LATE = (
    "WEFT_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "TMPDIR", "PYTEST_", "KMP_",
    "TORCHINDUCTOR_CACHE_DIR",
)  # fmt: skip


class Forked:
    """A forked rank, with the part of subprocess.Popen's interface that a Team uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"rank process {self.pid}", timeout)
            time.sleep(0.002)
        return code


class Nursery:
    """Started at the first fork, ended with the process that uses it. Not thread safe."""

    def __init__(self) -> None:
        self._process: subprocess.Popen | None = None
        self._environment: dict[str, str] = {}

    def serves(self, environment: dict[str, str]) -> bool:
        """Whether a fork would see `environment` as a process that is started with it."""
        ours = self._environment if self._process else dict(os.environ)
        differ = {n for n in ours.keys() | environment.keys() if ours.get(n) != environment.get(n)}
        return all(name.startswith(_READ_LATE) for name in differ - {"PYTHONPATH"})

    def fork(self, descriptor: int, rank: int, size: int, environment: dict[str, str]) -> Forked:
        """A rank that serves calls from the pipe `descriptor`."""
        if self._process is None:
            self._start()
        request = pickle.dumps((rank, size, environment, os.getcwd(), sys.path, os.getpid()))
        with _adopting_orphans():
            socket.send_fds(self._socket, [request], [descriptor, 1, 2])
            answer = self._socket.recv(64)
            if not answer:
                raise RuntimeError("the process that ranks are forked from has ended")
            return Forked(int(answer))

    def _start(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._environment = dict(os.environ)
        code = (
            f"import sys; sys.path[:] = {[str(Path(__file__).parent), *sys.path]!r}; "
            f"import nursery; nursery._breed({theirs.fileno()})"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
        )
        theirs.close()


@contextlib.contextmanager
def _adopting_orphans():
    """Who loses its parent meanwhile becomes a child of this process."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(_PR_SET_CHILD_SUBREAPER, 0)


def _breed(descriptor: int) -> None:
    """The nursery's own life. Returns in each fork when its rank has ended."""
    server = socket.socket(fileno=descriptor)
    for name in _PRELOADED:
        with contextlib.suppress(ImportError):  # a rank that needs it says so itself
            importlib.import_module(name)
    gc.freeze()  # a collection in a rank leaves these pages alone
    while True:
        request, descriptors, _, _ = socket.recv_fds(server, 1 << 18, 3)
        if not request:
            return
        middle = os.fork()
        if middle == 0:
            if os.fork() != 0:
                os._exit(0)  # so that the rank is an orphan, which the asker adopts
            _become_rank(server, pickle.loads(request), *descriptors)
            return
        os.waitpid(middle, 0)
        for descriptor in descriptors:
            os.close(descriptor)


def _become_rank(server: socket.socket, request: tuple, pipe: int, out: int, err: int) -> None:
    import rank as ranks

    rank, size, environment, directory, path, asker = request
    os.setsid()
    while os.getppid() != asker:
        time.sleep(0.0002)
    for descriptor, standard in ((out, 1), (err, 2)):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    server.send(str(os.getpid()).encode())  # who counts its descriptors now finds this one more
    server.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.path[:] = path
    tempfile.tempdir = None  # may have been found for the nursery
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    ranks.serve(pipe, rank, size)
