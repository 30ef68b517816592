"""`weft verify`: proves algorithms for the rank counts that are asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from weft.cli.algorithms import Parameter, RankCounts, algorithms_of
from weft.errors import InvalidPlan, WeftError
from weft.plan import Algorithm, make_plan, verify
from weft.traits import TRAITS

_EPILOG = """\b
Examples:
  weft verify
  weft verify allreduce/two_level --ranks 4-16 --param node=2
  weft verify my_algorithm.py --ranks 1-17,64 --json proof.json
"""

_MEANING = (
    "Proved of each plan: every output holds exactly what its collective defines; no read or write "
    "races with another; no slot and no source of a put is overwritten while it may be read; "
    "nothing waits forever; the lane is left as it was found. The proof covers every number of "
    "chunks, odd tails, in place and out of place. bits: whether all ranks get the same bits; one "
    "tree: the bits are reproducible, too. sums: how partial sums of f16 and bf16 are kept; wire: "
    "how often, at most, a float32 contribution is rounded for the wire."
)


@dataclass
class Case:
    """One plan and the result of its proof."""

    algorithm: str
    collective: str
    ranks: int
    params: dict[str, int | str | list[int]]
    claims_consistent: bool
    claims_reproducible: bool
    opaque: bool = False  # the fabric's own function: nothing can be proved of it
    refused: str = ""  # why the algorithm refuses this; then nothing else is filled in
    proved: bool = False
    consistent: bool = False  # all ranks get identical bits
    reproducible: bool = False  # the bits of every other reproducible plan for as many ranks
    rounds_partials: bool = False
    narrowings: int = 0  # roundings of float32 for the wire that a contribution passes, at most
    scenarios: int = 0
    seconds: float = 0.0
    findings: list[dict[str, Any]] = field(default_factory=list)
    report: str = ""

    @property
    def failed(self) -> bool:
        return not self.refused and not self.proved


@click.command("verify", epilog=_EPILOG)
@click.argument("algorithm", required=False, metavar="[ALGORITHM|FILE.py]")
@click.option("--ranks", type=RankCounts(), default="1-17", show_default=True, help="Rank counts.")
@click.option(
    "--param", "params", type=Parameter(), multiple=True,
    help="A parameter of the plan; may be given several times. Without root=RANK, rooted "
    "collectives are proved with the first, the second, a middle and the last rank as root.",
)  # fmt: skip
@click.option(
    "--json", "json_file", type=click.File("w", lazy=False), metavar="FILE",
    help="Write one JSON object with a case for each plan; - is standard output.",
)  # fmt: skip
def verify_command(
    algorithm: str | None,
    ranks: list[int],
    params: tuple[tuple[str, int | str | list[int]], ...],
    json_file: TextIO | None,
) -> None:
    """Proves plans: of one algorithm, of the algorithms in a Python file, or of all.

    All ranks of a plan are executed together, on symbolic values. A fault is printed with its rank
    and step. A plan knows no byte count, so the proof holds for every size.

    Exit status: 0; 1 if a plan is wrong or a claim of its algorithm does not hold; 3 if a plan is
    the fabric's own function, of which nothing can be proved; 130 after Ctrl-C.
    """
    try:
        algorithms = algorithms_of(algorithm)
    except InvalidPlan as error:
        raise click.ClickException(str(error)) from None
    cases = [case for a in algorithms for case in _cases(a, ranks, a.preset | dict(params))]
    if algorithm is None:  # of all, only those that are there to be proved
        cases = [case for case in cases if not case.refused]
    if all(case.refused for case in cases):
        raise click.UsageError("; ".join(("nothing to prove", *_refusals(cases))))
    to_stdout = json_file is not None and json_file.name == "<stdout>"
    try:
        _prove_all(cases)
    except WeftError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    if json_file is not None:
        json.dump(_as_json(cases), json_file, indent=1)
        json_file.write("\n")
        json_file.flush()
    console = Console(stderr=to_stdout)
    console.print(_table(cases))
    console.print("", _MEANING, *([] if algorithm is None else _refusals(cases)), sep="\n")
    failed = [case for case in cases if case.failed]
    for case in failed:
        said = "is opaque, not proved" if case.opaque else "is wrong"
        console.print(f"\n{_named(case)} for {case.ranks} ranks {said}:", style="bold red")
        console.print(case.report, markup=False, highlight=False)
    if failed:
        raise SystemExit(3 if all(case.opaque for case in failed) else 1)


def _cases(
    algorithm: Algorithm, ranks: Iterable[int], params: dict[str, int | str | list[int]]
) -> Iterator[Case]:
    for count in ranks:
        roots = sorted({0, min(1, count - 1), count // 2, count - 1})
        rooted = TRAITS[algorithm.collective].rooted and "root" not in params
        for given in [params | {"root": root} for root in roots] if rooted else [params]:
            yield Case(
                algorithm.name, algorithm.collective, count, given, algorithm.consistent,
                algorithm.reproducible,
                refused=algorithm.refuses(count, given),
            )  # fmt: skip


def _prove_all(cases: list[Case]) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        # The work of a proof grows about as fast as this.
        task = bar.add_task("", total=sum(case.ranks**2 for case in cases))
        for case in cases:
            bar.update(task, description=f"{case.algorithm}, {case.ranks} ranks")
            if not case.refused:
                _prove(case)
            bar.advance(task, case.ranks**2)


def _prove(case: Case) -> None:
    started = time.monotonic()
    plan = make_plan(case.algorithm, case.ranks, case.params)
    report = verify(plan, consistent=case.claims_consistent, reproducible=case.claims_reproducible)
    case.seconds = round(time.monotonic() - started, 6)
    case.params = plan.shape.params
    case.proved = report.ok
    case.opaque = any(f.fault == "opaque" for f in report.findings)
    case.consistent = report.consistent
    case.reproducible = report.reproducible
    case.rounds_partials = report.rounds_partials
    case.narrowings = report.narrowings
    case.scenarios = report.scenarios
    case.findings = [
        {"fault": f.fault, "rank": f.rank, "step": f.step, "text": f.text} for f in report.findings
    ]
    case.report = "" if report.ok else str(report)


def _as_json(cases: list[Case]) -> dict[str, Any]:
    rows = [{k: v for k, v in asdict(case).items() if k != "report"} for case in cases]
    return {"ok": not any(case.failed for case in cases), "cases": rows}


def _named(case: Case) -> str:
    given = " ".join(f"{name}={value}" for name, value in case.params.items())
    return f"{case.algorithm} {given}".strip()


def _outcome(case: Case) -> tuple[str, str, str, str]:
    if case.refused:
        return case.algorithm, "[yellow]refused[/]", "", ""
    if not case.proved:
        verdict = "[bold red]opaque[/]" if case.opaque else "[bold red]WRONG[/]"
        return case.algorithm, verdict, "", ""
    bits = partials = "-"
    traits = TRAITS[case.collective]
    if traits.reduces and traits.in_one_buffer:
        bits = "same" if case.consistent else "may differ"
    if traits.reduces:
        partials = "rounded" if case.rounds_partials else "float32"
        if case.narrowings:
            partials = f"wire: {case.narrowings}"
        if case.claims_reproducible:  # with few ranks others happen to be
            bits = "one tree"
    return case.algorithm, "[green]proved[/]", bits, partials


def _table(cases: list[Case]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("algorithm", no_wrap=True)
    for title in ("ranks", "plans", "bits", "sums"):
        table.add_column(title, no_wrap=True)
    for title in ("calls", "seconds"):
        table.add_column(title, justify="right", no_wrap=True)
    # Neighbouring rank counts with equal results are one row.
    for (name, verdict, bits, partials), alike in groupby(cases, _outcome):
        group = list(alike)
        first, last = group[0].ranks, group[-1].ranks
        table.add_row(
            name, str(first) if first == last else f"{first}-{last}", verdict, bits, partials,
            str(sum(case.scenarios for case in group)),
            f"{sum(case.seconds for case in group):.2f}",
        )  # fmt: skip
    return table


def _refusals(cases: list[Case]) -> Iterator[str]:
    for (name, reason), alike in groupby(cases, lambda case: (case.algorithm, case.refused)):
        if reason:
            counts = ", ".join(str(case.ranks) for case in alike)
            yield f"{name} refuses {counts} ranks: {reason}"
