"""When the steps of a plan run: one execution of all ranks, with a price on each step.

Which step waits for which does not depend on prices, so this is the plan's own order; a source of
prices (`Costs`) stretches it. `UnitCosts` counts: a message, a copy and a reduction take one each.

    schedule = run(make_plan("allreduce/ring", 4))
    schedule.end, schedule.tasks, schedule.messages
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from weft.errors import InvalidPlan
from weft.plan import Operand, Plan, Range, Section, Step

MAILBOX_DEPTH = 8  # messages of one (source, destination, channel) that may be unreturned


class Costs(Protocol):
    """What steps and messages take, in units of `unit`."""

    unit: str  # "steps", "us"

    def step(self, rank: int, verb: str, sources: int, size: int) -> float:
        """The rank's own time for a copy, reduce, put or signal of `size` bytes."""

    def message(self, source: int, destination: int, size: int) -> float:
        """From sending to the moment when it can be received."""


class UnitCosts:
    """One for a message, a copy or a reduction, nothing for the rest."""

    unit = "steps"

    def step(self, rank: int, verb: str, sources: int, size: int) -> float:
        """As `Costs`."""
        return 1.0 if verb in ("copy", "reduce") else 0.0

    def message(self, source: int, destination: int, size: int) -> float:
        """As `Costs`."""
        return 1.0


@dataclass(frozen=True)
class Value:
    """What a piece of a buffer holds: whose contributions, which blocks, which chunk."""

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
    received: float = 0.0
    value: Value | None = None  # None: no payload
    size: int = 0  # bytes
    returned: float | None = None


@dataclass
class Schedule:
    """Tasks and messages of all ranks, in the order of their beginning."""

    plan: Plan
    unit: str
    tasks: list[Task]
    messages: list[Message]

    @property
    def end(self) -> float:
        """When the last rank is through."""
        ends = [task.end for task in self.tasks] + [m.received for m in self.messages]
        return max(ends, default=0.0)


def run(
    plan: Plan, size: int | None = None, chunk: int = 65536, costs: Costs | None = None
) -> Schedule:
    """Executes `plan` for a message of `size` bytes, cut into equal blocks, and those into chunks.

    Args:
        plan: one that the verifier finds right; of others what is drawn means nothing.
        size: bytes of the whole message; None: one chunk a block.
        chunk: bytes of a chunk at most.
        costs: the prices; by default `UnitCosts`.

    Raises:
        InvalidPlan: if the ranks get stuck.
    """
    execution = _Execution(plan, size, chunk, costs or UnitCosts())
    return execution.run()


@dataclass
class _Rank:
    steps: list[tuple[Step, int, int]]  # step, round, chunk
    at: int = 0
    now: float = 0.0
    filled: dict[int, tuple[Value, int]] = field(default_factory=dict)  # own slots, by channel


