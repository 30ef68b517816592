"""Files with a model of the machine, as `weft tune --quick` writes them: docs/machine-model.md."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from weft import _core
from weft.tune import table

Numbers = dict[str, int]

VERSION = 1


def save(path: Path, numbers: Numbers, measured: dict[str, Any]) -> None:
    """Writes a model's file, whole or not at all, for its owner alone to write."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    processor = _core.system_info()["model"]["processor"]
    model = {"weft_model": VERSION, "processor": processor, **numbers}
    if measured:
        model["measured"] = measured
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), "w") as file:
        file.write(json.dumps(model) + "\n")
    part.chmod(0o644)
    part.replace(path)


def in_use(path: Path) -> bool:
    """Whether communicators of this user take their model from this file, as this process does."""
    return bool(_core.system_info()["model"]["name"] == str(path))


def default_file() -> Path:
    """The user's own, which every process on this processor reads."""
    return table.default_file().with_name("model.json")
