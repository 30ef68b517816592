"""`make demo`: LeNet on two processes through Weft and through Gloo, and on one for comparison.

Three seeds. Within a seed the three runs follow each other directly, so that Weft and Gloo meet
the same machine. Each run is train.py, started as a user would start it. Every rank computes
on one thread (torchrun's default); the one process gets two, so every run has two cores.
Writes build/demo.json.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

HERE = Path(__file__).resolve().parent
REPORT = HERE.parents[1] / "build" / "demo.json"
SEEDS = (0, 1, 2)
RUNS = {"weft": "2 processes, Weft", "gloo": "2 processes, Gloo", "none": "1 process"}


def main() -> None:
    """Runs the demo; exits with 1 if it does not show what it claims."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=900)
    parser.add_argument("--json", type=Path, default=REPORT, help="where the figures go")
    options = parser.parse_args()

    console = Console()
    results: dict[str, list[dict]] = {backend: [] for backend in RUNS}
    columns = (TextColumn("{task.description:25}"), BarColumn(), TextColumn("{task.fields[said]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        for seed in SEEDS:
            for backend, title in RUNS.items():
                task = progress.add_task(
                    f"{title}, seed {seed}", total=options.iterations, said="starting"
                )

                def show(done: int, said: str, task=task) -> None:
                    progress.update(task, completed=done, said=said)

                results[backend].append(train(backend, seed, options.iterations, show))

    figures = summary(results)
    console.print(table(results, figures))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(figures, indent=2) + "\n")
    failures = shortfalls(figures)
    for failure in failures:
        console.print(f"[red]not shown:[/] {failure}")
    sys.exit(1 if failures else 0)


def train(backend: str, seed: int, iterations: int, show) -> dict:
    """Runs train.py in processes of its own; `show(iteration, text)` hears of progress."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "result.json"
        script = [str(HERE / "train.py"), "--iterations", str(iterations), "--seed", str(seed)]
        script += ["--share", "--json", str(report)]
        environment = dict(os.environ)
        if backend == "none":
            # Two threads that sleep while they wait: on a busy machine spinning ones crawl.
            environment |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "PASSIVE"}
            command = [sys.executable, *script]
        else:
            environment["OMP_NUM_THREADS"] = "1"
            launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
            command = [sys.executable, *launcher, *script, "--backend", backend]
        said = follow(command, environment, show)
        if not report.exists():
            sys.exit(f"{' '.join(command)} failed:\n{said}")
        result = json.loads(report.read_text())
    show(iterations, f"{result['accuracy']:.1%} in {result['seconds']:.1f} s")
    return result


def follow(command: list[str], environment: dict[str, str], show) -> str:
    """Runs a command to its end, passing its progress on; returns all it said."""
    said = []
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout:
            said.append(line)
            if match := re.match(r"iteration (\d+) (loss .*)", line):
                show(int(match[1]), match[2])
    return "".join(said)


def summary(results: dict[str, list[dict]]) -> dict:
    """The figures of build/demo.json: means over the seeds."""

    def average(backend: str, key: str) -> float:
        return mean(result[key] for result in results[backend])

    return {
        "accuracy": average("weft", "accuracy"),
        "accuracy_one_process": average("none", "accuracy"),
        "parameters_identical": all(result["parameters_identical"] for result in results["weft"]),
        "seconds_weft": average("weft", "seconds"),
        "seconds_gloo": average("gloo", "seconds"),
        "seconds_one_process": average("none", "seconds"),
        "communication_share_weft": average("weft", "communication_share"),
        "communication_share_gloo": average("gloo", "communication_share"),
        "seeds": len(SEEDS),
    }


def table(results: dict[str, list[dict]], figures: dict) -> Table:
    """The last lines of the demo."""
    shown = Table(title="LeNet on held-out handwritten digits, means of three seeds")
    shown.add_column("")
    for heading in ("accuracy", "parameters", "training", "communication"):
        shown.add_column(heading, justify="right")
    for backend, title in RUNS.items():
        runs = results[backend]
        same = "identical" if all(run["parameters_identical"] for run in runs) else "DIFFERENT"
        shown.add_row(
            title,
            f"{mean(run['accuracy'] for run in runs):.2%}",
            "-" if backend == "none" else same,
            f"{mean(run['seconds'] for run in runs):.2f} s",
            "-" if backend == "none" else f"{figures[f'communication_share_{backend}']:.1%}",
        )
    speed = figures["seconds_gloo"] / figures["seconds_weft"]
    shown.caption = (
        f"through Weft {speed:.2f}x as fast as through Gloo,\n"
        f"{100 * accuracy_gap(figures):.2f} points from one process"
    )
    return shown


def accuracy_gap(figures: dict) -> float:
    """How far two processes are from one."""
    return abs(figures["accuracy"] - figures["accuracy_one_process"])


def shortfalls(figures: dict) -> list[str]:
    """The requirements that this run missed."""
    claims = {
        "held-out accuracy of at least 98%": figures["accuracy"] >= 0.98,
        "within 0.5 points of one process": accuracy_gap(figures) <= 0.005,
        "parameters bit-identical on both ranks": figures["parameters_identical"],
    }
    return [claim for claim, holds in claims.items() if not holds]


if __name__ == "__main__":
    main()
