"""Bad input and broken peers: who is told what."""

from __future__ import annotations

import datetime
import os
import re
import signal
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402

import weft  # noqa: E402

from launch import Team  # noqa: E402


def reported(function) -> str:
    """The type and text of what `function` raises."""
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def batch_with_a_wrong_tag(ones):
    """Nothing of it is started: else the peer's next call would meet it."""
    peer = 1 - dist.get_rank()
    operations = [(dist.isend, 0), (dist.irecv, -1)]
    dist.batch_isend_irecv([dist.P2POp(call, ones, peer, tag=tag) for call, tag in operations])


# What one rank can see to be wrong: the call, the kind of error, and words of the message.
def wrong_arguments(size: int) -> list:
    ones, ints = torch.ones(4), torch.ones(4, dtype=torch.int32)
    spread = torch.ones(1, 3).expand(2, 3)
    group = dist.group.WORLD
    return [
        (lambda: dist.all_reduce(ints, dist.ReduceOp.AVG), "NotImplementedError", ["avg", "int32"]),
        (lambda: dist.all_reduce(ones, dist.ReduceOp.BAND), "NotImplementedError", ["float32"]),
        (lambda: dist.all_reduce(torch.ones(2).to(torch.float8_e5m2)), "NotImplementedError", []),
        (lambda: dist.broadcast(ones.to_sparse(), 0), "Error", []),
        (lambda: dist.all_reduce(spread), "InvalidArgument", ["clone()"]),
        (lambda: dist.broadcast(spread, 1 - dist.get_rank()), "InvalidArgument", ["clone()"]),
        (lambda: group.allreduce([ones, ones]), "InvalidArgument", ["2 tensors"]),
        (lambda: group.allreduce([]), "Error", []),
        (
            lambda: dist.all_gather([ones, ints], ones),
            "Error",  # torch's own check
            ["int32", "float32"],
        ),
        (lambda: dist.all_gather([ones], ones), "InvalidArgument", ["1 tensors", str(size)]),
        (
            lambda: dist.all_gather([torch.ones(5)] * size, ones),
            "InvalidArgument",
            ["all_gather", "[5]", "[4]"],
        ),
        (
            lambda: dist.all_gather_into_tensor(torch.ones(5), ones),
            "InvalidArgument",
            ["5 elements"],
        ),
        (
            lambda: dist.reduce_scatter_tensor(ones, torch.ones(5)),
            "InvalidArgument",
            ["5 elements"],
        ),
        (
            lambda: dist.all_to_all_single(torch.ones(3), torch.ones(3)),
            "InvalidArgument",
            ["3 rows", "split sizes"],
        ),
        (
            lambda: dist.all_to_all_single(ones, torch.ones(4), [1, 2], [2, 2]),
            "InvalidArgument",
            ["[1, 2]", "4 rows"],
        ),
        (lambda: dist.all_to_all_single(ones[:2], ones[1:3]), "InvalidArgument", ["overlap"]),
        (
            lambda: dist.all_to_all_single(ones, ones, [1, 3], [3, 1]),
            "InvalidArgument",
            ["must be equal"],
        ),
        (lambda: dist.isend(ones, dist.get_rank()), "InvalidArgument", ["itself"]),
        (lambda: group.send([ones, ones], 0, 0), "InvalidArgument", ["2 tensors"]),
        (lambda: dist.isend(ones, 1 - dist.get_rank(), tag=-1), "InvalidArgument", ["tag is -1"]),
        (lambda: dist.irecv(ones, 1 - dist.get_rank(), tag=-2), "InvalidArgument", ["tag is -2"]),
        (lambda: dist.irecv(ones, tag=-1), "InvalidArgument", ["tag is -1"]),
        (lambda: batch_with_a_wrong_tag(ones), "InvalidArgument", ["tag is -1"]),
        (lambda: torch.ops.weft.all_reduce_(ones, group.group_name, "mean"), "Error", ["mean"]),
    ]  # fmt: skip


def is_caught(function) -> bool:
    """Whether a program that guards against what torch's backends raise goes on."""
    try:
        function()
    except RuntimeError as error:
        return not isinstance(error, weft.InvalidArgument) or isinstance(error, ValueError)
    except (TypeError, ValueError) as error:
        return not isinstance(error, weft.WeftError)  # torch's own checks
    return False


