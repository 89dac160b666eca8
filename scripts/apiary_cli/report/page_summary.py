"""summary.md: the same report as the page, as text."""

from __future__ import annotations

from ..analysis import matrix, metg, peer_summary, summary, units
from . import page_sections as sections
from .html import render
from .page_data import Report

RACE = dict.fromkeys(("command", "commit"), "") | dict.fromkeys(("plan", "rounds", "dirty"))  # of an old folder


def markdown(report: Report) -> str:
    """One page: what the batch says against itself first, the tables last."""

    def bullets(*lines: str) -> list[str]:
        return [f"- {line}" for line in lines if line]

    rows, comparisons = report.rows, report.comparisons
    stood = peer_summary.of(comparisons)
    counted = [peer_summary.legend(stood), "", *peer_summary.table(stood)] if report.claims else ["nothing was compared"]
    proofs = (f"{status.name}: {status.text}" for status in report.statuses)
    controls = (line.strip() for line in summary.control_lines(report.validity))
    told = (summary.disturbance_line(rows), summary.rounds_line(report.race), *summary.trust_lines(report.race))
    parts = [
        ("Findings", bullets(*(one.line for one in report.findings))),
        ("Against each peer", counted),
        ("Losses", bullets(*peer_summary.losses(comparisons))),
        ("How far from the bare machine", bullets(*summary.bare_lines(rows, comparisons))),
        ("Time of a fork, a node, a message, a task", units.table(rows)),
        ("The smallest task at half of the peak", metg.table(rows)),
        ("May it be believed", bullets(*controls, *proofs, *told)),
        ("What has no figure", bullets(*summary.missing(report.env, rows))),
        ("What went wrong", bullets(*sections.failures(report))),
        ("Point by point", matrix.of(comparisons, rows)),
        ("Comparisons", summary.comparison_table(comparisons)),
    ]
    tried = summary.try_line(report.race)
    return render("summary.md", env=report.env, race=RACE | report.race, workers=summary.workers_line(rows), batch=report.validity.word,
                  tried=tried, sections=parts)
