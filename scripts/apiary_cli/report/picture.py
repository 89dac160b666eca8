"""The answer as a drawing for a page of this repository: scenarios down, runtimes across; one for light pages, one for dark."""

from __future__ import annotations

import os
from pathlib import Path

from ..base import repo, stats
from ..race import scenarios
from ..analysis import summary
from . import html, page_matrix
from .page_data import Report

NAMES = {"light": "matrix.svg", "dark": "matrix-dark.svg"}
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
    signs = [page_matrix.sign(one) for one in found]
    kind = next((kind for kind in ("bad", "good") if kind in {k for _, k in signs}), "open")
    mark = next(mark for mark, k in signs if k == kind)
    ratios = sorted(one.found.ratio for one in found)
    ends = dict.fromkeys(stats.ratio_text(ratio) for ratio in (ratios[0], ratios[-1]))
    return {"kind": kind, "text": f"{mark} ×{'–'.join(ends)}"}


def view(report: Report) -> dict:
    by: dict[str, dict[str, list]] = {}
    for (key, _), others in page_matrix.grouped(report).items():
        for other, found in others.items():
            by.setdefault(key[0], {}).setdefault(other, []).append(found[0])
    names = sorted({other for found in by.values() for other in found})
    rows = [(name, [cell(by[name].get(other, [])) for other in names]) for name in scenarios.SCENARIOS if name in by]
    return {"ours": " and ".join(report.ours), "others": names, "rows": rows}


def write(folder: Path) -> None:
    env, rows, comparisons = summary.load(folder)
    roles = {row["subject"]: row["role"] for row in rows}
    told = view(Report(folder, env, rows, comparisons, {}, [], [], roles=roles))
    for theme, name in NAMES.items():
        repo.write_text(folder / name, html.render("matrix.svg", c=COLOURS[theme], **told))


def seen_from(page: Path, folder: Path) -> str:
    """The way from a page to a result folder, as its links need it."""
    return os.path.relpath(folder.resolve(), page.resolve().parent)


def reference(folder: Path, page: Path) -> list[str]:
    """What a page shows it by: the dark one where the reader's pages are dark."""
    where = seen_from(page, folder)
    return [
        '<picture><source media="(prefers-color-scheme: dark)"',
        f'srcset="{where}/{NAMES["dark"]}"><img alt="ratio by scenario and runtime"',
        f'src="{where}/{NAMES["light"]}"></picture>',
    ]
