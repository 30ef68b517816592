"""examples/lenet: two ranks train through Weft as one process does; solver and loader are right."""

from __future__ import annotations

import gzip
import json
import struct
import sys
from pathlib import Path

import program
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

LENET = program.EXAMPLES / "lenet"
sys.path.insert(0, str(LENET))

import data  # noqa: E402
import model  # noqa: E402

LOSS_OF_GUESSING = 2.30  # ln 10


def trained(tmp_path: Path, ranks: int, *options: str) -> dict:
    """The result of train.py on so many ranks, one thread each."""
    report = tmp_path / "result.json"
    program.run(LENET / "train.py", "--json", str(report), *options, ranks=ranks)
    return json.loads(report.read_text())


def test_two_ranks_learn_what_one_process_learns(tmp_path: Path) -> None:
    pytest.importorskip("weft._torch", exc_type=ImportError)
    options = ("--backend", "weft", "--iterations", "60")
    two = trained(tmp_path, 2, *options)
    one = trained(tmp_path, 1, *options)
    assert (two["ranks"], two["backend"]) == (2, "weft")
    assert two["parameters_identical"]
    assert two["loss"] < LOSS_OF_GUESSING / 2
    assert two["accuracy"] > 0.8
    assert abs(two["accuracy"] - one["accuracy"]) <= 0.005


def test_ranks_together_see_the_batches_of_one_process() -> None:
    training = torch.utils.data.TensorDataset(torch.zeros(198, 1, 28, 28), torch.arange(198))

    def batches(ranks: int, rank: int) -> list[list[int]]:
        sampler = torch.utils.data.DistributedSampler(training, ranks, rank, seed=3)
        loader = torch.utils.data.DataLoader(
            data.Shifted(training, 3), 64 // ranks, sampler=sampler, drop_last=True
        )
        return [labels.tolist() for _, labels in loader]

    whole = batches(1, 0)
    assert len(whole) == 3
    for together, parts in zip(whole, zip(batches(2, 0), batches(2, 1), strict=True), strict=True):
        assert [record for pair in zip(*parts, strict=True) for record in pair] == together


def test_held_out_digits_are_a_third_and_are_not_trained_on() -> None:
    training, held_out = data.digits()
    assert (len(training), len(held_out)) == (1198, 599)
    assert training.tensors[0].shape[1:] == held_out.tensors[0].shape[1:] == (1, 28, 28)
    seen = {image.numpy().tobytes() for image in training.tensors[0]}
    assert not any(image.numpy().tobytes() in seen for image in held_out.tensors[0])


def test_lenet_is_caffes() -> None:
    sizes = [4 * parameter.numel() for parameter in model.lenet().parameters()]
    assert sizes == [2000, 80, 100000, 200, 1600000, 2000, 20000, 40]  # bytes


def test_solver_is_caffes() -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    bias = torch.nn.Parameter(torch.tensor([2.0], dtype=torch.float64))
    solver = model.CaffeSGD(iter([("net.weight", weight), ("net.bias", bias)]))
    schedule = model.inverse_decay(solver)
    expected = {"weight": [1.0, 0.0, 0.01], "bias": [2.0, 0.0, 0.02]}  # value, velocity, rate
    for iteration, gradient in enumerate([0.5, -0.25, 4.0]):
        for parameter, state in ((weight, expected["weight"]), (bias, expected["bias"])):
            parameter.grad = torch.full_like(parameter, gradient)
            rate = state[2] * (1 + 1e-4 * iteration) ** -0.75
            state[1] = 0.9 * state[1] + rate * (gradient + 5e-4 * state[0])
            state[0] -= state[1]
        solver.step()
        schedule.step()
        assert weight.item() == pytest.approx(expected["weight"][0], rel=1e-12)
        assert bias.item() == pytest.approx(expected["bias"][0], rel=1e-12)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_mnist_files_are_read(packed: bool, tmp_path: Path) -> None:
    def write(name: str, shape: tuple[int, ...], content: bytes) -> None:
        raw = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape) + content
        path = tmp_path / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(raw) if packed else raw)

    for part, records in (("train", 3), ("t10k", 2)):
        pixels = bytes(index % 256 for index in range(records * 784))
        write(f"{part}-images-idx3-ubyte", (records, 28, 28), pixels)
        write(f"{part}-labels-idx1-ubyte", (records,), bytes(range(records)))
    training, held_out = data.mnist(tmp_path)
    assert training.tensors[1].tolist() == [0, 1, 2]
    assert held_out.tensors[1].tolist() == [0, 1]
    image, _ = training[1]
    assert image.shape == (1, 28, 28)
    assert image[0, 2, 5].item() == (784 + 2 * 28 + 5) % 256 / 256


def test_missing_mnist_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="train-images-idx3-ubyte"):
        data.mnist(tmp_path)
