"""Charts as inline SVG: percent across, pixels down, so that text keeps its size on any screen."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Callable, Sequence

from ..base.say import UNITS, human

def tick_label(ns: float) -> str:
    scale, unit = next(((s, u) for s, u in UNITS if ns >= s), (1.0, "ns"))
    return f"{ns / scale:g} {unit}"


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def tag(name: str, body: str = "", **attributes: object) -> str:
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{words}>{body}</{name}>" if body else f"<{name}{words}/>"


@dataclass(frozen=True)
class LogScale:
    """Maps positive values to 0 … 1, logarithmically."""

    low: float
    high: float

    def at(self, value: float) -> float:
        return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))

    def shows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def percent(self, value: float) -> str:
        return f"{100 * min(1.0, max(0.0, self.at(value))):.2f}%"


def log_scale(values: Sequence[float], pad: float = 0.08, least: float = 1.25) -> LogScale:
    """Covers the values with some air; never narrower than a factor of `least`."""
    low, high = min(values), max(values)
    middle = math.sqrt(low * high)
    spread = max(high / low, least) ** (0.5 + pad)
    return LogScale(middle / spread, middle * spread)


def log_ticks(scale: LogScale, most: int = 6) -> list[float]:
    """1-2-5 steps inside the scale, thinned to at most `most`; finer where the scale is short."""
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tuple(i / 10 for i in range(10, 100))):
        first, last = math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high))
        ticks = [step * 10.0**decade for decade in range(first, last + 1) for step in steps]
        inside = [t for t in ticks if scale.low <= t <= scale.high]
        if len(inside) >= 3:
            return thin(inside, most)
    return inside or [scale.low, scale.high]


def thin(ticks: list[float], most: int) -> list[float]:
    step = math.ceil(len(ticks) / most)
    return ticks[::step]


def ratio_ticks(scale: LogScale) -> list[float]:
    """Ticks of a ratio axis; 1 is always among them."""
    for choice in (
        (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000),
        (0.1, 0.2, 0.5, 1, 2, 5, 10),
        (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4),
        (0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4),
        (0.9, 0.95, 1, 1.05, 1.1),
        (0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03),
    ):
        inside = [t for t in choice if scale.low <= t <= scale.high]
        if len(inside) >= 4:
            return inside if len(inside) <= 6 else [t for t in inside if math.log10(t) % 1 < 1e-9] or inside
    return inside or [1]


def line(x1: str, y1: float, x2: str, y2: float, cls: str) -> str:
    return tag("line", x1=x1, y1=f"{y1:.1f}", x2=x2, y2=f"{y2:.1f}", class_=cls)


def dot(x: str, y: float, radius: float, cls: str, title: str = "") -> str:
    body = f"<title>{escape(title)}</title>" if title else ""
    return tag("circle", body, cx=x, cy=f"{y:.1f}", r=radius, class_=cls)


def text(x: str, y: float, words: str, anchor: str = "start", cls: str = "") -> str:
    return tag("text", escape(words), x=x, y=f"{y:.1f}", text_anchor=anchor, class_=cls or None)


def edge_anchor(share: float) -> str:
    """Labels at the edges of a chart point inwards."""
    return "start" if share < 0.06 else "end" if share > 0.94 else "middle"


def chart(body: str, height: float, label: str, cls: str = "", **more: str) -> str:
    return tag(
        "svg",
        f"<title>{escape(label)}</title>{body}",
        class_=f"chart {cls}".strip(),
        width="100%",
        height=f"{height:.0f}",
        role="img",
        **more,
    )


def path_layer(paths: str, top: float, height: float) -> str:
    """Paths in a 1000 × 1000 square stretched over the plot: lines keep their width."""
    return (
        f'<svg x="0" y="{top:.0f}" width="100%" height="{height:.0f}" viewBox="0 0 1000 1000" '
        f'preserveAspectRatio="none" class="paths">{paths}</svg>'
    )


def polyline(points: Sequence[tuple[float, float]], cls: str, name: str | None = None) -> str:
    """Points in 0 … 1, y upwards. `name`: a pointer that comes near reads it, and the values, from the path."""
    d = " ".join(f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in points)
    return tag("polyline", points=d, class_=cls, data_name=name)


def band(lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], cls: str) -> str:
    d = " ".join(f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in [*lower, *reversed(upper)])
    return tag("polygon", points=d, class_=cls)


# ---------------------------------------------------------------------------------------------------------


def forest_axis(scale: LogScale, left: str = "", right: str = "") -> str:
    """The ticks of a forest plot; at its head also which side is whose."""
    body, top = "", 0
    if left or right:
        body = text("0%", 12, f"← {left}", "start", "side") + text("100%", 12, f"{right} →", "end", "side")
        top = 18
    for tick in ratio_ticks(scale):
        body += text(scale.percent(tick), top + 12, f"×{tick:g}", edge_anchor(scale.at(tick)), "tick")
    return chart(body, top + 18, "axis of ratios")


FARTHEST = 8.0  # a wider forest shows no interval: what lies beyond gets an arrow


def forest_scale(intervals: Sequence[tuple[float, float]]) -> LogScale:
    """Of the intervals and of 1, but at most ×1/8 to ×8; as wide as they are where all of them lie beyond."""
    edges = [1.0, *(edge for interval in intervals for edge in interval)]
    if any(hi >= 1 / FARTHEST and lo <= FARTHEST for lo, hi in intervals):
        edges = [min(FARTHEST, max(1 / FARTHEST, edge)) for edge in edges]
    return log_scale(edges, pad=0.05)


def forest_row(
    scale: LogScale, ratio: float, lo: float, hi: float, margin: float, raw: Sequence[float], cls: str, label: str
) -> str:
    """One interval: margin band, raw paired ratios, the interval, the estimate; an arrow where it goes on beyond the scale."""
    height, middle = 34, 21
    left, right = scale.at(1 / (1 + margin)), scale.at(1 + margin)
    body = tag(
        "rect",
        x=f"{100 * max(0, left):.2f}%",
        y=0,
        height=height,
        width=f"{100 * (min(1, right) - max(0, left)):.2f}%",
        class_="margin",
    )
    body += line(scale.percent(1), 0, scale.percent(1), height, "one")
    for value in filter(scale.shows, raw):
        body += dot(scale.percent(value), 8, 2.2, "raw")
    body += line(scale.percent(lo), middle, scale.percent(hi), middle, f"interval {cls}")
    for beyond, at, anchor, sign in ((lo < scale.low, "0%", "start", "◀"), (hi > scale.high, "100%", "end", "▶")):
        body += text(at, middle + 4, sign, anchor, f"arrow {cls}") if beyond else ""
    body += dot(scale.percent(ratio), middle, 4.5, f"estimate {cls}") if scale.shows(ratio) else ""
    return chart(body, height, label, "row")


def rounds_chart(series: dict[str, list[tuple[int, float]]], colours: dict[str, str], label: str) -> str:
    """Raw values by round: one dot for each process, one colour for each subject."""
    values = [v for points in series.values() for _, v in points]
    last = max(n for points in series.values() for n, _ in points)
    scale, height, top = log_scale(values, pad=0.06, least=1.5), 190.0, 8.0
    plot = height - top - 22

    def x(number: int) -> float:
        return 0.5 if last == 1 else 0.02 + 0.96 * (number - 1) / (last - 1)

    def y(value: float) -> float:
        return top + plot * (1 - scale.at(value))

    body = grid(scale, top, plot)
    lines = "".join(
        polyline([(x(n), scale.at(v)) for n, v in points], f"thread {colours[name]}")
        for name, points in series.items()
    )
    body += path_layer(lines, top, plot)
    for name, points in series.items():
        body += "".join(
            dot(f"{100 * x(n):.2f}%", y(v), 3, f"mark {colours[name]}", f"{name}, round {n}: {human(v)}")
            for n, v in points
        )
    for number in sorted({1, last, *range(5, last, 5 if last <= 30 else 10)}):
        body += text(
            f"{100 * x(number):.2f}%",
            height - 5,
            f"round {number}" if number == 1 else str(number),
            edge_anchor(x(number)),
            "tick",
        )
    return axed(chart(body, height, label), scale, top, plot, height)


@dataclass(frozen=True)
class Mark:
    """A point of an xy_chart: its value, the interval around it when there is one, and whether it ranks nobody."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False


