"""hunt: runs a program under schedules and stale reads that are drawn, until one fails."""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from pathlib import Path

from ..base import argument_kinds, json_result, proc
from ..base.errors import Fault, INCORRECT, USAGE
from ..base.say import colour, counted, duration, heading, say, table, warn
from ..verify import hunting

SUMMARY = "run anybody's test program under drawn schedules and stale reads, until one fails"
DESCRIPTION = """\
The program was compiled with -fsanitize=thread and linked with the hunt's runtime (CMake: apiary_hunt(TARGET);
model_check/hunt/README.md has the flags). Each run is another schedule, and another choice among the stores that C++
lets a load read. gtest's cases are hunted each by itself; of any other program, the whole. A failure is told with its
label (needs a stale read, an odd time, or neither), the last operations of each thread, and the line that replays it.

  scripts/apiary hunt --time 30s -- build/tests/queue_test --gtest_filter='Queue.*'

writes:  nothing, but with --json
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
    parser.add_argument("command", nargs="+", metavar="-- PROGRAM ARGUMENTS", help="the program, and what it is called with")
    parser.add_argument("--time", type=span, default=60.0, metavar="TIME", help="in all, such as 90s or 5m (default 60s)")
    parser.add_argument("--jobs", type=argument_kinds.count, default=os.cpu_count() or 1, metavar="N", help="at once (default: the processors)")
    parser.add_argument("--seed", type=seed, default=hunting.Seed(1), metavar="S",
                        help="where to begin (default 1), or SEED:LENGTH:BUILD: the run to replay")
    parser.add_argument("--strategy", default="portfolio", metavar="WORDS",
                        help="random, bursts, pct or pos; sc or weak; patient; joined by commas (default portfolio: drawn for each run)")
    parser.add_argument("--runs", type=argument_kinds.count, metavar="N", help="of each case at most")


def spec(program: Path, words: list[str], out: Path, asked: dict, timeout: float, tag: object) -> proc.Spec:
    told = ";".join(f"{name}={value}" for name, value in {**asked, "limit": LIMIT, "out": out}.items())
    return proc.Spec([program, *words], env={**os.environ, "APIARY_HUNT": told}, timeout=timeout, tag=(tag, words, out))


def result_of(done: proc.Done, found: hunting.Found) -> hunting.Found:
    if not found.summary:
        raise Fault(f"{Path(done.argv[0]).name} {done.how()} before its hunt was over", done.err or done.out,
                    "run it by itself: without a hunt it runs once", USAGE if done.rc == 2 else 3)
    return found


def tell_failure(program: Path, name: str, words: list[str], found: hunting.Found, strategy: str) -> dict:
    run = found.run
    label = f"needs {found.needs}" if found.needs != "neither" else "needs neither a stale read nor an odd time"
    heading(f"{name}: {run['kind']}; {label}")
    say(f"run {run['run']}, {run['seconds']} s; {run['steps']} operations, {run['switches']} switches, {run['stale']} stale reads, "
        f"{run['threads']} threads; strategy {run['strategy']}", *hunting.report(program, found))
    replay = hunting.replay_line(str(program), words, found, strategy)
    say(f"replay: {replay}")
    return {"case": name, "kind": run["kind"], "needs": found.needs, "run": int(run["run"]), "hash": run["hash"], "text": found.text,
            "rows": found.rows[-hunting.SHOWN_ROWS:], "replay": replay}


def replays(args: argparse.Namespace, program: Path, words: list[str], folder: Path) -> int:
    if args.seed.build != (build := hunting.build_of(program)):
        raise Fault(f"the seed is of build {args.seed.build}, and {program.name} is build {build}",
                    "another build has other operations, so the same draws are another run", "hunt anew, or build what was hunted", USAGE)
    asked = {"first": args.seed.first, "length": args.seed.length, "strategy": args.strategy, "replay": 1}
    done = proc.run([program, *words], timeout=2 * LIMIT, env={
        **os.environ, "APIARY_HUNT": ";".join(f"{k}={v}" for k, v in {**asked, "limit": LIMIT, "out": folder / "0"}.items())})
    out = folder / "0"
    found = result_of(done, hunting.read(out.read_text() if out.exists() else ""))
    say(done.out.rstrip(), done.err.rstrip())
    heading(f"{program.name}: {found.run['kind']}; {found.run['steps']} operations, hash {found.run['hash']}")
    say(*hunting.report(program, found))
    json_result.note(program=str(program), failures=[{"kind": found.run["kind"], "hash": found.run["hash"], "text": found.text}])
    return INCORRECT if done.rc else 0


def run(args: argparse.Namespace) -> int:
    name, *words = args.command
    program = hunting.must_be_linked(name).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if args.seed.replays:
            return replays(args, program, words, folder)
        if half := hunting.uninstrumented(program):
            warn(f"compiled without -fsanitize=thread, so what they do is not seen: {', '.join(half[:5])}{' …' if half[5:] else ''}")
        given = [one for one in words if not one.startswith("--gtest_filter=")]
        units = [(case, [*given, f"--gtest_filter={case}"]) for case in hunting.cases_of(program, words)] or [(program.name, words)]
        parts = -(-args.jobs // len(units))  # of a unit, at once
        share = max(LEAST, args.time * args.jobs / (len(units) * parts))
        specs = []
        for case, its in units:
            for part in range(parts):
                asked = {"seconds": f"{share:.3f}", "first": args.seed.first + part, "step": parts, "strategy": args.strategy}
                if args.runs:
                    asked["runs"] = -(-args.runs // parts)
                specs.append(spec(program, its, folder / str(len(specs)), asked, share * 3 + 2 * LIMIT + 30, case))
        return hunts(args, program, specs)


def hunts(args: argparse.Namespace, program: Path, specs: list[proc.Spec]) -> int:
    began, failures, refused, rows = time.monotonic(), {}, {}, {}
    for done in counted("hunt", proc.run_many(specs, args.jobs), len(specs), lambda done: done.tag[0]):
        case, words, out = done.tag
        found = result_of(done, hunting.read(out.read_text() if out.exists() else ""))
        row = rows.setdefault(case, dict.fromkeys(("runs", "cuts", "stale", "accesses"), 0))
        for key in row:
            row[key] += int(found.summary[key])
        if found.run.get("kind") == "refused":
            refused[case] = found.text[0]
        elif found.run and case not in failures:
            failures[case] = tell_failure(program, case, words, found, args.strategy)
    heading(f"{program.name}: {len(rows)} case{'s' if len(rows) > 1 else ''}, {duration(time.monotonic() - began)}")
    say(table(["case", "runs:n", "stale reads:n", "cut:n", "verdict"],
              [[case, str(row["runs"]), str(row["stale"]), str(row["cuts"]),
                colour(failures[case]["kind"], "red") if case in failures else refused.get(case, "nothing found")]
               for case, row in rows.items()]))
    json_result.note(program=str(program), cases=rows, failures=list(failures.values()), refused=refused)
    if failures:
        return INCORRECT
    if refused:
        raise Fault(f"{len(refused)} of {len(rows)} cases ask for what a hunt does not support", "\n".join(f"{case}: {why}" for case, why in refused.items()),
                    "model_check/hunt/README.md says what is supported")
    if not any(row["accesses"] for row in rows.values()):
        raise Fault(f"nothing of {program.name} was seen", "no access of it is instrumented", "compile it with -fsanitize=thread", USAGE)
    if any(row["runs"] == row["cuts"] for row in rows.values()):
        raise Fault("no run has ended: " + ", ".join(case for case, row in rows.items() if row["runs"] == row["cuts"]),
                    f"each was cut after 20 million operations or {LIMIT} s", "hunt through a smaller case")
    return 0
