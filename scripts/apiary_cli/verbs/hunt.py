"""hunt: runs a program under schedules and stale reads that are drawn, until one fails."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from ..base import argument_kinds, json_result, proc, repo
from ..base.errors import Fault, INCORRECT, USAGE
from ..base.say import colour, counted, duration, heading, say, table, warn
from ..report import verdict_files
from ..report.junit import FAILED, PASSED, SKIPPED, Verdict
from ..verify import hunt_units, hunting
from ..verify.hunt_units import Unit
from ..verify.reached import Reached

SUMMARY = "run anybody's test program under drawn schedules and stale reads, until one fails"
DESCRIPTION = """\
The program was compiled with -fsanitize=thread and linked with the hunt's runtime (CMake: apiary_hunt(TARGET);
model_check/hunt/README.md has the flags). Each run is another schedule, and another choice among the stores that C++
lets a load read. The cases of gtest, Catch2 and doctest are hunted each by itself; of `ctest`, each test's program, in
its folder; of any other program, the whole. A failure is told with its label (needs a stale read, an odd time, or
neither), the last operations of each thread, and the line that replays it.

  scripts/apiary hunt --time 30s -- build/tests/queue_test --gtest_filter='Queue.*'
  cd build && ../scripts/apiary hunt --time 5m -- ctest -R queue
  scripts/apiary hunt --gdb 17 --seed 15:19/pa,0.13s1:00c0ffee -- ./queue_test --gtest_filter=queue.loses