def runs(marks: Sequence[Mark]) -> list[list[Mark]]:
    """The stretches that a line may connect: it does not pass through what ranks nobody."""
    out: list[list[Mark]] = [[]]
    for mark in marks:
        if mark.hollow:
            out.append([])
        else:
            out[-1].append(mark)
    return [run for run in out if len(run) > 1]


def xy_chart(
    series: dict[str, list[Mark]],
    colours: dict[str, str],
    label: str,
    unit: str = "",
    across: str = "",
    said: Callable[[float], str] | None = None,
) -> str:
    """Value against a quantity, both logarithmic: a line, marks and intervals for each name. `across`: what the quantity is;
    `said`: how a value is written, when it is no time."""
    words = said or human
    xs = sorted({mark.x for marks in series.values() for mark in marks})
    ends = [v for marks in series.values() for m in marks for v in (m.value, m.low, m.high) if v]
    scale = log_scale(ends, pad=0.06, least=1.5)
    along = LogScale(xs[0], xs[-1] if xs[-1] > xs[0] else 2 * xs[0])
    height, top = 210.0 + (14 if across else 0), 8.0
    plot = height - top - 22 - (14 if across else 0)

    def place(x: float) -> float:
        return 0.02 + 0.95 * along.at(x)

    def y(value: float) -> float:
        return top + plot * (1 - scale.at(value))

    body, paths = grid(scale, top, plot), ""
    for x in thin(xs, 7):
        short = f"{x / 1000:g}k" if x >= 1000 else f"{x:g}"
        body += text(f"{100 * place(x):.2f}%", top + plot + 17, f"{short}{unit}", edge_anchor(place(x)), "tick")
    if across:
        body += text("50%", height - 3, across, "middle", "tick")
    for name, marks in series.items():
        for run in runs(marks):
            paths += polyline([(place(m.x), scale.at(m.value)) for m in run], f"curve {colours[name]}")
    body += path_layer(paths, top, plot)
    for name, marks in series.items():
        for mark in marks:
            at, span = f"{100 * place(mark.x):.2f}%", ""
            if mark.low and mark.high:
                body += line(at, y(mark.low), at, y(mark.high), f"span {colours[name]}")
                span = f" ({words(mark.low)} to {words(mark.high)})"
            title = f"{name}, {mark.x:g}{unit}: {words(mark.value)}{span}{', injector-limited' if mark.hollow else ''}"
            body += dot(at, y(mark.value), 3.2, f"{'hollow' if mark.hollow else 'mark'} {colours[name]}", title)
    return axed(chart(body, height, label), scale, top, plot, height, said or tick_label)