class _Execution:
    def __init__(self, plan: Plan, size: int | None, chunk: int, costs: Costs) -> None:
        self.plan, self.costs = plan, costs
        shape = plan.shape
        blocks = max(shape.input_blocks, shape.output_blocks, 1)
        self.block_bytes = 1 if size is None else -(-size // blocks)
        self.chunk = max(1, self.block_bytes * blocks if size is None else chunk)
        self.sized = size is not None
        self.ranks = [_Rank(list(self._unrolled(program))) for program in plan.programs]
        self.tasks: list[Task] = []
        self.sent: dict[tuple[int, int], list[list[Message]]] = defaultdict(list)
        self.streams: dict[tuple[int, int, int], list[Message]] = defaultdict(list)
        self.waited: dict[tuple[int, int, int], int] = defaultdict(int)
        self.credited: dict[tuple[int, int, int], int] = defaultdict(int)
        self.outputs: dict[tuple[int, str, int, int], Value] = {}
        self.numbers = 0

    def run(self) -> Schedule:
        moved = True
        while moved:
            moved = False
            for rank in range(len(self.ranks)):
                while self._advance(rank):
                    moved = True
        stuck = [rank for rank, r in enumerate(self.ranks) if r.at < len(r.steps)]
        if stuck:
            raise InvalidPlan(f"{self.plan.shape.algorithm}: rank {stuck[0]} never gets further")
        messages = [message for stream in self.streams.values() for message in stream]
        return Schedule(
            self.plan,
            self.costs.unit,
            sorted(self.tasks, key=lambda task: (task.start, task.rank)),
            sorted(messages, key=lambda m: (m.sent, m.source, m.destination)),
        )

    def _chunks(self, range: Range) -> int:
        return max(1, -(-self.block_bytes * range.blocks // self.chunk))

    def _unrolled(self, program: list[Section]):
        for section in program:
            chunks = [self._chunks(s.extent) if section.chunked else 1 for s in section.steps]
            trips = max((c + s.lag for c, s in zip(chunks, section.steps, strict=True)), default=0)
            for round in range(section.rounds):
                for trip in range(trips):
                    for step, count in zip(section.steps, chunks, strict=True):
                        if 0 <= trip - step.lag < count:
                            yield step, round, trip - step.lag

    def _advance(self, rank: int) -> bool:
        own = self.ranks[rank]
        if own.at == len(own.steps):
            return False
        step, round, chunk = own.steps[own.at]
        go: Callable[[int, Step, int, int], bool] = getattr(self, f"_{step.verb}")
        if not go(rank, step, round, chunk):
            return False
        own.at += 1
        return True

    # What each verb does: False if it cannot go yet.

    def _copy(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        return self._move(rank, step, round, chunk)

    def _reduce(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        return self._move(rank, step, round, chunk)

    def _move(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        channels = [operand.channel for operand in step.dst if operand.buffer == "slot"]
        start = self.ranks[rank].now
        for channel in channels:
            free = self._slot_free(rank, channel)
            if free is None:
                return False
            start = max(start, free)
        size = self._size(step, chunk)
        value = self._sum([self._read(rank, o, step, round, chunk) for o in step.src])
        self._spend(rank, step, start, self.costs.step(rank, step.verb, len(step.src), size))
        for operand in step.dst:
            if operand.buffer == "slot":
                self.ranks[rank].filled[operand.channel] = (value, size)
            else:
                block = operand.range.block.at(round)
                for b in range(block, block + operand.range.blocks):
                    self.outputs[rank, operand.buffer, b, chunk] = value
        return True

    def _put(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        start = self._may_send(rank, step, round, filling=True)
        if start is None:
            return False
        value = self._read(rank, step.src[0], step, round, chunk)
        self._send(rank, step, round, start, value, self._size(step, chunk))
        return True

    def _signal(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        start = self._may_send(rank, step, round, filling=False)
        if start is None:
            return False
        value, size = self.ranks[rank].filled.pop(step.channel, (None, 0))
        self._send(rank, step, round, start, value, size)
        return True

    def _wait(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        key = (step.peers[0].at(round), rank, step.channel)
        if self.waited[key] == len(self.streams[key]):
            return False
        message = self.streams[key][self.waited[key]]
        self.waited[key] += 1
        own = self.ranks[rank]
        if message.arrived > own.now:
            text = f"wait for rank {message.source}"
            self.tasks.append(Task(rank, "wait", own.now, message.arrived, text))
            own.now = message.arrived
        message.received = own.now
        return True

    def _credit(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        key = (step.peers[0].at(round), rank, step.channel)
        self.streams[key][self.credited[key]].returned = self.ranks[rank].now
        self.credited[key] += 1
        return True

    def _flush(self, rank: int, step: Step, round: int, chunk: int) -> bool:
        own = [m for (source, _), sent in self.sent.items() if source == rank for m in sent]
        returned = [message.returned for group in own for message in group]
        if any(time is None for time in returned):
            return False
        now = max((time for time in returned if time is not None), default=0.0)
        self.ranks[rank].now = max(self.ranks[rank].now, now)
        return True

    # Parts of them.

    def _slot_free(self, rank: int, channel: int) -> float | None:
        """When the slot that is filled next is free; None: not known yet."""
        sent = self.sent[rank, channel]
        before = len(sent) - self.plan.shape.channels[channel].slots
        times = [m.returned for m in sent[before]] if before >= 0 else []
        return None if None in times else max((t for t in times if t is not None), default=0.0)

    def _may_send(self, rank: int, step: Step, round: int, filling: bool) -> float | None:
        start = self.ranks[rank].now
        for peer in step.peers:
            stream = self.streams[rank, peer.at(round), step.channel]
            if len(stream) >= MAILBOX_DEPTH:
                returned = stream[len(stream) - MAILBOX_DEPTH].returned
                if returned is None:
                    return None
                start = max(start, returned)
        free = self._slot_free(rank, step.channel) if filling else 0.0
        return None if free is None else max(start, free)

    def _send(
        self, rank: int, step: Step, round: int, start: float, value: Value | None, size: int
    ) -> None:
        now = self._spend(rank, step, start, self.costs.step(rank, step.verb, 1, size))
        self.numbers += 1
        group = []
        for peer in step.peers:
            to = peer.at(round)
            message = Message(
                rank, to, step.channel, self.numbers, now, now + self.costs.message(rank, to, size),
                value=value, size=size,
            )  # fmt: skip
            self.streams[rank, to, step.channel].append(message)
            group.append(message)
        self.sent[rank, step.channel].append(group)

    def _spend(self, rank: int, step: Step, start: float, cost: float) -> float:
        own = self.ranks[rank]
        if start > own.now:
            self.tasks.append(Task(rank, "wait", own.now, start, "wait for a slot to come back"))
        if cost > 0:
            self.tasks.append(Task(rank, step.verb, start, start + cost, str(step)))
        own.now = start + cost
        return own.now

    def _size(self, step: Step, chunk: int) -> int:
        if not self.sized:
            return 0
        whole = self.block_bytes * step.extent.blocks
        return max(0, min(self.chunk, whole - chunk * self.chunk))

    def _read(self, rank: int, operand: Operand, step: Step, round: int, chunk: int) -> Value:
        owner = operand.rank.at(round)
        if operand.buffer == "slot":
            key = (owner, rank, operand.channel)
            value = self.streams[key][self.credited[key]].value
            assert value is not None
            return value
        block, blocks = operand.range.block.at(round), operand.range.blocks
        held = self.outputs.get((owner, operand.buffer, block, chunk))
        ranks = held.ranks if held else frozenset((owner,))
        number = chunk if self._chunks(step.extent) > 1 else None
        return Value(ranks, operand.buffer, block, blocks, number)

    def _sum(self, values: list[Value]) -> Value:
        first = values[0]
        ranks = frozenset().union(*(value.ranks for value in values))
        return Value(ranks, first.side, first.block, first.blocks, first.chunk)
