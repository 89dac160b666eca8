"""nightly: everything there is, with budgets, one page and one exit code."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import re
import sys
import time
from pathlib import Path
from typing import Callable, Iterator

from ..base import argument_kinds, building, json_result, packages, proc, repo, sources
from ..base.errors import Fault, HARNESS, INCORRECT, INVALID_BATCH, Stopped
from ..base.say import duration, heading, say, table, warn
from ..night import memory as memories
from ..night.store import Store
from ..verify import catalogue, checks, enduring, exact, stressing
from ..race import plans
from ..analysis import comparing, peer_summary, summary
from ..report import html, junit, night_cases, night_page, sarif
from ..report.junit import FAILED, PASSED, SKIPPED, Case, Part, Verdict
from . import check, entrants, fuzz, hazards, museum, nightly_units, race, setup

SUMMARY = "everything, with long budgets; one page and one exit code"
DESCRIPTION = """\
Sets up, builds everything, runs the tests, and divides the rest of the budget. Most of it goes to units:
the model checks by both engines, whole; the exhibits; the stresses under the sanitizers; outside code in its
long form; our own suites under the hunt; the faults; the mutants of memory orders, header by header; and one
sixth of the mutants of logic, another sixth each day. All mutants of headers that changed since the last
night come first. The soak takes a quarter of the units' time. One target is fuzzed, another one each night:
for ten minutes if the units have twenty, else for seconds. A unit is a command with the hash of all that
decides its result. Its result lies in the store. So a night that was killed goes on where it was, and the next
night does not repeat what was done on the same source. What did not fit is named, and the next night begins
with it. A search that is larger than its budget gives back the rest of its work as further units; it is judged
when all of them are put together.

--scheduler spreads the units: "local" starts a cluster of Dask on this machine; tls://HOST:PORT is a cluster
of your own. Its workers run whatever the scheduler sends, as the user that started them. With --shard I/N a
machine does the selftest and its part of the units, and nothing else; scripts/apiary merge puts the stores
together.

The selftest comes first, with a quarter of the budget at most. A night that does not see the planted defects
is red, and says so first. Beside the units it runs: the explorer's speed; the hunt by other build systems,
compilers and test frameworks; the museum's times to detect; the exact counts; the plan smoke (each scenario
and subject once); the race; the tests that check leaves to it (the presets that end in -night); and a minute
of the echo example under TSan. With 25 minutes or more it runs all tests, times the museum, runs the echo,
counts instructions and races smoke; with less, only the unit tests. The speed and the hunt's ways to build
need an hour, the hunt of others' suites (which fetches their sources) three. Races never run on a cluster.
The race is the plan publish, with 30 rounds in one batch, if the time allows; else quick, else smoke. Nothing
is left out silently: the page says what did not fit.

writes:  build/nightly/summary.md, night.html, night.sarif, junit.xml (if it is stopped, of the parts so far),
         build/nightly/failed/ (a folder for each red run of the soak and of faults), build/nightly/store/,
         build/selftest.md, and what race writes