def grid(scale: LogScale, top: float, plot: float) -> str:
    """Horizontal lines at the ticks of axed()."""
    levels = (top + plot * (1 - scale.at(tick)) for tick in log_ticks(scale, 5))
    return "".join(line("0%", level, "100%", level, "grid") for level in levels)


def axed(
    drawn: str, scale: LogScale, top: float, plot: float, height: float, ticks: Callable[[float], str] = tick_label
) -> str:
    """A chart with the labels of its value axis in a column beside it, where they cover no point at any width."""
    labels = "".join(
        text("100%", top + plot * (1 - scale.at(tick)) + 3.5, ticks(tick), "end", "tick")
        for tick in log_ticks(scale, 5)
    )
    axis = tag("svg", labels, class_="axis", width="100%", height=f"{height:.0f}", aria_hidden="true")
    return f'<div class="axed">{axis}{drawn}</div>'


def spectrum_chart(
    curves: dict[str, list[tuple[float, float]]],
    bands: dict[str, list[tuple[float, float, float]]],
    colours: dict[str, str],
    label: str,
) -> str:
    """Value against percentile, the percentile axis stretched towards 1: 50, 90, 99, 99.9 %."""
    values = [v for points in curves.values() for _, v in points if v > 0]
    reach = max(depth(q) for points in curves.values() for q, _ in points)
    scale, height, top = log_scale(values, pad=0.06, least=1.5), 230.0, 8.0
    plot = height - top - 22

    def x(q: float) -> float:
        return 0.01 + 0.96 * depth(q) / reach

    body, paths = grid(scale, top, plot), ""
    for q in (0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999):
        if depth(q) <= reach + 1e-9:
            at = f"{100 * x(q):.2f}%"
            body += line(at, top, at, top + plot, "grid") + text(
                at, height - 5, f"{100 * q:g} %", edge_anchor(x(q)), "tick"
            )
    for name, points in bands.items():
        kept = [(q, lo, hi) for q, lo, hi in points if lo > 0]
        if len(kept) > 1:
            paths += band(
                [(x(q), scale.at(lo)) for q, lo, _ in kept],
                [(x(q), scale.at(hi)) for q, _, hi in kept],
                f"band {colours[name]}",
            )
    for name, points in curves.items():
        paths += polyline([(x(q), scale.at(v)) for q, v in points if v > 0], f"curve {colours[name]}", name)
    reads = {"data_low": f"{scale.low:.6g}", "data_high": f"{scale.high:.6g}", "data_reach": f"{reach:.6g}"}
    return axed(chart(body + path_layer(paths, top, plot), height, label, **reads), scale, top, plot, height)


def depth(q: float) -> float:
    """0 at 0 %, 1 at 90 %, 2 at 99 %, …"""
    return -math.log10(1 - q)
