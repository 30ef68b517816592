"""The collectives of a communicator, and how its methods read their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft import _core, arguments
from weft.arrays import as_array, elements, like
from weft.errors import InvalidArgument
from weft.request import Request

# Options of a call for which None says "as usual".
_OPTIONAL = ("algorithm", "timeout", "input_counts", "output_counts")


class Collectives:
    """What `Communicator` inherits: a method for each collective. `weft.communicator` says more."""

    _core: _core.Communicator

    @property
    def rank(self) -> int:
        """This rank, from 0."""
        return self._core.rank

    @property
    def size(self) -> int:
        """The number of ranks."""
        return self._core.size

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

    def barrier(
        self,
        *,
        algorithm: str | None = None,
        timeout: float | None = None,
        async_op: bool = False,
    ) -> Request | None:
        """Returns (finishes) once all ranks have called it."""
        return self._call("barrier", None, None, 0, async_op, algorithm=algorithm, timeout=timeout)

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
