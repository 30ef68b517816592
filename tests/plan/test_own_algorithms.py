"""Algorithms of one's own: registered, refused with a reason, run."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from weft import plan
from weft.errors import InvalidArgument, InvalidPlan

RANKS = (1, 2, 3, 4, 5, 8)


def star(b):
    """The root sends to everyone, one message for all."""
    root = b.param("root", 0)
    others = [rank for rank in range(b.ranks) if rank != root]
    channel = b.channel(slots=4)
    with b.chunks():
        if b.rank == root:
            b.copy(b.output(), b.input())
            if others:
                b.put(b.input(), to=others, channel=channel)
        else:
            b.wait(root, channel, b.output())
            b.copy(b.output(), b.slot(root, channel))
            b.credit(root, channel, b.output())


class TestAlgorithms:
    def test_is_registered_and_stays_a_function(self):
        assert plan.algorithm("broadcast/star")(star) is star
        found = plan.find_algorithm("star")
        assert (found.name, found.collective) == ("broadcast/star", "broadcast")
        assert found.summary == "The root sends to everyone, one message for all."
        assert "broadcast/star" in plan.algorithm_names()
        for ranks in (*RANKS, 13):
            made = plan.make_plan("star", ranks, {"root": ranks - 1})
            assert made.shape.params == {"root": ranks - 1}
            assert plan.verify(made)

    def test_wrong_plans_are_refused_with_the_report(self):
        def forgetful(b):
            b.param("root", 0)
            with b.once():
                b.copy(b.output(), b.input())

        with pytest.raises(InvalidPlan, match="for 2 ranks is wrong") as refused:
            plan.algorithm("broadcast/forgetful")(forgetful)
        assert "copy output[0]" in str(refused.value)
        assert "broadcast/forgetful" not in plan.algorithm_names()

    def test_claims_are_proved(self):
        def rotated(b):
            channel, x = b.channel(slots=2), b.input()
            others = [(b.rank + i) % b.ranks for i in range(1, b.ranks)]
            with b.chunks():
                if others:
                    b.copy(b.slot(channel), x)
                    b.signal(others, channel, of=x)
                for rank in others:
                    b.wait(rank, channel, of=x)
                b.reduce(b.output(), [x, *(b.slot(r, channel) for r in others)], last=True)
                for rank in others:
                    b.credit(rank, channel, of=x)

        plan.algorithm("allreduce/rotated")(rotated)
        assert not plan.find_algorithm("rotated").consistent
        with pytest.raises(InvalidPlan, match=r"x0 \+ \(x1 \+ x2\) here"):
            plan.algorithm("allreduce/turned", consistent=True)(rotated)
        assert plan.find_algorithm("lr").name == "allreduce/ring"
        assert plan.find_algorithm("lr").consistent

    def test_refuses(self):
        def pairs(ranks, params):
            return None if ranks == 2 else "only pairs"

        plan.algorithm("broadcast/pair", summary="For two.", refuses=pairs)(star)
        found = plan.find_algorithm("pair")
        assert (found.summary, found.refuses(3), found.refuses(2)) == ("For two.", "only pairs", "")
        with pytest.raises(InvalidArgument, match="only pairs"):
            plan.make_plan("pair", 3)

    @pytest.mark.parametrize("name", ["broadcast", "broadcast/", "dance/x", "broadcast/a b"])
    def test_names_that_are_none(self, name):
        with pytest.raises(InvalidArgument):
            plan.algorithm(name)(star)

    def test_built_in_names_are_taken(self):
        with pytest.raises(InvalidArgument, match="comes with weft"):
            plan.algorithm("broadcast/knomial")(star)

    def test_exceptions_pass_through(self):
        def fails(b):
            raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            plan.algorithm("barrier/fails")(fails)

    def test_the_builder_ends_with_the_call(self):
        kept = []

        def keeps(b):
            kept.append((b, b.chunks()))
            star(b)

        plan.algorithm("broadcast/keeps")(keeps)
        with pytest.raises(InvalidPlan, match="after its algorithm has returned"):
            kept[0][0].flush()
        with pytest.raises(InvalidPlan, match="after its algorithm has returned"):
            kept[0][1].__enter__()

    def test_a_replaced_function_is_let_go(self):
        def make():
            def write(b):
                star(b)

            plan.algorithm("broadcast/replaced")(write)
            return weakref.ref(write)

        first = make()
        second = make()
        third = make()  # clears what the one before has replaced
        gc.collect()
        assert first() is None
        assert third() is not None
        assert second is not third

    def test_many_threads(self):
        failed = []

        def work(i):
            try:
                for _ in range(5):
                    plan.algorithm(f"broadcast/thread{i}")(star)
                    assert plan.find_algorithm(f"thread{i}").name == f"broadcast/thread{i}"
                    assert plan.make_plan(f"thread{i}", 3) is not None
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not failed
        assert not any(thread.is_alive() for thread in threads)

    def test_nothing_is_left_at_exit(self):
        code = (
            "from weft import plan\n"
            "def write(b):\n    b.channel(1)\n"
            "made = plan.make_plan('allreduce/ring', 2)\n"
            "plan.algorithm('barrier/alone', refuses=lambda n, p: '' if n == 1 else 'no')(write)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stderr == ""


def run_star(job, count):
    """A rank that calls an algorithm of its own, waiting and not."""
    plan.algorithm("broadcast/star")(star)
    with job.communicator() as comm:
        root = comm.size - 1
        x = np.arange(count) + comm.rank
        first = comm.broadcast(x, root, algorithm="star")
        request = comm.broadcast(x, root, algorithm="broadcast/star", async_op=True)
        return [int(np.sum(y - np.arange(count))) for y in (first, request.wait())]


def run_unknown(job):
    """A call of what is not registered is refused, and the communicator goes on."""
    with job.communicator() as comm:
        with pytest.raises(InvalidArgument, match='no algorithm "mine" for allreduce') as refused:
            comm.allreduce(np.ones(3), algorithm="mine")
        comm.barrier()
        return str(refused.value)


def run_failing(job):
    """An exception of the algorithm reaches the caller, and the communicator goes on."""

    def fails(b):
        if b.ranks == job.size and armed:
            raise KeyError("mine")
        star(b)

    armed = []
    plan.algorithm("broadcast/fails")(fails)
    armed.append(True)
    with job.communicator() as comm:
        with pytest.raises(KeyError, match="mine"):
            comm.broadcast(np.ones(3), algorithm="fails")
        return comm.allreduce(np.ones(1)).tolist()


class TestRuns:
    @pytest.mark.parametrize("ranks", [1, 2, 3])
    @pytest.mark.parametrize("count", [0, 1, 300_000])
    def test_own_algorithm(self, team, ranks, count):
        assert team(ranks).run(run_star, count) == [[count * (ranks - 1)] * 2] * ranks

    def test_unknown_names(self, team):
        assert all("allreduce/two_shot" in text for text in team(2).run(run_unknown))

    def test_exceptions_of_the_algorithm(self, team):
        assert team(2).run(run_failing) == [[2.0]] * 2

    def test_example(self):
        example = Path(__file__).parents[2] / "examples" / "own_algorithm" / "own_algorithm.py"
        done = subprocess.run(
            [sys.executable, str(example), "--ranks", "2"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "put source on rank" in done.stdout
        assert done.stdout.endswith("2 ranks: all sums are right.\n")
        assert done.stderr == ""
