"""Sections of report.html that look across points: latency against load, scaling, stability, exact counts."""

from __future__ import annotations

from collections import defaultdict
from typing import Callable

from ..base import stats
from ..base.say import human
from ..race import scenarios, tables
from ..analysis import comparing, metg
from . import html, page_data, svg
from .html import caption, folded, place, section, table, without
from .page_data import Cell, Report
from .page_sections import joined, keys

LEAST_POINTS = 3  # fewer are no curve


def families(report: Report, varied: str, column: str) -> dict[tuple, dict[str, list[tuple[float, Cell]]]]:
    """(scenario, other params, placement) -> subject -> (value of `varied`, cell), by one metric."""
    out: dict[tuple, dict[str, list[tuple[float, Cell]]]] = defaultdict(lambda: defaultdict(list))
    for cell in page_data.cells(report):
        value = tables.params_of(cell.key[1]).get(varied)
        if varied == "workers" and value is None:
            value = str(report.race.get("workers", ""))
        if value and cell.metric.column == column:
            key = cell.key[0], without(cell.key[1], varied), cell.key[2]
            out[key][cell.subject].append((float(value), cell))
    for found in out.values():
        for points in found.values():
            points.sort(key=lambda point: point[0])
    return out


def long_enough(found: dict[str, list[tuple[float, Cell]]], least: int) -> bool:
    return len({x for points in found.values() for x, _ in points}) >= least


def curve(report: Report, found: dict[str, list[tuple[float, Cell]]], title: str, across: str, ideal: int = 0) -> str:
    """`ideal`: the line of perfect scaling of the first program, up to so many; 0: none."""
    lines = {
        name: [svg.Mark(x, cell.median, cell.low, cell.high, cell.limited) for x, cell in points]
        for name, points in found.items()
    }
    first = next(iter(lines.values()))[0]
    reach = [x for x in sorted({mark.x for marks in lines.values() for mark in marks}) if x <= ideal]
    if len(reach) > 1:
        lines["ideal"] = [svg.Mark(x, first.value * first.x / x) for x in reach]
    return html.macro("figure", title, html.raw(svg.xy_chart(lines, report.colours | {"ideal": "ideal"}, title, across=across)))


def load_curves(report: Report) -> str:
    """Percentiles against offered load, where a scenario was measured at several rates."""
    out = ""
    p99 = families(report, "rate", "lat_p99_ns")
    for key, middle in sorted(families(report, "rate", "lat_p50_ns").items()):
        if not long_enough(middle, LEAST_POINTS):
            continue
        body = [curve(report, middle, "p50 against offered load", "posts per second")]
        if long_enough(p99.get(key, {}), LEAST_POINTS):
            body.append(curve(report, p99[key], "p99 against offered load", "posts per second"))
        names = [name for name in report.colours if name in middle]
        note = ("Medians over rounds; the upright lines are their quartiles. A hollow mark is limited by the injector and ranks "
                "nobody: no line passes through it.")
        parts = keys(report, names), html.macro("pair", body), caption(note)
        out += section(f"{place(key)}: latency against load", joined(parts))
    return out


def scaling(report: Report) -> str:
    """Time per task by number of workers; the line of perfect scaling ends where the processors do."""
    out = ""
    cpus = report.env.get("machine", {}).get("cpus", 0)
    for key, found in sorted(families(report, "workers", "ns_per_op").items()):
        if not long_enough(found, 2):
            continue
        names = [name for name in report.colours if name in found]
        what = scenarios.SCENARIOS[key[0]].metrics[0].what
        body = curve(report, found, f"{what} against workers", "workers", ideal=int(cpus or 0))
        note = (
            f"Medians over rounds, and their quartiles. Dotted: perfect scaling of the first, on {cpus} CPUs. "
            "With more workers a good scheduler stays level."
        )
        out += section(f"{place(key)}: scaling", keys(report, names) + body + caption(note))
    return out


def granularity(report: Report) -> str:
    """Efficiency by the length of tasks, where a graph was raced at several: METG(50 %) is where a line crosses the dotted one."""
    out = ""
    for graph, by in metg.curves(report.rows).items():
        lines = {name: [svg.Mark(float(f"{x:.3g}"), 100 * share) for x, share in points] for name, points in by.items()}
        ends = sorted(mark.x for marks in lines.values() for mark in marks)
        lines["half"] = [svg.Mark(x, 50.0) for x in (ends[0], ends[-1])]
        caption_of = "efficiency against granularity: the floor's time of a task over wall time times workers"
        drawn = svg.xy_chart(
            lines, report.colours | {"half": "ideal"}, caption_of, across="ns a task", said=lambda share: f"{share:.3g} %"
        )
        told = ", ".join(f"{name} {metg.crossing(points)}" for name, points in by.items())
        names = [name for name in report.colours if name in by]
        body = html.macro("figure", caption_of, html.raw(drawn))
        note = caption(f"METG(50 %), ns: {told}. Medians over rounds; dotted: a half.")
        out += section(f"{graph}: METG", keys(report, names) + body + note)
    return out


