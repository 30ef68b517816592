"""One rank's process of a benchmark: `python -m weft.bench.worker DESCRIPTOR`."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

import weft
from weft.bench.cases import Case
from weft.bench.messages import Assignment, Measured
from weft.bench.patterns import encoded, expected, tile
from weft.bench.runners import CoreRunner, Runner, TorchRunner

_WARM_ROUNDS = 3
_MOST_ROUNDS = 20_000
_LATE_SECONDS = 0.002


class Bench:
    """The cases of an assignment, one after the other, all libraries in turn."""

    def __init__(self, assignment: Assignment, pipe: Connection) -> None:
        self.work = assignment
        self.pipe = pipe
        self.comm = weft.init(assignment.rank, assignment.size, assignment.directory, timeout=60.0)
        self.groups = self._groups()

    def run(self) -> None:
        """Sends a Measured for each case and library, and how far it is."""
        for number, case in enumerate(self.work.cases):
            runners = self._runners(case)
            algorithm = case.algorithm_of(self.comm)
            for library, (seconds, correct) in self._measure(case, runners, number).items():
                used = algorithm if library == "weft" else None
                self.pipe.send(Measured(number, library, used, seconds, correct))
        if self.groups:
            import torch.distributed as dist

            dist.destroy_process_group()
        self.comm.close()

    def _groups(self) -> dict[str, Any]:
        """A process group for each library that is called through torch."""
        names = [*(["weft"] if self.work.cases[0].api == "torch" else []), *self.work.peers]
        if not names:
            return {}
        import torch.distributed as dist

        from weft.torch import register

        if "weft" in names and not hasattr(dist.Backend, "WEFT"):
            register()  # used from its build directory a package has no entry points
        where = f"file://{self.work.directory}/torch"
        dist.init_process_group(
            names[0], init_method=where, rank=self.work.rank, world_size=self.work.size
        )
        return {name: dist.new_group(backend=name) for name in names}

    def _runners(self, case: Case) -> dict[str, Runner]:
        runners: dict[str, Runner] = {}
        if case.api == "core":
            runners["weft"] = CoreRunner(self.comm, case)
        for name, group in self.groups.items():
            runners[name] = TorchRunner(self.comm, case, group)
        return runners

    def _measure(
        self, case: Case, runners: dict[str, Runner], number: int
    ) -> dict[str, tuple[list[float], bool]]:
        start = time.perf_counter()
        for iteration in range(_WARM_ROUNDS):
            self._round(case, runners, iteration)
        rounds = self._agree((time.perf_counter() - start) / _WARM_ROUNDS)
        seconds: dict[str, list[float]] = {name: [] for name in runners}
        correct = dict.fromkeys(runners, True)
        reported = time.perf_counter()
        for iteration in range(rounds):
            check = iteration in (0, rounds - 1)
            for name, (taken, right) in self._round(case, runners, iteration, check).items():
                seconds[name].append(taken)
                correct[name] = correct[name] and right
            if time.perf_counter() - reported > 0.1:
                reported = time.perf_counter()
                self.pipe.send(("progress", number + iteration / rounds))
        return {name: (seconds[name], correct[name]) for name in runners}

    def _round(
        self, case: Case, runners: dict[str, Runner], iteration: int, check: bool = False
    ) -> dict[str, tuple[float, bool]]:
        """One sample of each library on the same inputs, and whether its result is right."""
        values = encoded(tile(self.work.rank, iteration, case.ranks), case.dtype)
        done = {}
        for name, runner in runners.items():
            taken = runner.sample(values, case.batch)
            done[name] = (taken, not check or self._right(case, runner, iteration))
        return done

    def _right(self, case: Case, runner: Runner, iteration: int) -> bool:
        if case.collective == "barrier":
            return self._held(runner, late=iteration % case.ranks)
        wanted = expected(case, self.work.rank, iteration, case.batch - 1)
        if wanted is None or runner.output is None:
            return wanted is runner.output
        return np.array_equal(runner.output, wanted)

    def _held(self, runner: Runner, late: int) -> bool:
        """Whether a barrier that rank `late` enters late lets nobody out before."""
        self.comm.barrier()
        if self.work.rank == late:
            time.sleep(_LATE_SECONDS)
        entered = np.array([time.monotonic_ns()])
        runner.once()
        left = time.monotonic_ns()
        return left >= int(self.comm.allreduce(entered, "max")[0])

    def _agree(self, round_seconds: float) -> int:
        """Rounds of a case: rank 0's count, since clocks differ."""
        wanted = self.work.iterations or int(self.work.seconds / max(round_seconds, 1e-9))
        count = self.comm.broadcast(np.array([wanted]))[0]
        return int(min(max(count, 1 if self.work.iterations else 10), _MOST_ROUNDS))


def _die_with(parent: int) -> None:
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Does what is asked at the other end of the pipe."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    pipe = Connection(descriptor)
    assignment: Assignment = pipe.recv()
    _die_with(assignment.parent)
    try:
        Bench(assignment, pipe).run()
        pipe.send(("finished", None))
    except Exception as error:
        pipe.send(("failed", f"{type(error).__name__}: {error}"))
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
