"""When the steps of a plan run, and what each message carries.

Times are the cost model's (`weft.price`); what buffers hold is found by doing its steps in its
order once more, on names.

    schedule = run(make_plan("allreduce/ring", 4), "tsubame3", size=1 << 20)
    schedule.end, schedule.tasks, schedule.messages
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from weft import _core
from weft.plan import Operand, Plan, Step

_BLOCK = 64  # bytes, where nobody says how long the message is: a cache line


@dataclass(frozen=True)
class Value:
    """The content of a piece of a buffer: whose contributions, which blocks, which chunk."""

    ranks: frozenset[int]
    side: str  # input or output, whose blocks are counted
    block: int
    blocks: int
    chunk: int | None  # None: there is but one


@dataclass
class Task:
    """A step of one rank that takes time, or waits."""

    rank: int
    verb: str
    start: float
    end: float
    text: str


@dataclass
class Message:
    """From sending to receiving, to one destination."""

    source: int
    destination: int
    channel: int
    number: int  # equal for the destinations of one message
    sent: float
    arrived: float
    received: float
    credited: float
    size: int  # bytes
    value: Value | None  # None: no payload


@dataclass
class Schedule:
    """Tasks and messages of all ranks, in the order of their beginning."""

    plan: Plan
    unit: str  # of all times: "steps", "us"
    end: float  # when the last rank is through
    tasks: list[Task]
    messages: list[Message]


def run(
    plan: Plan,
    topology: str | Path | _core.Topology | None = None,
    size: int | None = None,
    chunk: int = 65536,
) -> Schedule:
    """The schedule of `plan` for a message of `size` bytes, cut into equal blocks and chunks.

    Args:
        plan: one that the verifier finds right; of others what is drawn means nothing.
        topology: a value, a shipped name or a file; None: one on which a message takes a step,
            and so does copying a chunk, or adding two of them.
        size: bytes of the whole message; None: one chunk a block.
        chunk: bytes of a chunk at most.

    Raises:
        InvalidPlan: if the ranks get stuck.
        InvalidArgument: the topology has too few ranks.
        Unsupported: the plan is the fabric's own function, which no topology has times for.
    """
    if topology is None and _is_native(plan):
        text = "native: the fabric's own function, however long it takes"
        boxes = [Task(rank, "native", 0.0, 1.0, text) for rank in range(plan.shape.ranks)]
        return Schedule(plan, "steps", 1.0, boxes, [])
    blocks = max(plan.shape.input_blocks, plan.shape.output_blocks, 1)
    nbytes = _BLOCK * blocks if size is None else size
    chunk = nbytes if size is None else chunk
    if topology is None:
        place, unit, scale = _in_steps(plan, min(chunk, -(-nbytes // blocks))), "steps", 1.0
    else:
        place, unit, scale = _loaded(topology), "us", 1e6
    found = _core.timeline(plan, place, nbytes, chunk, "float32", False, topology is not None)
    return _Replay(plan, found, unit, scale).run()


def _is_native(plan: Plan) -> bool:
    steps = [step for sections in plan.programs for section in sections for step in section.steps]
    return any(step.verb == "native" for step in steps)


def _in_steps(plan: Plan, piece: int) -> _core.Topology:
    from weft.topology import Rates, Wire, flat

    half = Wire(latency=0.5, bandwidth=1e30, shared=False)
    piece = max(1, piece)
    return flat(plan.shape.ranks, half, rates=Rates(copy=piece, reduce=2 * piece), name="steps")


def _loaded(topology: str | Path | _core.Topology) -> _core.Topology:
    from weft.topology import load

    return topology if isinstance(topology, _core.Topology) else load(topology)


class _Replay:
    """Does the steps of a timeline on the names of what buffers hold."""

    def __init__(self, plan: Plan, found: _core.Timeline, unit: str, scale: float) -> None:
        self.plan, self.found, self.unit, self.scale = plan, found, unit, scale
        self.sent = found.messages
        self.tasks: list[Task] = []
        self.messages: list[Message] = []  # in the order of self.sent
        self.filled: dict[tuple[int, int], Value] = {}  # own slots, by rank and channel
        self.outputs: dict[tuple[int, str, int, int], Value] = {}
        self.numbers = 0

    def run(self) -> Schedule:
        programs = self.plan.programs
        for done in self.found.steps:
            step = programs[done.rank][done.section].steps[done.step]
            self._time(done, step)
            if step.verb in ("copy", "reduce"):
                self._move(done, step)
            elif step.verb == "put":
                self._send(done, step, self._sources(done, step)[0])
            elif step.verb == "signal":
                self._send(done, step, self.filled.pop((done.rank, step.channel), None))
        return Schedule(
            self.plan,
            self.unit,
            self.found.price.seconds * self.scale,
            sorted(self.tasks, key=lambda task: (task.start, task.rank)),
            sorted(self.messages, key=lambda m: (m.sent, m.source, m.destination)),
        )

    def _time(self, done: _core.TimelineStep, step: Step) -> None:
        start, began, end = (t * self.scale for t in (done.start, done.began, done.end))
        if began > start:
            wait = {"wait": "", "flush": "wait until puts are read"}
            text = wait.get(step.verb, "wait for a slot to come back")
            text = text or f"wait for rank {step.peers[0].at(done.round)}"
            self.tasks.append(Task(done.rank, "wait", start, began, text))
        if end > began and step.verb in ("copy", "reduce", "put", "signal"):
            self.tasks.append(Task(done.rank, step.verb, began, end, str(step)))

    def _move(self, done: _core.TimelineStep, step: Step) -> None:
        value = self._sum(self._sources(done, step))
        for operand in step.dst:
            if operand.buffer == "slot":
                self.filled[done.rank, operand.channel] = value
                continue
            first = operand.range.block.at(done.round)
            for block in range(first, first + operand.range.blocks):
                self.outputs[done.rank, operand.buffer, block, done.chunk] = value

    def _send(self, done: _core.TimelineStep, step: Step, value: Value | None) -> None:
        self.numbers += 1
        for m in self.sent[done.sent : done.sent + len(step.peers)]:
            message = Message(
                m.source, m.destination, m.channel, self.numbers, m.sent * self.scale,
                m.arrived * self.scale, m.received * self.scale, m.credited * self.scale,
                int(m.bytes), value,
            )  # fmt: skip
            self.messages.append(message)

    def _sources(self, done: _core.TimelineStep, step: Step) -> list[Value]:
        received = iter(done.read)
        return [
            self._received(next(received))
            if operand.buffer == "slot"
            else self._read(done, operand)
            for operand in step.src
        ]

    def _received(self, number: int) -> Value:
        value = self.messages[number].value
        assert value is not None
        return value

    def _read(self, done: _core.TimelineStep, operand: Operand) -> Value:
        owner = operand.rank.at(done.round)
        block, blocks = operand.range.block.at(done.round), operand.range.blocks
        held = self.outputs.get((owner, operand.buffer, block, done.chunk))
        ranks = held.ranks if held else frozenset((owner,))
        number = done.chunk if done.chunks > 1 else None
        return Value(ranks, operand.buffer, block, blocks, number)

    def _sum(self, values: list[Value]) -> Value:
        first = values[0]
        ranks = frozenset().union(*(value.ranks for value in values))
        return Value(ranks, first.side, first.block, first.blocks, first.chunk)
