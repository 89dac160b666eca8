"""mutate: weaken every atomic site in turn; some check must fail."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import datetime
import io
import os
import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Callable

from ..base import argument_kinds, building, json_result, repo
from ..base.errors import Fault, USAGE
from ..base.say import colour, say, table
from ..verify import hunted_mutants, inventory, logic, logic_run, mutants as both, mutation
from . import prove, setup

SUMMARY = "weaken each memory order in turn: some check must fail"
DESCRIPTION = """\
Takes every atomic operation, fence and recheck of the headers of impl/ (an inventory read from
their text), weakens it by each legal step at run time (no source is rewritten), and runs the
checks that execute it, on both engines, until one fails. STRUCTURES are parts of header names
(chase_lev_deque, idle_set); without any, all headers.

Red are: a survivor without a reason in model_check/survivors.csv; a row there whose mutant is
killed, or whose site is gone; a site that no check executes; an executed site that the inventory
does not know; two operations at one place.

With --logic it plants mistakes of logic instead: a statement is missing or comes after its neighbour, a
condition is inverted, a number is one off, one waiter is woken instead of all. Rules over the headers'
text make these mutants, and model_check/logic_mutants.toml adds those that no rule reaches. One build
(build/logic) holds them all. Model checks of both engines, including the museum's, and unit tests are run
against each mutant, until one fails. A survivor without a known reason is tried again: the tests run once
more, the explorer's unfinished searches run for --longer, and the stress programs run under
ThreadSanitizer. Red are: fewer than 95 % killed; a survivor without a row in
model_check/logic_survivors.csv; a row whose mutant is killed, or gone. A row whose mutant was not run is
never red.

A run tries one sixth of the mutants, and its score names the sixth: draw 1, or another by --draw (1 to 6, or
a day, for the draw of that night). Six draws cover every mutant once, and an addition to the headers
changes the draw of no other mutant. --shard 3/6 takes one of any number of parts; --share 1 takes all. A
shard writes each verdict as it comes; a further call on the same source continues it. --join makes one table
of all shards: by header, how many of how many mutants were killed.
--killers mpsc_inbox builds and runs only programs of that name, which is quick for one header. A shard keeps its
kills; the next run tries its survivors again.

With --hunted it asks what hunts of the unit tests (model_check/hunt) see: of the weaker orders that checks kill it
draws 40, or N, by --seed, and hunts the cases that reach the place, those first in which two threads met there, until
one fails or the --budget is over. Red are: fewer than 80 % killed.

writes:  build/model/mutation.csv, build/model/mutation.json; with --logic build/logic/logic.csv, logic.json,
         and with --shard build/logic/shards/3-of-6.jsonl (STRUCTURES are in the name, too); with --hunted
         build/model/hunted.csv
takes:   about two minutes for one structure, up to twenty for all; with --logic up to an hour for a sixth; with
         --hunted up to 40 minutes
