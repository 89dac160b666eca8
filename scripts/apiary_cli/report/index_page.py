"""results/index.html: what lies in results/, each with its verdict; ready for static hosting."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ..analysis import comparing, summary
from ..base import repo
from ..base.errors import Fault
from ..race import folder as folders
from .page_script import SCRIPT
from .shell import shell
from .svg import escape

KIND = {comparing.VALID: "good", comparing.INVALID: "bad"}


class Entry(NamedTuple):
    name: str
    page: str  # to open; empty: there is none
    what: str
    rounds: str
    commit: str
    machine: str
    word: str  # its verdict
    why: str


def of_race(folder: Path) -> Entry:
    """Of a folder that a race, a qualification or a sweep left. What cannot be read is listed with the reason."""
    page = next((name for name in ("report.html", "summary.md") if (folder / name).exists()), "")
    try:
        env, _, comparisons = summary.load(folder)
    except Fault as fault:
        return Entry(folder.name, page, "", "", "", "", "unreadable", fault.cause or fault.seen)
    race, machine, found = env["race"], env.get("machine", {}), comparing.validity(comparisons)
    why = "; ".join(found.reasons[:1]) + (f"; and {len(found.reasons) - 1} more" if len(found.reasons) > 1 else "")
    return Entry(
        folder.name, page, str(race.get("command") or f"plan {race.get('plan')}"), summary.rounds_line(race),
        str(race.get("commit", ""))[:12] + (" with changes" if race.get("dirty") else ""),
        f"{machine.get('cpu', 'unknown CPU')}, {machine.get('cpus', '?')} CPUs", found.word, why,
    )


def entries(results: Path) -> list[Entry]:
    """The newest first."""
    found = (one.parent for one in results.glob("*/env.json") if not one.parent.name.endswith(folders.UNFINISHED))
    return [of_race(folder) for folder in sorted(found, key=lambda one: one.name, reverse=True)]


def row(one: Entry) -> str:
    name = f'<a href="{escape(one.name)}/{one.page}">{escape(one.name)}</a>' if one.page else escape(one.name)
    verdict = f'<span class="badge {KIND.get(one.word, "note")}">{escape(one.word)}</span> <span class=soft>{escape(one.why)}</span>'
    cells = (name, verdict, f"<code>{escape(one.what)}</code>", escape(one.rounds), f"<code>{escape(one.commit)}</code>", escape(one.machine))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def render(results: Path) -> str:
    found = entries(results)
    head = "".join(f"<th>{name}</th>" for name in ("folder", "batch", "command", "rounds", "commit", "machine"))
    table = (
        f'<div class=scroll><input type="search" data-filter placeholder="filter"><table class="sorts"><thead><tr>{head}</tr></thead>'
        f'<tbody>{"".join(map(row, found))}</tbody></table></div>'
        if found
        else "<p>No race has left a folder here yet: <code>scripts/apiary race --quick</code> makes one.</p>"
    )
    counted = f"{len(found)} folders; only a batch that calls itself VALID decides anything." if found else ""
    return shell("Apiary: results", f'<h1>Results</h1><p class="meta">{counted}</p>{table}', script=SCRIPT)


def write() -> Path:
    path = repo.RESULTS / "index.html"
    path.write_text(render(repo.RESULTS))
    return path
