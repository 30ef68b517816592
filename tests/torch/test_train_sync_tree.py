"""The trees of CaffeGPI, and what is particular to `GradientSync` with strategy "tree"."""

from __future__ import annotations

import io
import random
import threading
import time
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pytest

from launch import Team

torch = pytest.importorskip("torch")

from sync_models import (  # noqa: E402
    OPTIMIZERS,
    Convolutions,
    content,
    farthest,
    loss_of,
    mean_gradients,
    prepare,
    share,
    synchronized,
)

import weft  # noqa: E402
from weft.train.sync import tree_memory  # noqa: E402
from weft.train.sync.tree_outbox import Outbox  # noqa: E402
from weft.train.sync.tree_shape import (  # noqa: E402
    branches,
    flat_shape,
    gradient_children,
    gradient_parent,
    model_children,
    model_parent,
    shape_of,
)


@pytest.mark.parametrize(("ranks", "b"), [(2, 2), (4, 3), (8, 2), (16, 2), (32, 3), (64, 2)])
def test_the_documents_branches(ranks, b):
    assert branches(ranks) == b


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 13, 32])
@pytest.mark.parametrize("tree", ["gradient", "model"])
def test_everybody_is_the_child_of_its_parent(tree, size):
    children = gradient_children if tree == "gradient" else model_children
    found = sorted(child for rank in range(size) for child in children(rank, size))
    assert found == list(range(1, size))
    for rank in range(1, size):
        parent = gradient_parent(rank) if tree == "gradient" else model_parent(rank, size)
        assert rank in children(parent, size)
        assert parent < rank


def test_gradients_of_eight_ranks():
    assert [gradient_children(rank, 8) for rank in range(8)] == [
        [1, 2, 4], [3, 5], [6], [7], [], [], [], [],
    ]  # fmt: skip


@pytest.mark.parametrize("place", [[0], [0, 0, 1, 1], [0, 1, 0, 1, 2], [0, 0, 0, 1, 2, 2, 3, 1]])
def test_a_node_sends_its_gradients_and_takes_the_model_once(place):
    shapes = [shape_of(rank, place) for rank in range(len(place))]
    for rank, shape in enumerate(shapes):
        for child in shape.children:
            assert shapes[child].parent == rank
        for receiver in shape.receivers:
            assert shapes[receiver].sender == rank
    others = set(range(1, len(place)))
    assert {child for shape in shapes for child in shape.children} == others
    assert {receiver for shape in shapes for receiver in shape.receivers} == others
    for up in ("parent", "sender"):
        ways = [(place[rank], getattr(shapes[rank], up)) for rank in others]
        crossed = [node for node, peer in ways if place[peer] != node]
        assert sorted(crossed) == list(range(1, 1 + max(place)))


def test_of_the_pieces_that_wait_the_first_of_the_model_goes_first():
    said = []
    outbox = Outbox(2)
    for number in (7, 8, 9, 3, 1):
        outbox.add(
            number,
            lambda number=number: said.append(f"put {number}"),
            lambda number=number: said.append(f"taken {number}"),
        )
    assert said == ["put 7", "put 8"]
    outbox.note_taken(1)
    assert said[2:] == ["taken 7", "put 1"]
    outbox.note_taken(2)
    assert said[4:] == ["taken 8", "taken 1", "put 3", "put 9"]
    outbox.add(5, lambda: said.append("put 5"), lambda: None)
    outbox.hurry()
    assert said[8:] == ["put 5"]


