"""weft.train.timeline under DistributedDataParallel: every layer, every byte, nothing changed."""

from __future__ import annotations

import contextlib
import time
from unittest.mock import patch

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import world  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

import weft  # noqa: E402
from weft.errors import Unsupported  # noqa: E402
from weft.train import GradientSync  # noqa: E402
from weft.train.sync import shards  # noqa: E402
from weft.train.tracing.recorder import COMMUNICATION, COMPUTE, WAIT, WORKER, active  # noqa: E402
from weft.train.tracing.trace import common, length, read_trace  # noqa: E402

STEPS = 3
ROUNDING = 1 + 1e-9  # of sums of the same times in another order


def network():
    """Every kind of layer that makes hooks on modules difficult."""
    torch.manual_seed(5)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(inplace=True), torch.nn.MaxPool2d(2),
        torch.nn.Flatten(), torch.nn.Dropout(0.0), torch.nn.Linear(4 * 9, 700),
        torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(700, 700)),
    )  # fmt: skip


def train(model, optimizer, steps):
    for step in range(steps):
        torch.manual_seed(step)
        optimizer.zero_grad()
        model(torch.randn(4, 1, 8, 8)).square().mean().backward()
        optimizer.step()


def trained(job, path):
    """The weights after training with a timeline at the end, and without one."""
    with world(job):
        weights = []
        for recorded in (True, False):
            model = DistributedDataParallel(network(), bucket_cap_mb=0.5)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            train(model, optimizer, 2)  # the buckets are the final ones
            if recorded:
                with weft.train.timeline(path):
                    train(model, optimizer, STEPS)
            else:
                train(model, optimizer, STEPS)
            weights.append(torch.cat([p.detach().reshape(-1) for p in model.parameters()]))
        assert active() is None
        return torch.equal(*weights)


