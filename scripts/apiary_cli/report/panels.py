"""Curves as a drawing for a page of this repository: a panel for each scheduler or load, in it a line for each scenario or program,
both axes logarithmic; one file for light and dark."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import Iterable, Sequence

from . import svg

WIDE, HIGH, LEFT, ABOVE, BELOW, ACROSS = 300, 190, 46, 30, 34, 3
LETTER = 6  # pixels of one in the note
# Of a scenario in all panels, on light and on dark; after the last the first comes again, dashed and with hollow dots.
COLOURS = (("#2c6fbb", "#6aa9ee"), ("#b3561e", "#e08a4f"), ("#2c7a4b", "#58b883"), ("#8a4fb0", "#bd8ee0"), ("#a8842c", "#d6b455"),
           ("#b03a5b", "#e8809c"))
STYLE = """
text { font: 11px system-ui, sans-serif; fill: #22231f } .soft { fill: #66665e } .title { font-weight: 600; font-size: 13px }
.rule { stroke: #dedbd1; stroke-width: 1 } polyline { fill: none; stroke-width: 2 } .dashed { stroke-dasharray: 5 3 }
.former { stroke-width: 1.2; stroke-dasharray: 2 3 }
""" + "".join(f".c{k} {{ color: {light} }} " for k, (light, _) in enumerate(COLOURS)) + """
.line { stroke: currentColor } .dot { fill: currentColor } .hollow { fill: none; stroke: currentColor; stroke-width: 1.6 }
@media (prefers-color-scheme: dark) { text { fill: #e6e4dd } .soft { fill: #a09e95 } .rule { stroke: #35363a }
""" + "".join(f".c{k} {{ color: {dark} }} " for k, (_, dark) in enumerate(COLOURS)) + """}
"""


def decades(low: float, high: float) -> list[float]:
    return [10.0**k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


@dataclass(frozen=True)
class Point:
    panel: str
    line: str
    x: float
    y: float  # ns
    said: str  # to a reader that points at it


Curves = dict[str, dict[str, list[Point]]]  # by panel and line


def curves_of(points: Iterable[Point]) -> Curves:
    curves: Curves = {}
    for p in points:
        curves.setdefault(p.panel, {}).setdefault(p.line, []).append(p)
    return curves


def look(name: str, names: list[str]) -> tuple[str, str, str]:
    """Classes of its colour, of its line, and of its dots."""
    at = names.index(name)
    again = at >= len(COLOURS)
    return f"c{at % len(COLOURS)}", "line dashed" if again else "line", "hollow" if again else "dot"


def axis(xs: Sequence[float], given: Sequence[float]) -> tuple[svg.LogScale, list[tuple[float, str]]]:
    """`given`: the ticks of all panels; none: this panel has its own, in units of time."""
    if given:
        return svg.LogScale(given[0], max(given[-1], 2 * given[0])), [(x, f"{x:g}") for x in given]
    scale = svg.log_scale(xs)
    return scale, [(x, svg.tick_label(x)) for x in svg.log_ticks(scale)]


def upwards(ys: Sequence[float]) -> tuple[svg.LogScale, list[float]]:
    """Whole decades; what lies within one and a half has a scale of its own, or it would be a flat line."""
    if max(ys) < 30 * min(ys):
        scale = svg.log_scale(ys)
        return scale, svg.log_ticks(scale)
    heights = decades(min(ys), max(ys))
    return svg.LogScale(heights[0], heights[-1]), heights


def panel(title: str, curves: dict[str, list[Point]], former: dict[str, list[Point]], ticks: Sequence[float], names: list[str], x0: float, y0: float,
          high: float) -> str:
    every = [p for curve in (*curves.values(), *former.values()) for p in curve]
    up, heights = upwards([p.y for p in every])
    along, below = axis([p.x for p in every], ticks)
    width, height = WIDE - LEFT - 12, high - ABOVE - BELOW - 14 * ((len(curves) + 1) // 2 - 1)

    def at(x: float, y: float) -> tuple[float, float]:
        return x0 + LEFT + width * along.at(x), y0 + ABOVE + height * (1 - up.at(y))

    def line(curve: list[Point], kind: str) -> str:
        marks = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(p.x, p.y) for p in curve))
        return svg.tag("polyline", points=marks, **{"class": kind})

    out = svg.tag("text", svg.escape(title), x=x0 + LEFT, y=y0 + 16, **{"class": "title"})
    for ns in heights:
        y = at(along.low, ns)[1]
        out += svg.tag("line", x1=x0 + LEFT, x2=x0 + LEFT + width, y1=f"{y:.1f}", y2=f"{y:.1f}", **{"class": "rule"})
        out += svg.tag("text", svg.tick_label(ns), x=x0 + LEFT - 5, y=f"{y + 4:.1f}", **{"class": "soft", "text-anchor": "end"})
    for value, words in below:
        x, y = at(value, up.low)
        out += svg.tag("text", words, x=f"{x:.1f}", y=f"{y + 14:.1f}", **{"class": "soft", "text-anchor": "middle"})
    for k, (name, curve) in enumerate(curves.items()):
        colour, kind, dot = look(name, names)
        if name in former:
            out += line(former[name], f"{colour} line former")
        out += line(curve, f"{colour} {kind}")
        for p in curve:
            x, y = at(p.x, p.y)
            out += svg.tag("circle", svg.tag("title", svg.escape(p.said)), cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.6, **{"class": f"{colour} {dot}"})
        x, y = x0 + LEFT + k % 2 * width / 2, y0 + ABOVE + height + 28 + 14 * (k // 2)
        out += svg.tag("line", x1=x, x2=x + 10, y1=y - 4, y2=y - 4, **{"class": f"{colour} {kind}", "stroke-width": 2})
        if dot == "hollow":
            out += svg.tag("circle", "", cx=x + 5, cy=y - 4, r=2.6, **{"class": f"{colour} {dot}"})
        out += svg.tag("text", svg.escape(name), x=x + 14, y=y)
    return out


def drawn(points: Sequence[Point], note: str, label: str, ticks: Sequence[float] = (), before: Iterable[Point] = (), across: int = ACROSS) -> str:
    """`note` stands below, `label` is for readers that do not see it. `before` is dotted. Lines go through their points as they come.
    `across`: so many panels beside each other at most."""
    curves, former = curves_of(points), curves_of(before)
    names = sorted({p.line for p in points})
    rows = math.ceil(len(curves) / across)
    high = HIGH + 14 * max(0, (max(map(len, curves.values())) + 1) // 2 - 2)
    body = svg.tag("style", STYLE)
    for k, (title, found) in enumerate(curves.items()):
        body += panel(title, found, former.get(title, {}), ticks, names, k % across * WIDE, k // across * high, high)
    width = WIDE * min(across, len(curves))
    lines = textwrap.wrap(note, (width - LEFT) // LETTER)
    height = rows * high + 10 + 14 * len(lines)
    for k, words in enumerate(lines):
        body += svg.tag("text", svg.escape(words), x=LEFT, y=rows * high + 14 * (k + 1), **{"class": "soft"})
    return svg.tag("svg", body, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width} {height}", role="img", **{"aria-label": label}) + "\n"
