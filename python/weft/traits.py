"""What each collective is: the table of include/weft/collective.h, by name."""

from __future__ import annotations

from dataclasses import dataclass

from weft import _core


@dataclass(frozen=True)
class CollectiveTraits:
    """One row; the header says what the words mean."""

    name: str
    reduces: bool
    rooted: bool
    is_pair: bool
    moves_data: bool
    in_one_buffer: bool
    input_by_rank: bool
    output_by_rank: bool

    def has_input(self, rank: int, root: int = 0) -> bool:
        """Whether that rank has one."""
        return _core.has_input(self.name, rank, root)

    def has_output(self, rank: int, root: int = 0) -> bool:
        """Whether that rank has one."""
        return _core.has_output(self.name, rank, root)

    def has_known_size(self, ranks: int) -> bool:
        """Whether so many ranks all know the bytes that decide, as the header says."""
        return _core.has_known_size(self.name, ranks)


TRAITS = {row["name"]: CollectiveTraits(**row) for row in _core.collectives()}
