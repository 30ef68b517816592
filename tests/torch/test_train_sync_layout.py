"""weft.train.GradientSync: which parameters travel together, and on which lane."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from sync_models import Branches, Convolutions, prepare  # noqa: E402

from weft.train import GradientSync  # noqa: E402
from weft.train.sync.layout import lay_out  # noqa: E402


def layout(model, bucket_bytes, lanes=3, parts=2):
    return lay_out(model, torch.optim.SGD(model.parameters(), lr=0.1), bucket_bytes, lanes, parts)


def names(bucket):
    return [slot.name for slot in bucket.slots]


def test_small_layers_travel_together_and_a_long_one_alone():
    # Bytes: factor 4, first 160, second 888, long 15520, last 820, outside 100.
    made = layout(Convolutions(), 1100)
    assert [names(bucket) for bucket in made.buckets] == [
        ["factor", "first.weight", "first.bias", "second.weight", "second.bias"],
        ["long.weight", "long.bias"],
        ["last.weight", "last.bias", "outside.weight"],
    ]


@pytest.mark.parametrize(
    ("layers", "width", "buckets"),
    [
        (8, 8, 1),  # 64 KiB hold all
        (8, 64, 3),  # and 3 layers of 17 KB
        (32, 200, 8),  # an eighth
        (64, 500, 16),  # 4 MiB hold 4 layers of 1 MB
    ],
)
def test_buckets_are_an_eighth_of_the_model_within_limits(layers, width, buckets):
    model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(layers)))
    made = layout(model, None)
    assert len(made.buckets) == buckets


def test_a_short_last_layer_goes_with_the_long_one_before_it():
    first, long, last = (torch.nn.Linear(*shape) for shape in ((10, 60), (60, 20000), (2, 10)))
    made = layout(torch.nn.Sequential(first, long, last), None)
    assert [names(bucket) for bucket in made.buckets] == [
        ["0.weight", "0.bias"],
        ["1.weight", "1.bias", "2.weight", "2.bias"],
    ]


def test_a_layer_is_never_cut():
    made = layout(Convolutions(), 1)
    assert [len(bucket.slots) for bucket in made.buckets] == [1, 2, 2, 2, 2, 1]


def test_lanes_follow_the_model_from_its_beginning():
    assert [b.lane for b in layout(Convolutions(), 1).buckets] == [0, 0, 1, 1, 2, 2]
    assert [b.lane for b in layout(Convolutions(), 1, lanes=1).buckets] == [0] * 6
    assert [b.lane for b in layout(Convolutions(), 1, lanes=8).buckets] == [0, 1, 2, 3, 4, 5]
    assert layout(Convolutions(), 1, lanes=8).lanes == 6
    assert layout(Convolutions(), 1 << 20).lanes == 1


def test_slots_lie_on_cache_lines_and_ranks_share_evenly():
    for parts in (1, 2, 3, 7):
        for bucket in layout(Convolutions(), 4000, parts=parts).buckets:
            assert all(slot.start * 4 % 64 == 0 for slot in bucket.slots)
            ends = [slot.start + slot.count for slot in bucket.slots]
            starts = [slot.start for slot in bucket.slots[1:]] + [bucket.length]
            assert all(end <= start for end, start in zip(ends, starts, strict=True))
            assert bucket.length * 4 % (64 * parts) == 0


def test_frozen_parameters_and_other_types_have_buckets_of_their_own():
    model = Branches()
    model.out.double()
    made = layout(model, 1 << 20)
    kinds = [
        {(s.parameter.dtype, s.parameter.requires_grad) for s in b.slots} for b in made.buckets
    ]
    assert kinds == [
        {(torch.float32, True)},
        {(torch.float32, False)},
        {(torch.float64, True)},
    ]


def test_a_shared_parameter_is_in_one_bucket_and_read_by_both_modules():
    model = Branches()
    made = layout(model, 1)
    weights = [s for s in made.slots if s.parameter is model.left.weight]
    assert [slot.name for slot in weights] == ["left.weight"]
    for module in (model.left, model.tied):
        assert weights[0] in made.modules[module]


def test_attention_reads_the_parameters_of_its_projection():
    attention = torch.nn.MultiheadAttention(8, 2)
    made = layout(attention, 1)
    assert {slot.name for slot in made.modules[attention]} == {
        "in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias",
    }  # fmt: skip


def priorities(job, options):
    prepare(job)
    model = Convolutions()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with (
        job.communicator(priority=5) as comm,
        GradientSync(model, optimizer, group=comm, **options) as sync,
    ):
        return sync._lanes.control.priority, [one.priority for one in sync._lanes.data]


def test_the_first_layers_go_first(team):
    # A lane for each of the six buckets.
    assert team(2).run(priorities, {"bucket_bytes": 1}) == [(12, [11, 10, 9, 8, 7, 6])] * 2
    assert team(2).run(priorities, {"bucket_bytes": 1 << 20}) == [(7, [6])] * 2
    assert team(2).run(priorities, {"bucket_bytes": 1, "priority": False}) == [(7, [6])] * 2


PROGRAM = """
import torch, weft
model = torch.nn.Linear(4, 2)
comm = weft.init(0, 1)
sync = weft.train.GradientSync(model, torch.optim.SGD(model.parameters(), lr=0.1), group=comm)
model(torch.ones(1, 4)).sum().backward()
sync.step()
"""


def test_a_program_may_end_without_close():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
