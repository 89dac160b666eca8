"""report.html: one self-contained file, made from the CSVs of a result folder."""

from __future__ import annotations

from pathlib import Path

from ..analysis import comparing, summary
from . import page_curves as curves, page_data, page_notes as notes, page_sections as sections
from .page_data import Report
from .page_style import CSS
from .svg import escape

MOST_NAMES = 5  # in the title


def title(report: Report) -> str:
    ours, peers = " and ".join(report.ours) or "Subjects", ", ".join(sorted(report.peers))
    if len(report.peers) > MOST_NAMES:
        peers = f"{len(report.peers)} others"
    return f"{ours} against {peers}" if report.ours and peers else ", ".join([*report.ours, *sorted(report.peers)])


def subtitle(report: Report) -> str:
    race, machine = report.race, report.env.get("machine", {})
    dirty = " with uncommitted changes" if race.get("dirty") else ""
    return (
        f"{report.env['run_id']} · plan {race.get('plan')}, {summary.rounds_line(race)} · "
        f"{race.get('workers')} workers · {machine.get('cpu', 'unknown CPU')}, {machine.get('cpus', '?')} CPUs "
        f"({'virtual' if machine.get('hypervisor') not in (None, 'none seen') else 'bare metal'}) · "
        f"commit {str(race.get('commit', 'none'))[:12]}{dirty}"
    )


def render(folder: Path) -> str:
    """The whole page."""
    report = page_data.load(folder)
    points = sorted({comparing.key_of(row) for row in report.rows})
    body = [
        f"<h1>{escape(title(report))}</h1>",
        f'<p class="meta">{escape(subtitle(report))}</p>',
        sections.findings(report),
        sections.standing(report),
        sections.strip(report),
        sections.failures(report),
        sections.who_wins(report),
        sections.bare(report),
        sections.costs(report),
        sections.forest(report),
        sections.missing(report),
        sections.medians(report),
        *(sections.scenario(report, key) for key in points),
        curves.load_curves(report),
        curves.scaling(report),
        curves.stability(report),
        curves.per_task(report),
        curves.figures(report),
        curves.exact_counts(report),
        sections.unpaired(report),
        notes.verification(report),
        notes.environment(report),
        notes.reading(report),
        notes.commands(report, points),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title(report))}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )
