"""What each rank does for wire.py: allreduces of float32, timed, and a training."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np

SAMPLES = {4 << 20: 12, 25 << 20: 5}  # by bytes; one more goes before them
GLOBAL_BATCH = 64


def measure(job, wire: str) -> dict[int, list[float]]:
    """Seconds of the slowest rank, by size.

    Inputs are written before each, all ranks meet, and results are checked: these numbers and
    their sums are bf16's.
    """
    with job.communicator(timeout=60, wire=wire) as comm:
        return {nbytes: samples(comm, nbytes, count) for nbytes, count in SAMPLES.items()}


def samples(comm, nbytes: int, count: int) -> list[float]:
    """Of one size, in place."""
    base = np.arange(nbytes // 4, dtype="float32") % 31
    x = np.empty_like(base)
    took = []
    for number in range(count + 1):
        np.add(base, (comm.rank + number) % 4, out=x)
        comm.barrier()
        start = time.perf_counter()
        comm.allreduce(x, out=x)
        mine = time.perf_counter() - start
        added = sum((rank + number) % 4 for rank in range(comm.size))
        np.testing.assert_array_equal(x, base * comm.size + added)
        took.append(float(comm.allreduce(np.array([mine]), "max")[0]))
    return took[1:]


def learn(job, iterations: int) -> dict[str, float | bool]:
    """LeNet by examples/lenet, over all ranks: what train.py does, in this process."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "lenet"))
    import torch
    import torch.distributed as dist
    import train
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader
    from torch.utils.data.distributed import DistributedSampler

    import data
    import model

    torch.set_num_threads(1)
    # Parts of torch keep a cache in TMPDIR, which is to be left empty.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = job.directory
    store = dist.FileStore(f"{job.directory}/torch", job.size)
    dist.init_process_group("weft", store=store, rank=job.rank, world_size=job.size)
    try:
        torch.manual_seed(0)
        training, held_out = data.digits()
        training = data.Shifted(training, 0)
        sampler = DistributedSampler(training, job.size, job.rank, shuffle=True, seed=0)
        loader = DataLoader(training, GLOBAL_BATCH // job.size, sampler=sampler, drop_last=True)
        net = DistributedDataParallel(model.lenet())
        optimizer = model.CaffeSGD(net.named_parameters())
        dist.barrier()
        start = time.perf_counter()
        loss = train.train(net, optimizer, loader, iterations, talk=False)
        dist.barrier()
        return {
            "loss": loss,
            "seconds": time.perf_counter() - start,
            "accuracy": train.accuracy(net, held_out, job.size, job.rank),
            "parameters_identical": train.parameters_identical(net, job.size),
        }
    finally:
        dist.destroy_process_group()
