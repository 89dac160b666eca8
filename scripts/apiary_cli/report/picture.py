"""The answer as a drawing for a page of this repository: scenarios down, runtimes across; one for light pages, one for dark."""

from __future__ import annotations

import os
import textwrap
from collections import defaultdict
from pathlib import Path

from ..base import repo, stats
from ..base.say import in_prose
from ..race import scenarios, tables
from ..analysis import comparing
from . import html, page_matrix
from .page_data import Report

THEMES = ("light", "dark")
LEFT, WIDE, LETTER = 176, 130, 6.4  # the width of the first column, at least; of another; of a letter, at most
CAPTION = (
    "From the least to the greatest ratio of a scenario's points; below 1, {0} is faster, or spends less. A cell goes by one figure of "
    "each point: processor time on one CPU, the median of a latency, else the time; summary.md has the other percentiles and processor "
    "times. + faster at one point at least and slower at none; − slower at one; = no difference beyond the margin; ? undecided. "
    "Empty: the other cannot express it."
)
COLOURS = {
    "light": {"ink": "#22231f", "soft": "#66665e", "rule": "#dedbd1", "good": "#2c7a4b", "bad": "#b3261e", "open": "#66665e",
              "good_fill": "#e2efe6", "bad_fill": "#f7dedc", "open_fill": "#f1efe8"},
    "dark": {"ink": "#e6e4dd", "soft": "#a09e95", "rule": "#35363a", "good": "#6fc48f", "bad": "#ff8a7f", "open": "#a09e95",
             "good_fill": "#1f3327", "bad_fill": "#452523", "open_fill": "#26282b"},
}


def cell(found: list) -> dict | None:
    """The comparisons of a scenario with one runtime, by the metric that it is known by: worst first, and from which to which."""
    if not found:
        return None
    signs = {kind: mark for mark, kind in map(page_matrix.sign, reversed(found))}
    kind = next(kind for kind in ("bad", "good", "open") if kind in signs)
    ratios = sorted(one.found.ratio for one in found)
    ends = dict.fromkeys(stats.ratio_text(ratio) for ratio in (ratios[0], ratios[-1]))
    return {"kind": kind, "text": f"{signs[kind]} ×{'–'.join(ends)}"}


def row_of(key: comparing.Key) -> str:
    """The scenario, and its parameters that are words: the pattern of a graph makes another scenario of it."""
    given = tables.params_of(key[1])
    return " ".join([key[0], *(given[name] for name in scenarios.SCENARIOS[key[0]].words if name in given)])


def view(report: Report, ours: list[str]) -> dict:
    """What these of ours say; where they are several, each has rows of its own."""
    by: dict[tuple[str, str, str], dict[str, list]] = defaultdict(lambda: defaultdict(list))
    for (key, own), others in page_matrix.grouped(report).items():
        for other, found in others.items():
            if own in ours:
                by[key[0], row_of(key), own][other].append(found[0])
    names, known = sorted({other for found in by.values() for other in found}), list(scenarios.SCENARIOS)
    rows = []
    for row in sorted(by, key=lambda row: (known.index(row[0]), row)):
        _, name, own = row
        rows.append((f"{own}: {name}" if len(ours) > 1 else name, [cell(by[row].get(other)) for other in names]))
    head = f"time of {in_prose(ours)} over that of"
    left = max(LEFT, *(round(LETTER * len(name)) + 12 for name in (head, *(name for name, _ in rows))))
    width = left + WIDE * len(names)
    notes = textwrap.wrap(CAPTION.format(in_prose(ours)), int(width / LETTER))
    return {"ours": in_prose(ours), "head": head, "others": names, "rows": rows, "left": left, "wide": WIDE, "width": width, "notes": notes}


def write(report: Report, ours: list[str]) -> None:
    told = view(report, ours)
    for theme in THEMES:
        repo.write_text(report.folder / file(theme, ours, report.ours), html.render("matrix.svg", c=COLOURS[theme], **told))


def file(theme: str, ours: list[str], every: list[str]) -> str:
    """One that shows some of ours alone bears their names."""
    some = [] if set(ours) == set(every) else ours
    return "-".join(["matrix", *some, *(["dark"] if theme == "dark" else [])]) + ".svg"


def seen_from(page: Path, folder: Path) -> str:
    """The way from a page to a result folder, as its links need it."""
    return os.path.relpath(folder.resolve(), page.resolve().parent)


def reference(folder: Path, page: Path, ours: list[str], every: list[str]) -> list[str]:
    """What a page shows it by: the dark one where the reader's pages are dark."""
    light, dark = (f"{seen_from(page, folder)}/{file(theme, ours, every)}" for theme in THEMES)
    return [
        '<picture><source media="(prefers-color-scheme: dark)"', f'srcset="{dark}"><img alt="ratio by scenario and runtime"',
        f'src="{light}"></picture>',
    ]
