"""exact: instructions per operation of the hot paths, counted and not timed."""

from __future__ import annotations

import argparse
import time

from ..base import building, json_result, packages, repo
from ..base.errors import Fault, INCORRECT
from ..base.say import colour, duration, heading, say, table
from ..verify import exact
from . import setup

SUMMARY = "instructions per operation of the hot paths, against the recorded counts"
DESCRIPTION = """\
Runs the deterministic drivers of bench/exact under callgrind, with N and 2N operations, twice, and
compares the slopes with those recorded for this compiler and these flags in results/exact/. Noise
does not move them: one instruction more is one instruction more.

writes:  build/exact.json, which a race's report shows; with --update
         results/exact/COMPILER-FLAGS.csv (commit it with the change that moved it)
takes:   under a minute after building
exit:    0 nothing grew; 1 something grew by more than 0.5 % and half an instruction, or vanished, or nothing
         is recorded for this compiler; 3 the harness failed, or a driver is not deterministic"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--update", action="store_true", help="record what was counted")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is, if it is of this source")


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    if not args.no_build:
        setup.ensure()
        building.build("release")
    packages.require("valgrind")
    if not repo.built("release", "exact"):
        cause = "build/release/manifest/exact.txt names none"
        raise Fault("there are no exact drivers", cause, "scripts/apiary build release")
    figures, path = exact.count(), exact.baseline()
    recorded = exact.read(path) if path.exists() else {}
    found = exact.changes(recorded, figures)
    heading(f"counts per operation; recorded in results/exact/{path.name}")
    rows = [[*c.key, number(c.before), number(c.after), colour(c.word, "red") if c.red else c.word] for c in found]
    say(table(["driver", "operation", "count", "recorded:n", "now:n", ""], rows))
    json_result.note(recorded=path.name, counts=[
        {"operation": list(c.key), "recorded": c.before, "now": c.after, "word": c.word, "red": c.red} for c in found
    ])
    say(f"took {duration(time.monotonic() - started)}")
    if args.update:
        exact.write(path, figures)
        say(f"recorded: results/exact/{path.name}")
        return 0
    if not recorded:
        say("nothing is recorded for this compiler and these flags: scripts/apiary exact --update")
        return INCORRECT
    return INCORRECT if any(change.red for change in found) else 0
