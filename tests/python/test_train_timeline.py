"""weft.train.timeline without PyTorch: clocks, the file, what it says of layers, the command."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from click.testing import CliRunner

import weft
from weft.cli import main
from weft.errors import InvalidArgument
from weft.train.tracing.clocks import Clock, _clock, to_first
from weft.train.tracing.recorder import COMMUNICATION, COMPUTE, TRACKS, WAIT, WORKER, active
from weft.train.tracing.trace import RankTrace, read_trace, write_trace

MS = 1e6  # nanoseconds
SPANS = [
    (COMPUTE, "backward fc2", 0 * MS, 2 * MS, {}),
    (COMPUTE, "backward conv1", 2 * MS, 6 * MS, {}),
    # Two are under way from 4 to 8, and the second counts from 8 on.
    (COMMUNICATION, "bucket 0", 2 * MS, 8 * MS, {"fc2": 300, "fc1": 100}),
    (COMMUNICATION, "bucket 1", 4 * MS, 9 * MS, {"conv1": 8}),
    (WAIT, "all buckets", 6 * MS, 10 * MS, {}),
]


def written(tmp_path, spans=SPANS, ranks=1):
    path = tmp_path / "trace.json"
    write_trace(path, [RankTrace(1, 500, list(spans)) for _ in range(ranks)])
    return path


def test_exposed_and_hidden(tmp_path):
    trace = read_trace(written(tmp_path))
    layers = {one.name: one[1:] for one in trace.layers(0)}
    # Bucket 0 lasts 6 ms, 2 of them in the wait; fc2 has three quarters of its bytes.
    assert layers["fc2"] == pytest.approx((300, 1.5, 3.0))
    assert layers["fc1"] == pytest.approx((100, 0.5, 1.0))
    assert layers["conv1"] == pytest.approx((8, 1.0, 0.0))
    assert trace.total_ms(0, WAIT) == pytest.approx(4)
    assert trace.total_ms(0, COMPUTE) == pytest.approx(6)
    assert trace.clock_error_us == [0.5]


def test_a_collective_that_overtakes_counts_first(tmp_path):
    spans = [
        (COMMUNICATION, "late", 0.0, 10 * MS, {}),
        (COMMUNICATION, "urgent", 4 * MS, 6 * MS, {}),
    ]
    layers = {one.name: one.hidden_ms for one in read_trace(written(tmp_path, spans)).layers(0)}
    assert layers == pytest.approx({"urgent": 2.0, "late": 4.0})


def test_slices_of_a_row_do_not_overlap(tmp_path):
    events = json.loads(written(tmp_path).read_text())["traceEvents"]
    rows = {event["name"]: event["tid"] for event in events if event["ph"] == "X"}
    assert rows["bucket 0"] != rows["bucket 1"]
    named = {event["tid"] for event in events if event["name"] == "thread_name"}
    assert named == set(rows.values()) | {TRACKS.index(WORKER)}


def test_clocks_are_bounded_by_what_cannot_be():
    true, trips = 5_000_000, 20  # nanoseconds that the other clock is behind
    first, other = [], []
    for turn in range(trips):
        entered = 1_000_000 * turn
        first.append((entered, entered + 300 + turn))
        other.append((entered + 100 - true, entered + 260 + turn - true))
    rows = [np.array([e for e, _ in one] + [x for _, x in one] + [k]) for k, one in
            enumerate((first, other))]  # fmt: skip
    clock = _clock(*rows)
    assert abs(clock.offset - true) <= clock.error == 230
    same = _clock(rows[0], rows[0])
    assert (same.offset, same.error) == (0, 0)


def test_a_drift_is_taken_out():
    start, end = Clock(100, 5, 1000), Clock(300, 5, 2000)
    assert to_first(1000, start, end) == 1100
    assert to_first(1500, start, end) == 1700
    assert to_first(2000, start, end) == 2300


def record(job, path):
    with job.communicator() as comm:
        with weft.train.timeline(path, group=comm) as recorder:
            assert active() is recorder
            with pytest.raises(InvalidArgument, match="open already"), weft.train.timeline(path):
                pass
            begin = time.perf_counter_ns()
            comm.allreduce(np.ones(8))
            end = time.perf_counter_ns()
            recorder.span(COMMUNICATION, f"of rank {job.rank}", begin, end)
        assert active() is None
        return begin


def test_all_ranks_are_in_one_file(team, tmp_path):
    path = tmp_path / "trace.json"
    begins = team(3).run(record, str(path))
    trace = read_trace(path)
    assert [[one.name for one in rank] for rank in trace.slices] == [
        [f"of rank {rank}"] for rank in range(3)
    ]
    assert trace.clock_error_us == [0, 0, 0]
    for begin, rank in zip(begins, trace.slices, strict=True):
        assert rank[0].begin == pytest.approx((begin - min(begins)) / 1e3)


def fail_inside(job, path):
    with (
        job.communicator() as comm,
        pytest.raises(KeyError),
        weft.train.timeline(path, group=comm),
    ):
        raise KeyError("the program's own")
    return active() is None


def test_a_failed_block_writes_nothing(team, tmp_path):
    path = tmp_path / "trace.json"
    assert team(2).run(fail_inside, str(path)) == [True, True]
    assert not path.exists()


def test_the_command(tmp_path):
    pytest.importorskip("matplotlib")
    path, out, table = written(tmp_path, ranks=2), tmp_path / "step.png", tmp_path / "layers.json"
    result = CliRunner().invoke(
        main, ["timeline", str(path), "--out", str(out), "--json", str(table)]
    )
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.output.splitlines()]
    assert ["fc2", "300", "1.500", "3.000"] in rows
    assert ["all", "408", "3.000", "4.000"] in rows
    assert out.read_bytes().startswith(b"\x89PNG")
    ranks = json.loads(table.read_text())["ranks"]
    assert [one["exposed_ms"] for one in ranks] == pytest.approx([3, 3])
    assert [one["hidden_ms"] for one in ranks] == pytest.approx([4, 4])


@pytest.mark.parametrize("text", ["", "[1]", '{"traceEvents": []}', '{"otherData": {"writer": 1}}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    result = CliRunner().invoke(main, ["timeline", str(path)])
    assert result.exit_code == 1
    assert "is no trace of weft.train.timeline" in result.output


def test_a_missing_file_is_named():
    result = CliRunner().invoke(main, ["timeline", "nowhere.json"])
    assert result.exit_code == 1
    assert "nowhere.json: No such file" in result.output
