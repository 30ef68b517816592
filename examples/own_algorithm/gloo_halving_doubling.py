"""Gloo's halving-doubling reduce-scatter as a plan: refused as it is, proved with one change.

    python examples/own_algorithm/gloo_halving_doubling.py --ranks 4
    weft verify examples/own_algorithm/gloo_halving_doubling.py --ranks 1,2,4,8,16

Gloo sends parts of a buffer, and writes the result to the front of the same buffer. `shares_front`
has its order of operations. `own_place` is the same algorithm with the result in a place of its
own. docs/proved.md says what is modelled, and what is not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile

import numpy as np

import weft
from weft.plan import Builder


class Rank:
    """One rank's program. Gloo's buffer is the output where it is block 0, else the input."""

    def __init__(self, b: Builder, front_is_output: bool, waits_first: bool) -> None:
        self.b = b
        self.front_is_output = front_is_output
        self.waits_first = waits_first
        self.steps = b.ranks.bit_length() - 1
        self.peers = [b.rank ^ 1 << step for step in range(self.steps)]
        b.equal_counts()
        self.front, self.rest, self.note = (b.channel(slots) for slots in (2, 2 * b.ranks, 1))

    def write(self) -> None:
        """Halves the blocks at each step, then writes the one that is left to its place."""
        blocks = range(self.b.ranks)
        for step, peer in enumerate(self.peers):
            sent, blocks = halves(self.b.rank, blocks, step)
            for block in in_order(peer, sent, step + 1):
                self.send(block, step)
            for block in in_order(self.b.rank, blocks, step + 1):
                self.b.wait(peer, self.channel(block), of=self.b.input(block))
            if self.channel(0) == self.front and 0 in blocks:
                self.add_to_front(step)
        if self.waits_first:
            self.hear_note()
        self.write_result(blocks[0])
        if not self.waits_first:
            self.hear_note()

    def channel(self, block: int) -> int:
        return self.front if block == 0 and self.front_is_output else self.rest

    def sum_of(self, block: int, steps: int) -> list[weft.plan.Operand]:
        """The own contribution, and what came in that many steps."""
        return [self.b.input(block), *(self.b.slot(peer, self.rest) for peer in self.peers[:steps])]

    def give_back(self, block: int, steps: int) -> None:
        for peer in self.peers[:steps]:
            self.b.credit(peer, self.rest, of=self.b.input(block))

    def send(self, block: int, step: int) -> None:
        """Sends the sum so far: from the front of the buffer, the input, or a slot."""
        b, peer = self.b, self.peers[step]
        if self.channel(block) == self.front:
            if step == 0:
                b.copy(b.output(), b.input(0))  # the buffer as Gloo's caller has filled it
            b.put(b.output(), peer, self.front)
        elif step == 0:
            b.put(b.input(block), peer, self.rest)
        else:
            b.reduce(b.slot(self.rest), self.sum_of(block, step))
            b.signal(peer, self.rest, of=b.input(block))
            self.give_back(block, step)

    def add_to_front(self, step: int) -> None:
        """Adds what came to the front of the buffer, and notifies the sender."""
        b, peer = self.b, self.peers[step]
        front = b.output() if step > 0 else b.input(0)
        last = b.rank == 0 and step == self.steps - 1
        b.reduce(b.output(), [front, b.slot(peer, self.front)], last=last)
        b.credit(peer, self.front, of=b.input(0))
        b.signal(peer, self.note, of=b.input(0))

    def hear_note(self) -> None:
        """Waits until what went from the front has been received: of rank 0 nothing did."""
        if self.front_is_output and self.b.rank > 0:
            step = (self.b.rank & -self.b.rank).bit_length() - 1
            self.b.wait(self.peers[step], self.note, of=self.b.input(0))
            self.b.credit(self.peers[step], self.note, of=self.b.input(0))

    def write_result(self, block: int) -> None:
        """`block` is this rank's number with its bits reversed: swaps it with that rank."""
        b = self.b
        if block == 0 and self.front_is_output and b.ranks > 1:
            return  # rank 0 has it in place
        if block == b.rank:
            b.reduce(b.output(), self.sum_of(block, self.steps), last=True)
            return self.give_back(block, self.steps)
        b.reduce(b.slot(self.rest), self.sum_of(block, self.steps), last=True)
        b.signal(block, self.rest, of=b.input(block))
        self.give_back(block, self.steps)
        b.wait(block, self.rest, of=b.input(b.rank))
        b.copy(b.output(), b.slot(block, self.rest))
        b.credit(block, self.rest, of=b.input(b.rank))
        return None


def halves(rank: int, blocks: range, step: int) -> tuple[range, range]:
    """The blocks that a rank sends at a step, and those that it keeps."""
    low, high = blocks[: len(blocks) // 2], blocks[len(blocks) // 2 :]
    return (low, high) if rank >> step & 1 else (high, low)


def in_order(rank: int, blocks: range, step: int) -> list[int]:
    """Blocks in the order in which `rank` needs them, from `step` on."""
    if len(blocks) == 1:
        return list(blocks)
    sent, kept = halves(rank, blocks, step)
    return in_order(rank ^ 1 << step, sent, step + 1) + in_order(rank, kept, step + 1)


def only_powers_of_two(ranks: int, params: object) -> str | None:
    """Gloo's further steps for other counts are left out."""
    return None if ranks & (ranks - 1) == 0 else "the number of ranks is a power of two"


def write(b: Builder, front_is_output: bool = False, waits_first: bool = False) -> None:
    """Writes the plan of one rank; for one, all that there is to do."""
    rank = Rank(b, front_is_output, waits_first)
    with b.chunks():
        rank.write()


def shares_front(b: Builder) -> None:
    """Gloo's order of operations."""
    write(b, front_is_output=True)


@weft.algorithm("reduce_scatter/own_place", refuses=only_powers_of_two)
def own_place(b: Builder) -> None:
    """Recursive halving; the result in a place of its own."""
    write(b)


def run_rank(rank: int, ranks: int, rendezvous: str) -> None:
    """One rank's process: sums of several sizes, compared with what they must be."""
    with weft.init(rank, ranks, rendezvous) as comm:
        for count in (0, 1, 1000, 50_000):
            inputs = [np.arange(count * ranks, dtype=np.int64) * (r + 1) for r in range(ranks)]
            total = comm.reduce_scatter(inputs[rank], algorithm="own_place")
            np.testing.assert_array_equal(total, sum(inputs)[rank * count : (rank + 1) * count])


def run(ranks: int) -> bool:
    """Whether all ranks, each a process of its own, found every sum right."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="weft-") as rendezvous:
        arguments = [(rank, ranks, rendezvous) for rank in range(ranks)]
        processes = [context.Process(target=run_rank, args=given) for given in arguments]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return all(process.exitcode == 0 for process in processes)


def main() -> int:
    """Shows the refusal, then the proof, then the run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=2)
    ranks = parser.parse_args().ranks
    try:
        weft.algorithm("reduce_scatter/shares_front", refuses=only_powers_of_two)(shares_front)
    except weft.InvalidPlan as refusal:
        print(f"{refusal}\n")
    else:
        print("The verifier has missed the mistake.", file=sys.stderr)
        return 1
    proof = weft.plan.verify(weft.plan.make_plan("own_place", ranks))
    print(f"own_place is proved for {ranks} ranks, in {proof.scenarios} scenarios.")
    right = run(ranks)
    print(f"{ranks} ranks: all sums are {'right' if right else 'NOT right'}.")
    return 0 if right and proof else 1


if __name__ == "__main__":
    sys.exit(main())