def stability(report: Report) -> str:
    """How much each arm differs from itself between processes."""
    rows = []
    steady: dict[tuple, list[str]] = defaultdict(list)
    for row in comparing.good(report.rows):
        steady[comparing.key_of(row), row["subject"]].append(row["steady"])
    for cell in page_data.cells(report, controls=True):
        values = [v for _, v in cell.series]
        if len(values) < 3 or cell.metric != page_data.first_metric(cell.key):
            continue
        unsteady = sum(word == "0" for word in steady[cell.key, cell.subject])
        rows.append(
            (
                "",
                [
                    place(cell.key),
                    cell.subject,
                    f"{100 * stats.coefficient_of_variation(values):.1f} %",
                    f"{human(min(values))} – {human(max(values))}",
                    str(stats.modes(values)),
                    f"{unsteady} of {len(values)}",
                ],
            )
        )
    if not rows:
        return ""
    head = [("point", ""), ("arm", ""), ("variation", "n"), ("range", "n"), ("modes", "n"), ("unsteady", "n")]
    note = (
        'Between the processes of one arm. Variation: standard deviation over mean. Modes: clusters '
        "with a step of 15 % between them. Unsteady: warm-up ended before two blocks agreed."
    )
    return section("Stability", caption(note) + folded(f"all {len(rows)} arms", table(head, rows, sorts=True)))


def per_task(report: Report) -> str:
    """Wakes and context switches per task, where the counts of the whole process are those of the tasks."""
    groups: dict[tuple, list[dict[str, str]]] = defaultdict(list)
    for row in comparing.good(report.rows):
        whole = row["blocks"] == "1" and row["warmup_blocks"] in ("", "0") and row["ops"] not in ("", "0")
        if whole and row["row_kind"] == "measure":
            groups[comparing.key_of(row), row["subject"]].append(row)

    def each(rows: list[dict[str, str]], column: str) -> str:
        values = [float(row[column]) / float(row["ops"]) for row in rows if row[column]]
        return f"{stats.median(values):.2f}" if values else ""

    rows = [
        ("", [place(key), name, *(each(found, column) for column in ("wakes", "nvcsw", "nivcsw"))])
        for (key, name), found in sorted(groups.items(), key=lambda one: (one[0][0], page_data.rank(report, one[0][1])))
    ]
    if not rows:
        return ""
    head = [("point", ""), ("subject", ""), ("wakes", "n"), ("gave up the CPU", "n"), ("was taken off it", "n")]
    note = (
        'Medians over rounds, of whole processes and divided by their tasks; injector and main thread '
        "included. Only where a process runs one block without warm-up. Empty: the subject does not count its wakes."
    )
    return section("Wakes and context switches for each task", caption(note) + table(head, rows))


# What a scenario measures beside what is compared: flag -> its words, and how one is written. Of the columns, where tasks
# wait for tasks, the memory.
FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "compute_lost_ppm": ("compute throughput lost to the posts", lambda ppm: f"{ppm / 1e4:.1f} %"),
    "starved_ppm": ("posts that ran only when the other tasks had ended", lambda ppm: f"{ppm / 1e4:.1f} %"),
    "idle_switches": ("context switches while idle", lambda n: f"{n:.0f}"),
    "lat_mean_ns": ("mean time until the first task ran elsewhere, where one did", lambda ns: f"{ns / 1000:.1f} us"),
    "bytes_each": ("bytes of memory for each that waits", lambda n: f"{n:.0f}"),
    "maxrss_kib": ("memory of the process at its most", lambda kib: f"{kib / 1024:.1f} MiB"),
    "elsewhere_ppm": ("tasks that another thread than the root's ran", lambda ppm: f"{ppm / 1e4:.1f} %"),
}


def figure_of(row: dict[str, str], name: str) -> float | None:
    if name == "maxrss_kib":
        forks = row["scenario"] in scenarios.SCENARIOS and scenarios.SCENARIOS[row["scenario"]].answer_first
        return float(row[name]) if forks and row[name] else None
    found = next((flag for flag in row["flags"].split(";") if flag.startswith(f"{name}=")), None)
    return float(found.partition("=")[2]) if found else None


def figures(report: Report) -> str:
    """What scenarios say in `flags` beside their columns."""
    groups: dict[tuple, list[float]] = defaultdict(list)
    blocks: dict[tuple, list[int]] = defaultdict(lambda: [0, 0])  # those in which a task ran elsewhere, and all
    for row in comparing.good(report.rows):
        for name in FIGURES if row["row_kind"] == "measure" else ():
            value, place_of = figure_of(row, name), (comparing.key_of(row), name, row["subject"])
            if value is not None:
                groups[place_of].append(value)
            if name == "lat_mean_ns":
                for n, column in enumerate(("lat_count", "blocks")):
                    blocks[place_of][n] += int(row[column] or 0)
    rows = []
    order = sorted(groups.items(), key=lambda one: (*one[0][:2], page_data.rank(report, one[0][2])))
    for (key, name, subject), values in order:
        words, write = FIGURES[name]
        if name == "lat_mean_ns":
            words += " ({} of {} blocks)".format(*blocks[key, name, subject])
        span = f"{write(min(values))} to {write(max(values))}"
        rows.append(("", [place(key), words, subject, write(stats.median(values)), span]))
    if not rows:
        return ""
    head = [("point", ""), ("what", ""), ("subject", ""), ("median", "n"), ("least to most", "n")]
    return section("What else the scenarios count", table(head, rows))


def exact_counts(report: Report) -> str:
    """Instructions per operation, where `apiary exact` counted them on the source that was raced."""
    record = (report.env.get("verification") or {}).get("exact")
    if not record:
        return ""
    rows = [("", [f["driver"], f["operation"], f["count"], f"{f['per_operation']:.2f}"]) for f in record["figures"]]
    head = [("driver", ""), ("operation", ""), ("count", ""), ("each", "n")]
    note = f"By callgrind, {record['key']}: counted, not timed, so that noise does not move them."
    return section("Exact counts", caption(note) + table(head, rows))
