"""weft.simulate_step: closed formulas, what overtakes what, what is refused."""

from __future__ import annotations

import pytest

import weft
from weft import simulation
from weft._build_info import SIMGRID_MISSING
from weft.steps import Collective, Compute, Copy, Wait
from weft.topology import Link, Rates, Topology, Vertex, Wire, flat

K, M = 1 << 10, 1 << 20
STAR = Wire(latency=1e-6, bandwidth=6.8e9)
FOUR = flat(4, STAR)

pytestmark = pytest.mark.skipif(bool(SIMGRID_MISSING), reason=SIMGRID_MISSING)


def ring(name="g", nbytes=32 * M, **how):
    return Collective(name, "allreduce/ring", nbytes, chunk=M, **how)


def step(program, topology=FOUR, **how):
    return weft.simulate_step(program, topology, **{"model": "plain", **how})


def alone(nbytes=32 * M):
    return weft.simulate("lr", FOUR, nbytes=nbytes, chunk=M, model="plain").seconds


def ends(found, name, iteration=0):
    """The end of what has that name, by rank."""
    spans = [
        span
        for span in found.spans
        if span.operation.name == name and not isinstance(span.operation, Wait)
    ]
    return {span.rank: span.end for span in spans if span.iteration == iteration}


WORKING = flat(8, STAR, rates=Rates(copy=10e9, reduce=8e9, step=2e-8, call=1e-6))


@pytest.mark.parametrize("model", ["plain", "smpi"])
@pytest.mark.parametrize("topology", ["tsubame3", "rx1", WORKING])
@pytest.mark.parametrize(
    "algorithm", ["lr", "lr_lr", "ta_pc", "alltoall/pairwise", "reduce/binomial", "lr(chunk=64K)"]
)
def test_one_collective_alone_is_simulate_to_the_bit(algorithm, topology, model):
    how = {"ranks": 8, "model": model}
    found = step([Collective("g", algorithm, 3 * M)], topology, iterations=1, **how)
    wanted = weft.simulate(algorithm, topology, nbytes=3 * M, **how)
    assert (found.seconds, found.messages) == (wanted.seconds, wanted.messages)


def test_a_collective_by_its_name_is_what_weft_selects():
    chosen = weft._core.select("allreduce", 4, 32 * M, nodes=4).choice
    found = step([Collective("g", "allreduce", 32 * M)], iterations=1)
    wanted = weft.simulate(str(chosen), FOUR, nbytes=32 * M, model="plain")
    assert found.seconds == wanted.seconds


def test_a_plan_at_hand():
    plan = weft.plan.make_plan("allreduce/ring", 4)
    found = step([Collective("g", plan, 32 * M, chunk=M)], iterations=1)
    assert found.seconds == alone()


@pytest.mark.parametrize("compute", [0.0, 0.003, 0.03])
def test_without_overlap_parts_add_up(compute):
    found = step([Compute(compute), ring(), Wait("g")])
    assert found.seconds == pytest.approx(compute + alone())
    assert found.waited == {"g": pytest.approx(alone())}


@pytest.mark.parametrize("compute", [0.0, 0.003, 0.03])
def test_with_overlap_the_longer_one_counts(compute):
    found = step([ring(), Compute(compute), Wait("g")])
    assert found.seconds == pytest.approx(max(compute, alone()))
    assert found.waited == {"g": pytest.approx(max(0, alone() - compute), abs=1e-12)}


def test_a_wait_above_its_start_is_for_the_iteration_before():
    # The gradient of the last layer has its way under the backward pass of the first.
    forward, backward = 0.001, 0.001
    program = [
        Wait("first"), Compute(forward), Wait("last"), Compute(forward),
        Compute(backward), ring("last", 8 * M), Compute(backward), ring("first", 8 * M),
    ]  # fmt: skip
    found = step(program)
    assert alone(8 * M) > backward  # so that the second collective begins after the first
    assert found.seconds == pytest.approx(2 * forward + backward + 2 * alone(8 * M))
    first = [span for span in found.spans if isinstance(span.operation, Wait)]
    assert {span.iteration for span in first} == {1, 2, 3, 4, 5}


