"""weft.simulate and `weft simulate`: closed formulas, energy, the cost model, what is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from click.testing import CliRunner

import weft
from weft import simulation
from weft._build_info import SIMGRID_MISSING
from weft.cli import main
from weft.topology import Link, Topology, Vertex, Wire, flat, load

K, M = 1 << 10, 1 << 20
LATENCY, BANDWIDTH = 0.4e-6, 12e9
STAR = Wire(latency=LATENCY / 2, bandwidth=BANDWIDTH)  # two links from rank to rank

pytestmark = pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)


def plain(algorithm, topology, **how):
    return weft.simulate(algorithm, topology, model="plain", **how).seconds


def test_pipelined_chain():
    # n = 8, 64 MiB, 512 KiB; the sender's next chunk follows while the last is on its way.
    chunks, hop = 128, 512 * K / BANDWIDTH
    found = plain("pc", flat(8, STAR), nbytes=64 * M, chunk=512 * K)
    assert found == pytest.approx((chunks + 8 - 2) * hop + 7 * LATENCY, rel=0.01)
    assert found == pytest.approx(5.87e-3, rel=0.01)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_ring(ranks):
    t = flat(ranks, STAR)
    ring = 2 * (ranks - 1) * (LATENCY + 32 * M / ranks / BANDWIDTH)
    assert plain("lr", t, nbytes=32 * M, chunk=32 * M) == pytest.approx(ring, rel=0.01)


@pytest.mark.parametrize(("ranks", "levels"), [(2, 1), (4, 2), (8, 3), (64, 6)])
def test_tree_of_one_port(ranks, levels):
    many = flat(ranks, STAR)
    one = Topology("one", many.vertices, many.links, many.ranks, one_port=True)
    found = plain("knomial", one, nbytes=M, chunk=M)
    assert found == pytest.approx(levels * (LATENCY + M / BANDWIDTH), rel=0.01)


def test_messages_of_one_moment_keep_their_order():
    # After its copy a rank sends to all children: the one with the largest subtree comes first.
    wire = Wire(latency=0, bandwidth=BANDWIDTH, overhead=LATENCY)
    t = flat(32, wire, one_port=True, rates=weft.topology.Rates(copy=BANDWIDTH))
    hop, copy = LATENCY + 8 * M / BANDWIDTH, 8 * M / BANDWIDTH
    found = plain("knomial_staged", t, nbytes=8 * M, chunk=8 * M)
    assert found == pytest.approx(5 * hop + 6 * copy, rel=0.001)


@pytest.mark.parametrize("algorithm", ["lr", "lr_lr", "lr_rab", "ta_pc", "alltoall/pairwise"])
@pytest.mark.parametrize("topology", ["tsubame3", "rx1"])
def test_plain_is_near_the_price(algorithm, topology):
    how = {"ranks": 16, "nbytes": 8 * M, "chunk": 256 * K}
    price = weft.price(algorithm, topology, **how).seconds
    assert plain(algorithm, topology, **how) == pytest.approx(price, rel=0.05)


@pytest.mark.parametrize("full_duplex", [True, False])
def test_energy_of_one_message(full_duplex):
    ends = [Vertex("a", 0), Vertex("b", 1), Vertex("c", 2)]
    used = Link(0, 1, 1e-6, 1e9, full_duplex=full_duplex, idle_watts=10, busy_watts=30)
    idle = Link(1, 2, 1e-6, 1e9, idle_watts=1000, busy_watts=2000)
    pair = Topology("pair", ends, [used, idle], [0, 1])
    found = weft.simulate(
        "broadcast/one_shot", pair, nbytes=10 * M, chunk=10 * M, energy=True, model="plain"
    )
    assert found.seconds == pytest.approx(10 * M / 1e9 + 1e-6)
    # One direction of two is busy where each has half of the watts.
    watts = 20 if full_duplex else 30
    assert found.joules == pytest.approx(watts * 10 * M / 1e9, rel=0.01)


def test_smpi_model_is_the_documents():
    # Nguyen 2018's public results: .536 at 32 GPUs and 32 MiB.
    lr, lr_rab = (
        weft.simulate(name, "tsubame3", ranks=32, nbytes=32 * M, energy=True)
        for name in ("lr", "lr_rab")
    )
    assert lr_rab.seconds / lr.seconds == pytest.approx(0.536, abs=0.05)
    assert lr_rab.joules < lr.joules
    assert lr_rab.fitted == {"node": 4}


def test_plans_at_hand_and_several_at_once():
    t = flat(4, STAR)
    plan = weft.plan.make_plan("allreduce/ring", 4)
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda what: plain(what, t, nbytes=M, chunk=M), [plan, "lr", plan]))
    assert found[0] == found[1] == found[2]


def test_ranks_of_one_vertex_and_no_bytes():
    t = flat(2, STAR)
    both = Topology("both", t.vertices, t.links, [t.ranks[0], t.ranks[0]])
    assert plain("lr", both, nbytes=M, chunk=M) == 0
    assert plain("barrier/dissemination", flat(4, STAR), nbytes=0) == pytest.approx(2 * LATENCY)


def test_command_says_the_same(tmp_path):
    file = tmp_path / "simulated.json"
    command = ["simulate", "lr_lr", "--topology", "tsubame3", "--bytes", "1M", "--ranks", "8",
               "--energy", "--json", str(file)]  # fmt: skip
    assert CliRunner().invoke(main, command).exit_code == 0
    known = json.loads(file.read_text())
    found = weft.simulate("lr_lr", "tsubame3", ranks=8, nbytes=M, energy=True)
    assert (known["seconds"], known["joules"]) == (found.seconds, found.joules)
    asked = ("algorithm", "topology", "ranks", "nbytes", "model", "energy")
    assert [known[word] for word in asked] == ["lr_lr", "tsubame3", 8, M, "smpi", True]
    text = CliRunner().invoke(main, command[:-2]).output
    assert f"{found.seconds * 1e6:.6g} us, {found.joules:.6g} J" in text


def island():
    t = load("rx3", nodes=2)
    return Topology("island", t.vertices, t.links[:1], t.ranks)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"topology": "tsubame3", "ranks": 9999}, "2160 ranks"),
        ({"topology": island}, "no way leads from rank"),
        ({"model": "tcp"}, "smpi"),
        ({"params": {"node": 3}}, "node"),
        ({"nbytes": -1}, "not negative"),
    ],
)
def test_refusals(how, said):
    asked = {"topology": "rx3", "nbytes": M, "chunk": M, **how}
    topology = asked.pop("topology")
    topology = topology() if callable(topology) else topology
    with pytest.raises(weft.InvalidArgument, match=said):
        weft.simulate("lr", topology, **asked)


def test_without_simgrid(monkeypatch):
    monkeypatch.setattr(simulation, "SIMGRID_MISSING", "there was no SimGrid")
    command = ["simulate", "lr", "--topology", "rx3", "--bytes", "1M"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "apt-get install libsimgrid-dev" in result.output
