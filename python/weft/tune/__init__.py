"""Filling a tuning file: which algorithm serves a call best, measured or priced.

`candidates` says what is tried, `trial` how candidates meet and who wins, `measure` and `predict`
what they take on this machine or on a topology, `table` reads and writes the file.
docs/selection.md describes the file.
"""

import os


def unsay() -> None:
    """Takes back what the user has set for choosing, for this process and those that it starts."""
    for name in ("WEFT_ALGORITHM", "WEFT_CHUNK", "WEFT_REPRODUCIBLE"):
        os.environ.pop(name, None)
    os.environ["WEFT_TUNING"] = "none"
