"""Holds the include table of ARCHITECTURE.md: dependencies point one way.

Prints one line for each include that breaks it and exits with 1.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

# Folder -> what it may include besides itself. The same as ARCHITECTURE.md's table (a test compares
# them). What is outside of src/ may include all of include/weft.
ALLOWED: dict[str, set[str]] = {
    "include/weft": set(),
    "src/base": set(),
    "src/kernels": {"src/base"},
    "src/plan": {"src/base"},
    "src/topology": set(),
    "src/execute": {"src/plan"},
    "src/passes": {"src/plan", "src/topology", "src/execute"},
    "src/algorithms": {"src/plan", "src/passes"},
    "src/fabric": {"src/base", "src/plan", "src/kernels"},
    "src/engine": {"src/plan", "src/fabric", "src/kernels", "src/base"},
    "src/select": {"src/base", "src/plan", "src/topology", "src/passes", "src/algorithms"},
    "src/simulate": {"src/plan", "src/topology", "src/passes", "src/select"},
    "src/comm": {
        "src/base",
        "src/kernels",
        "src/plan",
        "src/topology",
        "src/execute",
        "src/passes",
        "src/algorithms",
        "src/fabric",
        "src/engine",
        "src/select",
    },
    "src/measure": {
        "src/base",
        "src/kernels",
        "src/topology",
        "src/passes",
        "src/fabric",
        "src/comm",
    },
    "python/bindings": set(),
    "python/simgrid": {"python/bindings", "src/plan", "src/passes", "src/select", "src/simulate"},
    "python/torch": set(),
    "benchmarks": {"src/kernels"},  # the memory limit's adds
}
# Public header -> the folder whose face it is: who may include the folder may include the header,
# and the header what the folder may. None: words that everyone uses.
FACES: dict[str, str | None] = {
    "types.h": None,
    "error.h": None,
    "collective.h": None,
    "plan.h": "src/plan",
    "builder.h": "src/plan",
    "algorithm.h": "src/plan",
    "choice.h": "src/plan",
    "call.h": "src/plan",
    "topology.h": "src/topology",
    "verify.h": "src/passes",
    "price.h": "src/passes",
    "registry.h": "src/algorithms",
    "fit.h": "src/select",
    "select.h": "src/select",
    "request.h": "src/engine",
    "store.h": "src/comm",
    "communicator.h": "src/comm",
    "window.h": "src/comm",
    "workers.h": "src/comm",
    "info.h": "src/comm",
    "optim.h": "src/kernels",
    "measure.h": "src/measure",
}
# One fabric (src/fabric/shm) is known only to itself and to whoever makes it.
MAKES_FABRICS = {"src/comm"}
# What several fabrics are made of.
SHARED_BY_FABRICS = "src/fabric/mail"

# The core knows neither Python nor PyTorch.
FOREIGN = re.compile(r"^(Python\.h|torch|ATen|c10|nanobind|pybind11)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class Include(NamedTuple):
    """One include directive."""

    line: int
    path: str
    quoted: bool


def includes(source: Path) -> list[Include]:
    """All include directives of a file."""
    found = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        if match := INCLUDE.match(line):
            found.append(Include(number, match[2], match[1] == '"'))
    return found


def folder_of(path: str) -> str | None:
    """The folder of the table that a path (from the root) lies in."""
    return next((folder for folder in ALLOWED if path.startswith(folder + "/")), None)


def resolve(root: Path, source: Path, include: str) -> str | None:
    """The path from the root of a quoted include; None if it is no file of ours."""
    for base in (root / "src", root / "include", source.parent):
        if (base / include).is_file():
            return (base / include).resolve().relative_to(root.resolve()).as_posix()
    return None


def fault(root: Path, source: Path, include: Include) -> str | None:
    """Why this include is refused; None if it is allowed."""
    folder = folder_of(source.relative_to(root).as_posix())
    assert folder is not None
    if folder.startswith(("src/", "include/")) and FOREIGN.match(include.path):
        return "the core includes neither Python nor PyTorch"
    if not include.quoted:
        return None
    target = resolve(root, source, include.path)
    if target is None:
        return "no such file under src, include or beside it"
    to = folder_of(target)
    if to is None:
        return f"{target} lies in no folder of the table"
    if to == "include/weft":
        return wrong_face(source.relative_to(root).as_posix(), target)
    if to not in {folder} | ALLOWED[folder]:
        allowed = ", ".join(sorted(ALLOWED[folder]))
        return f"{folder} must not include {to}; it may include {allowed or 'only itself'}"
    return private_fabric(source.relative_to(root).as_posix(), target)


def wrong_face(source: str, header: str) -> str | None:
    """Why this file must not include a public header; None if it may."""
    own = FACES.get(Path(source).name) if source.startswith("include/") else folder_of(source)
    name = Path(header).name
    if name not in FACES:
        return f"{header} is nobody's face: give it a folder in scripts/check_arrows.py"
    face = FACES[name]
    if face is None or (own and not own.startswith("src/")):
        return None
    if own and face in {own} | ALLOWED[own]:
        return None
    return f"{own or source} must not include {name}, which is the face of {face}"


def private_fabric(source: str, target: str) -> str | None:
    """Why this file must not see into one fabric's folder; None if it may."""
    parts = target.split("/")
    if parts[:2] != ["src", "fabric"] or len(parts) < 4 or folder_of(source) in MAKES_FABRICS:
        return None
    own = "/".join(parts[:3])
    shared = own == SHARED_BY_FABRICS and source.startswith("src/fabric/")
    if shared or source.startswith(own + "/"):
        return None
    return f"{own} is one fabric's own; include fabric/fabric.h"


def check(root: Path) -> list[str]:
    """All faults of a tree, as 'file:line: "include": why'."""
    sources = [file for folder in ALLOWED for file in sorted((root / folder).rglob("*"))]
    return [
        f'{source.relative_to(root)}:{include.line}: "{include.path}": {why}'
        for source in sources
        if source.suffix in {".h", ".cc"}
        for include in includes(source)
        if (why := fault(root, source, include))
    ]


def main() -> int:
    """Checks the checkout that this script lies in, or the one named."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    faults = check(root)
    for line in faults:
        print(line)
    print(f"arrows: {len(faults)} faults" if faults else "arrows: all includes point one way")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