takes:   about the budget, plus what building takes beyond it, and a second batch if the race leaves doubts
exit:    0 fine; 1 wrong or regressed, or a part that could not be built or run: the page says which; 2 another
         night has the store; 3 the set-up failed, so that no part began (no room, a folder that cannot be
         written, a scheduler that is away), or the page cannot be written; 4 the race's controls failed and
         nothing else"""

SHARES = {"units": 0.60, "race": 0.40}
ALL_TESTS_FROM, NIGHTLY_RACE_FROM, QUICK_RACE_FROM = 25 * 60.0, 25 * 60.0, 90.0
OUTSIDE_FROM, SUITES_FROM = 60 * 60.0, 3 * 60 * 60.0
LEAST_REST = 40.0
# check leaves to the night: the unit tests at -O2, most of them without a sanitizer; second subjects of a source; examples and packages under
# sanitizers; tests of one thread or of memory under ThreadSanitizer; what takes the whole package in; the Rust twin's features. They
# run last, since building them may take longer than the budget.
MOVED = ("ci-night", "asan-ubsan-night", "tsan-night", "model-night", check.RUST_NIGHT)
ECHO_PRESET, ECHO_SECONDS, TOO_FEW_DESCRIPTORS = "tsan-night", 60.0, 77
FOLDER = repo.BUILD / "nightly"
GATE, GATE_SHARE = "selftest", 0.25     # of the budget
HAZARDS_TAKE = 6 * 60.0
SPEED_TAKES, SPEED_ROUNDS = 3 * 60.0, "21"
SPEED_ROW = re.compile(r"^(?P<name>\w+) +as it is takes (?P<said>.+): (?P<word>within|unresolved|BEYOND)\b", re.MULTILINE)
FRONT_ENDS, SUITES = (Path("model_check/hunt/tests") / name for name in ("front_ends_test.py", "suites_of_others.py"))
FRONT_ENDS_TAKE, SUITES_TAKE, SUITES_SECONDS = 3 * 60.0, 30 * 60.0, "5"
HUNT_ROW = re.compile(r"^(?P<word>same|other|left out) (?P<name>\w+(?: \S+)?): (?P<said>.*)$", re.MULTILINE)
# Parts whose length no budget decides: from which budget on, and seconds where no night remembers them.
FIXED = {"speed": (OUTSIDE_FROM, SPEED_TAKES), "front_ends": (OUTSIDE_FROM, FRONT_ENDS_TAKE), "suites": (SUITES_FROM, SUITES_TAKE),
         "hazards": (ALL_TESTS_FROM, HAZARDS_TAKE)}
WORDS = {"same": PASSED, "other": FAILED, "left out": SKIPPED, "within": PASSED, "unresolved": SKIPPED, "BEYOND": FAILED}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--budget", default="60m", help="seconds, minutes or hours: 90s, 60m, 3h (default 60m)")
    parser.add_argument("--junit", metavar="FILE", help="also write the JUnit file here")
    parser.add_argument("--workers", type=argument_kinds.workers, default=2, help="worker threads of the race (default 2)")
    parser.add_argument("--store", metavar="DIR", default=str(FOLDER / "store"),
                        help="results of units, programs for other machines, and what the nights remember (default build/nightly/store)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help=f"spread units by Dask: {nightly_units.HERE} starts a cluster of processes on this "
                        "machine, tls://HOST:PORT is a team's own (default: a pool of this machine, without Dask)")
    parser.add_argument("--processes", type=argument_kinds.count, default=os.cpu_count() or 1, help="how many units run at a time on this machine (default: its CPUs)")
    parser.add_argument("--shard", type=nightly_units.shard, metavar="I/N", help="only the units of the I-th of N machines, and no race; then merge")
    parser.add_argument("--dry-run", action="store_true", help="run nothing: print the units, which of them the store knows, and how long the others take")
    builds = parser.add_mutually_exclusive_group()
    builds.add_argument("--build", action="store_true", help="set up and build what a night runs, and do nothing else: builds count in the budget")
    builds.add_argument("--no-build", action="store_true", help="take the builds as they are, if they are of this source; unit tests are skipped")


def race_plan(seconds: float) -> plans.Plan:
    """What fits. Rounds end with the time; with too few of them the batch calls itself weak."""
    if seconds >= NIGHTLY_RACE_FROM:
        return dataclasses.replace(plans.plan("publish"), rounds=30, batches=1, limit=seconds)
    if seconds >= QUICK_RACE_FROM:
        return dataclasses.replace(plans.plan("quick"), rounds=30, least_rounds=1, limit=seconds)
    return dataclasses.replace(plans.plan("smoke"), points=plans.plan("quick").points, limit=seconds)


def remainder(budget: float, spent: float) -> tuple[float, str]:
    """Seconds to divide among the parts that run whatever was spent, and the words for it."""
    if budget - spent >= LEAST_REST:
        return budget - spent, f"{duration(budget - spent)} left to divide"
    least = duration(LEAST_REST)
    return LEAST_REST, f"less than {least} of the budget is left; the parts get that all the same, and run over it"


def race_seconds(budget: float, spent: float) -> float:
    return max(SHARES["race"] * LEAST_REST, min(budget - spent, 0.9 * budget))


# ------------------------------------------------------------------------------------------------- the parts


def judged(name: str, bad: object, seconds: float = 0.0, told: str = "") -> Case:
    return Case(name, FAILED if bad else PASSED, seconds, told)


def reds(sentences: list[str]) -> list[Case]:
    return [Case(one[:80], FAILED, 0.0, one) for one in sentences]


def left_out(name: str, why: str) -> Part:
    return Part(name, [Case(name, SKIPPED, 0.0, why)])


def tests_part(names: list[str]) -> Part:
    part = tests_of("tests", names)
    part.cases += [Case(name, SKIPPED, 0.0, "did not fit the budget") for name in check.PARTS if name not in names]
    return part


def tests_of(part: str, names: list[str]) -> Part:
    done = check.run_parts(names)
    cases = [judged(p.name, not p.passed, p.seconds, "\n".join(p.closing)) for p in done]
    return Part(part, cases, lines=[f"{p.name}: {'; '.join(p.closing)}" for p in done])


def rows_part(name: str, done: proc.Done, row: re.Pattern[str], told: str) -> Part:
    """A program's rows, each with its word; red, too, where there is none, or where its status says otherwise."""
    cases = [Case(found["name"], WORDS[found["word"]], 0.0, found["said"]) for found in row.finditer(done.out)]
    counted = f"{sum(case.status == PASSED for case in cases)} of {len(cases)}"
    if not cases or done.ok == any(case.status == FAILED for case in cases):
        cases.append(Case(f"the rows of {name}", FAILED, done.seconds, done.out[-500:] or done.how()))
    return Part(name, cases, lines=[f"{counted} {told}"])


