"""The table of a race: a row for each point and metric, a column for each peer; for summary.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

from ..base import stats
from ..base.say import human
from ..race import metrics, scenarios
from . import comparing

# Of several percentiles the median and the deepest are shown, and each at which a peer wins.
DEEPER = ("lat_p50_ns", "lat_p90_ns", "lat_p99_ns")
NOT_RANKED, CONTROL_FAILED = "not ranked", "A/A differs"


@dataclass(frozen=True)
class Line:
    """A row of the table: one point by one metric, for one of ours."""

    scenario: str
    params: str
    placement: str
    metric: str
    ours: str


def kind(row: dict[str, str]) -> str:
    """control, bare, or nothing where the other is a peer."""
    return next((flag for flag in row["flags"].split(";") if flag in ("control", "bare")), "")


def lines_of(
    rows: list[dict[str, str]], wanted: str = "", ours: str = "candidate", other: str = "baseline"
) -> dict[Line, dict[str, dict[str, str]]]:
    """Line -> peer -> its row of compare.csv; of latencies those of DEEPER stay."""
    out: dict[Line, dict[str, dict[str, str]]] = {}
    for row in rows:
        if kind(row) == wanted:
            key = (row[name] for name in ("scenario", "scenario_params", "placement", "metric", ours))
            out.setdefault(Line(*key), {})[row[other]] = row
    deepest: dict[tuple, str] = {}
    for line in out:
        if line.metric in DEEPER:
            deepest[place_of(line)] = max(deepest.get(place_of(line), ""), line.metric)
    shown = {(*place, metric) for place, metric in deepest.items()} | {(*place, DEEPER[0]) for place in deepest}
    return {
        line: found
        for line, found in out.items()
        if line.metric not in DEEPER or (*place_of(line), line.metric) in shown or any(map(lost, found.values()))
    }


def order(line: Line) -> tuple:
    known = list(scenarios.SCENARIOS)
    place = known.index(line.scenario) if line.scenario in known else len(known)
    words = line.params.replace("=", ";").split(";")
    sortable = [(False, int(word)) if word.isdigit() else (True, word) for word in words]
    metrics = [metric.column for metric in scenarios.METRICS]
    return place, sortable, line.placement, metrics.index(line.metric) if line.metric in metrics else len(metrics)


def place_of(line: Line) -> tuple[str, str, str, str]:
    return line.scenario, line.params, line.placement, line.ours


def lost(row: dict[str, str]) -> bool:
    return row["verdict"] == stats.REGRESSED


def listed(found: dict[Line, dict[str, dict[str, str]]]) -> list[Line]:
    """The points where a peer wins first; what a latency costs stands below it."""
    beaten = {place_of(line) for line, at in found.items() if any(map(lost, at.values()))}
    return sorted(found, key=lambda line: (place_of(line) not in beaten, order(line)))


def figure(row: dict[str, str]) -> str:
    values = [float(row[name]) for name in ("ratio", "ci_lo", "ci_hi")]
    return stats.ratio_text(*values)


def cell(row: dict[str, str] | None) -> str:
    """Bold where the peer is faster, in parentheses where nothing is decided."""
    if row is None:
        return "–"
    flags = row["flags"].split(";")
    if "not_ranked" in flags:
        return NOT_RANKED
    if "control_failed" in flags:
        return CONTROL_FAILED
    if "bare" in flags:
        return figure(row)
    if lost(row):
        return f"**{figure(row)}**"
    return figure(row) if row["verdict"] == stats.IMPROVED else f"({figure(row)})"


def name_of(line: Line, many: bool) -> str:
    words = line.params.replace("=", " ").replace(";", ", ")
    known = scenarios.SCENARIOS[line.scenario].metrics_at(line.placement) if line.scenario in scenarios.SCENARIOS else ()
    found = next((m.what for m in known if m.column == line.metric), line.metric)
    metric = "" if found == metrics.THROUGHPUT[0].what else found
    place = "" if line.placement == "free" else "all on one CPU"
    return " · ".join(filter(None, (line.ours if many else "", f"`{line.scenario}`", words, place, metric)))


def left_out(rows: Iterable[dict[str, str]]) -> str:
    """The greatest share of pairs that a ranked comparison of the line left out."""
    flags = [row["flags"].split(";") for row in rows if "not_ranked" not in row["flags"].split(";")]
    shares = [tuple(map(int, f.split("=")[1].split("/"))) for own in flags for f in own if f.startswith("pairs_dropped=")]
    return " · at most {} of {} pairs left out".format(*max(shares, key=lambda s: s[0] / s[1])) if shares else ""


def of(rows: list[dict[str, str]], measured: list[dict[str, str]]) -> list[str]:
    """The lines of the table, from the rows of compare.csv and of rows.csv; none where nothing was compared."""
    found = lines_of(rows)
    if not found:
        return []
    peers = sorted({peer for one in found.values() for peer in one})
    many = len({line.ours for line in found}) > 1
    ours = " and ".join(sorted({line.ours for line in found}))
    out = [
        f"Time of {ours} over that of the other, with 95 % intervals: below 1, {ours} is faster, or spends less where the "
        "line is one of processor time. (A runtime that spins is quick and costs a processor: read both lines.) Bold: the "
        "other is faster, or spends less; in parentheses: undecided, or equal within the margin; “–”: the other cannot express it; “not "
        "ranked”: the injector was too late in more than half of the pairs; where it was in fewer, they are left "
        "out and counted.",
        "",
        f"| scenario | {' | '.join(peers)} |",
        "|---" * (len(peers) + 1) + "|",
    ]
    for line in listed(found):
        cells = " | ".join(cell(found[line].get(peer)) for peer in peers)
        out.append(f"| {name_of(line, many)}{left_out(found[line].values())} | {cells} |")
    return out + bare_table(rows, measured, [*sorted({line.ours for line in found}), *peers])


def bare_table(rows: list[dict[str, str]], measured: list[dict[str, str]], subjects: list[str]) -> list[str]:
    """Everybody over the bare control."""
    found = lines_of(rows, "bare", "baseline", "candidate")
    if not found:
        return []
    out = [
        "",
        "**How far from the bare machine.** The same work done by threads that have no scheduler, where a scenario "
        "has such a control (METHODOLOGY, “The bare control”): its median, and the time of each program over its "
        "time, in the same rounds.",
        "",
        f"| scenario | bare control | {' | '.join(subjects)} |",
        "|---" * (len(subjects) + 2) + "|",
    ]
    for line in sorted(found, key=order):
        metric = next(m for m in scenarios.METRICS if m.column == line.metric)
        median = human(comparing.bare_median(measured, (line.scenario, line.params, line.placement), metric))
        cells = (cell(found[line].get(name)) for name in subjects)
        out.append(f"| {name_of(line, False)} | {median} | {' | '.join(cells)} |")
    return out
