"""tune: are the defaults of a scheduler's own numbers the best, by paired rounds against them?"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import random
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ..base import given, repo, stats
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, USAGE, unknown
from ..base.say import Progress, duration, heading, say
from ..race import folder, plans, rounds, subjects, tables
from ..analysis import comparing, summary
from ..analysis.comparing import Comparison
from . import race, setup

SUMMARY = "sweeps a scheduler's own numbers against their defaults"
DESCRIPTION = """\
Races one subject against itself: in every round its defaults and each setting run once at every
point, in fresh processes, shuffled; an A/A pair of the defaults sets the margin, and an arm with a
built-in slow-down shows what would be seen. What can be set is what the subject's --tunables names;
a setting changes one number, to a quarter, half, double and fourfold of its default unless --set
says otherwise. --cross tries every combination of what --set names.

A setting is better everywhere when it is IMPROVED at one point and IMPROVED or EQUIVALENT at all
others, after Benjamini–Hochberg over all settings and points. The best of many is partly luck: it
must be so again in a second batch, of new rounds, or the answer is to keep the defaults.

  scripts/apiary tune
  scripts/apiary tune --set global_batch=8,32 --set steal_rounds=1,4 --cross --scenario steal_pressure

writes:  results/DATE-HOST/ with tune.csv (a line for each setting, point, metric and batch), rows.csv,
         env.json, summary.md
