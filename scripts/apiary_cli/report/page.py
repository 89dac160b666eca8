"""report.html: one self-contained file, made from the CSVs of a result folder."""

from __future__ import annotations

from ..base.say import in_prose
from ..race import scenarios
from ..analysis import comparing, summary
from . import html, page_curves as curves, page_frontier, page_matrix, page_sections as sections
from .page_data import Report

MOST_NAMES = 5  # in the title
CONTENTS = {
    "answer": "Answer",
    "losses": "Losses",
    "scenarios": "Scenarios",
    "controls": "Controls",
    "beside": "Beside the race",
    "verification": "Proofs",
    "environment": "Machine",
    "reading": "How to read",
    "again": "Measure again",
}


def title(report: Report) -> str:
    ours, peers = in_prose(report.ours) or "Subjects", ", ".join(sorted(report.peers))
    if len(report.peers) > MOST_NAMES:
        peers = f"{len(report.peers)} others"
    return f"{ours} against {peers}" if report.ours and peers else ", ".join([*report.ours, *sorted(report.peers)])


def subtitle(report: Report) -> str:
    race, machine = report.race, report.env.get("machine", {})
    return (
        f"{report.env['run_id']} · plan {race.get('plan')}, {summary.rounds_line(race)} · "
        f"{summary.workers_line(report.rows)} · {summary.machine(report.env)} "
        f"({'virtual' if machine.get('hypervisor') not in (None, 'none seen') else 'bare metal'}) · "
        f"commit {summary.commit(race)}"
    )


def counts(report: Report) -> list[tuple[str, str, int]]:
    """Beside the name of a scenario: how many comparisons it won, lost and left open."""
    found = [page_matrix.sign(one)[1] for one in report.claims]
    return [(kind, word, found.count(kind)) for kind, word in (("bad", "lost"), ("good", "won"), ("open", "undecided or equal")) if kind in found]


def by_scenario(report: Report, points: list[comparing.Key]) -> list[dict]:
    """A fold for each scenario: its ratios, each point on a scale of its own, its medians, its charts."""
    parts = (sections.forest, page_frontier.frontier, curves.load_curves, curves.scaling, curves.granularity, sections.points, sections.costs,
             sections.bare, sections.medians, curves.per_task, curves.figures, curves.stability)
    out = []
    for name in sorted({key[0] for key in points}, key=list(scenarios.SCENARIOS).index):
        of = report.only(name)
        body = "".join(part(of) for part in parts).replace("<h2>", "<h3>").replace("</h2>", "</h3>")
        out.append({"name": name, "counts": counts(of),
                    "what": scenarios.SCENARIOS[name].what, "body": html.raw(body)})
    return out


def render(report: Report) -> str:
    """The whole page."""
    points = sorted({comparing.key_of(row) for row in report.rows if row["scenario"] in scenarios.SCENARIOS}, key=comparing.by_size)
    folds = [
        ("Controls: a program against its copy, and slowed down on purpose", "controls", sections.controls(report)),
        ("Beside the race: structures alone, whole processes, exact counts", "beside",
         sections.unpaired(report) + curves.exact_counts(report)),
        ("What is proved and stressed about the raced source", "verification", sections.proofs(report)),
        ("The machine and the programs", "environment", sections.environment(report)),
        ("How to read this, and what it does not show", "reading", html.macro("reading", report.race.get("rounds", 0))),
        ("Measure it again", "again", sections.commands(report, points)),
    ]
    view = {
        "title": title(report), "subtitle": subtitle(report), "batch": sections.batch(report), "findings": sections.findings(report),
        "answer": page_matrix.view(report), "lost": sections.lost(report), "failures": sections.failures(report),
        "losses": sections.losses(report), "standing": sections.standing(report), "missing": summary.missing(report.env, report.rows),
        "scenarios": by_scenario(report, points), "folds": folds,
    }
    there = {anchor for _, anchor, body in folds if body} | {name for name in CONTENTS if view.get(name)}
    return html.render("report.html", contents=[one for one in CONTENTS.items() if one[0] in there], **view)
