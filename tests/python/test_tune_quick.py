"""`weft tune --quick`: which models it tries, and when it writes one."""

from __future__ import annotations

import json
import os

import pytest
from click.testing import CliRunner

from weft import _core
from weft.bench.cases import Case
from weft.bench.job import Measured
from weft.bench.processes import BurstFailed
from weft.cli import main
from weft.tune import model_file, quick
from weft.tune.measure import timed
from weft.tune.point import Timed

from launch import run

K = 1 << 10


def made(gains):
    """A measurement in which candidate n is gains[n](turn) times as fast as what is shipped."""
    turns = [0] * len(gains)

    def times(*medians):
        return [Timed(median, 20 * median) for median in medians]

    def measure(numbers):
        if numbers is None:
            return times(1.0, 2.0, *[1.0] * 6)
        number = numbers["reuse"]
        gain = gains[number](turns[number])
        turns[number] += 1
        return times(1.0 / gain, 2.0 / gain, *[1.0 / gain] * 6)

    return measure


@pytest.mark.parametrize(
    ("gains", "best", "wins"),
    [
        ([lambda t: 1.0, lambda t: 1.3], 1, True),
        ([lambda t: 1.2, lambda t: 1.05], 0, True),
        ([lambda t: 1.0, lambda t: 1.09], 1, False),  # not worth a file
        ([lambda t: 0.9, lambda t: 0.8], 0, False),
        ([lambda t: 1.0, lambda t: 1.6 if t % 2 else 1.2], 1, False),  # halves differ
        ([lambda t: 1.0, lambda t: 1.3 if t < quick.TURNS else 1.0], 1, False),  # picked by chance
    ],
)
def test_quick_writes_what_wins_in_both_halves(gains, best, wins):
    tried, done = [{"reuse": n} for n in range(len(gains))], []
    found = quick.compete(tried, made(gains), lambda: done.append(1))
    assert len(done) == quick.pairs(tried)
    assert found.best == best
    assert found.wins == wins
    assert all(len(one) == quick.TURNS for one in found.gains)
    assert len(found.final) == quick.FINAL
    assert "times as fast" in found.text()
    assert found.json()["written"] == wins
    assert set(found.tails.values()) == {20.0}


def test_who_runs_first_decides_nothing():
    """Whoever is second in a pair takes half again as long."""
    calls = []

    def measure(numbers):
        calls.append(numbers)
        return [Timed(1.0 if len(calls) % 2 else 1.5, 2.0)] * 8

    found = quick.compete([{"reuse": 0}], measure)
    assert found.gain == pytest.approx(1.0, abs=0.1)
    assert found.agrees
    assert not found.wins


def shown(monkeypatch, measure, *options):
    monkeypatch.setattr(quick, "measure_in", lambda folder: measure)
    monkeypatch.setattr(quick, "candidates", lambda second_cache: [{"reuse": 0}])
    result = CliRunner().invoke(main, ["tune", "--quick", *options])
    return result.exit_code, result.output


@pytest.mark.parametrize(("gain", "written"), [(1.3, True), (1.0, False)])
def test_quick_says_what_becomes_of_the_file(tmp_path, monkeypatch, gain, written):
    path = tmp_path / "model.json"
    for in_use in (False, True):
        monkeypatch.setattr(model_file, "in_use", lambda file, used=in_use: used and file == path)
        code, output = shown(monkeypatch, made([lambda _: gain]), "--output", str(path))
        assert code == 0
        assert (f"{path} is written" in output) == written
        said = f"{path} is from before and stays in use: remove it" in output
        assert said == (in_use and not written)
        assert "p99 is 20 times the median (allreduce, 16K" in output


def file_in_use(job):
    path = model_file.default_file()
    return [model_file.in_use(path), model_file.in_use(path.parent)]


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_is_in_use_if_it_is_of_this_version(tmp_path, version):
    path = tmp_path / "weft" / "model.json"
    model_file.save(path, {"reuse": 1}, {})
    path.write_text(path.read_text().replace('"weft_model": 1', f'"weft_model": {version}'))
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "WEFT_MODEL": ""}
    assert run(file_in_use, 1, env=environment) == [[version == 1, False]]


@pytest.mark.parametrize("wrong", [0, 1])
def test_quick_takes_no_time_of_a_wrong_result(wrong):
    case = Case.sized("allreduce", 8, 2, "float32")
    ranks = tuple(Measured(rank != wrong, None, [1.0, 2.0]) for rank in range(2))
    with pytest.raises(BurstFailed, match="allreduce gave wrong results for 8 bytes"):
        timed(case, ranks)


def test_quick_shows_a_rank_that_fails(tmp_path, monkeypatch):
    def measure(numbers):
        raise BurstFailed("rank 1 died")

    code, output = shown(monkeypatch, measure, "--output", str(tmp_path / "model.json"))
    assert code == 1
    assert "Error: rank 1 died" in output


def test_quick_tries_the_second_cache_longer_chunks_and_lent_slots():
    tried = quick.candidates(1 << 20)
    assert {one["reuse"] for one in tried} == {0, 256 * K, 2 << 20}
    assert {one["lend_to"] for one in tried} == {0, 64 * K}
    assert all(one["exchange_chunk"] == one["lend_to"] for one in tried)
    assert all(one["smallest_chunk"] <= one["largest_chunk"] for one in tried)
    assert len({json.dumps(one) for one in tried}) == len(tried)


def test_what_quick_saves_is_read(tmp_path):
    path = tmp_path / "deep" / "model.json"
    model_file.save(path, {"reuse": 5 * K}, {"gain": 1.2})
    assert os.stat(path).st_mode & 0o022 == 0
    assert list(path.parent.iterdir()) == [path]
    assert run(reuse_here, 1, env={"WEFT_MODEL": str(path)}) == [5 * K]


def reuse_here(job):
    return _core.system_info()["model"]["reuse"]


def test_quick_refuses_what_it_would_ignore():
    result = CliRunner().invoke(main, ["tune", "--quick", "--bytes", "8"])
    assert result.exit_code == 2
    assert "leave out --bytes" in result.output


def test_quick_measures_here(tmp_path, monkeypatch):
    """All of it, with few turns and two candidates."""
    monkeypatch.setattr(quick, "TURNS", 2)
    monkeypatch.setattr(quick, "FINAL", 2)
    monkeypatch.setattr(quick, "_SHARES_OF_L2", (0.25,))
    monkeypatch.setattr(quick, "_CHUNKS", ((16, 64),))
    output, log = tmp_path / "model.json", tmp_path / "log.json"
    result = CliRunner().invoke(
        main, ["tune", "--quick", "--output", str(output), "--json", str(log)]
    )
    assert result.exit_code == 0, result.output
    found = json.loads(log.read_text())
    assert len(found["candidates"]) == len(found["final"]) == 2
    assert output.exists() == found["written"]
    if found["written"]:
        assert run(reuse_here, 1, env={"WEFT_MODEL": str(output)}) == [found["best"]["reuse"]]
