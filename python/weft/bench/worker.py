"""One rank of a library that is called through torch.distributed.

`python -m weft.bench.worker BACKEND DIRECTORY RANK` does with a job what benchmarks/driver.cc does
for compiled libraries.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import torch.distributed as dist

import weft
from weft.bench.cases import Case
from weft.bench.job import Job, Measured, read_job
from weft.bench.patterns import encoded, expected, tile
from weft.bench.torch_calls import TorchCalls

_WARM_SAMPLES = 3
_LEAST_SAMPLES = 5  # the first ones of a long operation are slow
_MOST_SAMPLES = 20_000
_LATE_SECONDS = 0.002


class Bench:
    """The cases of a job on one rank."""

    def __init__(self, backend: str, directory: Path, rank: int) -> None:
        self.backend = backend
        self.job: Job = read_job(directory)
        self.rank = rank
        # Not measured: ranks meet and agree by it.
        self.comm = weft.init(rank, self.job.ranks, str(directory / "meet"), timeout=60.0)
        if backend == "weft" and not hasattr(dist.Backend, "WEFT"):
            from weft.torch import register

            register()  # used from its build directory a package has no entry points
        dist.init_process_group(
            backend, init_method=f"file://{directory}/torch", rank=rank, world_size=self.job.ranks
        )
        # Only now: threads that a library has started may run where the kernel likes.
        _pin(rank, self.job.ranks)

    def run(self) -> list[Measured]:
        """All cases, in order."""
        measured = [self._measure(case) for case in self.job.cases]
        dist.destroy_process_group()
        self.comm.close()
        return measured

    def _measure(self, case: Case) -> Measured:
        calls = TorchCalls(self.comm, case)
        start = time.perf_counter()
        for iteration in range(_WARM_SAMPLES):
            self._sample(case, calls, iteration)
        count = self._agree((time.perf_counter() - start) / _WARM_SAMPLES)
        seconds, correct = [], True
        for iteration in range(count):
            seconds.append(self._sample(case, calls, iteration))
            if iteration in (0, count - 1):
                correct = self._right(case, calls, iteration) and correct
        algorithm = case.algorithm_of(self.comm) if self.backend == "weft" else None
        return Measured(correct, algorithm, seconds)

    def _sample(self, case: Case, calls: TorchCalls, iteration: int) -> float:
        return calls.sample(encoded(tile(self.rank, iteration, case.ranks), case.dtype), case.batch)

    def _right(self, case: Case, calls: TorchCalls, iteration: int) -> bool:
        if not case.traits.moves_data:
            return self._held(calls, late=iteration % case.ranks)
        wanted = expected(case, self.rank, iteration, case.batch - 1)
        if wanted is None or calls.output is None:
            return wanted is calls.output
        return np.array_equal(calls.output, wanted)

    def _held(self, calls: TorchCalls, late: int) -> bool:
        """Whether a barrier that rank `late` enters late lets nobody out before."""
        self.comm.barrier()
        if self.rank == late:
            time.sleep(_LATE_SECONDS)
        entered = np.array([time.monotonic_ns()])
        calls.once()
        left = time.monotonic_ns()
        return left >= int(self.comm.allreduce(entered, "max")[0])

    def _agree(self, sample_seconds: float) -> int:
        """Samples of a case: rank 0's count, since clocks differ."""
        wanted = self.job.samples or int(self.job.seconds / max(sample_seconds, 1e-9))
        count = int(self.comm.broadcast(np.array([wanted]))[0])
        return min(max(count, 1 if self.job.samples else _LEAST_SAMPLES), _MOST_SAMPLES)


def _pin(rank: int, ranks: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if ranks <= len(cores):
        os.sched_setaffinity(0, {cores[rank]})


def main() -> None:
    """Measures, and writes the samples beside the job."""
    backend, directory, rank = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    try:
        measured = Bench(backend, directory, rank).run()
    except Exception as error:
        print(f"rank {rank}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)  # peers may wait for this rank for ever
    with (directory / f"samples.{rank}").open("w") as file:
        file.writelines(one.line(index) for index, one in enumerate(measured))


if __name__ == "__main__":
    main()
