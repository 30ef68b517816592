"""Sizes as people write them."""

from __future__ import annotations

import pytest

import weft
from weft.sizes import parse_size, size_text


@pytest.mark.parametrize(
    ("text", "count"),
    [("8", 8), ("4K", 4096), ("25M", 26214400), ("1g", 1 << 30), ("2KiB", 2048), ("0", 0)],
)
def test_sizes(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "K", "-1", "1.5M", "8 bytes", "1T"])
def test_refused_sizes(text):
    with pytest.raises(weft.InvalidArgument, match="is not a size"):
        parse_size(text)


def test_size_text_is_the_inverse():
    for text in ("8", "4K", "25M", "1G", "1000", "0"):
        assert size_text(parse_size(text)) == text
