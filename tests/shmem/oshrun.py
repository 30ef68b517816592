"""The launcher of OpenSHMEM's ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

OSHRUN = ["oshrun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--quiet"]
# How ranks reach each other, as UCX calls it. By the second no rank maps another's heap.
WAYS = {"loads": "posix,self", "puts": "tcp,self"}

needs_oshrun = pytest.mark.skipif(
    not shutil.which("oshrun"), reason="oshrun is not there (Debian, Ubuntu: openmpi-bin)"
)


def finish(command: list[str], **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        command,
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
    )
    return done.returncode, done.stdout


def start(program: str, parts: tuple[str, ...], ranks: int, **variables: str) -> tuple[int, str]:
    passed = [word for name in variables for word in ("-x", name)]
    command = [*OSHRUN, *passed, "-n", str(ranks), sys.executable, program, *parts]
    return finish(command, **variables)
