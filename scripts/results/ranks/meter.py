"""Reads the counters of eth0 in this network namespace until it is ended (SIGTERM).

python meter.py FILE     # then has a line for each 10 ms: time.monotonic(), bytes in, bytes out
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

PERIOD = 0.010


def counters() -> tuple[int, int]:
    """Bytes that eth0 has received, and sent."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, numbers = line.partition(":")
        if name.strip() == "eth0":
            columns = numbers.split()
            return int(columns[0]), int(columns[8])
    raise SystemExit("this network namespace has no eth0")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(sys.argv[1], "w", buffering=1) as file:
        while True:
            now = time.monotonic()
            print(f"{now:.4f}", *counters(), file=file)
            time.sleep(max(0.0, now + PERIOD - time.monotonic()))


if __name__ == "__main__":
    main()
