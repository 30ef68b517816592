"""Measures what a communication thread takes from a core that computes.

Two ranks talk without a pause: an allreduce and an alltoall of the small configuration's sizes.
Rank 0 also computes, on the first core. Its worker is on that core ("shared") or on the other one
("free"), where rank 1 is, too. Without communication ("none") rank 0 only computes.

What counts is the processor time of the first core: of the thread that computes, and of the worker
if it is there. The core is never idle, so this is the time that passes, less what other work takes.

    python stealing.py DIRECTORY RANK none|free|shared
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 3.0
ALLREDUCE, ALLTOALL = 2_400_000, 524_288  # float32 elements: about 9.2 and 2 MiB
# A core's tile of a layer of 1024 x 1024 with 2048 records.
TILE = (512, 1024, 171)


def measured(turn: dict[str, Any]) -> dict[str, Any]:
    """Seconds of a product while the worker is in its place, and how many collectives ended."""
    from weft.bench.libraries import Launch
    from weft.bench.processes import run_ranks

    place = turn["worker"]
    if len(os.sched_getaffinity(0)) < 2:
        raise ValueError("the worker needs a second core")
    with tempfile.TemporaryDirectory(prefix="weft-stealing-") as name:
        ranks = range(1 if place == "none" else 2)
        commands = [[sys.executable, __file__, name, str(rank), place] for rank in ranks]
        run_ranks("stealing", Launch(commands, {"OMP_NUM_THREADS": "1"}), Path(name), 60)
        found: dict[str, Any] = json.loads((Path(name) / "measured").read_text())
    return found


def joined(directory: str, rank: int, place: str) -> Any:
    """The communicator. This thread is then on its core: the first for rank 0, else the second."""
    import weft

    first, second = sorted(os.sched_getaffinity(0))[:2]
    worker = first if rank == 0 and place == "shared" else second
    comm = weft.init(rank, 2, directory, timeout=60, fabric="shm", tuning="none",
                     workers=weft.Workers(1, [worker]))  # fmt: skip
    os.sched_setaffinity(0, {second if rank else first})
    return comm


class Talk:
    """Allreduce and alltoall, again and again. The first element says whether rank 0 goes on."""

    def __init__(self, comm: Any) -> None:
        self.ended = 0
        self._comm = comm
        self._gradients = np.zeros(ALLREDUCE, "float32")
        self._embeddings = np.ones(ALLTOALL, "float32")
        self._requests: list[Any] = []

    def start(self, going: bool) -> None:
        """Both ranks."""
        self._gradients[0] = going and self._comm.rank == 0
        both = (self._comm.allreduce(self._gradients, out=self._gradients, async_op=True),
                self._comm.alltoall(self._embeddings, async_op=True))  # fmt: skip
        self._requests = list(both)
        for request in both:
            request.note_end()

    def over(self) -> bool:
        """Whether both have ended. Carries nothing on itself."""
        return all(request.ended_ns for request in self._requests)

    def wait(self) -> bool:
        """To their end; whether rank 0 goes on."""
        for request in self._requests:
            request.wait()
        self.ended += 1
        return bool(self._gradients[0] > 0)


def compute(comm: Any, place: str) -> dict[str, Any]:
    """What rank 0 does: products for some seconds, with collectives under way all the time."""
    import torch

    from scaling.operators import product

    torch.set_num_threads(1)
    rows, inputs, outputs = TILE
    a, b = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    for _ in range(20):
        product(a, b)
    talk, products = Talk(comm), 0
    if comm:
        talk.start(True)
    end = time.perf_counter() + SECONDS
    own, all_threads = time.thread_time(), time.process_time()
    while time.perf_counter() < end:
        product(a, b)
        products += 1
        if comm and talk.over():
            talk.wait()
            talk.start(True)
    own = time.thread_time() - own
    worker = time.process_time() - all_threads - own
    if comm:
        talk.wait()
        talk.start(False)
        talk.wait()
    of_the_core = own + worker if place == "shared" else own
    return {"seconds": of_the_core / products, "computing": own / products,
            "collectives": 2 * talk.ended}  # fmt: skip


def main() -> None:
    """One rank."""
    directory, rank, place = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if place == "none":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    comm = None if place == "none" else joined(directory, rank, place)
    if rank:
        talk = Talk(comm)
        talk.start(True)
        while talk.wait():
            talk.start(True)
    else:
        Path(directory, "measured").write_text(json.dumps(compute(comm, place)))
    if comm:
        comm.close()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
