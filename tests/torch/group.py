"""What the tests of the PyTorch backend share: a world of Weft's ranks, and tensors in memory."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Iterator

import torch
import torch.distributed as dist

_kept: list[dist.ProcessGroup] = []


@contextlib.contextmanager
def world(job, timeout: float = 60.0, backend: str = "weft") -> Iterator[dist.ProcessGroup]:
    """The default process group of a call's ranks, destroyed at the end also after a failure."""
    torch.set_num_threads(1)
    # Parts of torch keep a cache in TMPDIR, which is to be left empty.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = job.directory
    store = dist.FileStore(os.path.join(job.directory, "torch"), job.size)
    limit = datetime.timedelta(seconds=timeout)
    dist.init_process_group(backend, store=store, rank=job.rank, world_size=job.size, timeout=limit)
    # A DistributedDataParallel that is the last to hold a group of Gloo waits for its threads with
    # the interpreter's lock, which one of them may want (torch 2.13). So the group lives on until
    # the next one is made.
    _kept[:] = [dist.group.WORLD] if backend == "gloo" else []
    try:
        yield dist.group.WORLD
    finally:
        dist.destroy_process_group()


def values(rank: int, dtype: torch.dtype = torch.float32, shape=(3, 4), salt: int = 0):
    """Small whole numbers, other ones on each rank: sums and products are exact everywhere."""
    generator = torch.Generator().manual_seed(1000 * salt + rank)
    whole = torch.randint(0, 4, shape, generator=generator)
    if dtype.is_complex:
        return torch.complex(whole.double(), whole.flip(0).double()).to(dtype)
    return whole.to(dtype)


def guarded(tensor: torch.Tensor, layout: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The same values in another layout, and the storage around them, filled with ones."""
    shape = tensor.shape
    if layout == "contiguous":
        around = torch.ones(tensor.numel() + 2).to(tensor.dtype)
        view = around[1:-1].view(shape)
    elif layout == "strided":
        around = torch.ones(2 * tensor.numel()).to(tensor.dtype)
        view = around[::2].view(shape)
    else:  # transposed
        around = torch.ones(tensor.numel()).to(tensor.dtype)
        view = around.view(shape[::-1]).t() if len(shape) == 2 else around.view(shape)
    view.copy_(tensor)
    return view, around


def bits(tensor: torch.Tensor) -> bytes:
    """For comparing tensors of types that torch itself cannot compare."""
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)
    flat.view(tensor.shape).copy_(tensor)
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
