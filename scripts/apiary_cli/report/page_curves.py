"""Sections of report.html that look across points: latency against load, scaling, stability, exact counts."""

from __future__ import annotations

from collections import defaultdict
from typing import Callable

from ..base import stats
from ..base.say import human
from ..race import scenarios, tables
from ..race.scenarios import SCENARIOS
from ..analysis import comparing, metg
from . import svg
from .html import macro, place, raw
from .page_data import Cell, Report
from .page_sections import keys

LEAST_POINTS = 3  # fewer are no curve
By = dict[str, list[tuple[float, Cell]]]  # subject -> (value of what varies, cell)


def families(report: Report, varied: str, column: str) -> dict[comparing.Key, By]:
    """Points that differ in one parameter alone, by one metric."""
    out: dict[comparing.Key, By] = defaultdict(lambda: defaultdict(list))
    for cell in report.cells:
        params = tables.params_of(cell.key[1])
        value = params.pop(varied, str(report.race.get("workers", "")) if varied == "workers" else "")
        if value and cell.metric.column == column:
            out[cell.key[0], tables.params_text(params), cell.key[2]][cell.subject].append((float(value), cell))
    for found in out.values():
        for points in found.values():
            points.sort(key=lambda point: point[0])
    return out


def long_enough(found: By, least: int) -> bool:
    return len({x for points in found.values() for x, _ in points}) >= least


def curve(report: Report, found: By, title: str, across: str, ideal: int = 0) -> str:
    """`ideal`: the line of perfect scaling of the first program, up to so many; 0: none."""
    lines = {name: [svg.Mark(x, c.median, c.low, c.high, c.limited) for x, c in points] for name, points in found.items()}
    first = next(iter(lines.values()))[0]
    reach = [x for x in sorted({mark.x for marks in lines.values() for mark in marks}) if x <= ideal]
    if len(reach) > 1:
        lines["ideal"] = [svg.Mark(x, first.value * first.x / x) for x in reach]
    return macro("figure", title, raw(svg.xy_chart(lines, report.colours | {"ideal": "ideal"}, title, across)))


def load_curves(report: Report) -> str:
    """Percentiles against offered load, where a scenario was measured at several rates."""
    out, p99 = raw(""), families(report, "rate", "lat_p99_ns")
    for key, middle in sorted(families(report, "rate", "lat_p50_ns").items()):
        named = [("p50 against offered load", middle), ("p99 against offered load", p99.get(key, {}))]
        drawn = [curve(report, found, name, "posts per second") for name, found in named if long_enough(found, LEAST_POINTS)]
        out += macro("load", place(key), keys(report, middle), drawn) if long_enough(middle, LEAST_POINTS) else ""
    return out


def scaling(report: Report) -> str:
    """Time per task by number of workers; the line of perfect scaling ends where the processors do."""
    out, cpus = raw(""), report.env.get("machine", {}).get("cpus", 0)
    for key, found in sorted(families(report, "workers", "ns_per_op").items()):
        if long_enough(found, 2):
            what = SCENARIOS[key[0]].metrics[0].what
            drawn = curve(report, found, f"{what} against workers", "workers", ideal=int(cpus or 0))
            out += macro("scaling", place(key), keys(report, found), drawn, cpus)
    return out


def granularity(report: Report) -> str:
    """Efficiency by the length of tasks, where a graph was raced at several: METG(50 %) is where a line crosses the dotted one."""
    out, title = raw(""), "efficiency against granularity: the floor's time of a task over wall time times workers"
    for graph, by in metg.curves(report.rows).items():
        lines = {name: [svg.Mark(float(f"{x:.3g}"), 100 * share) for x, share in points] for name, points in by.items()}
        ends = sorted(mark.x for marks in lines.values() for mark in marks)
        lines["half"] = [svg.Mark(x, 50.0) for x in (ends[0], ends[-1])]
        colours = report.colours | {"half": "ideal"}
        drawn = svg.xy_chart(lines, colours, title, "ns a task", said=lambda share: f"{share:.3g} %")
        told = ", ".join(f"{name} {metg.crossing(points)}" for name, points in by.items())
        out += macro("granularity", graph, keys(report, by), macro("figure", title, raw(drawn)), told)
    return out