def long_layers():
    """A model with layers of several pieces, and its optimizer."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 3000),
        torch.nn.ReLU(),
        torch.nn.Linear(3000, 700),
        torch.nn.Linear(700, 5),
    )
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def inputs_of(number, rank):
    return torch.randn(8, 64, generator=torch.Generator().manual_seed(number * 10 + rank))


def delayed(job, fabric):
    """Ranks stand still at random; the last one begins each iteration when it has its model."""
    prepare(job)
    model, stepper = long_layers()
    late = random.Random(job.rank)
    with job.communicator(fabric=fabric) as comm:
        sync = weft.train.GradientSync(model, stepper, "tree", group=comm, bucket_bytes=1000)
        for number in range(6):
            time.sleep(late.random() / 20)
            model(inputs_of(number, job.rank)).square().mean().backward()
            sync.step()
            sync.zero_grad()
        sync.close()
        assert not [t for t in threading.enumerate() if t.name == "weft-tree"]
    return content(model)


@pytest.mark.parametrize("fabric", ["shm", "ofi"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_pieces_of_long_layers_arrive_whole(team, fabric, ranks):
    """A layer has several pieces, and ranks are late by turns: all end with the same bits."""
    results = team(ranks).run(delayed, fabric)
    for other in results[1:]:
        assert all((a == b).all() for a, b in zip(other, results[0], strict=True))
    torch.set_num_threads(1)
    model, stepper = long_layers()
    for number in range(6):
        for rank in range(ranks):
            (model(inputs_of(number, rank)).square().mean() / ranks).backward()
        stepper.step()
        stepper.zero_grad()
    assert farthest(results[0], content(model)) < 1e-4


def died(job):
    prepare(job)
    model = Convolutions()
    stepper = torch.optim.SGD(model.parameters(), lr=0.1)
    with synchronized(job, model, stepper, "tree") as sync:
        for number in range(100):
            loss_of(model, *share(job, number)).backward()
            if number == 3 and job.rank == 0:
                sync._strategy._worker._update = None  # the thread that updates fails
            sync.step()
            sync.zero_grad()


def test_a_failure_of_the_masters_thread_is_told_to_all(team):
    ranks = team(3)
    ranks.start(died)
    for outcome in ranks.finish():
        assert isinstance(outcome.error, (weft.Aborted, weft.PeerLost)), outcome.story()


def stepped(model, stepper, numbers, ranks):
    """One process takes steps with the means of the ranks' gradients."""
    torch.set_num_threads(1)
    for number in numbers:
        for parameter, grad in zip(
            model.parameters(), mean_gradients(model, number, ranks), strict=True
        ):
            parameter.grad = grad
        stepper.step()


def packed(*what) -> bytes:
    stream = io.BytesIO()
    torch.save(what, stream)
    return stream.getvalue()


def in_pieces(job, make, options, nbytes, checkpoint=None):
    """Three steps in pieces of `nbytes` bytes; the parameters, and the optimizer's state."""
    prepare(job)
    with patch.multiple(tree_memory, PIECE=nbytes, LONG_PIECE=nbytes):
        model = Convolutions()
        stepper = make_optimizer(make, model)
        with synchronized(job, model, stepper, "tree", **options) as sync:
            if checkpoint:
                loss_of(model, *share(job, 9)).backward()
                sync.step()
                sync.zero_grad()
                parameters, state = torch.load(io.BytesIO(checkpoint))
                model.load_state_dict(parameters)
                sync.load_state_dict(state)
            for number in range(3):
                loss_of(model, *share(job, number)).backward()
                sync.step()
                sync.zero_grad()
            sync.finish()
            whole = sync.state_dict()
            assert job.rank or equal(stepper.state_dict()["state"], whole["state"])
            return content(model), packed(whole["state"])


def make_optimizer(make, model):
    if make in OPTIMIZERS:
        return OPTIMIZERS[make](model.parameters())
    return torch.optim.Adafactor(model.parameters(), lr=0.01)


