"""results/index.html: what lies in results/, each with its verdict; and results/history.html: the gated figures over commits.
Ready for static hosting."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from ..base import commits, repo, stats
from ..base.errors import Fault
from ..base.say import human
from ..race import folder as folders, metrics
from ..analysis import comparing, summary
from . import html, svg

KIND = {comparing.VALID: "good", comparing.INVALID: "bad"}
EMPTY = dict.fromkeys(("page", "what", "rounds", "commit", "machine", "why"), "")


def of_race(folder: Path, history: dict) -> dict:
    """Of a folder that a race, a qualification or a sweep left. What cannot be read is listed with the reason."""
    page = next((name for name in ("report.html", "summary.md") if (folder / name).exists()), "")
    told = EMPTY | {"name": folder.name, "page": page, "kind": "note"}
    try:
        env, rows, comparisons = summary.load(folder)
    except Fault as fault:
        return told | {"word": "unreadable", "why": fault.cause or fault.seen}
    race, machine, found = env["race"], env.get("machine", {}), comparing.validity(comparisons)
    more = f"and {len(found.reasons) - 1} more" if len(found.reasons) > 1 else ""
    told |= {
        "what": str(race.get("command") or f"plan {race.get('plan')}"), "rounds": summary.rounds_line(race),
        "commit": str(race.get("commit", ""))[:12] + (" with changes" if race.get("dirty") else ""),
        "machine": f"{machine.get('cpu', 'unknown CPU')}, {machine.get('cpus', '?')} CPUs",
        "word": found.word, "kind": KIND.get(found.word, "note"),
        "why": "; ".join(filter(None, (summary.try_line(race, found.word), *found.reasons[:1], more))),
    }
    if (folder / "compare.csv").exists():  # a race; in a sweep or an ablation the arms are settings
        gated(told, rows, history)
    return told


def gated(told: dict, rows: list[dict[str, str]], history: dict) -> None:
    """Adds the folder's gated figures of our subjects to `history`: (point, subject) -> [(folder, median, quartiles, rounds)]."""
    values = defaultdict(list)
    for row in comparing.good(rows):
        value = metrics.PROCESSOR.value(row) if row["role"] == "candidate" and row["placement"] == "one_cpu" else None
        if value and row["row_kind"] == "measure":
            values[comparing.key_of(row), row["subject"]].append(value)
    for key, found in values.items():
        history[key].append((told, *(stats.quantile(found, q) for q in (0.5, 0.25, 0.75)), len(found)))


def entries(results: Path) -> tuple[list[dict], dict]:
    """The newest first; and the history, the oldest first."""
    found = (one.parent for one in results.glob("*/env.json") if not one.parent.name.endswith(folders.UNFINISHED))
    history = defaultdict(list)
    listed = [of_race(folder, history) for folder in sorted(found, key=lambda one: one.name)]
    return listed[::-1], history


def history_points(history: dict) -> list[dict]:
    head = [("folder", ""), ("commit", ""), ("batch", ""), ("median", "n"), ("quartiles", "n"), ("rounds", "n")]
    by_point = defaultdict(dict)
    for (key, subject), found in sorted(history.items()):
        by_point[key][subject] = found
    out = []
    for key, subjects in by_point.items():
        names = list(dict.fromkeys(told["name"] for found in subjects.values() for told, *_ in found))
        names.sort()
        marks = {
            subject: [svg.Mark(names.index(told["name"]) + 1, median, low, high, told["word"] != comparing.VALID)
                      for told, median, low, high, _ in found]
            for subject, found in subjects.items()
        }
        colours = {subject: f"c{i % html.COLOURS}" for i, subject in enumerate(marks)}
        drawn = html.raw(svg.xy_chart(marks, colours, f"{html.place(key)} over commits", across="result folder, the oldest first"))
        rows = [
            ("", [f"{told['name']} {subject if len(marks) > 1 else ''}", told["commit"], told["word"], human(median),
                  f"{human(low)} – {human(high)}", n])
            for subject, found in subjects.items()
            for told, median, low, high, n in reversed(found)
        ]
        named = html.macro("keys", colours.items()) if len(marks) > 1 else ""
        out.append({"name": html.place(key), "drawn": named + drawn, "head": head, "rows": rows})
    return out


def write() -> Path:
    """Both pages; returns the list."""
    listed, history = entries(repo.RESULTS)
    named = [(name, one["commit"][:12]) for name, one in commits.baselines().items()]
    path = repo.RESULTS / "index.html"
    repo.write_text(path, html.render("index.html", title="Apiary: results", entries=listed))
    view = {"title": "Apiary: history", "points": history_points(history), "baselines": named}
    repo.write_text(path.with_name("history.html"), html.render("history.html", **view))
    return path
