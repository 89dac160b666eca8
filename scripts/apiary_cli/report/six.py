"""The six schedulers at a glance: what each is for, its nearest rival, how it stands there and where it loses most; as a table
and a drawing, for a page of this repository (marks <!-- six -->) and for the site. Which race speaks for a scheduler is said by
its own page, between the marks of the race."""

from __future__ import annotations

import contextlib
import csv
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..base import repo, stats
from ..base.errors import Fault
from ..base.say import in_prose, markdown
from ..race import raced, shelf, tables
from ..analysis import comparing, peer_summary, summary, verdict
from ..analysis.comparing import Comparison
from ..verify import checks, mutation
from . import prove_page, svg

ROOMS = repo.ROOT / "impl" / "apiary" / "schedulers"
DRAWING, CURVES = repo.RESULTS / "six.svg", repo.RESULTS / "virtual" / "curves.csv"
HEAD = ["scheduler", "take it for", "nearest rival", "its time over the rival's, at the middle point", "faster, slower, undecided",
        "its worst loss", "raced"]
LEGEND = (
    "Nearest rival: of the peers at half of the points or more, the one whose middle ratio is worst for ours. Middle point: half of the "
    "points are better, half are worse. Beside its ratio stand the 95 % interval and what it tells: a smaller difference could not have "
    "been seen there. Faster, slower: the whole interval is beyond what two copies of one program differ by."
)
MEASURED, MODELLED = 16, 64  # workers
KINDS = {stats.IMPROVED: "good", stats.REGRESSED: "bad"}
Load = Callable[[Path], tuple[dict, list[dict[str, str]], list[Comparison]]]


@dataclass(frozen=True)
class Ratio:
    """A comparison as one of the two sees it."""

    ratio: float
    lo: float
    hi: float
    margin: float
    tells: str
    kind: str  # good, bad or open
    where: str
    other: str
    cost: str = ""

    @property
    def times(self) -> str:
        return f"×{stats.ratio_text(self.ratio, self.lo, self.hi)}"

    @property
    def plain(self) -> str:
        """Where, in words: its parameters stand on the scheduler's own page."""
        place, _, rest = self.where.removeprefix("`").partition("`")
        name, *more = place.split()
        return name.replace("_", " ") + " on one CPU" * ("one_cpu" in more) + rest