@pytest.fixture(scope="module")
def trace(team, tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / "trace.json"
    assert team(2).run(trained, str(path)) == [True, True]
    return read_trace(path)


def test_every_byte_of_every_layer(trace):
    layers = {name: module for name, module in network().named_modules() if name}
    expected = {
        name: 4 * STEPS * sum(p.numel() for p in module.parameters(recurse=False))
        for name, module in layers.items()
        if list(module.parameters(recurse=False))
    }
    assert trace.steps == STEPS
    for rank in range(2):
        assert {one.name: one.bytes for one in trace.layers(rank)} == expected


def test_every_layer_runs_forward_and_backward(trace):
    leaves = [name for name, one in network().named_modules() if not list(one.children())]
    for slices in trace.slices:
        names = [one.name for one in slices if one.track == COMPUTE]
        for leaf in leaves:
            assert names.count(f"forward {leaf}") == STEPS
            if leaf == "4":  # Dropout(0.0) does nothing
                assert f"backward {leaf}" not in names
            else:
                assert names.count(f"backward {leaf}") >= STEPS
        assert names.count("update") == STEPS
        assert names.count("backward") == STEPS


def test_a_step_in_order(trace):
    for slices in trace.slices:
        waits = [one for one in slices if one.track == WAIT]
        backwards = [one for one in slices if one.name == "backward"]
        updates = [one for one in slices if one.name == "update"]
        sent = sorted((one for one in slices if one.track == COMMUNICATION), key=lambda s: s.begin)
        assert len(waits) == STEPS
        assert len(sent) % STEPS == 0
        assert len(sent) >= 2 * STEPS
        buckets = len(sent) // STEPS
        for step in range(STEPS):
            of_step = sent[buckets * step : buckets * (step + 1)]
            assert [one.name for one in of_step] == [f"bucket {n}" for n in range(buckets)]
            assert backwards[step].begin <= of_step[0].begin
            assert backwards[step].end <= waits[step].begin
            # The wait lasts until the last bucket has arrived, and the update comes then.
            assert waits[step].end >= max(one.end for one in of_step) - 1
            assert updates[step].begin >= waits[step].end


def test_exposed_communication_is_waited_for(trace):
    assert sum(one.exposed_ms for rank in range(2) for one in trace.layers(rank)) > 0
    for rank in range(2):
        exposed = sum(one.exposed_ms for one in trace.layers(rank))
        assert exposed <= trace.total_ms(rank, WAIT) * ROUNDING
        both = exposed + sum(one.hidden_ms for one in trace.layers(rank))
        assert both == pytest.approx(trace.total_ms(rank, COMMUNICATION))


def refused(job, backend, path):
    with world(job, backend=backend) as group:
        model = DistributedDataParallel(network())
        if backend == "weft":
            group._register_on_completion_hook(lambda info: None)
        said = "completion hook already" if backend == "weft" else "is gloo"
        with pytest.raises(Unsupported, match=said), weft.train.timeline(path):
            model(torch.ones(1, 1, 8, 8))
        dist.barrier()
        assert active() is None
        model(torch.ones(1, 1, 8, 8)).sum().backward()


@pytest.mark.parametrize("backend", ["weft", "gloo"])
def test_groups_that_tell_nothing_are_refused(team, backend, tmp_path):
    team(2).run(refused, backend, str(tmp_path / "trace.json"))


def test_one_process_without_a_group(tmp_path):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with weft.train.timeline(tmp_path / "trace.json"):
        train(model, optimizer, 1)
        with torch.no_grad():
            model.eval()(torch.ones(1, 1, 8, 8))
    trace = read_trace(tmp_path / "trace.json")
    assert trace.steps == 1
    assert trace.layers(0) == []
    assert trace.total_ms(0, COMPUTE) > 0


def synchronized(job, strategy, path):
    with world(job), patch.object(shards, "WHOLE", 0):
        model = network()
        sync = GradientSync(model, torch.optim.SGD(model.parameters(), lr=0.1), strategy)
        for recorded in (False, True):
            with weft.train.timeline(path) if recorded else contextlib.nullcontext():
                for step in range(STEPS):
                    torch.manual_seed(step)
                    time.sleep(0.1 * job.rank)
                    model(torch.randn(4, 1, 8, 8)).square().mean().backward()
                    sync.step()
                    sync.zero_grad()
                if strategy == "tree" or (recorded and job.rank == 0):
                    sync.finish()  # other collectives that are under way end with the block
        sync.close()


@pytest.mark.parametrize(
    ("strategy", "collectives"),
    [
        ("allreduce", {"allreduce": 1}),
        ("sharded", {"reduce_scatter": 1, "allgather": 1}),
        ("tree", {"tree": 1}),
    ],
)
def test_gradient_sync(team, tmp_path, strategy, collectives):
    path = tmp_path / "trace.json"
    team(2).run(synchronized, strategy, str(path))
    trace = read_trace(path)
    assert trace.steps == STEPS
    layers = {name: module for name, module in network().named_modules() if name}
    size = {
        name: 4 * sum(p.numel() for p in module.parameters(recurse=False))
        for name, module in layers.items()
        if list(module.parameters(recurse=False))
    }
    for rank, slices in enumerate(trace.slices):
        sent = [one for one in slices if one.track == COMMUNICATION and one.layers]
        assert {one.name for one in sent} == set(collectives)
        for name, count in collectives.items():
            carried = [layer for one in sent if one.name == name for layer in one.layers]
            assert sorted(carried) == sorted(list(size) * count * STEPS)
        found = {one.name: one.bytes for one in trace.layers(rank) if one.name in size}
        assert found == {
            name: STEPS * sum(collectives.values()) * one for name, one in size.items()
        }
        updates = [one.track for one in slices if one.name == "update"]
        if strategy == "tree":  # the master's thread updates for all
            assert set(updates) == ({WORKER} if rank == 0 else set())
        else:
            assert updates.count(COMPUTE) >= STEPS - 1
        busy = [one for one in slices if one.track == COMPUTE]
        busy = [one for one in busy if one.name.startswith("forward ") or one.name == "update"]
        waits = [(one.begin, one.end) for one in slices if one.track == WAIT]
        assert all(length(common((one.begin, one.end), waits)) < 0.01 for one in busy)
        exposed = sum(one.exposed_ms for one in trace.layers(rank))
        assert exposed <= trace.total_ms(rank, WAIT) * ROUNDING
        assert exposed > 0 or rank == 1  # rank 1 comes late to every step
