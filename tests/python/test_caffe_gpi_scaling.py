"""The arithmetic of docs/results/caffe_gpi_scaling.md, and what it simulates."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import weft
from weft._build_info import SIMGRID_MISSING
from weft.steps import Collective, Copy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "results"))

pytest.importorskip("torch")  # of weft.train

from gpi import cases, figures, one_node, simulation, trees  # noqa: E402
from gpi.programs import Platform, program, units_of  # noqa: E402

MB = 1_000_000
# Two buckets: the first layer computes three times as long, the others have the bytes.
LAYERS = [
    {"name": "conv", "bytes": 8 * MB, "products": 30, "bucket": 0, "lane": 0},
    {"name": "fc6", "bytes": 200 * MB, "products": 6, "bucket": 1, "lane": 1},
    {"name": "fc7", "bytes": 32 * MB, "products": 4, "bucket": 1, "lane": 1},
]
ROWS = [{"turn": {"part": "layers", "network": "alexnet"}, "layers": LAYERS}]


def step(processor: str, nodes: int, strategy: str) -> dict:
    return {"part": "step", "network": "alexnet", "processor": processor, "nodes": nodes,
            "strategy": strategy}  # fmt: skip


def test_layers_share_the_time_by_their_products():
    units = units_of(LAYERS, 0.4, cases.ALLREDUCE)
    assert [unit.forward for unit in units] == pytest.approx([0.1, 0.4 / 12])
    assert [unit.backward for unit in units] == pytest.approx([0.2, 0.8 / 12])
    assert [[part.bytes for part in unit.parts] for unit in units] == [[8 * MB], [232 * MB]]
    assert len(units_of(LAYERS, 0.4, cases.TREE)) == 3  # the document has no buckets
    pieces = units_of(LAYERS, 0.4, cases.CUT)[1].parts
    assert sum(part.bytes for part in pieces) == 232 * MB
    assert max(part.bytes for part in pieces) == cases.PIECE


@pytest.mark.parametrize("strategy", cases.STRATEGIES)
@pytest.mark.parametrize("gpu", [True, False])
def test_all_bytes_are_copied_down_and_up_once(strategy, gpu):
    operations = program(strategy, units_of(LAYERS, 1.0, strategy), Platform(gpu))
    copies = [op for op in operations if isinstance(op, Copy)]
    for way in ("down", "up"):
        seconds = sum(op.seconds for op in copies if op.name.startswith(way))
        assert seconds == pytest.approx(gpu * 240 * MB / cases.PCIE)
    kinds: dict[str, int] = {}
    for op in operations:
        if isinstance(op, Collective):
            kinds[op.plan] = kinds.get(op.plan, 0) + op.nbytes
    assert set(kinds.values()) == {240 * MB}


@pytest.mark.parametrize(
    ("nodes", "crossings"),
    # The master has log2 P children that send it gradients; the heap has b receivers.
    [(2, 1), (4, 3), (8, 3), (16, 4), (32, 5), (64, 6)],
)
def test_crossings_of_the_documents_trees(nodes, crossings):
    assert figures.tree_crossings(nodes) == crossings


def test_the_bound_is_the_longest_resource():
    busy = figures.limits(240 * MB, "alexnet", "P100", 4)
    assert busy == pytest.approx({"computation": 0.025, "network": 0.36 / 6.8, "PCIe": 0.02})
    assert figures.binding(busy) == "network"
    assert figures.bound(ROWS, "alexnet", "P100", 4) == pytest.approx(0.1 * 6.8 / 0.36)
    assert figures.bound(ROWS, "alexnet", "K80", 4) == pytest.approx(4)
    assert figures.bound(ROWS, "alexnet", "KNL", 1) == 1
    assert "PCIe" not in figures.limits(240 * MB, "alexnet", "CPU", 4)


def test_what_was_not_simulated_is_no_number():
    rows = [*ROWS, {"turn": step("K80", 4, cases.PHASES), "seconds": 0.3}]
    assert figures.times_as_fast(rows, "alexnet", "K80", 4, cases.PHASES) == pytest.approx(3)
    assert figures.times_as_fast(rows, "alexnet", "K80", 8, cases.PHASES) is None
    assert figures.times_as_fast(rows, "alexnet", "K80", 4, cases.PHASES, "as above") is None


EVERY_TURN = [*cases.step_turns(), *cases.variant_turns(), *cases.one_node_turns()]


def test_turns_are_not_repeated():
    turns = [str(turn) for turn in EVERY_TURN]
    assert len(turns) == len(set(turns))


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)
@pytest.mark.parametrize("strategy", cases.STRATEGIES)
@pytest.mark.parametrize("processor", ["K80", "P100"])
def test_no_strategy_beats_its_bound(strategy, processor):
    found = simulation.taken(step(processor, 4, strategy), ROWS)["seconds"]
    own_trees = strategy in (cases.TREE, cases.PIPED)
    least = max(figures.limits(240 * MB, "alexnet", processor, 4, own_trees).values())
    assert least <= found * 1.000001
    one_after_the_other = sum(figures.limits(240 * MB, "alexnet", processor, 4, True).values())
    assert found < 3 * one_after_the_other


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)
def test_phases_are_one_after_the_other():
    found = simulation.taken(step("K80", 4, cases.PHASES), ROWS)["seconds"]
    plan = str(weft._core.select("allreduce", 4, 240 * MB, symmetric=True, nodes=4).choice)
    alone = weft.simulate(plan, simulation.cluster(4), nbytes=240 * MB, symmetric=True,
                          model="plain").seconds  # fmt: skip
    assert found == pytest.approx(0.225 + 2 * 240 * MB / cases.PCIE + alone)


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)
def test_copies_of_a_cards_gpus_share_its_slot():
    place = one_node.node(4, processes=True)
    four = one_node._layer("", 12 * MB, 4)[0]  # two GPUs of each card
    found = weft.simulate_step([four], place, iterations=1, model="plain")
    assert found.seconds == pytest.approx(2 * 12 * MB / cases.PCIE, rel=0.001)


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)
@pytest.mark.parametrize("gpus", [2, 4])
def test_in_a_node_the_network_card_has_to_carry_all(gpus):
    at_once, spread = (
        one_node.simulated(strategy, LAYERS, 0.9, gpus).seconds
        for strategy in (cases.AT_ONCE, cases.SPREAD)
    )
    carried = 2 * (gpus - 1) * 240 * MB / cases.WIRE
    assert max(carried, 0.9 / gpus) <= spread < at_once
    assert at_once >= 0.9 / gpus + carried


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 8, 64])
def test_the_documents_trees_are_proved(nodes):
    trees.register()
    for name in (trees.UP, trees.DOWN):
        report = weft.plan.verify(weft.plan.make_plan(name, nodes))
        assert report.ok, str(report)
    with pytest.raises(weft.InvalidArgument, match="the master is rank 0"):
        weft.plan.make_plan(trees.UP, nodes, {"root": 1})


def test_layers_are_those_of_the_document():
    from gpi.networks import layers_of

    alexnet = {layer["name"]: layer for layer in layers_of("alexnet")}
    assert sum(layer["bytes"] for layer in alexnet.values()) == 243_860_896
    assert alexnet["conv1"]["products"] == 55 * 55 * 96 * 11 * 11 * 3
    assert alexnet["conv2"]["products"] == 27 * 27 * 256 * 5 * 5 * 48  # two groups
    assert alexnet["fc6"]["products"] == 9216 * 4096
