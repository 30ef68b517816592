"""Seconds of an operator on a socket of the document, from what a core took here.

A socket's cores have equal shares, so it takes as long as its busiest core. It never takes less
than its operands need from the socket's memory, each counted once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from scaling.cases import BYTES, CORES, Row, shape

# Bytes of memory that an update moves for an element. float32 reads and writes the weight,
# Split-SGD both halves of it. The dense update also reads the gradient.
ROW_BYTES = {"float32": 8, "bfloat16": 8}
DENSE_BYTES = {"float32": 12, "bfloat16": 10}


@dataclass(frozen=True)
class Socket:
    """What the operators of a configuration take on a socket.

    Attributes:
        seconds: of a core, by records of a socket and operator.
        tables: of a core, for what does not depend on the records of a socket.
        memory: bytes a second.
        slower: how many times as long a core takes as the core here.
    """

    name: str
    dtype: str
    seconds: dict[int, dict[str, float]] = field(repr=False)
    tables: dict[str, float] = field(repr=False)
    memory: float
    slower: float = 1.0

    def layer(self, what: str, records: int, inputs: int, outputs: int) -> float:
        """`what`: forward, inputs or weights."""
        elements = records * inputs + inputs * outputs + records * outputs
        return self._of(self.seconds[records][f"{what} {inputs}x{outputs}"], elements * self._bytes)

    def interaction(self, what: str, records: int) -> float:
        """`what`: forward or backward."""
        one = shape(self.name)
        elements = (len(one.rows) + 1) * one.dimension + one.interactions
        taken = self.seconds[records][f"interaction {what}"]
        return self._of(taken, records * elements * self._bytes)

    def lookup(self, tables: int, minibatch: int) -> float:
        """The sums of `tables` tables for all records."""
        return self._rows("lookup", tables, minibatch, self._bytes)

    def sparse_update(self, tables: int, minibatch: int) -> float:
        """The gradients of the rows that were looked up, and their update."""
        return self._rows("sparse update", tables, minibatch, ROW_BYTES[self.dtype])

    def dense_update(self) -> float:
        """The update of both perceptrons."""
        moved = shape(self.name).dense_parameters * DENSE_BYTES[self.dtype]
        return self._of(self.tables["dense update"], moved)

    @property
    def _bytes(self) -> int:
        return BYTES[self.dtype]

    def _rows(self, what: str, tables: int, minibatch: int, nbytes: int) -> float:
        one = shape(self.name)
        records = -(-one.minibatch // CORES)  # with which it was measured
        core = tables * self.tables[what] * (minibatch / CORES) / records
        return self._of(core, tables * minibatch * one.lookups * one.dimension * nbytes)

    def _of(self, core: float, nbytes: int) -> float:
        return max(self.slower * core, nbytes / self.memory)


def socket(
    rows: list[Row],
    name: str,
    dtype: str,
    memory: float,
    slower: float = 1.0,
    products: float | None = None,
) -> Socket:
    """Of a configuration, with the medians of the rounds.

    products: how many times as long as in float32 the perceptrons' products take. None: as long as
    was measured.

    Raises:
        ValueError: its operators are not measured yet.
    """
    own = [row for row in rows if _is(row, configuration=name, dtype=dtype)]
    counts = {row["turn"]["records"] for row in own if _is(row, part="perceptrons")}
    tables = [row["seconds"] for row in own if _is(row, part="tables")]
    if not counts or not tables:
        raise ValueError(f"no operators of {name} in {dtype} are there: measure them first")
    perceptrons = {count: _medians([row["seconds"] for row in own if _is(row, records=count)])
                   for count in counts}  # fmt: skip
    if products is not None:
        single = socket(rows, name, "float32", memory).seconds
        for count, seconds in perceptrons.items():
            seconds |= {what: products * single[count][what] for what in seconds if "x" in what}
    return Socket(name, dtype, perceptrons, _medians(tables), memory, slower)


def slowdowns(rows: list[Row]) -> dict[str, float]:
    """How many times as long a core computes while a worker is on another core, and on its own."""
    found = {
        place: median(row["seconds"] for row in rows if _is(row, part="slowdown", worker=place))
        for place in ("none", "free", "shared")
    }
    return {"workers": max(1.0, found["free"] / found["none"]),
            "stealing": max(1.0, found["shared"] / found["none"])}  # fmt: skip


def software(rows: list[Row]) -> dict[str, float]:
    """Copies and sums of a worker (bytes a second), a step and a call (seconds)."""
    return _medians([row["rates"] for row in rows if _is(row, part="communication")])


def _is(row: Row, **what: object) -> bool:
    return all(row["turn"].get(name) == value for name, value in what.items())


def _medians(found: list[dict[str, float]]) -> dict[str, float]:
    return {name: median(one[name] for one in found) for name in found[0]}
