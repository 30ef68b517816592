"""How ranks find each other: a directory, torch's store, or a store of the caller's."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import Any, Protocol

from weft.environment import meeting_place, variable
from weft.errors import InvalidArgument, Timeout

# How many communicators this process has made, for each directory and rank. The n-th weft.init() of
# one rank so meets the n-th of the others.
_made: Counter[tuple[str, int]] = Counter()

# Connections to torch's stores, and in rank 0 the stores themselves. They live as long as the
# process. A store that ended with its communicator would fail ranks that are on their way to the
# next one.
_connected: dict[tuple[str, int, int], Any] = {}


class Store(Protocol):
    """A key-value store that all ranks share, as `weft.init(rendezvous=...)` takes it."""

    def set(self, key: str, value: bytes) -> None:
        """Sets a key, once."""

    def get(self, key: str, seconds: float) -> bytes:
        """Waits until the key is set; raises `TimeoutError` when it is not there in time."""


class TorchStore:
    """A `torch.distributed` store as a `Store`, its keys under a prefix. Thread safe."""

    def __init__(self, store: Any, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def set(self, key: str, value: bytes) -> None:
        """Sets a key, once."""
        self._store.set(self._prefix + key, value)

    def get(self, key: str, seconds: float) -> bytes:
        """Waits until the key is set. Raises `Timeout` naming it."""
        name = self._prefix + key
        try:
            self._store.wait([name], timedelta(seconds=seconds))
        except RuntimeError as error:  # DistStoreError, whichever way this torch spells it
            raise Timeout(f"{name} was not set within {seconds:g} s: {error}") from None
        return bytes(self._store.get(name))


def find(rendezvous: Any, rank: int, size: int, timeout: float) -> Any:
    """The store for one new communicator.

    `rendezvous` is a directory, a `Store`, a torch store, or None for the environment's.
    """
    if rendezvous is None:
        rendezvous = variable("WEFT_RENDEZVOUS") or None
    if rendezvous is None and size == 1:
        return _Alone()
    if rendezvous is None:
        rendezvous = _torch_store(rank, size, timeout)
    if isinstance(rendezvous, (str, os.PathLike)):
        directory = os.path.abspath(os.fspath(rendezvous))
        _made[directory, rank] += 1
        return directory, f"weft{_made[directory, rank]}"
    if hasattr(rendezvous, "wait"):
        # The store counts for us: it outlives what this process knows of it.
        made = rendezvous.add(f"weft/made/{rank}", 1)
        return TorchStore(rendezvous, f"weft/{made}/")
    return rendezvous


class _Alone:
    """The store of a world of one rank."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}

    def set(self, key: str, value: bytes) -> None:
        self._values[key] = value

    def get(self, key: str, seconds: float) -> bytes:
        if key not in self._values:
            raise Timeout(f"{key} is not set, and there is no other rank to set it")
        return self._values[key]


def _torch_store(rank: int, size: int, timeout: float) -> Any:
    """The agent's store, or one that rank 0 hosts: as torch.distributed's env:// does."""
    address, port, job = meeting_place(rank, size)
    try:
        from torch.distributed import PrefixStore, TCPStore
    except ImportError as error:
        raise InvalidArgument(
            f"rank {rank}: to meet at {address}:{port} needs torch's store, but torch cannot be "
            f"imported ({error}): install torch, or set WEFT_RENDEZVOUS to a directory that is "
            "new for each job and that all ranks see"
        ) from None
    here = (address, port, rank)
    if here not in _connected:
        agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        patience = timedelta(seconds=timeout)
        try:
            _connected[here] = TCPStore(
                address, port, size, rank == 0 and not agent, patience, False, multi_tenant=True
            )
        except RuntimeError as error:
            raise Timeout(
                f"rank {rank}: no store at {address}:{port}: {error}; rank 0 has to run on that "
                "host, and the port to be free there: MASTER_ADDR and MASTER_PORT say others"
            ) from None
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"weft{job}/attempt{attempt}", _connected[here])
