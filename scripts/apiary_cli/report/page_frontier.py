"""Latency against its price: points that differ in idle_cpu alone, for report.html, frontier.csv and the drawing of the hive's pages."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..analysis import comparing
from ..base import repo
from ..base.say import human
from ..race import tables
from . import panels, svg
from .html import macro, place, raw
from .page_data import Cell, Report
from .page_sections import keys

BUDGET, PRICE = "idle_cpu", "cpu_ns_per_post"
LATENCIES = ("lat_p50_ns", "lat_p99_ns")
DRAWING = repo.RESULTS / "frontier.svg"
NARROW = repo.RESULTS / "frontier-narrow.svg"  # the same for a narrow screen: one panel below the other
COLUMNS = ["scenario", "scenario_params", "placement", "subject", BUDGET, "rounds", PRICE, *LATENCIES, "limited"]


@dataclass(frozen=True)
class Step:
    """A subject at one budget: hundredths of a processor that it may spend on looking for work."""

    budget: int
    of: dict[str, Cell]  # by metric

    def mark(self, column: str) -> svg.Mark:
        at, price = self.of[column], self.of[PRICE]
        return svg.Mark(float(f"{price.median:.3g}"), at.median, at.low, at.high, at.limited)


def frontiers(report: Report) -> dict[comparing.Key, dict[str, list[Step]]]:
    """By the place without its budget, then by subject: its steps, the cheapest first. A place with one budget has none."""
    found: dict[comparing.Key, dict[tuple[str, int], dict[str, Cell]]] = defaultdict(lambda: defaultdict(dict))
    for cell in report.cells:
        params = tables.params_of(cell.key[1])
        budget = params.pop(BUDGET, "")
        if budget:
            found[cell.key[0], tables.params_text(params), cell.key[2]][cell.subject, int(budget)][cell.metric.column] = cell
    out = {}
    for key, cells in sorted(found.items()):
        steps: dict[str, list[Step]] = defaultdict(list)
        for (subject, budget), of in sorted(cells.items(), key=lambda one: (report.rank(one[0][0]), one[0][1])):
            if all(column in of for column in (PRICE, LATENCIES[0])):
                steps[subject].append(Step(budget, of))
        if len({budget for _, budget in cells}) > 1 and steps:
            out[key] = {name: sorted(one, key=lambda step: (step.of[PRICE].median, step.budget)) for name, one in steps.items()}
    return out


def rows(report: Report) -> list[dict[str, str]]:
    """Of frontier.csv: medians over the rounds."""
    return [
        {"scenario": key[0], "scenario_params": key[1], "placement": key[2], "subject": subject, BUDGET: str(step.budget),
         "rounds": str(step.of[PRICE].n), "limited": str(int(step.of[LATENCIES[0]].limited))}
        | {column: f"{step.of[column].median:.1f}" if column in step.of else "" for column in (PRICE, *LATENCIES)}
        for key, by in frontiers(report).items() for subject, steps in by.items() for step in sorted(steps, key=lambda s: s.budget)
    ]


def write(report: Report, folder: Path) -> None:
    """frontier.csv, where something was measured at several budgets."""
    told = rows(report)
    if told:
        tables.write(folder / "frontier.csv", COLUMNS, told)


def load(key: comparing.Key) -> str:
    params = tables.params_of(key[1])
    return f"{int(params['rate']):,} posts a second" if "rate" in params else place(key)


def picture(report: Report, across: int = panels.ACROSS) -> str:
    """The 99th percentile by price: a panel for each load, the lightest first. Nothing where nothing was measured at several budgets."""
    loads = sorted(frontiers(report).items(), key=lambda one: int(tables.params_of(one[0][1]).get("rate", 0)))
    points = [panels.Point(load(key), who, step.of[PRICE].median, step.of[LATENCIES[1]].median,
                           f"{who} at {step.budget} %: {human(step.of[LATENCIES[1]].median)} for {human(step.of[PRICE].median)}")
              for key, by in loads for who, steps in by.items() for step in steps if LATENCIES[1] in step.of]
    note = "99th percentile of the latency of a post, by the processor time that a post costs: left and low is better; medians over rounds"
    return panels.drawn(points, note, "latency of a post against its price in processor time", across=across) if points else ""


def reference(report: Report, page: Path) -> str:
    """What a page shows the drawing by; nothing where there is none."""
    wide, narrow = (os.path.relpath(one, page.resolve().parent) for one in (DRAWING, NARROW))
    return (f'<picture><source media="(max-width: 600px)" srcset="{narrow}"><img\nalt="the 99th percentile of each runtime by the price of a post"'
            f'\nsrc="{wide}"></picture>') if picture(report) else ""


def draw(report: Report) -> None:
    for file, across in ((DRAWING, panels.ACROSS), (NARROW, 1)):
        if told := picture(report, across):
            repo.write_text(file, told)


def frontier(report: Report) -> str:
    """A drawing for each percentile, and the figures."""
    out = raw("")
    for key, by in frontiers(report).items():
        drawn = []
        for column, name in zip(LATENCIES, ("p50", "p99")):
            lines = {who: [step.mark(column) for step in steps if column in step.of] for who, steps in by.items()}
            lines = {who: marks for who, marks in lines.items() if marks}
            if lines:
                title = f"{name} against processor time per post"
                drawn.append(macro("figure", title, raw(svg.xy_chart(lines, report.colours, title, "ns of processor time per post"))))
        table = [[who, f"{step.budget} %", human(step.of[PRICE].median),
                  *(human(step.of[column].median) if column in step.of else "" for column in LATENCIES)]
                 for who, steps in by.items() for step in sorted(steps, key=lambda s: s.budget)]
        out += macro("frontier", place(key), keys(report, by), drawn, table)
    return out
