"""results/index.html: what lies in results/, each with its verdict; and results/history.html: the gated figures over commits.
Ready for static hosting."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from ..base import commits, repo, stats
from ..base.errors import Fault
from ..base.say import human
from ..race import folder as folders, metrics
from ..analysis import comparing, summary, verdict
from . import html, svg

EMPTY = dict.fromkeys(("page", "what", "rounds", "commit", "machine", "why"), "")


def of_race(folder: Path, history: dict) -> dict:
    """Of a folder that a race, a qualification or a sweep left. What cannot be read is listed with the reason."""
    page = next((name for name in ("report.html", "summary.md") if (folder / name).exists()), "")
    told = EMPTY | {"name": folder.name, "page": page, "kind": "note"}
    try:
        env, rows, comparisons = summary.load(folder)
    except Fault as fault:
        return told | {"word": "unreadable", "why": fault.cause or fault.seen}
    race, found = env["race"], verdict.of(env, rows, comparisons)
    told |= {
        "what": str(race.get("command") or f"plan {race.get('plan')}"), "rounds": summary.rounds_line(race),
        "commit": summary.commit(race), "machine": summary.machine(env), "word": found.word, "kind": "good" if found.published else "bad" if found.word == comparing.INVALID else "note",
        "why": ". ".join(filter(None, (summary.try_line(race), verdict.why(found)))),
    }
    if (folder / "compare.csv").exists():  # a race; in a sweep or an ablation the arms are settings
        gated(told, rows, history)
    return told


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
            [f"{told['name']} {subject if len(subjects) > 1 else ''}", told["commit"], told["word"], human(median),
             f"{human(low)} – {human(high)}", n]
            for told, median, low, high, n in reversed(found)
        ]
    colours = {subject: f"c{i % html.COLOURS}" for i, subject in enumerate(marks)}
    label, across = f"{html.place(key)} over commits", "result folder, the oldest first"
    drawn = html.raw(svg.xy_chart(marks, colours, label, across, ordinal=True))
    named = html.macro("keys", colours.items()) if len(marks) > 1 else ""
    return {"name": html.place(key), "drawn": named + drawn, "rows": rows}


def write() -> Path:
    """Both pages; returns the list."""
    found = (one.parent for one in repo.RESULTS.glob("*/env.json") if not one.parent.name.endswith(folders.UNFINISHED))
    history = defaultdict(lambda: defaultdict(list))
    listed = [of_race(folder, history) for folder in sorted(found, key=lambda one: one.name)]
    named = [(name, one["commit"][:12]) for name, one in commits.baselines().items()]
    path = repo.RESULTS / "index.html"
    rows = [[html.macro("folder", one), html.macro("batch", one), one["rounds"], html.macro("code", one["commit"]), one["machine"]]
            for one in reversed(listed)]
    repo.write_text(path, html.render("index.html", title="Apiary: results", rows=rows))
    points = [history_point(key, subjects) for key, subjects in sorted(history.items())]
    view = {"title": "Apiary: history", "points": points, "baselines": named}
    repo.write_text(path.with_name("history.html"), html.render("history.html", **view))
    return path
