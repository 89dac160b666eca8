"""mutate: weaken every atomic site in turn; some check must fail."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import os
from types import ModuleType
from typing import Callable

from ..base import building, decided, given, repo
from ..base.errors import Fault, USAGE
from ..base.say import colour, say, table
from ..verify import inventory, logic, logic_run, mutants as both, mutation
from . import prove, setup

SUMMARY = "weaken each memory order in turn: some check must fail"
DESCRIPTION = """\
Takes every atomic operation, fence and recheck of the headers of impl/ (an inventory read from
their text), weakens it by each legal step at run time (no source is rewritten), and runs the
checks that execute it, on both engines, until one fails. STRUCTURES are parts of header names
(chase_lev_deque, idle_set); without any, all headers.

Red are: a survivor that does not stand in model_check/survivors.csv with a reason; one that
stands there and is killed, or whose site is gone; a site that no check executes; an executed
site that the inventory does not know; two operations at one place.

With --logic: the mistakes that are no memory order. A statement is missing or stands behind its
neighbour, a condition is turned round, a number is one off, one waiter is woken for all. Rules over
the headers' text make candidates, of which a fixed seed draws a share; model_check/logic_mutants.toml
adds those that no rule reaches. One build (build/logic) holds them all; model checks of both engines
and unit tests are run against each, until one fails. Red are: fewer than 95 % killed; a survivor
without a row in model_check/logic_survivors.csv; a row whose mutant is killed, or gone.

writes:  build/model/mutation.csv, build/model/mutation.json; with --logic build/logic/logic.csv, logic.json
takes:   about two minutes for one structure, up to twenty for all; with --logic up to 45
exit:    0 when nothing of that is found, else 1"""

# With --logic, and without: the options that do not apply, and why.
MISFITS = {
    True: {"inventory": "the inventory is of atomic sites"},
    False: {"list": "only the logic mutants have a catalogue", "share": "of the weaker orders every one is tried"},
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("structures", nargs="*", metavar="STRUCTURE", help="parts of header names (default: all)")
    parser.add_argument("--inventory", action="store_true", help="only the inventory: the sites, and which checks run them")
    parser.add_argument("--logic", action="store_true", help="mutate statements, conditions and numbers in place of orders")
    parser.add_argument("--share", type=given.part, metavar="PART",
                        help=f"with --logic: of what the rules make, 0 to 1 (default {logic.SHARE})")
    parser.add_argument("--list", action="store_true", help="with --logic: only the catalogue")
    parser.add_argument("--budget", help=f"for each check and engine: 5s or 20000x (default {mutation.SHORT}; "
                        f"with --logic {logic_run.SHORT})")
    parser.add_argument("--longer", metavar="BUDGET",
                        help=f"for the explorer's unfinished searches of a survivor (default {mutation.LONG}; none: 0s); "
                        f"with --logic for all checks of one (default {logic_run.LONG})")
    parser.add_argument("--jobs", type=given.count, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is, if it is of this source")


def score_table(found: mutation.Run | logic_run.Run, more: dict[str, Callable[[str, list], object]]) -> str:
    """A row for each header; `more`: further columns, made of it and its results."""
    rows = []
    for file in sorted(found.files):
        of = [r for r in found.results if r.file == file]
        killed = len(both.having("killed", of))
        share = f"{100 * killed / len(of):.0f} %" if of else ""
        rows.append([file, *map(str, (len(of), killed, share, *(column(file, of) for column in more.values())))])
    return table(["header", "mutants", "killed", "score", *more], rows, right=set(range(1, 4 + len(more))))


def known_word(r: both.Outcome, listed: dict) -> str:
    return colour("reviewed", "green") if r.key() in listed else colour("NEW", "red")


def inventory_table(found: mutation.Run) -> str:
    never = set(found.never)
    rows = [[f"{i.file}:{i.line}:{i.column}", i.operation, i.order, i.function,
             colour("NEVER RUN", "red") if i in never else "real only" if i.real_only else "run", i.code]
            for i in inventory.read()[0] if i.file in found.files]
    return table(["site", "operation", "order", "function", "", "code"], rows)


def catalogue_table(mutants: list[logic.Mutant]) -> str:
    rows = [[str(i), f"{m.file}:{m.line}", "written" if m.reason else "drawn", m.rule, m.code, m.put]
            for i, m in enumerate(mutants)]
    return table(["number", "place", "", "rule", "code", "becomes"], rows, right={0})


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
    mutants, unexplained = ([dataclasses.asdict(one) for one in some] for some in (found.results, new))
    decided.note(mutants=mutants, unexplained=unexplained, red=red)
    return 1 if red or not found.results else 0


def run_logic(args: argparse.Namespace) -> int:
    """The logic mutants in place of the weaker orders."""
    mutants = logic.catalogue(share=args.share)
    both.chosen(args.structures, {m.file for m in mutants}, logic_run.WHAT)
    if args.list:
        say(catalogue_table(mutants))
        say(f"{len(mutants)} logic mutants, {sum(bool(m.reason) for m in mutants)} of them written by hand")
        return 0
    if not args.no_build:
        setup.ensure(quiet=True)
    listed = logic_run.reviewed()
    found = logic_run.run(args.structures, args.jobs, mutants, args.budget, args.longer, no_build=args.no_build)
    say(score_table(found, {
        "by checks": lambda _, of: sum(bool(r.engine) for r in both.having("killed", of)),
        "by tests": lambda _, of: sum(not r.engine for r in both.having("killed", of)),
        "hung": lambda _, of: sum(r.how == "hung" for r in both.having("killed", of)),
        "unexplained": lambda _, of: len(both.unexplained(of, listed)),
        "seconds": lambda _, of: f"{sum(r.seconds for r in of):.0f}",
    }))
    rows = [[f"{r.file}:{r.mutant.line}", r.mutant.function, r.mutant.code, f"{r.mutant.rule} {r.mutant.put}", str(r.tries),
             known_word(r, listed), listed.get(r.key(), r.reason)] for r in both.having("survived", found.results)]
    if rows:
        say("\n" + table(["survivor", "function", "code", "change", "tries", "", "reason"], rows, right={4}))
    red = both.unexplained(found.results, listed)
    if args.share == logic.SHARE:
        red = logic_run.judged(found, listed, mutants)
        say(*(colour(line, "red") for line in red))
        if not args.structures:
            logic_run.write_record(found, listed)
    code = close(logic_run, found, listed, red, "find a check or a test that fails")
    say(logic_run.score(found.results))
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
        decided.note(sites=[item.name for item in inventory.read()[0] if item.file in found.files],
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


def run(args: argparse.Namespace) -> int:
    kind = logic_run if args.logic else mutation
    for option, why in MISFITS[args.logic].items():
        if getattr(args, option):
            lists = "scripts/apiary mutate --inventory lists the sites, mutate --logic --list the logic mutants"
            raise Fault(f"--{option} {'with' if args.logic else 'without'} --logic", why, lists, USAGE)
    args.budget, args.longer, args.share = args.budget or kind.SHORT, args.longer or kind.LONG, args.share or logic.SHARE
    for option in ("budget", "longer"):
        if not prove.valid_budget(getattr(args, option), none=option == "longer"):
            raise Fault(f"--{option} {getattr(args, option)} cannot be read", "", "5s, or 20000x executions", USAGE)
    return run_logic(args) if args.logic else run_orders(args)
