"""METG(50 %), after Task Bench: the smallest task at which a runtime keeps half of the peak. Read from the points of the
scenario graph that differ in their iterations alone; the peak is the floor, the same loop by one thread without a runtime.

A task's granularity is wall time times workers over tasks, its efficiency the floor's time of a task over that. Between two
points the line is straight where both axes are logarithmic."""

from __future__ import annotations

import math
from collections import defaultdict

from ..base import stats
from ..base.say import markdown
from ..race import tables
from ..race.metrics import unit_of
from .comparing import Row, good

HALF = 0.5
Curve = list[tuple[float, float]]  # granularity, efficiency; ascending


def crossing(curve: Curve) -> str:
    """Where it comes to a half: nanoseconds, or a bound of them."""
    above = next((i for i, (_, efficiency) in enumerate(curve) if efficiency >= HALF), None)
    if above is None:
        return f"> {curve[-1][0]:.0f}"
    if above == 0:
        return f"≤ {curve[0][0]:.0f}"
    (near, low), (far, high) = curve[above - 1 : above + 1]
    share = math.log(HALF / low) / math.log(high / low)
    return f"{near * (far / near) ** share:.0f}"


def curves(rows: list[Row]) -> dict[str, dict[str, Curve]]:
    """Graph -> subject -> curve, for each graph that was raced at several lengths of its tasks."""
    found: dict[tuple, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in good(rows):
        unit = unit_of(row)
        if row["scenario"] == "graph" and row["row_kind"] == "measure" and unit:
            params = tables.params_of(row["scenario_params"])
            iterations, workers = int(params.pop("iterations", 0)), int(params.get("workers") or row["workers"])  # its own, or the race's
            graph = " ".join(f"{name} {value}" for name, value in params.items()), row["placement"]
            lanes = 1 if row["subject"] == tables.BARE else workers
            found[graph][row["subject"]][iterations].append(lanes * float(row["ns_per_op"]) / unit[1])
    out: dict[str, dict[str, Curve]] = defaultdict(dict)
    for (graph, placement), by in sorted(found.items()):
        floor = {n: stats.median(times) for n, times in by.pop(tables.BARE, {}).items()}
        for subject, times in by.items():
            each = {n: stats.median(times[n]) for n in floor.keys() & times.keys()}
            if len(each) > 1:
                name = graph if placement == "free" else f"{graph} {placement}"
                out[name][subject] = sorted((ns, floor[n] / ns) for n, ns in each.items())
    return out


def table(rows: list[Row]) -> list[str]:
    """A line for each such graph; nothing where there is none."""
    lines = {name: {one: crossing(curve) for one, curve in by.items()} for name, by in curves(rows).items()}
    subjects = sorted({subject for by in lines.values() for subject in by})
    rows = ([name, *(by.get(one, "–") for one in subjects)] for name, by in lines.items())
    return markdown(["METG(50 %), ns", *subjects], rows)
