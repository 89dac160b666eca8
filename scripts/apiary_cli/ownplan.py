"""A plan of one's own: a TOML file, as METHODOLOGY.md describes it. Whatever it does not say is as in the plan quick."""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path

from . import plans
from .errors import Fault, USAGE, unknown

NUMBERS = ("rounds", "least_rounds", "batches", "blocks", "block_ms", "warmup_blocks", "limit_minutes")
WORDS = ("controls", "gates")
KEYS = (*NUMBERS, *WORDS, "subjects", "point")
POINT_KEYS = ("scenario", "workers", "placement", "seconds", "params")


def read(path: Path) -> plans.Plan:
    try:
        told = tomllib.loads(path.read_text())
    except OSError as error:
        raise Fault(
            f"the plan {path} cannot be read", str(error.strerror), "METHODOLOGY.md has an example to begin with", USAGE
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Fault(f"the plan {path} is no TOML", str(error), "METHODOLOGY.md has an example", USAGE) from error
    return of(told, path)


def refuse(path: Path, seen: str, remedy: str) -> Fault:
    return Fault(f"the plan {path}: {seen}", "", remedy, USAGE)


def whole(path: Path, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise refuse(path, f"{key} is {value!r}", f"{key} is a whole number from 1")
    return value


def of(told: dict, path: Path) -> plans.Plan:
    for key in told:
        if key not in KEYS:
            raise unknown("key of a plan", key, KEYS)
    given = {key: whole(path, key, told[key]) for key in NUMBERS if key in told}
    for key in WORDS:
        if not isinstance(told.get(key, True), bool):
            raise refuse(path, f"{key} is {told[key]!r}", f"{key} is true or false")
    names, points = told.get("subjects", []), told.get("point", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refuse(path, f"subjects is {names!r}", 'a list of names: subjects = ["hive", "tokio"]')
    if not isinstance(points, list) or not points or not all(isinstance(one, dict) for one in points):
        raise refuse(path, "it has no point", "at least one [[point]] with a scenario")
    limit = given.pop("limit_minutes", 0)
    rounds = given.setdefault("rounds", plans.plan("quick").rounds)
    given.setdefault("least_rounds", rounds if not limit else 1)
    return dataclasses.replace(
        plans.plan("quick"),
        name=path.name,
        points=tuple(dict.fromkeys(point(one, path) for one in points)),
        subjects=tuple(names),
        limit=60.0 * limit or None,
        **given,
        **{key: told[key] for key in WORDS if key in told},
    )


def point(told: dict, path: Path) -> plans.Point:
    for key in told:
        if key not in POINT_KEYS:
            raise unknown("key of a point", key, POINT_KEYS)
    name, params = told.get("scenario", ""), told.get("params", {})
    if name not in plans.SCENARIOS:
        raise unknown("scenario", str(name), plans.SCENARIOS)
    scenario = plans.SCENARIOS[name]
    if not isinstance(params, dict):
        raise refuse(path, f"params of {name} is {params!r}", "params = { rate = 1000 }")
    for key, value in params.items():
        if key not in scenario.parameters:
            raise unknown(f"parameter of {name}", key, scenario.parameters)
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise refuse(path, f"{key} of {name} is {value!r}", "a whole number or a word")
    placement = told.get("placement", "free")
    if placement not in plans.PLACEMENTS:
        raise unknown("placement", str(placement), plans.PLACEMENTS)
    seconds = told.get("seconds", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or (seconds > 0) != scenario.open_loop:
        kind = "needs seconds above 0" if scenario.open_loop else "takes no seconds"
        raise refuse(path, f"seconds of {name} is {seconds!r}", f"{name} {kind}")
    if scenario.open_loop:
        whole(path, f"rate of {name}", params.get("rate"))
    made = dataclasses.replace(plans.blocks(name, placement, **params), plan_seconds=float(seconds))
    return plans.with_workers(made, whole(path, "workers", told["workers"])) if "workers" in told else made
