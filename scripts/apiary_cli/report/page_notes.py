"""The closing sections of report.html: verification, environment, how to read it, commands."""

from __future__ import annotations

from ..base.say import human
from ..verify.verdicts import cut, how_far, unfinished
from ..analysis import comparing
from . import html, page_data
from .html import folded, place, raw, render, section, table
from .page_data import Report


def verification(report: Report) -> str:
    """What is proved and stressed about the source that was raced."""
    taken = report.env.get("verification") or {}
    verdicts = (taken.get("prove") or {}).get("verdicts") or []
    rows = [
        ("", [v["name"], v["kind"], v["engine"], v["mode"], f"{v['executions']:,}" if v.get("executions") else "",
              f"{float(v['seconds'] or 0):.2f}", html.macro("badge", verdict_badge(v))])
        for v in verdicts
    ]
    head = [(name, "n" if name in ("executions", "seconds") else "")
            for name in ("check", "kind", "engine", "mode", "executions", "seconds", "verdict")]
    every = folded(f"all {len(rows)} verdicts", table(head, rows, sorts=True), filters=True) if rows else ""
    blind = sorted({(v["engine"], v["blind"]) for v in verdicts if v.get("blind")})
    hashes = {name: taken.get(name) for name in ("prove_hash", "stress_hash")}
    return section("Verification", render("verification.html", statuses=report.statuses, taken=hashes, verdicts=every, blind=blind))


def verdict_badge(verdict: dict) -> dict:
    level, text = "good", "caught" if verdict["kind"] == "exhibit" else verdict["verdict"]
    if unfinished(verdict):
        level, text = "note", "not finished"
    elif cut(verdict) and verdict["as_expected"]:
        level, text = "note", f"not exhausted: {how_far(verdict)}"
    elif not verdict["as_expected"]:
        level, text = "bad", f"{verdict['verdict']}, unexpected"
    return {"level": level, "text": text, "link": False}


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
            rows.append((name.replace("_", " "), shown(value)))
    probed = env.get("probes", {})
    if probed:
        sleep, wake = probed["sleep_1ms_overshoot_ns"], probed["wake_ns"]
        rows += harness_cost(probed)
        rows.append(("a sleep of 1 ms ends late by", f"p50 {human(sleep['p50'])}, p99 {human(sleep['p99'])}"))
        rows += [
            (f"wake, {name.replace('_', ' ')}", f"p50 {human(w['p50'])}, p99 {human(w['p99'])}" if w else "not measured")
            for name, w in wake.items()
        ]
    rows += [(name.replace("_", " "), env.get(name, {}).get("loadavg", "")) for name in ("load_before", "load_after")]
    arms = [("", [arm[name] for name in ("label", "role", "subject_version", "build_id")]) for arm in report.race.get("arms", [])]
    body = table([("", ""), (f"environment {env['env_id']}", "")], [("", row) for row in rows])
    if arms:
        body += raw("<h3>Subjects</h3>") + table([("arm", ""), ("role", ""), ("version", ""), ("build", "")], arms)
    return section("Environment", body)


def reading(report: Report) -> str:
    return section("How to read this", render("reading.html", rounds=report.race.get("rounds", 0)))


def commands(report: Report, points: list[comparing.Key]) -> str:
    """For each row the command that reproduces it."""
    items = []
    for key in points:
        ran = {
            row["subject"]
            for row in report.rows
            if comparing.key_of(row) == key and row["row_kind"] == "measure" and row["status"] != "unsupported"
        }
        subjects = sorted(ran, key=lambda name: page_data.rank(report, name))
        named = [name for name in subjects if report.roles.get(name) != "baseline"]
        items.append({"name": place(key), "race": page_data.race_command(report, key, named),
                      "subjects": [(name, page_data.subject_command(report, key, name)) for name in subjects]})
    view = {"command": report.race.get("command", ""), "run_id": report.env["run_id"], "points": items}
    return section("Measure it again", render("again.html", **view))
