"""Links between the pages lead somewhere: to a file that exists, and to a heading in it."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "examples", "python", "tests")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def pages(root: Path) -> list[Path]:
    """The pages of a checkout, and none of what was built into it."""
    return sorted(
        [*root.glob("*.md"), *(page for name in FOLDERS for page in (root / name).rglob("*.md"))]
    )


def anchors(page: Path) -> set[str]:
    """The headings of a page, as links name them."""
    found: set[str] = set()
    for line in re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).splitlines():
        if match := re.match(r"#+ (.*)", line):
            kept = [c for c in match[1].lower() if c in " -_" or unicodedata.category(c)[0] in "LN"]
            found.add("".join(kept).strip().replace(" ", "-"))
    return found


def broken(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    found = []
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


def test_pages_are_found() -> None:
    assert {"README.md", "docs/selection.md"} <= {
        page.relative_to(ROOT).as_posix() for page in pages(ROOT)
    }


@pytest.mark.parametrize("page", pages(ROOT), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_is_broken(page: Path) -> None:
    assert broken(page) == []


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("other.md", False),
        ("other.md#the-first-20-µs-of-it", False),
        ("folder", False),
        ("https://example.org/gone", False),
        ("gone.md", True),
        ("folder/gone.png", True),
        ("other.md#gone", True),
        ("#gone", True),
    ],
)
def test_a_broken_link_is_found(link: str, is_broken: bool, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "other.md").write_text("# Other\n\n## The first 20 µs of it\n")
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n`[code](gone.md)` and [a link]({link})\n")
    assert broken(page) == ([link] if is_broken else [])
