"""report.html: one self-contained file, made from the CSVs of a result folder."""

from __future__ import annotations

from pathlib import Path

from ..race import scenarios
from ..analysis import comparing, summary
from . import page_curves as curves, page_data, page_matrix, page_notes as notes, page_sections as sections
from .page_data import Report
from .page_script import SCRIPT
from .shell import shell
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


def counts(report: Report) -> str:
    """Beside the name of a scenario: how many comparisons it won, lost and left open."""
    found = [page_matrix.sign(one)[1] for one in report.comparisons if one.claim]
    return " ".join(
        f'<span class="word {kind}">{mark} {found.count(kind)}</span>'
        for kind, mark in (("bad", "−"), ("good", "+"), ("open", "="))
        if found.count(kind)
    )


def by_scenario(report: Report, points: list[comparing.Key]) -> str:
    """A fold for each scenario: its ratios on a scale of its own, its medians, its charts."""
    out = []
    for name in sorted({key[0] for key in points}, key=list(scenarios.SCENARIOS).index):
        of = report.only(name)
        known = scenarios.SCENARIOS[name]
        body = "".join(
            (
                sections.forest(of),
                sections.costs(of),
                sections.bare(of),
                sections.medians(of),
                *(sections.scenario(of, key) for key in points if key[0] == name),
                curves.load_curves(of),
                curves.scaling(of),
                curves.granularity(of),
                curves.per_task(of),
                curves.figures(of),
                curves.stability(of),
            )
        )
        body = body.replace("<h2>", "<h3>").replace("</h2>", "</h3>")
        out.append(
            f'<details class="fold" id="{page_matrix.anchor(name)}"><summary><b>{escape(name)}</b> {counts(of)} '
            f"<span class=soft>{escape(known.what)}</span></summary>{body}</details>"
        )
    every = '<p class="caption"><button type="button" data-folds>open all</button></p>' if len(out) > 1 else ""
    return f'<section id="scenarios"><h2>Scenario by scenario</h2>{every}{"".join(out)}</section>' if out else ""


def fold(title: str, anchor: str, body: str) -> str:
    """What a reader looks up: one line until then."""
    return f'<details class="fold" id="{anchor}"><summary><b>{escape(title)}</b></summary>{body}</details>' if body else ""


CONTENTS = (
    ("answer", "Answer"),
    ("losses", "Losses"),
    ("scenarios", "Scenarios"),
    ("controls", "Controls"),
    ("beside", "Beside the race"),
    ("verification", "Proofs"),
    ("environment", "Machine"),
    ("reading", "How to read"),
    ("again", "Measure again"),
)


def contents(body: str) -> str:
    """The bar of what there is."""
    links = (f'<a href="#{anchor}">{name}</a>' for anchor, name in CONTENTS if f'id="{anchor}"' in body)
    return f'<nav aria-label="contents">{" ".join(links)}</nav>'


def render(folder: Path) -> str:
    """The whole page."""
    report = page_data.load(folder)
    points = sorted({comparing.key_of(row) for row in report.rows if row["scenario"] in scenarios.SCENARIOS})
    answer = page_matrix.table(report)
    body = "\n".join(
        part
        for part in (
            sections.findings(report),
            f'<section id="answer">{answer}</section>' if answer else "",
            sections.failures(report),
            sections.losses(report),
            sections.standing(report),
            sections.missing(report),
            by_scenario(report, points),
            fold("Controls: a program against its copy, and slowed down on purpose", "controls", sections.controls(report)),
            fold("Beside the race: structures alone, whole processes, exact counts", "beside",
                 sections.unpaired(report) + curves.exact_counts(report)),
            fold("What is proved and stressed about the raced source", "verification",
                 sections.strip(report) + notes.verification(report)),
            fold("The machine and the programs", "environment", notes.environment(report)),
            fold("How to read this, and what it does not show", "reading", notes.reading(report)),
            fold("Measure it again", "again", notes.commands(report, points)),
        )
        if part
    )
    head = f'<h1>{escape(title(report))}</h1><p class="meta">{escape(subtitle(report))}</p>{sections.batch(report)}'
    return shell(title(report), f"{head}\n{body}", script=SCRIPT, before=contents(body))
