"""The include table: the same in the script and in ARCHITECTURE.md, and a violation is caught."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "check_arrows.py"
sys.path.insert(0, str(SCRIPT.parent))

import check_arrows  # noqa: E402  (a script, not a package)


def documented() -> dict[str, set[str]]:
    """The table of ARCHITECTURE.md, in the script's terms."""
    table: dict[str, set[str]] = {}
    for line in (ROOT / "ARCHITECTURE.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not (folders := re.findall(r"`([a-z/]+)`", cells[0])):
            continue
        if cells[2] == "all above":
            allowed = {folder for folder in table if folder.startswith("src/")}
        else:
            words = re.findall(r"[a-z]+(?:/[a-z]+)?", cells[2].replace("itself", ""))
            allowed = {word if "/" in word else f"src/{word}" for word in words}
        table |= {folder: allowed - {"include/weft"} for folder in folders}
    return table


def test_table_is_the_documented_one() -> None:
    table = documented()
    assert len(table) > len(check_arrows.ALLOWED) / 2
    table.pop("python/weft")  # Python, which includes nothing
    assert table == check_arrows.ALLOWED


def test_every_public_header_has_a_folder() -> None:
    headers = {file.name for file in (ROOT / "include" / "weft").iterdir()}
    assert headers == set(check_arrows.FACES)
    assert {face for face in check_arrows.FACES.values() if face} <= set(check_arrows.ALLOWED)


def test_this_checkout_is_clean() -> None:
    assert check_arrows.check(ROOT) == []


PLANTED = {
    "the engine names an algorithm": ("src/engine/run.cc", '"algorithms/ring.h"', "must not"),
    "kernels know a fabric": ("src/kernels/copy.cc", '"fabric/fabric.h"', "must not include"),
    "a public header shows the inside": ("include/weft/plan.h", '"plan/text.h"', "must not"),
    "torch in the core": ("src/comm/comm.cc", "<torch/torch.h>", "neither Python nor PyTorch"),
    "Python in the core": ("src/base/x.cc", "<Python.h>", "neither Python nor PyTorch"),
    "the adapter reaches inside": ("python/torch/b.cc", '"engine/run.h"', "must not include"),
    "the engine knows one fabric": ("src/engine/run.cc", '"fabric/shm/wire.h"', "fabric's own"),
    "the engine knows a communicator": (
        "src/engine/run.cc",
        '"weft/communicator.h"',
        "the face of src/comm",
    ),
    "selection knows the engine": (
        "src/select/row.h",
        '"weft/request.h"',
        "the face of src/engine",
    ),
    "an algorithm looks for others": (
        "src/plan/builder.cc",
        '"weft/registry.h"',
        "the face of src/algorithms",
    ),
    "a public header looks up": (
        "include/weft/plan.h",
        '"weft/builder_of_all.h"',
        "is nobody's face",
    ),
    "a call knows its communicator": (
        "include/weft/call.h",
        '"weft/communicator.h"',
        "the face of src/comm",
    ),
    "words know a plan": ("include/weft/types.h", '"weft/plan.h"', "must not include plan.h"),
    "a file that is not there": ("src/plan/x.cc", '"plan/gone.h"', "no such file"),
}


@pytest.mark.parametrize("case", PLANTED, ids=str)
def test_planted_violation_is_caught(case: str, tmp_path: Path) -> None:
    source, include, why = PLANTED[case]
    targets = [
        "src/algorithms/ring.h",
        "src/fabric/fabric.h",
        "src/fabric/shm/wire.h",
        "src/plan/text.h",
        "src/engine/run.h",
        "include/weft/plan.h",
        "include/weft/builder_of_all.h",
        "include/weft/registry.h",
        "include/weft/request.h",
        "include/weft/communicator.h",
    ]
    for name in targets:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#pragma once\n")
    (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / source).write_text(f"// one\n#include {include}\n")

    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.startswith(f"{source}:2: ")
    assert why in done.stdout
