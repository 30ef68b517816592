"""examples/dlrm/train.py: trains, saves, resumes, and names what is wrong."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import program
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("weft._torch", exc_type=ImportError)

from dlrm_training import area, best_area  # noqa: E402
from group import world  # noqa: E402

EXAMPLE = program.EXAMPLES / "dlrm"
sys.path.insert(0, str(EXAMPLE))

from weft.errors import InvalidArgument  # noqa: E402

from dlrm import checkpoint  # noqa: E402
from dlrm.clicks import PlantedClicks  # noqa: E402
from dlrm.configurations import CONFIGURATIONS, Configuration  # noqa: E402
from dlrm.criteo import CriteoLog  # noqa: E402
from dlrm.records import part  # noqa: E402
from dlrm.tables import split_tables  # noqa: E402
from dlrm.trainer import Trainer  # noqa: E402

TINY = CONFIGURATIONS["tiny"]


def trained(folder: Path, ranks: int, *options: str) -> dict:
    """The result of a run of train.py."""
    report = folder / "result.json"
    program.run(EXAMPLE / "train.py", "--json", str(report), *options, ranks=ranks)
    return json.loads(report.read_text())


def area_on_rank(job, options: dict) -> float:
    with world(job):
        return area(job.rank, job.size, options)


@pytest.fixture(scope="module")
def area_of_one_process() -> float:
    """Of float32."""
    reached = area(0, 1, {})
    assert 0.78 < reached < best_area() < 0.86
    return reached


@pytest.mark.parametrize("strategy", ["ddp", "allreduce"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_ranks_reach_the_auc_of_one_process(team, area_of_one_process, dtype, strategy) -> None:
    first, second = team(2).run(area_on_rank, {"dtype": dtype, "strategy": strategy})
    assert first == second
    assert abs(first - area_of_one_process) <= 0.002


def states(folder: Path, ranks: int) -> list[dict]:
    """What each rank has saved in its newest checkpoint, which is the only one."""
    step = json.loads((folder / "latest").read_text())["step"]
    assert [one.name for one in folder.glob("step-*")] == [f"step-{step}"]
    return [torch.load(folder / f"step-{step}" / f"rank-{rank}") for rank in range(ranks)]


def same(a: object, b: object) -> bool:
    """Whether two states have the same bits."""
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def interrupted(job, options: dict, folder: Path) -> None:
    """Six steps in a row, saved to folder/whole; and by way of a checkpoint, to folder/parted."""
    with world(job):
        split = split_tables(TINY, job.rank, job.size)
        clicks, place = PlantedClicks(TINY, 0), ({}, job.rank, job.size)
        whole, before, after = (
            Trainer(TINY, split, lr=0.1, seed=seed, **options) for seed in (0, 0, 1)
        )

        def go(trainer: Trainer, name: str, first: int, last: int) -> None:
            for step in range(first, last):
                trainer.step(part(clicks.records(step), split, trainer.dtype))
            checkpoint.save(folder / name, last, place[0], trainer.state(), *place[1:])

        go(whole, "whole", 0, 6)
        go(before, "parted", 0, 3)
        step, state = checkpoint.load(folder / "parted", *place)
        after.load(state)
        go(after, "parted", step, 6)
        for one in (whole, before, after):
            one.close()


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"strategy": "sharded"}], ids=str)
def test_a_resumed_run_gets_the_same_bits(team, tmp_path: Path, options: dict) -> None:
    team(2).run(interrupted, options, tmp_path)
    pairs = list(zip(states(tmp_path / "whole", 2), states(tmp_path / "parted", 2), strict=True))
    assert all(same(a, b) for a, b in pairs)
    assert [len(a["tables"]) for a, _ in pairs] == [4, 3]


def test_the_command_line_trains_saves_and_resumes(tmp_path: Path) -> None:
    saved = ("--data", "planted", "--checkpoint", str(tmp_path / "saved"))
    result = trained(tmp_path, 2, *saved, "--steps", "2", "--evaluate", "2")
    assert (result["ranks"], result["minibatch"], result["rows_factor"]) == (2, 240, 1)
    assert result["samples_per_s"] > 0
    assert 0 < result["auc"] < 1
    parts = result["milliseconds"]
    assert parts["alltoall"] > 0
    assert parts["allreduce"] > 0
    assert parts["compute"] > 0
    before = states(tmp_path / "saved", 2)
    with pytest.raises(AssertionError, match=r"is of 2 ranks.*go on with 2 ranks, not 1"):
        trained(tmp_path, 1, "--steps", "4", "--resume", *saved)
    assert all(same(a, b) for a, b in zip(before, states(tmp_path / "saved", 2), strict=True))
    trained(tmp_path, 2, "--steps", "3", "--resume", *saved)
    assert json.loads((tmp_path / "saved" / "latest").read_text())["step"] == 3


@pytest.mark.parametrize(
    ("trained", "said"),
    [
        ({"seed": 4, "dtype": "float32"}, "has seed 0, not 4"),
        ({"seed": 0, "dtype": "bfloat16"}, "has dtype float32, not bfloat16"),
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(tmp_path, trained, said) -> None:
    checkpoint.save(tmp_path, 5, {"seed": 0, "dtype": "float32"}, {}, 0, 1)
    with pytest.raises(InvalidArgument, match=said):
        checkpoint.load(tmp_path, trained, 0, 1)


@pytest.mark.parametrize(
    ("options", "ranks", "said"),
    [
        ((), 8, "tiny has 7 tables, which 8 ranks cannot share"),
        (("--minibatch", "9"), 2, "9 records does not divide into 2 ranks"),
        (("--steps", "0"), 1, "1 or more"),
        (("--backend", "gloo", "--strategy", "sharded"), 1, "need --backend weft"),
        (("--resume",), 1, "give the --checkpoint"),
        (("--data", "log", "--evaluate", "1"), 1, "by --test"),
        (("--resume", "--checkpoint", "/nowhere"), 1, "there is no checkpoint in /nowhere"),
        (("--data", "log"), 1, "configuration tiny has .* Criteo's logs have 13 and 26"),
        (("--data", "/no/log", "--config", "mlperf", "--shrink", "65536"), 1, "/no/log: No such"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(monkeypatch, capsys, options, ranks, said) -> None:
    spec = importlib.util.spec_from_file_location("dlrm_train", EXAMPLE / "train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    monkeypatch.setattr(sys, "argv", ["train.py", *options])
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    monkeypatch.setenv("RANK", str(ranks - 1))
    with pytest.raises(SystemExit) as ended:
        train.main()
    assert re.search(said, str(ended.value) + capsys.readouterr().err)


def line(label: int, *columns: str) -> str:
    """A line with the given columns, and 0 or 1f in the others."""
    rest = ["0"] * 13 + ["1f"] * 26
    rest[: len(columns)] = columns
    return "\t".join([str(label), *rest]) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Seven records."""
    path = tmp_path / "log"
    kinds = [line(n % 2, str(n), "", "-2") for n in range(6)]
    path.write_text("".join(kinds) + line(1, *[""] * 39))
    return path


