"""Which algorithm runs: names with parameters, tuning files, what is said of wrong ones."""

from __future__ import annotations

import json

import numpy as np
import pytest

import weft
from weft import _core

from launch import run

TABLE = {
    "weft_tuning": 1,
    "machine": {"processor": "p", "cores": 1},
    "rows": [
        {"collective": "allreduce", "ranks": [2, 2], "bytes": [0, 99], "symmetric": True,
         "use": "direct"},
        {"collective": "allreduce", "ranks": [2, 2], "bytes": [0, 99], "use": "ring(chunk=4K)"},
    ],
}  # fmt: skip


def names(job, file):
    with job.communicator(tuning=file if job.rank == 0 else "/not/read") as comm:
        x = weft.empty(8)
        x[:] = 1
        for call in ({}, {"symmetric": True}, {"algorithm": "two_level(node=2,chunk=64)"}):
            assert comm.allreduce(x, **call)[0] == comm.size
            yield comm.algorithm_for("allreduce", 8, **call)
        with pytest.raises(weft.Unsupported, match="node"):
            comm.allreduce(x, algorithm="two_level(node=0)")
        with pytest.raises(weft.InvalidArgument, match=r"no parameter \"nodes\""):
            comm.allreduce(x, algorithm="two_level(nodes=2)")


def chosen(job, file):
    return list(names(job, file))


def test_a_table_and_what_a_call_says(tmp_path):
    file = tmp_path / "tuning.json"
    file.write_text(json.dumps(TABLE))
    assert (
        run(chosen, 2, str(file))
        == [
            [
                "allreduce/ring(chunk=4K)",
                "allreduce/direct",
                "allreduce/two_level(node=2,chunk=64)",
            ]
        ]
        * 2
    )


def from_environment(job, variable, value):
    import os

    os.environ[variable] = value
    try:
        with job.communicator() as comm:
            comm.allreduce(np.ones(1000))
            return comm.algorithm_for("allreduce", 1000)
    except weft.InvalidArgument as error:
        return str(error)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("WEFT_ALGORITHM", "allreduce=two_level(node=2),knomial(radix=4)", "two_level(node=2)"),
        ("WEFT_ALGORITHM", "rign", 'there is no algorithm "rign"'),
        ("WEFT_TUNING", "/nowhere", "rank 0: /nowhere: it cannot be read"),
        ("WEFT_CHUNK", "1M", "WEFT_CHUNK"),
    ],
)
def test_the_environment_holds_for_all_ranks(variable, value, said):
    for answer in run(from_environment, 2, variable, value):
        assert said in answer


def test_what_would_be_chosen():
    assert _core.select("allreduce", 2, 8, tuning="none").rule == "built-in"
    assert str(_core.select("reduce_scatter", 64, 8, tuning="none", reproducible=True).choice) == (
        "reduce_scatter/direct"
    )
    assert weft.price("lr(chunk=64K)", "rx1", ranks=8, nbytes=1 << 20).chunk == 65536
