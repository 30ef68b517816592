"""YAML in which every value knows its line, so that what is wrong can be shown."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from weft.errors import InvalidArgument

_MOST_BYTES = 1 << 22  # twice what `text_of` writes for 4096 ranks

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
BYTES = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3}
BYTES_PER_SECOND = {
    "B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "Mbit/s": 1e6 / 8, "Gbit/s": 1e9 / 8,
}  # fmt: skip


class Field:
    """One value of a file: text, a list or a mapping.

    Every method raises InvalidArgument with file and line if the value is something else.
    """

    def __init__(self, file: str, node: yaml.Node, what: str = "the file") -> None:
        """`what` is how messages call it."""
        self._file = file
        self._node = node
        self._what = what

    def wrong(self, why: str) -> InvalidArgument:
        """The error to raise about this value."""
        return InvalidArgument(f"{self._file}, line {self._node.start_mark.line + 1}: {why[:500]}")

    def text(self) -> str:
        """A word."""
        if not isinstance(self._node, yaml.ScalarNode) or not self._node.value:
            raise self.wrong(f"{self._what} is a word")
        text = str(self._node.value)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise self.wrong(f"{self._what} has half a surrogate pair, which is no text")
        return text

    def choice(self, words: Iterable[str]) -> str:
        """One of `words`."""
        word = self.text()
        if word not in (known := list(words)):
            raise self.wrong(f"{self._what} is {word!r}: it is one of {', '.join(known)}")
        return word

    def flag(self) -> bool:
        """Yes or no."""
        return self.choice(["yes", "no", "true", "false"]) in ("yes", "true")

    def whole(self, least: int = 1) -> int:
        """A whole number, of at most nine digits."""
        text = self.text()
        if not re.fullmatch(r"-?[0-9]{1,9}", text) or int(text) < least:
            raise self.wrong(
                f"{self._what} is {text[:60]!r}: give a whole number of at least {least}, "
                "of at most nine digits"
            )
        return int(text)

    def quantity(self, units: dict[str, float], positive: bool = False) -> float:
        """A number that is not negative, alone or with one of `units`: "12.5 GB/s"."""
        number, _, unit = self.text().partition(" ")
        try:
            value = float(number) * units[unit.strip()] if unit else float(number)
        except (ValueError, KeyError):
            raise self.wrong(
                f"{self._what} is {self.text()!r}: give a number, alone or with one of "
                f"{', '.join(units)}"
            ) from None
        if not math.isfinite(value) or value < 0 or (positive and value == 0):
            least = "positive" if positive else "not negative"
            raise self.wrong(f"{self._what} is {self.text()}: it has to be {least}")
        return value

    def items(self) -> list[Field]:
        """The values of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.wrong(f"{self._what} is a list: [a, b]")
        return [Field(self._file, node, f"an item of {self._what}") for node in self._node.value]

    def is_list(self) -> bool:
        """Whether it is one."""
        return isinstance(self._node, yaml.SequenceNode)

    def pairs(self) -> Iterator[tuple[Field, Field]]:
        """The keys of a mapping with their values."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.wrong(f"{self._what} is a mapping: name: value")
        seen: set[str] = set()
        for key, value in self._node.value:
            name = Field(self._file, key, f"a name in {self._what}")
            if name.text() in seen:
                raise name.wrong(f"{name.text()} is there twice")
            seen.add(name.text())
            yield name, Field(self._file, value, name.text())

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Field]:
        """The values of a mapping by name, with the names checked."""
        needed, known = list(required), [*required, *optional]
        found = {}
        for name, value in self.pairs():
            if (word := name.text()) not in known:
                near = difflib.get_close_matches(word, known, 1)
                advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
                raise name.wrong(f"{self._what} has no {word!r}: {advice}")
            found[word] = value
        if missing := [word for word in needed if word not in found]:
            raise self.wrong(f"{self._what} lacks {', '.join(missing)}")
        return found


def read(path: Path) -> Field:
    """The whole of a file. Raises InvalidArgument if it cannot be read, or is too large."""
    try:
        if path.exists() and not path.is_file():
            raise InvalidArgument(f"{path} is no regular file: give one with a topology")
        with path.open("rb") as stream:
            text = stream.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise InvalidArgument(
                f"{path} has more than {_MOST_BYTES} bytes: describe one node, and what joins them"
            )
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except OSError as error:
        raise InvalidArgument(f"{path}: {error.strerror}") from None
    except RecursionError:
        raise InvalidArgument(
            f"{path}: lists and mappings are nested too deep: a topology has six levels"
        ) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidArgument(f"{path}, line {line}: {error.problem}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise InvalidArgument(f"{path} is no YAML: {error}") from None
    if node is None:
        raise InvalidArgument(f"{path} is empty")
    return Field(str(path), node)