def every_wrong_argument(job):
    with world(job) as group:
        found = []
        for number, (call, kind, words) in enumerate(wrong_arguments(job.size)):
            text = reported(call)
            ours = kind == "Error" or (text.startswith(kind) and f"rank {job.rank}" in text)
            if not ours or not all(word in text for word in words):
                found.append(f"{number}: {text}")
            if not is_caught(call):
                found.append(f"{number}: no RuntimeError: {text}")
        group.monitored_barrier()  # whose own messages no tag meets
        x = torch.ones(3)
        dist.all_reduce(x)  # the group is still good
        return found, x[0].item()


def test_what_one_rank_sees_leaves_the_group_usable(team):
    assert team(2).run(every_wrong_argument) == [([], 2.0)] * 2


def different_calls(job, name):
    with world(job, timeout=20):
        x = torch.ones(1000 if job.rank or name != "shape" else 999)
        calls = {
            "shape": lambda: dist.all_reduce(x),
            "dtype": lambda: dist.all_reduce(x.double() if job.rank else x),
            "reduction": lambda: dist.all_reduce(
                x, dist.ReduceOp.MAX if job.rank else dist.ReduceOp.MIN
            ),
            "operation": lambda: dist.barrier() if job.rank else dist.all_reduce(x),
            "asynchronous": lambda: dist.all_reduce(x[job.rank :], async_op=True).wait(),
            "future": lambda: dist.all_reduce(x[job.rank :], async_op=True).get_future().wait(),
            "splits": lambda: dist.all_to_all_single(
                torch.empty(4), torch.ones(4), [3, 1] if job.rank else [2, 2], [2, 2]
            ),
            "uneven": lambda: dist.all_gather(
                [torch.empty(4 + job.rank), torch.empty(7)], torch.ones(4 + 3 * job.rank)
            ),
            "message": lambda: (
                dist.recv(torch.ones(7), 0) if job.rank else dist.send(torch.ones(8), 1)
            ),
        }
        first = reported(calls[name])
        return first, reported(lambda: dist.all_reduce(x))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shape", ["999", "1000"]),
        ("dtype", ["float32", "float64"]),
        ("reduction", ["min", "max"]),
        ("operation", ["allreduce", "barrier"]),
        ("asynchronous", ["999", "1000"]),
        ("future", ["999", "1000"]),
    ],
)
def test_ranks_that_disagree_are_named(team, name, words):
    for first, later in team(2).run(different_calls, name):
        assert first.startswith("DistBackendError"), first
        assert all(word in first for word in words), first
        assert later.startswith("DistBackendError"), later


@pytest.mark.parametrize(("name", "words"), [("splits", ["2", "3"]), ("uneven", ["4", "5"])])
def test_shares_that_disagree_are_named_on_both(team, name, words):
    for first, later in team(2).run(different_calls, name):
        # Who gets what it asked for learns of the other with the next call.
        text = later if first == "nothing was raised" else first
        assert text.startswith("DistBackendError"), text
        assert all(f"{word} float32" in text for word in words), text


def different_roots(job):
    with world(job, timeout=20):
        x = torch.ones(100)
        calls = [
            lambda: dist.broadcast(x, 1 if job.rank == 2 else 0),  # rank 2 alone expects rank 1's
            lambda: dist.all_reduce(x),
            lambda: dist.all_reduce(x),
        ]
        return [text for text in map(reported, calls) if text != "nothing was raised"]


def test_different_roots_reach_everyone(team):
    for texts in team(3).run(different_roots):
        assert texts, "this rank noticed nothing"
        assert all(text.startswith("DistBackendError") for text in texts)
        assert "root 1" in texts[0]


def waits_for_the_dead(job):
    with world(job, timeout=100):
        x = torch.ones(100)
        dist.all_reduce(x)
        job.say("ready")
        if job.rank == 1:
            time.sleep(60)  # killed here
        return reported(lambda: dist.all_reduce(x, async_op=True).get_future().wait())


def test_a_dead_rank_is_named_before_the_timeout():
    with Team(3) as team:
        team.start(waits_for_the_dead)
        for rank in range(3):
            team.hear(rank)
        team.kill(1, signal.SIGKILL)
        for outcome in team.finish(20, [0, 2]):
            assert outcome.ok, outcome.story()
            assert "DistBackendError" in outcome.value
            assert re.search("rank 1.* died", outcome.value)


