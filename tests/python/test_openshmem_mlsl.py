"""The arithmetic of docs/results/openshmem_mlsl.md, and how its measuring goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "results"))

from mlsl import figures, tables  # noqa: E402
from mlsl.cases import DOCUMENT_ACCURACY, DOCUMENT_SECONDS, PARTS, PLACES, TRAININGS  # noqa: E402
from record import Record  # noqa: E402


def message(library: str, together: bool, number: int, microseconds: float) -> dict:
    turn = {"part": "messages", "library": library, "ranks": 2, "together": together,
            "round": number}  # fmt: skip
    return {"turn": turn, "seconds": microseconds / 1e6}


def training(place: str, fabric: str, algorithm: str, seed: int, **found: object) -> dict:
    turn = {"part": "training", "place": place, "fabric": fabric, "algorithm": algorithm,
            "seed": seed}  # fmt: skip
    return {"turn": turn, **found}


MESSAGES = [
    *(message("openmpi", False, n, t) for n, t in enumerate([300, 200, 900])),
    *(message("openmpi", True, n, t) for n, t in enumerate([250, 260, 100])),
    *(message("intelmpi", True, n, t) for n, t in enumerate([125, 150, 100])),
    *(message("weft_shmem", False, n, t) for n, t in enumerate([50, 60, 1000])),
]


def test_messages_are_those_of_lenet(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(ROOT / "examples" / "lenet")
    import model

    sizes = [parameter.numel() for parameter in model.lenet().parameters()]
    assert [*zip(sizes[::2], sizes[1::2], strict=True)][::-1] == [
        *zip(PARTS[::2], PARTS[1::2], strict=True)
    ]


def test_the_documents_headline():
    ratios = {place: round(shmem / mpi, 3) for place, (mpi, shmem) in DOCUMENT_SECONDS.items()}
    assert (ratios[1, 2], ratios[2, 2], ratios[4, 2], ratios[8, 2]) == (0.725, 0.722, 0.635, 0.659)
    assert set(DOCUMENT_ACCURACY) < set(DOCUMENT_SECONDS)


def test_each_training_has_a_place():
    assert {place for place, _, _ in TRAININGS} == set(PLACES)
    assert len(set(TRAININGS)) == len(TRAININGS)


def test_the_faster_way_counts_by_the_median_of_its_rounds():
    assert figures.faster(MESSAGES, "openmpi", 2) == pytest.approx(250)
    assert figures.faster(MESSAGES, "weft_shmem", 2) == pytest.approx(60)
    assert figures.faster(MESSAGES, "openmpi", 4) is None
    name, time = figures.fastest_mpi(MESSAGES, 2)
    assert (name, time) == ("intelmpi", pytest.approx(125))


def test_goals_compare_with_open_mpi_and_with_the_fastest():
    text = tables.goals(MESSAGES)
    assert "| eight messages, over the faster of Open MPI's two | **0.24** | at most 0.70 |" in text
    assert "over the fastest MPI's (Intel MPI) | **0.48** |" in text


def test_what_is_not_there_is_said():
    assert "not measured | at most 0.70" in tables.goals([])
    lines = tables.training([]).splitlines()[2:]
    assert len(lines) == len(TRAININGS)
    assert all("not measured" in line for line in lines)
    assert "not measured" in tables.simulation([])


def test_trainings_are_compared_seed_by_seed():
    mine = [training("1 x 2", "shmem", "", s, seconds=t) for s, t in enumerate([2.0, 9.0, 4.0])]
    other = [training("1 x 2", "mpi", "native", s, seconds=t) for s, t in enumerate([4.0, 10.0])]
    rows = mine + other
    both = (figures.trainings(rows, "1 x 2", "shmem", ""),
            figures.trainings(rows, "1 x 2", "mpi", "native"))  # fmt: skip
    assert figures.ratio(*both) == pytest.approx(0.7)  # of 0.5 and 0.9
    assert figures.ratio({}, both[1]) is None


def test_the_farthest_accuracy_is_found_and_marked():
    rows = [training("1 x 1", "", "", seed, accuracy=0.98, seconds=1.0) for seed in (0, 1)]
    rows += [training("1 x 2", "shm", "", seed, accuracy=a, seconds=1.0, share=0.1)
             for seed, a in enumerate([0.981, 0.981])]  # fmt: skip
    assert figures.farthest(rows) == pytest.approx(0.1)
    rows += [training("1 x 4", "ofi", "", seed, accuracy=a, seconds=1.0, share=0.1)
             for seed, a in enumerate([0.97, 0.98])]  # fmt: skip
    assert figures.farthest(rows) == pytest.approx(-0.5)
    text = tables.training(rows)
    assert "| **-0.50** | 2 |" in text
    assert "| +0.10 | 2 |" in text


def test_the_control_names_who_has_which_bits():
    found = [
        ("1 x 4", "shm", "", "a"),
        ("1 x 4", "mpi", "native", "a"),
        ("1 x 4", "shm", "ring", "b"),
    ]
    rows = [training(*which, 0, ranks=4, hash=hash) for *which, hash in found]
    rows.append(training("1 x 2", "shm", "", 0, ranks=2, hash="c"))
    assert tables.control(rows).splitlines()[2:] == [
        "| `a` | 1 x 4, shm; 1 x 4, mpi, its own allreduce |",
        "| `b` | 1 x 4, shm, ring |",
    ]


@pytest.mark.parametrize(
    ("hashes", "equal"), [(["a", "a", "b"], True), (["a", "c", "b"], False), (["a", "a"], None)]
)
def test_bits_are_compared_at_equal_ranks(hashes, equal):
    places = [("1 x 2", "shm", 2), ("2 x 1", "ofi", 2), ("1 x 4", "shm", 4)]
    rows = [
        {"turn": {"part": "equal", "place": place, "fabric": fabric}, "ranks": ranks, "hash": hash}
        for (place, fabric, ranks), hash in zip(places, hashes, strict=False)
    ]
    assert figures.equal_bits(rows) is equal


@pytest.fixture
def launch(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "testing")
    from mlsl import launch

    return launch


HOW_STARTED = {"shm": "", "ofi": "", "shm+ofi": "", "mpi": "openmpi", "shm+mpi": "openmpi",
               "shmem": "oshrun", "shm+shmem": "oshrun"}  # fmt: skip


@pytest.mark.parametrize("fabric", HOW_STARTED)
def test_each_fabric_is_started_by_its_launcher(fabric, launch, tmp_path):
    assert launch.launcher(fabric) == HOW_STARTED[fabric]
    started = launch.program(["program", "word"], fabric, [0, 0], tmp_path, None)
    assert started.environment["WEFT_FABRIC"] == fabric
    if HOW_STARTED[fabric]:
        (command,) = started.commands
        assert command[0] == {"openmpi": "mpiexec.openmpi", "oshrun": "oshrun"}[HOW_STARTED[fabric]]
        assert command[-4:] == ["-n", "2", "program", "word"]
    else:
        assert [command[:3] for command in started.commands] == [
            ["env", f"RANK={rank}", "WORLD_SIZE=2"] for rank in (0, 1)
        ]


def test_a_stopped_run_goes_on(tmp_path):
    turns = [{"part": "x", "round": number} for number in range(3)]
    taken = []

    def measure(turn):
        if turn["round"] == 1 and len(taken) == 1:
            raise KeyboardInterrupt
        taken.append(turn["round"])
        return {"value": turn["round"]}

    with pytest.raises(KeyboardInterrupt):
        Record(tmp_path / "rows").take(turns, measure)
    record = Record(tmp_path / "rows")
    taken.append("again")
    record.take(turns, measure)
    assert taken == [0, "again", 1, 2]
    assert [row["value"] for row in record.rows()] == [0, 1, 2]
    record.end()


def test_a_failure_is_no_row_and_ends_the_program_with_1(tmp_path):
    record, tried = Record(tmp_path / "rows"), []

    def measure(turn):
        tried.append((turn["what"], turn["round"]))
        if turn["what"] == "bad":
            raise ValueError("a result was wrong")
        return {}

    turns = [{"what": what, "round": number} for number in (0, 1) for what in ("bad", "good")]
    record.take(turns, measure)
    assert tried == [("bad", 0), ("good", 0), ("good", 1)]
    assert len(record.rows()) == 2
    with pytest.raises(SystemExit, match="what bad: a result was wrong"):
        record.end()
