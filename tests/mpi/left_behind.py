"""What a killed job of MPI or OpenSHMEM has left behind is removed after the test."""

from __future__ import annotations

import pytest
from leftovers import SHARED_MEMORY, mapped_by_anyone, shared_memory

THEIRS = ("mpich_shm", "Intel_MPI", "vader_segment", "sm_segment", "ucx_shm")


@pytest.fixture(autouse=True)
def remove_what_is_left():
    before = shared_memory()
    yield
    for name in shared_memory() - before:
        path = SHARED_MEMORY / name
        if name.startswith(THEIRS) and not mapped_by_anyone(path):
            path.unlink(missing_ok=True)