SMALL = CONFIGURATIONS["mlperf"].shrink(1 << 16)


def with_minibatch(count: int) -> Configuration:
    """The small model with another minibatch."""
    return dataclasses.replace(SMALL, minibatch=count)


def test_criteos_lines_are_read(log: Path) -> None:
    source = CriteoLog(log, with_minibatch(3))
    records = source.records(0)
    assert records.labels().tolist() == [0, 1, 0]
    assert records.dense().shape == (3, 13)
    assert records.dense()[:, 0].tolist() == pytest.approx([0, math.log(2), math.log(3)])
    assert records.dense()[:, 1:].eq(0).all()
    for table, rows in enumerate(SMALL.rows):
        assert records.indices(table).tolist() == [[0x1F % rows]] * 3
    # Two minibatches fill a pass of seven lines; the third begins anew.
    assert source.records(1).labels().tolist() == [1, 0, 1]
    assert torch.equal(source.records(2).dense(), records.dense())
    assert torch.equal(CriteoLog(log, with_minibatch(3)).records(2).dense(), records.dense())
    assert source.records(1).labels().tolist() == [1, 0, 1]
    empty = CriteoLog(log, with_minibatch(7)).records(0)
    assert empty.dense()[6].eq(0).all()
    assert all(int(empty.indices(table)[6]) == 0 for table in range(26))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("1\t2\t3\n", "3 columns, not 40"),
        (line(1)[:-1] + "\t0\n", "41 columns, not 40"),
        ("\n", "1 columns, not 40"),
        (line(2), "column 1 is '2', not a label"),
        (line(1, "1", "2.5"), "column 3 is '2.5', not an integer"),
        (line(1, "1_0"), "column 2 is '1_0', not an integer"),
        (line(1, *[""] * 13, "0x1f"), "column 15 is '0x1f', not a hexadecimal number"),
        (line(1, *[""] * 38, "no"), "column 40 is 'no', not a hexadecimal number"),
    ],
    ids=range(8),
)
def test_a_wrong_line_is_named(log: Path, wrong: str, said: str) -> None:
    log.write_text(log.read_text() + wrong + line(0))
    source = CriteoLog(log, with_minibatch(3))
    source.records(1)
    with pytest.raises(InvalidArgument, match=f"{log}, line 8: {said}"):
        source.records(2)


def test_a_log_shorter_than_a_minibatch_is_refused(log: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"has 7 lines: .* not of 8"):
        CriteoLog(log, with_minibatch(8)).records(0)


def test_two_ranks_learn_from_a_log_of_criteos_what_one_process_learns(
    tmp_path: Path, log: Path
) -> None:
    options = ("--config", "mlperf", "--shrink", "65536", "--minibatch", "2", "--steps", "5")
    options += ("--data", str(log), "--test", str(log), "--evaluate", "3")
    one, two = (trained(tmp_path, ranks, *options) for ranks in (1, 2))
    assert two["test_loss"] == pytest.approx(one["test_loss"], rel=1e-5)
    assert two["rows_factor"] == 65536
    assert two["milliseconds"]["alltoall"] > 0


def test_the_breakdown_is_a_table_and_a_picture(tmp_path: Path) -> None:
    def result(name: str, blocking: bool, allreduce: float | None) -> str:
        words = {"config": "tiny", "backend": "weft", "exchange": "alltoall", "strategy": name}
        parts = {"compute": 2.0, "allreduce": allreduce, "alltoall": 0.5, "step": 3.25}
        rest = {"dtype": "float32", "ranks": 2, "blocking": blocking, "milliseconds": parts}
        (tmp_path / name).write_text(json.dumps(words | rest))
        return str(tmp_path / name)

    files, picture = [result("ddp", True, 0.75), result("sharded", False, None)], tmp_path / "a.png"
    said = program.run(EXAMPLE / "breakdown.py", *files, "--plot", str(picture), ranks=1)
    assert "ddp float32, 2 ranks, blocking | 2.00 | 0.75 | 0.50 | 3.25 |" in said
    assert "sharded float32, 2 ranks, overlapping | 2.00 | in compute | 0.50 | 3.25 |" in said
    assert picture.stat().st_size > 1000
    with pytest.raises(AssertionError, match=r"a\.png is no result of train\.py"):
        program.run(EXAMPLE / "breakdown.py", str(picture), ranks=1)