takes:   at most --minutes, plus building; a round of the defaults' sweep is some two minutes
exit:    0 done, whatever came out; 1 wrong work; 2 a bad setting, or the controls say that the batch is
         invalid; 3 the harness failed"""

POINTS = plans.plan("tune").points
FACTORS = (0.25, 0.5, 2, 4)
FIRST_BATCH = 2 / 3  # its share of the time
LEAST_ROUNDS = stats.LEAST_PAIRS
BETTER, WORSE, SAME, UNCLEAR = "better everywhere", "worse somewhere", "no better", "unclear"
COLUMNS = (
    "schema_version,run_id,batch,setting,scenario,scenario_params,placement,metric,better,n_pairs,ratio,ci_lo,ci_hi,"
    "margin,p_bh,verdict,flags"
).split(",")

Setting = tuple[tuple[str, int], ...]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subject", default="hive", metavar="NAME", help="which program (default hive)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=V,V,…", help="these values of this number (repeatable)"
    )
    parser.add_argument("--cross", action="store_true", help="every combination of the values given by --set")
    parser.add_argument("--plan", metavar="PLAN", help="the points of this plan, or TOML file")
    parser.add_argument("--scenario", action="append", default=[], metavar="NAME", help="only this (repeatable)")
    parser.add_argument("--rounds", type=given.count, default=10, metavar="N", help="of a batch, at most (default 10)")
    parser.add_argument("--minutes", type=given.minutes, default=45.0, metavar="M", help="no round begins later (default 45)")
    parser.add_argument("--workers", type=given.workers, default=2, metavar="N", help="worker threads (default 2)")
    parser.add_argument("--block-ms", type=given.block_ms, default=50, metavar="MS", help="length of a block (default 50)")
    parser.add_argument("--seed", type=given.seed, help="of order and padding (default: random, recorded)")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is, if it is of this source")


# ------------------------------------------------------------------------------------------------- the settings


def asked_values(known: dict[str, subjects.Tunable], texts: list[str]) -> dict[str, list[int]]:
    """What --set names, checked against what the subject says of itself."""
    found: dict[str, list[int]] = {}
    for text in texts:
        name, sign, values = text.partition("=")
        if name not in known:
            raise unknown("number to tune", name, known)
        one = known[name]
        for value in values.split(",") if sign else [""]:
            if not value.isascii() or not value.isdigit() or not one.least <= int(value) <= one.most:
                raise Fault(
                    f"--set {text}",
                    f"{value!r} is no value of {name}",
                    f"whole numbers from {one.least} to {one.most}, separated by commas; default {one.standard}",
                    USAGE,
                )
            found.setdefault(name, []).append(int(value))
    return found


def settings(known: dict[str, subjects.Tunable], texts: list[str], cross: bool) -> list[Setting]:
    """What runs beside the defaults; the defaults themselves are none of them."""
    values = asked_values(known, texts) or {
        one.name: [min(one.most, max(one.least, round(factor * one.standard))) for factor in FACTORS]
        for one in known.values()
    }
    if cross:
        if not texts:
            raise Fault("--cross without --set", "all combinations of everything take days", "say --set twice", USAGE)
        made = [tuple(zip(values, chosen)) for chosen in itertools.product(*values.values())]
    else:
        made = [((name, value),) for name, some in values.items() for value in some]
    changed = (tuple((name, v) for name, v in one if v != known[name].standard) for one in made)
    found = list(dict.fromkeys(one for one in changed if one))
    if not found:
        raise Fault("there is no setting to try", "all values are the defaults", "scripts/apiary tune --help", USAGE)
    return found


def label(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting)


def line_up(subject: subjects.Subject, chosen: list[Setting], scratch: Path) -> list[subjects.Arm]:
    """The defaults, their two controls, and an arm for each setting; all copies of one program."""
    given = [(subject, "baseline", subject.name), (subject, "aa", f"{subject.name}-aa")]
    given += [(subject, "slow10", f"{subject.name}-slow10")]
    given += [(subject, "candidate", label(setting)) for setting in chosen]
    arms = subjects.place(given, scratch)
    fixed = len(arms) - len(chosen)
    return arms[:fixed] + [
        dataclasses.replace(arm, tune=tuple(f"{name}={value}" for name, value in setting))
        for arm, setting in zip(arms[fixed:], chosen)
    ]


# ------------------------------------------------------------------------------------------------- the verdict


@dataclass(frozen=True)
class Standing:
    """A setting against the defaults, over all points of a batch."""

    setting: str
    word: str
    shown: tuple[Comparison, ...]  # what decided: the improvements or the regressions
    best: float  # the smallest ratio; for telling apart, not for claiming


def ranked(one: Comparison) -> bool:
    return "not_ranked" not in one.flags


def standings(comparisons: list[Comparison]) -> list[Standing]:
    """One for each setting, in the order of the tables. What the injector limited decides nothing."""
    by_setting: dict[str, list[Comparison]] = {}
    for one in comparisons:
        if not one.control and ranked(one):
            by_setting.setdefault(one.pairing.candidate, []).append(one)
    out = []
    for setting, found in by_setting.items():
        improved = tuple(one for one in found if one.verdict == stats.IMPROVED)
        regressed = tuple(one for one in found if one.verdict == stats.REGRESSED)
        known = all(one.verdict in (stats.IMPROVED, stats.EQUIVALENT) for one in found)
        word = WORSE if regressed else SAME if not improved else BETTER if known else UNCLEAR
        out.append(Standing(setting, word, regressed or improved, min(one.found.ratio for one in found)))
    return out


def better(found: list[Standing]) -> list[str]:
    return [one.setting for one in found if one.word == BETTER]


def advice(first: list[Standing], second: list[Standing] | None, valid: comparing.Validity) -> str:
    """The answer, in a sentence."""
    if valid.word == comparing.INVALID:
        return f"keep the defaults: the controls say that the batch is invalid ({'; '.join(valid.reasons)})"
    promising = better(first)
    if not promising:
        return f"keep the defaults: of {len(first)} settings none is better everywhere"
    if second is None:
        return f"keep the defaults for now: {', '.join(promising)} had no second batch in time; --minutes gives more"
    held = [one for one in better(second) if one in promising]
    if not held:
        return f"keep the defaults: {', '.join(promising)} did not hold in a second batch"
    return f"better everywhere, in two batches: {', '.join(held)}"


def to_row(one: Comparison, run_id: str, batch: int) -> dict[str, str]:
    whole = comparing.to_row(one, run_id)
    return {column: whole[column] for column in COLUMNS if column in whole} | {
        "batch": str(batch), "setting": one.pairing.candidate}


def markdown(command: str, run_id: str, told: list[str], batches: list[list[Comparison]]) -> str:
    lines = [f"# Tuning {run_id}", "", f"`{command}`", "", *(f"- {line}" for line in told)]
    for number, comparisons in enumerate(batches, start=1):
        lines += ["", f"## Batch {number}", "", "Ratios are setting over defaults; below 1 the setting takes less.", ""]
        lines += ["| setting | point | metric | ratio | 95 % interval | margin | verdict |", "|---|---|---|---|---|---|---|"]
        lines += [
            f"| {one.pairing.candidate} | {comparing.place_name(one)} | {one.metric.what} | ×{one.found.ratio:.3f} | "
            f"[{one.found.lo:.3f}, {one.found.hi:.3f}] | {100 * one.margin:.1f} % | "
            f"{one.verdict}{'' if ranked(one) else ' (not ranked)'} |"
            for one in comparisons
        ]
    return "\n".join(lines) + "\n"


def lines(batches: list[list[Comparison]]) -> list[str]:
    """The answer, the controls, and each setting in a line."""
    first, second = standings(batches[0]), standings(batches[1]) if len(batches) > 1 else None
    # The second batch decides, so its controls must be right too.
    both = [comparing.validity(one) for one in batches]
    valid = next((one for one in both if one.word == comparing.INVALID), both[0])
    out = [advice(first, second, valid), *summary.control_lines(valid)]
    for one in sorted(first, key=lambda s: ([BETTER, UNCLEAR, SAME, WORSE].index(s.word), s.best)):
        why = "; ".join(f"{comparing.place_name(c)} {c.metric.what} ×{c.found.ratio:.3f}" for c in one.shown)
        out.append(f"{one.setting}: {one.word}{f' ({why})' if why else ''}")
    return out


# ------------------------------------------------------------------------------------------------- the run


def run_batch(state: rounds.Race, batch: int) -> list[Comparison]:
    begin = len(state.rows)
    with Progress(f"tune, batch {batch}", state.plan.rounds) as progress:
        rounds.run_batch(state, batch, lambda number, note: progress.update(number - 1, note=note))
        progress.update(state.rounds_done.get(batch, 0))
    return comparing.compare(state.rows[begin:])


def measure(state: rounds.Race, until: float) -> list[list[Comparison]]:
    """One batch of all settings, and one more of those that were better everywhere."""
    began = time.monotonic()
    race.calibrate(state)
    state.deadline = began + FIRST_BATCH * (until - began)
    batches = [run_batch(state, 1)]
    promising = better(standings(batches[0]))
    state.deadline = until
    if promising and time.monotonic() < until and comparing.validity(batches[0]).word != comparing.INVALID:
        state.arms = [arm for arm in state.arms if not arm.tune or arm.label in promising]
        batches.append(run_batch(state, 2))
    return batches


def chosen_plan(args: argparse.Namespace) -> plans.Plan:
    if min(args.rounds, args.workers, args.block_ms, args.minutes) <= 0:
        raise Fault("a number below 1", "there would be nothing to measure", "the defaults are sensible", USAGE)
    points = POINTS
    if args.plan:
        points = (plans.read(Path(args.plan)) if args.plan.endswith(".toml") else plans.plan(args.plan)).points
    whole = plans.Plan("tune", points, args.rounds, min(args.rounds, LEAST_ROUNDS), block_ms=args.block_ms)
    kept = plans.narrowed(whole, args.scenario, None, None)
    if not kept.points:
        cause = f"none of {', '.join(args.scenario)} is in the plan"
        raise Fault("there is no point to race at", cause, "--plan wide", USAGE)
    return kept


def perform(
    args: argparse.Namespace, plan: plans.Plan, subject: subjects.Subject, chosen: list[Setting], command: str
) -> tuple[Path, list[list[Comparison]], list[dict[str, str]]]:
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1, 2**31)
    record = folder.Record()
    with folder.begun() as (run_id, out, scratch):
        arms = line_up(subject, chosen, scratch)
        state = rounds.Race(plan, arms, args.workers, seed, run_id, record.env_id, repo.commit(), scratch)
        batches = measure(state, time.monotonic() + 60 * args.minutes)
        tables.write(out / "rows.csv", tables.ROWS, state.rows)
        tuned = [to_row(one, run_id, number) for number, some in enumerate(batches, start=1) for one in some]
        tables.write(out / "tune.csv", COLUMNS, tuned)
        record.write(out, run_id, race.describe(state, plan, command, [], [], repo.dirty()))
        (out / "summary.md").write_text(markdown(command, run_id, lines(batches), batches))
    return repo.RESULTS / run_id, batches, state.rows


def run(args: argparse.Namespace) -> int:
    plan, started = chosen_plan(args), time.monotonic()
    if not args.no_build:
        setup.ensure()
    args.subject, args.program, args.baseline = [args.subject], [], None
    (subject, *_), _ = race.gather(args)
    known = {one.name: one for one in subjects.tunables(subject)}
    if not known:
        cause = "its --tunables names no number"
        raise Fault(f"{subject.name} has nothing to tune", cause, "bench/contract/CLI.md", USAGE)
    chosen = settings(known, args.set, args.cross)
    heading(f"tune {subject.name}: {len(chosen)} settings at {len(plan.points)} points, at most {plan.rounds} rounds")
    where, batches, rows = perform(args, plan, subject, chosen, shlex.join(["scripts/apiary", *sys.argv[1:]]))
    heading("result")
    for line in [*lines(batches), *summary.failures(rows)]:
        say(line)
    say(f"{race.relative(where)}/summary.md")
    say(f"took {duration(time.monotonic() - started)}")
    if comparing.incorrect(rows):
        return INCORRECT
    if not comparing.good(rows):
        return HARNESS
    return INVALID_BATCH if any(comparing.validity(one).word == comparing.INVALID for one in batches) else 0
