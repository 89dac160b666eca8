"""The closing sections of report.html: verification, environment, how to read it, commands."""

from __future__ import annotations

from ..base.say import human
from ..verify.verdicts import cut, how_far, unfinished
from ..analysis import comparing
from . import page_data
from .page_data import Report
from .page_sections import folded, place, section, table
from .svg import escape


def verification(report: Report) -> str:
    """What is proved and stressed about the source that was raced."""
    taken = report.env.get("verification") or {}
    body = (
        "<ul>"
        + "".join(
            f'<li><span class="badge {s.level}">{escape(s.name)}</span>: {escape(s.text)}</li>'
            for s in report.statuses
        )
        + "</ul>"
    )
    body += (
        f'<p class="soft">Raced source: impl and model_check {escape(taken.get("prove_hash", "?"))}, impl and stress '
        f'{escape(taken.get("stress_hash", "?"))}. A record of another source does not count.</p>'
    )
    verdicts = (taken.get("prove") or {}).get("verdicts") or []
    rows = [
        (
            "",
            [
                f"<code>{escape(v['name'])}</code>",
                escape(v["kind"]),
                escape(v["engine"]),
                escape(v["mode"]),
                f"{v['executions']:,}" if v.get("executions") else "",
                f"{float(v['seconds'] or 0):.2f}",
                verdict_cell(v),
            ],
        )
        for v in verdicts
    ]
    if rows:
        head = ["check", "kind", "engine", "mode", "executions", "seconds", "verdict"]
        columns = [(name, "n" if name in ("executions", "seconds") else "") for name in head]
        body += folded(f"all {len(rows)} verdicts", table(columns, rows, sorts=True), filters=True)
    blind = sorted({(v["engine"], v["blind"]) for v in verdicts if v.get("blind")})
    if blind:
        body += (
            "<p>What the engines cannot see:</p><ul>"
            + "".join(f"<li>{escape(engine)}: {escape(text)}</li>" for engine, text in blind)
            + "</ul>"
        )
    return section("Verification", body)


def verdict_cell(verdict: dict) -> str:
    word = escape(verdict["verdict"])
    if unfinished(verdict):
        return '<span class="badge note">not finished</span>'
    if cut(verdict) and verdict["as_expected"]:
        return f'<span class="badge note" title="{escape(how_far(verdict))}">not exhausted</span>'
    if not verdict["as_expected"]:
        return f'<span class="badge bad">{word}, unexpected</span>'
    return f'<span class="badge good">{"caught" if verdict["kind"] == "exhibit" else word}</span>'


