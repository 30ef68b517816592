"""Communicators for NumPy arrays and other arrays in the CPU's memory.

Arrays. An input is a NumPy array, any object with DLPack (a PyTorch tensor, ...) or the buffer
protocol (`bytearray`, `array.array`, `memoryview`). Inputs that are not contiguous are copied.
The result is a new array, or `out` if it is given: contiguous, writable, of the input's dtype and
of as many elements as the result has. If the collective allows it (allreduce, broadcast, reduce,
alltoall), `out` may be the input: the call is then in place. A new result is a tensor if the input
has `new_empty` (PyTorch), else a NumPy array. Memory from `weft.empty` needs one copy less.

Calls. All ranks call the same collectives in the same order with equal counts, dtypes, reductions
and roots. Otherwise every rank that receives from a different call gets `Mismatch`, the rest
`Aborted`. A rank that only sends may return first. An example is two ranks that both name
themselves the root of one broadcast. The difference is then found when the rank next waits, or at
`close`, if the other's message has arrived by then. `algorithm` overrides the choice ("ring",
"allreduce/multi_leader(node=4,chunk=64K)"; see docs/selection.md), equal on all ranks;
`symmetric=True` says that the arrays of all ranks come from `weft.empty`. Rows of a tuning file
that were measured with such arrays then apply. `timeout` (seconds) overrides the communicator's.
With `async_op=True` a call returns
a `Request` at once, and its arrays must not be touched until the request has finished. Without it,
Ctrl-C takes effect when the call ends.

Thread safety: all methods may be called from any thread, and release the GIL while they wait.
Threads that share a communicator must agree on the order of its collectives with the other ranks.
Errors are in `weft.errors`.
"""

from __future__ import annotations

import atexit
import os
import time
from typing import Any
from weakref import WeakSet

from weft import _core, arguments
from weft.collectives import Collectives
from weft.request import Request
from weft.workers import Workers

ANY_SOURCE: int = _core.ANY_SOURCE
"""As `source` of a receive: the first rank that sends."""


# Of measurements: bytes of buffers in the longest loops, and how often each is repeated.
_LARGEST, _TIMES = 64 << 20, 15


# For the end of the program.
_open: WeakSet[Communicator] = WeakSet()
_PATIENCE = 5.0


@atexit.register
def _settle() -> None:
    """Gives what is under way some seconds; what nobody waited for is then aborted."""
    deadline = time.monotonic() + _PATIENCE
    for communicator in list(_open):
        if not communicator._core.closed:
            communicator._core.settle(max(0.0, deadline - time.monotonic()))


