"""`weft info`: this build, this machine, and what is missing and why."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from weft import _build_info, _core
from weft.errors import InvalidArgument

_EPILOG = """\b
Examples:
  weft info
  weft info --json | python -m json.tool
"""


_ALWAYS = 1 << 40  # bytes: no call is longer


def gathered() -> dict[str, Any]:
    """Everything that `weft info` shows, as one JSON object."""
    build = {
        "compiler": _build_info.COMPILER,
        "build_type": _build_info.BUILD_TYPE,
        "architecture": _build_info.PROCESSOR,
    }
    return {
        **_core.system_info(),
        "build": build,
        "torch_adapter": _torch_adapter(),
        "simulation": _simulation(),
        "tuning": _tuning(),
        "environment": _core.environment_variables(),
        "unknown_variables": _core.unknown_environment_variables(),
    }


def _torch_adapter() -> dict[str, Any]:
    if _build_info.TORCH_MISSING:
        return {"available": False, "text": _build_info.TORCH_MISSING}
    return {"available": True, "text": f"built for torch {_build_info.TORCH_VERSION}"}


def _simulation() -> dict[str, Any]:
    if _build_info.SIMGRID_MISSING:
        return {"available": False, "text": _build_info.SIMGRID_MISSING}
    return {"available": True, "text": f"built for SimGrid {_build_info.SIMGRID_VERSION}"}


def _tuning() -> dict[str, Any]:
    """The tuning file that communicators made here use."""
    try:
        file = _core.tuning_file()
        if file:
            _core.check_tuning(file)
            return {"available": True, "text": file}
    except InvalidArgument as error:
        return {"available": False, "text": str(error)}
    return {"available": False, "text": "choices are the built-in ones: see `weft tune`"}


@click.command(epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object to standard output.")
def info(as_json: bool) -> None:
    """Shows this build, its fabrics and adapters, and the machine as Weft sees it."""
    known = gathered()
    if as_json:
        click.echo(json.dumps(known))
        return
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in _lines(known):
        table.add_row(name, text)
    Console().print(table)


def _lines(known: dict[str, Any]) -> list[tuple[str, str]]:
    build = known["build"]
    lines = [
        ("Weft", known["version"]),
        ("build", f"{build['compiler']}, {build['build_type']}, {build['architecture']}"),
        ("instruction set", known["instruction_set"]),
        ("PyTorch adapter", _availability(known["torch_adapter"])),
        ("simulation", _availability(known["simulation"])),
        *((f"fabric {f['name']}", _availability(f)) for f in known["fabrics"]),
        ("processor", known["processor"] or "not known"),
        ("cores", _cores(known)),
        *((name, value) for name, value in known["launch_hints"].items()),
        ("worker thread", _worker(known["worker"])),
        ("sockets, caches", _layout(known["layout"])),
        *((f"socket {s['number']}", _domain(s)) for s in known["sockets"]),
        *((f"NUMA node {n['number']}", _domain(n)) for n in known["numa_nodes"]),
        *((f"cache L{c['level']} {c['type'].lower()}", _cache(c)) for c in known["caches"]),
        ("huge pages", _huge_pages(known)),
        ("tuning file", _availability(known["tuning"])),
        ("model", _model(known["model"])),
        *((one["name"], _variable(one)) for one in known["environment"]),
        *(("[yellow]unknown[/]", escape(sentence)) for sentence in known["unknown_variables"]),
    ]
    return lines


def _availability(part: dict[str, Any]) -> str:
    return ("[green]yes[/]: " if part["available"] else "[yellow]no[/]: ") + part["text"]


def _variable(one: dict[str, str]) -> str:
    return escape(one["value"]) if one["value"] else f"[dim]not set[/]: {one['default']}"


def _cores(known: dict[str, Any]) -> str:
    quota = known["quota_processors"]
    limit = f"cgroup grants {quota:g} ({known['quota_file']})" if quota else "no cgroup limit"
    return (
        f"{known['usable_cores']} usable: {known['online_processors']} online, "
        f"{known['affinity_processors']} in the affinity mask, {limit}"
    )


def _worker(worker: dict[str, Any]) -> str:
    if worker["obstacle"]:
        return f"[red]refused[/]: {escape(worker['obstacle'])}"
    if not worker["exists"]:
        return worker["why"]
    where = f"processors {worker['cores']}" if worker["cores"] else "any processor"
    nice = f", nice {worker['nice']}" if worker["nice"] else ""
    return (
        f"{where}{nice}: {worker['why']} "
        f"(affinity mask {worker['mask']}, compute threads on {worker['compute'] or 'none'})"
    )


def _model(model: dict[str, Any]) -> str:
    if "obstacle" in model:
        return f"[red]refused[/]: {escape(model['obstacle'])}"
    chunks = f"{_bytes(model['smallest_chunk'])} to {_bytes(model['largest_chunk'])}"
    span = _bytes(model["reuse"])
    if model["reuse_to"] < _ALWAYS:
        span += f" in calls of up to {_bytes(model['reuse_to'])}"
    if model["lend_to"]:
        span += f", messages of up to {_bytes(model['lend_to'])} in lent ones"
        if model["lent_span"]:
            span += f" that span {_bytes(model['lent_span'])}"
    shown = (
        f"{escape(model['name'])}: slots span {span}, chunks of {chunks} "
        f"({model['processor']}; known: {model['known']})"
    )
    if model["left_out"]:
        shown += f"; [yellow]left out[/]: {escape(model['left_out'])}: see `weft tune --quick`"
    return shown


def _layout(layout: dict[str, Any]) -> str:
    if layout["available"]:
        return f"[green]known[/]: {layout['text']}"
    return f"[yellow]not known[/]: {layout['text']}"


def _domain(domain: dict[str, Any]) -> str:
    memory = f", {_bytes(domain['bytes'])}" if domain["bytes"] else ""
    return f"{_count(domain['cores'], 'core')}, processors {domain['processors']}{memory}"


_SHOWN = 4  # caches alike whose processors are listed


def _cache(cache: dict[str, Any]) -> str:
    shared_by = cache["shared_by"]
    more = "; ..." if len(shared_by) > _SHOWN else ""
    return (
        f"{_count(len(shared_by), 'cache')} of {_bytes(cache['bytes'])}, "
        f"of processors {'; '.join(shared_by[:_SHOWN])}{more}"
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"


def _huge_pages(known: dict[str, Any]) -> str:
    return (
        f"{_bytes(known['huge_page_bytes'])}, {known['huge_pages_reserved']} reserved; "
        f"transparent: {known['transparent_huge_pages'] or 'not known'}; "
        f"in shared memory: {known['shared_transparent_huge_pages'] or 'not known'}"
    )


def _bytes(count: int) -> str:
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << power:
            return f"{count / (1 << power):.4g} {unit}"
    return f"{count} B"
