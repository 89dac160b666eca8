"""The table of a race: a row for each point and metric, a column for each peer; for summary.md."""

from __future__ import annotations

from collections import defaultdict
from typing import Iterable

from ..base import stats
from ..base.say import human, in_prose, markdown
from ..race import metrics, scenarios
from ..race.metrics import Metric
from . import comparing
from .comparing import Comparison, Key

# Of several percentiles the median and the deepest are shown, and each at which a peer wins.
DEEPER = ("lat_p50_ns", "lat_p90_ns", "lat_p99_ns")
NOT_RANKED = "not ranked"
UNCONTROLLED = {comparing.CONTROL_FAILED: "A/A differs", comparing.NO_CONTROL: "no A/A"}
LEGEND = (
    "Time of {0} over that of the other, with 95 % intervals: below 1, {0} is faster, or spends less where the line is one of "
    "processor time. (A runtime that spins is quick and costs a processor: read both lines.) Bold: the other is faster, or "
    "spends less; in parentheses: undecided, or equal within the margin; “–”: the other cannot express it; “not ranked”: the "
    "injector was too late in more than half of the pairs; where it was in fewer, they are left out and counted."
)
BARE = (
    "**How far from the bare machine.** The same work without a scheduler, where a scenario has such a floor "
    "(METHODOLOGY, “The bare control”): its median, and the time of each program over its time, in the same rounds."
)
Line = tuple[Key, str, Metric]  # a point, one of ours (a floor where all stand against it), a metric


def lines_of(comparisons: list[Comparison], bare: bool = False) -> dict[Line, dict[str, Comparison]]:
    """Each line's comparisons by the other program; of latencies those of DEEPER stay."""
    out: dict[Line, dict[str, Comparison]] = defaultdict(dict)
    deepest: dict[tuple[Key, str], str] = defaultdict(str)
    for one in comparisons:
        if one.bare if bare else one.claim:
            ours, other = (one.other, one.ours) if bare else (one.ours, one.other)
            out[one.key, ours, one.metric][other] = one
            if one.metric.column in DEEPER:
                deepest[one.key, ours] = max(deepest[one.key, ours], one.metric.column)
    return {
        (key, ours, metric): found
        for (key, ours, metric), found in out.items()
        if metric.column not in DEEPER or metric.column in (DEEPER[0], deepest[key, ours]) or any(map(lost, found.values()))
    }


def place_order(key: Key) -> tuple:
    """As the list of scenarios has them, numbers by size."""
    name, *rest = comparing.by_size(key)
    return list(scenarios.SCENARIOS).index(name), *rest


def order(line: Line) -> tuple:
    return place_order(line[0]), scenarios.METRICS.index(line[2])


def lost(one: Comparison) -> bool:
    return one.verdict == stats.REGRESSED


def listed(found: dict[Line, dict[str, Comparison]]) -> list[Line]:
    """The points where a peer wins first; what a latency costs stands below it."""
    beaten = {line[:2] for line, at in found.items() if any(map(lost, at.values()))}
    return sorted(found, key=lambda line: (line[:2] not in beaten, order(line)))


def cell(one: Comparison | None) -> str:
    """Bold where the peer is faster, in parentheses where nothing is decided."""
    if one is None:
        return "–"
    if not one.ranked:
        return NOT_RANKED
    if told := next((words for flag, words in UNCONTROLLED.items() if flag in one.flags), ""):
        return told
    if lost(one):
        return f"**{one.times}**"
    return one.times if one.bare or one.verdict == stats.IMPROVED else f"({one.times})"


def name_of(line: Line, many: bool) -> str:
    (scenario, params, placement), ours, metric = line
    what = "" if metric.what == metrics.THROUGHPUT[0].what else metric.what
    place = "" if placement == "free" else "all on one CPU"
    return " · ".join(filter(None, (ours if many else "", f"`{scenario}`", comparing.words_of(params), place, what)))


def left_out(found: Iterable[Comparison]) -> str:
    """The greatest share of pairs that a ranked comparison of the line left out."""
    flags = [flag for one in found if one.ranked for flag in one.flags if flag.startswith("pairs_dropped=")]
    shares = [tuple(map(int, flag.split("=")[1].split("/"))) for flag in flags]
    return " · at most {} of {} pairs left out".format(*max(shares, key=lambda s: s[0] / s[1])) if shares else ""


def of(comparisons: list[Comparison], measured: list[dict[str, str]]) -> list[str]:
    """The lines of the table, from a race's comparisons and its rows; none where nothing was compared."""
    found = lines_of(comparisons)
    if not found:
        return []
    peers = sorted({peer for one in found.values() for peer in one})
    ours = sorted({line[1] for line in found})
    rows = []
    for line in listed(found):
        name = f"{name_of(line, len(ours) > 1)}{left_out(found[line].values())}"
        rows.append([name, *(cell(found[line].get(peer)) for peer in peers)])
    return [LEGEND.format(in_prose(ours)), "", *markdown(["scenario", *peers], rows), *bare_table(comparisons, measured, [*ours, *peers])]


def bare_table(comparisons: list[Comparison], measured: list[dict[str, str]], subjects: list[str]) -> list[str]:
    """Everybody over each floor."""
    found, rows = lines_of(comparisons, bare=True), []
    for line in sorted(found, key=order):
        median = human(comparing.bare_median(measured, next(iter(found[line].values()))))
        rows.append([name_of(line, False), f"{line[1]}: {median}", *(cell(found[line].get(name)) for name in subjects)])
    return ["", BARE, "", *markdown(["scenario", "floor", *subjects], rows)] if rows else []
