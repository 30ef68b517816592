"""Ports for programs that listen a while later."""

from __future__ import annotations

import random
import socket
from pathlib import Path

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A port of this host on which nobody listens, and which the system gives to nobody.

    One that it chooses itself, for port 0, may be some other program's a moment later.
    """
    lowest = int(RANGE.read_text().split()[0])  # of those that the system gives
    for port in random.sample(range(max(1024, lowest - 8192), lowest), 64):
        try:
            with socket.create_server(("", port)):
                return port
        except OSError:
            continue  # somebody listens
    raise OSError(f"64 ports below {lowest} are all in use")
