"""Verdicts: what they mean, how they are shown, and the record of what is proved about a source."""

from __future__ import annotations

from .say import colour, duration

KINDS = ("litmus", "check", "exhibit")


def expected(verdict: dict) -> bool:
    return verdict.get("as_expected") is True


def unfinished(verdict: dict) -> bool:
    """An exhaustive search whose budget ended: nothing was found, and not everything was seen."""
    return verdict.get("verdict") == "budget" and not expected(verdict)


def wrong(verdict: dict) -> bool:
    """A failure, an exhibit that was not caught, a crash: never merely a lack of time."""
    return not expected(verdict) and not unfinished(verdict)


def names(verdicts: list[dict]) -> list[str]:
    """Each name once, in order."""
    return list(dict.fromkeys(v["name"] for v in verdicts))


def verdict_word(verdict: dict) -> str:
    text = verdict.get("verdict", "error")
    if expected(verdict):
        return colour("caught" if verdict["kind"] == "exhibit" and text == "fail" else text, "green")
    if unfinished(verdict):
        return colour("not finished", "yellow")
    return colour(f"{text} UNEXPECTED", "red")


def count(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else ""


def merge_record(old: dict | None, stamp: dict, verdicts: list[dict], listed: dict[str, list[str]]) -> dict:
    """The record of what is proved about this source; earlier verdicts stay while it is the same."""
    key = ("name", "engine", "mode", "bound")
    rerun = {verdict["name"] for verdict in verdicts}
    kept = []
    if old and old.get("source_hash") == stamp["source_hash"]:
        kept = [v for v in old.get("verdicts", []) if v["name"] not in rerun]
    merged = sorted(kept + verdicts, key=lambda v: tuple(str(v.get(k, "")) for k in key))
    known = set(names(merged))
    return {
        "schema_version": 1,
        **stamp,
        "as_expected": all(map(expected, merged)),
        "complete": all(name in known for group in listed.values() for name in group),
        "listed": listed,
        "verdicts": merged,
    }


def closing(verdicts: list[dict]) -> str:
    """One line: how many, how long, and what is not as expected."""
    bad, late = [v for v in verdicts if wrong(v)], [v for v in verdicts if unfinished(v)]
    seconds = sum(float(v.get("seconds") or 0) for v in verdicts)
    parts = [f"{len(bad)} NOT as expected: {', '.join(names(bad))}"] if bad else []
    parts += [f"{len(late)} not finished within the budget: {', '.join(names(late))}"] if late else []
    tail = "; ".join(parts) or "all as expected"
    return f"{len(verdicts)} verdicts on {len(names(verdicts))} names in {duration(seconds)} of checking: {tail}"