def stability(report: Report) -> str:
    """How much each arm differs from itself between processes."""
    steady: dict[tuple, list[str]] = defaultdict(list)
    for row in comparing.good(report.rows):
        steady[comparing.key_of(row), row["subject"]].append(row["steady"])
    rows = []
    for cell in report.medians(report.rows):
        values = [value for _, value in cell.series]
        if len(values) >= 3 and cell.metric == scenarios.known_by(cell.key[0], cell.key[2]):
            unsteady = steady[cell.key, cell.subject].count("0")
            rows.append([
                place(cell.key), cell.subject, f"{100 * stats.coefficient_of_variation(values):.1f} %",
                f"{human(min(values))} – {human(max(values))}", stats.modes(values), f"{unsteady} of {len(values)}",
            ])
    return macro("stability", rows)


def per_task(report: Report) -> str:
    """Wakes and context switches per task, where the counts of the whole process are those of the tasks."""
    groups: dict[tuple, list[dict[str, str]]] = defaultdict(list)
    for row in comparing.good(report.rows):
        whole = row["blocks"] == "1" and row["warmup_blocks"] in ("", "0") and row["ops"] not in ("", "0")
        if whole and row["row_kind"] == "measure":
            groups[comparing.key_of(row), report.rank(row["subject"])].append(row)

    def each(rows: list[dict[str, str]], column: str) -> str:
        values = [float(row[column]) / float(row["ops"]) for row in rows if row[column]]
        return f"{stats.median(values):.2f}" if values else ""

    return macro("per_task", [
        [place(key), name, *(each(found, column) for column in ("wakes", "nvcsw", "nivcsw"))]
        for (key, (_, name)), found in sorted(groups.items())
    ])


# What a scenario measures beside what is compared: flag -> its words, and how one is written. Of the columns, where tasks
# wait for tasks, the memory.
FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "compute_lost_ppm": ("compute throughput lost to the posts", lambda ppm: f"{ppm / 1e4:.1f} %"),
    "starved_ppm": ("posts that ran only when the other tasks had ended", lambda ppm: f"{ppm / 1e4:.1f} %"),
    "idle_switches": ("context switches while idle", lambda n: f"{n:.0f}"),
    "lat_mean_ns": ("mean time until the first task ran elsewhere, where one did", human),
    "bytes_each": ("bytes of memory for each that waits", lambda n: f"{n:.0f}"),
    "maxrss_kib": ("memory of the process at its most", lambda kib: f"{kib / 1024:.1f} MiB"),
    "elsewhere_ppm": ("tasks that another thread than the root's ran", lambda ppm: f"{ppm / 1e4:.1f} %"),
}


def figures_of(row: dict[str, str]) -> dict[str, float]:
    """Those that a row tells."""
    flags = dict(flag.partition("=")[::2] for flag in row["flags"].split(";"))
    forks = row["scenario"] in SCENARIOS and SCENARIOS[row["scenario"]].answer_first
    if forks and row["maxrss_kib"]:
        flags["maxrss_kib"] = row["maxrss_kib"]
    return {name: float(flags[name]) for name in FIGURES if flags.get(name)}


def figures(report: Report) -> str:
    """What scenarios say in `flags` beside their columns."""
    groups: dict[tuple, list[float]] = defaultdict(list)
    blocks: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])  # those in which a task ran elsewhere, and all
    for row in comparing.good(report.rows):
        if row["row_kind"] == "measure":
            at = comparing.key_of(row), report.rank(row["subject"])
            for name, value in figures_of(row).items():
                groups[at[0], name, at[1]].append(value)
            blocks[at][0] += int(row["lat_count"] or 0)
            blocks[at][1] += int(row["blocks"] or 0)
    rows = []
    for (key, name, subject), values in sorted(groups.items()):
        words, write = FIGURES[name]
        words += " ({} of {} blocks)".format(*blocks[key, subject]) if name == "lat_mean_ns" else ""
        span = f"{write(min(values))} to {write(max(values))}"
        rows.append([place(key), words, subject[1], write(stats.median(values)), span])
    return macro("figures", rows)


def exact_counts(report: Report) -> str:
    """Instructions per operation, where `apiary exact` counted them on the source that was raced."""
    record = (report.env.get("verification") or {}).get("exact") or {"figures": [], "key": ""}
    rows = [[f["driver"], f["operation"], f["count"], f"{f['per_operation']:.2f}"] for f in record["figures"]]
    return macro("exact_counts", rows, record["key"])
