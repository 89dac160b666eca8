#!/usr/bin/env python3
"""Holds one subject to the treaty (bench/contract/), with tiny operation counts.

    subject_smoke_test.py PROGRAM CASE

CASE is a group of scenarios, `treaty` for the calls and refusals, or one for subjects that must be found out; cases/ has a file
for each subject of cases. The expected sums are computed there, by a third implementation. What a subject cannot express it must
say, by status 3.
"""

from __future__ import annotations

import importlib
import os
import sys
import unittest
from pathlib import Path

from cases import subject

CASES = {"post_throughput": "posts.PostThroughput", "blocks": "posts.Blocks", "tokio": "posts.Tokio",
         "post_latency": "times.PostLatency", "timers": "times.Timers", "open_loops": "times.OpenLoops", "waking": "times.Waking",
         "fork_join": "fork_join.ForkJoin", "messages": "messages.Messages", "graphs": "graphs.Graphs", "floors": "floors.Floors",
         "servers": "servers.Servers", "load": "servers.Load", "treaty": "treaty.Treaty", "other_library": "treaty.OtherLibrary",
         "wrong": "liars.Wrong", "skip": "liars.Skip", "twice": "liars.Twice", "sleep": "liars.Sleep", "shift": "liars.Shift",
         "within": "liars.Within"}


def main() -> int:
    if len(sys.argv) != 3 or sys.argv[2] not in CASES:
        print(f"expected PROGRAM CASE, seen {sys.argv[1:]}; the cases are: {', '.join(CASES)}", file=sys.stderr)
        return 2
    subject.PROGRAM = sys.argv[1]
    subject.LOAD = os.environ.get("APIARY_LOAD") or str(Path(subject.PROGRAM).with_name("apiary_load"))
    module, _, name = CASES[sys.argv[2]].partition(".")
    case = getattr(importlib.import_module(f"cases.{module}"), name)
    result = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
