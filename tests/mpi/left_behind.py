"""What a killed job of MPI or OpenSHMEM has left behind is removed after the test."""

from __future__ import annotations

import pytest
from leftovers import OF_MPI, left_in_shared_memory, shared_memory


@pytest.fixture(autouse=True)
def remove_what_is_left():
    before = shared_memory()
    yield
    for path in left_in_shared_memory(before):
        if path.name.startswith(OF_MPI):
            path.unlink(missing_ok=True)
