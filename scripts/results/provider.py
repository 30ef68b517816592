"""Writes docs/results/provider.md's tables: Weft beside libfabric's ping-pong, and on two rails.

From provider.jsonl; --data first measures again (two minutes): hosts are network namespaces of
this machine (testing/network.py). Needs fi_pingpong (Debian, Ubuntu: libfabric-bin), a C compiler,
`make peers`.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from links.libfabric import NEWER, SYSTEM, Libfabric

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import Launch, weft_library
from weft.bench.processes import burst
from weft.bench.processor import describe_processor

from page import asked_for_data, digits, fill, of, read, steps, table, write

if TYPE_CHECKING:
    from network import Network

ROOT = Path(__file__).resolve().parents[2]
FABRICS = [SYSTEM, NEWER]
ROUNDS = 6
RATE = "1gbit"
LONG = 25 << 20
RAILS = {"one rail": "eth0", "two rails": "eth0,eth1"}
PING, ONE, ROW = "fi_pingpong", "Weft, one at a time", "Weft, 64 in a row"
WAY, BOTH = "exchange.c, one way", "exchange.c, both at once"
EXCHANGE = ROOT / "build/exchange"
Row = dict[str, Any]


def weft(network: Network, fabric: Libfabric, nbytes: int, interfaces: str, batched: bool) -> float:
    """Median seconds of the slower of two ranks' allreduce of `nbytes`."""
    plain = weft_library("core")
    env = {"WEFT_FABRIC": "ofi", "WEFT_INTERFACE": interfaces, "WEFT_TUNING": "none"}
    env |= fabric.environment

    def launch(ranks: int, directory: Path) -> Launch:
        commands = plain.launch(ranks, directory).commands
        return Launch(
            [[*network.prefix(rank), *command] for rank, command in enumerate(commands)], env
        )

    library = dataclasses.replace(plain, launch=launch, batched=batched)
    case = Case("allreduce", nbytes // 4, 2, "float32")
    first, second = (
        rank[0] for rank in burst(library, Job([case], 0.3 if nbytes < LONG else 1.0, None))
    )
    if not (first.correct and second.correct):
        raise RuntimeError(f"wrong sums of {nbytes} bytes over {interfaces}")
    return statistics.median(map(max, first.seconds, second.seconds))


def ping_pong(network: Network, fabric: Libfabric) -> float:
    """Seconds that 8 bytes take one way, by libfabric's own program, a core for each end."""
    words = ["fi_pingpong", "-p", fabric.provider, "-e", "rdm", "-S", "8", "-I", "20000"]
    env = os.environ | fabric.search
    with subprocess.Popen(
        [*network.prefix(0), "taskset", "-c", "0", *words], stdout=subprocess.DEVNULL, env=env
    ) as server:
        try:
            time.sleep(0.3)  # it says nothing when it listens
            done = subprocess.run(
                [*network.prefix(1), "taskset", "-c", "1", *words, network.addresses[0]],
                check=True, capture_output=True, text=True, timeout=30, env=env,
            )  # fmt: skip
        finally:
            server.terminate()
    header, line = done.stdout.strip().splitlines()[-2:]
    return float(line.split()[header.split().index("usec/xfer")]) * 1e-6


def exchange(network: Network, fabric: Libfabric) -> tuple[float, float]:
    """The same by links/exchange.c, and seconds of an exchange in which both send at once."""
    with tempfile.TemporaryDirectory() as directory:
        ends = [
            subprocess.Popen(
                [*network.prefix(rank), "taskset", "-c", str(rank), str(EXCHANGE), fabric.provider,
                 network.addresses[rank], directory, str(rank)],
                stdout=subprocess.PIPE, text=True, env=os.environ | fabric.search,
            )
            for rank in range(2)
        ]  # fmt: skip
        said = [end.communicate(timeout=30)[0] for end in ends]
    one_way, both = said[0].split()
    return float(one_way) * 1e-6, float(both) * 1e-6


def measured() -> list[Row]:
    """All rows. What is compared takes turns; processes are fresh in each."""
    sys.path.insert(0, str(ROOT / "testing"))
    from network import Network  # isort: skip

    found: dict[tuple[str, str, int], list[float]] = {}

    def add(fabric: Libfabric, what: str, nbytes: int, taken: float) -> None:
        found.setdefault((fabric.name, what, nbytes), []).append(taken)

    source = Path(__file__).parent / "links/exchange.c"
    subprocess.run(["cc", "-O2", source, "-lfabric", "-o", EXCHANGE], check=True)
    with Network(2) as network, Network(2, rate=RATE, rails=2) as limited:
        for _, fabric in steps("turns", list(itertools.product(range(ROUNDS), FABRICS))):
            add(fabric, PING, 8, ping_pong(network, fabric))
            for what, taken in zip((WAY, BOTH), exchange(network, fabric), strict=True):
                add(fabric, what, 8, taken)
            add(fabric, ONE, 8, weft(network, fabric, 8, "eth0", batched=False))
            add(fabric, ROW, 8, weft(network, fabric, 8, "eth0", batched=True))
            for name, interfaces in RAILS.items():
                add(fabric, name, LONG, weft(limited, fabric, LONG, interfaces, batched=False))
    return [
        {
            "libfabric": fabric, "what": what, "bytes": nbytes,
            "rounds_us": [round(each * 1e6, 2) for each in taken],
            "median_us": round(statistics.median(taken) * 1e6, 2),
            "processor": describe_processor(),
        }
        for (fabric, what, nbytes), taken in found.items()
    ]  # fmt: skip


def line(row: Row, median: float, least: float) -> list[str]:
    """A row of a table: what, its median, its rounds; the median and the least over these two."""
    rounds = row["rounds_us"]
    return [
        row["libfabric"], row["what"], digits(row["median_us"]),
        f"{digits(min(rounds))} to {digits(max(rounds))}",
        f"{row['median_us'] / median:.2f}", f"{min(rounds) / least:.2f}",
    ]  # fmt: skip


def main() -> None:
    """Writes the tables."""
    if asked_for_data(__doc__):
        write("provider", measured())
    rows = read("provider")
    header = ["", "", "µs", "rounds"]
    pings = {
        row["libfabric"]: (row["median_us"], min(row["rounds_us"])) for row in of(rows, what=PING)
    }
    # The wire's bound by one rail: 2(k-1)/k of the message for each of k = 2 hosts.
    wire = LONG / (float(RATE.removesuffix("gbit")) * 125)
    fill("provider", {
        "8 bytes": table(
            [*header, "over the ping-pong's", "least over least"],
            [line(row, *pings[row["libfabric"]]) for row in of(rows, bytes=8)],
        ),
        "rails": table(
            [*header, "over one link's time", "least"],
            [line(row, wire, wire) for row in of(rows, bytes=LONG)],
        ),
    })  # fmt: skip


if __name__ == "__main__":
    main()
