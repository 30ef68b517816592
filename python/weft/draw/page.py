"""One HTML page with the message pattern, the timeline and the plan's text; no other file."""

from __future__ import annotations

from html import escape

from weft.draw.schedule import Schedule
from weft.draw.svg import pattern, title_of
from weft.draw.timeline import bars

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px "DejaVu Sans", Verdana, sans-serif; color: #222; margin: 24px }}
figure {{ margin: 0 0 24px; border: 1px solid #ddd; overflow: hidden; max-height: 85vh }}
figure svg {{ display: block; width: 100%; height: auto; max-height: 85vh; cursor: grab }}
h1 {{ font-size: 22px }} h2 {{ font-size: 17px }}
pre {{ font-size: 12px; background: #f6f6f6; padding: 12px; overflow: auto }}
p {{ color: #666 }}
</style></head><body>
<h1>{title}</h1>
<p>{summary}</p>
<p>The wheel zooms, dragging moves, a double click goes back; steps and messages say what they are
under the mouse.</p>
<h2>Messages</h2><figure>{pattern}</figure>
<h2>Time</h2><figure>{bars}</figure>
<details><summary>The plan</summary><pre>{text}</pre></details>
<script>
for (const svg of document.querySelectorAll("figure svg")) {{
  const whole = svg.getAttribute("viewBox").split(" ").map(Number);
  let box = whole.slice(), last = null;
  const show = () => svg.setAttribute("viewBox", box.join(" "));
  const at = event => {{
    const m = svg.getScreenCTM().inverse();
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(m);
  }};
  svg.addEventListener("wheel", event => {{
    event.preventDefault();
    const p = at(event), f = event.deltaY > 0 ? 1.2 : 1 / 1.2;
    box = [p.x - (p.x - box[0]) * f, p.y - (p.y - box[1]) * f, box[2] * f, box[3] * f];
    show();
  }}, {{ passive: false }});
  svg.addEventListener("pointerdown", event => {{ last = at(event); }});
  svg.addEventListener("pointermove", event => {{
    if (!last || !event.buttons) return;
    const p = at(event);
    box[0] += last.x - p.x; box[1] += last.y - p.y;
    show();
  }});
  svg.addEventListener("dblclick", () => {{ box = whole.slice(); show(); }});
}}
</script>
</body></html>
"""


def page(schedule: Schedule, summary: str = "") -> str:
    """The HTML document."""
    return _PAGE.format(
        title=escape(title_of(schedule)),
        summary=escape(summary),
        pattern=pattern(schedule),
        bars=bars(schedule),
        text=escape(str(schedule.plan)),
    )
