"""A plan's timeline: as a trace that Perfetto and chrome://tracing read, and as SVG."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from weft.draw.labels import label
from weft.draw.schedule import Schedule
from weft.draw.svg import ticks, title_of

COLOURS = {
    "copy": "#7c93ad", "reduce": "#d98b4a", "put": "#2563a8", "signal": "#2c8a4b",
    "native": "#8a5fa8", "wait": "#e3e3e3",
}  # fmt: skip


def trace(schedule: Schedule) -> str:
    """Trace Event JSON: a thread a rank, a slice a step, an arrow a message.

    Times are microseconds; where the schedule counts steps, one is drawn as one microsecond.
    """
    shape = schedule.plan.shape
    events: list[dict[str, Any]] = [
        {
            "ph": "M",
            "name": "process_name",
            "pid": 0,
            "tid": 0,
            "args": {"name": title_of(schedule)},
        }
    ]
    for rank in range(shape.ranks):
        where = {"pid": 0, "tid": rank}
        events.append({"ph": "M", "name": "thread_name", **where, "args": {"name": f"rank {rank}"}})
        events.append(
            {"ph": "M", "name": "thread_sort_index", **where, "args": {"sort_index": rank}}
        )
    for task in schedule.tasks:
        events.append({
            "ph": "X", "name": task.verb, "cat": "step", "pid": 0, "tid": task.rank,
            "ts": task.start, "dur": task.end - task.start, "args": {"step": task.text},
        })  # fmt: skip
    for number, message in enumerate(schedule.messages):
        what = label(message.value, schedule) or "signal"
        args = {"what": what, "bytes": message.size, "channel": message.channel}
        common = {"name": what, "cat": "message", "id": number, "pid": 0}
        ends = (("s", message.source, message.sent), ("f", message.destination, message.received))
        for phase, rank, time in ends:
            # An arrow begins and ends in slices; these last no time.
            slice_name = f"{'send' if phase == 's' else 'receive'} {what}"
            events.append({
                "ph": "X", "name": slice_name, "cat": "message", "pid": 0, "tid": rank,
                "ts": time, "dur": 0, "args": args,
            })  # fmt: skip
            bound = {"bp": "e"} if phase == "f" else {}
            events.append({"ph": phase, "tid": rank, "ts": time, **common, **bound})
    document = {
        "traceEvents": events, "displayTimeUnit": "ns",
        "otherData": {"unit": schedule.unit, "algorithm": shape.algorithm},
    }  # fmt: skip
    return json.dumps(document)


def bars(schedule: Schedule, width: int = 1100) -> str:
    """The same as SVG: a row a rank, time to the right."""
    left, top, row = 70, 46, 22
    ranks = schedule.plan.shape.ranks
    end = max(schedule.end, 1e-9)
    scale = (width - left - 20) / end
    height = top + row * ranks + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        '<style>text { font: 12px "DejaVu Sans", Verdana, sans-serif; fill: #222 }</style>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for i, (verb, colour) in enumerate(COLOURS.items()):
        at = left + 90 * i
        parts.append(f'<rect x="{at}" y="4" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{at + 17}" y="14">{verb}</text>')
    for time in ticks(end):
        x = left + time * scale
        parts.append(f'<path d="M{x:.1f},{top - 4} V{height - 8}" stroke="#eee"/>')
        unit = f" {escape(schedule.unit)}" if time == 0 else ""
        parts.append(f'<text x="{x:.1f}" y="{top - 10}" fill="#888">{time:g}{unit}</text>')
    for rank in range(ranks):
        parts.append(f'<text x="10" y="{top + rank * row + 14}">rank {rank}</text>')
    for task in schedule.tasks:
        x, y = left + task.start * scale, top + task.rank * row + 2
        wide = max(0.8, (task.end - task.start) * scale)
        parts.append(
            f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{row - 5}" '
            f'fill="{COLOURS[task.verb]}" stroke="#fff" stroke-width="0.4">'
            f"<title>{escape(task.text)}: {task.start:g} to {task.end:g} "
            f"{escape(schedule.unit)}</title></rect>"
        )
    return "\n".join([*parts, "</svg>\n"])
