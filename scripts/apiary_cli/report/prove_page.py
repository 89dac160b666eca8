"""prove.html: check by engine, where the engines differ, and every trace."""

from __future__ import annotations

from pathlib import Path

from ..base import repo
from ..verify import checks
from ..verify.engine_agreement import disagreements, limit, mode, report, signs
from ..verify.verdicts import count, cut, expected, named_cuts, names, searches
from . import html

PAGE = checks.RECORD.with_suffix(".html")


def row(v: dict, sign: dict[str, str]) -> list[str]:
    level = "bad" if not expected(v) else "note" if cut(v) else "good"
    return [
        v["name"], v["kind"], v.get("engine", ""), mode(v), sign.get(limit(v), ""), count(v.get("executions")),
        count(v.get("graphs") or None), f"{float(v.get('seconds') or 0):.2f}",
        html.macro("badge", {"level": level, "text": v.get("verdict", "error"), "link": False}),
        ", ".join(f"{what} {n:,}" for what, n in sorted((v.get("reach") or {}).items())),
    ]


def trace(v: dict, what: dict[str, str]) -> dict:
    return {"open": not expected(v), "name": v["name"], "engine": v.get("engine", ""), "what": what.get(v["name"], ""),
            "reason": v.get("reason") or v.get("verdict", ""), "trace": v.get("trace"), "replay": v.get("replay")}


def write(verdicts: list[dict], entries: list[checks.Entry], stamp: dict, path: Path | None = None) -> None:
    """The table again, what was reached, and every trace: of what is not as it must be, and of the exhibits."""
    what, sign = {entry.name: entry.what for entry in entries}, signs(verdicts)
    caught = [v for v in verdicts if expected(v) and v["kind"] == "exhibit" and v.get("trace")]
    short = [v for v in verdicts if cut(v)]
    view = {
        "stamp": {"source_hash": "", "commit": "", "utc": ""} | stamp, "checks": len(names(verdicts)), "red": report(verdicts, entries)[1],
        "rows": [row(v, sign) for v in verdicts], "bad": [trace(v, what) for v in verdicts if not expected(v)],
        "short": {"searches": searches(short), "named": named_cuts(short)} if short else None,
        "differ": [[d.name, d.kind, d.seen, d.explanation or "UNEXPLAINED"] for d in disagreements(verdicts, entries)], "bounds": list(sign.items()), "caught": [trace(v, what) for v in caught],
    }
    repo.write_text(path or PAGE, html.render("prove.html", title="Model checks", **view))
