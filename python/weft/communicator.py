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
import time
from collections.abc import Sequence
from typing import Any
from weakref import WeakSet

from weft import _core, arguments
from weft.arrays import as_array, elements, like
from weft.errors import InvalidArgument
from weft.request import Request

ANY_SOURCE: int = _core.ANY_SOURCE
"""As `source` of a receive: the first rank that sends."""


# Options of a call for which None says "as usual".
_OPTIONAL = ("algorithm", "timeout", "input_counts", "output_counts")

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


class Communicator:
    """A group of ranks that run collectives together. Made by `weft.init` or `split`.

    As a context manager it closes itself, or aborts if the block raised.
    """

    def __init__(self, core: _core.Communicator) -> None:
        self._core = core
        _open.add(self)

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        return self._core.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._core.size

    @property
    def timeout(self) -> float:
        """Seconds that a wait may last before `Timeout` ends the communicator."""
        return self._core.timeout

    @timeout.setter
    def timeout(self, seconds: float) -> None:
        self._core.timeout = arguments.seconds(seconds, f"rank {self.rank}: timeout")

    def allreduce(
        self,
        x: Any,
        op: str = "sum",
        *,
        out: Any = None,
        scale: float = 1.0,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """The reduction of all ranks' `x`, on every rank. Result: shape of `x`.

        op: sum, prod, min, max, avg, bit_and, bit_or, bit_xor, or premul_sum: the sum of
        `scale` times x.
        """
        x = self._array(x, "x")
        out = like(x, x.shape) if out is None else out
        return self._call("allreduce", x, out, elements(x), async_op, op=op, scale=scale,
                          algorithm=algorithm, symmetric=symmetric, timeout=timeout)  # fmt: skip

    def broadcast(
        self,
        x: Any,
        root: int = 0,
        *,
        out: Any = None,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """The root's `x`, on every rank. Result: shape of `x`.

        On the other ranks `x` says shape and dtype and is not read.
        """
        root = self._root("broadcast", root)
        x = self._array(x, "x")
        out = like(x, x.shape) if out is None else out
        source = x if self.rank == root else None
        return self._call("broadcast", source, out, elements(x), async_op, root=root,
                          algorithm=algorithm, symmetric=symmetric, timeout=timeout)  # fmt: skip

    def reduce(
        self,
        x: Any,
        op: str = "sum",
        root: int = 0,
        *,
        out: Any = None,
        scale: float = 1.0,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """The reduction of all ranks' `x`, on the root; None elsewhere. Result: shape of `x`."""
        root = self._root("reduce", root)
        x = self._array(x, "x")
        out = self._at_root(root, out, x, x.shape)
        return self._call("reduce", x, out, elements(x), async_op, op=op, root=root, scale=scale,
                          algorithm=algorithm, symmetric=symmetric, timeout=timeout)  # fmt: skip

    def allgather(
        self,
        x: Any,
        *,
        out: Any = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """All ranks' `x` in rank order, on every rank. Result: shape (size, *x.shape).

        output_counts: elements of each rank, equal on all ranks, where they differ; the result is
        then flat.
        """
        output_counts = self._counts("allgather", "output_counts", output_counts)
        x = self._array(x, "x")
        out = like(x, self._gathered(x, output_counts)) if out is None else out
        return self._call("allgather", x, out, elements(x), async_op, output_counts=output_counts,
                          algorithm=algorithm, symmetric=symmetric, timeout=timeout)  # fmt: skip

    def gather(
        self,
        x: Any,
        root: int = 0,
        *,
        out: Any = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """As `allgather`, on the root; None elsewhere."""
        root = self._root("gather", root)
        output_counts = self._counts("gather", "output_counts", output_counts)
        x = self._array(x, "x")
        out = self._at_root(root, out, x, self._gathered(x, output_counts))
        return self._call("gather", x, out, elements(x), async_op, root=root,
                          output_counts=output_counts, algorithm=algorithm, symmetric=symmetric,
                          timeout=timeout)  # fmt: skip

    def reduce_scatter(
        self,
        x: Any,
        op: str = "sum",
        *,
        out: Any = None,
        input_counts: Sequence[int] | None = None,
        scale: float = 1.0,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """This rank's share of the reduction of all ranks' `x`.

        `x` has shape (size, ...), one block a rank; result: shape x.shape[1:]. A flat `x` of
        size * n elements gives n.

        input_counts: elements of each rank's share, equal on all ranks, where they differ; the
        result is then flat.
        """
        input_counts = self._counts("reduce_scatter", "input_counts", input_counts)
        x = self._array(x, "x")
        count, shape = self._share("reduce_scatter", x, input_counts)
        out = like(x, shape) if out is None else out
        return self._call("reduce_scatter", x, out, count, async_op, op=op, scale=scale,
                          input_counts=input_counts, algorithm=algorithm, symmetric=symmetric,
                          timeout=timeout)  # fmt: skip

    def scatter(
        self,
        x: Any,
        root: int = 0,
        *,
        out: Any = None,
        input_counts: Sequence[int] | None = None,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """This rank's share of the root's `x`, cut as in `reduce_scatter`.

        `x` is needed on the root and ignored elsewhere, where `out` is needed: it says the
        share's shape and dtype.
        """
        root = self._root("scatter", root)
        input_counts = self._counts("scatter", "input_counts", input_counts)
        if self.rank != root:
            if out is None:
                self._refuse("scatter", "out is needed on ranks other than the root")
            count = elements(self._array(out, "out"))
            x = None
        else:
            x = self._array(x, "x")
            count, shape = self._share("scatter", x, input_counts)
            out = like(x, shape) if out is None else out
        return self._call("scatter", x, out, count, async_op, root=root, input_counts=input_counts,
                          algorithm=algorithm, symmetric=symmetric, timeout=timeout)  # fmt: skip

    def alltoall(
        self,
        x: Any,
        *,
        out: Any = None,
        input_counts: Sequence[int] | None = None,
        output_counts: Sequence[int] | None = None,
        algorithm: str | None = None,
        symmetric: bool = False,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Any:
        """Block r of `x` goes to rank r; block r of the result came from rank r.

        `x` has a multiple of size elements; result: shape of `x`. With `input_counts` (elements to
        each rank) and `output_counts` (elements from each rank), both or neither, the result is
        flat.

        `out` may be `x`, if `input_counts` equals `output_counts` on this rank. Unless the
        algorithm is proved in place ("staged" is), `x` is then copied first, into memory that the
        communicator keeps.
        """
        input_counts = self._counts("alltoall", "input_counts", input_counts)
        output_counts = self._counts("alltoall", "output_counts", output_counts)
        x = self._array(x, "x")
        if (input_counts is None) != (output_counts is None):
            self._refuse("alltoall", "give input_counts and output_counts, or neither")
        count, shape = 0, tuple(x.shape)
        if output_counts is not None:
            shape = (sum(output_counts),)
        else:
            count = self._share("alltoall", x, None)[0]
        out = like(x, shape) if out is None else out
        return self._call("alltoall", x, out, count, async_op, input_counts=input_counts,
                          output_counts=output_counts, algorithm=algorithm, symmetric=symmetric,
                          timeout=timeout)  # fmt: skip

    def barrier(self, *, timeout: float | None = None, async_op: bool = False) -> Request | None:
        """Returns (finishes) once all ranks have called it."""
        return self._call("barrier", None, None, 0, async_op, timeout=timeout)

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

    def split(self, color: int, key: int = 0) -> Communicator | None:
        """Collective: a communicator of the ranks with the same color, ordered by (key, rank).

        None for a negative color.
        """
        who = f"rank {self.rank}: split"
        part = self._core.split(
            arguments.whole(color, f"{who}: color"), arguments.whole(key, f"{who}: key")
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

    def _call(
        self, collective: str, x: Any, out: Any, count: int, async_op: bool, **options: Any
    ) -> Any:
        for name in _OPTIONAL:
            if name in options and options[name] is None:
                del options[name]
        if "timeout" in options:
            options["timeout"] = arguments.seconds(
                options["timeout"], f"rank {self.rank}: {collective}: timeout"
            )
        try:
            if not async_op:
                self._core.run(collective, x, out, count, **options)
                return out
            return Request(self._core.submit(collective, x, out, count, **options), out)
        except TypeError:
            arguments.refuse_wrong(f"rank {self.rank}: {collective}", **options)
            raise

    def _root(self, collective: str, root: int) -> int:
        who = f"rank {self.rank}: {collective}: root"
        return arguments.whole(root, who, 0, self.size - 1)

    def _counts(self, collective: str, name: str, given: Sequence[int] | None) -> list[int] | None:
        return arguments.counts(given, f"rank {self.rank}: {collective}: {name}", self.size)

    def _at_root(self, root: int, out: Any, x: Any, shape: Sequence[int]) -> Any:
        if self.rank != root:
            return None
        return like(x, shape) if out is None else out

    def _gathered(self, x: Any, counts: Sequence[int] | None) -> tuple[int, ...]:
        return (self.size, *x.shape) if counts is None else (sum(counts),)

    def _share(
        self, collective: str, x: Any, counts: Sequence[int] | None
    ) -> tuple[int, tuple[int, ...]]:
        """Elements and shape of this rank's block of `x`."""
        if counts is not None:
            return counts[self.rank], (counts[self.rank],)
        count, rest = divmod(elements(x), self.size)
        if rest:
            self._refuse(
                collective,
                f"x has {elements(x)} elements, which {self.size} ranks cannot share: "
                "pad it, or give counts",
            )
        if len(x.shape) > 1 and x.shape[0] == self.size:
            return count, tuple(x.shape[1:])
        return count, (count,)

    def _array(self, x: Any, name: str) -> Any:
        return as_array(x, f"rank {self.rank}: {name}")

    def _refuse(self, collective: str, what: str) -> None:
        raise InvalidArgument(f"rank {self.rank}: {collective}: {what}")
