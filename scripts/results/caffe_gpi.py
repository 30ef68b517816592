"""Writes docs/results/caffe_gpi.md's tables and plot: training steps that hide communication.

From caffe_gpi.jsonl. With --data it first measures what is not there yet (half an hour; needs
root): hosts are network namespaces of this machine (testing/network.py). Each turn is written as
soon as it is over, so a run that was stopped goes on where it was.

    python scripts/results/caffe_gpi.py --data              everything
    python scripts/results/caffe_gpi.py --trial             a little of everything, into build/
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from record import Record, Row

from weft.bench.libraries import Launch
from weft.bench.processes import run_ranks

from page import DATA, RESULTS, fill, read, table

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).resolve().parent / "ranks" / "step.py"
NAME = "caffe_gpi"
RATES = {"1 Gbit/s": "1gbit", "10 Gbit/s": "10gbit"}
PLACES = {"2 x 1": [0, 1], "2 x 2": [0, 0, 1, 1]}
ALONE = "none"
GLOO = "DDP on Gloo"
HOWS = [
    ALONE, GLOO, "DDP on Gloo, bf16", "DDP on Weft", "phases", "allreduce, waits in step",
    "allreduce", "allreduce, one lane", "allreduce, bf16", "sharded", "tree",
]  # fmt: skip
# Images a rank and pixels a side: an AlexNet that computes about half as long as it sends at
# 1 Gbit/s. All of its 243.86 MB of parameters are there.
BATCH, PIXELS = 8, 67
SECONDS = 300.0


def turns(rounds: int) -> list[Row]:
    """Variants take turns. AlexNet's 1 Gbit/s first."""
    return [
        {"model": model, "rate": rate, "place": place, "how": how, "round": number}
        for model in ("alexnet", "lenet")
        for rate in RATES
        for place in PLACES
        for number in range(rounds)
        for how in HOWS
    ]


def measured(turn: Row, blocks: int) -> Row:
    """What rank 0 says: seconds a step of the slowest rank, by block.

    Raises:
        BurstFailed: a process failed, or ranks ended with different parameters.
    """
    from network import Network  # of testing/

    small = turn["model"] == "lenet"
    settings = {
        "model": turn["model"], "how": turn["how"], "batch": 32 if small else BATCH,
        "pixels": PIXELS, "steps": 100 if small else 3, "blocks": blocks,
    }  # fmt: skip
    places = PLACES[turn["place"]]
    with (
        tempfile.TemporaryDirectory(prefix="weft-step-") as name,
        Network(max(places) + 1, rate=RATES[turn["rate"]]) as network,
    ):
        directory = Path(name)
        (directory / "settings.json").write_text(json.dumps(settings))
        launch = launched(places, directory, network)
        run_ranks(turn["how"], launch, directory, SECONDS)
        return json.loads((directory / "result.json").read_text())


def launched(places: list[int], directory: Path, network: Any) -> Launch:
    """A process for each rank, on its host."""
    told = {
        "WEFT_TUNING": "none", "OMP_NUM_THREADS": "1", "WEFT_INTERFACE": "eth0",
        "GLOO_SOCKET_IFNAME": "eth0",
    }  # fmt: skip
    commands = []
    for rank, host in enumerate(places):
        place = ["env", f"RANK={rank}", f"WORLD_SIZE={len(places)}"]
        words = [*place, sys.executable, str(PROGRAM), str(directory)]
        commands.append([*network.prefix(host), *words])
    return Launch(commands, told)


# --- page ---------------------------------------------------------------------------------------


def step_ms(rows: list[Row], **what: str) -> float | None:
    """The median of all blocks, in milliseconds. None: not measured."""
    found = [
        second
        for row in rows
        if all(row["turn"][key] == value for key, value in what.items())
        for second in row["seconds"]
    ]
    return 1e3 * median(found) if found else None


def wire_ms(nbytes: int, rate: str, place: str) -> float:
    """The least time of the sums on the wire: each host sends and takes all bytes once.

    An allreduce of two hosts sends half of the sums each way, and half of the results: M bytes.
    """
    del place  # ranks of one host first add up what they have
    return 1e3 * nbytes * 8 / (float(RATES[rate].removesuffix("gbit")) * 1e9)


def hidden(rows: list[Row], how: str, **where: str) -> str:
    """The part of the exposed time of phases that is gone, at best down to compute or wire."""
    if how in (ALONE, "phases") or "bf16" in how:  # less or nothing is on the wire
        return ""
    alone, phases, mine = (step_ms(rows, how=one, **where) for one in (ALONE, "phases", how))
    if None in (alone, phases, mine):
        return ""
    nbytes = next(row["bytes"] for row in rows if row["turn"]["model"] == where["model"])
    ideal = max(alone, wire_ms(nbytes, where["rate"], where["place"]))
    return f"{max(0, 100 * (phases - mine) / (phases - ideal)):.0f} %" if phases > ideal else ""


def steps_table(rows: list[Row], model: str) -> str:
    """A row for each variant, columns for rates and places."""
    columns = [(rate, place) for rate in RATES for place in PLACES]
    known = [c for c in columns if step_ms(rows, model=model, rate=c[0], place=c[1], how=GLOO)]
    lines = []
    for how in HOWS:
        cells = [how]
        for rate, place in known:
            where = {"model": model, "rate": rate, "place": place}
            mine, gloo = step_ms(rows, how=how, **where), step_ms(rows, how=GLOO, **where)
            if mine is None or gloo is None:
                cells += ["", "", ""]
                continue
            ratio = "" if how == ALONE else f"{gloo / mine:.2f}"
            cells += [f"{mine:.1f}", ratio, hidden(rows, how, **where)]
        lines.append(cells)
    if not known:
        return ""
    head = [""]
    for rate, place in known:
        head += [f"{rate}, {place}: ms a step", "Gloo's over it", "hidden"]
    return table(head, lines)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", action="store_true", help="measure first what is not there")
    parser.add_argument("--trial", action="store_true", help="measure a little, into build/")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    sys.path.insert(0, str(ROOT / "testing"))
    if asked.data or asked.trial:
        os.chdir(ROOT)
        folder = ROOT / "build" if asked.trial else DATA
        record = Record(folder / f"{NAME}.jsonl")
        rounds, blocks = (1, 1) if asked.trial else (2, 3)
        record.take(turns(rounds), lambda turn: measured(turn, blocks))
        record.end()
        if asked.trial:
            return
    rows = read(NAME)
    machine = f"{rows[0]['processor']}. {len(rows)} turns."
    fill(NAME, {"machine": machine, "alexnet": steps_table(rows, "alexnet"),
                "lenet": steps_table(rows, "lenet")})  # fmt: skip
    print(f"wrote {RESULTS / NAME}.md")


if __name__ == "__main__":
    main()