@dataclass(frozen=True)
class Line:
    """What is said of one scheduler. Without points: nothing that is published raced it."""

    name: str
    use: str
    folder: str = ""
    points: tuple[Ratio, ...] = ()  # against the nearest rival, by what each point is known by; the best first
    worst: Ratio | None = None
    lost: int = 0
    claims: int = 0
    fine: str = ""  # how small a difference the race could have told, at how many points
    turned: bool = False  # the race was its rival's

    @property
    def rival(self) -> str:
        return self.points[0].other if self.points else ""

    @property
    def middle(self) -> Ratio:
        return self.points[len(self.points) // 2]

    def counts(self) -> list[int]:
        return [sum(one.kind == kind for one in self.points) for kind in ("good", "bad", "open")]


def seen(one: Comparison, comparisons: list[Comparison], turned: bool) -> Ratio:
    found, kind = one.found, KINDS.get(one.verdict, "open")
    ends = (found.ratio, found.lo, found.hi)
    if turned:
        ends, kind = (1 / found.ratio, 1 / found.hi, 1 / found.lo), {"good": "bad", "bad": "good"}.get(kind, kind)
    cost = "" if turned or one.metric.spent else summary.at_cost(one, comparisons).removeprefix("; ").replace(f" of {one.ours}", "")
    return Ratio(*ends, one.margin, summary.tells(one), kind, peer_summary.where(one), one.ours if turned else one.other, cost)


def of_race(name: str, use: str, folder: Path, loaded: tuple, own: set[str], turned: bool = False) -> Line:
    """What the race of `folder` says of it. Turned: of a race that another of ours ran against it."""
    env, rows, comparisons = loaded
    told = [one for one in comparisons if one.claim and one.ranked and (one.other == name if turned else one.ours == name and foreign(one.other, own))]
    void = {comparing.CONTROL_FAILED, comparing.NO_CONTROL}
    by: dict[str, list[Ratio]] = defaultdict(list)
    for one in told:
        if comparing.known_by(one) and void.isdisjoint(one.flags):
            by[one.ours if turned else one.other].append(seen(one, comparisons, turned))
    most = max(map(len, by.values()), default=0)
    found = [tuple(sorted(points, key=lambda one: one.ratio)) for points in by.values() if 2 * len(points) >= most]
    nearest = max(found, key=lambda points: points[len(points) // 2].ratio, default=())
    lost = [view for one in told if (view := seen(one, comparisons, turned)).kind == "bad"]
    return Line(name, use, folder.name, nearest, max(lost, key=lambda one: one.ratio, default=None), len(lost), len(told),
                verdict.of(env, rows, comparisons).tells, turned)


def foreign(name: str, own: set[str]) -> bool:
    """No scheduler of ours, nor a variant of one: those are no rivals."""
    return not any(name == one or name.startswith(f"{one}_") for one in own)


def listed() -> list[tuple[str, str]]:
    """The six and what each is for, from the list of the schedulers: those that came of a design."""
    path = ROOMS / "README.md"
    rows = re.findall(r"^\| \[(\w+)\]\([^)]*\) \| (\d\d\d) \| [^|]* \| ([^|]*) \|$", path.read_text() if path.exists() else "", re.M)
    return [(name, use.strip()) for name, _, use in rows]


def shown_by(page: Path) -> Path | None:
    """The folder of the race that a page shows, if it is here."""
    told = re.search(r"<!-- race -->.*?\[results/([\w-]+)\].*?<!-- /race -->", page.read_text(), re.S) if page.exists() else None
    folder = repo.RESULTS / told[1] if told else None
    return folder if folder and (folder / "env.json").exists() else None


def published() -> dict[str, Path]:
    """The folder of the race that the page of each scheduler shows."""
    found = {page.parent.name: shown_by(page) for page in sorted(ROOMS.glob("*/README.md"))}
    return {name: folder for name, folder in found.items() if folder}


def lines(load: Load = summary.load) -> list[Line]:
    """One that raced only as a rival of another of ours is told by that race, turned round."""
    names, shown = listed(), published()
    own = {name for name, _ in names}
    told = {folder: load(folder) for folder in dict.fromkeys(shown.values())}
    out = []
    for name, use in names:
        beside = [folder for folder in shown.values() if any(one.claim and one.other == name for one in told[folder][2])]
        folder = shown.get(name) or next(iter(beside), None)
        out.append(of_race(name, use, folder, told[folder], own, turned=name not in shown) if folder else Line(name, use))
    return out


def date(stamp: str) -> str:
    """20261126T… in words."""
    months = "January February March April May June July August September October November December".split()
    return f"{int(stamp[6:8])} {months[int(stamp[4:6]) - 1]} {stamp[:4]}" if re.match(r"\d{4}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])T", stamp) else stamp


# --------------------------------------------------------------------------------------------------- for a page


def cells(one: Line, page: Path) -> list[str]:
    room = os.path.relpath(ROOMS / one.name / "README.md", page.resolve().parent)
    head = [f"[{one.name}]({room})", one.use]
    if not one.points:
        return [*head, *["–"] * 4, "not yet"]
    worst = f"{one.worst.times.partition(' ')[0]} of {one.worst.other}, {one.worst.plain}{one.worst.cost and f'; {one.worst.cost}'}" if one.worst else "none"
    rows = os.path.relpath(repo.RESULTS / one.folder, page.resolve().parent)
    when = f"[{date(one.folder)}]({rows}/summary.md){', as its rival' if one.turned else ''}"
    return [*head, one.rival, f"{one.middle.times}, tells {one.middle.tells}", ", ".join(map(str, one.counts())),
            f"{worst} ({one.lost} of {one.claims})", when]


def body(page: Path, found: list[Line], load: Load = summary.load) -> str:
    """Between the marks: the table, the drawing, and what their words mean."""
    from .splice import filled  # splice reads races alone, and this table

    drawing = os.path.relpath(DRAWING, page.resolve().parent)
    told = ["\n".join(markdown(HEAD, [cells(one, page) for one in found])), f"![each point against the nearest rival]({drawing})",
            filled(" ".join(filter(None, (LEGEND, machines(found, load)))))]
    folders = sorted({one.folder for one in found if one.folder})
    taken = proved(folders, load)
    if taken.get("prove"):
        told.append(filled(f"Proofs of its source: {prove_page.sentence(taken['prove'], same_source(taken))}"))
    if curve := speed_up(load):
        told.append(filled(curve))
    if same := raced.sentence([repo.RESULTS / folder for folder in folders]):
        told.append(filled(f"Raced at commit {in_prose(commits_of(folders, load))}. {same}"))
    return "\n\n".join(told)


def machines(found: list[Line], load: Load) -> str:
    """In a sentence: on what each was raced. Their ratios compare with one another only where that is the same."""
    by: dict[str, list[str]] = defaultdict(list)
    for one in found:
        if one.points:
            by[summary.machine(load(repo.RESULTS / one.folder)[0])].append(one.name)
    told = [f"{machine}, for {in_prose(names)}" for machine, names in by.items()]
    if len(told) > 1 and len(list(by.values())[-1]) > 1:
        told[-1] = f"{list(by)[-1]}, for the others"
    return f"Machines: {'; '.join(told)}." if len(told) > 1 else f"All raced on {next(iter(by))}." if told else ""


def commits_of(folders: list[str], load: Load) -> list[str]:
    return sorted({summary.commit(load(repo.RESULTS / folder)[0].get("race", {})) for folder in folders})


def proved(folders: list[str], load: Load) -> dict:
    """What the last publication keeps, which ends only where that and the races are of one source: checks come without a race. Without
    one, what the newest of these races took."""
    kept = {name: shelf.kept_here(record) for name, record in (("prove", checks.RECORD), ("mutation", mutation.RECORD))}
    if kept["prove"]:
        return kept
    return (load(repo.RESULTS / max(folders))[0].get("verification") or {}) if folders else {}


def same_source(taken: dict) -> dict | None:
    """The mutants, where they are of the source that was proved."""
    found = taken.get("mutation")
    return found if found and found.get("source_hash") == taken["prove"].get("source_hash") else None


def splice(page: Path) -> None:
    from .splice import between

    found = lines()
    text = between(page.read_text(), "six", body(page, found), page.name)
    repo.write_text(DRAWING, drawn(found))
    repo.write_text(page, text)


# -------------------------------------------------------------------------------------------------------- curve


def modelled() -> dict[tuple[str, str], dict[int, float]]:
    """By scheduler and scenario: nanoseconds for each operation, by workers, on the virtual machine."""
    out: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    if CURVES.exists():
        try:
            with CURVES.open(newline="") as file:
                reader = csv.DictReader(file)
                if not {"subject", "scenario", "workers", "ns"} <= set(reader.fieldnames or ()):
                    raise ValueError("another header")
                for row in reader:
                    out[row["subject"], row["scenario"]][int(row["workers"])] = float(row["ns"])
        except (KeyError, TypeError, ValueError, csv.Error) as error:
            raise Fault(f"{repo.shown(CURVES)} cannot be read", str(error), f"git checkout {repo.shown(CURVES)}") from error
    return out


def measured(rows: list[dict[str, str]]) -> dict[tuple[str, str], dict[int, list[float]]]:
    """The same of a race, the figures of all its runs."""
    out: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in comparing.good(rows):
        if row["row_kind"] == "measure" and row["placement"] == "free" and row["ns_per_op"] and "workers=" in row["scenario_params"]:
            out[row["subject"], row["scenario"]][int(row["workers"])].append(float(row["ns_per_op"]))
    return out


def widest(load: Load) -> Path | None:
    """The newest race whose points go up to so many workers, of those that may be shown."""
    for env in sorted(repo.RESULTS.glob("*/env.json"), reverse=True):
        told = repo.read_json(env) or {}
        if isinstance(told.get("race"), dict) and told["race"].get("plan") == "scaling":
            with contextlib.suppress(Fault):  # a torn folder, which the list of races tells of
                if verdict.of(*load(env.parent)).published:
                    return env.parent
    return None


def speed_up(load: Load = summary.load) -> str:
    """In a sentence: what 64 workers gain by the model, beside what 16 gained on a machine and by the model."""
    model, folder = modelled(), widest(load)
    real = {at: {n: stats.median(values) for n, values in by.items()} for at, by in measured(load(folder)[1] if folder else []).items()}
    told = []
    for at in sorted(model.keys() & real.keys()):
        by, there = model[at], real[at]
        if {1, MEASURED, MODELLED} <= by.keys() and {1, MEASURED} <= there.keys():
            told.append(f"{at[0]} `{at[1]}` ×{by[1] / by[MODELLED]:.2g} (×{by[1] / by[MEASURED]:.2g}; ×{there[1] / there[MEASURED]:.2g})")
    return (f"Speed-up with {MODELLED} workers by a model of a machine (in parentheses with {MEASURED}: by the model; measured): "
            f"{', '.join(told)}.") if told else ""


# ------------------------------------------------------------------------------------------------------ drawing

WIDE, LEFT, RIGHT, HIGH, TOP, LEAST = 860, 190, 14, 34, 26, 10.0
STYLE = """
text { font: 12px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #22231f } .soft { fill: #66665e } .name { font-weight: 600 }
.rule { stroke: #dedbd1 } .one { stroke: #22231f } .open { fill: #66665e; color: #66665e } .good { fill: #2c7a4b; color: #2c7a4b }
.bad { fill: #b3261e; color: #b3261e } .span { stroke: currentColor; stroke-width: 3; fill: none } .middle { stroke: currentColor; fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #e6e4dd } .soft { fill: #a09e95 } .rule { stroke: #35363a } .one { stroke: #e6e4dd }
.open { fill: #a09e95; color: #a09e95 } .good { fill: #6fc48f; color: #6fc48f } .bad { fill: #ff8a7f; color: #ff8a7f } }
"""
NOTE = ("a dot: one point, time of ours over the rival's; the ring: the middle one, with its 95 % interval; "
        "green: faster, red: slower, grey: undecided")


def reach(found: list[Line]) -> svg.LogScale:
    """To either side of 1 as far as points stand, and a little more: none lies beyond."""
    ratios = [1 / LEAST, LEAST, *(point.ratio for one in found for point in one.points)]
    return svg.LogScale(min(ratios) / 1.15, max(ratios) * 1.15)


def drawn(found: list[Line]) -> str:
    """A row for each scheduler; one file for light and dark."""
    scale = reach(found)
    shown = [one for one in found if one.points]
    foot = TOP + HIGH * len(shown)

    def x(ratio: float) -> str:
        return f"{LEFT + (WIDE - LEFT - RIGHT) * scale.at(ratio):.1f}"

    out = svg.tag("style", STYLE) + svg.tag("title", "time of each scheduler over that of its nearest rival, point by point")
    for tick in filter(scale.shows, (0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 1000)):
        out += svg.tag("line", x1=x(tick), x2=x(tick), y1=TOP, y2=foot, class_="one" if tick == 1 else "rule")
        out += svg.tag("text", f"×{tick:g}", x=x(tick), y=foot + 16, text_anchor="middle", class_="soft")
    out += svg.tag("text", "← ours is faster", x=LEFT, y=15, class_="soft")
    out += svg.tag("text", "the rival is faster →", x=WIDE - RIGHT, y=15, text_anchor="end", class_="soft")
    for number, one in enumerate(shown):
        y = TOP + HIGH * number + HIGH / 2
        out += svg.tag("text", one.name, x=0, y=f"{y - 1:.0f}", class_="name")
        out += svg.tag("text", svg.escape(f"over {one.rival}"), x=0, y=f"{y + 13:.0f}", class_="soft")
        for point in one.points:
            title = svg.tag("title", svg.escape(f"{point.where.replace('`', '')}: {point.times}"))
            out += svg.tag("circle", title, cx=x(point.ratio), cy=f"{y:.0f}", r=3.2, class_=point.kind, fill_opacity=0.6)
        middle = one.middle
        out += svg.tag("line", x1=x(middle.lo), x2=x(middle.hi), y1=f"{y:.0f}", y2=f"{y:.0f}", class_=f"span {middle.kind}")
        out += svg.tag("circle", cx=x(middle.ratio), cy=f"{y:.0f}", r=7, class_=f"middle {middle.kind}", style="fill: none")
    out += svg.tag("text", NOTE, x=0, y=foot + 36, class_="soft")
    return svg.tag("svg", out, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDE} {foot + 44}", role="img",
                   aria_label="time of each scheduler over that of its nearest rival, point by point") + "\n"
