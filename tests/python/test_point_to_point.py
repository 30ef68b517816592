"""send and recv: matched by source and tag, whole, and never waiting for a collective."""

from __future__ import annotations

import numpy as np
import pytest

import weft


def ring(job):
    with job.communicator(timeout=20) as comm:
        right, left = (job.rank + 1) % job.size, (job.rank - 1) % job.size
        for count in (0, 1, 57, 100_003):
            sent = comm.isend(np.full(count, job.rank, "int32"), right)
            got = np.empty(count, "int32")
            assert comm.recv(got, left) == left
            sent.wait()
            np.testing.assert_array_equal(got, np.full(count, left))


def any_source(job):
    with job.communicator(timeout=20) as comm:
        if job.rank != 0:
            comm.send(np.array([job.rank * 11]), 0, tag=5)
            return
        got = np.empty(1, "int64")
        seen = {comm.recv(got, weft.ANY_SOURCE, tag=5): got[0].item() for _ in range(job.size - 1)}
        assert seen == {rank: rank * 11 for rank in range(1, job.size)}


def tags_out_of_order(job):
    with job.communicator(timeout=20) as comm:
        if job.rank == 0:
            requests = [comm.isend(np.full(50_000, tag), 1, tag) for tag in range(4)]
            for request in requests:
                request.wait()
        elif job.rank == 1:
            for tag in (2, 0, 3, 1):
                out = np.empty(50_000, "int64")
                comm.recv(out, 0, tag)
                np.testing.assert_array_equal(out, np.full(50_000, tag))
        comm.barrier()


def both_send_100_mib_first(job):
    count = 100 << 20
    with job.communicator(timeout=60) as comm:
        if job.rank < 2:
            sent = comm.isend(np.full(count, job.rank + 1, "uint8"), 1 - job.rank)
            got = np.empty(count, "uint8")
            comm.recv(got, 1 - job.rank)
            sent.wait()
            assert (got == 2 - job.rank).all()
        comm.barrier()


def past_a_collective(job):
    """A receive that is posted first and matched last does not hold up the collectives."""
    with job.communicator(timeout=20) as comm:
        request = comm.irecv(np.empty(3), 1, tag=9) if job.rank == 0 else None
        for _ in range(10):
            assert comm.allreduce(np.ones(1000))[0] == job.size
        if job.rank == 1:
            comm.send(np.arange(3.0), 0, tag=9)
        if request:
            np.testing.assert_array_equal(request.wait(), np.arange(3.0))
            assert request.source == 1


def negative_tags(job):
    with job.communicator(timeout=20) as comm:
        x, peer = np.zeros(3), (job.rank + 1) % job.size
        for call in (comm.isend, comm.irecv, comm.send, comm.recv):
            with pytest.raises(weft.InvalidArgument, match="tag is -1"):
                call(x, peer, tag=-1)
        with pytest.raises(weft.InvalidArgument, match="tag is -3"):
            comm.irecv(x, weft.ANY_SOURCE, tag=-3)
    ring(job)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(
    "body",
    [
        ring,
        any_source,
        tags_out_of_order,
        both_send_100_mib_first,
        past_a_collective,
        negative_tags,
    ],
)
def test_transfers(team, body, ranks):
    team(ranks).run(body)


def disagree(job, sent, capacity, why):
    with job.communicator(timeout=20) as comm:
        transfer = comm.isend(sent, 1) if job.rank == 0 else comm.irecv(capacity, 0)
        with pytest.raises(weft.Aborted if job.rank == 0 else weft.Mismatch, match=why):
            transfer.wait()


def disagree_small(job, sent, capacity, why):
    """A small message has left before the receiver can object; the sender's next call tells."""
    with job.communicator(timeout=20) as comm:
        if job.rank == 0:
            comm.isend(sent, 1)
            with pytest.raises(weft.Aborted, match=why):
                comm.barrier()
        else:
            with pytest.raises(weft.Mismatch, match=why):
                comm.recv(capacity, 0)


@pytest.mark.parametrize(("body", "count"), [(disagree, 4000), (disagree_small, 4)])
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda x: x[:-1], r"(?s)4(000)?.*3(999)?|3(999)?.*4(000)?"),
        (lambda x: x.astype("int64"), r"(?s)float64.*int64|int64.*float64"),
    ],
)
def test_disagreement_reaches_both(team, body, count, change, why):
    sent = np.ones(count)
    team(2).run(body, sent, change(sent), why)
