"""stress: run the stress programs under the sanitizers."""

from __future__ import annotations

import argparse
import random

from ..base import argument_kinds, building, json_result, repo, source_names, sources
from ..base.errors import unknown
from ..base.say import say
from ..verify import stressing
from . import setup

SUMMARY = "run the stress programs under TSan and under ASan, LSan and UBSan"
DESCRIPTION = """\
Builds the presets tsan and asan-ubsan and runs every stress program in both: real threads,
seeded delays at every atomic operation, an identity ledger, a watchdog, no suppressions.
Seeds are printed, so that a run can be repeated.

writes:  build/tsan/, build/asan-ubsan/, and build/stress.json (what ran, with commit and source hash)
takes:   a few minutes to build, then --seconds for each program, preset and seed
exit:    0 if every run was clean, else 1"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="stress programs (default: all)")
    parser.add_argument("--seconds", type=argument_kinds.seconds, default=5.0, help="length of each run (default 5)")
    parser.add_argument("--seeds", type=argument_kinds.count, default=1, metavar="N", help="how many seeds (default 1)")
    parser.add_argument("--seed", type=argument_kinds.seed, help="the first seed (default: random, printed)")
    parser.add_argument("--threads", type=argument_kinds.workers, help="threads of each program (default: its own number)")
    parser.add_argument("--preset", action="append", help="tsan or asan-ubsan (default: both)")
    parser.add_argument("--no-build", action="store_true", help="take the builds as they are, if they are of this source")


def seeds(first: int | None, number: int) -> list[int]:
    start = random.SystemRandom().randrange(1, 2**31 - number) if first is None else first
    return [start + i for i in range(number)]


def run_and_record(presets: list[str], names: list[str], chosen: list[int], seconds: float,
                   threads: int | None) -> tuple[list[dict], dict]:
    evidence = sources.Evidence(repo.STRESSED_FOLDERS, presets, "stress")
    results = stressing.run_all(stressing.plan(presets, names, chosen), seconds, threads)
    return results, stressing.write_record(results, evidence.check())


def run(args: argparse.Namespace) -> int:
    presets = args.preset or list(stressing.PRESETS)
    for name in presets:
        if name not in stressing.PRESETS:
            raise unknown("stress preset", name, stressing.PRESETS)
    if not args.no_build:
        source_names.stresses(args.names)
        setup.ensure(quiet=True)
        for name in presets:
            building.build(name, only="stress")
    chosen = seeds(args.seed, args.seeds)
    say(f"stress: seeds {' '.join(map(str, chosen))}")
    results, record = run_and_record(presets, args.names, chosen, args.seconds, args.threads)
    say(stressing.result_table(results))
    bad = sum(not r["passed"] for r in results)
    json_result.note(**record | {"runs": results})
    say(f"{len(results)} runs, {bad} failed; record: {stressing.RECORD.relative_to(repo.ROOT)}")
    return 1 if bad else 0
