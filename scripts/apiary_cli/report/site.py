"""The site: results/*.html, for any static host. Its first page has the six schedulers, the limits, then the tracks; beside it stand
proofs, curves, the museum, the trophies, what would refute a claim, and the history of the gated figures."""

from __future__ import annotations

import functools
from collections import defaultdict
from pathlib import Path

from ..base import commits, repo, stats
from ..base.errors import Fault
from ..base.say import human, in_prose
from ..race import folder as folders, metrics, raced, tables
from ..analysis import comparing, summary, verdict
from . import html, site_pages, six, svg

LEAST_MARKS = 5  # of a line in the history: two points are none
TRACKS = {  # by plan; in this order
    "publish": "Posts, switches and latencies", "forkjoin": "Fork and join", "channels": "Coroutines and channels",
    "messages": "Processes and messages", "graphs": "Graphs of tasks", "metg": "Graphs: the smallest useful task", "widths": "Graphs: widths",
    "loops": "Loops", "servers": "Servers", "timers": "Timers", "frontier": "Latency and what it costs",
    "beside": "Posts beside work that computes", "served_beside": "A server beside work that computes", "scaling": "From 1 to 16 processors",
    "today": "Peers of this year", "switches": "Switches", "wide": "Everything", "quick": "A quick race", "gate": "Against the former commit",
}
SWEEPS = {"tune.csv": "settings tried", "ablation.csv": "rules switched off", "qualify.csv": "the method against itself"}


def of_folder(folder: Path, load: six.Load, history: dict) -> dict:
    """What the pages say of a folder that a race, a qualification or a sweep left. What cannot be read is listed with the reason."""
    page = next((name for name in ("report.html", "summary.md") if (folder / name).exists()), "")
    told = dict.fromkeys(("what", "rounds", "commit", "machine", "why", "against", "older"), "") | {
        "name": folder.name, "page": page, "date": six.date(folder.name), "kind": "note", "plan": "", "sweep": ""}
    try:
        env, rows, comparisons = load(folder)
    except Fault as fault:
        return told | {"word": "unreadable", "why": fault.cause or fault.seen}
    race, found = env["race"], verdict.of(env, rows, comparisons)
    roles, ran = {row["subject"]: row["role"] for row in rows}, {row["scenario"] for row in rows}
    plan = str(race.get("plan") or "")
    ours, peers = (sorted(name for name, role in roles.items() if role == what) for what in ("candidate", "peer"))
    told |= {
        "what": str(race.get("command") or f"plan {race.get('plan')}"), "rounds": summary.rounds_line(race),
        "plan": ran.pop() if plan == "wide" and len(ran) == 1 else plan,  # one scenario of everything is a track by its name
        "commit": summary.commit(race), "machine": summary.machine(env), "word": found.word,
        "kind": "good" if found.published else "bad" if found.word == comparing.INVALID else "note",
        "why": ". ".join(filter(None, (summary.try_line(race), verdict.why(found)))),
        "sweep": next((words for name, words in SWEEPS.items() if (folder / name).exists()), ""),
        "against": f"{in_prose(ours)} against {in_prose(peers)}" if peers else in_prose(ours),
    }
    if (folder / "compare.csv").exists():  # a race; in a sweep or an ablation the arms are settings
        gated(told, rows, history)
    return told


def title(one: dict) -> str:
    return ": ".join(filter(None, (TRACKS.get(one["plan"], one["plan"] or "unknown") if not one["sweep"] else one["sweep"].capitalize(),
                                   one["against"].partition(" against")[0] if one["sweep"] else "")))


def tracks(listed: list[dict]) -> tuple[list[dict], list[dict]]:
    """Of each track the newest that is published, in the order of TRACKS; then the rest, the newest first."""
    first: dict[str, dict] = {}
    for one in reversed(listed):
        if one["kind"] == "good" and not one["sweep"]:
            first.setdefault(one["plan"], one)
    order = [*TRACKS, *sorted(set(first) - set(TRACKS))]
    shown = sorted(first.values(), key=lambda one: order.index(one["plan"]))
    return shown, [one for one in reversed(listed) if one not in shown]


def mark_older(shown: list[dict]) -> str:
    """Marks the tracks whose sources are not those of this tree; what is said of the others' sources."""
    tree = raced.Tree()
    for one in shown:
        one["older"] = bool(raced.why_not(repo.RESULTS / one["name"], tree))
    return raced.sentence((repo.RESULTS / one["name"] for one in shown if not one["older"]), tree)


