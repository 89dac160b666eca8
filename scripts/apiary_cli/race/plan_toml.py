"""A plan of one's own: a TOML file, as METHODOLOGY.md describes it. Whatever it does not say is as in the plan quick."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from pathlib import Path

from ..base import given
from ..base.errors import Fault, USAGE, unknown
from . import plans

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


MOST = {"blocks": 1000, "warmup_blocks": 1000, "block_ms": 60_000, "limit_minutes": 60 * 24 * 365, "workers": 4096}
MOST_SECONDS, MOST_POSTS, MOST_PARAMETER = 3600.0, 10**7, 2**32 - 1
WORD = re.compile(r"[a-z][a-z0-9_]*")


def whole(path: Path, key: str, value: object, least: int = 1, most: int = given.MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        seen = repr(value) if len(repr(value)) < 60 else f"{repr(value)[:60]}…"
        raise refuse(path, f"{key} is {seen}", f"{key} is a whole number from {least} to {most}")
    return value


def of(told: dict, path: Path) -> plans.Plan:
    for key in told:
        if key not in KEYS:
            raise unknown("key of a plan", key, KEYS)
    numbers = {key: whole(path, key, told[key], most=MOST.get(key, given.MOST)) for key in NUMBERS if key in told}
    for key in WORDS:
        if not isinstance(told.get(key, True), bool):
            raise refuse(path, f"{key} is {told[key]!r}", f"{key} is true or false")
    names, points = told.get("subjects", []), told.get("point", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise refuse(path, f"subjects is {names!r}", 'a list of names: subjects = ["hive", "tokio"]')
    if not isinstance(points, list) or not points or not all(isinstance(one, dict) for one in points):
        raise refuse(path, "it has no point", "at least one [[point]] with a scenario")
    limit = numbers.pop("limit_minutes", 0)
    rounds = numbers.setdefault("rounds", plans.plan("quick").rounds)
    numbers.setdefault("least_rounds", rounds if not limit else 1)
    return dataclasses.replace(
        plans.plan("quick"),
        name=path.name,
        points=tuple(dict.fromkeys(point(one, path) for one in points)),
        subjects=tuple(names),
        limit=60.0 * limit or None,
        **numbers,
        **{key: told[key] for key in WORDS if key in told},
    )


def point(told: dict, path: Path) -> plans.Point:
    for key in told:
        if key not in POINT_KEYS:
            raise unknown("key of a point", key, POINT_KEYS)
    name, params = told.get("scenario", ""), told.get("params", {})
    if not isinstance(name, str) or name not in plans.SCENARIOS:
        raise unknown("scenario", str(name), plans.SCENARIOS)
    scenario = plans.SCENARIOS[name]
    if not isinstance(params, dict):
        raise refuse(path, f"params of {name} is {params!r}", "params = { rate = 1000 }")
    for key, value in params.items():
        if key not in scenario.parameters:
            raise unknown(f"parameter of {name}", key, scenario.parameters)
        if isinstance(value, str) and key == "service" and WORD.fullmatch(value):
            continue
        whole(path, f"{key} of {name}", value, int(key in ("pending", "producers", "threads")), MOST_PARAMETER)
    placement = told.get("placement", "free")
    if placement not in plans.PLACEMENTS:
        raise unknown("placement", str(placement), plans.PLACEMENTS)
    seconds = told.get("seconds", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not (
        0 < seconds <= MOST_SECONDS if scenario.open_loop else seconds == 0
    ):
        kind = f"needs seconds above 0, at most {MOST_SECONDS:.0f}" if scenario.open_loop else "takes no seconds"
        raise refuse(path, f"seconds of {name} is {seconds!r}", f"{name} {kind}")
    if scenario.open_loop:
        rate = whole(path, f"rate of {name}", params.get("rate"), most=10**9)
        if not 1 <= round(rate * seconds) <= MOST_POSTS:
            raise refuse(path, f"{name} has {round(rate * seconds)} posts", f"rate × seconds is from 1 to {MOST_POSTS}")
    made = dataclasses.replace(plans.blocks(name, placement, **params), plan_seconds=float(seconds))
    return plans.with_workers(made, whole(path, "workers", told["workers"], most=MOST["workers"])) if "workers" in told else made
