"""Compute, exposed allreduce and exposed alltoall of a step, from results of train.py.

python breakdown.py weft.json blocking.json gloo.json --plot steps.png

"exposed" is the time that a rank waited. In blocking steps this is all of the communication. With
GradientSync the waits for gradients are in "compute": its timeline has them (train.py --timeline).
"""

import argparse
import json
from pathlib import Path

PARTS = ("compute", "allreduce", "alltoall")


def main() -> None:
    """Prints the table, and draws the plot."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="FILE", help="train.py's --json")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a picture of stacked bars")
    options = parser.parse_args()
    runs = {name_of(result): result["milliseconds"] for result in map(read, options.results)}
    print(table(runs))
    if options.plot:
        plot(runs, options.plot)


def read(path: Path) -> dict:
    """One result. Ends the program if the file has none."""
    try:
        result = json.loads(path.read_text())
        measured = result["milliseconds"] is not None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path} is no result of train.py --json: {error!r}") from error
    if not measured:
        raise SystemExit(f"{path}: nothing was measured: train at least two --steps")
    return result


def name_of(result: dict) -> str:
    """What tells a run from others."""
    steps = "blocking" if result["blocking"] else "overlapping"
    words = [result[name] for name in ("config", "backend", "exchange", "strategy", "dtype")]
    return f"{' '.join(words)}, {result['ranks']} ranks, {steps}"


def table(runs: dict[str, dict]) -> str:
    """Milliseconds, in Markdown."""
    lines = ["| ms a step | compute | exposed allreduce | exposed alltoall | step |"]
    lines.append("|---|---|---|---|---|")
    for name, parts in runs.items():
        numbers = [parts[part] for part in (*PARTS, "step")]
        cells = ["in compute" if one is None else f"{one:.2f}" for one in numbers]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def plot(runs: dict[str, dict], path: Path) -> None:
    """A bar for each run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 1 + 0.5 * len(runs)), layout="constrained")
    left = [0.0] * len(runs)
    for part in PARTS:
        widths = [parts[part] or 0.0 for parts in runs.values()]
        axes.barh(list(runs), widths, left=left, label=part)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("ms a step")
    axes.legend()
    figure.savefig(path)


if __name__ == "__main__":
    main()
