"""The two libfabrics that Weft is measured with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]


class Libfabric(NamedTuple):
    """A build of it, and what it has for TCP."""

    name: str
    provider: str
    file: Path | None  # none: the system's

    @property
    def environment(self) -> dict[str, str]:
        """What makes Weft take it."""
        return {"WEFT_LIBFABRIC": str(self.file)} if self.file else {}

    @property
    def search(self) -> dict[str, str]:
        """What makes another program take it."""
        return {"LD_LIBRARY_PATH": str(self.file.parent)} if self.file else {}


# Debian's, and the one that `make peers` brings with MPICH, which then uses the same as Weft.
SYSTEM = Libfabric("libfabric 1.17", "tcp;ofi_rxm", None)
NEWER = Libfabric("libfabric 2.5", "tcp", ROOT / "build/peers/mpich/venv/lib/mpich/libfabric.so.1")
