"""The site's pages beside the first: proofs, curves, the museum, the trophies, and what would refute a claim."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from ..base import repo, stats
from ..base.say import human
from ..race import metrics, tables
from ..race.scenarios import SCENARIOS
from ..analysis import comparing, metg
from . import html, page_data, prove_page, six, svg

PAGES = [("index.html", "Six schedulers"), ("proofs.html", "Proofs"), ("curves.html", "Curves"), ("museum.html", "Museum"),
         ("trophies.html", "Trophies"), ("refute.html", "Refute it"), ("history.html", "History")]
CATALOGUE = repo.ROOT / "model_check" / "museum" / "catalogue.csv"
PROSE = {"trophies.html": repo.ROOT / "model_check" / "outside" / "TROPHIES.md", "refute.html": repo.ROOT / "REFUTE.md"}
BUDGET = "idle_cpu"  # hundredths of a processor for looking on: a parameter of a point
PLOTTED = ("post_throughput", "spawn_many_local", "fib", "uts", "graph", "msg_throughput", "msg_ping_pong")  # first, of the virtual curves


@dataclass(frozen=True)
class Beside:
    pages: list[tuple[str, str]]  # those that were written, the first page among them
    proofs: str  # in a sentence; empty: there is no record


def write(load: six.Load, races: list[Path], history: bool) -> Beside:
    """`races`: those that are published, the oldest first."""
    record, mutants = prove_page.newest_record()
    curves = all_curves(load, races)
    there = {"index.html": True, "proofs.html": bool(record), "curves.html": bool(curves), "museum.html": CATALOGUE.exists(),
             "history.html": history, **{name: page.exists() for name, page in PROSE.items()}}
    pages = [one for one in PAGES if there[one[0]]]
    if record:
        prove_page.write(record["verdicts"], [], record, repo.RESULTS / "proofs.html", mutants, pages)
    if curves:
        repo.write_text(repo.RESULTS / "curves.html", html.render("curves.html", title="Apiary: curves", pages=pages, here="curves.html", curves=curves))
    if CATALOGUE.exists():
        repo.write_text(repo.RESULTS / "museum.html", html.render("prose.html", title="Apiary: museum", pages=pages, here="museum.html", **museum(record)))
    for name, title in pages:
        if name in PROSE:
            body = html.raw(prose(PROSE[name].read_text()))
            repo.write_text(repo.RESULTS / name, html.render("prose.html", title=f"Apiary: {title.lower()}", pages=pages, here=name, body=body))
    return Beside(pages, prove_page.sentence(record, mutants) if record else "")


# ------------------------------------------------------------------------------------------------------- curves


SEEN: dict[str, str] = {}  # program -> its colour, the same in all charts


def colour(program: str) -> str:
    return SEEN.setdefault(program, f"c{len(SEEN) % html.COLOURS}")


def chart(name: str, caption: str, series: dict[str, list[svg.Mark]], across: str, said=None, write=human) -> dict:
    """A drawing, and the same figures as a table below it."""
    colours = {one: colour(one) for one in series}
    xs = sorted({mark.x for marks in series.values() for mark in marks})
    rows = []
    for one, marks in series.items():
        by = {mark.x: mark for mark in marks}
        rows.append([one, *(cell(by.get(x), write) for x in xs)])
    return {"name": name, "caption": caption, "drawn": html.macro("keys", colours.items()) + html.raw(svg.xy_chart(series, colours, name, across, said=said)),
            "head": ["", *(f"{x:g}:n" for x in xs)], "rows": rows}


def cell(mark: svg.Mark | None, write) -> str:
    if not mark:
        return ""
    return write(mark.value) + (f" [{write(mark.low)}, {write(mark.high)}]" if mark.low and mark.high else "")


def all_curves(load: six.Load, races: list[Path]) -> list[dict]:
    """What people would look for first: more processors; latency under load, and its price; the smallest task that pays."""
    out, newest = [], list(reversed(races))
    if wide := six.widest(load):
        out.append({"name": "More processors, measured", "about": about(wide), "charts": speed_ups(load(wide)[1])})
    for name, of in (("Latency, and what it costs", frontier), ("Latency under load: the 99th percentile", under_load), ("The smallest task that pays", smallest)):
        found = next(((folder, told) for folder in newest if (told := of(load(folder)))), None)
        if found:
            out.append({"name": name, "about": about(found[0]), "charts": found[1]})
    if modelled := virtual():
        told = "A model and no measurement: a server with processors in clusters of eight that does not exist. The same figures each time, so no intervals."
        out.append({"name": "To 256 processors, by a model", "about": told, "charts": modelled})
    return [one for one in out if one["charts"]]


def about(folder: Path) -> str:
    return f"Measured on {six.date(folder.name)}; the upright lines are quartiles over rounds, in brackets below."


def speed_ups(rows: list[dict[str, str]]) -> list[dict]:
    """Of each scenario: how many times as fast as the same program with one worker, by workers."""
    by: dict[str, dict[str, list[svg.Mark]]] = defaultdict(dict)
    for (subject, scenario), found in sorted(six.measured(rows).items()):
        if 1 in found and len(found) > 1 and not subject.endswith(("-aa", "-slow10")):
            one = stats.median(found[1])
            by[scenario][subject] = [svg.Mark(n, *(one / stats.quantile(found[n], q) for q in (0.5, 0.75, 0.25))) for n in sorted(found)]
    return [chart(f"{name}: speed-up by workers", "Over the same program with one worker: ×16 would be perfect with 16.", series, "workers", times, times)
            for name, series in by.items()]


def times(value: float) -> str:
    return f"×{value:.3g}"


def under_load(loaded: tuple) -> list[dict]:
    """The 99th percentile by offered load, where a point was raced at three rates or more."""
    by: dict[tuple, dict[str, dict[float, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    hollow: dict[tuple, list[bool]] = defaultdict(list)
    metric = next(one for one in SCENARIOS["latency_vs_load"].metrics if one.column == "lat_p99_ns")
    for row in comparing.good(loaded[1]):
        params = tables.params_of(row["scenario_params"])
        rate = params.pop("rate", "")
        if rate and BUDGET not in params and row["row_kind"] == "measure" and row.get("lat_p99_ns") and row["role"] in ("candidate", "peer"):
            at = row["scenario"], tables.params_text(params), row["placement"]
            by[at][row["subject"]][float(rate)].append(float(row["lat_p99_ns"]))
            hollow[at, row["subject"], float(rate)].append(comparing.limited(row, metric))
    out = []
    for at, subjects in sorted(by.items()):
        series = {name: [svg.Mark(rate, *(stats.quantile(values, q) for q in (0.5, 0.25, 0.75)), 2 * sum(hollow[at, name, rate]) > len(values))
                         for rate, values in sorted(found.items())] for name, found in sorted(subjects.items())}
        if len({mark.x for marks in series.values() for mark in marks}) >= 3:
            out.append(chart(html.place(at), "A hollow mark is limited by the injector, and ranks nobody.", series, "posts per second"))
    return out


def smallest(loaded: tuple) -> list[dict]:
    """Efficiency by the length of tasks, as medians: METG is where a line crosses a half."""
    out = []
    for graph, by in metg.curves(loaded[1]).items():
        series = {name: [svg.Mark(float(f"{x:.3g}"), 100 * share) for x, share in points] for name, points in by.items()}
        colours = {one: colour(one) for one in series}
        drawn = html.macro("keys", colours.items()) + html.raw(svg.xy_chart(series, colours, graph, "ns a task", said=share_of))
        rows = [[name, metg.crossing(points), *(" ".join(f"{100 * share:.0f} % at {human(x)}" for x, share in points),)] for name, points in by.items()]
        out.append({"name": graph, "drawn": drawn, "caption": "Efficiency: the time of a task without a scheduler over wall time times workers. Medians over rounds.",
                    "head": ["", "50 % at, ns:n", "efficiency"], "rows": rows})
    return out


def share_of(value: float) -> str:
    return f"{value:.3g} %"


def frontier(loaded: tuple) -> list[dict]:
    """The 99th percentile by the processor time of a post, through the budgets that a program has for looking on."""
    by: dict[tuple, dict[str, dict[int, list[tuple[float, float]]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for row in comparing.good(loaded[1]):
        params = tables.params_of(row["scenario_params"])
        budget, price = params.pop(BUDGET, ""), metrics.POST_COST.value(row)
        if budget and price and row["row_kind"] == "measure" and row.get("lat_p99_ns") and row["role"] in ("candidate", "peer"):
            at = row["scenario"], tables.params_text(params), row["placement"]
            by[at][row["subject"]][int(budget)].append((price, float(row["lat_p99_ns"])))
    out = []
    for at, subjects in sorted(by.items()):
        series = {}
        for name, found in sorted(subjects.items()):
            points = ([(stats.median([price for price, _ in values]), [late for _, late in values]) for _, values in sorted(found.items())])
            series[name] = sorted((svg.Mark(float(f"{price:.3g}"), *(stats.quantile(late, q) for q in (0.5, 0.25, 0.75))) for price, late in points),
                                  key=lambda mark: mark.x)
        if max(map(len, series.values())) > 1:
            told = chart(html.place(at), "A line goes through the budgets of one program, a dot alone has none.", series, "ns of processor time a post")
            rows = [[name, human(mark.x), cell(mark, human)] for name, marks in series.items() for mark in marks]
            out.append(told | {"head": ["", "processor time a post:n", "p99:n"], "rows": rows})
    return out


def virtual() -> list[dict]:
    """Nanoseconds for each operation by workers, a chart for each scenario."""
    by: dict[str, dict[str, list[svg.Mark]]] = defaultdict(dict)
    for (subject, scenario), found in six.modelled().items():
        if len(found) > 1:
            by[scenario][subject] = [svg.Mark(n, ns) for n, ns in sorted(found.items())]
    order = [*(name for name in PLOTTED if name in by), *sorted(set(by) - set(PLOTTED))]
    return [chart(f"{name}: time of an operation by workers", "", by[name], "workers") for name in order]


# ----------------------------------------------------------------------------------------------- museum, prose


def museum(record: dict | None) -> dict:
    """The catalogue of defects, each with the engines that caught its exhibits in the newest record."""
    caught: dict[str, set[str]] = defaultdict(set)
    for v in (record or {}).get("verdicts", []):
        if v["kind"] == "exhibit" and v.get("verdict") == "fail" and v.get("as_expected") is True:
            caught[v["name"].split("_")[0].upper()].add(v.get("engine") or "")
    with CATALOGUE.open(newline="") as file:
        rows = [[one["id"], one["defect"], one["source"], ", ".join(sorted(caught[one["id"]])) or told(one)] for one in csv.DictReader(file)]
    seen = sum(bool(caught[row[0]]) for row in rows)
    return {"heading": "Museum of defects", "lead": f"{len(rows)} ways in which schedulers went wrong, in published code and in designs. {seen} stand here as small "
            "programs that a model check must catch; without that, a checker that finds nothing would look like one that proves. A seed is one of the design texts "
            "that the schedulers were made from.",
            "head": ["", "defect", "where it comes from", "caught by"], "rows": rows}


def told(one: dict[str, str]) -> str:
    return one.get("shown_by") or (f"not yet: {one['not_yet_seen']}" if one.get("not_yet_seen") else "not exhibited")


def limits() -> str:
    """What README.md says of what the figures do not tell."""
    page = repo.ROOT / "README.md"
    found = re.search(r"^## Limits\n(.*?)(?=^[^-\s]|\Z)", page.read_text() if page.exists() else "", re.M | re.S)
    return prose(found[1]) if found else ""


def prose(text: str) -> str:
    """Markdown as HTML. A link that leads out of this folder is left as words: the host has the folder alone."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    return re.sub(r'<a href="(?!https?://|#)[^"]*">(.*?)</a>', r"\1", body, flags=re.S)