def hunting_part(name: str, script: Path, words: list[str], takes: float, told: str) -> Part:
    """What the hunt's own programs find when they are built as strangers build, or are of strangers."""
    if not sources.built("model", "checks"):
        return left_out(name, "the preset model is not built; scripts/apiary build model")
    command = [sys.executable, repo.ROOT / script, repo.BUILD / "model", os.environ.get("CXX", "g++"), *words]
    done = proc.run(command, cwd=repo.ROOT, timeout=10 * takes, merge=True)
    return rows_part(name, done, HUNT_ROW, told)


def front_ends_part() -> Part:
    """By other build systems, compilers and test frameworks than those of `check`."""
    return hunting_part("front_ends", FRONT_ENDS, [], FRONT_ENDS_TAKE, "ways to build a hunt work")


def suites_part() -> Part:
    """Test suites of others, from Debian's source packages: nothing is found but what is known."""
    return hunting_part("suites", SUITES, ["--seconds", SUITES_SECONDS], SUITES_TAKE, f"cases are as {SUITES.parents[1]}/README.md has them")


def speed_part() -> Part:
    """What an explored run of ordinary C++ takes, over that of the same check over Sync: by the interval, three times at most."""
    program = repo.BUILD / "model" / "bin" / "chase_lev_deque_twins"
    if not program.exists():
        return left_out("speed", "code as it is needs g++ on x86-64")
    sources.refuse_other(repo.BUILD / "model", [program], "scripts/apiary build model")
    done = proc.run([str(program), "--speed", SPEED_ROUNDS], timeout=10 * SPEED_TAKES, merge=True)
    return rows_part("speed", done, SPEED_ROW, "checks of ordinary C++ take at most three times as long as over Sync")


def museum_part() -> Part:
    """The catalogue, and the time to detect against what is recorded."""
    exhibits, defects = catalogue.shown(checks.all_entries()), catalogue.read()
    red = catalogue.filed(defects, [entry.name for entry in exhibits])
    red += museum.times(exhibits, os.cpu_count() or 1, update=False, whole=True)
    cases = [judged(entry.name, any(entry.name in one.split() for one in red)) for entry in exhibits]
    unseen = sum(not defect.exhibits for defect in defects)
    return Part("museum", cases + reds(red), lines=[f"{len(exhibits)} exhibits, {unseen} of {len(defects)} defects not yet seen"])