def shown(value: object) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} {shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    return "unreadable" if value in ("", None) else str(value)


def harness_cost(probed: dict) -> list[tuple[str, str]]:
    """What measuring adds to each task: the ledger's account, and the looks at the clock."""
    found = probed.get("harness") or {}
    alone, both = found.get("ledger_alone_ns"), found.get("ledger_two_threads_ns")
    counted = found.get("ledger_instructions")
    ledger = (
        f"{human(alone)} where one thread runs tasks, {human(both)} where two do at once, in every task of every arm and "
        f"not taken off; {f'{counted:.0f} instructions' if counted else 'instructions not counted: scripts/apiary exact'}"
        if alone and both
        else "not measured: harness_exact is not built"
    )
    own = found.get("clock_read_ns")
    clock = human(own) if own else f"{human(probed['clock_read_ns'])} at most"
    return [
        ("the ledger, for each task", ledger),
        ("clock read", clock),
        ("clock reads of the harness", "none in the tasks of a block; in an open loop one in each task"),
    ]


def environment(report: Report) -> str:
    env = report.env
    rows = []
    for part in ("machine", "toolchain"):
        for name, value in env.get(part, {}).items():
            if name == "mitigations":
                value = ", ".join(k for k, v in value.items() if v != "Not affected") or "none needed"
            rows.append(("", [escape(name.replace("_", " ")), escape(shown(value))]))
    probed = env.get("probes", {})
    if probed:
        sleep, wake = probed["sleep_1ms_overshoot_ns"], probed["wake_ns"]
        rows += [("", [name, escape(text)]) for name, text in harness_cost(probed)]
        rows.append(
            ("", ["a sleep of 1 ms ends late by", escape(f"p50 {human(sleep['p50'])}, p99 {human(sleep['p99'])}")])
        )
        rows += [
            (
                "",
                [
                    f"wake, {name.replace('_', ' ')}",
                    escape(f"p50 {human(w['p50'])}, p99 {human(w['p99'])}" if w else "not measured"),
                ],
            )
            for name, w in wake.items()
        ]
    for name in ("load_before", "load_after"):
        rows.append(("", [name.replace("_", " "), escape(env.get(name, {}).get("loadavg", ""))]))
    arms = [
        (
            "",
            [
                escape(arm["label"]),
                escape(arm["role"]),
                escape(arm["subject_version"]),
                f"<code>{escape(arm['build_id'])}</code>",
            ],
        )
        for arm in report.race.get("arms", [])
    ]
    body = table([("", ""), (f"environment {env['env_id']}", "")], rows)
    if arms:
        body += "<h3>Subjects</h3>" + table([("arm", ""), ("role", ""), ("version", ""), ("build", "")], arms)
    return section("Environment", body)


READ = """
<p>In every round each program runs once for each scenario, in a fresh process, in a new random order, with an
environment of the same size for all. A comparison takes the logarithm of the ratio within each round, drops the
highest and the lowest fifth, and averages the rest; its interval is a bootstrap over rounds (4,000 resamples, fixed
seed). So slow drifts of the machine cancel.</p>
<p>A difference counts when the whole interval lies outside the margin: 3 %, or twice the half-width that the same
program shows against its own copy, whichever is larger; and when it survives Benjamini–Hochberg over all comparisons.
“Undecided” means that these rounds cannot tell; it does not mean equal.</p>
<p>Latency counts from the moment at which a task was <em>intended</em> to start, so that a stall is charged to every
task that it delays. Where the injector itself, and not the program, made more than a fifth of a percentile, that percentile
of the run is marked and its pair left out; where more than half of the pairs are, nothing is ranked. A verdict that
would not hold with the pairs left out is not given.</p>"""

NOT_SHOWN = """
<ul>
<li>Not a general ranking: tiny tasks, these few scenarios, this machine, this number of workers. There is no composite
score, because no weights would be right for you.</li>
<li>On a virtual machine the neighbours are not visible; the controls show how much they blur, not where.</li>
<li>Percentiles end where fewer than 100 samples lie above them. The worst case is not shown by any of them.</li>
<li>Micro-benchmarks and whole-process times are not interleaved; read their differences with doubt.</li>
<li>“Proved” means: within the bounds, engines and blind spots listed under Verification.</li>
<li>This suite's own schedulers were written beside this suite. Their authors chose the scenarios.</li>
</ul>"""

FEW = """
<p><b>{rounds} rounds are few.</b> With so few the bootstrap interval is too narrow: it covers about nine times in ten
rather than nineteen in twenty. Decide nothing that matters on a quick race; run the plan nightly or publish.</p>"""

PLAN = """
<p class="caption">PLAN is a file of intended times, as bench/contract/CLI.md describes; the race makes one for each round from its seed.</p>"""


def reading(report: Report) -> str:
    rounds = report.race.get("rounds", 0)
    few = FEW.format(rounds=rounds) if rounds < 10 else ""
    return section("How to read this", READ + few + "<h3>What it does not show</h3>" + NOT_SHOWN)


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def commands(report: Report, points: list[comparing.Key]) -> str:
    """For each row the command that reproduces it."""
    items = []
    for key in points:
        subjects = sorted(
            {
                row["subject"]
                for row in report.rows
                if comparing.key_of(row) == key and row["row_kind"] == "measure" and row["status"] != "unsupported"
            },
            key=lambda name: page_data.rank(report, name),
        )
        named = [name for name in subjects if report.roles.get(name) != "baseline"]
        lines = [escape(place(key)), code(page_data.race_command(report, key, named))]
        lines += [
            f"<span class=soft>{escape(name)} alone:</span> {code(page_data.subject_command(report, key, name))}"
            for name in subjects
        ]
        items.append(f'<li>{"<br>".join(lines)}</li>')
    again = (
        f"<p>The whole race: {code(report.race.get('command', ''))}; "
        f"this page again: {code('scripts/apiary report ' + report.env['run_id'])}</p>"
    )
    each = f'<ol class="commands">{"".join(items)}</ol>{PLAN}'
    return section("Measure it again", again + folded(f"each of the {len(items)} points by itself", each))
