"""weft.search and `weft search`: what is found is better, within the bound, and runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import weft
from weft._build_info import SIMGRID_MISSING
from weft.cli import main
from weft.searching import bound, save, search
from weft.searching.proof import counts_of, prove
from weft.searching.space import Candidate, spaces
from weft.topology import Wire, flat, load

from launch import run

M = 1 << 20
WIRE = Wire(latency=1e-6, bandwidth=10e9)


@pytest.mark.parametrize(
    ("collective", "name", "ranks", "seconds"),
    [
        # 4 (n - 1) / n * N over two half-duplex rails of 12.5 GB/s a node.
        ("allreduce", "tsubame3", 256, 4 * 63 / 64 * 32 * M / 25e9),
        ("allreduce", "tsubame3", 64, 4 * 15 / 16 * 32 * M / 25e9),
        ("broadcast", "tsubame3", 256, 2 * 63 / 64 * 32 * M / 25e9),
    ],
)
def test_bound(collective, name, ranks, seconds):
    assert bound(collective, load(name), ranks, 32 * M) == pytest.approx(seconds)


def test_bound_of_full_duplex_is_of_what_is_sent():
    assert bound("allreduce", flat(8, WIRE), 8, M) == pytest.approx(2 * 7 / 8 * M / 10e9)


def test_nothing_is_faster_than_the_bound():
    for collective in ("allreduce", "broadcast", "allgather", "reduce_scatter", "alltoall"):
        place = load("tsubame3")
        least = bound(collective, place, 16, 4 * M)
        for space in spaces(collective, place, 16):
            price = weft.price(space.algorithm, place, ranks=16, nbytes=4 * M)
            assert price.seconds >= least, space.algorithm


def test_what_refuses_the_ranks_is_not_searched():
    def pairs(ranks, params):
        return None if ranks == 2 else "only pairs"

    @weft.plan.algorithm("barrier/of_a_pair", refuses=pairs)
    def barrier(b):
        channel = b.channel(slots=1)
        with b.once():
            for other in range(1 - b.rank, b.ranks, 2):
                b.signal([other], channel)
                b.wait(other, channel)
                b.credit(other, channel)

    place = load("tsubame3")
    found = {ranks: [s.algorithm for s in spaces("barrier", place, ranks)] for ranks in (2, 16)}
    assert "barrier/of_a_pair" in found[2]
    assert found[16] == [name for name in found[2] if name != "barrier/of_a_pair"]


def test_levels_are_found_where_nodes_are():
    place = load("tsubame3")
    found = search("allreduce", place, ranks=16, nbytes=8 * M, slot_bytes=0, simulate=False)
    best = found.best.candidate
    assert best.values()["node"] == 4
    again = weft.price(str(best), place, ranks=16, nbytes=8 * M)
    assert again.seconds == found.best.seconds
    for flat_one in ("lr", "rabenseifner", "lr_rab"):
        other = weft.price(flat_one, place, ranks=16, nbytes=8 * M, chunk=8 * M)
        assert found.best.seconds < other.seconds
    assert found.bound < found.best.seconds
    assert found.proved_ranks == 16


def tuned(job, file):
    with job.communicator(tuning=file) as comm:
        total = comm.allreduce(np.full(M // 4, comm.rank + 1.0, np.float32))
    return float(total.min()), float(total.max())


def test_what_is_found_runs(tmp_path):
    place = flat(4, WIRE)
    found = search("allreduce", place, nbytes=M, simulate=False)
    file = tmp_path / "tuning.json"
    save(found, file)
    chosen = weft._core.select("allreduce", 4, M, nodes=found.nodes, tuning=str(file))
    assert (chosen.rule, chosen.choice.algorithm) == ("table", found.best.candidate.algorithm)
    assert chosen.choice.chunk == found.best.candidate.chunk
    assert run(tuned, 4, str(file)) == [(10.0, 10.0)] * 4


@pytest.mark.parametrize(
    ("node", "ranks", "counts"),
    [(4, 256, [8, 16, 32, 64]), (4, 24, [24]), (1, 7, [3, 7]), (3, 17, [17]), (8, 8, [8])],
)
def test_proofs_are_of_the_same_shape(node, ranks, counts):
    candidate = Candidate("allreduce/multi_leader", (("node", node),))
    assert counts_of(candidate, ranks) == counts


def test_a_wrong_winner_is_refused(monkeypatch):
    broken = weft.plan.make_plan("broadcast/chain", 4)
    monkeypatch.setattr("weft.searching.proof.make_plan", lambda *_: without_credits(broken))
    with pytest.raises(weft.InvalidPlan, match="broadcast/chain"):
        prove(Candidate("broadcast/chain"), 4)


def without_credits(plan):
    return weft.plan.parse_plan(
        "\n".join(line for line in str(plan).splitlines() if "credit" not in line)
    )


def command(*words):
    return CliRunner().invoke(main, ["search", *words])


def test_command_says_the_same(tmp_path):
    file = tmp_path / "found.json"
    words = ("broadcast", "--topology", "rx2", "--bytes", "4M", "--no-simulate")
    result = command(*words, "--json", str(file), "--output", str(tmp_path / "tuning.json"))
    assert result.exit_code == 0, result.output
    known = json.loads(file.read_text())
    best = known["found"][0]
    price = weft.price(best["use"], "rx2", nbytes=4 * M, slot_bytes=4 * M)
    assert best["priced"] == price.seconds
    assert (known["ranks"], known["nodes"], known["simulated"]) == (16, 16, 0)
    shown = command(*words)
    assert best["use"] in shown.output
    assert "Proved for 16 ranks" in shown.output
    assert "WEFT_ALGORITHM" in shown.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("allreduce", "--topology", "nowhere", "--bytes", "1M"), "nowhere"),
        (("allreduce", "--topology", "rx2", "--ranks", "17", "--bytes", "1M"), "16 ranks"),
        (("sum", "--topology", "rx2", "--bytes", "1M"), "sum"),
        (("allreduce", "--topology", "rx2", "--bytes", "0"), "1 or more"),
    ],
)
def test_what_cannot_be_searched_for_is_said(words, says):
    result = command(*words)
    assert result.exit_code != 0
    assert says in result.output


@pytest.mark.skipif(bool(SIMGRID_MISSING), reason="Weft was built without SimGrid")
def test_the_best_by_price_are_simulated():
    found = search("allreduce", "tsubame3", ranks=16, nbytes=M, top=3)
    times = [outcome.simulated for outcome in found.outcomes]
    assert times[0] == min(time for time in times if time is not None)
    best = found.best.candidate
    again = weft.simulate(str(best), "tsubame3", ranks=16, nbytes=M)
    assert again.seconds == pytest.approx(times[0])
