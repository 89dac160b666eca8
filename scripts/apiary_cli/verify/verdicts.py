"""Verdicts: what they mean, how they are shown, and the record of what is proved about a source."""

from __future__ import annotations

import re

from ..base.say import colour, duration

KINDS = ("litmus", "check", "exhibit")


def expected(verdict: dict) -> bool:
    return verdict.get("as_expected") is True


def unfinished(verdict: dict) -> bool:
    """An exhaustive search whose budget ended: nothing was found, and not everything was seen."""
    return verdict.get("verdict") == "budget" and not expected(verdict)


def cut(verdict: dict) -> bool:
    """A search for all behaviours that its budget ended, whether the check allows that (too_large_to_exhaust) or not."""
    return verdict.get("verdict") == "budget" and verdict.get("engine") != "relacy"


def exhausted(verdict: dict) -> bool:
    """Of the explorer, a search for all behaviours: no hunt, no part of one. Relacy knows no such thing; a failure ends any search."""
    if verdict.get("engine") != "explorer" or verdict.get("verdict") == "fail":
        return True
    return not str(verdict.get("mode") or "").startswith(("random", "pct", "shard", "bound"))


def how_far(verdict: dict) -> str:
    """Of a search that was cut: "91,711 executions, about 4 %"."""
    covered = re.search(r"budget ended, (about \S+ %)", str(verdict.get("bound") or ""))
    parts = [f"{count(verdict.get('executions'))} executions" if verdict.get("executions") else "", covered[1] if covered else ""]
    return ", ".join(filter(None, parts)) or "how far is not told"


def searches(verdicts: list[dict]) -> str:
    return f"{len(verdicts)} search{'' if len(verdicts) == 1 else 'es'}"


def named_cuts(verdicts: list[dict]) -> str:
    """Each search that was cut, with how far it came."""
    return ", ".join(f"{v['name']} ({how_far(v)})" for v in verdicts)


def wrong(verdict: dict) -> bool:
    """A failure, an exhibit that was not caught, a crash: never merely a lack of time."""
    return not expected(verdict) and not unfinished(verdict)


def names(verdicts: list[dict]) -> list[str]:
    """Each name once, in order."""
    return list(dict.fromkeys(v["name"] for v in verdicts))


def verdict_word(verdict: dict) -> str:
    text = verdict.get("verdict", "error")
    if cut(verdict) and expected(verdict):
        return colour("not exhausted", "yellow")
    if expected(verdict):
        return colour("caught" if verdict["kind"] == "exhibit" and text == "fail" else text, "green")
    if unfinished(verdict):
        return colour("not finished", "yellow")
    return colour(f"{text} UNEXPECTED", "red")


def count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


def merge_record(
    old: dict | None, stamp: dict, verdicts: list[dict], listed: dict[str, list[str]], asked: dict[tuple[str, str], str] | None = None,
) -> dict:
    """The record of what is proved about this source; earlier verdicts stay while it is the same. `asked`: (name, engine) -> kind
    of all that can be asked."""
    key = ("name", "engine", "mode", "bound")
    before = old.get("verdicts", []) if old and old.get("source_hash") == stamp["source_hash"] else []
    whole = {(v["name"], v.get("engine")) for v in before if exhausted(v) and expected(v)}
    # A hunt that found nothing says less than the search for all that it would replace.
    verdicts = [v for v in verdicts if exhausted(v) or not expected(v) or (v["name"], v.get("engine")) not in whole]
    rerun = {(verdict["name"], verdict.get("engine")) for verdict in verdicts}
    kept = [v for v in before if (v["name"], v.get("engine")) not in rerun]
    merged = sorted(kept + verdicts, key=lambda v: tuple(str(v.get(k, "")) for k in key))
    known = set(names(merged))
    there = {(v["name"], v.get("engine")) for v in merged if exhausted(v)}
    lacking = [{"name": name, "engine": engine, "kind": kind} for (name, engine), kind in (asked or {}).items()
               if (name, engine) not in there]
    return {
        "schema_version": 1,
        **stamp,
        "as_expected": all(map(expected, merged)),
        "complete": not lacking and all(name in known for group in listed.values() for name in group),
        "lacking": lacking,
        "listed": listed,
        "not_exhausted": [
            {"name": v["name"], "engine": v.get("engine", ""), "executions": v.get("executions"), "how_far": how_far(v)}
            for v in merged if cut(v)
        ],
        "verdicts": merged,
    }


def closing(verdicts: list[dict]) -> str:
    """One line: how many, how long, what is not as expected, and every search that was cut."""
    bad, late = list(filter(wrong, verdicts)), list(filter(unfinished, verdicts))
    allowed = [v for v in verdicts if cut(v) and expected(v)]
    seconds = sum(float(v.get("seconds") or 0) for v in verdicts)
    parts = [f"{len(bad)} NOT as expected: {', '.join(names(bad))}" if bad else "",
             f"{len(late)} not finished within the budget: {named_cuts(late)}" if late else "",
             "" if bad or late else "all as expected",
             f"{searches(allowed)} NOT exhausted, as their checks allow: {named_cuts(allowed)}" if allowed else ""]
    head = f"{len(verdicts)} verdicts on {len(names(verdicts))} names in {duration(seconds)} of checking"
    return f"{head}: {'; '.join(filter(None, parts))}"
