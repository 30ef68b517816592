"""Writes docs/environment.md from the table of src/base/environment.cc. Needs the package."""

from __future__ import annotations

from pathlib import Path

from weft import _core

PAGE = Path(__file__).resolve().parent.parent / "docs" / "environment.md"
_INTRODUCTION = """\
# Environment variables

These are all that Weft reads, besides those of [launchers](launching.md). Weft reads them when a
communicator is made. An argument of `weft.init` goes before the variable of its name. `weft info`
shows what is set here. If the environment has a variable `WEFT_...` that is not in the table,
`weft.init` and `init_process_group` warn once (`weft.UnknownVariable`) and name the variable that
may be meant.

| variable | meaning | may be | if it is not set | ranks |
|---|---|---|---|---|
"""
_END = "\nThis page is written by `python scripts/environment.py` from `src/base/environment.cc`.\n"


def page() -> str:
    """The page's text."""
    rows = []
    for one in _core.environment_variables():
        cells = (f"`{one['name']}`", one["meaning"], one["kind"], one["default"], one["scope"])
        rows.append(f"| {' | '.join(cells)} |\n")
    return _INTRODUCTION + "".join(rows) + _END


if __name__ == "__main__":
    PAGE.write_text(page())