def echo_part() -> Part:
    """The hive's echo server and its clients over real sockets under ThreadSanitizer, each byte compared."""
    program = repo.BUILD / ECHO_PRESET / "bin" / "hive_echo"
    if not program.exists():
        return left_out("echo", f"the preset {ECHO_PRESET} is not built; scripts/apiary build {ECHO_PRESET}")
    sources.refuse_other(repo.BUILD / ECHO_PRESET, [program], f"scripts/apiary build {ECHO_PRESET}")
    words = [str(program), "--connections", "1000", "--messages", "20", "--seconds", f"{ECHO_SECONDS:g}"]
    done = stressing.attempt(words, ECHO_SECONDS)
    last = (done.out + done.err).strip().splitlines()[-1:] or [done.how()]
    status = PASSED if done.ok else SKIPPED if done.rc == TOO_FEW_DESCRIPTORS else FAILED
    return Part("echo", [Case("echo under ThreadSanitizer", status, done.seconds, "" if done.ok else last[0])], lines=last)


def smoke_part(workers: int) -> Part:
    """Each scenario and subject once: is the work right?"""
    return raced("smoke", plans.plan("smoke"), None, workers, unpaired=False)


def raced(name: str, plan: plans.Plan, deadline: float | None, workers: int, unpaired: bool) -> Part:
    args = race.parsed("--no-build", "--believe", "--workers", str(workers), *([] if unpaired else ["--no-sidecars"]))
    found, refused = entrants.gather(args, plan.subjects)
    outcome = race.perform(plan, found, args, refused, deadline, argument_kinds.command())
    read = outcome.report
    bad = {subject for subject, _ in comparing.incorrect(read.rows)}
    failures = summary.failures(read.rows)
    cases = [judged(s.name, s.name in bad, 0.0, "\n".join(line for line in failures if line.startswith(f"{s.name}:"))) for s in found]
    cases += reds(refused)
    cases += [judged(f"{one.kind} {one.subject} {' '.join(filter(None, one.key))}", one.red, 0.0, one.line) for one in read.findings]
    if outcome.code in (INCORRECT, HARNESS) and all(case.status == PASSED for case in cases):
        reasons = read.race.get("side_failures") or ["no run succeeded"]
        cases.append(Case(name, FAILED, 0.0, "; ".join(reasons)))
    lines = [f"plan {plan.name}", *(one.line for one in read.findings), *peer_summary.told(read.comparisons),
             *summary.control_lines(read.validity), f"report: {outcome.folder.name}/report.html"]
    return Part(name, cases, lines=lines, invalid=outcome.code == INVALID_BATCH)


def exact_part() -> Part:
    """Instructions per operation, against those recorded for this compiler."""
    if not repo.manifest("release", "exact"):
        return left_out("exact", "no drivers are built")
    packages.require("valgrind")
    figures, path = exact.count(), exact.baseline()
    if not path.exists():
        return left_out("exact", f"nothing is recorded for {exact.key()}; scripts/apiary exact --update")
    found = exact.changes(exact.read(path), figures)
    cases = [judged(" ".join(c.key), c.red, 0.0, f"{c.word}: {c.before} was recorded, now {c.after}") for c in found]
    return Part("exact", cases, lines=[f"{len(found)} counts, {sum(c.red for c in found)} grew or are gone"])


def guarded(name: str, work: Callable[[], Part | list[Part]], fits: bool = True, verb: str = "") -> list[Part]:
    """A part that cannot run is a failed part; the others go on. `verb` runs what did not fit."""
    if not fits:
        return [left_out(name, "did not fit the budget" + (f"; scripts/apiary {verb}" if verb else ""))]
    heading(f"nightly: {name}")
    started = time.monotonic()
    part, fault = check.attempt(work)
    if fault:
        part = Part(name, [Case(name, FAILED, 0.0, fault.text())], lines=[fault.seen])
    if isinstance(part, list):
        return part
    part.seconds = time.monotonic() - started
    return [part]


def built_whole(preset: str) -> None:
    """With the stress programs that a build of everything leaves aside."""
    building.build(preset)
    if repo.manifest(preset, "aside"):
        building.build(preset, only="stress")


def by_name() -> dict[str, Callable[[], object]]:
    """What no build of everything has: the programs of faults, soak and selftest, and the fuzzer."""
    return {
        **{f"{preset}, for faults and soak": lambda preset=preset: building.build(preset, only="night")
           for preset in (enduring.PLAIN, *enduring.SANITIZERS)},
        "model, the suites that are hunted": lambda: building.build("model", only="hunted"),
        "release, for the selftest": lambda: building.build("release", only="planted"), "the fuzzer": lambda: fuzz.ready(fuzz.of_day()),
    }


