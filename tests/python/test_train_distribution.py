"""weft.train.Distribution over communicators, without PyTorch."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import weft
from weft.train import Distribution


def grid(job, data, model):
    with job.communicator() as comm:
        made = Distribution(data, model, comm)
        mine = np.array([10.0**comm.rank])
        sums = [float(part.allreduce(mine)[0]) for part in (made.data_group, made.model_group)]
        assert made.data_group.rank == made.data_index
        assert made.model_group.rank == made.model_index
        assert (made.data_group.size, made.data_size) == (data, data)
        assert (made.model_group.size, made.model_size) == (model, model)
        made.data_group.close()
        made.model_group.close()
        return made.data_index, made.model_index, *sums, repr(made)


def test_model_groups_are_neighbours(team):
    results = team(4).run(grid, 2, 2)
    assert [one[:4] for one in results] == [
        (0, 0, 101.0, 11.0),
        (0, 1, 1010.0, 11.0),
        (1, 0, 101.0, 1100.0),
        (1, 1, 1010.0, 1100.0),
    ]
    assert results[2][4] == "<weft.train.Distribution 2x2: data 1, model 0>"


@pytest.mark.parametrize(("data", "model"), [(1, 3), (3, 1)])
def test_one_group_may_have_all_ranks(team, data, model):
    results = team(3).run(grid, data, model)
    whole, own = (3, 2) if model == 3 else (2, 3)
    assert [one[whole] for one in results] == [111.0] * 3
    assert [one[own] for one in results] == [1.0, 10.0, 100.0]


def test_a_model_group_of_two_of_six_ranks(team):
    results = team(6).run(grid, 3, 2)
    assert [one[:2] for one in results] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert [one[2] for one in results] == [10101.0, 101010.0] * 3
    assert [one[3] for one in results] == [11.0, 11.0, 1100.0, 1100.0, 110000.0, 110000.0]


def refused(job, parts):
    """The error of each rank, and a sum that shows that the communicator is alive."""
    with job.communicator() as comm:
        with pytest.raises(weft.WeftError) as raised:
            Distribution(*parts[job.rank], comm)
        alive = float(comm.allreduce(np.ones(1))[0])
        return type(raised.value).__name__, str(raised.value), alive


WRONG = {
    "product": ([(2, 2)] * 2, "InvalidArgument", "data 2 * model 2 is 4, and there are 2 ranks"),
    "none": ([(2, 0)] * 2, "InvalidArgument", "model is 0: give a whole number from 1"),
    "negative": ([(-2, -1)] * 2, "InvalidArgument", "data is -2"),
    "half": ([(2, 1), (1.0, 2)], "InvalidArgument", "rank 1: Distribution: data is 1.0"),
    "one wrong": ([(2, 1), (2, 2)], "InvalidArgument", "rank 1: Distribution: data 2 * model 2"),
    "different": ([(2, 1), (1, 2)], "Mismatch", "rank 1 has data and model [1, 2], rank 0 [2, 1]"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_parts_are_refused_on_every_rank(team, fault):
    parts, kind, text = WRONG[fault]
    results = team(2).run(refused, parts)
    assert [(name, alive) for name, _, alive in results] == [(kind, 2.0)] * 2
    assert len({words for _, words, _ in results}) == 1
    assert text in results[0][1]


def test_without_a_group_the_remedy_is_named():
    with pytest.raises(weft.InvalidArgument, match=r"or pass group=weft\.init\(\)"):
        Distribution(1, 1)
    with pytest.raises(weft.InvalidArgument, match="group is a str: give a weft"):
        Distribution(1, 1, "world")


def test_torch_is_not_imported():
    program = (
        "import sys, weft\n"
        "with weft.init(0, 1) as comm:\n"
        "    made = weft.train.Distribution(1, 1, comm)\n"
        "    print(made.data_group.size, 'torch' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["1", "False"]
