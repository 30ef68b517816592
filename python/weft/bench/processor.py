"""The processor in one line, so that a row of results says where it was taken."""

from __future__ import annotations

import re
from pathlib import Path

from weft import _core
from weft.sizes import size_text


def describe_processor() -> str:
    """Such as "AMD EPYC, family 26 model 2, 2 cores, caches L1 48K, L2 1M, L3 32M"."""
    known = _core.system_info()
    sizes = ", ".join(f"L{c['level']} {size_text(c['bytes'])}" for c in known["caches"])
    parts = [known["processor"], *_family(), f"{known['online_processors']} cores"]
    return ", ".join([*parts, f"caches {sizes}"] if sizes else parts)


def _family() -> list[str]:
    """Family and model on x86, for names that hide the generation; empty elsewhere."""
    text = Path("/proc/cpuinfo").read_text()
    family = re.search(r"^cpu family\s*: (\d+)$", text, re.MULTILINE)
    model = re.search(r"^model\s*: (\d+)$", text, re.MULTILINE)
    return [f"family {family[1]} model {model[1]}"] if family and model else []
