"""Filling a tuning file: the best algorithm for a call, measured or priced, and what defaults lose.

`candidates` lists what is tried. `point` says what a measurement gives, and refuses impossible
figures. `heat` is pass one: it picks a challenger. `trial` is pass two: the challenger meets the
built-in choice. `regret` and `shown` sum up. `measure` and `predict` take the times, on this
machine or on a topology. `table` reads and writes the file, which docs/selection.md describes.
`quick` measures the model of the machine instead.
"""

import os


def forget_user_choices() -> None:
    """Removes the user's settings for choosing, for this process and the processes it starts."""
    for name in ("WEFT_ALGORITHM", "WEFT_CHUNK", "WEFT_REPRODUCIBLE"):
        os.environ.pop(name, None)
    os.environ["WEFT_TUNING"] = "none"
