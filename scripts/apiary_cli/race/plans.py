"""The plans: which points of which scenarios, how many rounds. Ours stand in bench/plans/, a user's where it likes; all are
read here, and METHODOLOGY.md has the keys. Whatever a plan does not say is as in the plan quick."""

from __future__ import annotations

import dataclasses
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..base.errors import Fault, USAGE, unknown
from . import toml_file
from .metrics import Metric
from .scenarios import BENCH, SCENARIOS, Scenario
from .tables import label_of, params_text
from .toml_file import TomlFile

PLACEMENTS = ("free", "one_cpu")
RUNNERS = ("quota", "rivals", "workers")  # among a point's parameters: those that the runner obeys and no subject is told as one
FOLDER, USUAL = BENCH / "plans", "quick"
MOST_MINUTES, MOST_SECONDS, MOST_POSTS, MOST_PARAMETER = 60 * 24 * 365, 3600.0, 10**7, 2**32 - 1
AT_LEAST_ONE = ("pending", "producers", "threads")  # parameters of which 0 makes no sense
WORD = re.compile(r"[a-z][a-z0-9_]*")
BRIEF_SECONDS = 0.2  # of an open loop
LEAST_PUBLISHED = 10  # rounds of a batch; what has fewer is not published

SIZES = {  # what every plan has of its own or as in USUAL
    "rounds": toml_file.whole(), "least_rounds": toml_file.whole(), "batches": toml_file.whole(),
    "blocks": toml_file.whole(most=1000), "block_ms": toml_file.whole(most=60_000), "warmup_blocks": toml_file.whole(most=1000),
    "controls": toml_file.flag, "gates": toml_file.flag,
}
KINDS = SIZES | {
    "most_rounds": toml_file.whole(), "what": toml_file.text, "takes": toml_file.text, "subjects": toml_file.names('["hive", "tokio"]', 0),
    "limit_minutes": toml_file.above_zero(MOST_MINUTES), "points_of": toml_file.text, "brief": toml_file.flag,
    "point": toml_file.tables('{ scenario = "successor" }', 0),
}
POINT = {
    "scenario": toml_file.one_of("scenario", SCENARIOS), "rivals": toml_file.whole(most=64), "quota": toml_file.whole(most=409_600),
    "workers": toml_file.whole(most=4096),
    "placement": toml_file.one_of("placement", PLACEMENTS), "seconds": toml_file.above_zero(MOST_SECONDS),
    "times": toml_file.whole(most=100), "every": toml_file.whole(most=100), "blocks": toml_file.whole(most=1000),
    "params": toml_file.table("{ rate = 1000 }"),
}


@dataclass(frozen=True)
class Point:
    """A scenario with its parameters and placement: one row of the comparison."""

    scenario: Scenario
    params: tuple[tuple[str, str], ...]
    placement: str = "free"
    plan_seconds: float = 0.0
    times: int = field(default=1, compare=False)  # runs of each arm in a round; each is a pair of its own
    every: int = field(default=1, compare=False)  # it runs in the first of so many rounds
    measured: int | None = field(default=None, compare=False)  # blocks of a run; None: as many as the plan says

    @property
    def metric(self) -> Metric:
        """What the point is known by, and what its slow-down is calibrated on."""
        return self.scenario.metrics_at(self.placement)[0]

    @property
    def controlled(self) -> bool:
        """Gets the control arm with a built-in slow-down."""
        return self.scenario.calibrated or self.metric.gates

    @property
    def params_text(self) -> str:
        return params_text(dict(self.params))

    @property
    def key(self) -> tuple[str, str, str]:
        """What the tables know it by: scenario, scenario_params, placement."""
        return self.scenario.name, self.params_text, self.placement

    @property
    def columns(self) -> dict[str, str]:
        return dict(zip(("scenario", "scenario_params", "placement"), self.key))

    @property
    def label(self) -> str:
        return label_of(self.key)

    @property
    def workers(self) -> int | None:
        """A point may fix the number of workers; else it is the race's."""
        value = dict(self.params).get("workers")
        return int(value) if value else None

    @property
    def rivals(self) -> int:
        """So many processes of the runner compute beside each run, where it is pinned to: somebody else's work."""
        return int(dict(self.params).get("rivals", 0))

    @property
    def quota(self) -> int:
        """Hundredths of a processor that each run may use, all its threads together; 0: no limit."""
        return int(dict(self.params).get("quota", 0))

    def runs_in(self, number: int) -> bool:
        """Whether it is one of the points of that round, from 1."""
        return (number - 1) % self.every == 0

    def ops(self) -> int | None:
        """The number of operations, where it is fixed beforehand."""
        if self.scenario.open_loop:
            return round(int(dict(self.params)["rate"]) * self.plan_seconds)
        value = dict(self.params).get("ops")
        return int(value) if value else None

    def time_limit(self) -> float:
        """After this a run counts as hung: far above what it should take."""
        params = dict(self.params)
        expected = self.plan_seconds
        if "delay_us" in params:
            expected = int(params.get("ops", 200)) * int(params["delay_us"]) / 1e6 / int(params.get("pending", 1))
        return 30.0 + 5 * expected


