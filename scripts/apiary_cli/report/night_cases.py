"""The results of units as cases: what each kind's result means, and what is red."""

from __future__ import annotations

import re
from typing import Iterable

from ..night.unit import ROWS, SKIP_STATUS, VERDICTS
from ..verify import enduring, inventory, search_parts
from ..verify.checks import Entry
from ..verify.verdicts import cut, how_far, wrong
from .junit import FAILED, PASSED, SKIPPED, Case, Part, Verdict

PLACE = re.compile(r"\b((?:impl|model_check|stress|bench)/[\w/.-]+\.(?:hpp|cpp|h)):(\d+)")
SITE, UNRUN = "no check executes ", "sites that no check executes"
WAITS = "did not fit; the next night begins with it"
KINDS = {"search": "law", "exhibit": "exhibit not caught", "mutant": "mutant survives", "logic": "logic mutant survives", "stress": "stress",
         "hunt": "hunt", "outside": "outside code", "soak": "soak", "fault": "fault", "fuzz": "crash of a reader", "selftest": "planted defect not seen"}


def named(part: Part, name: str) -> str:
    return f"{part.name} {name}"


def unknown(parts: list[Part], names: Iterable[str]) -> set[str]:
    """Of these names those that nothing is said of: they wait, were cut short, or are told when all searches are done."""
    open_yet = {named(part, case.name) for part in parts for case in part.cases if case.status == SKIPPED}
    sites = f"search {UNRUN}" in open_yet  # each of which is a name of its own when it is red
    return {name for name in names if name in open_yet or sites and name.startswith(f"search {SITE}")}


def case(result: dict) -> Case:
    """One unit that is judged by itself."""
    name, took = result["name"], float(result["seconds"])
    if result["how"] or result["ended"]:
        return red(result, result["how"] or f"ended by its limit of {result['ended']}")
    if result["reads"] == VERDICTS:
        return of_verdicts(result)
    if result["reads"] == ROWS:
        return of_rows(result)
    if result["rc"] == 0:
        return Case(name, PASSED, took)
    last = (result["output"].strip().splitlines() or ["it printed nothing"])[-1]
    if result["rc"] == SKIP_STATUS:
        return Case(name, SKIPPED, took, last)
    return red(result, f"{ended_by(result['rc'])}: {sign(result['output']) or last}")


def of_verdicts(result: dict) -> Case:
    lines, took = result["lines"], float(result["seconds"])
    bad = [line for line in lines if wrong(line)]
    if bad:
        return red(result, str(bad[0].get("reason") or bad[0].get("verdict")), bad[0])
    if result["rc"] not in (0, 1) or (result["rc"] == 1 and not any(map(cut, lines))):
        return red(result, f"{ended_by(result['rc'])}, which contradicts its verdicts")
    ends = [line for line in lines if cut(line)]
    return Case(result["name"], SKIPPED if ends else PASSED, took, f"not exhausted: {how_far(ends[0])}" if ends else "")


def rows_of(result: dict) -> list[dict]:
    """Runs of stress/night, each with the word that it gets."""
    preset = result["name"].split()[-1]
    return [enduring.judged(row, preset) for row in result["lines"]]


def line_of(result: dict, row: dict) -> str:
    """Of a sweep the one run."""
    return result["line"] + (f" --nth {row['nth']}" if row.get("nth") else "")


def of_rows(result: dict) -> Case:
    """One run, or a sweep, whose replay is that of its first red run."""
    rows, took = rows_of(result), float(result["seconds"])
    bad = next((row for row in rows if row["word"] in enduring.RED), None)
    if bad:
        said = str(bad.get("said", ""))
        first = (said.strip().splitlines() or [""])[0]
        return red(result | {"line": line_of(result, bad)}, f"{bad['word']}: {sign(said) or first}", {"trace": said})
    if result["rc"] != 0:
        return red(result, f"{ended_by(result['rc'])}, which contradicts its runs")
    cannot = all(row["word"] == enduring.CANNOT for row in rows)
    return Case(result["name"], SKIPPED if cannot else PASSED, took, "this kernel lets a process refuse itself nothing" if cannot else "")


