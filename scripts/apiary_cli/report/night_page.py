"""The page of a night: the verdict first, then what is new since the last night, what is red and how to replay it, what was done by how many
units, and what waits. One view, as Markdown and as HTML."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from ..base import repo
from ..base.errors import INVALID_BATCH
from ..base.say import duration, markdown
from .junit import FAILED, PASSED, SKIPPED, Case, Part
from .night_cases import named, unknown

SHOWN, NIGHTS = 4, 30   # units of a kind by name that wait; nights of the history
RESULTS = {PASSED: "passed", FAILED: "failed", SKIPPED: "not run"}
HISTORY = ["night", "commit", "units:n", "done in it:n", "red:n", "waiting:n", "time:n"]
TRUST = "A scheduler runs what it is sent, as the user that started its workers: TLS with certificates of your own, or loopback."


def moment(stamp: str) -> str:
    """As people read it; what is no stamp as it is."""
    try:
        return datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").strftime("%-d %b %Y, %H:%M UTC")
    except ValueError:
        return stamp


def view(parts: list[Part], done, budget: str, seconds: float, code: int) -> dict:
    """`done`: of the units (verbs/nightly_units.Done), or None where none ran."""
    word = {0: "fine", 1: "RED", INVALID_BATCH: "the race is invalid, all else is fine"}[code]
    red_first = sorted(parts, key=lambda part: part.name != "selftest")
    red = {named(part, case.name): case for part in red_first for case in part.cases if case.status == FAILED}
    if any(name.split()[0] == "selftest" for name in red):
        word += ", and not to be believed: what is planted was not seen as it should be"
    left = [*(["the selftest"] if any(part.name == "selftest" and part.status == SKIPPED for part in parts) else []),
            *([f"{len(done.waiting)} units"] if done and done.waiting else [])]
    if code == 0 and left:  # green is not to be taken for all of it
        word += f"; {' and '.join(left)} did not run"
    told = {
        "title": f"Night of {moment(repo.utc_stamp())}: {word}", "good": code == 0,
        "state": f"commit {repo.commit()[:12]}{' (dirty)' if repo.dirty() else ''}, budget {budget}, took {duration(seconds)}",
        "news": news(set(red), done), "red": [in_red(name, case) for name, case in red.items()],
        "head": ["part", "result", "passed:n", "failed:n", "not run:n", "time:n"],
        "rows": [[part.name, "invalid" if part.invalid else RESULTS[part.status], *map(part.count, (PASSED, FAILED, SKIPPED)), duration(part.seconds)]
                 for part in parts],
        "units": "", "waits": [], "notes": [], "trust": "", "history_head": HISTORY, "history": [],
        "parts": [{"name": part.name, "lines": lines_of(part)} for part in parts if lines_of(part)],
    }
    if done:
        told["units"] = (f"{done.units} units, {done.fresh} of them done in this night and {done.units - done.fresh} known from the store, by "
                         f"{done.engine}: {duration(done.busy)} of work in {duration(done.seconds)}")
        told["waits"] = waits(done.waiting)
        told["notes"] = [line for note in done.notes for line in note.splitlines()]
        told["history"] = [[moment(one["utc"]), one["commit"][:12], one["units"], one["fresh"], len(one["red"]), one["waiting"], duration(one["seconds"])]
                           for one in reversed(done.nights[-NIGHTS:])]
        told["trust"] = TRUST if "scheduler" in done.engine else ""
    return told


def in_red(name: str, case: Case) -> dict:
    """A name that is the beginning of what was seen is not said twice."""
    what = case.message.splitlines()[0] if case.message else ""
    shown = name.removesuffix(case.name).strip() if what.startswith(case.name) else name
    return {"name": shown, "what": what, "replay": getattr(case, "replay", "")}


def news(red: set[str], done) -> list[str]:
    if done is None or done.last is None:
        return ["no night before this one is remembered in its store"]
    ours = {name for name in red if name.split()[0] in {part.name for part in done.parts}}
    new, gone, open_yet = sorted(ours - set(done.last)), sorted(set(done.last) - ours), unknown(done.parts, done.last)
    said = [f"{'red the last time, and not known of this source yet' if name in open_yet else 'red no more'}: {name}" for name in gone]
    return [f"newly red: {name}" for name in new] + said or [f"nothing: {'the units that are red were red' if ours else 'no unit was red, and none is'}"]


def waits(names: list[str]) -> list[str]:
    """How many, and of each kind the first by name, in the order of the next night."""
    if not names:
        return []
    kinds: dict[str, list[str]] = {}
    for name in names:
        kind, _, rest = name.partition(" ")
        kinds.setdefault(kind, []).append(rest)
    told = [f"{len(names)} units; the next night begins with {names[0]}"]
    for kind, own in kinds.items():
        # Parts of one search go by its name.
        short = [name + (f" ({n} parts)" if n > 1 else "") for name, n in Counter(name.partition(", part ")[0] for name in own).items()]
        told.append(f"{len(own)} of {kind}: {', '.join(short[:SHOWN])}" + (f" and {len(short) - SHOWN} more" if len(short) > SHOWN else ""))
    return told


def lines_of(part: Part) -> list[str]:
    told = [line.strip() for line in part.lines]
    for status, words in ((FAILED, "failed"), (SKIPPED, "not run or cut short")):
        told += [f"{words}: {case.name}: {' / '.join(case.message.splitlines()[:3])}" for case in part.cases if case.status == status]
    return told


def markdown_text(told: dict) -> str:
    lines = [f"# {told['title']}", "", told["state"], "", "## New since the last night", "", *bullets(told["news"])]
    lines += ["", "## Red", "", *(bullets(f"{one['name']}: {one['what']}" + (f"  \n  replay: `{one['replay']}`" if one["replay"] else "")
                                          for one in told["red"]) or ["nothing"])]
    lines += ["", "## Done", "", *markdown(told["head"], told["rows"])]
    lines += ["", told["units"], *(["", told["trust"]] if told["trust"] else [])] if told["units"] else []
    lines += ["", "## Waits", "", *(bullets(told["waits"]) or ["nothing"])]
    lines += ["", "## Seen on the way", "", *bullets(told["notes"])] if told["notes"] else []
    lines += ["", "## Nights", "", *markdown(told["history_head"], told["history"])] if told["history"] else []
    for part in told["parts"]:
        lines += ["", f"## {part['name']}", "", *bullets(part["lines"])]
    return "\n".join(lines) + "\n"


def bullets(lines) -> list[str]:
    return [f"- {line}" for line in lines]