def test_collectives_of_one_priority_take_turns():
    found = step([ring("a"), ring("b"), ring("c")], iterations=1)
    for number, name in enumerate("abc", start=1):
        assert max(ends(found, name).values()) == pytest.approx(number * alone())


@pytest.mark.parametrize("priority", [0, 1])
def test_a_higher_priority_overtakes(priority):
    def chain(name, chunks, **how):
        return Collective(name, "broadcast/chain", chunks * M, chunk=M, **how)

    def last(found, name):
        return max(ends(found, name).values())

    chunk = M / 6.8e9
    high = chain("high", 8, priority=priority)
    by_itself = step([high], iterations=1).seconds
    found = step([chain("low", 64), Compute(20 * chunk), high], iterations=1)
    if priority:  # as in the engine, it waits for the low message that is on its way
        assert 0 <= last(found, "high") - 20 * chunk - by_itself <= chunk
        assert last(found, "low") == pytest.approx((64 + 8 + 2) * chunk, rel=0.01)
    else:
        assert last(found, "high") >= 64 * chunk


def test_copies_run_beside_and_one_after_the_other():
    down, up = Copy("down", 0.003), Copy("up", 0.005, after=("g",))
    chain = [down, ring(after=("down",)), up, Compute(0.001), Wait("up")]
    assert step(chain).seconds == pytest.approx(0.008 + alone())
    two = [Copy("a", 0.003), Copy("b", 0.005), Wait("a"), Wait("b")]
    assert step(two).seconds == pytest.approx(0.008)
    two[1] = Copy("b", 0.005, engine="other")
    assert step(two).seconds == pytest.approx(0.005)


@pytest.mark.parametrize("compute", [0.003, 0.03])
def test_communication_that_takes_from_computation(compute):
    # Nothing is under way in the first and in the last part.
    program = [Compute(0.001), ring(), Compute(compute), Wait("g"), Compute(0.001)]
    found = step(program, slowdown=1.5)
    hidden = min(compute, alone() / 1.5)  # of the computation, while the collective is under way
    assert found.seconds == pytest.approx(0.002 + max(alone(), 1.5 * hidden + (compute - hidden)))
    copy = [Copy("c", 0.01), Compute(0.01), Wait("c")]
    assert step(copy, slowdown=2).seconds == pytest.approx(0.01)


def test_the_others_wait_for_a_late_rank():
    late = [[Compute(0.01 if rank == 2 else 0.001), ring(), Wait("g")] for rank in range(4)]
    found = step(late)
    assert found.seconds == pytest.approx(0.01 + alone())
    assert found.waited["g"] == pytest.approx(alone() + 0.009 * 3 / 4)


def test_nobody_waits_who_need_not():
    # The root of a broadcast goes on when its messages have left; the others get them later.
    far = flat(2, Wire(latency=0.05, bandwidth=1e9))
    program = [Collective("b", "broadcast/one_shot", M, chunk=M), Wait("b")]
    found = step(program, far, iterations=1)
    assert ends(found, "b") == {0: pytest.approx(M / 1e9), 1: pytest.approx(0.1 + M / 1e9)}


def test_the_way_is_shared():
    # Two pairs over one link between switches: each collective alone has all of it.
    ends_of = [Vertex(f"r{i}", i) for i in range(2)]
    pair = Topology("pair", ends_of, [Link(0, 1, 0, 1e9)], [0, 1])
    one = Collective("a", "broadcast/one_shot", 8 * M, chunk=M)
    other = Collective("b", "broadcast/one_shot", 8 * M, chunk=M, params={"root": 1})
    found = step([one, other], pair, iterations=1)
    assert found.seconds == pytest.approx(16 * M / 1e9)  # a lane's are one after the other
    beside = [one, Collective("b", "broadcast/one_shot", 8 * M, chunk=M, priority=1)]
    assert step(beside, pair, iterations=1).seconds == pytest.approx(16 * M / 1e9)
    both_ways = [
        one,
        Collective("b", "broadcast/one_shot", 8 * M, {"root": 1}, chunk=M, priority=1),
    ]
    assert step(both_ways, pair, iterations=1).seconds == pytest.approx(8 * M / 1e9)


