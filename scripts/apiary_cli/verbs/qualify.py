"""qualify: how often would a race on this machine cry wolf, and what would it miss?"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from ..base import argument_kinds, json_result, repo
from ..base.errors import Fault, HARNESS, INCORRECT, USAGE
from ..base.say import Progress, duration, heading, say, table
from ..race import folder, plans, rounds, subjects, tables
from ..analysis import comparing, qualification, simulated
from ..analysis.qualification import PAIRS, SLOW, Trial
from . import entrants, race

SUMMARY = "how often would a race here cry wolf, and what would it miss?"
DESCRIPTION = """\
Races copies of one program against each other, batch after batch, exactly as race does: fresh
processes, shuffled rounds, the margin from an A/A pair of the same batch. Three further pairs of equal
copies must not differ; copies with a built-in slow-down of 5 % and 10 % should be seen. Prints, with
95 % intervals, the rate of false alarms and the rate of detection. One CPU is qualified, as compare
gates; --placement free by itself.
--simulate tries the rules of verdicts instead, on made-up races of equal programs, and races nothing.

writes:  results/DATE-HOST/ with qualify.csv (a line for each comparison), rows.csv, env.json, summary.md;
         report --splice puts what was found into a page
takes:   some 20 s for a batch of 10 rounds at two points, free 90 s (17 batches: 6 minutes, free 25); --limit
         ends it; run it on a quiet machine
exit:    0 done; 1 wrong work, or more than 5 % of false alarms; 3 the harness failed"""

MOST_ALARMS = 0.05
AS = {"one_cpu": plans.plan("gate"), "free": plans.plan("publish")}  # whose blocks and warm-up are qualified


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--subject", default="hive", metavar="NAME", help="the program whose copies are raced (default hive)")
    parser.add_argument("--placement", choices=plans.PLACEMENTS, default="one_cpu", help="one_cpu (default) or free")
    parser.add_argument("--batches", type=argument_kinds.count, default=17, metavar="N", help="number of batches, of 6 comparisons each (default 17)")
    parser.add_argument("--rounds", type=argument_kinds.count, default=10, metavar="N", help="rounds of a batch (default 10)")
    parser.add_argument("--workers", type=argument_kinds.workers, default=2, metavar="N", help="worker threads (default 2)")
    parser.add_argument("--block-ms", type=argument_kinds.block_ms, metavar="MS",
                        help="length of a block (default 5, as in compare; free: 20, as in publish)")
    parser.add_argument("--limit", type=argument_kinds.minutes, metavar="MINUTES", help="no further batch begins after this")
    parser.add_argument("--seed", type=argument_kinds.seed, help="seed of order and padding (default: random, recorded)")
    parser.add_argument("--simulate", type=argument_kinds.count, metavar="N",
                        help="try the rules on N made-up batches of each size and noise: how often is a claim false?")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is, if it is of this source")


def line_up(subject: subjects.Subject, scratch: Path) -> list[subjects.Arm]:
    """Two arms for the margin, two for each tested pair, and the slow ones; all copies of one program."""
    labels = [f"margin{i}" for i in range(2)] + [f"pair{i}{side}" for i in range(PAIRS) for side in "ab"]
    given = [(subject, "aa", label) for label in labels] + [(subject, kind, kind) for kind in SLOW]
    return subjects.place(given, scratch)


def calibrate(state: rounds.Race) -> None:
    arms = [next(arm for arm in state.arms if arm.role == kind) for kind in SLOW]
    for point in state.plan.points:
        for arm, found in zip(arms, rounds.calibrate(state, point, arms[0], tuple(SLOW.values()))):
            state.calibration.append(found | {"role": arm.role})
            if found["slowdown_ns"]:
                arm.slowdown[point] = found["slowdown_ns"]


def measure(state: rounds.Race, batches: int) -> list[Trial]:
    """Batch after batch; with a limit none begins that would not end in time by the pace so far."""
    trials: list[Trial] = []
    began = time.monotonic()
    with Progress("qualify", batches) as progress:
        for batch in range(1, batches + 1):
            if batch > 1 and not rounds.in_time(state, (time.monotonic() - began) / (batch - 1)):
                break
            # Each batch is calibrated by itself, as each race is.
            for arm in state.arms:
                arm.slowdown.clear()
            calibrate(state)
            begin = len(state.rows)
            ends, state.deadline = state.deadline, None  # a batch that has begun is a whole one
            rounds.run_batch(state, batch, lambda number, note: None)
            state.deadline = ends
            trials += qualification.judge(state.rows[begin:], batch, state.plan.points)
            progress.advance()
    return trials


def perform(args: argparse.Namespace, subject: subjects.Subject) -> tuple[Path, list[Trial], bool]:
    like = AS[args.placement]
    plan = plans.Plan("qualify", qualification.points(args.placement), args.rounds, args.rounds, batches=args.batches,
                      block_ms=args.block_ms or like.block_ms, warmup_blocks=like.warmup_blocks, controls=False,
                      limit=60 * args.limit if args.limit else None)
    command, seed = argument_kinds.command(), race.seed_of(args.seed)
    record = folder.Record()
    with folder.begun() as (run_id, out, scratch):
        arms = line_up(subject, scratch)
        state = rounds.Race(plan, arms, args.workers, seed, run_id, record.env_id, repo.commit(), scratch)
        state.deadline = time.monotonic() + plan.limit if plan.limit else None
        with rounds.measuring(state):
            trials = measure(state, args.batches)
        tables.write(out / "rows.csv", tables.ROWS, state.rows)
        tables.write(out / "qualify.csv", qualification.COLUMNS, map(qualification.to_row, trials))
        record.write(out, run_id, race.describe(state, plan, command, [], [], repo.dirty()))
        text = [f"# Qualification {run_id}", "", f"`{command}`", "", *(f"- {line}" for line in qualification.lines(trials))]
        (out / "summary.md").write_text("\n".join(text) + "\n")
    return repo.RESULTS / run_id, trials, bool(comparing.incorrect(state.rows))


SIZES, NOISES = (6, 14, 30), (0.02, 0.05, 0.1, 0.2)


def simulate(args: argparse.Namespace) -> int:
    """The rules on made-up races, and nothing raced."""
    if argument_kinds.besides(args, arguments, "simulate"):
        raise Fault("--simulate makes its races up", "it takes no other option", "leave the rest away", USAGE)
    found = [simulated.simulate(points, noise, args.simulate) for points in SIZES for noise in NOISES]
    say(table(["points:n", "noise of a run:n", "tell 10 %:n", "INVALID:n", "claim something false:n", "false claims:n"], [
        [one.points, f"{100 * one.noise:.0f} %", f"{100 * one.tells:.0f} %", f"{one.invalid} of {one.batches}",
         f"{one.claiming} of {one.batches - one.invalid}", one.claims] for one in found]))
    json_result.note(simulated=[dataclasses.asdict(one) for one in found])
    return 0


def run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    if args.simulate:
        return simulate(args)
    where, trials, wrong = perform(args, entrants.only(args))
    heading("result")
    say(*qualification.lines(trials))
    json_result.note(folder=str(repo.shown(where)), lines=qualification.lines(trials),
                 trials=[qualification.to_row(trial) for trial in trials])
    say(f"{repo.shown(where)}/qualify.csv")
    say(f"took {duration(time.monotonic() - started)}")
    if not trials:
        return HARNESS
    return INCORRECT if wrong or qualification.alarm_rate(trials) > MOST_ALARMS else 0
