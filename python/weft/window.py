"""One-sided communication: a rank writes into a peer's memory and then changes a signal there."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft import _core, arguments
from weft.arrays import as_array
from weft.communicator import Communicator
from weft.errors import InvalidArgument

_MOST = 2**40  # bytes; the most that a piece of symmetric memory may have
_VALUES = 2**64 - 1


class Window:
    """A piece of symmetric memory at each rank, with signals beside it. Collective.

        window = weft.Window(comm, 4096, signals=comm.size)
        window.put(x, target=1, signal=comm.rank)      # on rank 0
        window.wait_signal(0)                          # on rank 1: the bytes of x are in place
        x = window.array("float32")

    Signals are whole numbers of 64 bits, zero at first. Puts and signals of one rank to one target
    take effect in the order of the calls: a rank that sees a signal sees all bytes of the puts up
    to it. Between different ranks or targets there is no order. The target takes no part.

    Ranks that share memory store directly. To others a progress thread sends, and one at the
    target writes. `docs/window.md` maps the calls of GASPI, OpenSHMEM and NCCL to these.

    Args:
        comm: a `weft.Communicator`, all of whose ranks take part. It may be closed before the
            window.
        nbytes: bytes of this rank's part, zeroed. Ranks may give different numbers.
        signals: the number of this rank's signals.

    Raises:
        InvalidArgument: a number is wrong, on all ranks, naming the rank.
        WeftError: on all ranks, what a rank's system says if it has no memory left.

    Every call raises `PeerLost` or `Aborted` after a rank died or the communicator was aborted; the
    content of the window is then undefined. As a context manager the window closes itself.

    Thread safe. Calls release the GIL while they wait, and Ctrl-C ends a wait. Threads whose puts
    need an order give it to them themselves.
    """

    def __init__(self, comm: Communicator, nbytes: int, signals: int = 0) -> None:
        if not isinstance(comm, Communicator):
            raise InvalidArgument(
                f"Window: comm is a {type(comm).__name__}: give a weft.Communicator"
            )
        who = f"rank {comm.rank}: Window"
        # The other ranks learn of what is wrong, too, from the core.
        try:
            nbytes = arguments.whole(nbytes, f"{who}: nbytes", 0, _MOST)
            signals = arguments.whole(signals, f"{who}: signals", 0)
        except InvalidArgument:
            if not comm._core.closed:
                _refuse_together(comm)
            raise
        self._core = _core.Window(comm._core, nbytes, signals)
        self._comm: Communicator | None = None
        self.rank: int = comm.rank
        self.size: int = comm.size

    @classmethod
    def from_group(
        cls, group: Any = None, nbytes: int = 0, signals: int = 0, **options: Any
    ) -> Window:
        """Collective over a process group of torch: a window of its ranks, in their order.

        group, options: as for `weft.Communicator.from_group`, which makes the ranks' communicator;
        None: the default group. The window is what keeps it.
        """
        comm = Communicator.from_group(group, **options)
        window = cls(comm, nbytes, signals)
        window._comm = comm
        return window

    @property
    def nbytes(self) -> int:
        """Bytes of this rank's part."""
        return self._core.nbytes(self.rank)

    @property
    def signals(self) -> int:
        """The number of this rank's signals."""
        return self._core.signals(self.rank)

    def array(self, dtype: Any = "uint8") -> np.ndarray:
        """This rank's part, as a flat array of as many elements as it holds. No copy.

        It keeps the memory alive, also once the window is closed.
        """
        return _typed(self._core.memory(self.rank), dtype, f"rank {self.rank}: array")

    def peer(self, rank: int, dtype: Any = "uint8") -> np.ndarray | None:
        """The part of a rank that shares memory with this one, to load and store; else None.

        Signals order such accesses as they order puts.
        """
        memory = self._core.memory(self._rank(rank, "peer: rank"))
        return None if memory is None else _typed(memory, dtype, f"rank {self.rank}: peer")

    def put(
        self,
        data: Any,
        target: int,
        offset: int = 0,
        *,
        signal: int | None = None,
        signal_op: str = "set",
        value: int = 1,
    ) -> None:
        """Writes `data` into the part of `target`, and then changes a signal there.

        Returns at once. `data` must stay unchanged until `quiet`.

        Args:
            data: an array, as for collectives. One that is not contiguous is copied.
            target: the rank whose part is written; may be this one.
            offset: where, in bytes from the begin of its part.
            signal: the signal of the target that changes once the data is in place; None: none.
            signal_op: "set": it becomes `value`. "add": `value` is added to it, modulo 2**64.
            value: a whole number from 0 to 2**64 - 1.

        Raises:
            InvalidArgument: the data does not lie in the target's part, or the target has no such
                signal. Nothing was changed.
            PeerLost: the target died or has closed its window.
        """
        who = f"rank {self.rank}: put"
        number = None if signal is None else arguments.whole(signal, f"{who}: signal")
        self._core.put(
            as_array(data, f"{who}: data"),
            self._rank(target, "put: target"),
            arguments.whole(offset, f"{who}: offset", 0, _MOST),
            number,
            arguments.whole(value, f"{who}: value", 0, _VALUES),
            arguments.text(signal_op, f"{who}: signal_op"),
        )

    def signal(self, target: int, signal: int, value: int = 1, signal_op: str = "set") -> None:
        """Changes a signal of `target`, after the puts before it. Raises as `put` does."""
        who = f"rank {self.rank}: signal"
        self._core.signal(
            self._rank(target, "signal: target"),
            arguments.whole(signal, f"{who}: signal"),
            arguments.whole(value, f"{who}: value", 0, _VALUES),
            arguments.text(signal_op, f"{who}: signal_op"),
        )

    def wait_signal(self, signal: int, at_least: int = 1, timeout: float | None = None) -> int:
        """Waits until a signal of this rank is at least `at_least`; its value.

        Raises:
            Timeout: after `timeout` seconds, by default the communicator's when the window was
                made. The window stays usable.
            PeerLost: a rank died, or all others have closed their windows.
        """
        who = f"rank {self.rank}: wait_signal"
        return self._core.wait_signal(
            arguments.whole(signal, f"{who}: signal"),
            arguments.whole(at_least, f"{who}: at_least", 0, _VALUES),
            _limit(timeout, who),
        )

    def wait_some(
        self, first: int = 0, count: int | None = None, timeout: float | None = None
    ) -> int:
        """Waits until one of `count` signals of this rank, from `first` on, is not zero; which.

        Of several the lowest. None: all signals from `first` on. Raises as `wait_signal` does.
        """
        who = f"rank {self.rank}: wait_some"
        first = arguments.whole(first, f"{who}: first")
        if count is None:
            count = max(self.signals - first, 1)
        return self._core.wait_some(
            first, arguments.whole(count, f"{who}: count"), _limit(timeout, who)
        )

    def read_signal(self, signal: int) -> int:
        """A signal of this rank, now. What was put before it is then visible."""
        return self._core.read_signal(arguments.whole(signal, f"rank {self.rank}: read_signal"))

    def fetch_reset(self, signal: int) -> int:
        """A signal of this rank, which becomes zero in the same step."""
        return self._core.fetch_reset(arguments.whole(signal, f"rank {self.rank}: fetch_reset"))

    def quiet(self, timeout: float | None = None) -> None:
        """Waits until the data of all puts so far may be written again. It may not have arrived.

        Raises as `wait_signal` does.
        """
        self._core.quiet(_limit(timeout, f"rank {self.rank}: quiet"))

    def close(self) -> None:
        """Delivers what was put, and tells the other ranks that this one has left.

        Their puts to this rank raise `PeerLost` from then on. May be called again.
        """
        self._core.close()
        if self._comm is not None:
            self._comm.close()

    def _rank(self, rank: Any, what: str) -> int:
        return arguments.whole(rank, f"rank {self.rank}: {what}")

    def __enter__(self) -> Window:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<weft.Window rank {self.rank} of {self.size}, {self.nbytes} bytes>"


def _refuse_together(comm: Communicator) -> None:
    """Takes part in making the window, with a number that all ranks refuse."""
    _core.Window(comm._core, 0, -1)


def _limit(timeout: float | None, who: str) -> float:
    return 0.0 if timeout is None else arguments.seconds(timeout, f"{who}: timeout")


def _typed(memory: Any, dtype: Any, who: str) -> np.ndarray:
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise InvalidArgument(f"{who}: dtype is {dtype!r}: {error}") from None
    return memory[: memory.size // kind.itemsize * kind.itemsize].view(kind)
