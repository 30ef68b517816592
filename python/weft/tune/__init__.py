"""Filling a tuning file: the best algorithm for a call, measured or priced.

`candidates` lists what is tried. `trial` lets candidates meet and says who wins. `measure` and
`predict` say how long they take, on this machine or on a topology. `table` reads and writes the
file, which docs/selection.md describes.
"""

import os


def forget_user_choices() -> None:
    """Removes the user's settings for choosing, for this process and the processes it starts."""
    for name in ("WEFT_ALGORITHM", "WEFT_CHUNK", "WEFT_REPRODUCIBLE"):
        os.environ.pop(name, None)
    os.environ["WEFT_TUNING"] = "none"
