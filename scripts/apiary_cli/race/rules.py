"""The rules of a worker, as bench/contract/rules.toml tells of them. `tune --ablate` races them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import unknown
from . import plans, toml_file
from .plans import Point
from .scenarios import BENCH
from .toml_file import TomlFile

LIST = BENCH / "contract" / "rules.toml"
WORKERS = (2, 4)  # every point is raced with each of these
MOST_OFF = 1 << 32  # the most that a subject takes
POINTS = toml_file.tables('{scenario = "successor"}')
KINDS = {
    "rule": toml_file.tables('{name = "…"}   ([[rule]])'), "everywhere": POINTS, "sizes": toml_file.names('["global_batch"]'),
}
RULE = {  # all of which a rule has
    "name": toml_file.text, "switch": toml_file.text, "off": toml_file.whole(0, MOST_OFF),
    "decisions": toml_file.names('["D35"]'), "made_for": toml_file.text, "metrics": toml_file.names('["ns_per_op"]'),
    "points": POINTS,
}
POINT = {key: kind for key, kind in plans.POINT.items() if key not in ("workers", "times", "every")}


@dataclass(frozen=True)
class Rule:
    """A rule, and what it must show."""

    name: str
    switch: str  # the number's name, in the parameters and in --tunables
    off: int
    decisions: tuple[str, ...]
    made_for: str
    metrics: tuple[str, ...]  # at its points, those that it was made for
    points: tuple[Point, ...]  # with each number of workers

    @property
    def setting(self) -> str:
        return f"{self.switch}={self.off}"

    def owns(self, key: tuple[str, str, str], column: str) -> bool:
        """Whether this figure at this scenario, parameters and placement is what it was made for."""
        return (*key, column) in self.places()

    def places(self) -> list[tuple[str, str, str, str]]:
        """Every figure that it was made for: scenario, parameters, placement, metric."""
        return [(*point.key, column) for point in self.points for column in self.metrics]


def read(path: Path = LIST) -> tuple[tuple[Rule, ...], tuple[Point, ...], tuple[str, ...]]:
    """The rules; the points where all are raced; the workers' other numbers."""
    file = TomlFile(path, "the list of rules", f"bench/contract/{LIST.name} of the commit")
    told = file.read()
    told = file.record(told | {key: [] for key in KINDS if key not in told}, KINDS, "the list of rules")
    found = tuple(rule(file, one) for one in told["rule"])
    numbers = [*(one.switch for one in found), *told["sizes"]]
    for name in numbers:
        if numbers.count(name) > 1:
            raise file.refuse(f"{name} stands there twice", "a number switches one rule off, or is a size")
    return found, points(file, told["everywhere"]), told["sizes"]


def rule(file: TomlFile, told: dict) -> Rule:
    name = toml_file.text(file, "name of a rule", told.get("name"))
    told = file.record(told, RULE, f"the rule {name}", name, needed=RULE)
    told["points"] = points(file, told["points"])
    for point in told["points"]:
        for one in told["metrics"]:
            known = [metric.column for metric in point.scenario.metrics_at(point.placement)]
            if one not in known:
                raise file.unknown(f"metric of {point.label}", one, known)
    return Rule(**told)


def points(file: TomlFile, told: list[dict]) -> tuple[Point, ...]:
    """Each with each number of workers."""
    found = dict.fromkeys(plans.point(file, one, POINT) for one in told)
    return tuple(dataclasses.replace(point, params=(*point.params, ("workers", str(n)))) for point in found for n in WORKERS)


RULES, EVERYWHERE, SIZES = read()


def named(switches: list[str]) -> tuple[Rule, ...]:
    """The rules of these switches; all, where none is named."""
    known = {rule.switch: rule for rule in RULES}
    for switch in switches:
        if switch not in known:
            raise unknown("rule", switch, known)
    return tuple(known[switch] for switch in dict.fromkeys(switches)) or RULES
