"""The message pattern of a plan as SVG: a column a rank, time downwards, an arrow a message."""

from __future__ import annotations

from collections import Counter, defaultdict
from html import escape
from statistics import median

from weft.draw.labels import COLOURS, KINDS, kind, label, spans
from weft.draw.schedule import Message, Schedule, Task

LEFT, TOP, BOTTOM = 70, 88, 30
MOST_LABELS = 160  # beyond, names are shown under the mouse only
STYLE = """
text { font: 12px "DejaVu Sans", Verdana, sans-serif; fill: #222 }
.title, .rank { font-weight: bold }
.rank { text-anchor: middle }
.time { fill: #888; text-anchor: end }
.name { font-size: 11px; text-anchor: middle }
.under { stroke: #fff; stroke-width: 3.5px; stroke-linejoin: round }
.life { stroke: #bbb; stroke-width: 1.5 }
.tick { stroke: #eee; stroke-width: 1 }
.copy { fill: #c9d6e6; stroke: #7c93ad }
.reduce { fill: #f3c9a5; stroke: #b9763f }
.native { fill: #dccbe8; stroke: #8a5fa8 }
"""


def pattern(schedule: Schedule) -> str:
    """The SVG document. Readable for up to 16 ranks and some hundred messages."""
    return _Pattern(schedule).draw()


def title_of(schedule: Schedule) -> str:
    """As "allreduce/two_level, 8 ranks, node = 4"."""
    shape = schedule.plan.shape
    given = "".join(f", {name} = {value}" for name, value in shape.params.items())
    return f"{shape.algorithm}, {shape.ranks} ranks{given}"


