"""Weft as a backend of `torch.distributed`: `init_process_group("weft")`.

Nothing has to be imported for it: torch calls `register` at the end of `import torch`, by the
entry point `torch.backends`. The compiled adapter is loaded with the first process group.
"""

from __future__ import annotations

import importlib
import types
from typing import Any

__all__ = ["register", "why_not_registered"]

_failure: Exception | None = None


def register() -> None:
    """Makes the name "weft" known to torch. Never raises: it runs inside of `import torch`."""
    global _failure
    try:
        from torch import distributed

        if distributed.is_available():
            distributed.Backend.register_backend(
                "weft", _create, extended_api=True, devices=["cpu"]
            )
        _failure = None
    except Exception as error:
        _failure = error


def why_not_registered() -> Exception | None:
    """The error of `register`. None if it succeeded or was never called."""
    return _failure


def _create(options: Any, pg_options: Any) -> Any:
    """Makes one process group's backend. Called by torch on every rank of the group."""
    from weft import torch_buffers

    if pg_options is not None:
        raise TypeError(f"weft has no process group options, got {type(pg_options).__name__}")
    adapter = _adapter()
    # Needs the compiled modules, so only once they are there.
    from weft.environment import warn_of_unknown_variables

    warn_of_unknown_variables()
    torch_buffers.enable()
    return adapter.create(
        store=options.store,
        rank=options.group_rank,
        size=options.group_size,
        timeout=options.timeout,
        group_name=options.group_id,
        global_ranks=options.global_ranks_in_group,
    )


def _adapter() -> types.ModuleType:
    """The compiled module, or an ImportError that says why there is none and what to do."""
    import torch
    import torch.distributed  # the module's base classes live there

    from weft import _build_info

    if not _build_info.TORCH_VERSION:
        raise ImportError(
            f"weft was built without its PyTorch adapter: {_build_info.TORCH_MISSING}"
        )
    if _minor(_build_info.TORCH_VERSION) != _minor(torch.__version__):
        raise ImportError(
            f"weft's PyTorch adapter was built for torch {_build_info.TORCH_VERSION}, this is "
            f"{torch.__version__}: install weft again, without build isolation"
        )
    return importlib.import_module("weft._torch")


def _minor(version: str) -> tuple[str, ...]:
    """Releases with the same first two numbers have the same C++ interface."""
    return tuple(version.split(".")[:2])
