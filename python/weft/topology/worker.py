"""One rank of a measurement: `python -m weft.topology.worker DIRECTORY RANK RANKS`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import weft
from weft import _core


def described(topology: _core.Topology) -> dict[str, Any]:
    """A measured topology as JSON has it."""
    return {
        "sockets": [vertex.socket for vertex in topology.vertices],
        "links": [_figures(link, "a", "b", "latency", "bandwidth") for link in topology.links],
        "rates": _figures(topology, "copy", "reduce", "step", "call"),
        "by_size": [
            _figures(one, "bytes", "copy", "reduce", "fetch", "store") for one in topology.by_size
        ],
    }


def _figures(of: Any, *words: str) -> dict[str, float]:
    return {word: getattr(of, word) for word in words}


def main() -> None:
    """Measures; rank 0 writes what was seen into the directory."""
    directory, rank, ranks = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    with weft.init(rank, ranks, str(directory / "meet"), timeout=60.0) as comm:
        seen = described(comm.topology())
    if rank == 0:
        (directory / "measured").write_text(json.dumps(seen))


if __name__ == "__main__":
    main()
