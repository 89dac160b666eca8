"""The table of prove: check by engine; where the engines disagree, and which checks reached what they must.

Two engines on one check: where they disagree, that is a finding, and it needs a recorded explanation. It stands at the
check itself (relacy_passes, explorer_passes, one_engine: <apiary/model_check/check.hpp>; a litmus test's relacy_differs)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..base import repo
from ..base.say import colour, table
from . import checks
from .verdicts import count, expected, names, verdict_word

BOTH = ("explorer", "relacy")
CSV_COLUMNS = [
    "schema_version", "name", "kind", "threads", "engine", "mode", "bound", "executions", "graphs", "blocked", "seconds",
    "verdict", "as_expected", "reached", "must_reach", "differs", "reason", "replay",
]


@dataclass(frozen=True)
class Disagreement:
    """A check on which the engines do not say the same, or which only one of them was asked."""

    name: str
    kind: str
    seen: str           # "explorer fail, relacy pass"
    explanation: str    # empty: nobody has explained it


def by_engine(verdicts: list[dict]) -> dict[str, dict[str, dict]]:
    """name -> engine -> its last verdict."""
    found: dict[str, dict[str, dict]] = {name: {} for name in names(verdicts)}
    for verdict in verdicts:
        found[verdict["name"]][verdict.get("engine") or ""] = verdict
    return found


def disagreements(verdicts: list[dict], entries: list[checks.Entry]) -> list[Disagreement]:
    """Those among the checks that ran on every engine they are for."""
    known, found = {entry.name: entry for entry in entries}, []
    for name, engines in by_engine(verdicts).items():
        entry = known.get(name)
        words = {engine: "fail" if v.get("verdict") == "fail" else v.get("verdict", "error") for engine, v in engines.items()}
        seen = ", ".join(f"{engine} {words[engine]}" for engine in BOTH if engine in words)
        differs = next((v["differs"] for v in engines.values() if v.get("differs")), "")
        kind = next(iter(engines.values()))["kind"]
        if entry and set(BOTH) - set(entry.engines):
            seen += f"; {' and '.join(set(BOTH) - set(entry.engines))} not asked"
            found.append(Disagreement(name, kind, seen, entry.one_engine))
        elif differs:
            found.append(Disagreement(name, kind, seen if kind != "litmus" else "the sets of outcomes differ", differs))
        elif len(words) > 1 and len({word == "fail" for word in words.values()}) > 1:
            found.append(Disagreement(name, kind, seen, ""))
    return found


def unreached(engines: dict[str, dict], entry: checks.Entry | None) -> list[str]:
    """What a check must reach and no engine did."""
    reached = {what for v in engines.values() for what in v.get("reach") or {}}
    return [what for what in (entry.must_reach if entry else ()) if what not in reached]


def missed(verdicts: list[dict], entries: list[checks.Entry]) -> dict[str, list[str]]:
    known = {entry.name: entry for entry in entries}
    lacking = {name: unreached(engines, known.get(name)) for name, engines in by_engine(verdicts).items()}
    return {name: what for name, what in lacking.items() if what}


def aimless(verdicts: list[dict], entries: list[checks.Entry]) -> list[str]:
    """Checks that state no target: they would pass even if they exercised nothing. (The twin of an exhibit needs none:
    the exhibit beside it shows that it bites.)"""
    museum, ran = {entry.program for entry in entries if entry.kind == "exhibit"}, names(verdicts)
    aims = {entry.name for entry in entries if entry.kind != "check" or entry.must_reach or entry.program in museum}
    return [name for name in ran if name in {entry.name for entry in entries} - aims]


def reach_cell(engines: dict[str, dict], entry: checks.Entry | None) -> str:
    if not entry or not entry.must_reach:
        return ""
    lacking = len(unreached(engines, entry))
    text = f"{len(entry.must_reach) - lacking} of {len(entry.must_reach)}"
    return colour(f"{text} MISSED", "red") if lacking else text


CUT = "; budget ended, about "


def limit(verdict: dict) -> str:
    """What the verdict is limited to, without how far it came."""
    return str(verdict.get("bound") or "").split(CUT)[0]


def mode(verdict: dict) -> str:
    """The mode as run, and of a search that was cut how much of it is covered."""
    share = str(verdict.get("bound") or "").partition(CUT)[2].split(" of")[0]
    return f"{verdict.get('mode', '')} {share}".strip()


def signs(verdicts: list[dict]) -> dict[str, str]:
    """The bounds, which are long and few, under letters."""
    bounds = list(dict.fromkeys(limit(v) for v in verdicts if limit(v)))
    return {bound: chr(ord("a") + i) if i < 26 else str(i) for i, bound in enumerate(bounds)}


def engine_cells(verdict: dict | None, sign: dict[str, str], graphs: bool) -> list[str]:
    if not verdict:
        return [""] * (6 if graphs else 5)
    cells = [mode(verdict), sign.get(limit(verdict), ""), count(verdict.get("executions"))]
    cells += [count(verdict.get("graphs"))] if graphs else []
    return [*cells, f"{float(verdict.get('seconds') or 0):.2f}", verdict_word(verdict)]


def engine_table(verdicts: list[dict], entries: list[checks.Entry]) -> str:
    """A row for each check, a group of columns for each engine; the bounds stand below under their letters."""
    known, sign = {entry.name: entry for entry in entries}, signs(verdicts)
    rows = []
    for name, engines in by_engine(verdicts).items():
        rows.append([name, next(iter(engines.values()))["kind"], *engine_cells(engines.get("explorer"), sign, True),
                     *engine_cells(engines.get("relacy") or engines.get(""), sign, False),
                     reach_cell(engines, known.get(name))])
    head = ["name", "kind", "explorer", "bound", "runs:n", "graphs:n", "seconds:n", "verdict", "relacy", "bound", "runs:n", "seconds:n",
            "verdict", "reach"]
    below = [f"bound {letter}: {bound}" for bound, letter in sign.items()]
    return "\n".join([table(head, rows), *below])


def report(verdicts: list[dict], entries: list[checks.Entry]) -> tuple[str, list[str]]:
    """What stands below the table, and what of it is red, a sentence each."""
    found, lacking, none = disagreements(verdicts, entries), missed(verdicts, entries), aimless(verdicts, entries)
    lines = []
    if found:
        lines.append(f"engines: {len(found)} checks on which they do not say the same, or only one is asked")
        plain = [d for d in found if d.kind != "litmus" or not d.explanation]
        lines.append(table(["name", "kind", "seen", "explanation"],
                           [[d.name, d.kind, d.seen, d.explanation or colour("UNEXPLAINED", "red")] for d in plain]))
        litmus = [d for d in found if d.kind == "litmus" and d.explanation]
        if litmus:
            lines.append(f"and {len(litmus)} litmus tests, each with its explanation in {CSV.name}")
    if none:
        lines.append(f"reach: {len(none)} checks state no target: {', '.join(none)}")
    red = [f"{name} never reached {', '.join(what)}" for name, what in lacking.items()]
    red += [f"{d.name}: {d.seen}, and nobody says why (check.hpp: relacy_passes, explorer_passes, one_engine)"
            for d in found if not d.explanation]
    return "\n".join(lines), red


CSV = checks.RECORD.with_suffix(".csv")


def write_csv(verdicts: list[dict], entries: list[checks.Entry], path: Path | None = None) -> None:
    known = {entry.name: entry for entry in entries}
    explained = {d.name: d.explanation for d in disagreements(verdicts, entries)}
    rows = []
    for v in verdicts:
        entry = known.get(v["name"])
        reached = ";".join(f"{what}={n}" for what, n in sorted((v.get("reach") or {}).items()))
        rows.append([
            1, v["name"], v["kind"], entry.threads if entry else "", v.get("engine", ""), v.get("mode", ""),
            v.get("bound", ""), v.get("executions") or "", v.get("graphs") or "", v.get("blocked") or "",
            f"{float(v.get('seconds') or 0):.3f}", v.get("verdict", ""), "yes" if expected(v) else "no", reached,
            ";".join(entry.must_reach) if entry else "", v.get("differs") or explained.get(v["name"], ""),
            v.get("reason", ""), v.get("replay", ""),
        ])
    repo.write_csv(path or CSV, CSV_COLUMNS, rows)