class Communicator(Collectives):
    """A group of ranks that run collectives together.

    Made by `weft.init`, `from_mpi`, `from_group` or `split`. As a context manager it closes itself,
    or aborts if the block raised.
    """

    def __init__(self, core: _core.Communicator) -> None:
        self._core = core
        _open.add(self)

    @classmethod
    def from_mpi(
        cls,
        comm: Any,
        *,
        fabric: str | None = None,
        timeout: float = 300.0,
        reproducible: bool = False,
        tuning: str | os.PathLike[str] = "",
        wire: str = "",
        priority: int = 0,
        workers: Workers | None = None,
    ) -> Communicator:
        """Collective over mpi4py's `comm`: a communicator of its ranks, in their order.

        No other rank of the job takes part, and nothing but MPI is needed to meet. `comm` itself is
        left as it is: the program may go on using it, also at the same time if MPI was initialised
        with MPI_THREAD_MULTIPLE. `fabric="mpi"` sends by MPI's messages, among these ranks alone.
        The options are those of `weft.init`. MPI waits for all ranks of `comm`, without a timeout.

        Raises:
            InvalidArgument: `comm` is no communicator of mpi4py, is null or freed, or is an
                intercommunicator; MPI is not initialised.
            Unsupported: mpi4py uses another MPI than Weft has loaded; MPI is finalised, or was
                initialised with less than MPI_THREAD_SERIALIZED.
        """
        from weft import join

        return join.from_mpi(comm, timeout, reproducible, tuning, fabric, wire, priority, workers)

    @classmethod
    def from_group(
        cls,
        group: Any = None,
        *,
        fabric: str | None = None,
        timeout: float = 300.0,
        reproducible: bool = False,
        tuning: str | os.PathLike[str] = "",
        wire: str = "",
        priority: int = 0,
        workers: Workers | None = None,
    ) -> Communicator:
        """Collective over a process group of torch: a communicator of its ranks, in their order.

        group: a `torch.distributed.ProcessGroup` of any backend; None: the default one. Only its
        members call. They meet in the group's store, and no collective of the group runs. The
        group itself is left as it is and may be destroyed before the communicator. A group may have
        any number of communicators, if its ranks make them in the same order. The options are those
        of `weft.init`.

        Raises:
            InvalidArgument: this rank is not in the group, `group` is no process group, or there is
                no default one.
            Timeout, PeerLost, Mismatch, Unsupported: as `weft.init`.
        """
        from weft import join

        return join.from_group(
            group, timeout, reproducible, tuning, fabric, wire, priority, workers
        )

    @property
    def place(self) -> list[int]:
        """The node of each rank. Nodes count from 0 in the order of their first ranks.

        Ranks of one node share memory: they have one kernel, network namespace and WEFT_NODE.
        """
        return self._core.place

    @property
    def crowded(self) -> bool:
        """Whether some machine has more ranks than cores that they may use. Equal on all ranks."""
        return self._core.crowded

    @property
    def timeout(self) -> float:
        """Seconds that a wait may last before `Timeout` ends the communicator."""
        return self._core.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._core.timeout = arguments.seconds(seconds, f"rank {self.rank}: timeout")

    def isend(self, x: Any, destination: int, tag: int = 0) -> Request:
        """Starts to send `x`. It finishes once `x` may be written again.

        Messages are matched by (source, tag), in the order sent, and wait for no collective.
        """
        x = self._array(x, "x")
        try:
            return Request(self._core.isend(x, destination, tag), x)
        except TypeError:
            arguments.refuse_wrong(f"rank {self.rank}: send", destination=destination, tag=tag)
            raise

    def irecv(self, out: Any, source: int = ANY_SOURCE, tag: int = 0) -> Request:
        """Starts to receive into `out`, which is the result; `Request.source` says who sent.

        The sender's count and dtype must be those of `out`; else `Mismatch` here, and `Aborted`
        with its text there, at the latest in the sender's next call.
        """
        try:
            return Request(self._core.irecv(self._array(out, "out"), source, tag), out)
        except TypeError:
            arguments.refuse_wrong(f"rank {self.rank}: recv", source=source, tag=tag)
            raise

    def send(self, x: Any, destination: int, tag: int = 0) -> None:
        """`isend`, waited for."""
        self.isend(x, destination, tag).wait()

    def recv(self, out: Any, source: int = ANY_SOURCE, tag: int = 0) -> int:
        """`irecv`, waited for; the rank that sent."""
        request = self.irecv(out, source, tag)
        request.wait()
        return request.source

    @property
    def priority(self) -> int:
        """As given to `weft.init` or `split`: calls of a higher priority go first."""
        return self._core.priority

    def split(
        self, color: int, key: int = 0, *, priority: int | None = None
    ) -> Communicator | None:
        """Collective: a communicator of the ranks with the same color, ordered by (key, rank).

        None for a negative color. `priority` is that of `weft.init`, equal on all ranks of a color;
        by default this communicator's.

        Raises:
            InvalidArgument: ranks of one color give different priorities. All ranks of this
                communicator raise it; the communicator goes on.
        """
        who = f"rank {self.rank}: split"
        part = self._core.split(
            arguments.whole(color, f"{who}: color"),
            arguments.whole(key, f"{who}: key"),
            None if priority is None else arguments.whole(priority, f"{who}: priority"),
        )
        return None if part is None else Communicator(part)

    def abort(self, why: str) -> None:
        """Ends all that is in flight here and on the peers, which see `Aborted` with `why`.

        They may see it in a call that this rank has finished before, if they wait in it for yet
        another rank.
        """
        self._core.abort(arguments.text(why, f"rank {self.rank}: abort: why"))

    def close(self) -> None:
        """Waits until peers have read what was sent to them, then leaves. May be called again.

        Raises:
            Mismatch: a peer has sent something that no call here has received. An example is two
                ranks that both name themselves the root of a broadcast. The communicator has left
                nevertheless.
        """
        self._core.close()

    def algorithm_for(
        self,
        collective: str,
        count: int,
        dtype: str = "float32",
        op: str = "sum",
        root: int = 0,
        algorithm: str | None = None,
        symmetric: bool = False,
    ) -> str:
        """The algorithm that a call would use, as "allreduce/ring(chunk=64K)".

        count: elements of one rank's block (of the whole, where the message has no blocks).
        """
        try:
            return self._core.algorithm_for(
                collective, count, dtype, op, root, algorithm or "", symmetric
            )
        except TypeError:
            arguments.refuse_wrong(
                f"rank {self.rank}: algorithm_for", collective=collective, count=count,
                dtype=dtype, op=op, root=root, algorithm=algorithm or "", symmetric=symmetric,
            )  # fmt: skip
            raise

    def topology(self) -> _core.Topology:
        """Measures what joins the ranks: nodes, sockets, links, rates of copies and reductions.

        Collective, with nothing else under way on this communicator; equal on all ranks. For
        `weft.price`, `weft.simulate` and the commands that take a topology:

            found = comm.topology()
            if comm.rank == 0:
                Path("job.yaml").write_text(weft.topology.text_of(found))

        Raises:
            Unsupported: where ranks outnumber the cores of their machine, or those of one node do
                not share memory, on all ranks.
        """
        return _core.measure(self._core, _LARGEST, _TIMES)

    def __enter__(self) -> Communicator:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is not None and not self._core.closed:
            self.abort(f"rank {self.rank} raised {type(error).__name__}: {error}")
        self.close()

    def __repr__(self) -> str:
        return f"<weft.Communicator rank {self.rank} of {self.size}>"
