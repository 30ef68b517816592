"""The pages of docs/results say what their data says: `make results` changes nothing."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = ("page", "record")  # modules of the scripts
SCRIPTS = [s for s in sorted((ROOT / "scripts" / "results").glob("*.py")) if s.stem not in SHARED]


@pytest.mark.parametrize(
    "script", [s for s in SCRIPTS if s.stem not in ("page", "record")], ids=lambda s: s.stem
)
def test_page_is_as_written(script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    for file in (ROOT / "docs/results").glob("*.md"):
        shutil.copy(file, tmp_path)
    before = {file.name: file.read_text() for file in tmp_path.iterdir()}
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr(sys, "argv", [str(script)])
    import page

    monkeypatch.setattr(page, "RESULTS", tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert {name: (tmp_path / name).read_text() for name in before} == before
