"""race: run subjects against each other and write a result folder."""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from ..base import argument_kinds, building, commits, json_result, repo
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, USAGE, unknown
from ..base.say import Progress, colour, counted, duration, heading, listing, say, warn
from ..verify import checks, stressing, verification
from ..verify.verdicts import closing, wrong as deviates
from ..race import audit, eta, folder, ledger, plans, probes, quota, raced, resuming, rounds, subjects, tables, unpaired
from ..analysis import comparing, findings, peer_summary, summary
from ..analysis.comparing import Comparison
from ..report.page_data import Report
from . import entrants, prove, report, setup, stress

SUMMARY = "race the schedulers against each other; leaves a report"
GIVEN = [(one.name, f"{one.what} ({one.takes})") for one in plans.every()] + [("FILE", "a plan of your own, in TOML: METHODOLOGY.md says how")]
PLANS = listing(GIVEN, width=100)
DESCRIPTION = f"""\
Sets up, builds the subjects (C++ in the preset release, Tokio by cargo) and races them. In every
round each arm runs once, in a fresh process, in a random order. Two controls qualify the batch: an A/A pair of
each candidate, and an arm with a built-in slow-down. --quick first builds two subjects, audits them and prints a
first figure; then come a short proof and a short stress of everything, and the race.

{PLANS}

A plan with a time limit (its own, or --limit) runs fewer rounds if they do not all fit, but never fewer than its
least_rounds. The batches share the limit, each round goes over all points, and the report says how many
rounds there were and why. The race forecasts how long it will take before it starts, and corrects that as it runs.

Before the first round each subject is audited at each scenario. A row that cannot be true becomes an error row.

writes:  results/DATE-HOST/ (report.html, summary.md, rows.csv, compare.csv, hist.csv, micro.*,
         startup.*, env.json, sources.txt); never overwritten. While it runs, and when it is stopped, the
         folder is called DATE-HOST.unfinished and holds the rounds so far: --resume goes on; report and
         compare refuse it
takes:   as above, and a few minutes to build the first time; --quick nine minutes on two quiet cores, once built
exit:    0 fine; 1 wrong work, a refused subject, a regression against --baseline, or a finding that is not in
         bench/contract/expected_findings.csv (METHODOLOGY.md: a control on the wrong side of 1, two modes);
         2 bad arguments; 3 the harness failed; 4 the controls say that the batch is invalid. For a plan
         that does not gate, such as quick, this is only a warning, unless the batch shows a regression, which
         it cannot decide. Being slower than another runtime is a result, not an error."""

FIRST, FIRST_ROUNDS = ("hive", "tokio"), 5
SHORT_PROOF_BUDGETS, SHORT_STRESS_SECONDS = ("60000x", "4s"), 1.0
TINT = {"good": "green", "note": "yellow", "bad": "red"}


