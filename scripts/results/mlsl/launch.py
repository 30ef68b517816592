"""How the ranks of openshmem_mlsl.py are started: by themselves, by an MPI's mpirun, by oshrun."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from links.libraries import across_hosts

import weft
from weft.bench.libraries import PEERS, Launch, Library

if TYPE_CHECKING:
    from network import Network

OPEN_MPI = "openmpi"
# Of Open MPI on hosts. UCX would find the namespaces' memory shared, as they have one kernel.
SHMEM_ON_HOSTS = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}
_BENCH = Path(weft.__path__[0]) / "bin" / "bench_weft"
# The launcher says the rank; the driver takes it as an argument.
_WITH_RANK = 'exec "$0" "$1" "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"'


def environment(fabric: str, directory: Path) -> dict[str, str]:
    """What ranks of Weft are told."""
    return {"WEFT_FABRIC": fabric, "WEFT_TUNING": "none", "WEFT_RENDEZVOUS": str(directory),
            "OMP_NUM_THREADS": "1"}  # fmt: skip


def launcher(fabric: str) -> str:
    """What starts ranks of a fabric: "openmpi", "oshrun", or "" for nobody."""
    return {"mpi": OPEN_MPI, "shmem": "oshrun"}.get(fabric.rpartition("+")[2], "")


def launched(by: str, ranks: int, words: list[str], directory: Path) -> Launch:
    """`words` as a rank's command, started by `launcher`'s answer or an MPI's name."""
    usual = PEERS[OPEN_MPI if by == "oshrun" else by].launch(ranks, directory)
    program, *options = usual.commands[0][:-2]  # without its driver and the directory
    first = "oshrun" if by == "oshrun" else program
    return Launch([[first, *options, *words]], usual.environment)


def weft_driver(fabric: str, by: str = "") -> Library:
    """The benchmark's driver of Weft on a fabric, started by this MPI or as the fabric needs it."""
    by = by or launcher(fabric)

    def launch(ranks: int, directory: Path) -> Launch:
        told = environment(fabric, directory)
        if not by:
            words = [str(_BENCH), str(directory)]
            return Launch([[*words, str(rank)] for rank in range(ranks)], told)
        words = ["sh", "-c", _WITH_RANK, str(_BENCH), str(directory)]
        usual = launched(by, ranks, words, directory)
        return Launch(usual.commands, usual.environment | told)

    return Library(f"Weft on {fabric}", "core", launch)


def program(
    words: list[str],
    fabric: str,
    places: list[int],
    directory: Path,
    network: Network | None,
    more: Mapping[str, str] = MappingProxyType({}),
) -> Launch:
    """A program of Weft's on these hosts; without a network on this one.

    `more`: further variables of its environment.
    """
    told = environment(fabric, directory) | more
    ranks, by = len(places), launcher(fabric)
    if network:
        told["WEFT_INTERFACE"] = "eth0"
    if not by:
        commands = []
        for rank, host in enumerate(places):
            place = ["env", f"RANK={rank}", f"WORLD_SIZE={ranks}", *words]
            commands.append([*(network.prefix(host) if network else []), *place])
        return Launch(commands, told)
    usual = launched(by, ranks, words, directory)
    told |= usual.environment
    if not network:
        return Launch(usual.commands, told)
    if by == "oshrun":
        told |= SHMEM_ON_HOSTS
    return Launch([across_hosts(usual.commands[0], places, directory, network, list(told))], told)
