"""A rank of `launch`: a process that runs the functions it is sent, until its pipe closes."""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import os
import pickle
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@dataclass
class Job:
    """What a rank's function is told. `directory` is fresh for each call and equal on all ranks."""

    rank: int
    size: int
    directory: str
    _pipe: Connection = field(repr=False)

    def communicator(self, **options: Any):
        """`weft.init` for this call: the world of all ranks of the team."""
        import weft

        return weft.init(self.rank, self.size, self.directory, **options)

    def meet(self, name: str = "met") -> None:
        """Waits for all ranks, once for each name. By files, so that no library has to live.

        Not a barrier of Weft: a rank may abort when it has left one, and another be still in it.
        """
        here = Path(self.directory)
        (here / f"{name}-{self.rank}").touch()
        while len(list(here.glob(f"{name}-*"))) < self.size:
            time.sleep(0.0005)

    def say(self, value: Any) -> None:
        """Tells the test something while the function still runs; `Team.hear` receives it."""
        self._pipe.send(("said", value))


def serve(descriptor: int, rank: int, size: int) -> None:
    """The life of one rank's process: calls until the pipe closes."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    os.environ.update({name: str(value) for name, value in ranks.items()})
    while True:
        try:
            message = pipe.recv_bytes()
        except (EOFError, ConnectionError):
            return
        before = _settings()
        pipe.send(("done", _call(message, pipe, rank, size)))
        for name in _settings().keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


def _settings() -> dict[str, str]:
    """Weft's variables and launchers'. What a call does to them ends with it."""
    ours = ("WEFT_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "SLURM_", "OMPI_", "PMI")
    return {name: value for name, value in os.environ.items() if name.startswith(ours)}


def _call(message: bytes, pipe: Connection, rank: int, size: int) -> dict[str, Any]:
    try:
        place, directory, args = pickle.loads(message)
        os.environ["WEFT_RENDEZVOUS"] = directory
        value = _find(*place)(Job(rank, size, directory, pipe), *args)
        pickle.dumps(value)
        return {"value": value}
    except BaseException as error:  # a rank reports whatever ended its call, SystemExit too
        text = traceback.format_exc()
        # A bare copy: the traceback would keep the function's communicators alive.
        error = error.with_traceback(None)
        error.__context__ = error.__cause__ = None
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return {"error": error, "traceback": text}


def _find(module: str, file: str, name: str) -> Callable:
    if module not in sys.modules:
        spec = importlib.util.spec_from_file_location(module, file)
        sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[module])
    found = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found
