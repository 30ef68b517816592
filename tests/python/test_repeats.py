"""Calls that repeat each other on a few buffers, in any order: what training does."""

from __future__ import annotations

import numpy as np
import pytest

import weft

COUNTS = (1, 7, 113, 500, 3000, 17000)  # in a message, in one chunk, in several
PHASES, KINDS, CALLS = 20, 3, 15  # in each phase so many calls of so many kinds


class Buffers:
    """Ordinary and symmetric ones, of which each call takes two, or one as both."""

    def __init__(self, ranks: int) -> None:
        size = max(COUNTS) * ranks
        self.all = [np.zeros(size, "float32"), np.zeros(size, "float32")]
        self.all += [weft.empty(size), weft.empty(size)]


def own(rank: int, call: int, size: int) -> np.ndarray:
    """What a rank contributes: small integers, other ones in each call."""
    return ((np.arange(size) * (rank + 1) + 5 * call) % 13).astype("float32")


def allreduce(comm, call, count, x, y):
    x, y = x[:count], y[:count]
    x[:] = own(comm.rank, call, count)
    comm.allreduce(x, out=y)
    return y, sum(own(rank, call, count) for rank in range(comm.size))


def broadcast(comm, call, count, x, y):
    root = call % comm.size
    x, y = x[:count], y[:count]
    x[:] = own(comm.rank, call, count)
    comm.broadcast(x, root=root, out=y)
    return y, own(root, call, count)


def alltoall(comm, call, count, x, y):
    size, mine = count * comm.size, slice(comm.rank * count, (comm.rank + 1) * count)
    x, y = x[:size], y[:size]
    x[:] = own(comm.rank, call, size)
    comm.alltoall(x, out=y)
    return y, np.concatenate([own(rank, call, size)[mine] for rank in range(comm.size)])


def allgather(comm, call, count, x, y):
    y = y[: count * comm.size]
    x = y[comm.rank * count :][:count] if np.shares_memory(x, y) else x[:count]
    x[:] = own(comm.rank, call, count)
    comm.allgather(x, out=y)
    return y, np.concatenate([own(rank, call, count) for rank in range(comm.size)])


def reduce_scatter(comm, call, count, x, y):
    size, mine = count * comm.size, slice(comm.rank * count, (comm.rank + 1) * count)
    x = x[:size]
    y = x[mine] if np.shares_memory(x, y) else y[:count]
    x[:] = own(comm.rank, call, size)
    comm.reduce_scatter(x, out=y)
    return y, sum(own(rank, call, size)[mine] for rank in range(comm.size))


COLLECTIVES = (allreduce, broadcast, alltoall, allgather, reduce_scatter)


def repeats(job, seed):
    random = np.random.default_rng(seed)  # the same choices on all ranks
    buffers = Buffers(job.size).all

    def some(choices, number):
        return [choices[i] for i in random.integers(len(choices), size=number)]

    with job.communicator(timeout=60) as comm:
        for phase in range(PHASES):
            kinds = list(zip(some(COLLECTIVES, KINDS), some(COUNTS, KINDS), strict=True))
            two = some(buffers, 2)
            for call in range(phase * CALLS, (phase + 1) * CALLS):
                [(collective, count)] = some(kinds, 1)
                got, wanted = collective(comm, call, count, *some(two, 2))
                what = f"{call}: {collective.__name__} of {count}"
                np.testing.assert_array_equal(got, wanted, what)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_each_call_is_its_own(team, ranks, seed):
    team(ranks).run(repeats, seed)