class _Pattern:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.ranks = schedule.plan.shape.ranks
        self.title = title_of(schedule)
        busiest = max(Counter((m.source, m.sent) for m in schedule.messages).values(), default=1)
        self.column = 150 if self.ranks <= 8 else 110
        end = max(schedule.end, 1e-9)
        # Tall enough that arrows of one moment can be told apart, within a page or two.
        flights = [m.arrived - m.sent for m in schedule.messages if m.arrived > m.sent]
        row = 46 if busiest <= 2 else 96
        self.height = max(160.0, min(3000.0, row * end / (median(flights) if flights else end)))
        self.scale = self.height / end
        self.width = LEFT + max(self.column * self.ranks, 8 * len(self.title), 420)
        self.parts: list[str] = []

    def draw(self) -> str:
        names = len({(m.source, m.sent) for m in self.schedule.messages}) <= MOST_LABELS
        self._frame()
        for task in self.schedule.tasks:
            if task.verb != "wait":
                self._task(task)
        for message in self.schedule.messages:
            self._arrow(message)
        if names:
            self._names()
        height = self.height + TOP + BOTTOM
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {height:.0f}" '
            f'width="{self.width}" height="{height:.0f}">\n<style>{STYLE}</style>\n'
            + self._markers()
            + f'<rect width="{self.width}" height="{height:.0f}" fill="#fff"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )

    def x(self, rank: int) -> float:
        return LEFT + self.column * (rank + 0.5)

    def y(self, time: float) -> float:
        return TOP + time * self.scale

    def _markers(self) -> str:
        return "".join(
            f'<marker id="to-{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
            f'markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">'
            f'<path d="M0,0.8 L8,4 L0,7.2 z" fill="{colour}"/></marker>\n'
            for name, colour in COLOURS.items()
        )

    def _frame(self) -> None:
        self.parts.append(f'<text class="title" x="12" y="20">{escape(self.title)}</text>')
        kinds = [k for k in KINDS if any(kind(m, self.ranks) == k for m in self.schedule.messages)]
        at = 12.0
        for name in kinds:
            self.parts.append(
                f'<path d="M{at:.0f},36 h22" stroke="{COLOURS[name]}" stroke-width="2.5"/>'
                f'<text x="{at + 28:.0f}" y="40">{KINDS[name]}</text>'
            )
            at += 44 + 7.2 * len(KINDS[name])
        for time in ticks(self.schedule.end):
            y = self.y(time)
            self.parts.append(
                f'<path class="tick" d="M{LEFT},{y:.1f} H{self.width}"/>'
                f'<text class="time" x="{LEFT - 8}" y="{y + 4:.1f}">{time:g}</text>'
            )
        unit = escape(self.schedule.unit)
        self.parts.append(f'<text class="time" x="{LEFT - 8}" y="{TOP - 24}">{unit}</text>')
        for rank in range(self.ranks):
            x = self.x(rank)
            self.parts.append(
                f'<text class="rank" x="{x:.1f}" y="{TOP - 24}">rank {rank}</text>'
                f'<path class="life" d="M{x:.1f},{TOP - 16} V{self.y(self.schedule.end) + 8:.1f}"/>'
            )

    def _task(self, task: Task) -> None:
        x, y = self.x(task.rank) - 5, self.y(task.start)
        height = max(2.0, (task.end - task.start) * self.scale)
        self.parts.append(
            f'<rect class="{task.verb}" x="{x:.1f}" y="{y:.1f}" width="10" '
            f'height="{height:.1f}" rx="2"><title>{escape(task.text)}</title></rect>'
        )

    def _ends(self, message: Message) -> tuple[float, float, float, float]:
        side = 6 if message.destination > message.source else -6
        return (
            self.x(message.source) + side, self.y(message.sent),
            self.x(message.destination) - side, self.y(message.arrived),
        )  # fmt: skip

    def _arrow(self, message: Message) -> None:
        x1, y1, x2, y2 = self._ends(message)
        name = kind(message, self.ranks)
        what = label(message.value, self.schedule) or "no data"
        text = f"{what}: rank {message.source} to {message.destination}"
        if message.size:
            text += f", {message.size} bytes"
        dash = ' stroke-dasharray="4 3"' if name == "word" else ""
        self.parts.append(
            f'<path d="M{x1:.1f},{y1:.1f} L{x2:.1f},{y2:.1f}" fill="none" stroke-width="1.6" '
            f'stroke="{COLOURS[name]}"{dash} marker-end="url(#to-{name})">'
            f"<title>{escape(text)}</title></path>"
        )

    def _names(self) -> None:
        """One on each arrow; where a rank sends much at once, one for all of it, at the rank."""
        moments: dict[tuple[int, float], list[Message]] = defaultdict(list)
        for message in self.schedule.messages:
            if message.value is not None:
                moments[message.source, message.sent].append(message)
        for (source, sent), messages in moments.items():
            if len(messages) <= 2:
                for message in messages:
                    x1, y1, x2, y2 = self._ends(message)
                    # Not beyond the next column: there it would seem to be another rank's.
                    near = min(0.3, 0.25 * self.column / abs(x2 - x1))
                    self._name(x1 + (x2 - x1) * near, y1 + (y2 - y1) * near, self._text([message]))
            else:
                text = self._text(messages)
                self._name(self.x(source) + 12 + 3.4 * len(text), self.y(sent) - 7, text)

    def _text(self, messages: list[Message]) -> str:
        found = sorted({label(m.value, self.schedule) for m in messages})
        values = [m.value for m in messages if m.value is not None]
        alike = len({(v.ranks, v.side, v.chunk) for v in values}) == 1
        if len(found) == 1 or not alike:
            return found[0] if len(found) == 1 else f"{found[0]} ..."
        blocks = spans(b for v in values for b in range(v.block, v.block + v.blocks))
        return f"{found[0].partition('[')[0]}[{blocks}]"

    def _name(self, x: float, y: float, text: str) -> None:
        where = f'x="{x:.1f}" y="{y + 4:.1f}">{escape(text)}</text>'
        self.parts.append(f'<text class="name under" {where}<text class="name" {where}')


def ticks(end: float) -> list[float]:
    """Six to twelve round numbers from 0 to `end`."""
    if end <= 0:
        return [0.0]
    step = 10.0 ** int(f"{end:e}".split("e")[1])
    for finer in (1, 2, 5, 10):
        if end / (step / finer) >= 5:
            step /= finer
            break
    return [i * step for i in range(int(end / step + 1e-9) + 1)]
