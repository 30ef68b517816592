"""Writes docs/results/provider.md's tables: Weft beside libfabric's ping-pong, and on two rails.

From provider.jsonl; --data first measures anew (half a minute): hosts are network namespaces of
this machine, as in tests/hosts. Needs fi_pingpong (Debian, Ubuntu: libfabric-bin).
"""

from __future__ import annotations

import dataclasses
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import Launch, weft_library
from weft.bench.processes import burst
from weft.bench.processor import describe_processor

from page import asked_for_data, digits, fill, of, read, steps, table, write

if TYPE_CHECKING:
    from network import Network

ROOT = Path(__file__).resolve().parents[2]
PROVIDER = "tcp;ofi_rxm"
ROUNDS = 6
RATE = "1gbit"
LONG = 25 << 20
RAILS = {"one rail": "eth0", "two rails": "eth0,eth1"}
PING, ONE, ROW = "fi_pingpong", "Weft, one at a time", "Weft, 64 in a row"
Row = dict[str, Any]


def weft(network: Network, nbytes: int, interfaces: str, batched: bool) -> float:
    """Median seconds of the slower of two ranks' allreduce of `nbytes`."""
    plain = weft_library("core")
    env = {"WEFT_FABRIC": "ofi", "WEFT_INTERFACE": interfaces, "WEFT_TUNING": "none"}

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


def ping_pong(network: Network) -> float:
    """Seconds that 8 bytes take one way, by libfabric's own program, a core for each end."""
    words = ["fi_pingpong", "-p", PROVIDER, "-e", "rdm", "-S", "8", "-I", "20000"]
    with subprocess.Popen(
        [*network.prefix(0), "taskset", "-c", "0", *words], stdout=subprocess.DEVNULL
    ) as server:
        try:
            time.sleep(0.3)  # it says nothing when it listens
            done = subprocess.run(
                [*network.prefix(1), "taskset", "-c", "1", *words, network.addresses[0]],
                check=True, capture_output=True, text=True, timeout=30,
            )  # fmt: skip
        finally:
            server.terminate()
    header, line = done.stdout.strip().splitlines()[-2:]
    return float(line.split()[header.split().index("usec/xfer")]) * 1e-6


def measured() -> list[Row]:
    """All rows. What is compared takes turns; processes are fresh in each."""
    sys.path[:0] = [str(ROOT / folder) for folder in ("tests", "tests/hosts")]
    from network import Network  # isort: skip

    found: dict[tuple[str, int], list[float]] = {}
    with Network(2) as network, Network(2, rate=RATE, rails=2) as limited:
        for _ in steps("rounds", range(ROUNDS)):
            found.setdefault((PING, 8), []).append(ping_pong(network))
            found.setdefault((ONE, 8), []).append(weft(network, 8, "eth0", batched=False))
            found.setdefault((ROW, 8), []).append(weft(network, 8, "eth0", batched=True))
            for name, interfaces in RAILS.items():
                taken = weft(limited, LONG, interfaces, batched=False)
                found.setdefault((name, LONG), []).append(taken)
    return [
        {
            "what": what, "bytes": nbytes, "rounds_us": [round(each * 1e6, 2) for each in taken],
            "median_us": round(statistics.median(taken) * 1e6, 2),
            "processor": describe_processor(),
        }
        for (what, nbytes), taken in found.items()
    ]  # fmt: skip


def line(row: Row, median: float, least: float) -> list[str]:
    """A row of a table: what, its median, its rounds; the median and the least over these two."""
    rounds = row["rounds_us"]
    return [
        row["what"], digits(row["median_us"]), f"{digits(min(rounds))} to {digits(max(rounds))}",
        f"{row['median_us'] / median:.2f}", f"{min(rounds) / least:.2f}",
    ]  # fmt: skip


def main() -> None:
    """Writes the tables."""
    if asked_for_data(__doc__):
        write("provider", measured())
    rows = read("provider")
    header = ["", "µs", "rounds"]
    ping = of(rows, what=PING)[0]
    pings = ping["median_us"], min(ping["rounds_us"])
    # The wire's bound by one rail: 2(k-1)/k of the message for each of k = 2 hosts.
    wire = LONG / (float(RATE.removesuffix("gbit")) * 125)
    fill("provider", {
        "8 bytes": table(
            [*header, "over the ping-pong's", "least over least"],
            [line(row, *pings) for row in of(rows, bytes=8)],
        ),
        "rails": table(
            [*header, "over one link's time", "least"],
            [line(row, wire, wire) for row in of(rows, bytes=LONG)],
        ),
    })  # fmt: skip


if __name__ == "__main__":
    main()
