"""The curves of the virtual machine as a drawing for a page of this repository: a panel for each scheduler, one file for light and dark."""

from __future__ import annotations

import math

from . import svg

WIDE, HIGH, LEFT, ABOVE, BELOW, ACROSS = 300, 190, 46, 30, 34, 3
COLOURS = ("#2c6fbb", "#b3561e", "#2c7a4b", "#8a4fb0")
STYLE = """
text { font: 11px system-ui, sans-serif; fill: #22231f } .soft { fill: #66665e } .title { font-weight: 600; font-size: 13px }
.rule { stroke: #dedbd1; stroke-width: 1 } polyline { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #e6e4dd } .soft { fill: #a09e95 } .rule { stroke: #35363a } }
"""


def decades(low: float, high: float) -> list[float]:
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def panel(subject: str, curves: dict[str, list[tuple[int, float]]], workers: list[int], x0: float, y0: float) -> str:
    """Nanoseconds for each operation by workers, both logarithmic."""
    values = [ns for curve in curves.values() for _, ns in curve]
    ticks = decades(min(values), max(values))
    if len(ticks) == 1:
        ticks.append(10 * ticks[0])
    along = svg.LogScale(workers[0], max(workers[-1], 2 * workers[0]))
    up = svg.LogScale(ticks[0], ticks[-1])
    width, height = WIDE - LEFT - 12, HIGH - ABOVE - BELOW - 14 * ((len(curves) + 1) // 2 - 1)

    def at(n: int, ns: float) -> tuple[float, float]:
        return x0 + LEFT + width * along.at(n), y0 + ABOVE + height * (1 - up.at(ns))

    out = svg.tag("text", svg.escape(subject), x=x0 + LEFT, y=y0 + 16, **{"class": "title"})
    for ns in ticks:
        y = at(workers[0], ns)[1]
        out += svg.tag("line", x1=x0 + LEFT, x2=x0 + LEFT + width, y1=f"{y:.1f}", y2=f"{y:.1f}", **{"class": "rule"})
        out += svg.tag("text", svg.tick_label(ns), x=x0 + LEFT - 5, y=f"{y + 4:.1f}", **{"class": "soft", "text-anchor": "end"})
    for n in workers:
        x, y = at(n, ticks[0])
        out += svg.tag("text", str(n), x=f"{x:.1f}", y=f"{y + 14:.1f}", **{"class": "soft", "text-anchor": "middle"})
    for k, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[k % len(COLOURS)]
        marks = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(n, ns) for n, ns in curve))
        out += svg.tag("polyline", points=marks, stroke=colour)
        for n, ns in curve:
            x, y = at(n, ns)
            title = svg.tag("title", svg.escape(f"{name}, {n} workers: {ns:.2f} ns"))
            out += svg.tag("circle", title, cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.6, fill=colour)
        x, y = x0 + LEFT + k % 2 * width / 2, y0 + ABOVE + height + 28 + 14 * (k // 2)
        out += svg.tag("circle", cx=x + 4, cy=y - 4, r=4, fill=colour) + svg.tag("text", svg.escape(name), x=x + 12, y=y)
    return out


def drawn(points: list[dict], note: str) -> str:
    """All points; `note` says by which prices and that it is a model."""
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for p in sorted(points, key=lambda p: (p["subject"], p["scenario"], p["workers"])):
        curves.setdefault(p["subject"], {}).setdefault(p["scenario"], []).append((p["workers"], p["ns"]))
    workers = sorted({p["workers"] for p in points})
    rows = math.ceil(len(curves) / ACROSS)
    body = svg.tag("style", STYLE)
    for k, (subject, found) in enumerate(curves.items()):
        body += panel(subject, found, workers, k % ACROSS * WIDE, k // ACROSS * HIGH)
    width, height = WIDE * min(ACROSS, len(curves)), rows * HIGH + 24
    body += svg.tag("text", svg.escape(note), x=LEFT, y=rows * HIGH + 14, **{"class": "soft"})
    label = "nanoseconds for each operation, by workers, on the virtual machine"
    return svg.tag("svg", body, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}", role="img",
                   **{"aria-label": label}) + "\n"
