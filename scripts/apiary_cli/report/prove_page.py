"""prove.html: check by engine, where the engines differ, and every trace."""

from __future__ import annotations

from pathlib import Path

from ..verify import checks
from ..verify.engine_agreement import disagreements, limit, mode, report, signs
from ..verify.verdicts import count, cut, expected, named_cuts, names, searches
from .shell import shell
from .svg import escape

PAGE = checks.RECORD.with_suffix(".html")


def cell(text: object, number: bool = False) -> str:
    return f"<td{' class=n' if number else ''}>{escape(str(text))}</td>"


def page_row(v: dict, sign: dict[str, str]) -> str:
    reached = ", ".join(f"{what} {n:,}" for what, n in sorted((v.get("reach") or {}).items()))
    level = "bad" if not expected(v) else "note" if cut(v) else "good"
    return "".join([
        "<tr>", cell(v["name"]), cell(v["kind"]), cell(v.get("engine", "")), cell(mode(v)), cell(sign.get(limit(v), "")),
        cell(count(v.get("executions")), True),
        cell(count(v.get("graphs") or None), True), cell(format(float(v.get("seconds") or 0), ".2f"), True),
        f'<td><span class="badge {level}">{escape(v.get("verdict", "error"))}</span></td>', cell(reached), "</tr>",
    ])


def page_trace(v: dict, what: str) -> str:
    state = "" if expected(v) else " open"
    return (f"<details{state}><summary><b>{escape(v['name'])}</b> on {escape(v.get('engine', ''))}: "
            f"{escape(v.get('reason') or v.get('verdict', ''))}</summary><p>{escape(what)}</p>"
            f"<div class=scroll><pre>{escape(v.get('trace') or 'no trace')}</pre></div>"
            f"<p class=caption>replay: <code>{escape(v.get('replay') or 'nothing to replay')}</code></p></details>")


def write(verdicts: list[dict], entries: list[checks.Entry], stamp: dict, path: Path | None = None) -> None:
    """The table again, what was reached, and every trace: of what is not as it must be, and of the exhibits."""
    what, sign = {entry.name: entry.what for entry in entries}, signs(verdicts)
    bad = [v for v in verdicts if not expected(v)]
    caught = [v for v in verdicts if expected(v) and v["kind"] == "exhibit" and v.get("trace")]
    short = [v for v in verdicts if cut(v)]
    head = ("name", "kind", "engine", "mode", "bound", "runs", "graphs", "seconds", "verdict", "reached")
    _, red = report(verdicts, entries)
    body = [
        "<h1>Model checks</h1>",
        f'<p class="meta">source {escape(stamp.get("source_hash", ""))} · commit {escape(stamp.get("commit", "")[:12])} · '
        f'{escape(stamp.get("utc", ""))} · {len(verdicts)} verdicts on {len(names(verdicts))} checks, '
        f'{len(bad) + len(red)} not as they must be</p>',
        *(f'<p class="badge bad">{escape(sentence)}</p>' for sentence in red),
        *([f"<p><b>{searches(short)} not exhausted</b>: {escape(named_cuts(short))}</p>"] if short else []),
        *(["<h2>Not as they must be</h2>"] if bad else []), *(page_trace(v, what.get(v["name"], "")) for v in bad),
        "<h2>Where the engines differ</h2>",
        "<div class=scroll><table><tr><th>check<th>kind<th>seen<th>why</tr>",
        *("<tr>" + cell(d.name) + cell(d.kind) + cell(d.seen) + cell(d.explanation or "UNEXPLAINED") + "</tr>"
          for d in disagreements(verdicts, entries)), "</table></div>",
        "<h2>Verdicts</h2>",
        f"<div class=scroll><table><tr>{''.join(f'<th>{one}' for one in head)}</tr>",
        *(page_row(v, sign) for v in verdicts), "</table></div>",
        *(f"<p class=caption>bound {letter}: {escape(bound)}</p>" for bound, letter in sign.items()),
        "<h2>Exhibits: how each is caught</h2>", *(page_trace(v, what.get(v["name"], "")) for v in caught),
    ]
    style = "\nmain { max-width: 80rem; } summary { cursor: pointer; }"
    (path or PAGE).write_text(shell("Model checks", "\n".join(body), style))
