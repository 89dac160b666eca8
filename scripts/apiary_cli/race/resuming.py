"""The state that an unfinished race leaves on the disk after each round, and the parts that must be the same when it goes on."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import time
from pathlib import Path

from ..base import repo
from ..base.errors import Fault, USAGE
from . import folder, rounds, tables
from .plans import Plan

ROWS, HIST = "rows.csv", "hist.csv"
SAME = ("env_id", "commit", "seed", "workers", "rounds_done", "repeats", "calibration", "audits")  # of a race, as it is


def sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def plan_text(plan: Plan) -> str:
    """Everything of a plan that decides what is run."""
    told = ("points", "what", "takes")
    points = [(p.label, p.plan_seconds, p.times, p.every, p.measured) for p in plan.points]
    return repr((points, [(f.name, getattr(plan, f.name)) for f in dataclasses.fields(plan) if f.name not in told]))


class Keeper:
    """Writes rows and histograms after those on the disk, and then the state that vouches for them."""

    def __init__(self, race: rounds.Race, out: Path, words: list[str], wrong: list[str], spent: float = 0.0):
        self.race, self.out, self.words, self.wrong = race, out, words, wrong
        self.kept = {ROWS: len(race.rows), HIST: len(race.hist)}
        self.began = time.monotonic() - spent

    def keep(self) -> None:
        """After each round."""
        for name, header, rows in ((ROWS, tables.ROWS, self.race.rows), (HIST, tables.HIST, self.race.hist)):
            tables.append(self.out / name, header, rows[self.kept[name] :])
            self.kept[name] = len(rows)
            with open(self.out / name, "rb") as handle:
                os.fsync(handle)
        repo.write_json(self.out / folder.STATE, self.state())

    def state(self) -> dict:
        race = self.race
        return {name: getattr(race, name) for name in SAME} | {
            "schema_version": 1, "words": self.words, "cwd": os.getcwd(), "plan": plan_text(race.plan),
            "spent_s": round(time.monotonic() - self.began, 3),
            "arms": [
                {"label": arm.label, "role": arm.role, "program": str(arm.subject.program), "sha256": sha256(arm.program)}
                for arm in race.arms
            ],
            "problems": self.wrong, "sizes": {name: (self.out / name).stat().st_size for name in (ROWS, HIST)},
        }


def refuse(where: Path, seen: str, cause: str) -> Fault:
    again = f"race anew; rm -r results/{where.name}   removes what there is"
    return Fault(f"{where.name} cannot be resumed: {seen}", cause, again, USAGE)


def same(where: Path, state: dict, plan: Plan, env_id: str, arms: list[rounds.Arm]) -> None:
    """Refuses to go on with another plan, on another machine, or with other programs."""
    if state["plan"] != plan_text(plan):
        raise refuse(where, "the plan is another now", "the plan's file or bench/contract/scenarios.toml has changed")
    if state["env_id"] != env_id:
        cause = "rounds of two environments are no pairs"
        raise refuse(where, f"its env_id is {state['env_id']}, this machine and toolchain are {env_id}", cause)
    now = {(arm.label, arm.role): sha256(arm.program) for arm in arms}
    for one in state["arms"]:
        if now.get((one["label"], one["role"])) != one["sha256"]:
            cause = f"{Path(one['program']).name} was built anew, or is gone"
            raise refuse(where, f"{one['label']} is another program now", cause)
    if len(now) != len(state["arms"]):
        raise refuse(where, "there are other subjects now", "subjects were added to the build")


def restore(race: rounds.Race, where: Path, state: dict) -> None:
    """The rounds so far, as far as the state vouches for them; what a broken-off round left after them is cut off."""
    for name, size in state["sizes"].items():
        if (where / name).stat().st_size < size:
            raise refuse(where, f"{name} is shorter than it was", "the file was cut")
        os.truncate(where / name, size)
    race.rows, race.hist = tables.read(where / ROWS, tables.ROWS), tables.read(where / HIST, tables.HIST)
    race.rounds_done = {int(batch): done for batch, done in state["rounds_done"].items()}
    race.repeats, race.calibration, race.audits = state["repeats"], state["calibration"], state["audits"]
    found = {tuple(one[name] for name in ("scenario", "scenario_params", "placement")): one["slowdown_ns"] for one in race.calibration}
    for arm in race.arms:
        if arm.role == "slow10":
            arm.slowdown.update({point: found[point.key] for point in race.plan.points if found.get(point.key)})