def test_several_at_once_and_progress():
    seen = []
    program = [ring("a", 64 * M, priority=0), ring("b", 64 * M, priority=1), Wait("a"), Wait("b")]
    found = step(program, iterations=10, progress=seen.append)
    assert seen
    assert seen[-1] <= found.messages == 10 * 2 * 24 * 16


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ([Compute(-1.0)], "rank 0, operation 0: -1.0 seconds"),
        ([Compute(float("nan"))], "nan seconds"),
        ([Copy("c", -0.5)], "-0.5 seconds"),
        ([ring(nbytes=-4)], "nbytes -4"),
        ([ring(), Wait("h")], "operation 1: waits for 'h', which the program never starts; .*g"),
        ([ring(), ring()], "operation 1: 'g' is the name of operation 0 too"),
        ([ring(after=("c",)), Copy("c", 1)], "after 'c', which is not started above"),
        ([Collective("g", "alreduce", M)], "collective 'g': .*alreduce"),
        ([Collective("g", "lr", M, params={"turns": 2})], "collective 'g': .*turns"),
        ([Collective("g", weft.plan.make_plan("lr", 3), M)], "collective 'g': the plan is for 3"),
        ([Compute(1), "compute"], "rank 0, operation 1: 'compute' is no operation"),
        ([], r"rank 0: the program is \[\]: give some operations"),
        ([[ring()]] * 3, "3 programs for 4 ranks"),
        ([[ring()]] * 3 + [[]], r"rank 3: the program is \[\]"),
        (
            [[ring()]] * 3 + [[ring(nbytes=M)]],
            "rank 3: its collective number 0 .* 1048576",
        ),
        ([[ring()]] * 3 + [[Compute(1)]], "rank 3: .* missing, that of rank 0 'g'"),
        ([[ring("a"), ring("b")]] * 3 + [[ring("b"), ring("a")]], "rank 3: .* is 'b' .* 'a'"),
    ],
)
def test_refusals(program, said):
    with pytest.raises(weft.InvalidArgument, match=said):
        step(program)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"iterations": 0}, "iterations 0"),
        ({"slowdown": 0.5}, "slowdown 0.5: give a number from 1 on"),
        ({"slowdown": float("nan")}, "slowdown nan"),
        ({"ranks": 9}, "has 4 ranks, not 9"),
        ({"model": "tcp"}, "smpi"),
    ],
)
def test_refused_options(how, said):
    with pytest.raises(weft.InvalidArgument, match=said):
        step([ring()], **how)


def test_a_plan_that_gets_stuck():
    shape = weft.plan.PlanShape("barrier/test", "barrier", 2)
    builder = weft.plan.Builder(0, shape)
    builder.channel(slots=1)
    with builder.once():
        builder.wait(1, 0)
    program = builder.finish()
    stuck = weft.plan.Plan(builder.shape, [program, []])
    with pytest.raises(weft.InvalidPlan, match="barrier/test: rank 0 waits for ever"):
        step([Collective("g", stuck, 0)], flat(2, STAR))
    bare = weft.plan.PlanShape("barrier/test", "barrier", 2, input_blocks=0, output_blocks=0)
    undeclared = weft.plan.Plan(bare, [program, []])
    said = r"barrier/test: rank 0, .*channel 0.*not declared"
    with pytest.raises(weft.InvalidPlan, match=said):
        step([Collective("g", undeclared, 0)], flat(2, STAR))
    with pytest.raises(weft.InvalidPlan, match=said):
        weft.price(undeclared, flat(2, STAR), nbytes=8)


def test_without_simgrid(monkeypatch):
    monkeypatch.setattr(simulation, "SIMGRID_MISSING", "there was no SimGrid")
    with pytest.raises(weft.Unsupported, match="libsimgrid-dev"):
        step([ring()])
