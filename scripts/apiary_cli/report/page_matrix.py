"""The answer before any word: points down, the other programs across, a ratio in each cell; for report.html and the picture."""

from __future__ import annotations

from collections import defaultdict

from ..base import stats
from ..base.say import in_prose
from ..race import metrics, scenarios
from ..analysis import comparing, matrix
from ..analysis.comparing import Comparison
from .page_data import Report

# A sign beside the colour: what is read in grey, in print, and by those who do not tell red from green.
SIGNS = {
    stats.IMPROVED: ("+", "good"),
    stats.REGRESSED: ("−", "bad"),
    stats.EQUIVALENT: ("=", "open"),
    stats.INCONCLUSIVE: ("?", "open"),
}
NOT_RANKED = ("·", "open")
SHORT = {"lat_p50_ns": "p50", "lat_p90_ns": "p90", "lat_p99_ns": "p99", "lat_p999_ns": "p99.9", "ns_per_op": "time"} | dict.fromkeys(
    ("cpu_ns_per_post", "cpu_ns_per_timer", "cpu_ns_per_request", "cpu_ns_per_op"), "processor"
)


def sign(one: Comparison) -> tuple[str, str]:
    return NOT_RANKED if "not_ranked" in one.flags else SIGNS[one.verdict]


def words(one: Comparison) -> str:
    return f"{one.metric.what}: ×{one.times}, {one.verdict}"


def cell(found: list[Comparison] | None) -> dict | None:
    """The metric that the scenario is known by in full; of the others those that say otherwise, by their sign."""
    if not found:
        return None
    first, *others = found
    mark, kind = sign(first)
    ratio, interval = first.times.split(" ", 1)
    further = [(SHORT.get(one.metric.column, one.metric.column), *sign(one), words(one)) for one in others if sign(one)[1] != kind]
    title = "\n".join(map(words, found))
    return {"sign": mark, "kind": kind, "ratio": ratio, "interval": interval, "further": further, "title": title}


def grouped(report: Report) -> dict[tuple[comparing.Key, str], dict[str, list[Comparison]]]:
    """(point, ours) -> the other -> its comparisons, the metric that the scenario is known by first."""
    out: dict[tuple[comparing.Key, str], dict[str, list[Comparison]]] = defaultdict(lambda: defaultdict(list))
    for one in report.claims:  # which stand in this order
        out[one.key, one.ours][one.other].append(one)
    return out


def view(report: Report) -> dict | None:
    """Nothing where nothing was compared."""
    found = grouped(report)
    if not found:
        return None
    others = sorted({name for row in found.values() for name in row})
    ours = list(dict.fromkeys(name for _, name in found))
    rows, last = [], None
    for key, own in sorted(found, key=lambda one: (matrix.place_order(one[0]), one[1])):
        said = (own if len(ours) > 1 else "", comparing.words_of(key[1]), "" if key[2] == "free" else "one CPU")
        what = scenarios.known_by(key[0], key[2]).what
        words = (", ".join(filter(None, said)), "" if what == metrics.THROUGHPUT[0].what else what)
        rows.append({"scenario": key[0], "first": key[0] != last, "said": " · ".join(filter(None, words)),
                     "cells": [cell(found[key, own].get(other)) for other in others]})
        last = key[0]
    return {"ours": in_prose(ours), "others": others, "rows": rows}