@dataclass(frozen=True)
class Plan:
    """How much of it: points, rounds, batches, and how long the blocks are."""

    name: str
    points: tuple[Point, ...]
    rounds: int
    least_rounds: int
    batches: int = 1
    block_ms: int = 100
    blocks: int = 3
    warmup_blocks: int = 5
    controls: bool = True
    gates: bool = False  # an INVALID batch ends with status 4
    what: str = ""
    takes: str = ""  # how long, in words
    subjects: tuple[str, ...] = ()  # raced unless --subject says otherwise; empty: all that are built
    limit: float | None = None  # seconds after which no round beyond least_rounds begins
    most_rounds: int = 0  # of a batch: those beyond `rounds` go to the points that cannot tell a tenth yet (sharpening.py)


# ----------------------------------------------------------------------------------------------------- reading


def read(path: Path, above: tuple[str, ...] = ()) -> Plan:
    """`above` are the plans whose points_of led here."""
    file = TomlFile(path, "the plan", "METHODOLOGY.md")
    told = file.record(file.read(), KINDS, "a plan")
    ours = path.parent == FOLDER
    name = path.stem if ours else path.name
    limit = 60 * told["limit_minutes"] if "limit_minutes" in told else None
    usual = {} if ours and path.stem == USUAL else {key: getattr(plan(USUAL), key) for key in SIZES if key != "least_rounds"}
    said = usual | {key: told[key] for key in (*SIZES, "most_rounds", "subjects", "what", "takes") if key in told}
    said.setdefault("least_rounds", 1 if limit else said.get("rounds"))
    for key, kind in SIZES.items():
        if said.get(key) is None:
            usual_word = "true" if kind is toml_file.flag else 10
            raise file.refuse(f"it has no {key}", f"{key} = {usual_word}", "other plans take it from here")
    return Plan(name=name, points=points(file, told, (*above, name)), limit=limit, **said)


def points(file: TomlFile, told: dict, above: tuple[str, ...]) -> tuple[Point, ...]:
    """Those of `points_of`, then its own; all brief where it says so."""
    found, other = [], told.get("points_of")
    if other:
        if other in above:
            raise file.refuse(f"points_of leads in a circle: {' → '.join((*above, other))}", "give one of them its own points")
        found += read(path_of(other), above).points
    found += [point(file, one) for one in told.get("point", ())]
    if not found:
        raise file.refuse("it has no point", "at least one [[point]] with a scenario, or points_of = \"gate\"")
    if told.get("brief"):
        return tuple(dict.fromkeys(map(brief, found)))
    alone(file, found)
    return tuple(dict.fromkeys(found))


def alone(file: TomlFile, found: list[Point]) -> None:
    """What the tables know by one name is one point; a histogram's table does not know the placement."""
    names: dict[tuple[str, ...], Point] = {}
    for one in found:
        whole = one.key if not one.scenario.histogram else one.key[:2]
        other = names.setdefault(whole, one)
        if vars(other) != vars(one):  # with what does not compare
            which = "placement" if other.placement != one.placement else "seconds, times, every or blocks"
            raise file.refuse(f"{one.label} stands in it twice, with another {which}", "one of the two, or a plan for each")


