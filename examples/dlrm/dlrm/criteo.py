"""Criteo's click logs, read as a stream.

A line has 40 columns with tabs between them: the label, 13 integers, 26 categories of up to eight
hexadecimal digits. A column may be empty but for the label. Files are those of Criteo's Kaggle
challenge and of its terabyte log, unpacked.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import torch

from weft.errors import InvalidArgument

from dlrm.configurations import Configuration

INTEGERS, CATEGORIES = 13, 26
COLUMNS = 1 + INTEGERS + CATEGORIES
_KINDS = ["a label, 0 or 1"] + ["an integer"] * INTEGERS + ["a hexadecimal number"] * CATEGORIES
_PATTERNS = [b"[01]"] + [rb"(?:-?\d{1,18})?"] * INTEGERS + [b"[0-9a-fA-F]{0,15}"] * CATEGORIES
_LINE = re.compile(b"\t".join(_PATTERNS))


class CriteoRecords:
    """The records of some lines."""

    def __init__(self, shape: Configuration, columns: list[list[bytes]]) -> None:
        """`columns`: of each line."""
        self._shape, self._columns = shape, columns

    def dense(self) -> torch.Tensor:
        """log(1 + x) of each integer. Nothing and negative numbers count as 0."""
        rows = [[int(x or 0) for x in line[1 : 1 + INTEGERS]] for line in self._columns]
        return torch.tensor(rows, dtype=torch.float64).clamp_(min=0).log1p_().float()

    def labels(self) -> torch.Tensor:
        """Whether the advertisement was clicked."""
        return torch.tensor([float(line[0]) for line in self._columns])

    def indices(self, table: int) -> torch.Tensor:
        """The category modulo the table's rows. An empty one counts as 0."""
        rows, column = self._shape.rows[table], 1 + INTEGERS + table
        return torch.tensor([[int(line[column] or b"0", 16) % rows] for line in self._columns])


class CriteoLog:
    """Source of one file's records, a minibatch after the other, again and again.

    Each pass leaves out the last lines that fill no minibatch. Every rank reads the whole file.
    Going on at a step reads the lines before it.

    Raises:
        InvalidArgument: the configuration does not fit, or the file has no whole minibatch. In
            `records`: a line is not of this format; the error names the file, line and column.
    """

    def __init__(self, path: Path, shape: Configuration) -> None:
        """Opens the file."""
        if (shape.bottom[0], len(shape.rows), shape.lookups) != (INTEGERS, CATEGORIES, 1):
            raise InvalidArgument(
                f"configuration {shape.name} has {shape.bottom[0]} features and {len(shape.rows)} "
                f"tables with {shape.lookups} lookups: Criteo's logs have {INTEGERS} and "
                f"{CATEGORIES} with 1; use mlperf, perhaps shrunk"
            )
        self._path, self._shape = path, shape
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InvalidArgument(f"{path}: {error.strerror}: give a file of lines") from error
        self._step = self._line = 0  # the next ones, from 0

    def records(self, step: int) -> CriteoRecords:
        """As `Source`."""
        if step < self._step:
            self._rewind()
            self._step = 0
        while self._step < step:
            self._lines()
            self._step += 1
        first, lines = self._lines()
        self._step += 1
        numbered = enumerate(lines, first + 1)
        return CriteoRecords(self._shape, [self._parse(line, n) for n, line in numbered])

    def _rewind(self) -> None:
        self._file.seek(0)
        self._line = 0

    def _lines(self) -> tuple[int, list[bytes]]:
        """The next minibatch, and the number of its first line from 0."""
        count = self._shape.minibatch
        lines = list(itertools.islice(self._file, count))
        if len(lines) < count:
            if self._line == 0:
                raise InvalidArgument(
                    f"{self._path} has {len(lines)} lines: choose a minibatch of at most so many, "
                    f"not of {count}"
                )
            self._rewind()
            return self._lines()
        self._line += count
        return self._line - count, lines

    def _parse(self, line: bytes, number: int) -> list[bytes]:
        line = line.rstrip(b"\r\n")
        if _LINE.fullmatch(line):
            return line.split(b"\t")
        wrong = _complaint(line.split(b"\t"))
        raise InvalidArgument(f"{self._path}, line {number}: {wrong}")


def _complaint(columns: list[bytes]) -> str:
    """What is wrong with a line that is not of the format."""
    if len(columns) != COLUMNS:
        return f"{len(columns)} columns, not {COLUMNS} with tabs between them"
    for number, (text, pattern, kind) in enumerate(zip(columns, _PATTERNS, _KINDS, strict=True), 1):
        if not re.fullmatch(pattern, text):
            return f"column {number} is {text.decode(errors='replace')!r}, not {kind}"
    raise AssertionError("every column is right, but not the line")