def conditions(parser: argparse.ArgumentParser) -> None:
    """Under which points are raced: for every verb that races them."""
    parser.add_argument("--block-ms", type=argument_kinds.block_ms, metavar="MS", help="length of a block (default: the plan's)")
    parser.add_argument("--workers", type=argument_kinds.workers, default=2, metavar="N", help="worker threads (default 2)")
    parser.add_argument("--placement", help="free or one_cpu (default: the plan's)")
    parser.add_argument("--seed", type=argument_kinds.seed, help="the seed of the order, of the arrival plans and of padding (default: random, recorded)")
    parser.add_argument("--timeout", type=argument_kinds.seconds, metavar="S", help="the time after which one run counts as hung")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="the plan quick, after a short proof and stress")
    parser.add_argument("--plan", metavar="PLAN", help="one of the above (default quick)")
    argument_kinds.repeatable(parser, "--scenario", "NAME", "only this (repeatable)")
    argument_kinds.repeatable(parser, "--point", "LABEL", "only this point of the plan, as summary.md names it (repeatable)")
    argument_kinds.repeatable(parser, "--subject", "NAME", "instead of the plan's subjects (repeatable)")
    argument_kinds.repeatable(parser, "--program", "FILE", "another subject: any program that speaks bench/contract/CLI.md")
    parser.add_argument("--baseline", metavar="FILE", help="an older build of a subject that races; being slower than it is red")
    parser.add_argument("--expected", metavar="FILE",
                        help="findings that are known (default: bench/contract/expected_findings.csv)")
    parser.add_argument("--rounds", type=argument_kinds.count, metavar="N", help="instead of the plan's number")
    parser.add_argument("--limit", type=argument_kinds.minutes, metavar="MINUTES",
                        help="no round beyond the plan's least_rounds begins after this (default: the plan's limit; none with --rounds)")
    conditions(parser)
    parser.add_argument("--repeats", type=argument_kinds.several, default=rounds.REPEATS, metavar="N",
                        help=f"how often a disturbed round is run again (default {rounds.REPEATS}); 0: the machine's load adds no round")
    parser.add_argument("--no-build", action="store_true",
                        help="take the builds as they are, if they are of this source; prove and stress nothing")
    parser.add_argument("--believe", action="store_true", help="take the subjects' word: no audits, no bounds by the clock "
                        "(bench/contract/TRUST.md); said in the report")
    parser.add_argument("--resume", nargs="?", const="", metavar="DIR",
                        help="go on with an unfinished race (default: the newest), with its own options and programs")
    parser.add_argument("--save-baseline", metavar="NAME",
                        help="call this commit NAME from now on, if the race ends with 0: compare NAME .")
    parser.add_argument("--list", action="store_true", help="print the plans, scenarios and subjects that exist; no race")
    parser.add_argument("--no-sidecars", action="store_true", help="leave out the micro-benchmarks and the times of whole processes")