def gated(told: dict, rows: list[dict[str, str]], history: dict) -> None:
    """Adds the folder's gated figures of our subjects to `history`: point -> subject -> [(folder, median, quartiles, runs)]."""
    values = defaultdict(list)
    for row in comparing.good(rows):
        if row["role"] == "candidate" and row["placement"] == "one_cpu" and row["row_kind"] == "measure":
            if value := metrics.PROCESSOR.value(row):
                values[comparing.key_of(row), row["subject"]].append(value)
    for (key, subject), found in values.items():
        middle = (stats.quantile(found, q) for q in (0.5, 0.25, 0.75))
        history[key][subject].append((told, *middle, len(found)))


def history_point(key: comparing.Key, subjects: dict) -> dict:
    """A figure's chart over the folders, the oldest first, and its table."""
    names = sorted({told["name"] for found in subjects.values() for told, *_ in found})
    marks, rows = {}, []
    for subject, found in sorted(subjects.items()):
        marks[subject] = [
            svg.Mark(names.index(told["name"]) + 1, median, low, high, told["kind"] != "good", f"batch {told['word']}")
            for told, median, low, high, _ in found
        ]
        rows += [
            [f"{told['date']} {subject if len(subjects) > 1 else ''}", told["commit"], told["word"], human(median),
             f"{human(low)} – {human(high)}", n]
            for told, median, low, high, n in reversed(found)
        ]
    colours = {subject: f"c{i % html.COLOURS}" for i, subject in enumerate(marks)}
    label, across = f"{html.place(key)} over commits", "race, the oldest first"
    drawn = html.raw(svg.xy_chart(marks, colours, label, across, ordinal=True))
    named = html.macro("keys", colours.items()) if len(marks) > 1 else ""
    return {"name": html.place(key), "drawn": named + drawn, "rows": rows}


def long_enough(history: dict) -> list[tuple[comparing.Key, dict]]:
    """Points of which some scheduler has a line: two marks are none."""
    kept = ((key, {name: found for name, found in by.items() if len(found) >= LEAST_MARKS}) for key, by in sorted(history.items()))
    return [(key, by) for key, by in kept if by]


def six_rows(found: list[six.Line]) -> dict:
    """The table of the six, and a strip for each that raced."""
    drawn = [one for one in found if one.points]
    scale = six.reach(drawn)
    strips = [{
        "line": one, "drawn": html.raw(svg.forest_row(scale, one.middle.ratio, one.middle.lo, one.middle.hi, one.middle.margin,
                                                      [point.ratio for point in one.points], one.middle.kind, f"{one.name} over {one.rival}")),
    } for one in drawn]
    axis = html.raw(svg.forest_axis(scale, "faster", "the rival is")) if drawn else ""
    return {"strips": strips, "axis": axis, "six": [one | {"page": link(one["line"])} for one in ({"line": one} for one in found)], "legend": six.LEGEND}


def made(listed: list[dict]) -> list[list]:
    """Time stamps and commands, which belong to the end of a page."""
    return [[html.macro("folder", one), html.macro("code", one["what"]), one["rounds"], html.macro("code", one["commit"]), one["machine"]]
            for one in reversed(listed)]


def link(one: six.Line) -> str:
    folder = repo.RESULTS / one.folder
    return next((f"{one.folder}/{name}" for name in ("report.html", "summary.md") if one.folder and (folder / name).exists()), "")


def write() -> Path:
    """All pages; returns the first."""
    load = functools.cache(summary.load)
    found = (one.parent for one in repo.RESULTS.glob("*/env.json") if not one.parent.name.endswith(folders.UNFINISHED))
    history = defaultdict(lambda: defaultdict(list))
    listed = [of_folder(folder, load, history) for folder in sorted(found, key=lambda one: one.name)]
    shown, rest = tracks(listed)
    points = [history_point(key, by) for key, by in long_enough(history)]
    beside = site_pages.write(load, [repo.RESULTS / one["name"] for one in listed if one["kind"] == "good" and not one["sweep"]], bool(points))
    pages = beside.pages
    path = repo.RESULTS / "index.html"
    named = [(name, one["commit"][:12]) for name, one in commits.baselines().items()]
    view = {"title": "Apiary: history", "points": points, "baselines": named, "least": LEAST_MARKS, "pages": pages, "here": "history.html"}
    repo.write_text(path.with_name("history.html"), html.render("history.html", **view))
    same = mark_older(shown)
    schedulers = six.lines(load)
    told = six_rows(schedulers) | {"machines": six.machines(schedulers, load)}
    view = {"title": "Apiary: six task schedulers, raced and proved", "pages": pages, "here": "index.html", "tracks": shown, "rest": rest,
            "same": same, "listed": listed, "named": title, "made": made(listed),
            "proofs": beside.proofs, "curve": six.speed_up(load) if told["strips"] else "", "limits": html.raw(site_pages.limits())}
    repo.write_text(path, html.render("site.html", **view, **told))
    return path
