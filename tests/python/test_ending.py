"""Programs that end with requests nobody waited for: they end with their own exit code."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

PROGRAM = """
import sys
import numpy as np
import weft

rank, size, path, what, code = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5], int(sys.argv[5])
comm = weft.init(rank, size, path)
arrays = [np.ones(100_000) for _ in range(60)]
if "reduce" in what:
    for x in arrays:
        comm.allreduce(x, async_op=True)
if "transfers" in what:
    for x in arrays:
        comm.isend(x, (rank + 1) % size, tag=1)
        comm.irecv(x, (rank + 1) % size, tag=2)  # which nobody sends
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("ranks", "what", "code"),
    [(1, "reduce", 7), (2, "reduce", 7), (3, "reduce", 0), (2, "reduce, transfers", 7)],
)
def test_the_exit_code_is_the_program_s_own(tmp_path, ranks, what, code):
    start = time.monotonic()
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(rank), str(ranks), str(tmp_path), what, str(code)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [code] * ranks, "\n".join(errors)
    assert time.monotonic() - start < 60  # the communicators' timeout is five minutes
