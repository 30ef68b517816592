"""The table of environment variables: its page, what `weft info` shows, misspelt names."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import weft
from weft import _core
from weft.cli import main

ROOT = Path(__file__).resolve().parents[2]
NAMES = [one["name"] for one in _core.environment_variables()]


def test_the_page_says_what_the_table_says():
    script = runpy.run_path(str(ROOT / "scripts" / "environment.py"))
    assert script["PAGE"].read_text() == script["page"]()


def test_info_shows_what_is_set_and_what_is_not():
    environment = {"WEFT_ALGORITHM": "ring", "WEFT_FABRIC": None}
    known = json.loads(CliRunner().invoke(main, ["info", "--json"], env=environment).output)
    rows = {one["name"]: one for one in known["environment"]}
    assert list(rows) == sorted(NAMES)
    assert rows["WEFT_ALGORITHM"]["value"] == "ring"
    assert rows["WEFT_FABRIC"]["value"] == ""
    text = CliRunner().invoke(main, ["info"], env=environment).output
    for one in rows.values():
        assert re.search(rf"^{one['name']} +{one['value'] or 'not set'}", text, re.M)


def test_a_secret_is_not_shown():
    for how in ([], ["--json"]):
        text = CliRunner().invoke(main, ["info", *how], env={"WEFT_SECRET": "hush"}).output
        assert "hush" not in text
        assert "(set)" in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("WEFT_ALGORITM", "WEFT_ALGORITHM"),
        ("WEFT_TUNNING", "WEFT_TUNING"),
        ("WEFT_INTERFACES", "WEFT_INTERFACE"),
        ("WEFT_SECRTE", "WEFT_SECRET"),
        ("WEFT_OFI_PROVIDR", "WEFT_OFI_PROVIDER"),
        ("WEFT_MY_OWN_THING", None),
    ],
)
def test_a_misspelt_variable_is_noticed(name, meant, monkeypatch):
    monkeypatch.setenv(name, "1")
    (sentence,) = _core.unknown_environment_variables()
    end = f"; did you mean {meant}?" if meant else ": weft info lists them"
    assert sentence == f"{name} is not a variable of Weft{end}"
    assert sentence in " ".join(CliRunner().invoke(main, ["info"]).output.split())


def test_init_warns_once_and_goes_on():
    program = """
import warnings, weft
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        weft.init(0, 1).close()
(one,) = seen
assert one.category is weft.UnknownVariable, one
print(one.message)
"""
    environment = {"WEFT_ALGORITM": "ring", "PYTHONPATH": str(Path(weft.__path__[0]).parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("WEFT_ALGORITM is not a variable of Weft; did you mean")


def test_what_tests_and_scripts_set_is_known(monkeypatch):
    """Every WEFT_ name that Python, shell or C++ here reads or sets is in the table or known."""
    used = set()
    files = [file for folder in ("scripts", "tests", "testing", "python/weft")
             for file in (ROOT / folder).rglob("*")]  # fmt: skip
    for file in files:
        if file.is_file() and file.name != Path(__file__).name:
            text = file.read_bytes().decode(errors="ignore")
            used |= set(re.findall(r"(?<!-D)\b(WEFT_[A-Z_]+[A-Z])\b(?=\"|\$|=)", text))
    used -= {"WEFT_OFI", "WEFT_HWLOC"}  # of the build
    used -= {"WEFT_TESTS", "WEFT_SANITIZE", "WEFT_UNITY", "WEFT_WERROR"}
    assert used >= {"WEFT_NO_SYSTEM_PACKAGES", "WEFT_TEST_TEAM", "WEFT_BENCH_BURST"}
    for name in used:
        monkeypatch.setenv(name, "1")
    assert _core.unknown_environment_variables() == []


def test_no_other_file_reads_a_variable():
    """`getenv` and `os.environ.get` read other names only."""
    for file in [*(ROOT / "src").rglob("*.cc"), *(ROOT / "python").rglob("*.py"),
                 *(ROOT / "python").rglob("*.cc")]:  # fmt: skip
        found = re.search(r"(getenv\(|environ\.get\()\"WEFT_", file.read_text())
        assert not found, file
