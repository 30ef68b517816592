"""Plans as JSON, both ways: `plan_from_json(plan_to_json(plan)) == plan`.

    {"format": "weft-plan", "version": 1,
     "algorithm": "allreduce/ring", "collective": "allreduce", "ranks": 4,
     "params": {}, "input_blocks": 4, "output_blocks": 4,
     "channels": [{"slots": 4, "wide": true}],
     "programs": [[{"rounds": 3, "chunked": true, "steps": [
       {"verb": "put", "extent": {"buffer": "input", "block": 2},
        "src": [{"buffer": "input", "rank": 0, "block": 2}], "peers": [1], "channel": 0},
       {"verb": "reduce", "lag": 1, "last": true, "extent": {"buffer": "output", "block": 0},
        "dst": [{"buffer": "output", "rank": 0, "block": 0}],
        "src": [{"buffer": "input", "rank": 0, "block": 0},
                {"buffer": "slot", "rank": 3, "channel": 0}]}]}], ...]}

A parameter is a number, a word or a list of numbers. Programs are in rank order; a program is its
sections. An index (block, rank, peer) is a number, or {"base", "first", "stride", "modulus"} where
it advances with the round. `blocks` is 1 and may be left out; so may what is empty, zero or false
in a step. A step without a range has no "extent".

What is read is checked for its form only; `weft.plan.verify` says whether it is a plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from weft._core import Channel, Index, Operand, Plan, PlanShape, Range, Section, Step
from weft.errors import InvalidArgument, InvalidPlan

FORMAT = "weft-plan"
VERSION = 1

_EMPTY = Range("input", 0, 0)
_T = TypeVar("_T")
_WORDS = {int: "a number", str: "a text", bool: "true or false", list: "a list"}


def plan_to_json(plan: Plan, indent: int | None = None) -> str:
    """The plan as JSON text; `indent` as in `json.dumps`."""
    shape = plan.shape
    return json.dumps(
        {
            "format": FORMAT,
            "version": VERSION,
            "algorithm": shape.algorithm,
            "collective": shape.collective,
            "ranks": shape.ranks,
            "params": shape.params,
            "input_blocks": shape.input_blocks,
            "output_blocks": shape.output_blocks,
            **({"equal_counts": True} if shape.equal_counts else {}),
            **({"in_place": True} if shape.in_place else {}),
            "channels": [_channel(c) for c in shape.channels],
            "programs": [[_section(s) for s in program] for program in plan.programs],
        },
        indent=indent,
    )


def plan_from_json(text: str | bytes) -> Plan:
    """The plan that `plan_to_json` wrote, or that follows the schema above.

    Raises:
        InvalidPlan: naming the place in the document and what was expected there.
    """
    try:
        return _Node(json.loads(text), "plan").read(_read_plan)
    except ValueError as error:
        raise InvalidPlan(f"the text is not JSON: {error}") from None
    except RecursionError:
        raise InvalidPlan("lists and objects are nested too deep: a plan has nine levels") from None
    except _Misread as error:
        raise InvalidPlan(str(error)[:500]) from None


def _channel(channel: Channel) -> dict[str, Any]:
    fields = {"slots": channel.slots, "wide": channel.wide}
    return fields | {"narrow": True} if channel.narrow else fields


def _section(section: Section) -> dict[str, Any]:
    return {
        "rounds": section.rounds,
        "chunked": section.chunked,
        "steps": [_step(step) for step in section.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "verb": step.verb,
        "lag": step.lag,
        "last": step.last,
        "tree": step.tree,
        "extent": None if step.extent == _EMPTY else _range(step.extent),
        "dst": [_operand(operand) for operand in step.dst],
        "src": [_operand(operand) for operand in step.src],
        "peers": [_index(peer) for peer in step.peers],
        "channel": step.channel,
    }
    return {name: value for name, value in fields.items() if value or name == "verb"}


def _operand(operand: Operand) -> dict[str, Any]:
    fields = {"buffer": operand.buffer, "rank": _index(operand.rank)}
    if operand.buffer == "slot":
        return fields | {"channel": operand.channel}
    return fields | _range(operand.range)


def _range(range: Range) -> dict[str, Any]:
    fields = {"buffer": range.buffer, "block": _index(range.block)}
    return fields if range.blocks == 1 else fields | {"blocks": range.blocks}


def _index(index: Index) -> int | dict[str, int]:
    if index.modulus == 1 and index.first == index.stride == 0:
        return index.base
    return {
        "base": index.base,
        "first": index.first,
        "stride": index.stride,
        "modulus": index.modulus,
    }


class _Misread(Exception):
    """What is wrong, and where."""


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Misread(f"{path}: half a surrogate pair is no text") from None


class _Node:
    """A value of the document and the way to it. Every key has to be asked for."""

    def __init__(self, value: Any, path: str) -> None:
        self.value = value
        self.path = path
        self._asked: set[str] = set()

    def refuse(self, expected: str) -> _Misread:
        if isinstance(self.value, (dict, list)):
            found = "an object" if isinstance(self.value, dict) else "a list"
        else:
            found = json.dumps(self.value)[:60]
        return _Misread(f"{self.path}: expected {expected}, found {found}")

    def read(self, build: Callable[[_Node], _T]) -> _T:
        """Reads an object with `build`, and refuses keys that it has not asked for."""
        if not isinstance(self.value, dict):
            raise self.refuse("an object")
        try:
            result = build(self)
        except (InvalidPlan, InvalidArgument) as error:
            raise _Misread(f"{self.path}: {error}") from None
        unknown = sorted(set(self.value) - self._asked)
        if unknown:
            raise _Misread(f"{self.path}: unknown key {unknown[0]!r}")
        return result

    def of(self, kind: type[_T]) -> _T:
        """The value, of exactly that kind: true is no number here."""
        found = type(self.value)
        if found is not kind:
            raise self.refuse(_WORDS[kind])
        if found is int and abs(self.value) >= 2**31:
            raise self.refuse("a number of 32 bits")
        if found is str:
            _check_text(self.value, self.path)
        return self.value

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """The value of `key`; without a default it has to be there."""
        if default is not None and not self.has(key):
            return default
        return self[key].of(kind)

    def items(self, key: str) -> Iterable[_Node]:
        values = self.get(key, list, [])
        return [_Node(value, f"{self.path}.{key}[{i}]") for i, value in enumerate(values)]

    def has(self, key: str) -> bool:
        return key in self.value

    def __getitem__(self, key: str) -> _Node:
        self._asked.add(key)
        if not self.has(key):
            raise _Misread(f"{self.path}: {key!r} is missing")
        return _Node(self.value[key], f"{self.path}.{key}")


def _read_plan(node: _Node) -> Plan:
    if node.get("format", str) != FORMAT or node.get("version", int) != VERSION:
        raise node.refuse(f"format {FORMAT!r}, version {VERSION}")
    shape = PlanShape(
        algorithm=node.get("algorithm", str),
        collective=node.get("collective", str),
        ranks=node.get("ranks", int),
        params=node["params"].read(_read_params),
        input_blocks=node.get("input_blocks", int),
        output_blocks=node.get("output_blocks", int),
        channels=[channel.read(_read_channel) for channel in node.items("channels")],
        equal_counts=node.has("equal_counts") and node.get("equal_counts", bool),
        in_place=node.has("in_place") and node.get("in_place", bool),
    )
    programs = []
    for program in node.items("programs"):
        sections = (_Node(v, f"{program.path}[{i}]") for i, v in enumerate(program.of(list)))
        programs.append([section.read(_read_section) for section in sections])
    return Plan(shape, programs)


def _read_params(node: _Node) -> dict[str, int | str | list[int]]:
    return {name: _read_param(node, name) for name in node.value}


def _read_param(node: _Node, name: str) -> int | str | list[int]:
    _check_text(name, node.path)
    value = node[name].value
    if isinstance(value, str):
        return node.get(name, str)
    if isinstance(value, list):
        return [item.of(int) for item in node.items(name)]
    return node.get(name, int)


def _read_channel(node: _Node) -> Channel:
    return Channel(
        slots=node.get("slots", int),
        wide=node.get("wide", bool, False),
        narrow=node.get("narrow", bool, False),
    )


def _read_section(node: _Node) -> Section:
    return Section(
        rounds=node.get("rounds", int, 1),
        chunked=node.get("chunked", bool),
        steps=[step.read(_read_step) for step in node.items("steps")],
    )


def _read_step(node: _Node) -> Step:
    return Step(
        verb=node.get("verb", str),
        extent=node["extent"].read(_read_range) if node.has("extent") else _EMPTY,
        dst=[operand.read(_read_operand) for operand in node.items("dst")],
        src=[operand.read(_read_operand) for operand in node.items("src")],
        peers=[_read_index(peer) for peer in node.items("peers")],
        channel=node.get("channel", int, 0),
        lag=node.get("lag", int, 0),
        last=node.get("last", bool, False),
        tree=node.get("tree", bool, False),
    )


def _read_operand(node: _Node) -> Operand:
    rank = _read_index(node["rank"])
    if node.get("buffer", str) == "slot":
        return Operand.slot(node.get("channel", int), rank)
    return Operand.of(_read_range(node), rank)


def _read_range(node: _Node) -> Range:
    buffer = node.get("buffer", str)
    if buffer == "slot":
        raise node["buffer"].refuse("input or output")
    return Range(buffer, _read_index(node["block"]), node.get("blocks", int, 1))


def _read_index(node: _Node) -> Index:
    if not isinstance(node.value, dict):
        return Index(node.of(int))
    names = ("base", "first", "stride", "modulus")
    return node.read(lambda index: Index(*(index.get(name, int) for name in names)))