def ended_by(rc: int) -> str:
    return f"ended by signal {-rc}" if rc < 0 else f"exit status {rc}"


def sign(output: str) -> str:
    """What a sanitizer, or one of our verbs, says first."""
    found = re.search(r"^.*(?:ERROR: |WARNING: ThreadSanitizer|runtime error|survives without a reason|no check executes|is killed|not seen by|"
                      r"red without it, too|^apiary: ).*$", output, re.MULTILINE)
    return found[0].strip() if found else ""


def red(result: dict, message: str, verdict: dict | None = None) -> Verdict:
    trace = str((verdict or {}).get("trace") or "")
    text = "\n".join([message, result.get("place", ""), trace, result["output"]])
    places = list(dict.fromkeys((path, int(line)) for path, line in PLACE.findall(text)))
    line = result["line"]
    if (verdict or {}).get("replay"):
        line = f"scripts/apiary prove {verdict['replay']}"
    return Verdict(result["name"], FAILED, float(result["seconds"]), message, KINDS[result["kind"]], places=places[:4], trace=trace, replay=line)


def of_search(search: search_parts.Search, line: str) -> tuple[Case, dict]:
    """A search in parts, judged after they were put together."""
    verdict = search.verdict()
    told = {"kind": "search", "name": f"{search.entry.name} explorer", "seconds": search.seconds, "line": line, "output": ""}
    if wrong(verdict):
        return red(told, str(verdict.get("reason")), verdict), verdict
    if not search.lines:
        return Case(told["name"], SKIPPED, 0.0, WAITS), verdict
    if cut(verdict):
        return Case(told["name"], SKIPPED, search.seconds, f"not exhausted: {how_far(verdict)}; its parts wait"), verdict
    return Case(told["name"], PASSED, search.seconds, f"{verdict['graphs']:,} graphs in {verdict['parts']} parts"), verdict


def cases(entries: list[Entry], done: list[dict], results: dict[str, dict], waiting: list[dict]) -> tuple[dict[str, list[Case]], list[dict]]:
    """By kind, and the verdicts of all searches and exhibits. `done`, `waiting`: as search_parts.told has units."""
    found: dict[str, list[Case]] = {}
    verdicts: list[dict] = []
    for one in done:
        result = results[one["unit"]]
        if not one["check"]:
            found.setdefault(result["kind"], []).append(case(result))
            verdicts += result["lines"] if result["reads"] == VERDICTS else []
    for search in search_parts.gathered(entries, done, results, waiting):
        line = f"scripts/apiary prove {search.entry.name} --engine explorer"
        judged, verdict = of_search(search, line)
        found.setdefault("search", []).append(judged)
        verdicts.append(verdict)
    for one in waiting:
        if not one["check"]:
            found.setdefault(one["kind"], []).append(Case(one["name"], SKIPPED, 0.0, WAITS))
    return found, verdicts


def unrun(verdicts: list[dict], complete: bool) -> list[Case]:
    """The atomic sites that no check executes: a matter of all searches together."""
    if not complete:
        return [Case(UNRUN, SKIPPED, 0.0, "told when every search was done")]
    orders: dict[str, set[str]] = {}
    for verdict in verdicts:
        if verdict.get("kind") == "check":
            for name, order in verdict.get("sites", {}).items():
                orders.setdefault(name, set()).add(order)
    _, never, wrong_of = inventory.compare(inventory.read()[0], orders)
    sentences = [f"{SITE}{i.file}:{i.line}:{i.column} {i.operation} in {i.function}" for i in never]
    return [Verdict(one[:80], FAILED, 0.0, one, "site never run", places=[(i.file, i.line)], replay="scripts/apiary mutate --inventory")
            for one, i in zip(sentences, never)] + [Case(one[:80], FAILED, 0.0, one) for one in wrong_of]
