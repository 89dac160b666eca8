"""Charts as inline SVG: percent across, pixels down, so that text keeps its size on any screen."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Callable, Iterable, Sequence

from ..base.say import UNITS, human

TOP, BELOW = 8.0, 22.0  # pixels above a plot, and below it for its ticks
FARTHEST = 8.0  # a wider forest shows no interval: what lies beyond gets an arrow
RATIOS = (  # ticks of a ratio axis, from the widest to the finest
    (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000),
    (0.1, 0.2, 0.5, 1, 2, 5, 10),
    (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2, 2.8, 4),
    (0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4),
    (0.9, 0.95, 1, 1.05, 1.1),
    (0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.03),
)


def tick_label(ns: float) -> str:
    scale, unit = next(((s, u) for s, u in UNITS if ns >= s), (1.0, "ns"))
    return f"{ns / scale:g} {unit}"


# ------------------------------------------------------------------------------------------------- scales


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
        return percent(min(1.0, max(0.0, self.at(value))))


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def log_scale(values: Sequence[float], pad: float = 0.06, least: float = 1.5) -> LogScale:
    """Covers the values with some air; never narrower than a factor of `least`."""
    low, high = min(values), max(values)
    middle = math.sqrt(low * high)
    spread = max(high / low, least) ** (0.5 + pad)
    return LogScale(middle / spread, middle * spread)


def log_ticks(scale: LogScale, most: int = 5) -> list[float]:
    """Round values inside the scale, about `most`, so far apart that their labels do not touch; finer where the scale is short."""
    decades = range(math.floor(math.log10(scale.low)), math.ceil(math.log10(scale.high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.2, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), tuple(i / 10 for i in range(10, 100))):
        inside = list(filter(scale.shows, (step * 10.0**decade for decade in decades for step in steps)))
        if len(inside) >= 3 and len(kept := apart(scale, thin(inside, most), 1 / (most + 2))) >= 3:
            return kept
    return inside or [scale.low, scale.high]


def apart(scale: LogScale, ticks: Iterable[float], least: float) -> list[float]:
    """Without those that are nearer than `least`, a share of the scale, to the last one kept."""
    kept: list[float] = []
    for tick in ticks:
        if not kept or scale.at(tick) - scale.at(kept[-1]) >= least:
            kept.append(tick)
    return kept


def thin(ticks: list[float], most: int) -> list[float]:
    return ticks[:: math.ceil(len(ticks) / most)]


def ratio_ticks(scale: LogScale) -> list[float]:
    """1 is always among them."""
    for choice in RATIOS:
        inside = list(filter(scale.shows, choice))
        if len(inside) >= 4:
            return inside if len(inside) <= 6 else [t for t in inside if math.log10(t) % 1 < 1e-9] or inside
    return inside or [1]


# ------------------------------------------------------------------------------------------------ elements


def escape(text: object) -> str:
    return html.escape(str(text), quote=True)


def tag(name: str, body: str = "", **attributes: object) -> str:
    given = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    words = "".join(f' {key}="{escape(value)}"' for key, value in given)
    return f"<{name}{words}>{body}</{name}>" if body else f"<{name}{words}/>"


def line(x1: str, y1: float, x2: str, y2: float, cls: str) -> str:
    return tag("line", x1=x1, y1=f"{y1:.1f}", x2=x2, y2=f"{y2:.1f}", class_=cls)


def dot(x: str, y: float, radius: float, cls: str, title: str = "") -> str:
    body = f"<title>{escape(title)}</title>" if title else ""
    return tag("circle", body, cx=x, cy=f"{y:.1f}", r=radius, class_=cls)


def text(x: str, y: float, words: str, anchor: str = "start", cls: str = "") -> str:
    return tag("text", escape(words), x=x, y=f"{y:.1f}", text_anchor=anchor, class_=cls or None)


def tick(share: float, y: float, words: str) -> str:
    """Labels at the edges of a chart point inwards."""
    return text(percent(share), y, words, "start" if share < 0.06 else "end" if share > 0.94 else "middle", "tick")


def chart(body: str, height: float, label: str, cls: str = "chart", **more: str) -> str:
    body = f"<title>{escape(label)}</title>{body}"
    return tag("svg", body, class_=cls, width="100%", height=f"{height:.0f}", role="img", **more)


def path(kind: str, points: Iterable[tuple[float, float]], cls: str, name: str | None = None) -> str:
    """A polyline or polygon of points in 0 … 1, y upwards. `name`: a pointer that comes near reads it, and the values."""
    corners = " ".join(f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in points)
    return tag(kind, points=corners, class_=cls, data_name=name)


@dataclass(frozen=True)
class Plot:
    """Where a chart draws: values upwards on a logarithmic scale, within `high` pixels."""

    scale: LogScale
    high: float

    def y(self, value: float) -> float:
        return TOP + self.high * (1 - self.scale.at(value))

    def drawn(
        self, label: str, ticks: Iterable[tuple[float, str]], paths: str, marks: str = "", across: str = "",
        said: Callable[[float], str] = tick_label, **more: str,
    ) -> str:
        """The chart. `ticks` along it are shares with their words; `paths` lie in a square that is stretched over the plot,
        so that lines keep their width. The labels of the values stand in a column beside it, where they cover no point."""
        foot, levels = TOP + self.high, [(self.y(level), said(level)) for level in log_ticks(self.scale)]
        height = foot + BELOW + (14 if across else 0)
        body = "".join(line("0%", y, "100%", y, "grid") for y, _ in levels)
        body += "".join(tick(share, foot + 17, words) for share, words in ticks)
        body += text("50%", height - 3, across, "middle", "tick") if across else ""
        body += tag("svg", paths or " ", x=0, y=f"{TOP:.0f}", width="100%", height=f"{self.high:.0f}", viewBox="0 0 1000 1000",
                    preserveAspectRatio="none", class_="paths")
        labels = "".join(text("100%", y + 3.5, words, "end", "tick") for y, words in levels)
        axis = tag("svg", labels, class_="axis", width="100%", height=f"{height:.0f}", aria_hidden="true")
        return f'<div class="axed">{axis}{chart(body + marks, height, label, **more)}</div>'


# -------------------------------------------------------------------------------------------------- forest


def forest_axis(scale: LogScale, left: str, right: str) -> str:
    """The ticks of a forest plot; at its head also which side is whose."""
    sides = text("0%", 12, f"← {left}", "start", "side") + text("100%", 12, f"{right} →", "end", "side")
    ticks = (tick(min(1.0, max(0.0, scale.at(ratio))), 30, f"×{ratio:g}") for ratio in ratio_ticks(scale))
    return chart(sides + "".join(ticks), 36, "axis of ratios")


def forest_scale(intervals: Sequence[tuple[float, float]]) -> LogScale:
    """Of the intervals and of 1, but at most ×1/8 to ×8; as wide as they are where all of them lie beyond."""
    edges = [1.0, *(edge for interval in intervals for edge in interval)]
    if any(hi >= 1 / FARTHEST and lo <= FARTHEST for lo, hi in intervals):
        edges = [min(FARTHEST, max(1 / FARTHEST, edge)) for edge in edges]
    return log_scale(edges, pad=0.05, least=1.25)


def forest_row(
    scale: LogScale, ratio: float, lo: float, hi: float, margin: float, raw: Sequence[float], cls: str, label: str
) -> str:
    """One interval: margin band, raw paired ratios, the interval, the estimate; an arrow where it goes on beyond the scale."""
    height, middle, at = 34, 21, scale.percent
    left, right = max(0, scale.at(1 / (1 + margin))), min(1, scale.at(1 + margin))
    body = tag("rect", x=percent(left), y=0, height=height, width=percent(right - left), class_="margin")
    body += line(at(1), 0, at(1), height, "one") + "".join(dot(at(value), 8, 2.2, "raw") for value in filter(scale.shows, raw))
    body += line(at(lo), middle, at(hi), middle, f"interval {cls}")
    body += text("0%", middle + 4, "◀", "start", f"arrow {cls}") if lo < scale.low else ""
    body += text("100%", middle + 4, "▶", "end", f"arrow {cls}") if hi > scale.high else ""
    body += dot(at(ratio), middle, 4.5, f"estimate {cls}") if scale.shows(ratio) else ""
    return chart(body, height, label, "chart row")


# -------------------------------------------------------------------------------------------------- charts


def rounds_chart(series: dict[str, list[tuple[int, float]]], colours: dict[str, str], label: str) -> str:
    """Raw values by round: one dot for each process, one colour for each subject."""
    last = max(n for points in series.values() for n, _ in points)
    plot = Plot(log_scale([value for points in series.values() for _, value in points]), 160)

    def x(number: int) -> float:
        return 0.5 if last == 1 else 0.02 + 0.96 * (number - 1) / (last - 1)

    paths = marks = ""
    for name, points in series.items():
        paths += path("polyline", [(x(n), plot.scale.at(v)) for n, v in points], f"thread {colours[name]}")
        for n, v in points:
            marks += dot(percent(x(n)), plot.y(v), 3, f"mark {colours[name]}", f"{name}, round {n}: {human(v)}")
    numbers = sorted({1, last, *range(5, last, 5 if last <= 30 else 10)})
    return plot.drawn(label, [(x(n), "round 1" if n == 1 else str(n)) for n in numbers], paths, marks)


@dataclass(frozen=True)
class Mark:
    """A point of an xy_chart: its value, the interval around it when there is one, and whether it ranks nobody, and why."""

    x: float
    value: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    why: str = "injector-limited"


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
    series: dict[str, list[Mark]], colours: dict[str, str], label: str, across: str, said: Callable[[float], str] | None = None,
    ordinal: bool = False,
) -> str:
    """Value against a quantity, both logarithmic: a line, marks and intervals for each name. `across`: what the quantity is;
    `said`: how a value is written, when it is no time; `ordinal`: the quantity only orders, in equal steps."""
    words, every = said or human, [mark for marks in series.values() for mark in marks]
    xs = sorted({mark.x for mark in every})
    plot = Plot(log_scale([v for mark in every for v in (mark.value, mark.low, mark.high) if v]), 180)
    along = LogScale(xs[0], xs[-1] if xs[-1] > xs[0] else 2 * xs[0])

    def place(x: float) -> float:
        return 0.02 + 0.95 * (xs.index(x) / max(1, len(xs) - 1) if ordinal else along.at(x))

    paths = drawn = ""
    for name, marks in series.items():
        colour = colours[name]
        for run in runs(marks):
            paths += path("polyline", [(place(mark.x), plot.scale.at(mark.value)) for mark in run], f"curve {colour}")
        for mark in marks:
            at, span = percent(place(mark.x)), ""
            if mark.low and mark.high:
                drawn += line(at, plot.y(mark.low), at, plot.y(mark.high), f"span {colour}")
                span = f" ({words(mark.low)} to {words(mark.high)})"
            kind, why = ("hollow", f", {mark.why}") if mark.hollow else ("mark", "")
            title = f"{name}, {mark.x:g}: {words(mark.value)}{span}{why}"
            drawn += dot(at, plot.y(mark.value), 3.2, f"{kind} {colour}", title)
    ticks = [(place(x), f"{x / 1000:g}k" if x >= 1000 else f"{x:g}") for x in thin(xs, 7)]
    return plot.drawn(label, ticks, paths, drawn, across, said or tick_label)


def spectrum_chart(
    curves: dict[str, list[tuple[float, float]]], bands: dict[str, list[tuple[float, float, float]]],
    colours: dict[str, str], label: str,
) -> str:
    """Value against percentile, the percentile axis stretched towards 1: 50, 90, 99, 99.9 %."""
    plot = Plot(log_scale([v for points in curves.values() for _, v in points if v > 0]), 200)
    reach = max(depth(q) for points in curves.values() for q, _ in points)

    def x(q: float) -> float:
        return 0.01 + 0.96 * depth(q) / reach

    def at(q: float, value: float) -> tuple[float, float]:
        return x(q), plot.scale.at(value)

    shown = [q for q in (0.0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999) if depth(q) <= reach + 1e-9]
    upright = "".join(line(percent(x(q)), TOP, percent(x(q)), TOP + plot.high, "grid") for q in shown)
    paths = ""
    for name, points in bands.items():
        kept = [(q, lo, hi) for q, lo, hi in points if lo > 0]
        if len(kept) > 1:
            around = [*(at(q, lo) for q, lo, _ in kept), *(at(q, hi) for q, _, hi in reversed(kept))]
            paths += path("polygon", around, f"band {colours[name]}")
    for name, points in curves.items():
        paths += path("polyline", [at(q, v) for q, v in points if v > 0], f"curve {colours[name]}", name)
    reads = {"data_low": f"{plot.scale.low:.6g}", "data_high": f"{plot.scale.high:.6g}", "data_reach": f"{reach:.6g}"}
    return plot.drawn(label, [(x(q), f"{100 * q:g} %") for q in shown], paths, upright, **reads)


def depth(q: float) -> float:
    """0 at 0 %, 1 at 90 %, 2 at 99 %, …"""
    return -math.log10(1 - q)
