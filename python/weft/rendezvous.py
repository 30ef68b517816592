"""How ranks find each other: a directory, torchrun's environment, or a store of the caller's."""

from __future__ import annotations

import os
from collections import Counter
from datetime import timedelta
from typing import Any, Protocol

from weft.errors import InvalidArgument, Timeout

_HOW = (
    "start the program with `torchrun --nproc-per-node N program.py`, or set RANK, WORLD_SIZE and "
    "WEFT_RENDEZVOUS, a directory that is new for each job and that all ranks see, or pass "
    "weft.init(rank, size, rendezvous=directory)"
)
_TORCHRUN = ("MASTER_ADDR", "MASTER_PORT")

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


def place(rank: int | None, size: int | None) -> tuple[int, int]:
    """This rank and the number of ranks: as given, else RANK and WORLD_SIZE."""
    rank = _number("rank", "RANK") if rank is None else rank
    size = _number("size", "WORLD_SIZE") if size is None else size
    if size < 1 or not 0 <= rank < size:
        raise InvalidArgument(f"rank {rank} of {size} ranks: give size >= 1 and 0 <= rank < size")
    return rank, size


def find(rendezvous: Any, rank: int, size: int, timeout: float) -> tuple[Any, Any]:
    """The store for one new communicator, and what hosts it (None: nothing here).

    `rendezvous` is a directory, a `Store`, a torch store, or None for the environment's.
    """
    host = None
    if rendezvous is None:
        rendezvous = os.environ.get("WEFT_RENDEZVOUS")
    if rendezvous is None and all(name in os.environ for name in _TORCHRUN):
        rendezvous, host = _torchrun_store(rank, size, timeout)
    if rendezvous is None and size == 1:
        return _Alone(), None
    if rendezvous is None:
        raise InvalidArgument(f"rank {rank}: no rendezvous: {_HOW}")
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


def _number(argument: str, variable: str) -> int:
    text = os.environ.get(variable)
    if text is None:
        raise InvalidArgument(f"{argument} is not given and {variable} is not set: {_HOW}")
    try:
        return int(text)
    except ValueError:
        raise InvalidArgument(f"{variable} is {text!r}: set it to a whole number") from None


def _torchrun_store(rank: int, size: int, timeout: float) -> tuple[Any, Any]:
    """The agent's store, or one that rank 0 hosts: as torch.distributed's env:// does."""
    try:
        from torch.distributed import PrefixStore, TCPStore
    except ImportError as error:
        raise InvalidArgument(
            f"rank {rank}: MASTER_ADDR and MASTER_PORT ask for torch's store, but torch cannot be "
            f"imported ({error}): install torch, or set WEFT_RENDEZVOUS to a directory that is "
            "new for each job and that all ranks see"
        ) from None
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    address = os.environ["MASTER_ADDR"]
    hosts = rank == 0 and not agent
    port = _number("port", "MASTER_PORT")
    try:
        store = TCPStore(
            address, port, size, hosts, timedelta(seconds=timeout), False, multi_tenant=True
        )
    except RuntimeError as error:
        raise Timeout(f"rank {rank}: no store at {address}:{port}: {error}") from None
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return PrefixStore(f"weft/attempt{attempt}", store), store if hosts else None
