"""How torch comes to know Weft, and what it says where Weft cannot serve."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import weft  # noqa: E402

ENTRY_POINT = "[torch.backends]\nweft = weft.torch:register\n"


def python(code: str, path: Path | None = None) -> str:
    """What a fresh interpreter prints; `path` comes before everything else that it imports."""
    paths = [str(path)] if path else []
    environment = {**os.environ}
    environment["PYTHONPATH"] = os.pathsep.join([*paths, *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def without_compiled_modules(tmp_path):
    """The package as a checkout has it: sources only, but known to torch."""
    package = tmp_path / "weft"
    package.mkdir()
    made_by_the_build = ("_build_info.py", "__pycache__")
    for source in Path(weft.__file__).parent.iterdir():
        if source.suffix != ".so" and source.name not in made_by_the_build:
            (package / source.name).symlink_to(source.resolve())
    (package / "_build_info.py").write_text(
        'VERSION = "0"\nTORCH_VERSION = ""\nTORCH_MISSING = "this is a test"\n'
    )
    described = tmp_path / "weft-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: weft\nVersion: 0\n")
    (described / "entry_points.txt").write_text(ENTRY_POINT)
    return tmp_path


SINGLE = """
    import torch, torch.distributed as dist
    import weft.torch
    weft.torch.register()
    try:
        dist.init_process_group("weft", store=dist.HashStore(), rank=0, world_size=1{more})
        x = torch.ones(3)
        dist.all_reduce(x)
        print(x.tolist())
        dist.destroy_process_group()
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_torch_knows_the_name_and_loads_nothing():
    output = python(
        """
        import sys, weft.torch
        weft.torch.register()
        import torch.distributed as dist
        print(dist.Backend.WEFT, dist.is_backend_available("weft"), "weft._torch" in sys.modules,
              dist.Backend.backend_capability["weft"])
        """
    )
    assert output == "weft True False ['cpu']"


def test_a_world_of_one():
    assert python(SINGLE.format(more="")) == "[1.0, 1.0, 1.0]"


def test_torch_imports_where_weft_is_not_built(without_compiled_modules):
    output = python("import torch; print(torch.ones(1).item())", without_compiled_modules)
    assert output == "1.0"


def test_use_where_weft_is_not_built_says_why(without_compiled_modules):
    output = python(SINGLE.format(more=""), without_compiled_modules)
    assert output == "ImportError weft was built without its PyTorch adapter: this is a test"


def test_another_torch_than_the_adapter_was_built_for(without_compiled_modules):
    info = without_compiled_modules / "weft" / "_build_info.py"
    info.write_text('VERSION = "0"\nTORCH_VERSION = "1.13.1"\nTORCH_MISSING = ""\n')
    output = python(SINGLE.format(more=""), without_compiled_modules)
    assert "was built for torch 1.13.1" in output
    assert torch.__version__ in output


def test_options_of_other_backends_are_refused():
    output = python(SINGLE.format(more=", pg_options=object()"))
    assert output == "TypeError weft has no process group options, got object"


def test_register_remembers_its_failure(monkeypatch):
    import weft.torch

    def fail(*arguments, **options):
        raise RuntimeError("no plug-ins here")

    monkeypatch.setattr(torch.distributed.Backend, "register_backend", fail)
    monkeypatch.setattr(weft.torch, "_failure", None)
    weft.torch.register()
    assert "no plug-ins here" in str(weft.torch.why_not_registered())
