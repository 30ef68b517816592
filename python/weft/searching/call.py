"""The call that a plan is searched for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from weft._core import SLOT_BYTES, Topology
from weft.errors import InvalidArgument


@dataclass(frozen=True)
class Call:
    collective: str
    topology: Topology
    ranks: int
    nbytes: int
    dtype: str
    slot_bytes: int

    @classmethod
    def of(
        cls,
        collective: str,
        topology: str | Path | Topology,
        nbytes: int,
        ranks: int | None,
        dtype: str,
        slot_bytes: int | None,
    ) -> Call:
        """With what was left open filled in. Raises InvalidArgument for what makes no sense."""
        if not isinstance(topology, Topology):
            from weft.topology import load

            topology = load(topology)
        if nbytes < 1:
            raise InvalidArgument(f"{nbytes} bytes: give 1 or more")
        most = len(topology.ranks)
        ranks = most if ranks is None else ranks
        if not 2 <= ranks <= most:
            raise InvalidArgument(f"topology {topology.name} has {most} ranks: give 2 .. {most}")
        memory = SLOT_BYTES if slot_bytes is None else slot_bytes
        return cls(collective, topology, ranks, nbytes, dtype, memory)