writes:  nothing, but what --json, --junit, --sarif and --html name
takes:   as long as --time says; each case has its share
exit:    0 nothing was found; 1 a failure, which is told; 2 bad arguments, or the program cannot be hunted;
         3 it has not ended in any run, or asks for what is not supported"""

LEAST = 0.2  # seconds for one case
LIMIT = 60  # seconds of the clock for one run


def span(text: str) -> float:
    """90, 90s, 5m, 1h: seconds."""
    found = re.fullmatch(r"([0-9.]+)([smh]?)", text)
    if not found:
        raise argument_kinds.refuse(text, "a time such as 90, 90s, 5m or 1h")
    return argument_kinds.seconds(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def seed(text: str) -> hunting.Seed:
    found = hunting.parse_seed(text)
    if found is None:
        raise argument_kinds.refuse(text, "a number, or NUMBER:LENGTH:BUILD as a hunt has told it")
    return found


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="+", metavar="-- PROGRAM ARGUMENTS", help="the program and its arguments")
    parser.add_argument("--time", type=span, default=60.0, metavar="TIME", help="time for all cases together, such as 90s or 5m (default 60s)")
    parser.add_argument("--jobs", type=argument_kinds.count, default=os.cpu_count() or 1, metavar="N", help="runs at a time (default: one for each processor)")
    parser.add_argument("--seed", type=seed, default=hunting.Seed(1), metavar="S",
                        help="the first seed (default 1); or SEED:LENGTH:BUILD, the run to replay")
    parser.add_argument("--strategy", default="portfolio", metavar="WORDS",
                        help="random, bursts, pct or pos; sc or weak; patient; joined by commas (default portfolio: drawn for each run)")
    parser.add_argument("--reach", action="store_true", help="tell what two threads never did together, and the waits that none entered")
    parser.add_argument("--leaks", action="store_true", help="a block that nothing points to when a case has ended is a failure, too")
    parser.add_argument("--gdb", type=argument_kinds.count, metavar="N", help="in a replay: start a debugger before the operation of step N of the table")
    parser.add_argument("--runs", type=argument_kinds.count, metavar="N", help="at most so many runs of each case")
    verdict_files.arguments(parser)


def words(asked: dict) -> str:
    return ";".join(f"{name}={value}" for name, value in asked.items())


def spec(unit: Unit, out: Path, asked: dict, timeout: float) -> proc.Spec:
    told = words({**asked, "limit": LIMIT, "out": out})
    return proc.Spec([unit.program, *unit.words], cwd=unit.folder, env=unit.environment | {"APIARY_HUNT": told}, timeout=timeout, tag=(unit, out))


def replay_of(unit: Unit, found: hunting.Found, args: argparse.Namespace) -> str:
    words = hunting.replay_line(unit.program, unit.words, found, args.strategy, args.leaks)
    if unit.folder is None:
        return shlex.join(words)
    words[0] = str(repo.ROOT / words[0])
    return f"cd {shlex.quote(str(unit.folder))} && {shlex.join(['env', *unit.variables, *words] if unit.variables else words)}"


def needs_words(needs: str) -> str:
    return f"needs {needs}" if needs != "neither" else "needs neither a stale read nor an odd time"


def tell_failure(unit: Unit, found: hunting.Found, args: argparse.Namespace) -> dict:
    """On the terminal; and what the files have of it."""
    run, places = found.run, hunting.places_of(unit.program, found)
    ran = (f"run {run['run']}, {run['seconds']} s; {run['steps']} operations, {run['switches']} switches, {run['stale']} stale reads, "
           f"{run['threads']} threads; strategy {run['strategy']}")
    lines, replay = hunting.report(found, places), replay_of(unit, found, args)
    heading(f"{unit.name}: {run['kind']}; {needs_words(found.needs)}")
    say(ran, *lines)
    say(f"replay: {replay}")
    return {"case": unit.name, "kind": run["kind"], "needs": found.needs, "run": int(run["run"]), "hash": run["hash"], "text": found.text,
            "output": found.output, "steps": hunting.steps(found, places),
            "places": hunting.where(found, places), "report": [ran, *lines], "replay": replay,
            "program": str(unit.program)}


def must_be_of_its_build(args: argparse.Namespace, program: Path) -> None:
    if args.seed.build != (build := hunting.build_of(program)):
        raise Fault(f"the seed is of build {args.seed.build}, and {program.name} is build {build}",
                    "another build has other operations, so the same draws are another run", "hunt anew, or build what was hunted", USAGE)


def debugs(args: argparse.Namespace, unit: Unit) -> NoReturn:
    """This process becomes the debugger: the terminal and its signals are its own."""
    must_be_of_its_build(args, unit.program)
    if not shutil.which("gdb"):
        raise Fault("gdb is not installed", "", "apt-get install gdb")
    words, told = hunting.debugger(unit.program, unit.words, args.seed, args.strategy, args.gdb, args.leaks)
    sys.stdout.flush()
    os.execvpe(words[0], words, unit.environment | {"APIARY_HUNT": told})


def replays(args: argparse.Namespace, plan: hunt_units.Plan, out: Path) -> int:
    unit = plan.units[0]
    must_be_of_its_build(args, unit.program)
    asked = {"first": args.seed.first, "length": args.seed.length, "strategy": args.strategy, "replay": 1, "leaks": int(args.leaks)}
    one = spec(unit, out, asked, 2 * LIMIT)
    done = proc.run(one.argv, timeout=one.timeout, env=one.env)
    found = hunting.found_by(done, out)
    say(done.out.rstrip(), done.err.rstrip())
    heading(f"{unit.program.name}: {found.run['kind']}; {found.run['steps']} operations, hash {found.run['hash']}")
    say(*hunting.report(found, hunting.places_of(unit.program, found)))
    json_result.note(program=str(unit.program), failures=[{"kind": found.run["kind"], "hash": found.run["hash"], "text": found.text}])
    return INCORRECT if done.rc else 0


def run(args: argparse.Namespace) -> int:
    verdict_files.check(args)
    if args.gdb and not args.seed.replays:
        raise Fault("--gdb needs the run to replay", f"--seed {args.seed.first} is where a hunt begins",
                    "take --seed SEED:LENGTH:BUILD from the line that a failure was told with", USAGE)
    if args.gdb and args.json:
        raise Fault("--gdb with --json", "a debugger writes no result", "leave out one of them", USAGE)
    one = None
    if args.seed.replays:
        name, *words = args.command  # as the line has it: a filter names one case
        one = Unit(Path(name).name, hunting.must_be_linked(name).resolve(), tuple(words))
        if args.gdb:
            debugs(args, one)
    with tempfile.TemporaryDirectory() as folder:
        if one:
            return replays(args, hunt_units.Plan([one]), Path(folder) / "0")
        plan = hunt_units.plan(args.command)
        for program in dict.fromkeys(unit.program for unit in plan.units):
            if half := hunting.uninstrumented(program):
                warn(f"{program.name}: compiled without -fsanitize=thread, so what they do is not seen: "
                     f"{', '.join(half[:5])}{' …' if half[5:] else ''}")
            if unseen := hunting.assembly(program):
                warn(f"{program.name}: not seen are assembly and fences by intrinsics, so a failure that needs a stale read may be none: "
                     f"{', '.join(unseen[:5])}{' …' if unseen[5:] else ''}")
        return hunts(args, plan, specs_of(args, plan.units, Path(folder)))


def specs_of(args: argparse.Namespace, units: list[Unit], folder: Path) -> list[proc.Spec]:
    """Each unit's share of the time; where there are fewer units than processors, several processes for each, but not where one is to
    tell what it reached."""
    parts = 1 if args.reach else -(-args.jobs // len(units))
    share = max(LEAST, args.time * args.jobs / (len(units) * parts))
    specs = []
    for unit in units:
        for part in range(parts):
            asked = {"seconds": f"{share:.3f}", "first": args.seed.first + part, "step": parts, "strategy": args.strategy}
            if args.reach:
                asked["reach"] = 1
            if args.leaks:
                asked["leaks"] = 1
            if args.runs:
                asked["runs"] = -(-args.runs // parts)
            specs.append(spec(unit, folder / str(len(specs)), asked, share * 3 + 2 * LIMIT + 30))
    return specs


def hunts(args: argparse.Namespace, plan: hunt_units.Plan, specs: list[proc.Spec]) -> int:
    began, failures, refused, rows, reached = time.monotonic(), {}, {}, {}, Reached()
    for done in counted("hunt", proc.run_many(specs, args.jobs), len(specs), lambda done: done.tag[0].name):
        unit, out = done.tag
        found = hunting.found_by(done, out)
        row = rows.setdefault(unit.name, dict.fromkeys(("runs", "cuts", "stale", "accesses"), 0) | {"seconds": 0.0})
        for key in row:
            row[key] += type(row[key])(found.summary[key])
        if args.reach:
            reached.add(unit.name, unit.program, found)
        if found.run.get("kind") == "refused":
            refused[unit.name] = found.text[0]
        elif found.run and unit.skipped is not None and int(found.run["status"]) == unit.skipped:
            plan.left_out[unit.name] = "it says that it was skipped"
        elif found.run and unit.name not in failures:
            failures[unit.name] = tell_failure(unit, found, args)
    name, took = Path(args.command[0]).name, time.monotonic() - began
    about = f"{name}: {len(rows)} case{'s' if len(rows) > 1 else ''}, {duration(took)}"
    heading(about)
    say(table(["case", "runs:n", "stale reads:n", "cut:n", "verdict"],
              [[case, str(row["runs"]), str(row["stale"]), str(row["cuts"]),
                colour(failures[case]["kind"], "red") if case in failures else refused.get(case) or plan.left_out.get(case) or "nothing found"]
               for case, row in rows.items()]))
    for test, why in plan.left_out.items():
        if test not in rows:
            say(f"not hunted: {test}: {why}")
    if args.reach:
        heading("what was reached")
        say(*reached.report())
        json_result.note(reached=reached.cases, missed={str(program): reached.missed(program) for program in reached.sites})
    json_result.note(program=str(plan.units[0].program), cases=rows, failures=list(failures.values()), refused=refused, left_out=plan.left_out)
    written = verdict_files.write(args, "hunt", f"{about} · {argument_kinds.command()}", verdicts(rows, failures, refused, plan.left_out), took)
    if written:
        say(f"written: {', '.join(map(str, written))}")
    return judged(name, rows, failures, refused)


def verdicts(rows: dict, failures: dict, refused: dict, left_out: dict) -> list[Verdict]:
    found = []
    for case, row in rows.items():
        if one := failures.get(case):
            found.append(Verdict(case, FAILED, row["seconds"], "\n".join([needs_words(one["needs"]), *one["report"], f"replay: {one['replay']}"]), one["kind"],
                                 one["steps"], one["places"], "\n".join(one["report"]), one["replay"]))
        elif case in refused or case in left_out:
            found.append(Verdict(case, SKIPPED, row["seconds"], refused.get(case) or left_out[case]))
        else:
            ended = row["runs"] > row["cuts"]
            found.append(Verdict(case, PASSED if ended else SKIPPED, row["seconds"], f"{row['runs']} runs" if ended else "no run has ended"))
    return found + [Verdict(test, SKIPPED, 0.0, why) for test, why in left_out.items() if test not in rows]


def judged(name: str, rows: dict, failures: dict, refused: dict) -> int:
    if failures:
        return INCORRECT
    if refused:
        raise Fault(f"{len(refused)} of {len(rows)} cases ask for what a hunt does not support", "\n".join(f"{case}: {why}" for case, why in refused.items()),
                    "model_check/hunt/README.md says what is supported")
    if not any(row["accesses"] for row in rows.values()):
        raise Fault(f"nothing of {name} was seen", "no access of it is instrumented", "compile it with -fsanitize=thread", USAGE)
    if any(row["runs"] == row["cuts"] for row in rows.values()):
        raise Fault("no run has ended: " + ", ".join(case for case, row in rows.items() if row["runs"] == row["cuts"]),
                    f"each was cut after 20 million operations or {LIMIT} s", "hunt through a smaller case")
    return 0
