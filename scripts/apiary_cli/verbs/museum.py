"""museum: the exhibits, and how long each takes to be caught."""

from __future__ import annotations

import argparse

from .. import building, checks, repo
from ..say import colour, say, table
from ..verdicts import count
from . import prove, setup

SUMMARY = "the exhibits: published bugs that the checks must catch"
DESCRIPTION = """\
Runs the museum only: each exhibit is a bug that must be caught for its stated reason. Prints a
catalogue: what the bug is, which engine caught it, after how many executions and how long.

writes:  build/model/, and the exhibits' verdicts into build/model/prove.json
takes:   seconds after the build
exit:    0 when every exhibit was caught, else 1"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="exhibits by name or pattern (default: all)")
    parser.add_argument("--engine", help="relacy, explorer or all")
    parser.add_argument("--budget", action="append", default=[], help="for each exhibit: 5s, or 20000x executions")
    parser.add_argument("--no-build", action="store_true", help="take build/model as it is")
    parser.set_defaults(mode=None, seed=None, replay=None, jobs=None, bound=None, mutate=None, trace=False)


def catalogue(verdicts: list[dict], what: dict[str, str]) -> str:
    rows = []
    for v in verdicts:
        caught = colour("caught", "green") if v.get("as_expected") else colour("NOT CAUGHT", "red")
        rows.append(
            [
                v["name"],
                v.get("engine", ""),
                caught,
                count(v.get("executions")),
                f"{1000 * float(v.get('seconds') or 0):.1f}",
                what.get(v["name"], ""),
            ]
        )
    return table(["exhibit", "engine", "result", "executions", "ms", "what it is"], rows, right={3, 4})


def run(args: argparse.Namespace) -> int:
    chosen = prove.options(args)
    if not args.no_build:
        setup.ensure(quiet=True)
        building.build("model")
    entries = checks.all_entries()
    exhibits = checks.select([e for e in entries if e.kind == "exhibit"], args.names)
    stamp = repo.identity(*repo.PROVED_FOLDERS)
    verdicts = checks.run_entries(exhibits, chosen, "exhibits")
    checks.write_record(verdicts, entries, stamp)
    say(catalogue(verdicts, {entry.name: entry.what for entry in exhibits}))
    caught = sum(bool(v.get("as_expected")) for v in verdicts)
    say(f"{caught} of {len(verdicts)} as they must be")
    return 0 if verdicts and caught == len(verdicts) else 1
