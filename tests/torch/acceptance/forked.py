"""Runs one of torch's multi-process tests in processes forked from this one, which imported torch.

torch starts each rank of a test as a new interpreter, which imports torch for seconds. Here a test
is a fork of the process that has imported the suite, and its ranks are forks of that. Only where
no other thread runs may a process be forked so, which is checked.
"""

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

import torch._dynamo
import torch._inductor.config  # every test case asks for both
from torch.testing._internal.common_distributed import MultiProcessTestCase

PR_SET_PDEATHSIG = 1


def fork_ranks(case: MultiProcessTestCase) -> None:
    """In the place of `_spawn_processes`."""
    case._start_processes(torch.multiprocessing.get_context("fork").Process)


MultiProcessTestCase._spawn_processes = fork_ranks


def outcome_of(case: unittest.TestCase, timeout: float) -> dict:
    """Runs a test in processes of its own, which do not outlive it; what became of it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="weft-acceptance-") as name:
        folder = Path(name)
        leader = fork(case, folder)
        try:
            in_time = ends_within(leader, timeout)
        finally:
            end_group(leader)
            os.waitpid(leader, 0)
        said = (folder / "said").read_text(errors="replace")
        record = {"outcome": "failed" if in_time else "timeout", "said": last_words(said)}
        if (folder / "record").exists():
            record = json.loads((folder / "record").read_text())
    if record["outcome"] == "skipped":
        record["said"] = reason_of_a_rank(said) or record["said"]
    return record | {"seconds": round(time.monotonic() - start, 1)}


def fork(case: unittest.TestCase, folder: Path) -> int:
    """The process that leads the test: it leaves what it says and its record in the folder."""
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"{threads} threads run here, and forks would miss all but one of them")
    sys.stdout.flush()
    (folder / "said").touch()
    leader = os.fork()
    if leader == 0:
        with contextlib.suppress(BaseException):
            become_leader(folder)
            (folder / "part").write_text(json.dumps(run(case)))
            (folder / "part").rename(folder / "record")
        os._exit(0)
    return leader


def ends_within(process: int, seconds: float) -> bool:
    """Whether a child ends in that time."""
    descriptor = os.pidfd_open(process)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def become_leader(folder: Path) -> None:
    """A group of processes, an output and temporary files of its own; ends with the runner."""
    os.setsid()
    end_with_parent()
    os.register_at_fork(after_in_child=end_with_parent)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    output = os.open(folder / "said", os.O_WRONLY | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)


def end_with_parent() -> None:
    """Ends this process when the one that forked it ends, however that ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run(case: unittest.TestCase) -> dict:
    """Runs it, and the fixtures of its class."""
    result = unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    broken = result.errors + result.failures
    if broken:
        return {"outcome": "failed", "said": last_words(broken[-1][1])}
    if result.skipped:
        return {"outcome": "skipped", "said": result.skipped[-1][1]}
    return {"outcome": "passed", "said": ""}


def end_group(leader: int) -> None:
    """Ends what a test may have left behind."""
    for end, process in ((os.killpg, leader), (os.kill, leader)):
        with contextlib.suppress(ProcessLookupError):
            end(process, signal.SIGKILL)


def reason_of_a_rank(said: str) -> str:
    """Why a rank has skipped the test, which torch tells only in its log."""
    found = re.search(r"skipping test \S+ for following reason: (.*)", said)
    return found[1] if found else ""


def last_words(said: str) -> str:
    """The line that says most: no error that only says that another rank had one."""
    errors = re.findall(r"^.*(?:Error|Exception|weft\.errors\.\w+).*$", said, re.MULTILINE)
    errors = [e for e in errors if not re.search(r"its process \d+ (died|left)", e)] or errors
    return (errors[-1] if errors else said[-200:]).strip()[:300]