def parsed(*words: str) -> argparse.Namespace:
    """These options of a race, and the defaults of the others."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    arguments(parser)
    json_result.argument(parser)  # it may stand among the words
    return parser.parse_args(words)


@dataclasses.dataclass
class Outcome:
    """What a race left behind. Its folder is read once: everything that is told of it comes from the report."""

    folder: Path
    code: int
    report: Report | None = None
    told: dict = dataclasses.field(default_factory=dict)  # for --json

    def note(self, **found: object) -> None:
        self.told |= found
        json_result.note(**found)


def chosen_plan(args: argparse.Namespace) -> plans.Plan:
    if args.quick and args.plan not in (None, "quick"):
        raise Fault(f"--quick and --plan {args.plan}", "they name different plans", "give one of them", USAGE)
    if args.placement not in (None, *plans.PLACEMENTS):
        raise unknown("placement", args.placement, plans.PLACEMENTS)
    name = args.plan or "quick"
    found = plans.read(Path(name)) if name.endswith(".toml") else plans.plan(name)
    if args.subject:
        found = dataclasses.replace(found, subjects=())
    found = plans.narrowed(found, args.scenario, args.rounds, args.placement, args.limit, args.block_ms, args.point)
    quota.must_be_possible(found.points)
    return found


def first_figure(args: argparse.Namespace) -> list[str]:
    """Within minutes on a machine that has nothing built: two subjects alone, audited, at the plan's first point, their answers
    checked. It is no verdict, since no control runs beside it, and it says so. Returns what was wrong."""
    heading("a first figure")
    building.build("release", only="subjects", names=(f"subject_{FIRST[0]}",))
    programs = [path for path in repo.manifest("release", "subjects") if path.name == f"subject_{FIRST[0]}"]
    found, refused = subjects.discover(programs + building.build_rust(f"subject_{FIRST[1]}"))
    if refused or len(found) != len(FIRST):
        return [fault.seen for fault in refused] or ["a first figure: a subject was not built"]
    usual = plans.plan("quick")
    plan = dataclasses.replace(usual, points=usual.points[:1], controls=False, rounds=FIRST_ROUNDS, least_rounds=FIRST_ROUNDS, limit=None)
    with tempfile.TemporaryDirectory(prefix="apiary-first-") as name:
        arms = subjects.place(entrants.line_up(found, None, plan.controls), Path(name))
        race = rounds.Race(plan, arms, args.workers, seed_of(args.seed), "first", "", repo.commit(), Path(name), args.timeout, 0,
                           believe=args.believe)
        audit_all(race)
        with Progress("first figure", plan.rounds) as progress:
            rounds.run_batch(race, 1, lambda number, note: progress.update(number - 1, note=note))
    one = next((one for one in comparing.compare(race.rows) if one.metric.gates and one.other == FIRST[1]), None)
    failed = [line for line in summary.failures(race.rows) if line]
    if one and not failed:
        (ours, theirs), audited = map(statistics.median, zip(*one.pairs)), "believed" if args.believe else "audited"
        say(f"{FIRST[0]} {ours:.0f} ns, {FIRST[1]} {theirs:.0f} ns: ×{one.times}, {one.metric.what} at {plan.points[0].label}; "
            f"{len(one.pairs)} pairs of runs, every answer checked, both {audited}.",
            "No verdict yet: no control ran beside it, and this source is not proved. The proof, the stress and the race follow.")
    return failed or ([] if one else ["a first figure: the two could not be compared"])


def short_verification() -> list[str]:
    """What --quick does before it races: all checks and all stresses, briefly. Returns what went wrong; a failure reddens the race."""
    wrong = []
    heading("a short proof")
    building.build("model")
    verdicts, *_ = prove.prove_and_record([], checks.Options(budgets=SHORT_PROOF_BUDGETS, named=False))
    say(closing(verdicts))
    if any(map(deviates, verdicts)):
        wrong.append("a model check did not go as expected")
    heading("a short stress")
    for preset in stressing.PRESETS:
        building.build(preset, only="stress")
    results, _ = stress.run_and_record(list(stressing.PRESETS), [], stress.seeds(None, 1), SHORT_STRESS_SECONDS, None)
    bad = [r["program"] for r in results if not r["passed"]]
    say(f"{len(results)} stress runs under the sanitizers, {len(bad)} failed")
    return wrong + ([f"stress failed: {', '.join(bad)}"] if bad else [])


def seed_of(asked: int | None) -> int:
    return random.SystemRandom().randrange(1, 2**31) if asked is None else asked


def calibrate(race: rounds.Race) -> None:
    """Set the built-in slow-down of the slow10 arm for every point that can have one."""
    slow = next((arm for arm in race.arms if arm.role == "slow10"), None)
    points = [p for p in race.plan.points if p.controlled and slow.runs_at(p)] if slow else []
    for point in counted("calibrate the slow-down control", points, len(points)) if points else ():
        (found,) = rounds.calibrate(race, point, slow)
        race.calibration.append(found)
        if found["slowdown_ns"]:
            slow.slowdown[point] = found["slowdown_ns"]


def doubts(race: rounds.Race, listed: list[dict[str, str]]) -> list[str]:
    """What one batch says, and must be measured twice before it counts: a regression, and a red finding."""
    comparisons = comparing.compare(race.rows)
    red = [one for one in findings.judged(race.rows, comparisons, listed) if one.red]
    return ["a regression against the baseline"] * bool(comparing.regressions(comparisons)) + [one.line for one in red]


def run_rounds(race: rounds.Race, listed: list[dict[str, str]]) -> None:
    """The batches, and a second one where the only one leaves doubts; `listed` are the findings that are expected."""
    batches, batch = max([race.plan.batches, *race.rounds_done]), 0  # a race that goes on may have begun its second one
    began, last = time.monotonic(), race.deadline
    race.eta = eta.Eta(race.plan, rounds.runs_of(race, batches))
    whole, limit = race.eta.left(), race.plan.limit
    each = f", {duration(whole / batches / race.plan.rounds)} a round" if race.plan.rounds > 1 else ""
    ends = f"; no round begins after {duration(limit)}, but a batch has {race.plan.least_rounds} at least" if limit else ""
    say(f"about {duration(whole)} by arithmetic{each}{ends}")
    while batch < batches:
        batch += 1
        if batch == 1 and not race.rounds_done:
            calibrate(race)
            audit_all(race)
            race.rows += rounds.unsupported_rows(race, batch)
        if last is not None:
            race.deadline = began + (last - began) * min(1.0, batch / batches)
        label = f"race, batch {batch}" if batches > 1 else "race"
        with Progress(label, race.plan.rounds, left=lambda: seconds_left(race)) as progress:
            rounds.run_batch(race, batch, lambda number, note: progress.update(number - 1, note=note))
            progress.update(race.rounds_done.get(batch, 0))
        if batch == batches == 1 and (found := doubts(race, listed)):
            say(*(f"{one}: a second batch must agree before it counts" for one in found))
            batches = 2


def audit_all(race: rounds.Race) -> None:
    """Ask every arm whether its figures are those of its process; what is found makes its rows there errors."""
    due = [] if race.believe else audit.due(race)
    for arm, point in counted("audit", due, len(due), lambda one: f"{one[0].label} {one[1].label}"):
        race.audits.append(audit.audit(race, arm, point))
    for one in race.audits:
        if one["found"]:
            warn(f"{one['subject']} is not believed in {one['scenario']}: {one['found']}")
        elif not one["proved"]:
            warn(f"{one['subject']} in {one['scenario']}: its audit has proved nothing, since runs failed, or others kept them "
                 "from running; its rows are believed. A quiet machine can tell")


def seconds_left(race: rounds.Race) -> float:
    """By the runs so far, or by the limit where that is nearer."""
    left = race.eta.left()
    return left if race.deadline is None else min(left, max(0.0, race.deadline - time.monotonic()))


def exit_code(plan: plans.Plan, rows: list[dict[str, str]], comparisons: list[Comparison], wrong: list[str]) -> int:
    invalid, slower = comparing.validity(comparisons).word == comparing.INVALID, comparing.regressions(comparisons)
    if wrong or comparing.incorrect(rows) or slower and not invalid:
        return INCORRECT
    if not comparing.good(rows):
        return HARNESS
    return INVALID_BATCH if invalid and (plan.gates or slower) else 0


def perform(plan: plans.Plan, found: list[subjects.Subject], args: argparse.Namespace, wrong: list[str],
            deadline: float | None = None, command: str = "", built: tuple[str, str] | None = None,
            tree: commits.Tree | None = None, resumed: tuple[Path, dict] | None = None) -> Outcome:
    """Race and write the folder. `built` is the hash of the source that the builds began with; `tree` is where
    they come from if not from here; `resumed` is the folder and the state to go on from."""
    where, state = resumed or (None, {})
    seed = state["seed"] if state else seed_of(args.seed)
    ours = [s.program for s in found if s.own] if tree is None else []
    beside = [] if args.no_sidecars else repo.manifest("release", "micro")
    entrants.refuse_other_source(beside)
    record = folder.Record(tree.hashes if tree else built, exported=tree is not None, programs=ours)
    listed = findings.expected(args.expected)
    with folder.begun(resumed=where) as (run_id, out, scratch):
        named = [Path(name).resolve() for name in args.program]
        arms = subjects.place(entrants.line_up(found, args.baseline, plan.controls, named), scratch)
        commit = state["commit"] if state else tree.commit if tree else repo.commit()
        if tree is None:
            raced.write(out, [arm.subject.program for arm in arms], plan)
        race = rounds.Race(plan, arms, args.workers, seed, run_id, record.env_id, commit, scratch, args.timeout,
                           args.repeats, deadline, believe=args.believe)
        if state:
            resuming.same(where, state, plan, record.env_id, arms)
            resuming.restore(race, where, state)
        if "words" in args:
            race.keep = resuming.Keeper(race, out, args.words, wrong, state.get("spent_s", 0.0)).keep
        probed = probes.all_probes()
        with rounds.measuring(race):
            run_rounds(race, listed)
        for row, reason in ledger.disagreements(race.rows):  # equal work must give equal checks across subjects
            row |= {"status": "wrong", "error": reason}
        for row, reason in ledger.now_and_then(race.rows):
            row |= {"status": "malformed", "error": reason}
        race.audits = audit.settled(race.audits, race.rows)
        tables.write(out / "rows.csv", tables.ROWS, race.rows)
        tables.write(out / "hist.csv", tables.HIST, race.hist)
        failed = [] if args.no_sidecars else unpaired_runs(arms, out, run_id, args.workers, plan)
        told = describe(race, plan, command, wrong, failed, tree.dirty if tree else repo.dirty())
        record.write(out, run_id, told | {"expected_findings": listed}, probes=probed)
        read = report.write(out)
        tables.write(out / "compare.csv", tables.COMPARE, [comparing.to_row(one, run_id) for one in read.comparisons])
    red = [one.line for one in read.findings if one.red]
    return Outcome(repo.RESULTS / run_id, exit_code(plan, read.rows, read.comparisons, wrong + failed + red), read)


def unpaired_runs(arms: list[subjects.Arm], out: Path, run_id: str, workers: int, plan: plans.Plan) -> list[str]:
    times, seconds, starts = (5, 0.02, 10) if plan.name in ("smoke", "quick") else (15, 0.1, 40)
    failed = unpaired.run_micro(repo.manifest("release", "micro"), out, run_id, times, seconds)
    return failed + unpaired.run_startup(arms, out, run_id, workers, starts)


def describe(race: rounds.Race, plan: plans.Plan, command: str, wrong: list[str], failed: list[str], dirty: bool) -> dict:
    """What was run, so that it can be run again."""
    arms = [{
        "label": arm.label,
        "role": arm.role,
        "own": arm.subject.own,
        "program": str(repo.shown(arm.subject.program, Path(arm.subject.program.name))),
        "subject_version": arm.subject.version,
        "build_id": arm.subject.build_id,
    } for arm in race.arms]
    return {
        "command": command,
        "plan": plan.name,
        "rounds": max(race.rounds_done.values(), default=0),
        "rounds_planned": plan.rounds,
        "most_rounds": plan.most_rounds,
        "rounds_of_batches": [race.rounds_done[batch] for batch in sorted(race.rounds_done)],
        "limit_s": plan.limit,
        "batches": len(race.rounds_done),
        "absent": [name for name in plan.subjects if name not in {arm.subject.name for arm in race.arms}],
        "seed": race.seed,
        "workers": race.workers,
        "commit": race.commit,
        "dirty": dirty,
        "repeats": race.repeats,
        "believed": race.believe,
        "audits": race.audits,
        "block_ms": plan.block_ms,
        "blocks": plan.blocks,
        "warmup_blocks": plan.warmup_blocks,
        "points": [p.label for p in plan.points],
        "plan_seconds": {p.params_text: p.plan_seconds for p in plan.points if p.scenario.open_loop},
        "arms": arms,
        "calibration": race.calibration,
        "problems": wrong,
        "side_failures": failed,
    }


def found_in(outcome: Outcome) -> Report:
    """The report of the race; its findings are told, and everything is noted for --json."""
    read, batch = outcome.report, outcome.report.validity
    outcome.note(folder=str(repo.shown(outcome.folder)), batch=batch.word, reasons=list(batch.reasons), published=batch.published,
                 bars=list(batch.bars), tells=batch.tells,
                 findings=[{"line": one.line, "red": one.red} for one in read.findings], failures=failures(read),
                 comparisons=[comparing.to_row(one, read.env["run_id"]) for one in read.comparisons])
    say(*(colour(one.line, "red" if one.red else "yellow") for one in read.findings))
    return read


def failures(read: Report) -> list[str]:
    """Beside its findings, all that makes a race red: wrong rows, subjects that were refused, what failed beside the rounds."""
    return summary.failures(read.rows) + read.race["problems"] + read.race["side_failures"]


def tell(outcome: Outcome) -> None:
    """The closing lines: how it stands, may it be believed, where is the report."""
    heading("result")
    read = found_in(outcome)
    say(*peer_summary.told(read.comparisons), *summary.bare_lines(read.rows, read.comparisons))
    say(*summary.control_lines(read.validity))
    say(*(f"{one.name}: {colour(one.text, TINT[one.level])}" for one in read.statuses))
    say(*filter(None, [summary.disturbance_line(read.rows), summary.rounds_line(read.race), *summary.missing(read.env, read.rows),
                       summary.unverified_line(read.rows)]))
    tell_wrong(outcome, failures(read))


def tell_wrong(outcome: Outcome, wrong: list[str]) -> None:
    say(*(colour(f"WRONG: {line}", "red") for line in wrong), f"report: {repo.shown(outcome.folder)}/report.html")


def resume(args: argparse.Namespace) -> int:
    """Go on with an unfinished race: its words again, its programs as they lie, its rows so far."""
    if mixed := argument_kinds.besides(args, arguments, "resume"):
        raise Fault(f"--resume with {mixed}", "an unfinished race has its own", "leave them away", USAGE)
    where, state = folder.to_resume(args.resume)
    started, told = time.monotonic(), parsed(*state["words"])
    told.no_build, told.words = True, state["words"]
    if not Path(state["cwd"]).is_dir():
        raise resuming.refuse(where, f"{state['cwd']} is gone", "its options name files as seen from there")
    os.chdir(state["cwd"])
    plan = chosen_plan(told)
    found, _ = entrants.gather(told, plan.subjects)
    done = sum(state["rounds_done"].values())
    heading(f"race {where.name.removesuffix(folder.UNFINISHED)} goes on after {done} rounds: plan {plan.name}")
    deadline = time.monotonic() + max(0.0, plan.limit - state["spent_s"]) if plan.limit else None
    command = argument_kinds.spelled(["race", *state["words"]])
    outcome = perform(plan, found, told, state["problems"], deadline, command, resumed=(where, state))
    return close(outcome, started, told.save_baseline)


def close(outcome: Outcome, started: float, baseline: str | None = None) -> int:
    tell(outcome)
    if baseline:
        keep(baseline, outcome)
    say(f"took {duration(time.monotonic() - started)}")
    return outcome.code


def check_baseline(name: str) -> None:
    """Before anything runs: a name that is one, of a state that can be built again."""
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,60}", name) or repo.git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"):
        raise Fault(f"--save-baseline {name}", "it is no name of letters and digits, or a commit is called so", "--save-baseline before_x", USAGE)
    if repo.commit() == "none" or repo.dirty():
        raise Fault("a baseline is a commit", "the tree has changes that are in none", "git commit, then race again", USAGE)


def keep(name: str, outcome: Outcome) -> None:
    if outcome.code:
        warn(f"baseline {name} is not saved: the race ended with status {outcome.code}")
        return
    commits.save_baseline(name, repo.read_json(outcome.folder / "env.json")["race"]["commit"], outcome.folder.name)
    say(f"baseline {name}: scripts/apiary compare {name} .   races the tree against this commit")


def run(args: argparse.Namespace) -> int:
    if args.resume is not None:
        return resume(args)
    if args.list:
        offered = entrants.offered()
        say(entrants.in_words(offered))
        json_result.note(**{f"{kind}s": dict(names) for kind, names in offered.items()})
        return 0
    plan = chosen_plan(args)
    if args.save_baseline:
        check_baseline(args.save_baseline)
    entrants.introduce_given(args, plan.subjects)
    args.words = sys.argv[2:]
    findings.expected(args.expected)  # a file that cannot be read is refused before anything is built
    built = verification.hashes()
    started = time.monotonic()
    if not args.no_build:
        setup.ensure(peers=args.subject or plan.subjects or None)
    wrong = first_figure(args) if args.quick and not args.no_build and not args.subject else []
    found, refused = entrants.gather(args, plan.subjects)
    wrong += refused
    if args.quick and not args.no_build:
        wrong += short_verification()
    heading(f"race: {', '.join(s.name for s in found)}; plan {plan.name}, at most {plan.rounds} rounds")
    deadline = time.monotonic() + plan.limit if plan.limit else None
    return close(perform(plan, found, args, wrong, deadline, argument_kinds.command(), built), started, args.save_baseline)
