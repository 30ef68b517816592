"""weft.train.broadcast_parameters: all ranks have one rank's tensors, or the mean, to the bit."""

from __future__ import annotations

import contextlib
import math

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402
from group import bits, world  # noqa: E402

import weft  # noqa: E402
from weft.train import broadcast_parameters, parameters  # noqa: E402
from weft.train.group import CommunicatorGroup  # noqa: E402

KINDS = ("communicator", "default group", "group")


@contextlib.contextmanager
def group_of(job, kind):
    """What to pass as `group`: a communicator, None, or a process group of its own."""
    if kind == "communicator":
        with job.communicator() as comm:
            yield comm
    else:
        with world(job):
            yield None if kind == "default group" else dist.new_group()


class Model(torch.nn.Module):
    """Every kind of tensor that a module may have; other values on each rank."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        torch.manual_seed(rank)
        wide = torch.nn.Parameter(torch.randn(6, 4).t(), requires_grad=False)
        self.weight = torch.nn.Parameter(torch.randn(5, 3))
        self.transposed = wide
        self.tied = self.weight
        self.long = torch.nn.Parameter(torch.randn(7, dtype=torch.float64))
        self.short = torch.nn.Parameter(torch.randn(3).half())
        self.brain = torch.nn.Parameter(torch.randn(5).bfloat16())
        self.eighth = torch.nn.Parameter(torch.randn(5).to(torch.float8_e4m3fn), False)
        self.complex = torch.nn.Parameter(torch.randn(3, dtype=torch.complex64))
        self.complex_double = torch.nn.Parameter(torch.randn(3, dtype=torch.complex128))
        self.empty = torch.nn.Parameter(torch.empty(0, 3))
        self.scalar = torch.nn.Parameter(torch.tensor(float(rank)))
        self.norm = torch.nn.BatchNorm1d(3)
        self.norm(torch.randn(4, 3))
        self.norm.num_batches_tracked += rank
        self.register_buffer("hidden", torch.randn(3), persistent=False)
        self.register_buffer("mask", torch.rand(5) < 0.5)
        self.register_buffer("strided", torch.randn(6)[::2])

    def content(self) -> dict[str, bytes]:
        tensors = [*self.named_parameters(), *self.named_buffers()]
        return {name: bits(tensor.detach()) for name, tensor in tensors}


def one_rank_to_all(job, kind, source):
    with group_of(job, kind) as group:
        model = Model(job.rank)
        strides = model.transposed.stride()
        model.weight.grad = torch.full((5, 3), 7.0)
        # The lowest loss is on two ranks.
        loss = torch.tensor(2.0 if job.rank == 0 else 1.5, requires_grad=True)
        winner = broadcast_parameters(model, source, loss=loss, group=group)
        same = model.content() == Model(1 if source == "best" else 0).content()
        untouched = (
            model.tied is model.weight
            and model.weight.is_leaf
            and model.weight.requires_grad
            and not model.transposed.requires_grad
            and bool((model.weight.grad == 7).all())
            and model.transposed.stride() == strides
        )
        return winner, same, untouched


@pytest.mark.parametrize("source", ["rank0", "best"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_ranks_have_one_ranks_tensors(team, kind, source):
    winner = {"rank0": 0, "best": 1}[source]
    assert team(3).run(one_rank_to_all, kind, source) == [(winner, True, True)] * 3


def averaged(job, kind):
    with group_of(job, kind) as group:
        model = Model(job.rank)
        returned = broadcast_parameters(model, "average", group=group)
        every = [dict(Model(r).named_parameters()) | dict(Model(r).named_buffers()) for r in (0, 1)]
        wrong = []
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            first, second = (one[name].detach() for one in every)
            if tensor.is_floating_point() or tensor.is_complex():
                eighth = tensor.dtype == torch.float8_e4m3fn  # torch promotes none
                own = torch.float32 if eighth else tensor.dtype
                dtype = torch.promote_types(own, torch.float32)
                first = ((first.to(dtype) + second.to(dtype)) / 2).to(tensor.dtype)
            if bits(tensor.detach()) != bits(first):
                wrong.append(name)
        return returned, wrong, model.content(), model.norm.num_batches_tracked.item()


@pytest.mark.parametrize("kind", KINDS)
def test_average_is_the_mean_rounded_once(team, kind):
    results = team(2).run(averaged, kind)
    for returned, wrong, content, batches in results:
        assert (returned, wrong, batches) == (None, [], 1)  # integers are rank 0's
        assert content == results[0][2]


class Counting(CommunicatorGroup):
    """Notes the bytes of each message."""

    def __init__(self, comm) -> None:
        super().__init__(comm)
        self.sent: list[int] = []

    def broadcast(self, tensor, root) -> None:
        self.sent.append(tensor.nbytes)
        super().broadcast(tensor, root)


def in_buckets(job):
    with job.communicator() as comm, pytest.MonkeyPatch.context() as patch:
        counting = Counting(comm)
        patch.setattr(parameters, "group_of", lambda group, who: counting)
        torch.manual_seed(job.rank)
        tensors = [torch.randn(1000) for _ in range(300)]
        broadcast_parameters(torch.nn.ParameterList(tensors))
        at_once, counting.sent = counting.sent, []
        patch.setattr(parameters, "_BUCKET", 1 << 19)
        tensors.insert(1, torch.randn(1 << 18))
        model = torch.nn.ParameterList(tensors)
        broadcast_parameters(model)
        torch.manual_seed(0)
        first = [torch.randn(1000) for _ in range(300)]
        first.insert(1, torch.randn(1 << 18))
        same = all(torch.equal(a.detach(), b) for a, b in zip(model, first, strict=True))
        return at_once, counting.sent, same


def test_tensors_travel_in_buckets(team):
    (at_once, sent, same), other = team(2).run(in_buckets)
    assert other == (at_once, sent, same)
    assert at_once == [300 * 4000]
    # The first alone, since the long one does not fit beside it; then what fits in 512 KiB.
    assert sent == [4000, 1 << 20, 131 * 4000, 131 * 4000, 37 * 4000]
    assert same


def refused(job, kind, models, options):
    """The error of each rank: its type, its text; and whether the group still works after it."""
    with group_of(job, kind) as group:
        model = models[job.rank](job.rank)
        before = snapshot(model)
        try:
            broadcast_parameters(model, group=group, **options[job.rank])
            error = None
        except weft.WeftError as raised:
            error = raised
        alive = broadcast_parameters(torch.nn.Linear(2, 2), group=group)
        return type(error).__name__, str(error), before == snapshot(model), alive


def snapshot(model) -> list[bytes]:
    """The bits of a model, as far as it has any."""
    try:
        return [bits(one) for one in model.state_dict().values()]
    except (AttributeError, NotImplementedError, RuntimeError, ValueError):
        return []


def line(rank, width=2, dtype=None):
    return torch.nn.Linear(2, width, dtype=dtype)


def wide_line(rank):
    return line(rank, 3)


def exact_line(rank):
    return line(rank, dtype=torch.float64)


def named_line(rank):
    return torch.nn.Sequential(line(rank))


def longer(rank):
    model = line(rank)
    model.register_buffer("more", torch.zeros(1), persistent=False)
    return model


def untied(rank):
    model = line(rank)
    model.other = torch.nn.Parameter(torch.zeros(2))
    return model


def tied(rank):
    model = line(rank)
    model.other = model.bias
    return model


def overlapping(rank):
    model = line(rank)
    model.register_buffer("same", torch.zeros(1).expand(3))
    return model


def sparse(rank):
    model = line(rank)
    model.register_buffer("eye", torch.eye(3).to_sparse())
    return model


def without_memory(rank):
    return torch.nn.Linear(2, 2, device="meta")


def lazy(rank):
    return torch.nn.LazyLinear(2)


def inferred(rank):
    with torch.inference_mode():
        return line(rank)


def nothing(rank):
    return None


DIFFERENT = {
    "shape": (wide_line, "Tensor 0 on rank 1: parameter weight, torch.float32 [3, 2]. On rank 0: "
              "parameter weight, torch.float32 [2, 2]."),
    "dtype": (exact_line, "Tensor 0 on rank 1: parameter weight, torch.float64 [2, 2]."),
    "name": (named_line, "Tensor 0 on rank 1: parameter 0.weight,"),
    "more": (longer, "Tensor 2 on rank 1: buffer more, torch.float32 [1]. On rank 0: nothing."),
}  # fmt: skip


@pytest.mark.parametrize("difference", DIFFERENT)
def test_different_models_are_refused_on_every_rank(team, difference):
    other, text = DIFFERENT[difference]
    results = team(3).run(refused, "communicator", [line, other, line], [{}] * 3)
    assert len({words for _, words, _, _ in results}) == 1
    for name, words, same, winner in results:
        assert (name, same, winner) == ("Mismatch", True, 0)
        assert text in words


def test_models_tied_on_one_rank_only_are_refused(team):
    for name, words, _, _ in team(2).run(refused, "group", [untied, tied], [{}] * 2):
        assert name == "Mismatch"
        assert "On rank 0: parameter other, torch.float32 [2]" in words


WRONG = {
    "NaN": (line, {"loss": math.nan}, "rank 1: broadcast_parameters: loss is NaN"),
    "no loss": (line, {"loss": None}, "loss is None"),
    "text": (line, {"loss": "0.5"}, "loss is '0.5'"),
    "huge": (line, {"loss": 10**400}, "loss is 1000"),
    "many": (line, {"loss": torch.zeros(2)}, "loss is tensor"),
    "source": (line, {"source": "worst"}, "source is 'worst': give one of rank0, best, average"),
    "no model": (nothing, {}, "model is a NoneType: give a torch.nn.Module"),
    "overlapping": (overlapping, {}, "buffer same has elements that share memory"),
    "sparse": (sparse, {}, "buffer eye has the layout torch.sparse_coo"),
    "meta": (without_memory, {}, "parameter weight is on the device meta"),
    "lazy": (lazy, {}, "parameter weight is not initialized"),
    "inference": (inferred, {}, "parameter weight was made in inference mode"),
}


@pytest.mark.parametrize("kind", ["communicator", "default group"])
@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_argument_of_one_rank_is_refused_on_every_rank(team, fault, kind):
    model, options, text = WRONG[fault]
    right = {"source": "best", "loss": 1.0}
    models = [line, model, line]
    for name, words, _, winner in team(3).run(
        refused, kind, models, [right, right | options, right]
    ):
        assert (name, winner) == ("InvalidArgument", 0)
        assert words.startswith("rank 1: broadcast_parameters: ")
        assert text in words


def test_different_sources_are_refused(team):
    options = [{"source": "rank0"}, {"source": "average"}]
    for name, words, same, winner in team(2).run(refused, "group", [line] * 2, options):
        assert (name, same, winner) == ("Mismatch", True, 0)
        assert "rank 1 has source 'average', rank 0 'rank0'" in words


def infinite(job, losses):
    with job.communicator() as comm:
        return broadcast_parameters(line(job.rank), "best", loss=losses[job.rank], group=comm)


def test_an_infinite_loss_is_never_the_best_beside_a_number(team):
    assert team(2).run(infinite, [math.inf, 5.0]) == [1, 1]
    assert team(2).run(infinite, [-0.0, 0.0]) == [0, 0]
    assert team(2).run(infinite, [math.inf, math.inf]) == [0, 0]


def sharded(job):
    from torch.distributed.tensor import Shard, distribute_tensor

    with world(job):
        mesh = dist.init_device_mesh("cpu", (job.size,))
        model = line(job.rank)
        whole = distribute_tensor(model.weight.detach(), mesh, [Shard(0)])
        model.weight = torch.nn.Parameter(whole)
        with pytest.raises(weft.InvalidArgument, match="parameter weight is a DTensor"):
            broadcast_parameters(model)


def test_sharded_models_are_refused(team):
    team(2).run(sharded)


def after_forward(job):
    """A graph that has saved a parameter must not go on with the new one in silence."""
    with job.communicator() as comm:
        model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
        loss = model(torch.ones(1, 2)).sum()
        broadcast_parameters(model, group=comm)
        try:
            loss.backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return None


def test_a_graph_that_saved_a_parameter_notices(team):
    assert team(2).run(after_forward) == [True, True]


def on_wrong_groups(job):
    texts = []
    for group in (None, 3):
        with pytest.raises(weft.InvalidArgument) as raised:
            broadcast_parameters(line(0), group=group)
        texts.append(str(raised.value))
    with world(job):
        part = dist.new_group([0])
        if job.rank == 1:
            with pytest.raises(weft.InvalidArgument, match="rank is not in the group"):
                broadcast_parameters(line(0), group=part)
    return texts


def test_groups_that_are_none_are_refused(team):
    for nowhere, number in team(2).run(on_wrong_groups):
        assert 'call torch.distributed.init_process_group("weft") first' in nowhere
        assert "group is a int: give a weft.Communicator" in number
