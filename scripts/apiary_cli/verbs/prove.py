"""prove: run the model checks and record their verdicts."""

from __future__ import annotations

import argparse
import re

from ..base import argument_kinds, building, json_result, repo, source_names, sources
from ..base.errors import Fault, USAGE, unknown
from ..base.say import colour, heading, listing, say, warn
from ..verify import checks, engine_agreement, unreached
from ..verify.verdicts import closing, expected
from ..report import prove_page
from . import setup

SUMMARY = "run the model checks: litmus first, then checks, then exhibits"
DESCRIPTION = """\
Builds the model preset and runs, each in its own process: the litmus tests (if one deviates, the
engine itself has changed, and no later verdict counts), the checks (which must pass), and the
museum's exhibits (which must fail, for their stated reason). NAMES are names or patterns
('deque*'), or a group: litmus, checks, exhibits. Without any, everything runs.
Every deviation is printed whole, with its replay line.
--list builds nothing: programs that are not built of this source are listed by the names in the sources.
At the end comes a table, check by engine, then where the engines disagree, and why. A disagreement
without an explanation is red, and so is a check that reaches less than it states. The last line
names every search that its budget ended, and how far it came.
--reach lists what no execution of each scenario of code as it is came to, where the scenario came through: operations,
retries, waits, wraps, slots and blocks used again, mutexes that a thread waited for. Each kind comes with what in a
scenario would reach it.

writes:  build/model/, and build/model/prove.json: the verdicts, with commit and source hash,
         so that a race can show beside each number what is proved about the same source;
         prove.csv, the same as a table; prove.html, with the traces
takes:   one to three minutes to build, then about a minute; --budget scales it
exit:    0 when every verdict is as expected, else 1; 3 where --no-build finds programs of another source"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="checks by name or pattern, or a group: litmus, checks, exhibits (default: all)")
    parser.add_argument("--engine", help="relacy, explorer or all")
    parser.add_argument("--mode", help="standard, random, pct, bound or full")
    parser.add_argument("--bound", type=argument_kinds.several, metavar="N", help="preemptions (bound), depth (pct)")
    argument_kinds.repeatable(parser, "--budget", None, "for each check: 5s, or 20000x executions; the first to end counts. Exhibits "
                     "end when they are caught, and obey it only when NAMEs are given")
    parser.add_argument("--seed", type=argument_kinds.seed)
    parser.add_argument("--replay", metavar="TOKEN", help="replay one counterexample (with one NAME)")
    parser.add_argument("--mutate", metavar="SITE=ORDER",
                        help="weaken one atomic operation, FILE:LINE[:COLUMN]=ORDER: some check must fail")
    parser.add_argument("--trace", action="store_true", help="print the traces of expected failures, too")
    parser.add_argument("--reach", action="store_true", help="what no execution of each scenario of code as it is came to, and what would")
    parser.add_argument("--jobs", type=argument_kinds.count, help="checks at a time (default: one for each CPU)")
    parser.add_argument("--list", action="store_true", help="list the checks and what each shows; builds nothing")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is, if it is of this source")


def valid_budget(text: str, none: bool = False) -> bool:
    """Seconds or executions, of a length that can be read; `none`: 0 is allowed, and means none."""
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)s|([0-9]{1,15})x", text)
    return match is not None and (none or float(match[1] or match[2]) > 0)


ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst", "dropped")
MUTANT = re.compile(rf"recheck:[^=]+(=dropped)?|[^:=]+:\d+(:\d+(:[\w.]+)?)?=({'|'.join(ORDERS)})")


def options(args: argparse.Namespace) -> checks.Options:
    if args.engine and args.engine not in checks.ENGINES:
        raise unknown("engine", args.engine, checks.ENGINES)
    if args.mode and args.mode not in checks.MODES:
        raise unknown("mode", args.mode, checks.MODES)
    for budget in args.budget:
        if not valid_budget(budget):
            wanted = "seconds for each check as 5s, or executions as 20000x"
            raise Fault(f"--budget {budget} cannot be read", "", wanted, USAGE)
    if args.mutate is not None and not MUTANT.fullmatch(args.mutate):
        wanted = f"it is FILE:LINE[:COLUMN]=ORDER, ORDER one of {', '.join(ORDERS)}; or recheck:NAME"
        remedy = "scripts/apiary mutate --inventory   shows every site"
        raise Fault(f"--mutate {args.mutate} cannot be read", wanted, remedy, USAGE)
    if args.replay and len(args.names) != 1:
        raise Fault("--replay needs exactly one NAME", "", "scripts/apiary prove NAME --replay TOKEN", USAGE)
    if args.reach and (args.replay or args.mutate):
        raise Fault("--reach is of whole searches of the code as it stands", "", "leave out --replay and --mutate", USAGE)
    chosen = checks.Options(args.engine, args.mode, args.seed, tuple(args.budget), bool(args.names), args.replay, args.bound,
                            args.mutate, args.trace, args.reach)
    chosen.jobs = args.jobs or chosen.jobs
    return chosen


def show_list(patterns: list[str]) -> int:
    """What the programs of this source say of themselves; of the others the names, as the sources have them. Builds nothing."""
    source_names.check_names(patterns)
    entries, unbuilt = checks.listed(patterns)
    if entries:
        say(listing(((e.kind, e.name, ",".join(e.engines), e.what) for e in sorted(entries, key=lambda e: (e.kind, e.name))), indent=0))
    json_result.note(checks=[{"name": e.name, "kind": e.kind, "engines": e.engines, "what": e.what} for e in entries])
    lacking = (
        f"of {unbuilt} checks only the name is known, from the sources: their programs are not built of this source. "
        "Engines, and what each shows: scripts/apiary build model, then the same again"
    )
    for line in filter(None, (unbuilt and lacking, building.left_out(repo.BUILD / "model"))):
        warn(line)
    return 0


def prove_and_record(names: list[str], chosen: checks.Options) -> tuple[list[dict], list[checks.Entry], dict]:
    evidence = sources.Evidence(repo.PROVED_FOLDERS, ["model"], "checks")
    verdicts, entries = checks.prove(names, chosen)
    stamp = evidence.check()
    if not chosen.proves():
        return verdicts, entries, stamp
    engine_agreement.write_csv(verdicts, entries)
    prove_page.write(verdicts, entries, stamp)
    return verdicts, entries, checks.write_record(verdicts, entries, stamp)


def run(args: argparse.Namespace) -> int:
    chosen = options(args)
    if args.list:
        if mixed := argument_kinds.besides(args, arguments, "names", "list", "no_build"):
            raise Fault(f"--list with {mixed}", "it runs nothing; of each check it tells the engines", "leave it away", USAGE)
        return show_list(args.names)
    if not args.no_build:
        source_names.check_names(args.names)
        setup.ensure(quiet=True)
        building.build("model")
    verdicts, entries, record = prove_and_record(args.names, chosen)
    say(engine_agreement.engine_table(verdicts, entries))
    red = []
    if chosen.proves():
        below, red = engine_agreement.report(verdicts, entries)
        red = red if chosen.engine in (None, "all") else []
        say(*[f"\n{below}"] * bool(below), *(colour(sentence, "red") for sentence in red))
    if args.reach:
        heading("what was never reached")
        say(*unreached.text(verdicts))
    missing = building.left_out(repo.BUILD / "model")
    if missing and not args.names:
        say(missing)
    say(closing(verdicts))
    if chosen.proves():
        written = ", ".join(str(repo.shown(path)) for path in (checks.RECORD, engine_agreement.CSV, prove_page.PAGE))
        say(f"record: {written} (source {record['source_hash']})")
    json_result.note(**{"verdicts": verdicts} | record, red=red)  # a record has its own, also those of earlier runs
    return 0 if verdicts and all(map(expected, verdicts)) and not red else 1
