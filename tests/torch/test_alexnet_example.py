"""examples/alexnet: the networks are the published ones; every strategy learns the same."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import program
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("weft._torch", exc_type=ImportError)

EXAMPLE = program.EXAMPLES / "alexnet"
sys.path.insert(0, str(EXAMPLE))

from images import Synthetic  # noqa: E402
from models import MODELS, OWN_SIZE, SMALLEST  # noqa: E402

SMALL = ("--model", "googlenet", "--image-size", "32", "--batch", "4", "--no-dropout")
PARAMETERS = {
    "alexnet": 60_965_224, "googlenet": 6_998_552, "inception_v3": 23_834_568,
    "vgg16": 138_357_544,
}  # fmt: skip


def trained(folder: Path, ranks: int, *options: str) -> tuple[dict, dict]:
    """The result and the checkpoint of a run."""
    report, state = folder / "result.json", folder / "state.pt"
    given = ("--json", str(report), "--checkpoint", str(state), *options)
    program.run(EXAMPLE / "train.py", *given, ranks=ranks)
    return json.loads(report.read_text()), torch.load(state)


@pytest.mark.parametrize("name", PARAMETERS)
def test_networks_are_the_published_ones(name: str) -> None:
    with torch.device("meta"):
        net = MODELS[name](0.5).train()
        assert sum(p.numel() for p in net.parameters()) == PARAMETERS[name]
        for size in (SMALLEST[name], OWN_SIZE[name]):
            assert net(torch.empty(2, 3, size, size)).shape == (2, 1000)


def test_alexnet_is_caffes() -> None:
    with torch.device("meta"):
        net = MODELS["alexnet"](0.5)
        inner = net[: [name for name, _ in net.named_children()].index("size")]
        assert inner(torch.empty(1, 3, 227, 227)).shape == (1, 256, 6, 6)
    sizes = {name: 4 * p.numel() for name, p in net.named_parameters()}
    assert [size for name, size in sizes.items() if name.endswith("weight")] == [
        139392, 1228800, 3538944, 2654208, 1769472, 150994944, 67108864, 16384000,
    ]  # fmt: skip
    assert sum(sizes.values()) == 243_860_896


def test_ranks_together_see_the_batches_of_one_process() -> None:
    data = Synthetic(10, 4, seed=3)
    for step in range(6):  # through the end of an epoch
        images, labels = data.batch(step, 4, 0, 1)
        parts = [data.batch(step, 4, rank, 2) for rank in range(2)]
        assert torch.equal(images, torch.cat([one for one, _ in parts]))
        assert torch.equal(labels, torch.cat([one for _, one in parts]))
    epoch = torch.cat([data.batch(step, 5, 0, 1)[1] for step in range(2)])
    assert sorted(epoch.tolist()) == sorted(data.labels.tolist())


@pytest.fixture(scope="module")
def one_process(tmp_path_factory) -> dict:
    result, state = trained(tmp_path_factory.mktemp("one"), 1, *SMALL, "--steps", "4")
    assert (result["ranks"], result["parameter_bytes"]) == (1, 4 * PARAMETERS["googlenet"])
    return state


def same_model(state: dict, right: dict) -> None:
    """Of two checkpoints after four steps."""
    assert state["step"] == right["step"] == 4
    for name, values in right["model"].items():
        assert (state["model"][name] - values).abs().max() <= 1e-5 * values.abs().max(), name


@pytest.mark.parametrize("strategy", ["ddp", "allreduce", "tree"])
def test_a_strategy_learns_what_one_process_learns(
    strategy: str, one_process: dict, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    options = ("--strategy", strategy, "--steps", "4", "--timeline", str(trace))
    result, state = trained(tmp_path, 2, *SMALL, *options)
    assert (result["steps"], result["ranks"], result["ranks_equal"]) == (4, 2, True)
    same_model(state, one_process)
    assert json.loads(trace.read_text())["otherData"]["steps"] == 2  # the last


def test_shards_are_joined_resumed_and_learn_what_one_process_learns(
    one_process: dict, tmp_path: Path
) -> None:
    options = (*SMALL, "--strategy", "sharded")
    result, state = trained(tmp_path, 2, *options, "--steps", "2")
    assert (result["steps"], result["ranks"], result["ranks_equal"]) == (2, 2, True)
    assert state["step"] == 2
    result, state = trained(tmp_path, 2, *options, "--steps", "4", "--resume")
    assert (result["steps"], result["ranks_equal"]) == (4, True)
    same_model(state, one_process)


def test_alexnet_runs_two_steps_on_two_ranks(tmp_path: Path) -> None:
    options = ("--image-size", "39", "--batch", "2", "--steps", "2", "--strategy", "ddp")
    report = tmp_path / "result.json"
    said = program.run(EXAMPLE / "train.py", *options, "--json", str(report), ranks=2)
    result = json.loads(report.read_text())
    assert result["parameter_bytes"] == 243_860_896
    assert result["ranks_equal"]
    assert "step 2/2" in said
    assert "images/s" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--image-size", "20"), "alexnet needs at least 39"),
        (("--resume",), "there is no checkpoint"),
        (("--steps", "0"), "1 or more"),
        (("--backend", "gloo", "--strategy", "sharded"), "needs --backend weft"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        program.run(EXAMPLE / "train.py", *options, ranks=1)


def test_another_runs_checkpoint_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, 1, *SMALL, "--steps", "1")
    with pytest.raises(AssertionError, match="not of"):
        trained(tmp_path, 1, *SMALL, "--steps", "2", "--resume", "--seed", "5")
