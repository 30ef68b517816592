"""Programs that end with operations nobody waited for: they end with their own exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")

PROGRAM = """
import sys
import torch
import torch.distributed as dist

rank, size, path, what, code = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5], int(sys.argv[5])
dist.init_process_group("weft", init_method="file://" + path, rank=rank, world_size=size)
tensors = [torch.ones(100_000) for _ in range(60)]
if "reduce" in what:
    for x in tensors:
        dist.all_reduce(x, async_op=True)
if "callbacks" in what:
    for x in tensors:
        future = dist.all_reduce(x, async_op=True).get_future()
        future.then(lambda done: dist.all_reduce(torch.ones(3), async_op=True))
if "transfers" in what:
    peer = (rank + 1) % size
    for x in tensors:
        dist.isend(x, peer, tag=1)
        dist.irecv(x, peer, tag=2)  # which nobody sends
if "destroy" in what:
    dist.destroy_process_group()
sys.exit(code)
"""

CASES = [
    (1, "reduce", 7),
    (3, "reduce", 0),
    (3, "reduce, callbacks", 7),
    (2, "reduce, destroy", 7),
    (2, "transfers", 0),
]


@pytest.mark.parametrize(("ranks", "what", "code"), CASES)
def test_the_exit_code_is_the_program_s_own(tmp_path, ranks, what, code):
    start = time.monotonic()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(ranks), str(tmp_path / "store"), what,
             str(code)],
            env=os.environ | {"OMP_NUM_THREADS": "1"}, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [code] * ranks, "\n".join(errors)
    assert time.monotonic() - start < 60  # the groups' timeout is half an hour