exit:    0 when nothing is red, else 1"""

ALL_ORDERS = "of the weaker orders every one is tried"
OF_LOGIC = {"list": "only the logic mutants have a catalogue", "draw": ALL_ORDERS, "shard": ALL_ORDERS, "join": ALL_ORDERS,
            "killers": "every check is asked"}
# With each kind, or with neither: the options that do not apply, and why.
MISFITS = {
    "--logic": {"inventory": "the inventory is of atomic sites", "seed": "a draw names a sixth"},
    "--hunted": {**OF_LOGIC, "draw": "--seed draws", "inventory": "every site that a check kills is in the draw",
                 "longer": "a hunt has one budget"},
    "": {**OF_LOGIC, "seed": ALL_ORDERS},
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("structures", nargs="*", metavar="STRUCTURE", help="parts of header names (default: all)")
    parser.add_argument("--inventory", action="store_true", help="only the inventory: the sites, and which checks run them")
    parser.add_argument("--logic", action="store_true", help="mutate statements, conditions and numbers in place of orders")
    parser.add_argument("--hunted", nargs="?", type=argument_kinds.count, const=hunted_mutants.NUMBER, metavar="N",
                        help=f"hunt our own tests with N mutants (default {hunted_mutants.NUMBER}) in place of the checks")
    parser.add_argument("--seed", type=argument_kinds.count, metavar="S", help=f"with --hunted: which are drawn (default {hunted_mutants.SEED})")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--draw", type=draw, metavar="DRAW",
                       help=f"with --logic: which sixth, 1 to {logic.DRAWS} or a day as 2026-11-27 (default 1)")
    which.add_argument("--shard", "--share", type=shard, metavar="K/N",
                       help="with --logic: part K of N, which keeps its verdicts and can be continued; 1: all in one")
    which.add_argument("--join", nargs="?", const=str(logic_run.SHARDS), metavar="FOLDER",
                       help=f"with --logic: one table of the shards in a folder (default {repo.shown(logic_run.SHARDS)}); runs nothing")
    argument_kinds.repeatable(parser, "--killers", "PROGRAM", "with --logic: ask only programs with this in their name (repeatable)")
    parser.add_argument("--list", action="store_true", help="with --logic: only the catalogue")
    parser.add_argument("--budget", help=f"for each check and engine: 5s or 20000x (default {mutation.SHORT}; "
                        f"with --logic {logic_run.SHORT}; with --hunted of each mutant: {hunted_mutants.BUDGET})")
    parser.add_argument("--longer", metavar="BUDGET",
                        help=f"for the explorer's unfinished searches of a survivor (default {mutation.LONG}; none: 0s); "
                        f"with --logic of one without a reason (default {logic_run.LONG}; none: 0x)")
    parser.add_argument("--jobs", type=argument_kinds.count, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is, if it is of this source")


def draw(text: str) -> logic.Part:
    """A number, or the day whose night drew it."""
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        try:
            return logic.draw_of(datetime.date.fromisoformat(text))
        except ValueError as error:
            raise argument_kinds.refuse(text, "a day") from error
    return logic.Part(argument_kinds.whole(1, logic.DRAWS)(text))


def shard(text: str) -> logic.Part:
    match = re.fullmatch(r"(\d{1,3})(?:/(\d{1,3}))?", text)
    number, of = (int(match[1]), int(match[2] or 1)) if match else (0, 0)
    if not 1 <= number <= of:
        raise argument_kinds.refuse(text, "a part K of N, as 3/6, or 1")
    return logic.Part(number, of)


def score_table(found: mutation.Run | logic_run.Run, more: dict[str, Callable[[str, list], object]]) -> str:
    """A row for each header; `more`: further columns, made of it and its results."""
    rows = []
    for file in sorted(found.files):
        of = [r for r in found.results if r.file == file]
        killed = len(both.having("killed", of))
        share = f"{100 * killed / len(of):.0f} %" if of else ""
        rows.append([file, *map(str, (len(of), killed, share, *(column(file, of) for column in more.values())))])
    return table(["header", *(f"{name}:n" for name in ("mutants", "killed", "score", *more))], rows)


def known_word(r: both.Outcome, listed: dict) -> str:
    return colour("reviewed", "green") if r.key() in listed else colour("NEW", "red")


def inventory_table(found: mutation.Run) -> str:
    never = set(found.never)
    rows = [[f"{i.file}:{i.line}:{i.column}", i.operation, i.order, i.function,
             colour("NEVER RUN", "red") if i in never else "real only" if i.real_only else "run", i.code]
            for i in inventory.read()[0] if i.file in found.files]
    return table(["site", "operation", "order", "function", "", "code"], rows)


def catalogue_table(mutants: list[tuple[int, logic.Mutant]]) -> str:
    rows = [[str(i), f"{m.file}:{m.line}", "written" if m.reason else "made", m.rule, m.code, m.put] for i, m in mutants]
    return table(["number:n", "place", "", "rule", "code", "becomes"], rows)


def rows_to_paste(results: list) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([*r.key(), ""] for r in results)
    return text.getvalue().rstrip()


def close(kind: ModuleType, found: mutation.Run | logic_run.Run, listed: dict, red: list[str], advice: str) -> int:
    """What is red, the rows to fill, and the record for --json."""
    new = both.unexplained(found.results, listed)
    if new:
        say(f"{advice}, or give a reason in {repo.shown(kind.SURVIVORS)}:")
        say(rows_to_paste(new))
    if not found.results:
        say("no mutant was asked: there is nothing to weaken or to change in what was named")
    mutants, unexplained = ([dataclasses.asdict(one) for one in some] for some in (found.results, new))
    json_result.note(mutants=mutants, unexplained=unexplained, red=red)
    return 1 if red or not found.results else 0


def run_logic(args: argparse.Namespace) -> int:
    """The logic mutants in place of the weaker orders."""
    mutants, part = logic.catalogue(), args.draw or args.shard or logic.Part()
    files = both.chosen(args.structures, {m.file for m in mutants}, logic_run.WHAT)
    if args.list:
        drawn = [(i, m) for i, m in enumerate(mutants) if m.file in files and part.has(m)]
        say(catalogue_table(drawn))
        say(f"{len(drawn)} logic mutants, {sum(bool(m.reason) for _, m in drawn)} of them written by hand; "
            f"part {part}, {len(mutants)} in all")
        return 0
    listed = logic_run.reviewed()
    if args.join:
        found = logic_run.joined(Path(args.join), mutants)
        found.files = files
        found.results = [r for r in found.results if r.file in files]
        logic_run.write_table(found.results)
    else:
        if not args.no_build:
            setup.ensure(quiet=True)
        found = logic_run.run(args.structures, args.jobs, mutants, args.budget, args.longer, part,
                              bool(args.shard), args.killers, args.no_build)
    of_file = Counter(m.file for m in mutants)
    say(score_table(found, {
        "of all": lambda file, _: of_file[file],
        "by checks": lambda _, of: sum(r.engine in mutation.ENGINES for r in both.having("killed", of)),
        "by tests": lambda _, of: sum(not r.engine for r in both.having("killed", of)),
        "by stress": lambda _, of: sum(r.engine == logic_run.THREADS for r in both.having("killed", of)),
        "late": lambda _, of: sum(r.round not in ("", logic_run.FIRST) for r in of),
        "hung": lambda _, of: sum(r.how == "hung" for r in both.having("killed", of)),
        "unexplained": lambda _, of: len(both.unexplained(of, listed)),
        "seconds": lambda _, of: f"{sum(r.seconds for r in of):.0f}",
    }))
    rows = [[f"{r.file}:{r.mutant.line}", r.mutant.function, r.mutant.code, f"{r.mutant.rule} {r.mutant.put}", str(r.tries),
             known_word(r, listed), listed.get(r.key(), r.reason)] for r in both.having("survived", found.results)]
    if rows:
        say("\n" + table(["survivor", "function", "code", "change", "tries:n", "", "reason"], rows))
    red = logic_run.judged(found, listed, mutants)
    say(*(colour(line, "red") for line in red))
    if found.results and not args.structures and not args.killers:
        logic_run.write_record(found, listed)
    code = close(logic_run, found, listed, red, "find a check or a test that fails")
    say(logic_run.score(found))
    say(f"table: {repo.shown(logic_run.TABLE)}")
    return code


def run_orders(args: argparse.Namespace) -> int:
    both.chosen(args.structures, {item.file for item in inventory.read()[0]}, mutation.WHAT)
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build("model")
    listed = mutation.reviewed()
    longer = "" if float(args.longer[:-1]) == 0 else args.longer
    found = mutation.run(args.structures, args.budget, longer, args.jobs, args.inventory)
    red = mutation.judged(found, listed)
    if args.inventory:
        say(inventory_table(found))
        say(*(colour(line, "red") for line in red))
        json_result.note(sites=[item.name for item in inventory.read()[0] if item.file in found.files],
                     never=[item.name for item in found.never], red=red)
        return 1 if red else 0
    mutation.write_table(found.results)
    survived = both.having("survived", found.results)
    say(score_table(found, {
        "weakened": lambda _, of: len({r.site for r in of}),
        "survive": lambda _, of: len(both.having("survived", of)),
        "unexplained": lambda _, of: len(both.unexplained(of, listed)),
        "never run": lambda file, _: sum(item.file == file for item in found.never),
        "seconds": lambda _, of: f"{sum(r.seconds for r in of):.1f}",
    }))
    if survived:
        rows = [[f"{r.file}:{r.site.line}", r.site.operation, r.site.order, r.mutant, known_word(r, listed), r.mode,
                 listed.get(r.key(), r.site.code)] for r in survived]
        say("\n" + table(["survivor", "operation", "order", "mutant", "", "searched", "reason"], rows))
    say(*(colour(line, "red") for line in red))
    code = close(mutation, found, listed, red, "find a check that fails, adopt the weaker order")
    new = len(both.unexplained(survived, listed))
    killed = len(both.having("killed", found.results))
    say(f"{killed} of {len(found.results)} mutants killed; {len(survived)} survive, {new} of them unexplained")
    say(f"table: {repo.shown(mutation.TABLE)}")
    return code


def run_hunted(args: argparse.Namespace, seconds: float) -> int:
    """Hunts of our own tests in place of the checks."""
    mutants = hunted_mutants.drawn(args.seed or hunted_mutants.SEED, args.hunted)
    files = both.chosen(args.structures, {item.file for item, _ in mutants}, mutation.WHAT)
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build("model", only="hunted")
    found = hunted_mutants.run([one for one in mutants if one[0].file in files], seconds, args.jobs)
    hunted_mutants.write_table(found)
    say(table(["header:line", "operation", "mutant", "cases:n", "two threads", "verdict", "runs:n", "seconds:n", "by"],
              [[f"{r.site.file}:{r.site.line}", r.site.operation, f"{r.site.order} → {r.mutant}", str(r.cases), r.nearest or "not reached",
                r.verdict if r.verdict == "killed" else colour(r.verdict, "red"), str(r.runs), f"{r.seconds:.1f}",
                f"{r.killed_by}: {r.kind}" if r.killed_by else ""] for r in found]))
    killed = len(both.having("killed", found))
    json_result.note(mutants=[dataclasses.asdict(r) for r in found], killed=killed)
    say(f"{killed} of {len(found)} mutants killed by hunts of our own tests; the mark is {hunted_mutants.MARK:.0%}",
        f"table: {repo.shown(hunted_mutants.TABLE)}")
    return 0 if killed >= hunted_mutants.MARK * len(found) else 1


def run(args: argparse.Namespace) -> int:
    if args.logic and args.hunted:
        raise Fault("--logic with --hunted", "a hunt's mutants are memory orders", "leave out one of them", USAGE)
    name = "--logic" if args.logic else "--hunted" if args.hunted else ""
    for option, why in MISFITS[name].items():
        if getattr(args, option):
            lists = "scripts/apiary mutate --inventory lists the sites, mutate --logic --list the logic mutants"
            raise Fault(f"--{option} {'with' if name else 'without'} {name or ('--hunted' if option == 'seed' else '--logic')}", why, lists, USAGE)
    if args.hunted:
        return run_hunted(args, argument_kinds.span("--budget", args.budget or hunted_mutants.BUDGET))
    kind = logic_run if args.logic else mutation
    args.budget, args.longer = args.budget or kind.SHORT, args.longer or kind.LONG
    for option in ("budget", "longer"):
        if not prove.valid_budget(getattr(args, option), none=option == "longer"):
            raise Fault(f"--{option} {getattr(args, option)} cannot be read", "", "5s, or 20000x executions", USAGE)
    return run_logic(args) if args.logic else run_orders(args)
