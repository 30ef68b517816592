"""How ranks find each other: a directory, torch's store, or a store of the caller's."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import Any, Protocol

from weft.environment import meeting_place
from weft.errors import InvalidArgument, Timeout

# Communicators made by this process, for each directory and rank: all ranks count alike, so
# the n-th weft.init() of one rank meets the n-th of the others.
_made: Counter[tuple[str, int]] = Counter()


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


def find(rendezvous: Any, rank: int, size: int, timeout: float) -> tuple[Any, Any]:
    """The store for one new communicator, and what hosts it (None: nothing here).

    `rendezvous` is a directory, a `Store`, a torch store, or None for the environment's.
    """
    host = None
    if rendezvous is None:
        rendezvous = os.environ.get("WEFT_RENDEZVOUS")
    if rendezvous is None and size == 1:
        return _Alone(), None
    if rendezvous is None:
        rendezvous, host = _torch_store(rank, size, timeout)
    if isinstance(rendezvous, (str, os.PathLike)):
        directory = os.path.abspath(os.fspath(rendezvous))
        _made[directory, rank] += 1
        return os.path.join(directory, f"weft{_made[directory, rank]}"), None
    if hasattr(rendezvous, "wait"):
        # The store counts for us: it outlives what this process knows of it.
        made = rendezvous.add(f"weft/made/{rank}", 1)
        return TorchStore(rendezvous, f"weft/{made}/"), host
    return rendezvous, None


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


def _torch_store(rank: int, size: int, timeout: float) -> tuple[Any, Any]:
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
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    hosts = rank == 0 and not agent
    try:
        store = TCPStore(
            address, port, size, hosts, timedelta(seconds=timeout), False, multi_tenant=True
        )
    except RuntimeError as error:
        raise Timeout(f"rank {rank}: no store at {address}:{port}: {error}") from None
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"weft{job}/attempt{attempt}", store), store if hosts else None
