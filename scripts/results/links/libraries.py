"""How a library's ranks are started on several hosts."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from links.libfabric import NEWER, SYSTEM

from weft.bench.libraries import PEERS, Launch, Library, weft_library

from network import Network

# Weft through both of its interfaces: Gloo has torch's only, the MPIs their own; and with the
# system's libfabric.
LIBRARIES = {
    "weft": weft_library("core"),
    "weft_system": weft_library("core"),
    "openmpi": PEERS["openmpi"],
    "mpich": PEERS["mpich"],
    "weft_torch": weft_library("torch"),
    "gloo": PEERS["gloo"],
}
ENVIRONMENT = {
    "WEFT_INTERFACE": "eth0",
    "WEFT_TUNING": "none",
    "GLOO_SOCKET_IFNAME": "eth0",
}
# Beside what all have.
OWN = {
    "weft": NEWER.environment,
    "weft_system": SYSTEM.environment,
    "weft_torch": NEWER.environment,
    "mpich": {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": "eth0", "MPIR_CVAR_CH4_NETMOD": "ofi"},
}
_TCP = "--mca btl tcp,vader,self --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0"


def on_hosts(name: str, places: list[int], network: Network) -> Library:
    """One of LIBRARIES, its rank r on host `places[r]`."""
    library = LIBRARIES[name]

    def launch(ranks: int, directory: Path) -> Launch:
        usual = library.launch(ranks, directory)
        if library.api == "mpi" and library.name == "openmpi":
            commands = [across_hosts(usual.commands[0], places, directory, network, ENVIRONMENT)]
        elif library.api == "mpi":
            program, *words = usual.commands[0]
            agent = str(_agent(directory, network, places))
            commands = [[*_host(network, 0), program, *_mpich(places, network), agent, *words]]
        else:
            both = zip(places, usual.commands, strict=True)
            commands = [[*_host(network, place), *words] for place, words in both]
        return Launch(commands, ENVIRONMENT | OWN.get(name, {}) | usual.environment)

    return replace(library, launch=launch)


def across_hosts(
    command: list[str],
    places: list[int],
    directory: Path,
    network: Network,
    exported: Iterable[str],
) -> list[str]:
    """A command that starts with Open MPI's mpirun or oshrun, its rank r on host `places[r]`.

    `exported`: the variables of the environment that ranks are given.
    """
    program, *words = command
    agent = str(_agent(directory, network, places))
    given = [word for name in exported for word in ("-x", name)]
    return [*_host(network, 0), program, *_openmpi(places, network), *given,
            "--mca", "plm_rsh_agent", agent, *words]  # fmt: skip


def _host(network: Network, host: int) -> list[str]:
    """What runs a command on a host, which has a name of its own: MPIs tell hosts by theirs."""
    named = f'hostname {network.addresses[host]} && exec "$@"'
    return [*network.prefix(host), "unshare", "--uts", "sh", "-c", named, "sh"]


def _agent(directory: Path, network: Network, places: list[int]) -> Path:
    """A program in place of ssh: options, a host's address, a command."""
    lines = ["#!/bin/sh", 'while [ "${1#-}" != "$1" ]; do shift; done']
    lines += ["host=$1", "shift", "case $host in"]
    for host in sorted(set(places)):
        words = shlex.join([*_host(network, host), "sh", "-c"])
        lines.append(f'{network.addresses[host]}) exec {words} "$*" ;;')
    lines += ["esac", 'echo "there is no host $host" >&2', "exit 1", ""]
    path = directory / "agent"
    path.write_text("\n".join(lines))
    path.chmod(0o700)
    return path


def _slots(places: list[int], network: Network) -> str:
    """Each host's address and ranks."""
    counts = sorted(Counter(places).items())
    return ",".join(f"{network.addresses[host]}:{count}" for host, count in counts)


def _openmpi(places: list[int], network: Network) -> list[str]:
    by = "slot" if places == sorted(places) else "node"
    return ["--host", _slots(places, network), "--map-by", by, *_TCP.split()]


def _mpich(places: list[int], network: Network) -> list[str]:
    """The agent's file follows."""
    each = ["-hosts", _slots(places, network)]
    if places != sorted(places):
        each = ["-hosts", ",".join(network.addresses[host] for host in sorted(set(places)))]
        each += ["-ppn", "1"]
    return [*each, "-iface", "eth0", "-launcher", "ssh", "-launcher-exec"]
