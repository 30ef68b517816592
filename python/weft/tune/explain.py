"""Why an algorithm runs for a call: the rule that chose it, and the times of the others."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from weft import _core
from weft._core import Topology, find_algorithm
from weft.cost import price
from weft.errors import Unsupported
from weft.sizes import size_text
from weft.traits import TRAITS
from weft.tune.candidates import algorithms
from weft.tune.placement import crowded_here, nodes_of
from weft.tune.reasons import Row, is_native, notes, reason
from weft.tune.table import Table

Progress = Callable[[list[str]], Iterable[str]]


@dataclass(frozen=True)
class Question:
    """A call, as far as selection looks at it."""

    collective: str
    ranks: int
    nbytes: int
    dtype: str = "float32"
    symmetric: bool = False
    reproducible: bool = False
    wire: str = ""
    algorithm: str = ""
    tuning: str = ""
    topology: Topology | None = None

    @property
    def nodes(self) -> int:
        """Machines that the ranks are on: the topology's, else one."""
        return nodes_of(self.topology, self.ranks)

    @property
    def crowded(self) -> bool:
        """Whether ranks share this machine's cores. On a topology each has a core."""
        return self.topology is None and crowded_here(self.ranks)


@dataclass
class Explained:
    """The answer. Candidates: those that were measured or predicted first, the quickest first."""

    question: Question
    chosen: str
    rule: str  # call, environment, table, built-in
    file: str  # the tuning file; empty: none
    row: int  # of it, from 1; 0: none fits
    reason: str
    measured_at: int | None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    unsuitable: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def measured_head(self) -> str:
        """The column's title: a size that was not measured shows times measured nearby."""
        at = self.measured_at
        same = at in (None, self.question.nbytes)
        return "measured µs" if same else f"measured µs, {size_text(at or 0)}"

    def json(self) -> dict[str, Any]:
        """All of it, with the question."""
        asked = {one.name: getattr(self.question, one.name) for one in fields(self.question)}
        answer = {one.name: getattr(self, one.name) for one in fields(self)}
        del answer["question"]
        asked["topology"] = self.question.topology.name if self.question.topology else None
        seen = {"nodes": self.question.nodes, "crowded": self.question.crowded}
        return {**asked, **seen, **answer}


def explain(question: Question, progress: Progress = lambda names: names) -> Explained:
    """Asks the rules as a communicator would, and prices the candidates if there is a topology.

    `progress` is given what is to be priced and passes it on.

    Raises:
        InvalidArgument, Unsupported: as the call itself would.
    """
    selection = _select(question, question.algorithm)
    row = _row(question)
    chosen = str(selection.choice)
    suitable, unsuitable = _candidates(question, "wire" in selection.choice.params)
    names = list(dict.fromkeys([chosen, *row.measured, *suitable]))
    priced = [name for name in names if question.topology and not is_native(name)]
    predicted = {name: _price(question, name) for name in progress(priced)}
    return Explained(
        question, chosen, selection.rule, row.file, row.number,
        reason(selection.rule, row), row.at,
        _ordered(chosen, names, row.measured, predicted), unsuitable,
        [*_crowd(question), *notes(question.reproducible, chosen, row.measured, predicted)],
    )  # fmt: skip


def _select(question: Question, algorithm: str) -> _core.Selection:
    return _core.select(
        question.collective, question.ranks, question.nbytes, question.dtype,
        symmetric=question.symmetric, algorithm=algorithm, nodes=question.nodes,
        reproducible=question.reproducible, tuning=question.tuning or "",
        wire=question.wire, crowded=question.crowded,
    )  # fmt: skip


def _crowd(question: Question) -> list[str]:
    if not question.crowded:
        return []
    return [
        f"{question.ranks} ranks share this machine's cores, where each wait changes processes; "
        "--topology says what runs if each has a core"
    ]


def _row(question: Question) -> Row:
    """Also if the call names another algorithm: the measured times are still of interest."""
    file = _core.tuning_file(question.tuning)
    named = os.environ.pop("WEFT_ALGORITHM", None)
    try:
        number = _select(question, "").row
    finally:
        if named is not None:
            os.environ["WEFT_ALGORITHM"] = named
    entry = Table.load(Path(file)).rows[number - 1] if number else {}
    best: dict[str, Any] = min(
        entry.get("measured", []),
        key=lambda one: abs(math.log(max(one["bytes"], 1) / max(question.nbytes, 1))),
        default={"bytes": None, "us": {}},
    )
    return Row(question.tuning, file, number, entry, best["bytes"], best["us"])


def _candidates(question: Question, narrow: bool) -> tuple[list[str], list[str]]:
    """Algorithms for the call, and why others do not fit. `narrow`: bf16 crosses nodes."""
    good = algorithms(
        question.collective, question.ranks, symmetric=question.symmetric,
        topology=question.topology,
    )  # fmt: skip
    strict = question.reproducible and TRAITS[question.collective].reduces
    if strict:
        good = [name for name in good if find_algorithm(name).reproducible]
    if narrow:
        good = list(dict.fromkeys(text for name in good if (text := _on_wire(question, name))))
    served = {name.partition("(")[0] for name in good}
    why = [
        f"{name}: {_why_not(name, question, narrow)}"
        for name in _core.algorithm_names()
        if find_algorithm(name).collective == question.collective and name not in served
    ]
    return good, why


def _on_wire(question: Question, name: str) -> str:
    """The communicator's type for the name; empty if it sends float32 unchanged."""
    try:
        return str(_select(question, name).choice)
    except Unsupported:
        return ""


def _why_not(name: str, question: Question, narrow: bool) -> str:
    algorithm = find_algorithm(name)
    if refused := algorithm.refuses(question.ranks, algorithm.preset):
        return refused
    if _core.needs_equal_counts(algorithm, question.ranks):
        return "serves equal counts only: name it in the call"
    if question.reproducible and not algorithm.reproducible:
        return "adds up in an order of its own"
    if narrow:
        return "sends float32 as it is"
    return "reaches into peers' memory, which has to be symmetric"


def _price(question: Question, name: str) -> float:
    assert question.topology is not None
    found = price(
        name, question.topology, ranks=question.ranks, nbytes=question.nbytes,
        dtype=question.dtype, symmetric=question.symmetric,
    )  # fmt: skip
    return found.seconds * 1e6


def _ordered(
    chosen: str, names: list[str], measured: dict[str, float], predicted: dict[str, float]
) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        row: dict[str, Any] = {"candidate": name, "chosen": name == chosen}
        if name in measured:
            row["measured_us"] = measured[name]
        if name in predicted:
            row["predicted_us"] = round(predicted[name], 3)
        rows.append(row)
    far = math.inf
    return sorted(rows, key=lambda row: (row.get("measured_us", far), row.get("predicted_us", far)))
