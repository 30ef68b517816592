"""Runs an example as its reader does: by torchrun, a thread a rank."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(
    script: Path, *options: str, ranks: int, cwd: Path | None = None, **environment: str
) -> str:
    """What `script` prints, run in `cwd`. One rank: without torchrun. Fails if the script does."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    done = subprocess.run(
        [sys.executable, *(launcher if ranks > 1 else []), str(script), *options],
        cwd=cwd,
        # Threads that wait for each other let other tests have the cores.
        env=os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
