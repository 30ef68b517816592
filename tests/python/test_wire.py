"""bf16 on the wire for float32 sums, to the bit, beside what NumPy makes of the same rule.

Ranks are processes of this machine; WEFT_NODE gives them nodes, between which they use the network.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import weft
from weft import _core

from launch import RankFailed, Team, run

PLACES = [[0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 2, 3]]
COUNTS = [1, 7, 333, 70001]
SPECIAL = np.array(
    [0.0, -0.0, 1e-40, -3e-39, 1e-45, np.inf, -np.inf, np.nan, 3.4e38, -3.39e38, 1.00390625], "f4"
)


def obstacle() -> str:
    fabrics = {fabric["name"]: fabric for fabric in _core.system_info()["fabrics"]}
    return "" if fabrics["ofi"]["available"] else fabrics["ofi"]["text"]


needs_network = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


def narrow(x):
    """bf16 and back: to nearest, ties to even; NaN is the one quiet NaN."""
    bits = x.view("u4").astype("u8")
    rounded = (((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) << 16).astype("u4").view("f4")
    return canonical(np.where(np.isnan(x), x, rounded))


def canonical(x):
    x = x.copy()
    x.view("u4")[np.isnan(x)] = 0x7FC00000
    return x


def tree(terms):
    """Split at the largest power of two below their number."""
    if len(terms) == 1:
        return terms[0]
    half = 1 << (len(terms) - 1).bit_length() - 1
    return tree(terms[:half]) + tree(terms[half:])


def contribution(rank, count):
    """Of many magnitudes, with what is special strewn in."""
    random = np.random.default_rng((7, rank, count))
    x = (random.standard_normal(count) * 2.0 ** random.integers(-20, 20, count)).astype("f4")
    at = random.integers(0, count, count // 5)
    x[at] = random.choice(SPECIAL, at.size)
    return x


def summed(inputs, place, owner, op):
    """What `owner` adds up: its node's inputs, and a rounded sum from each other node."""
    nodes = list(dict.fromkeys(place))
    members = {n: [x for x, at in zip(inputs, place, strict=True) if at == n] for n in nodes}
    own = place[owner]
    others = [narrow(tree(members[node])) for node in nodes if node != own]
    total = canonical(tree([*members[own], *others]))
    return canonical(total * np.float32(1 / len(place))) if op == "avg" else total


def allreduced(inputs, place, op):
    """Rounded by who owns it. Nodes own equally many blocks, which end on cache lines."""
    nodes = list(dict.fromkeys(place))
    each = math.lcm(*(place.count(node) for node in nodes))
    lines = math.ceil(inputs[0].size / 16)
    block = math.ceil(lines / (each * len(nodes))) * 16
    total = np.empty_like(inputs[0])
    for owner, node in enumerate(place):
        size = each // place.count(node) * block
        first = nodes.index(node) * each * block + place[:owner].count(node) * size
        mine = slice(first, first + size)
        total[mine] = narrow(summed([x[mine] for x in inputs], place, owner, op))
    return total


def check(job, place, algorithm, wire=""):
    """All counts and operations; in ordinary and in symmetric memory."""
    with np.errstate(all="ignore"), job.communicator(timeout=30, wire=wire) as comm:
        for count in COUNTS:
            inputs = [contribution(rank, count) for rank in range(job.size)]
            for op in ("sum", "avg"):
                wanted = allreduced(inputs, place, op).tobytes()
                got = comm.allreduce(inputs[job.rank], op, algorithm=algorithm)
                assert got.tobytes() == wanted, (count, op)
                x = weft.empty(count, "float32")
                x[:] = inputs[job.rank]
                assert comm.allreduce(x, op, out=x, algorithm=algorithm).tobytes() == wanted
            many = [contribution(rank, count * job.size) for rank in range(job.size)]
            mine = slice(job.rank * count, (job.rank + 1) * count)
            share = summed([x[mine] for x in many], place, job.rank, "avg")
            got = comm.reduce_scatter(many[job.rank], "avg", algorithm=algorithm)
            assert got.tobytes() == share.tobytes(), count


def with_nodes(place):
    return Team(len(place), prefixes=[["env", f"WEFT_NODE=wire-{node}"] for node in place])


@needs_network
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_across_nodes(place):
    with with_nodes(place) as team:
        team.run(check, place, None, "bfloat16")


def test_in_shared_memory():
    """A plan that rounds does so between any ranks, if it is named."""
    run(check, 4, [0, 1, 1, 2], "two_level(place=[0,1,1,2],wire=1)")


def others(job):
    """What is no float32 sum stays as it is."""
    with job.communicator(timeout=30, wire="bf16") as comm:
        x = np.full(5, 1 + 2**-20) * (job.rank + 1)
        assert comm.allreduce(x)[0] == 3 * (1 + 2**-20)
        x = x.astype("f4")
        assert comm.allreduce(x, "max")[0] == x[0] / (job.rank + 1) * 2
        with pytest.raises(weft.Unsupported, match="ring sends float32 as it is"):
            comm.allreduce(x, algorithm="ring")
        with pytest.raises(weft.Unsupported, match="a max of float32: leave wire out"):
            comm.allreduce(x, "max", algorithm="two_level(wire=1)")
        assert comm.allreduce(x, algorithm="two_level(wire=0)")[0] == np.float32(3 * (1 + 2**-20))
        assert comm.allreduce(x)[0] == 3


@needs_network
def test_other_calls():
    with with_nodes([0, 1]) as team:
        team.run(others)


def in_bf16(job):
    """bf16 gradients cross in bf16 too, in place of float32: as with wide=0, to the bit."""
    torch = pytest.importorskip("torch")
    generator = torch.Generator().manual_seed(job.rank)
    x = torch.randn(300001, generator=generator).bfloat16()
    with (
        job.communicator(timeout=30, wire="bf16") as narrow,
        job.communicator(timeout=30) as usual,
    ):
        got = narrow.allreduce(x)
        assert torch.equal(got, usual.allreduce(x, algorithm="two_level(wide=0)"))
        assert not torch.equal(got, usual.allreduce(x)), "rounded once, and twice"


@needs_network
def test_bf16_itself():
    with with_nodes([0, 0, 1, 1]) as team:
        team.run(in_bf16)


def disagreeing(job):
    job.communicator(timeout=30, wire=["bfloat16", ""][job.rank])


def test_ranks_say_the_same():
    with pytest.raises(RankFailed, match="wire=bfloat16 and rank 1 does not") as failed:
        run(disagreeing, 2)
    assert str(failed.value).count("weft.errors.InvalidArgument") == 2, "all ranks say so"
