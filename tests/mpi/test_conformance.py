"""The conformance suite with one process a rank: weft_rank_tests, started by each launcher."""

from __future__ import annotations

import re
import time

import pytest
from mpirun import BUILD, found, start

pytestmark = pytest.mark.skipif(
    BUILD is None or not (BUILD / "weft_rank_tests").exists(),
    reason="weft_rank_tests is not built: cmake -DWEFT_TESTS=ON",
)

RANKS = 5  # for plans of several levels
LIMIT = 170  # seconds
# The launcher and the fabric. A new fabric is a line here.
JOBS = [
    ("openmpi", "mpi"),
    ("mpich", "mpi"),
    ("intelmpi", "mpi"),
    ("openmpi", "shm+mpi"),
    ("oshrun", "shmem"),
    ("oshrun", "shm+shmem"),
]
# One needs two fabrics in a process, the other connections that break.
DO_NOT_APPLY = {"LocateFindsNothingOfAnotherFabric", "OpenNoticesAFabricThatIsGone"}


def play(launcher, fabric, ranks, cases, directory, *options, **variables):
    assert BUILD is not None
    return start(
        found(launcher),
        ranks,
        [str(BUILD / "weft_rank_tests"), "--gtest_color=no", f"--gtest_filter={cases}", *options],
        limit=LIMIT,
        WEFT_TEST_FABRIC=fabric,
        WEFT_TEST_DIRECTORY=str(directory),
        WEFT_TUNING="none",
        **variables,
    )


@pytest.mark.parametrize(("launcher", "fabric"), JOBS)
def test_cases(launcher, fabric, tmp_path):
    """Every rank passes all cases that do not need eight ranks."""
    code, output = play(launcher, fabric, RANKS, "-*_8", tmp_path)
    ended = re.findall(r"rank (\d) of \d: (\d+) passed, 0 failed, (\d+) skipped", output)
    assert (code, len(ended)) == (0, RANKS), output
    assert len({(passed, skipped) for _, passed, skipped in ended}) == 1, output
    skipped = set(re.findall(r"\[  SKIPPED \] \S+?\.(\w+)/", output))
    refused = {name for name in skipped if name == "Correct"}  # algorithms for other ranks
    print(f"do not apply to a process a rank: {sorted(skipped - refused)}")
    assert skipped - refused == DO_NOT_APPLY
    assert int(ended[0][1]) > 150, output


# What one rank does, and what is said of it.
FAILURES = {
    "Expects": "rank 1 of 3: Failing.DISABLED_Expects fails",
    "Throws": "rank 1 threw: on purpose",
    "Hangs": r"rank \d of 3: not over after 5 s: Failing.DISABLED_Hangs",
    "Dies": "Failing.DISABLED_Dies",  # the launcher names the rank
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("launcher", ["openmpi", "mpich"])
def test_a_failure_of_one_rank_ends_the_job(launcher, failure, tmp_path):
    began = time.monotonic()
    code, output = play(
        launcher,
        "mpi",
        3,
        f"Failing.DISABLED_{failure}",
        tmp_path,
        "--gtest_also_run_disabled_tests",
        WEFT_TEST_LIMIT="5",
    )
    assert code != 0, output
    assert re.search(FAILURES[failure], output), output
    assert " 0 failed" not in output, output
    assert time.monotonic() - began < 20
