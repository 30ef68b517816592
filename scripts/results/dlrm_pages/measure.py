"""Takes the turns of dlrm.py: each has fresh processes."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from dlrm_pages.cases import BARE, GLOO, MEBI, MPI, NATIVE, PLACES, RATES, SIZES, Amount, Row
from mlsl.launch import program

from weft.bench.cases import Case
from weft.bench.job import Job
from weft.bench.libraries import PEERS, Library, weft_library
from weft.bench.processes import burst, run_ranks

PROGRAM = Path(__file__).resolve().parents[1] / "ranks" / "dlrm_rank.py"
SECONDS = 240.0  # far more than a turn takes
LARGE_FACTOR = 8  # the large model's steps take seconds, and one alone says little


def trained(turn: Row, amount: Amount) -> Row:
    """What rank 0 says of a training.

    Raises:
        BurstFailed: a process failed.
    """
    from network import Network  # of testing/

    places = PLACES[turn["place"]]
    several = max(places) > 0
    where = Network(max(places) + 1, rate=RATES[turn["rate"]]) if several else nullcontext()
    with tempfile.TemporaryDirectory(prefix="weft-dlrm-") as name, where as network:
        directory = Path(name)
        told = settings(turn, amount)
        if turn["how"] == BARE:
            told |= {"backend": "fake", "place": turn["place"],
                     "addresses": [network.addresses[host] for host in places]}  # fmt: skip
        (directory / "settings.json").write_text(json.dumps(told))
        words = [sys.executable, str(PROGRAM), name]
        how = turn["how"]
        fabric = "mpi" if how in (MPI, NATIVE) else ""
        more = {"WEFT_ALGORITHM": "native"} if how == NATIVE else {}
        if how == GLOO and several:
            more["GLOO_SOCKET_IFNAME"] = "eth0"
        launch = program(words, fabric, places, directory, network, more)
        run_ranks(how, launch, directory, SECONDS)
        return json.loads((directory / "result.json").read_text())


def settings(turn: Row, amount: Amount) -> Row:
    """What the ranks are told."""
    told = {
        "part": turn["part"], "ranks": len(PLACES[turn["place"]]), "dtype": turn["dtype"],
        "how": turn["how"], "backend": "gloo" if turn["how"] == GLOO else "weft",
    }  # fmt: skip
    told |= {"exchange": turn.get("exchange", "alltoall")}
    if turn["part"] == "steps":
        large = turn["config"] == "large"
        told |= {
            "config": turn["config"], **SIZES[turn["config"]]._asdict(),
            "blocking": turn["steps"] == "blocking", "limited": turn["rate"] != "",
            "seconds": amount.seconds * (LARGE_FACTOR if large else 1),
            "blocks": min(amount.blocks, 2 if large else amount.blocks), "warm": 1 if large else 2,
        }  # fmt: skip
    return told


def collective(turn: Row, amount: Amount) -> Row:
    """Seconds of the slowest rank.

    Raises:
        BurstFailed: a process failed.
        ValueError: a result was wrong.
    """
    whole = round(turn["mebibytes"] * MEBI)
    # weft bench counts an alltoall's bytes by rank.
    wanted = whole // turn["ranks"] if turn["collective"] == "alltoall" else whole
    case = Case.sized(turn["collective"], wanted, turn["ranks"], "float32")
    of_ranks = burst(library(turn["library"]), Job([case], amount.collective_seconds, None))
    if not all(one[0].correct for one in of_ranks):
        raise ValueError("a result was wrong")
    samples = [max(each) for each in zip(*(one[0].seconds for one in of_ranks), strict=True)]
    return {"algorithm": of_ranks[0][0].algorithm, "seconds": statistics.median(samples),
            "least": min(samples), "samples": len(samples)}  # fmt: skip


def library(name: str) -> Library:
    """By its name in LIBRARIES."""
    return weft_library("core") if name == "weft" else PEERS[name]
