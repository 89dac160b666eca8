"""What a newly published race says against the one that a scheduler's page showed before: the points that got slower, by the
ratio to the peers that both have. It lies in the folder as former.json, and stands first on the page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ..base import repo, stats
from . import compare_folders, comparing
from .compare_folders import FolderComparison
from .comparing import Row

FILE = "former.json"
SHOWN = 4


def line(one: FolderComparison) -> str:
    words = ", ".join(filter(None, (comparing.words_of(one.key[1]), "" if one.key[2] == "free" else "one CPU")))
    return f"{one.key[0]} {f'({words}) ' if words else ''}{one.metric.what} ×{stats.ratio_text(one.found.ratio, one.found.lo, one.found.hi)}"


def found(old: list[Row], new: list[Row], name: str) -> dict:
    """`name`: of the former folder. The worst first."""
    compared = [one for one in compare_folders.compare(old, new) if one.claim]
    slower = sorted((one for one in compared if one.verdict == stats.REGRESSED), key=lambda one: -one.found.ratio)
    by: dict[str, list[str]] = {}
    for one in slower:
        by.setdefault(one.subject, []).append(line(one))
    return {"schema_version": 1, "former": name, "compared": dict(Counter(one.subject for one in compared)), "slower": by}


def told(folder: Path, ours: list[str]) -> str:
    """The sentence for the page of these schedulers; nothing where there was no race before."""
    record = repo.read_json(folder / FILE)
    if not record:
        return ""
    slower = [f"{one if len(ours) == 1 else f'{name}: {one}'}" for name in ours for one in record["slower"].get(name, [])]
    more = f", and {len(slower) - SHOWN} more" if len(slower) > SHOWN else ""
    count = sum(record["compared"].get(name, 0) for name in ours)
    if not slower:
        return f"Nothing is slower than in the race before, {record['former']} ({count} comparisons)."
    return f"**Slower than before** ({record['former']}, by the ratio to the peers that both have): {'; '.join(slower[:SHOWN])}{more}."
