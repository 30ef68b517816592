"""An allreduce of one's own: written, proved and run.

    python examples/own_algorithm/own_algorithm.py --ranks 3

`everyone` is a whole algorithm, and is verified when it is defined. With `hasty` it has a mistake
that few tests would see, and is refused. Then that many ranks start and use it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile

import numpy as np

import weft


@weft.algorithm("allreduce/everyone")
def everyone(b: weft.plan.Builder, hasty: bool = False) -> None:
    """Every rank sends its input to every other, and adds up in rank order; one hop."""
    channel, x = b.channel(slots=4), b.input()
    others = [rank for rank in range(b.ranks) if rank != b.rank]
    with b.chunks():
        if others and hasty:  # lets them read x where it lies: perhaps after the sum replaced it
            b.put(x, others, channel)
        elif others:
            b.copy(b.slot(channel), x)
            b.signal(others, channel, of=x)
        for rank in others:
            b.wait(rank, channel, of=x)
        terms = [x if rank == b.rank else b.slot(rank, channel) for rank in range(b.ranks)]
        b.reduce(b.output(), terms, last=True)
        for rank in others:
            b.credit(rank, channel, of=x)


def run_rank(rank: int, ranks: int, rendezvous: str) -> None:
    """One rank's process: sums of all sizes, compared with what they must be."""
    with weft.init(rank, ranks, rendezvous) as comm:
        for count in (0, 1, 1000, 1_000_000):
            inputs = [np.arange(count, dtype=np.int64) * (r + 1) for r in range(ranks)]
            total = comm.allreduce(inputs[rank], algorithm="everyone")
            np.testing.assert_array_equal(total, sum(inputs))
            in_place = inputs[rank].copy()
            comm.allreduce(in_place, out=in_place, algorithm="everyone")
            np.testing.assert_array_equal(in_place, sum(inputs))


def run(ranks: int) -> bool:
    """Whether all ranks, each a process of its own, found every sum right."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="weft-") as rendezvous:
        processes = [
            context.Process(target=run_rank, args=(rank, ranks, rendezvous))
            for rank in range(ranks)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    return all(process.exitcode == 0 for process in processes)


def main() -> int:
    """Shows the plan, the refusal and the run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=3)
    ranks = parser.parse_args().ranks

    plan = weft.plan.make_plan("everyone", ranks)
    report = weft.plan.verify(plan)
    print(f"{plan}\nProved in {report.scenarios} scenarios.", end=" ")
    print(f"All ranks get the same bits: {'yes' if report.consistent else 'no'}.\n")

    try:
        weft.algorithm("allreduce/hasty")(lambda b: everyone(b, hasty=True))
    except weft.InvalidPlan as refusal:
        print(f"The verifier refuses the hasty one:\n{refusal}\n")
    else:
        print("The verifier has missed the mistake.", file=sys.stderr)
        return 1

    right = run(ranks)
    print(f"{ranks} ranks: all sums are {'right' if right else 'NOT right'}.")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