def equal(one, other):
    """Whether two optimizers' states are equal to the bit."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(equal(one[key], other[key]) for key in one)
    if torch.is_tensor(one):
        return one.shape == other.shape and torch.equal(one, other)
    return one == other


@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, "Adafactor"])
def test_a_parameter_in_many_pieces(team, optimizer):
    """Its update and its state have the bits of one process, also those of a parameter at once."""
    results = team(2).run(in_pieces, optimizer, {"bucket_bytes": 4000}, 512)
    model = Convolutions()
    stepper = make_optimizer(optimizer, model)
    stepped(model, stepper, range(3), 2)
    for parameters, state in results:
        assert farthest(parameters, content(model)) == 0
        assert equal(torch.load(io.BytesIO(state))[0], stepper.state_dict()["state"])


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "ASGD"])
def test_a_checkpoint_in_other_pieces(team, optimizer):
    model = Convolutions()
    stepper = OPTIMIZERS[optimizer](model.parameters())
    stepped(model, stepper, range(2), 2)
    checkpoint = packed(model.state_dict(), stepper.state_dict())
    results = team(2).run(in_pieces, optimizer, {}, 256, checkpoint)
    stepped(model, stepper, range(3), 2)
    for parameters, state in results:
        assert farthest(parameters, content(model)) == 0
        assert equal(torch.load(io.BytesIO(state))[0], stepper.state_dict()["state"])


@pytest.mark.parametrize("ranks", [1, 4, 5, 8])
def test_many_ranks_in_pieces(team, ranks):
    results = team(ranks).run(in_pieces, "SGD", {"bucket_bytes": 1}, 640)
    model = Convolutions()
    stepped(model, OPTIMIZERS["SGD"](model.parameters()), range(3), ranks)
    for parameters, _ in results:
        assert all((a == b).all() for a, b in zip(parameters, results[0][0], strict=True))
        assert farthest(parameters, content(model)) < 1e-5
    assert farthest(results[0][0], content(Convolutions())) > 0.01  # else nothing was tested


@pytest.mark.parametrize("update", ["step", "backward"])
def test_ranks_of_nodes_are_joined_first(update):
    place = [0, 1, 0, 1, 2]
    with Team(5, prefixes=[["env", f"WEFT_NODE=tree-{node}"] for node in place]) as ranks:
        options = {"bucket_bytes": 1, "update": update}
        results = ranks.run(in_pieces, "SGD", options, 640)
        assert ranks.run(places) == [place] * 5
    model = Convolutions()
    stepped(model, OPTIMIZERS["SGD"](model.parameters()), range(3), 5)
    for parameters, _ in results:
        assert all((a == b).all() for a, b in zip(parameters, results[0][0], strict=True))
        assert farthest(parameters, content(model)) < 1e-5


def places(job):
    with job.communicator() as comm:
        return comm.place


def written(job, update):
    """Parameters are written right after finish(), while pieces of them may still wait."""
    prepare(job)
    with patch.multiple(tree_memory, PIECE=64, LONG_PIECE=64):
        model = Convolutions()
        stepper = make_optimizer("SGD", model)
        with synchronized(job, model, stepper, "tree", update=update, bucket_bytes=1) as sync:
            for number in range(4):
                loss_of(model, *share(job, number)).backward()
                loss_of(model, *share(job, number)).backward() if update == "step" else None
                sync.step()
                sync.finish()
                sync.zero_grad()
                scale(model)
            return content(model)


def scale(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.9)


@pytest.mark.parametrize("update", ["step", "backward"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_what_finish_gives_back_may_be_written(team, ranks, update):
    results = team(ranks).run(written, update)
    torch.set_num_threads(1)
    model = Convolutions()
    stepper = OPTIMIZERS["SGD"](model.parameters())
    for number in range(4):
        times = 2 if update == "step" else 1
        for parameter, grad in zip(
            model.parameters(), mean_gradients(model, number, ranks), strict=True
        ):
            parameter.grad = times * grad
        stepper.step()
        scale(model)
    for parameters in results:
        assert farthest(parameters, content(model)) < 1e-5


def halfway(job, call):
    """Something that needs whole parameters, between backward() and step()."""
    prepare(job)
    model = Convolutions()
    stepper = make_optimizer("SGD", model)
    with job.communicator() as comm:
        sync = weft.train.GradientSync(model, stepper, "tree", update="backward", group=comm)
        loss_of(model, *share(job, 0)).backward()
        comm.barrier()  # a rank that closes ends the others' backward passes
        try:
            call(sync)
            said = ""
        except weft.InvalidArgument as error:
            said = str(error)
        if call is not CLOSE:  # it goes on
            sync.step()
            sync.close()
        return said


CLOSE = weft.train.GradientSync.close
WHOLE = [
    weft.train.GradientSync.finish,
    weft.train.GradientSync.state_dict,
    lambda sync: sync.load_state_dict({}),
    CLOSE,
]


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_parameters_are_not_whole_before_step(team, number):
    said = team(2).run(halfway_of, number)
    if WHOLE[number] is CLOSE:  # the first to close ends the other's, which then has nothing to say
        said = [max(said)]
    assert all("step() was not called after the backward" in text for text in said), said


def halfway_of(job, number):
    return halfway(job, WHOLE[number])


@pytest.mark.parametrize(
    ("nbytes", "longest", "pieces"),
    [(4, 4, 1), (1724320, 1 << 20, 2), (24 << 20, 24 << 16, 16), (151 << 20, 4 << 20, 38)],
)
def test_long_buckets_have_longer_pieces(nbytes, longest, pieces):
    bucket = Mock(length=nbytes // 4, dtype=torch.float32)
    places = tree_memory.Places(SimpleNamespace(buckets=[bucket]), flat_shape(0, 2), cut=True)
    assert len(places.pieces) == pieces
    assert max(4 * (piece.last - piece.first) for piece in places.pieces) == longest
    assert [piece.first for piece in places.pieces[1:]] == [p.last for p in places.pieces[:-1]]
    assert places.pieces[-1].last == bucket.length
