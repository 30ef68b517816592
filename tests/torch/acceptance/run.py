"""Runs PyTorch's own tests of a backend on Weft, one process at a time; can be broken off.

    python tests/torch/acceptance/run.py --set gloo --world-size 3

Each test's outcome is a line of the results file, and a test that is in it is not run again, so the
same command goes on where it was stopped. Exit status: 0 if all that failed was expected to.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = HERE / "suite.py"
RESULTS = HERE.parents[2] / "build" / "acceptance.jsonl"

# What fails on any backend with another name than the set's own (a pattern), and why.
EXPECTED = {
    "^test_monitored_barrier_": "torch.distributed.monitored_barrier asks for the name gloo",
}


def main() -> None:
    """Runs what has no outcome yet, then shows what there is."""
    options = arguments()
    names = [name for name in listed(options.set) if re.search(options.only, name)]
    done = known(options)
    for number, name in enumerate(names, 1):
        if name in done:
            continue
        record = {"set": options.set, "world_size": options.world_size, "test": name}
        record |= outcome_of(name, options)
        with options.results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        done[name] = record
        print(f"{number}/{len(names)} {name}: {record['outcome']} ({record['seconds']:.0f} s)")
    sys.exit(show([done[name] for name in names]))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=["gloo", "mpi"], default="gloo")
    parser.add_argument("--world-size", type=int, default=3)
    parser.add_argument("--only", default="", metavar="REGEX", help="tests whose names match")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one test")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    return options


def listed(imitated: str) -> list[str]:
    """All tests of the suite."""
    command = [sys.executable, str(SUITE), "--list"]
    environment = environment_of(imitated, 3)
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


def environment_of(imitated: str, world_size: int) -> dict[str, str]:
    """One thread a rank, as torchrun sets it."""
    chosen = {"WEFT_ACCEPTANCE_SET": imitated, "WORLD_SIZE": str(world_size)}
    # Where CI is set torch's runner wants another package, to write XML.
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    return inherited | chosen | {"OMP_NUM_THREADS": "1"}


def known(options: argparse.Namespace) -> dict[str, dict]:
    """Outcomes of this set and world size that are in the results file."""
    if not options.results.exists():
        return {}
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    wanted = (options.set, options.world_size)
    return {line["test"]: line for line in lines if (line["set"], line["world_size"]) == wanted}


def outcome_of(name: str, options: argparse.Namespace) -> dict:
    """Runs one test in processes of its own, which do not outlive it."""
    folder = tempfile.mkdtemp(prefix="weft-acceptance-")
    start = time.monotonic()
    with subprocess.Popen(
        [sys.executable, str(SUITE), f"TestWeft.{name}"],
        env=environment_of(options.set, options.world_size) | {"TEMP_DIR": folder},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            said, _ = process.communicate(timeout=options.timeout)
            outcome = "passed" if process.returncode == 0 else "failed"
        except subprocess.TimeoutExpired:
            outcome, said = "timeout", ""
        finally:
            end_group(process.pid)
            shutil.rmtree(folder, ignore_errors=True)
    if outcome == "passed" and re.search(r"OK \(skipped=1\)", said):
        outcome = "skipped"
    return {
        "outcome": outcome,
        "seconds": round(time.monotonic() - start, 1),
        "said": reason(said) if outcome != "passed" else "",
    }


def end_group(leader: int) -> None:
    """Ends what a test may have left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def reason(said: str) -> str:
    """The line that says most."""
    skip = re.search(r"skipped '(.*)'", said) or re.search(r"skipped \"(.*)\"", said)
    if skip:
        return skip[1]
    errors = re.findall(r"^.*(?:Error|Exception).*$", said, re.MULTILINE)
    return (errors[-1] if errors else said[-200:]).strip()[:300]


def show(records: list[dict]) -> int:
    """Prints the tally and what failed; 1 if something failed that should not."""
    counts = Counter(record["outcome"] for record in records)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())))
    status = 0
    for record in records:
        if record["outcome"] in ("passed", "skipped"):
            continue
        expected = next(
            (why for name, why in EXPECTED.items() if re.match(name, record["test"])), None
        )
        status |= expected is None
        print(f"{record['outcome']}: {record['test']}: {expected or record['said']}")
    return status


if __name__ == "__main__":
    main()