def timeouts(job):
    """What a callback's collective fails with, whose strand has a communicator of its own."""
    with world(job, timeout=60) as group:
        done = os.path.join(job.directory, "done")
        first = dist.all_reduce(torch.ones(3), async_op=True).get_future()
        first.then(lambda _: dist.barrier()).wait()  # the strand has its communicator
        group.set_timeout(datetime.timedelta(seconds=1))
        future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
        if job.rank == 0:
            text = future.then(lambda _: reported(dist.barrier)).wait()
            Path(done).touch()
            return text
        future.wait()
        for _ in range(400):  # 20 s, unless rank 0 has gone on
            if os.path.exists(done):
                break
            time.sleep(0.05)
        return ""


def test_a_group_s_timeout_is_set_on_all_that_it_has(team):
    text, _ = team(2).run(timeouts)
    assert "the timeout of 1 s is over: rank 0 waits" in text


def late(job):
    with world(job, timeout=1):
        if job.rank == 1:
            time.sleep(2.5)
            return ""
        return reported(lambda: dist.all_reduce(torch.ones(3)))


def test_a_rank_that_stands_still_is_named_after_the_timeout(team):
    text, _ = team(2).run(late)
    assert "DistBackendError" in text
    assert "rank 1" in text


def monitored(job, comes):
    with world(job, timeout=30) as group:
        group.monitored_barrier(datetime.timedelta(seconds=10), False)
        if not comes and job.rank in (1, 2):
            return reported(lambda: dist.all_reduce(torch.ones(1)))
        limit = datetime.timedelta(milliseconds=500)
        return reported(lambda: group.monitored_barrier(limit, True))


def test_monitored_barrier_names_all_who_are_missing(team):
    assert team(4).run(monitored, True) == ["nothing was raised"] * 4
    texts = team(4).run(monitored, False)
    assert all("DistBackendError" in text for text in texts)
    missing = "Rank 0 timed out in monitoredBarrier: Ranks 1, 2 failed to pass monitoredBarrier"
    assert all(missing in text for text in texts), texts
    assert "Rank 3 successfully reached monitoredBarrier, but received errors" in texts[3]


def used_after_the_end(job):
    with world(job) as group:
        dist.all_reduce(torch.ones(2))
    return reported(lambda: group.allreduce([torch.ones(2)]).wait())


def test_a_destroyed_group_refuses(team):
    for text in team(2).run(used_after_the_end):
        assert "shut down" in text or "process group" in text, text


def aborted(job):
    with world(job, timeout=30) as group:
        if job.rank == 0:
            group.abort()
        text = reported(lambda: dist.all_reduce(torch.ones(2)))
        return text, reported(lambda: dist.all_reduce(torch.ones(2)))


def test_abort_reaches_everyone(team):
    for first, later in team(3).run(aborted):
        assert "DistBackendError" in first
        assert "rank 0 aborted the process group" in first
        assert "DistBackendError" in later


def root_aborts_early(job):
    """Rank 2 has sent all there is and aborts; the others come later. What they then have."""
    with world(job) as group:
        tensor = torch.zeros(1000)
        dist.broadcast(tensor, 2)
        arrived = Path(job.directory) / "sent"
        job.meet()
        if job.rank == 2:
            for _ in range(3):
                dist.broadcast(torch.ones(1000), 2)
            dist.distributed_c10d._abort_process_group(group)
            dist.init_process_group("weft", rank=0, world_size=1, store=dist.HashStore())
            arrived.touch()
            return ["aborted"]
        while not arrived.exists():
            time.sleep(0.01)
        time.sleep(0.2)
        seen = []
        for _ in range(3):
            tensor.fill_(-1)
            try:
                dist.broadcast(tensor, 2)
                seen.append("right" if (tensor == 1).all() else f"wrong: {tensor[:3]}")
            except RuntimeError as error:
                seen.append("enough" if "aborted the process group" in str(error) else str(error))
        return seen


def test_a_late_rank_hears_of_an_abort():
    with Team(3) as team:
        seen = team.run(root_aborts_early)
    assert seen == [["enough"] * 3, ["enough"] * 3, ["aborted"]]
