"""examples/lenet/model_group.py: a split LeNet has the parameters of a whole one."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import program
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

sys.path.insert(0, str(program.EXAMPLES / "lenet"))

import torch.distributed as dist  # noqa: E402
from group import bits, world  # noqa: E402

from weft.train import Distribution  # noqa: E402

import data as digits  # noqa: E402
import model_group  # noqa: E402
from model import lenet  # noqa: E402

ITERATIONS = 20
SPLIT_EXCHANGES = ["ip1 output, allgather", "ip1 input gradient, allreduce"]
GRADIENTS = [
    f"{layer} {kind} gradient, allreduce"
    for layer in ("ip2", "ip1", "conv2", "conv1")
    for kind in ("bias", "weight")
]


def trained(job, data, model, dtype, seed, reference):
    """This rank's whole net after training, and how far it is from `reference`'s."""
    training, _ = digits.digits()
    with world(job), pytest.MonkeyPatch.context() as patch:
        if reference == "smooth":
            patch.setattr(model_group.model, "lenet", smooth)
        parts = Distribution(data, model)
        net, exchanges, _ = model_group.train(parts, training, ITERATIONS, seed, dtype)
        whole = model_group.whole_parameters(net, parts)
        content = hashlib.sha256(b"".join(bits(one) for one in whole.values())).hexdigest()
        own = {name: tuple(one.shape) for name, one in net.named_parameters()}
        differences = {}
        if job.rank == 0:
            if reference == "in pieces":
                right = in_pieces(training, data, model, dtype, seed)
            else:
                single, none, _ = model_group.train(None, training, ITERATIONS, seed, dtype)
                assert none.report() == {}
                right = model_group.whole_parameters(single, None)
            assert [*whole] == [*right]
            for name, one in right.items():
                assert (whole[name].dtype, whole[name].shape) == (dtype, one.shape)
                differences[name] = ((whole[name] - one).norm() / one.norm()).item()
        dist.barrier()
        return differences, content, own, exchanges.report()


def smooth() -> torch.nn.Sequential:
    """LeNet without kinks.

    Of the 14 million comparisons that max pooling makes in 20 steps, some are so close that a
    rounding in float32 decides. Nets that add up in another order then differ by far more than
    roundings.
    """
    net = lenet()
    net[1], net[3], net[6] = torch.nn.AvgPool2d(2), torch.nn.AvgPool2d(2), torch.nn.Tanh()
    return net


class InPieces(torch.nn.Module):
    """The split layer in one process: as many products as the model group has ranks."""

    def __init__(self, whole: torch.nn.Linear, pieces: int) -> None:
        super().__init__()
        self.weight, self.bias, self.pieces = whole.weight, whole.bias, pieces

    def forward(self, x):
        rows = zip(self.weight.chunk(self.pieces), self.bias.chunk(self.pieces), strict=True)
        return torch.cat([torch.nn.functional.linear(x, *one) for one in rows], 1)


def in_pieces(training, data, model, dtype, seed) -> dict[str, torch.Tensor]:
    """One process that computes what each rank computes, one after the other."""
    net = model_group.start_net(None, seed, dtype, None)
    net[model_group.SPLIT] = InPieces(net[model_group.SPLIT], model)
    optimizer = model_group.model.CaffeSGD(net.named_parameters())
    schedule = model_group.model.inverse_decay(optimizer)
    parts = [SimpleNamespace(data_size=data, data_index=index) for index in range(data)]
    loaders = [model_group.batches(part, training, seed) for part in parts]
    done = 0
    for epoch in range(ITERATIONS):
        for loader in loaders:
            loader.sampler.set_epoch(epoch)
            loader.dataset.set_epoch(epoch)
        for batches in zip(*loaders, strict=True):
            gradients = []
            for images, labels in batches:
                net.zero_grad()
                torch.nn.functional.cross_entropy(net(images.to(dtype)), labels).backward()
                gradients.append([one.grad for one in net.parameters()])
            for one, *several in zip(net.parameters(), *gradients, strict=True):
                one.grad = sum(several) / data
            optimizer.step()
            schedule.step()
            done += 1
            if done == ITERATIONS:
                return model_group.whole_parameters(net, None)
    raise AssertionError("too few records")


SHAPES = pytest.mark.parametrize(("data", "model"), [(1, 2), (2, 2)], ids=["1x2", "2x2"])


@SHAPES
@pytest.mark.parametrize(
    ("dtype", "reference", "tolerance"),
    [("float64", "one process", 1e-6), ("float32", "smooth", 1e-5)],
)
def test_a_model_group_of_two_equals_one_process(team, data, model, dtype, reference, tolerance):
    results = team(data * model).run(trained, data, model, getattr(torch, dtype), 3, reference)
    differences = results[0][0]
    assert len(differences) == 8
    assert max(differences.values()) < tolerance, differences
    element = 8 if dtype == "float64" else 4
    batch = model_group.GLOBAL_BATCH // data
    expected = SPLIT_EXCHANGES + (GRADIENTS if data > 1 else [])
    for _, content, own, exchanges in results:
        assert content == results[0][1]  # the ranks are equal to the bit
        assert own["5.weight"] == (250, 800)
        assert own["5.bias"] == (250,)
        calls = {name: one["calls"] for name, one in exchanges.items()}
        assert calls == dict.fromkeys(expected, ITERATIONS)
        assert exchanges["ip1 output, allgather"]["bytes"] == batch * 500 * element
        assert exchanges["ip1 input gradient, allreduce"]["bytes"] == batch * 800 * element


@SHAPES
def test_exchanges_add_no_rounding_in_float32(team, data, model):
    results = team(data * model).run(trained, data, model, torch.float32, 1, "in pieces")
    assert set(results[0][0].values()) == {0.0}, results[0][0]
    assert len({content for _, content, *_ in results}) == 1


def test_data_parallel_alone_equals_one_process(team):
    results = team(2).run(trained, 2, 1, torch.float64, 3, "one process")
    assert max(results[0][0].values()) < 1e-6
    assert list(results[0][3]) == GRADIENTS


def test_the_program_reports_its_exchanges(tmp_path: Path) -> None:
    report = tmp_path / "result.json"
    options = ["--model", "2", "--iterations", "40", "--json", str(report)]
    said = program.run(model_group.__file__, *options, ranks=2)
    result = json.loads(report.read_text())
    assert (result["data"], result["model"]) == (1, 2)
    assert result["loss"] < 2.30 / 2  # half of what guessing costs
    assert result["accuracy"] > 0.7
    assert 0 < result["communication_share"] < 1
    assert list(result["exchanges"]) == SPLIT_EXCHANGES
    for name, one in result["exchanges"].items():
        assert name in said
        assert one["calls"] == 40
        assert one["microseconds"] > 0