def point(file: TomlFile, told: dict, kinds: dict[str, toml_file.Kind] = POINT) -> Point:
    said = file.record({"scenario": ""} | told, kinds, "a point")
    scenario, params = SCENARIOS[said["scenario"]], said.get("params", {})
    name = scenario.name
    for key, value in params.items():
        if key not in scenario.parameters:
            raise file.unknown(f"parameter of {name}", key, scenario.parameters)
        if key not in scenario.words:
            toml_file.whole(int(key in AT_LEAST_ONE), MOST_PARAMETER)(file, f"{key} of {name}", value)
        elif not isinstance(value, str) or not WORD.fullmatch(value):
            raise file.refuse(f"{key} of {name} is {value!r}", f"{key} is a word of small letters, digits and _")
    seconds = said.get("seconds", 0.0)
    if bool(seconds) != scenario.open_loop:
        kind = f"needs seconds above 0, at most {MOST_SECONDS:.0f}" if scenario.open_loop else "takes no seconds"
        raise file.refuse(f"seconds of {name} is {seconds:g}", f"{name} {kind}")
    if scenario.open_loop:
        posts = round(toml_file.whole(most=10**9)(file, f"rate of {name}", params.get("rate")) * seconds)
        if not 1 <= posts <= MOST_POSTS:
            raise file.refuse(f"{name} has {posts} posts", f"rate × seconds is from 1 to {MOST_POSTS}")
    fixed = [(key, str(said[key])) for key in RUNNERS if key in said]
    whole = (*((key, str(params[key])) for key in sorted(params)), *fixed)
    return Point(scenario, whole, said.get("placement", "free"), seconds, said.get("times", 1), said.get("every", 1),
                 said.get("blocks"))


def brief(point: Point) -> Point:
    """At a size at which a run takes a moment: is the work right?"""
    params = dict(point.params) | dict(point.scenario.brief)
    seconds = min(point.plan_seconds, BRIEF_SECONDS)
    return dataclasses.replace(point, params=tuple(sorted(params.items())), plan_seconds=seconds)


def path_of(name: str) -> Path:
    known = {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}
    if name not in known:
        raise unknown("plan", name, known)
    return known[name]


@functools.cache
def plan(name: str) -> Plan:
    """One of ours."""
    return read(path_of(name))


def every() -> list[Plan]:
    """All of ours, by their names."""
    return [plan(path.stem) for path in sorted(FOLDER.glob("*.toml"))]


def narrowed(
    chosen: Plan, scenarios: list[str], rounds: int | None, placement: str | None, minutes: float | None = None,
    block_ms: int | None = None, labels: list[str] | None = None,
) -> Plan:
    """The plan with only these scenarios, only the points so labelled, another number of rounds, another placement,
    another limit of time."""
    for name in scenarios:
        if name not in SCENARIOS:
            raise unknown("scenario", name, SCENARIOS)
    points = (point for point in chosen.points if not scenarios or point.scenario.name in scenarios)
    known = {point.label: point for point in (dataclasses.replace(p, placement=placement or p.placement) for p in points)}
    wanted = dict.fromkeys(" ".join(label.split()) for label in labels or ())
    for label in wanted:
        if label not in known:
            raise unknown(f"point of the plan {chosen.name}", label, known)
    part = scenarios or labels or placement
    if rounds is not None and chosen.name == "publish" and rounds < LEAST_PUBLISHED and not part:
        cause = f"what is published has {LEAST_PUBLISHED} rounds in each batch at least"
        remedy = f"--rounds {LEAST_PUBLISHED}, or --plan quick --rounds {rounds}"
        raise Fault(f"--plan publish --rounds {rounds}", cause, remedy, USAGE)
    count, limit = rounds or chosen.rounds, 60 * minutes if minutes else None if rounds else chosen.limit
    least = count if rounds and not minutes else min(count, chosen.least_rounds)
    return dataclasses.replace(
        chosen, points=tuple(known[label] for label in wanted or known), rounds=count, least_rounds=least, limit=limit,
        block_ms=block_ms or chosen.block_ms, most_rounds=0 if rounds else chosen.most_rounds,
    )