def build_part(no_build: bool) -> Part:
    """Everything is built first, so that what is left of the budget is for running."""
    if no_build:
        return left_out("build", "--no-build")
    cases = []
    work: dict[str, Callable[[], object]] = {name: lambda preset=name: built_whole(preset) for name in ("ci", "model", *stressing.PRESETS, "release")}
    work |= {"rust": building.build_rust, **by_name()}
    for name, make in work.items():
        started = time.monotonic()
        _, fault = check.attempt(make)
        cases.append(judged(name, fault, time.monotonic() - started, fault.text() if fault else ""))
    return Part("build", cases, lines=[f"{c.name}: {c.message.splitlines()[0]}" for c in cases if c.message])


# -------------------------------------------------------------------------------------- the page and the code


def exit_code(parts: list[Part]) -> int:
    if any(part.status == FAILED for part in parts):
        return 1
    return INVALID_BATCH if any(part.invalid for part in parts) else 0


def publish(parts: list[Part], args: argparse.Namespace, seconds: float, done: nightly_units.Done | None) -> None:
    view = night_page.view(parts, done, args.budget, seconds, exit_code(parts))
    text = night_page.markdown_text(view)
    if done:
        nightly_units.keep_failures(done, FOLDER / "failed")
    json_result.note(parts=[dataclasses.asdict(part) | {"status": part.status} for part in parts], **(done.record() if done else {}))
    repo.write_text(FOLDER / "summary.md", text)
    repo.write_text(FOLDER / "night.html", html.render("night.html", title=view["title"], night=view))
    repo.write_text(FOLDER / "night.sarif", sarif.text("nightly", [one for part in parts for one in part.cases if isinstance(one, Verdict)]))
    for path in filter(None, (FOLDER / "junit.xml", args.junit)):
        repo.write_text(path, junit.xml(parts))
    check.tell_the_job(text)
    say(text.rstrip(), f"page: {repo.shown(FOLDER / 'summary.md')}")


def units_parts(args: argparse.Namespace, seconds: float) -> list[Part]:
    """Searches, exhibits, mutants, stresses, outside code: what can be divided, by this machine or a cluster."""
    store, day = Store(Path(args.store)), datetime.datetime.now(datetime.timezone.utc).date()
    args.done = nightly_units.run(store, seconds, day, args.scheduler, args.processes, args.shard, not args.no_build, args.gate)
    if not args.shard:
        nightly_units.keep_records(args.done)
    return [part for part in args.done.parts if part.name != GATE]  # which is on the page already


def gate_part(args: argparse.Namespace, budget: float) -> Part:
    """Is what should be red red? Its result goes into the record of the units, so that merge knows it."""
    args.gate = nightly_units.gate(Store(Path(args.store)), GATE_SHARE * budget)
    if args.gate.fault:
        raise args.gate.fault
    if args.gate.waiting:
        return left_out(GATE, f"did not fit into a quarter of the budget: nothing says that this night sees what is wrong; scripts/apiary {GATE}")
    return Part(GATE, [night_cases.case(result) for result in args.gate.results.values()])


def night(args: argparse.Namespace, budget: float, started: float) -> Iterator[tuple]:
    """The parts, as guarded() takes them, each made when those before it have run: what they left of the budget is divided."""
    yield "build", lambda: build_part(args.no_build)
    yield GATE, lambda: gate_part(args, budget)
    if args.shard:  # the others, and the parts that are not divided, are another machine's
        yield "units", lambda: units_parts(args, max(LEAST_REST, budget - (time.monotonic() - started)))
        return
    whole = budget >= ALL_TESTS_FROM
    if not args.no_build:
        yield "tests", lambda: tests_part(list(check.PARTS) if whole else ["python", "ci"])
    took = memories.read(Store(Path(args.store))).part
    fixed = sum(took(name, guess) for name, (least, guess) in FIXED.items() if budget >= least)
    rest, words = remainder(budget, time.monotonic() - started + fixed)
    say(f"nightly: {words}")
    yield "units", lambda: units_parts(args, SHARES["units"] * rest)
    yield "speed", speed_part, budget >= OUTSIDE_FROM
    yield "front_ends", front_ends_part, budget >= OUTSIDE_FROM
    yield "suites", suites_part, budget >= SUITES_FROM
    yield "museum", museum_part, whole, "museum --times"
    yield "exact", exact_part, whole, "exact"
    yield "hazards", lambda: hazards.night_part(args.no_build), whole, "hazards"
    yield "smoke", lambda: smoke_part(args.workers), whole, "race --plan smoke"
    left = race_seconds(budget, time.monotonic() - started)
    plan, unpaired = race_plan(left), left >= QUICK_RACE_FROM
    yield "race", lambda: raced("race", plan, time.monotonic() + left, args.workers, unpaired)
    yield ("moved", lambda: tests_of("moved", list(MOVED)), whole and not args.no_build,
           f"build and ctest --preset, with each of: {' '.join(MOVED[:-1])}; cargo test --features actix")
    yield "echo", echo_part, whole


