"""Writes docs/results/smpi.md's tables: collectives of SimGrid's own MPI beside simulated plans.

From smpi.jsonl; --data first runs and simulates all of it again (half a minute; needs smpicc and
smpirun of SimGrid).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from page import asked_for_data, digits, fill, of, read, size, steps, table, write

if TYPE_CHECKING:
    from weft import Topology

PROGRAM = Path(__file__).with_suffix(".c")
KI, MI = 1 << 10, 1 << 20
SEGMENT = 8 * KI  # that NTSL_Isend cuts messages into
# What Weft calls SimGrid's models of the network.
MODELS = {
    "smpi": [],
    "plain": ["network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:0"],
}
PLANS = {"lr": "allreduce/ring", "rab": "allreduce/rabenseifner", "NTSL_Isend": "broadcast/chain"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A collective of SMPI's, and the chunk of the plan beside it."""

    smpi: str
    ranks: int
    bytes: int
    chunk: int
    model: str = "smpi"


def cases() -> list[Case]:
    """All rows of the page."""
    whole = [("lr", n, b) for n in (16, 64) for b in (64 * KI, MI, 32 * MI)]
    whole += [("lr", 256, b) for b in (16 * MI, 32 * MI)]
    whole += [("rab", n, b) for n in (8, 16) for b in (64 * KI, MI, 32 * MI)]
    whole += [("rab", n, b) for n in (32, 64) for b in (64 * KI, MI)]
    all_cases = [Case(*one, chunk=one[2]) for one in whole]
    for ranks in (2, 4, 16):
        all_cases += [Case("NTSL_Isend", ranks, b, SEGMENT) for b in (SEGMENT, 64 * KI, MI, 4 * MI)]
        all_cases += [Case("NTSL_Isend", ranks, b, b, "plain") for b in (64 * KI, MI, 4 * MI)]
    return all_cases


# --- data ---------------------------------------------------------------------------------------


def compiled(folder: Path) -> Path:
    """The program, in this folder."""
    out = folder / "smpi"
    subprocess.run(["smpicc", "-O1", PROGRAM, "-o", out], check=True, timeout=60)
    return out


def run(program: Path, platform: Path, case: Case) -> float:
    """Seconds that the collective takes in SimGrid's own MPI.

    Raises:
        RuntimeError: it fails.
    """
    collective = "bcast" if case.smpi == "NTSL_Isend" else "allreduce"
    hosts = platform.with_suffix(".hosts")
    hosts.write_text("".join(f"rank{rank}\n" for rank in range(case.ranks)))
    options = [f"smpi/{collective}:{case.smpi}", "smpi/simulate-computation:no"]
    done = subprocess.run(
        ["smpirun", "-np", str(case.ranks), "-platform", platform, "-hostfile", hosts,
         *(f"--cfg={option}" for option in options + MODELS[case.model]),
         program, collective, str(case.bytes)],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    found = re.search(r"seconds (\S+)", done.stdout)
    if not found:
        raise RuntimeError(f"smpirun, {case}: {done.stderr}")
    return float(found[1])


def simulated(place: str | Topology, case: Case) -> float:
    """Seconds that the plan of the same name takes."""
    import weft

    return weft.simulate(
        PLANS[case.smpi], place, ranks=case.ranks, nbytes=case.bytes, chunk=case.chunk,
        model=case.model,
    ).seconds  # fmt: skip


def data() -> list[Row]:
    """All rows, made again."""
    from weft.topology import load
    from weft.topology.simgrid import write_platform

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = compiled(folder)

        @cache
        def platform(ranks: int) -> Path:
            file = folder / f"{ranks}.xml"
            write_platform(load("tsubame3", nodes=-(-ranks // 4)), file)
            return file

        return [
            {**asdict(case), "theirs": run(program, platform(case.ranks), case),
             "ours": simulated("tsubame3", case)}
            for case in steps("smpi", cases())
        ]  # fmt: skip


# --- page ---------------------------------------------------------------------------------------


def beside(rows: list[Row]) -> str:
    """Theirs and ours, and how far apart they are."""
    return table(
        ["SMPI's", "plan", "ranks", "bytes", "chunk", "SMPI's, µs", "ours, µs", "ours / SMPI's"],
        [
            [f"`{row['smpi']}`", f"`{PLANS[row['smpi']]}`", str(row["ranks"]), size(row["bytes"]),
             size(row["chunk"]), digits(row["theirs"] * 1e6), digits(row["ours"] * 1e6),
             f"{row['ours'] / row['theirs']:.3f}"]
            for row in rows
        ],
    )  # fmt: skip


def main() -> None:
    """The page, from new data if that is asked for."""
    if asked_for_data(__doc__):
        write("smpi", data())
    rows = read("smpi")
    chains = of(rows, smpi="NTSL_Isend")
    fill("smpi", {
        "allreduce": beside([row for row in rows if row not in chains]),
        "chain": beside(of(chains, model="smpi")),
        "plain": beside(of(chains, model="plain")),
    })  # fmt: skip


if __name__ == "__main__":
    main()
