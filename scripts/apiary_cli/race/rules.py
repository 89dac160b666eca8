"""The rules of a worker, as bench/contract/rules.toml tells of them. `tune --ablate` races them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import unknown
from . import plans
from .plans import Point
from .scenarios import BENCH
from .toml_file import TomlFile

LIST = BENCH / "contract" / "rules.toml"
WORKERS = (2, 4)  # every point is raced with each of these
MOST_OFF = 1 << 32  # the most that a subject takes
KEYS = ("rule", "everywhere", "sizes")
RULE_KEYS = ("name", "switch", "off", "decisions", "made_for", "metrics", "points")  # all of which a rule has
POINT_KEYS = tuple(key for key in plans.POINT_KEYS if key not in ("workers", "times", "every"))


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
        return column in self.metrics and key in map(key_of, self.points)

    def places(self) -> list[tuple[str, str, str, str]]:
        """Every figure that it was made for: scenario, parameters, placement, metric."""
        return [(*key_of(point), column) for point in self.points for column in self.metrics]


def key_of(point: Point) -> tuple[str, str, str]:
    return point.scenario.name, point.params_text, point.placement


def read(path: Path = LIST) -> tuple[tuple[Rule, ...], tuple[Point, ...], tuple[str, ...]]:
    """The rules; the points where all are raced; the workers' other numbers."""
    file = TomlFile(path, "the list of rules", f"bench/contract/{LIST.name} of the commit")
    told = file.read()
    file.only(told, KEYS, "the list of rules")
    own = told.get("rule", [])
    if not isinstance(own, list) or not own or not all(isinstance(one, dict) for one in own):
        raise file.refuse("it has no rule" if own == [] else f"rule is {own!r}", "at least one [[rule]] with a name")
    found = tuple(rule(file, one) for one in own)
    sizes = filled(file, "sizes", told.get("sizes", []), '["global_batch"]')
    numbers = [*(one.switch for one in found), *sizes]
    for name in numbers:
        if numbers.count(name) > 1:
            raise file.refuse(f"{name} stands there twice", "a number switches one rule off, or is a size")
    return found, points(file, "everywhere", told.get("everywhere", [])), sizes


def rule(file: TomlFile, told: dict) -> Rule:
    file.only(told, RULE_KEYS, "a rule")
    name = file.text("name of a rule", told.get("name"))
    for key in RULE_KEYS:
        if key not in told:
            raise file.refuse(f"the rule {name} has no {key}", f"the comment at its head says what {key} is")
    found = points(file, f"points of {name}", told["points"])
    metrics = filled(file, f"metrics of {name}", told["metrics"], '["ns_per_op"]')
    for point in found:
        known = [metric.column for metric in point.scenario.metrics_at(point.placement)]
        for one in metrics:
            if one not in known:
                raise file.unknown(f"metric of {point.label}", one, known)
    return Rule(
        name,
        file.text(f"switch of {name}", told["switch"]),
        file.whole(f"off of {name}", told["off"], 0, MOST_OFF),
        filled(file, f"decisions of {name}", told["decisions"], '["D35"]'),
        file.text(f"made_for of {name}", told["made_for"]),
        metrics,
        found,
    )


def filled(file: TomlFile, key: str, value: object, example: str) -> tuple[str, ...]:
    """At least one name."""
    found = file.names(key, value, example)
    if not found:
        raise file.refuse(f"{key} is empty", f"at least one: {key.split()[0]} = {example}")
    return found


def points(file: TomlFile, key: str, value: object) -> tuple[Point, ...]:
    """At least one, each with each number of workers."""
    if not isinstance(value, list) or not value or not all(isinstance(one, dict) for one in value):
        raise file.refuse(f"{key} is {value!r}", f'at least one: {key.split()[0]} = [{{scenario = "successor"}}]')
    found = dict.fromkeys(plans.point(file, one, POINT_KEYS) for one in value)
    return tuple(
        dataclasses.replace(point, params=(*point.params, ("workers", str(workers)))) for point in found for workers in WORKERS
    )


RULES, EVERYWHERE, SIZES = read()


def named(switches: list[str]) -> tuple[Rule, ...]:
    """The rules of these switches; all, where none is named."""
    known = {rule.switch: rule for rule in RULES}
    for switch in switches:
        if switch not in known:
            raise unknown("rule", switch, known)
    return tuple(known[switch] for switch in dict.fromkeys(switches)) or RULES
