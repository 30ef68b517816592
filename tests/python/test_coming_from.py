"""docs/coming-from.md: every name of Weft's that it gives exists, with the arguments it gives."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import weft
from weft import _core
from weft.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "coming-from.md").read_text()
HEADERS = "".join(
    (ROOT / "include" / "weft" / name).read_text() for name in ("communicator.h", "store.h")
)
VARIABLES = {one["name"] for one in _core.environment_variables()}
OURS = re.compile(
    r"^(with )?((request|window) = )?(comm|request|window|distribution|weft|dist)\b|^WEFT_|::"
)


def rows() -> list[list[str]]:
    """The cells of the tables: another library's call, Weft's, and what differs."""
    lines = [line for line in PAGE.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set(row[0]) <= {"-"} and row[1] != "Weft"]


def codes() -> list[str]:
    """What the second and third columns write as code and is Weft's, and not another library's."""
    found = [code for row in rows() for cell in row[1:] for code in re.findall(r"`([^`]+)`", cell)]
    return sorted({code for code in found if OURS.search(code)})


def owner(name: str) -> Any:
    """The class or module that a name of the page stands for."""
    known = {
        "comm": weft.Communicator,
        "request": weft.Request,
        "distribution": weft.train.Distribution,
        "window": weft.Window,
        "weft": weft,
    }
    return known[name]


def found(node: ast.expr) -> Any:
    """What an expression such as weft.train.Distribution or comm.split names."""
    if isinstance(node, ast.Name):
        return owner(node.id)
    assert isinstance(node, ast.Attribute), ast.dump(node)
    start = found(node.value)
    if start is weft.train.Distribution and node.attr in ("data_group", "model_group"):
        assert node.attr in start.__annotations__
        return weft.Communicator
    if node.attr in getattr(start, "__annotations__", {}):
        return None
    return getattr(start, node.attr)


def check_python(code: str) -> None:
    """Raises where a name is none, or a call has arguments that the function does not take."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Attribute):
            found(node)
        if isinstance(node, ast.Call):
            function = found(node.func)
            bound = [object()] if inspect.isfunction(function) and function is not weft.init else []
            if function in (weft.empty, weft.is_symmetric):
                bound = []
            named = {word.arg: object() for word in node.keywords}
            if not node.args and not named:
                continue  # `comm.barrier()`, or a call whose arguments the page leaves out
            inspect.signature(function).bind(*bound, *node.args, **named)


def check(code: str) -> None:
    """Raises where the page's code names what Weft does not have."""
    if code.startswith("WEFT_"):
        assert code.partition("=")[0] in VARIABLES
    elif "::" in code:
        name = code.rsplit("::", 1)[1]
        assert re.search(rf"\bclass {name} |\b{name}\(", HEADERS)
    elif match := re.fullmatch(r"weft ([a-z]+)", code):
        assert match[1] in main.commands
    elif code.startswith("dist."):
        torch = pytest.importorskip("torch")
        name = re.match(r"dist\.([a-z_]+)", code)[1]
        assert hasattr(torch.distributed, name)
    else:
        check_python(code.removeprefix("with ").removesuffix(" as comm:"))


@pytest.mark.parametrize("code", codes())
def test_the_page_names_what_is_there(code):
    check(code)


@pytest.mark.parametrize(
    "code",
    [
        "comm.allreduced(x)",
        "comm.allreduce(x, outputs=y)",
        "comm.split(1, 2, 3)",
        "weft.train.Distributed(2, 2)",
        "distribution.data_group.shut()",
        "distribution.width",
        "request.cancel()",
        "WEFT_" + "PRIORITY",  # in two: test_environment.py looks for names
        "weft stats",
        "Communicator::swap",
    ],
)
def test_a_wrong_name_is_noticed(code):
    with pytest.raises((AssertionError, AttributeError, TypeError)):
        check(code)


def test_tables_have_three_columns_and_say_what_is_missing():
    for row in rows():
        assert len(row) == 3 or row[0] not in PAGE.split("## MLSL")[1], row
        assert row[1], row
    assert sum(row[1] == "no counterpart" for row in rows()) > 30


def test_every_class_of_mlsl_is_there():
    classes = ("Environment", "Session", "Distribution", "Operation", "ParameterSet", "Activation",
               "Statistics", "CommBuf")  # fmt: skip
    assert [one for one in classes if one not in PAGE] == []
