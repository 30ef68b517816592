"""One of two ranks of caffe_gpi.py: what a worker thread takes from a computation beside it.

python worker.py DIRECTORY     # has settings.json; rank 0 writes result.json

Rank 0 computes on the first core. Its worker runs on that core, or on the second one. Rank 1
computes nothing and is on the second core.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import torch
from exchanges import Steps

import weft

NBYTES = 16 << 20
COLLECTIVES = 60
ALONE = 3.0  # seconds


def main() -> None:
    directory = Path(sys.argv[1])
    asked = json.loads((directory / "settings.json").read_text())
    first, second, *_ = sorted(os.sched_getaffinity(0))
    core = first if asked["cores"] == "the one that computes" else second
    rank = int(os.environ["RANK"])
    torch.set_num_threads(1)
    cores = [second if rank else core]
    comm = weft.init(workers=weft.Workers(cores=cores))
    flat = torch.from_numpy(weft.empty(NBYTES, "uint8")).view(torch.float32)
    flat.fill_(1.0)
    os.sched_setaffinity(0, {second if rank else first})  # this thread
    if rank:
        comm.barrier()
        for _ in range(COLLECTIVES):
            comm.allreduce(flat, "avg", out=flat, symmetric=True)
    else:
        result = computed(comm, flat)
        (directory / "result.json").write_text(json.dumps(result))
    comm.close()


def computed(comm: weft.Communicator, flat: torch.Tensor) -> dict[str, float]:
    """Seconds of a step of LeNet by itself, and while allreduces are under way."""
    steps = Steps("lenet", "none")
    images, labels = torch.randn(32, 1, 28, 28), torch.zeros(32, dtype=torch.long)
    alone, count = 0.0, 0
    steps.run(images, labels, 20)
    while alone < ALONE:
        alone += steps.run(images, labels, 1)
        count += 1
    comm.barrier()
    begin, beside = time.perf_counter(), 0
    for _ in range(COLLECTIVES):
        request = comm.allreduce(flat, "avg", out=flat, symmetric=True, async_op=True)
        while not request.test():
            steps.run(images, labels, 1)
            beside += 1
        request.wait()
    passed = time.perf_counter() - begin
    return {
        "alone": alone / count, "beside": passed / max(1, beside),
        "collective": passed / COLLECTIVES,
    }  # fmt: skip


if __name__ == "__main__":
    main()
