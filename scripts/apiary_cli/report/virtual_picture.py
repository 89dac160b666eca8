"""The curves of the virtual machine as a drawing for a page of this repository: a panel for each scheduler, one file for light and dark."""

from __future__ import annotations

import math

from . import svg

WIDE, HIGH, LEFT, ABOVE, BELOW, ACROSS = 300, 190, 46, 30, 34, 3
# Of a scenario in all panels, on light and on dark; after the last the first comes again, dashed.
COLOURS = (("#2c6fbb", "#6aa9ee"), ("#b3561e", "#e08a4f"), ("#2c7a4b", "#58b883"), ("#8a4fb0", "#bd8ee0"), ("#a8842c", "#d6b455"),
           ("#b03a5b", "#e8809c"))
STYLE = """
text { font: 11px system-ui, sans-serif; fill: #22231f } .soft { fill: #66665e } .title { font-weight: 600; font-size: 13px }
.rule { stroke: #dedbd1; stroke-width: 1 } polyline { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 5 3 }
.former { stroke-width: 1.2; stroke-dasharray: 2 3 }
""" + "".join(f".c{k} {{ color: {light} }} " for k, (light, _) in enumerate(COLOURS)) + """
.line { stroke: currentColor } .dot { fill: currentColor }
@media (prefers-color-scheme: dark) { text { fill: #e6e4dd } .soft { fill: #a09e95 } .rule { stroke: #35363a }
""" + "".join(f".c{k} {{ color: {dark} }} " for k, (_, dark) in enumerate(COLOURS)) + """}
"""


def decades(low: float, high: float) -> list[float]:
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def look(scenario: str, scenarios: list[str]) -> tuple[str, str]:
    """Classes of its colour, and of its line."""
    at = scenarios.index(scenario)
    return f"c{at % len(COLOURS)}", "line dashed" if at >= len(COLOURS) else "line"


Curves = dict[str, dict[str, list[tuple[int, float]]]]  # by scheduler and scenario


def curves_of(points: list[dict]) -> Curves:
    curves: Curves = {}
    for p in sorted(points, key=lambda p: (p["subject"], p["scenario"], p["workers"])):
        curves.setdefault(p["subject"], {}).setdefault(p["scenario"], []).append((p["workers"], p["ns"]))
    return curves


def panel(subject: str, curves: dict[str, list[tuple[int, float]]], former: dict[str, list[tuple[int, float]]], workers: list[int], scenarios: list[str], x0: float, y0: float,
          high: float) -> str:
    """Nanoseconds for each operation by workers, both logarithmic."""
    values = [ns for curve in (*curves.values(), *former.values()) for _, ns in curve]
    ticks = decades(min(values), max(values))
    if len(ticks) == 1:
        ticks.append(10 * ticks[0])
    along = svg.LogScale(workers[0], max(workers[-1], 2 * workers[0]))
    up = svg.LogScale(ticks[0], ticks[-1])
    width, height = WIDE - LEFT - 12, high - ABOVE - BELOW - 14 * ((len(curves) + 1) // 2 - 1)

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
        colour, line = look(name, scenarios)
        marks = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(n, ns) for n, ns in curve))
        if old := former.get(name):
            out += svg.tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in (at(n, ns) for n, ns in old)),
                           **{"class": f"{colour} line former"})
        out += svg.tag("polyline", points=marks, **{"class": f"{colour} {line}"})
        for n, ns in curve:
            x, y = at(n, ns)
            title = svg.tag("title", svg.escape(f"{name}, {n} workers: {ns:.2f} ns"))
            out += svg.tag("circle", title, cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.6, **{"class": f"{colour} dot"})
        x, y = x0 + LEFT + k % 2 * width / 2, y0 + ABOVE + height + 28 + 14 * (k // 2)
        out += svg.tag("line", x1=x, x2=x + 10, y1=y - 4, y2=y - 4, **{"class": f"{colour} {line}", "stroke-width": 2})
        out += svg.tag("text", svg.escape(name), x=x + 14, y=y)
    return out


def drawn(points: list[dict], note: str, before: list[dict] | None = None) -> str:
    """All points; `note` says by which prices and that it is a model. Those of `before` that are of the same scenarios and
    workers are dotted."""
    curves = curves_of(points)
    known = {(p["subject"], p["scenario"], p["workers"]) for p in points}
    former = curves_of([p for p in before or [] if (p["subject"], p["scenario"], p["workers"]) in known])
    workers = sorted({p["workers"] for p in points})
    scenarios = sorted({p["scenario"] for p in points})
    rows = math.ceil(len(curves) / ACROSS)
    high = HIGH + 14 * max(0, (max(map(len, curves.values())) + 1) // 2 - 2)
    body = svg.tag("style", STYLE)
    for k, (subject, found) in enumerate(curves.items()):
        body += panel(subject, found, former.get(subject, {}), workers, scenarios, k % ACROSS * WIDE, k // ACROSS * high, high)
    width, height = WIDE * min(ACROSS, len(curves)), rows * high + 24
    body += svg.tag("text", svg.escape(note), x=LEFT, y=rows * high + 14, **{"class": "soft"})
    label = "nanoseconds for each operation, by workers, on the virtual machine"
    return svg.tag("svg", body, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}", role="img",
                   **{"aria-label": label}) + "\n"
