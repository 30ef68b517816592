"""What Weft chooses today on a processor whose choices were recorded before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

Row = dict[str, Any]
# A processor's name in the data has one of these. What Weft ships for it, as WEFT_MODEL names it.
_MODELS = {
    "EPYC, family 25 model 1,": "zen3",
    "EPYC, family 25 model 17,": "zen4",
    "EPYC, family 26 model 2,": "zen5",
    "family 6 model 106,": "ice lake",
    "family 6 model 167,": "intel",
    "family 6 model 207,": "emerald rapids",
}


def choices(processor: str, rows: list[Row]) -> list[str]:
    """The built-in choice for each row's call.

    Raises ValueError for a processor without a line above.
    """
    models = [model for part, model in _MODELS.items() if part in processor]
    if len(models) != 1:
        raise ValueError(f"{__file__} has no model for {processor}: add a line to _MODELS")
    if not rows:
        return []
    # A process has one model.
    done = subprocess.run(
        [sys.executable, __file__], env=os.environ | {"WEFT_MODEL": models[0]},
        input=json.dumps([[row["collective"], row["memory"], row["bytes"]] for row in rows]),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    """The choices of this process, for calls of two ranks."""
    from weft.tune.point import Point
    from weft.tune.points import builtin

    calls = json.load(sys.stdin)
    points = [Point(name, 2, 1, memory == "symmetric", (size,)) for name, memory, size in calls]
    print(json.dumps([builtin(point) for point in points]))


if __name__ == "__main__":
    main()
