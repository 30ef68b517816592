"""Runs PyTorch's own tests of a backend on Weft, one at a time; can be broken off.

    python tests/torch/acceptance/run.py --set gloo --world-size 3

Each test's outcome is a line of the results file, and a test that is in it is not run again, so the
same command goes on where it was stopped. Exit status: 0 if all that failed was expected to.
"""

import argparse
import importlib
import json
import os
import re
import signal
import sys
import unittest
from collections import Counter
from pathlib import Path

from expected import reason_to_fail

RESULTS = Path(__file__).resolve().parents[3] / "build" / "acceptance.jsonl"
SETS = {
    "gloo": "suite",
    "mpi": "suite",
    "nccl": "on_cpu",
    "fsdp": "fsdp",
    "dtensor": "dtensor",
}


def main() -> None:
    """Runs what has no outcome yet, then shows what there is."""
    options = arguments()
    # An interrupt by either signal ends the test under way too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    tests = {name: case for name, case in cases(options).items() if re.search(options.only, name)}
    done = known(options)
    for number, (name, case) in enumerate(tests.items(), 1):
        if name in done:
            continue
        record = {key: getattr(options, key) for key in ("set", "backend", "world_size")}
        record |= {"test": name} | importlib.import_module("forked").outcome_of(
            case(name), options.timeout
        )
        with options.results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        done[name] = record
        print(f"{number}/{len(tests)} {name}: {record['outcome']} ({record['seconds']:.1f} s)")
    sys.exit(show([done[name] for name in tests]))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", choices=SETS, default="gloo")
    parser.add_argument("--world-size", type=int, default=3)
    parser.add_argument("--only", default="", metavar="REGEX", help="tests whose names match")
    parser.add_argument("--backend", default="weft", help="gloo, say, to see what Gloo makes of it")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one test")
    parser.add_argument("--results", type=Path, default=RESULTS, help=f"default: {RESULTS}")
    options = parser.parse_args()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    return options


def cases(options: argparse.Namespace) -> dict[str, type[unittest.TestCase]]:
    """The classes of all tests of the set by the tests' names. Imports torch."""
    os.environ |= {
        "BACKEND": options.set,
        "WEFT_ACCEPTANCE_BACKEND": options.backend,
        "WORLD_SIZE": str(options.world_size),
        # As torchrun sets it; and a process that is to be forked must not have threads.
        "OMP_NUM_THREADS": "1",
    }
    # Where CI is set torch's runner wants another package, to write XML.
    os.environ.pop("CI", None)
    module = importlib.import_module(SETS[options.set])
    return {
        name: case
        for case in module.CASES
        for name in sorted(unittest.defaultTestLoader.getTestCaseNames(case))
    }


def known(options: argparse.Namespace) -> dict[str, dict]:
    """Outcomes of this set, backend and world size that are in the results file."""
    if not options.results.exists():
        return {}
    lines = [json.loads(line) for line in options.results.read_text().splitlines()]
    wanted = (options.set, options.backend, options.world_size)
    return {
        line["test"]: line
        for line in lines
        if (line["set"], line["backend"], line["world_size"]) == wanted
    }


def show(records: list[dict]) -> int:
    """Prints the tally and what failed; 1 if something failed that should not."""
    counts = Counter(record["outcome"] for record in records)
    print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counts.items())))
    status = 0
    for record in records:
        if record["outcome"] in ("passed", "skipped"):
            continue
        why = reason_to_fail(record)
        status |= why is None
        print(f"{record['outcome']}: {record['test']}: {why or record['said']}")
    return status


if __name__ == "__main__":
    main()
