"""Arguments that no rank can use: InvalidArgument on every rank, and nothing is harmed."""

from __future__ import annotations

import numpy as np
import pytest

import weft

X = np.ones(4)
NAN = float("nan")

# A call on a communicator of two ranks, and words of the error beside the rank's number.
CALLS = {
    "root None": (lambda c: c.broadcast(X, root=None), "broadcast: root is None"),
    "root 2^31": (lambda c: c.broadcast(X, root=2**31), "root is 2147483648: give a whole number"),
    "root float": (lambda c: c.broadcast(X, root=0.0), "root is 0.0: give a whole number"),
    "root str": (lambda c: c.broadcast(X, root="0"), "root is '0'"),
    "root -1": (lambda c: c.broadcast(X, root=-1), "root is -1: give a whole number from 0 to 1"),
    "reduce root": (lambda c: c.reduce(X, root=None), "reduce: root is None"),
    "gather root": (lambda c: c.gather(X, root=2**70), "gather: root is 1180591620717411303424"),
    "scatter root": (lambda c: c.scatter(X, root=None, out=np.ones(2)), "scatter: root is None"),
    "op None": (lambda c: c.allreduce(X, op=None), "allreduce: op is None: give a string"),
    "op 3": (lambda c: c.allreduce(X, op=3), "allreduce: op is 3: give a string"),
    "op unknown": (lambda c: c.allreduce(X, op="mean"), 'allreduce: op: "mean" is not a reduction'),
    "scale None": (lambda c: c.allreduce(X, "premul_sum", scale=None), "scale is None: give a num"),
    "scale str": (lambda c: c.reduce(X, "premul_sum", scale="x"), "scale is 'x': give a number"),
    "timeout -1": (lambda c: c.allreduce(X, timeout=-1), "timeout is -1: .* above zero"),
    "timeout 0": (lambda c: c.barrier(timeout=0), "barrier: timeout is 0: .* above zero"),
    "timeout nan": (lambda c: c.allgather(X, timeout=NAN), "allgather: timeout is nan"),
    "timeout str": (lambda c: c.alltoall(X, timeout="5"), "alltoall: timeout is '5'"),
    "algorithm": (lambda c: c.allreduce(X, algorithm=3), "algorithm is 3: give a string"),
    "no algorithm": (lambda c: c.allreduce(X, algorithm="rign"), 'there is no algorithm "rign"'),
    "symmetric": (lambda c: c.allreduce(X, symmetric=3), "symmetric is 3: give True or False"),
    "counts -1": (
        lambda c: c.allgather(X, output_counts=[5, -1]),
        r"allgather: output_counts\[1\] is -1: give a whole number from 0",
    ),
    "counts float": (
        lambda c: c.gather(X, output_counts=[4.0, 4]),
        r"gather: output_counts\[0\] is 4.0",
    ),
    "counts 2^62": (lambda c: c.allgather(X, output_counts=[2**62, 4]), r"counts\[0\] is 46"),
    "counts None": (lambda c: c.allgather(X, output_counts=[4, None]), r"counts\[1\] is None"),
    "counts int": (lambda c: c.allgather(X, output_counts=4), "counts is 4: give a list of 2"),
    "counts few": (lambda c: c.reduce_scatter(X, input_counts=[4]), "input_counts has 1 entries"),
    "shares -1": (lambda c: c.reduce_scatter(X, input_counts=[5, -1]), r"input_counts\[1\] is -1"),
    "splits -1": (
        lambda c: c.alltoall(X, input_counts=[5, -1], output_counts=[2, 2]),
        r"alltoall: input_counts\[1\] is -1",
    ),
    "scattered": (
        lambda c: c.scatter(X, input_counts="ab", out=np.ones(1)),
        "scatter: input_counts is 'ab': give a list",
    ),
    "destination None": (lambda c: c.send(X, None), "send: destination is None"),
    "destination 2^31": (lambda c: c.send(X, 2**31), "send: destination is 2147483648"),
    "destination 2": (lambda c: c.send(X, 2), "send to 2: ranks are 0 to 1"),
    "tag 2^31": (lambda c: c.send(X, 1 - c.rank, 2**31), "send: tag is 2147483648"),
    "tag float": (lambda c: c.isend(X, 1 - c.rank, 0.5), "send: tag is 0.5"),
    "source None": (lambda c: c.recv(X, None), "recv: source is None"),
    "source float": (lambda c: c.irecv(X, 1.0), "recv: source is 1.0"),
    "tag str": (lambda c: c.recv(X, 1 - c.rank, "a"), "recv: tag is 'a'"),
    "color None": (lambda c: c.split(None), "split: color is None"),
    "color 2^31": (lambda c: c.split(2**31), "split: color is 2147483648"),
    "key float": (lambda c: c.split(0, 0.5), "split: key is 0.5"),
    "why None": (lambda c: c.abort(None), "abort: why is None: give a string"),
    "default -1": (lambda c: setattr(c, "timeout", -1), "timeout is -1"),
    "default None": (lambda c: setattr(c, "timeout", None), "timeout is None"),
    "asked of": (lambda c: c.algorithm_for(None, 4), "collective is None"),
    "asked count": (lambda c: c.algorithm_for("allreduce", -1), "count is -1"),
    "asked root": (lambda c: c.algorithm_for("broadcast", 4, root=None), "root is None"),
    "asked dtype": (lambda c: c.algorithm_for("allreduce", 4, np.float32), "dtype is <class"),
}  # fmt: skip

STARTS = {
    "rank float": ({"rank": 1.0}, "init: rank is 1.0"),
    "rank 2^40": ({"rank": 2**40, "size": 2**41}, "init: rank is 1099511627776"),
    "size str": ({"size": "2"}, "init: size is '2'"),
    "timeout None": ({"timeout": None}, "init: timeout is None"),
    "timeout 0": ({"timeout": 0}, "init: timeout is 0: .* above zero"),
    "fabric": ({"fabric": 3}, "init: fabric is 3: give a string"),
    "wire": ({"wire": 3}, "init: wire is 3: give a string"),
    "tuning": ({"tuning": 3}, "init: tuning is 3: give the path"),
    "reproducible": ({"reproducible": "x"}, "init: reproducible is 'x'"),
}


def refused(job):
    """Every call of the table; those that end otherwise."""
    wrong = {}
    with job.communicator(timeout=20) as comm:
        for name, (call, words) in CALLS.items():
            try:
                with pytest.raises(weft.InvalidArgument, match=f"rank {job.rank}.*{words}"):
                    call(comm)
            except BaseException as error:
                wrong[name] = f"{type(error).__name__}: {error}"
            comm.barrier()  # still usable, and no rank is in a call
        assert comm.broadcast(X, root=np.int64(1))[0] == 1
        assert comm.algorithm_for("allreduce", 2**40)
    for name, (given, words) in STARTS.items():
        try:
            with pytest.raises(weft.InvalidArgument, match=words):
                weft.init(**{"rank": job.rank, "size": 2, "rendezvous": job.directory, **given})
        except BaseException as error:
            wrong[name] = f"{type(error).__name__}: {error}"
    return wrong


def test_refused_on_every_rank(team):
    assert team(2).run(refused) == [{}, {}]