PLAN = ["kind", "units:n", "known:n", "the others take:n", "first"]


def dry_run(args: argparse.Namespace) -> int:
    """As if the tests took nothing: what they take is known when they have run."""
    seconds, day = argument_kinds.span("--budget", args.budget) * (1.0 if args.shard else SHARES["units"]), datetime.datetime.now(datetime.timezone.utc).date()
    lines = nightly_units.plan(Store(Path(args.store)), seconds, day, args.processes, args.shard, not args.no_build)
    say(table(PLAN, lines), f"at most {duration(seconds)} for units, {args.processes} at a time", *nightly_units.lacking())
    json_result.note(plan=[dict(zip(("kind", "units", "known", "takes", "first"), line)) for line in lines])
    return 0


def must_answer(args: argparse.Namespace) -> None:
    """Refuses a scheduler that is away, before an hour of builds and tests."""
    if args.scheduler not in (None, nightly_units.HERE):
        from ..night import cluster  # here, as in nightly_units

        cluster.must_answer(args.scheduler)


def run(args: argparse.Namespace) -> int:
    if args.dry_run:
        return dry_run(args)
    budget, started, args.done, args.gate = argument_kinds.span("--budget", args.budget), time.monotonic(), None, None
    args.junit = None if args.junit is None else repo.writable("--junit", args.junit)
    with Store(Path(args.store)).alone():  # from here on: a second one is refused before its builds, and not after them
        if args.build:
            return built()
        must_answer(args)
        return whole(args, budget, started)


def fetch() -> None:
    """Before the builds: what a later part fetched would be known to the preset that was built without it."""
    setup.ensure(quiet=True)
    setup.ensure(quiet=True, peers=hazards.PEERS)
    try:
        setup.ensure(quiet=True, peers=packages.OUTSIDE)
    except Fault as fault:  # a library of others that this system does not have: what needs it is left out by name
        warn(f"{fault.seen}: {fault.cause}")


def built() -> int:
    """What would otherwise come out of a night's budget; the presets of `moved` are built when they run."""
    fetch()
    part = build_part(False)
    json_result.note(parts=[dataclasses.asdict(part) | {"status": part.status}])
    say(*part.lines, f"{sum(case.status == PASSED for case in part.cases)} of {len(part.cases)} builds are there for a night")
    return exit_code([part])


def whole(args: argparse.Namespace, budget: float, started: float) -> int:
    if not args.no_build:
        fetch()
    parts = []
    for name, *how in night(args, budget, started):
        began = time.monotonic()
        try:
            parts += guarded(name, *how)
        except Stopped as stopped:
            told = f"stopped by signal {stopped.signum}; no part after it has run"
            parts.append(Part(name, [Case(name, FAILED, 0.0, told)], time.monotonic() - began))
            publish(parts, args, time.monotonic() - started, args.done)
            raise
    remember(parts, args)
    publish(parts, args, time.monotonic() - started, args.done)
    return exit_code(parts)


def remember(parts: list[Part], args: argparse.Namespace) -> None:
    """How long the parts took that no budget cuts; one that failed may have ended before its time."""
    took = {part.name: part.seconds for part in parts if part.name in FIXED and part.status == PASSED}
    _, fault = check.attempt(lambda: memories.took(Store(Path(args.store)), took)) if took else (None, None)
    if fault:
        parts.append(Part("memory", [Case("what the parts took", FAILED, 0.0, fault.text())]))
