"""What `tune` and its ablation share: a subject raced against itself, its defaults against settings of its own numbers."""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path
from typing import Callable

from ..base import argument_kinds, json_result, repo
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, USAGE
from ..base.say import Progress, duration, heading, say
from ..race import folder, plans, rounds, subjects, tables
from ..analysis import comparing, summary, verdict
from ..analysis.comparing import Comparison
from . import entrants, race

FIRST_BATCH = 2 / 3  # its share of the time

Setting = tuple[tuple[str, int], ...]
Batches = list[list[Comparison]]
Verdicts = list[comparing.Validity]  # of each batch


def label(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting)


def fill(args: argparse.Namespace, defaults: dict[str, float]) -> None:
    """What was not given; a sweep and an ablation have other defaults."""
    for name, value in defaults.items():
        setattr(args, name, value if getattr(args, name) is None else getattr(args, name))


def introduced(args: argparse.Namespace) -> tuple[subjects.Subject, dict[str, subjects.Tunable]]:
    """The subject, built unless --no-build, and the numbers that it can be told."""
    subject = entrants.only(args)
    known = {one.name: one for one in subjects.tunables(subject)}
    if not known:
        cause = "its --tunables names no number"
        raise Fault(f"{subject.name} has nothing to tune", cause, "bench/contract/CLI.md", USAGE)
    return subject, known


def line_up(subject: subjects.Subject, chosen: list[Setting], scratch: Path) -> list[subjects.Arm]:
    """The defaults, their two controls, and an arm for each setting; all copies of one program."""
    fixed = [(subject, "baseline", subject.name), (subject, "aa", f"{subject.name}-aa"), (subject, "slow10", f"{subject.name}-slow10")]
    arms = subjects.place([*fixed, *((subject, "candidate", label(setting)) for setting in chosen)], scratch)
    return [dataclasses.replace(arm, tune=tuple(arm.label.split())) if arm.role == "candidate" else arm for arm in arms]


def run_batch(state: rounds.Race, batch: int) -> list[Comparison]:
    begin = len(state.rows)
    with Progress(f"tune, batch {batch}", state.plan.rounds) as progress:
        rounds.run_batch(state, batch, lambda number, note: progress.update(number - 1, note=note))
        progress.update(state.rounds_done.get(batch, 0))
    return comparing.compare(state.rows[begin:])


def measure(state: rounds.Race, until: float, narrow: Callable[[list[Comparison]], bool]) -> Batches:
    """One batch of everything, and one more, of new rounds, of what `narrow` leaves of it: False is nothing."""
    race.calibrate(state)
    began = time.monotonic()
    state.deadline = began + FIRST_BATCH * (until - began)
    batches = [run_batch(state, 1)]
    state.deadline = until
    if time.monotonic() < until and comparing.validity(batches[0]).word != comparing.INVALID and narrow(batches[0]):
        batches.append(run_batch(state, 2))
    return batches


def perform(args: argparse.Namespace, plan: plans.Plan, arms_in: Callable[[Path], list[subjects.Arm]],
            narrow: Callable[[rounds.Race, list[Comparison]], bool], write: Callable[[Path, str, Batches, Verdicts], list[str]]) -> int:
    """Race, and leave a folder; `write` adds to it what the batches say, and returns it in lines. Returns the exit code."""
    record, began = folder.Record(), time.monotonic()
    with folder.begun() as (run_id, out, scratch):
        seed, commit = race.seed_of(args.seed), repo.commit()
        state = rounds.Race(plan, arms_in(scratch), args.workers, seed, run_id, record.env_id, commit, scratch)
        with rounds.measuring(state):
            batches = measure(state, time.monotonic() + 60 * args.minutes, lambda first: narrow(state, first))
        tables.write(out / "rows.csv", tables.ROWS, state.rows)
        told = race.describe(state, plan, argument_kinds.command(), [], [], repo.dirty())
        record.write(out, run_id, told)
        verdicts = verdict.of_sweep({"race": told}, state.rows)
        lines = write(out, run_id, batches, verdicts)
    where, failures = repo.shown(repo.RESULTS / run_id), summary.failures(state.rows)
    heading("result")
    json_result.note(folder=str(where), lines=lines, failures=failures)
    say(*lines, *failures, f"{where}/summary.md", f"took {duration(time.monotonic() - began)}")
    if comparing.incorrect(state.rows):
        return INCORRECT
    if not comparing.good(state.rows):
        return HARNESS
    return INVALID_BATCH if any(one.word == comparing.INVALID for one in verdicts) else 0
