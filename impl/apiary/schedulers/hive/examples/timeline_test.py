#!/usr/bin/env python3
"""Holds a trace to what a reader of it expects: timeline_test.py PROGRAM

It is JSON; each worker has a track with its name; the spans of a track lie one behind the other (or one inside another) in time; and the
trace shows as many tasks, sleeps, wakes, thefts and batches as the worker's own counters say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

PROGRAM = ""
COUNTED = {"task": "run", "park": "parked", "woken": "woken", "steal": "stolen", "batch": "batches"}


def overlaps(spans: list[tuple[int, int]]) -> str:
    """The first two spans of a track of which neither holds the other, or an empty string."""
    open_ends: list[int] = []
    for begin, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return f"{begin}-{end} crosses the end of another at {open_ends[-1]}"
        open_ends.append(end)
    return ""


def nanoseconds(text: str) -> int:
    """Microseconds with three decimals, exactly: a double would not do for a clock of days."""
    whole, _, rest = text.partition(".")
    return int(whole) * 1000 + int(rest.ljust(3, "0"))


class Trace(unittest.TestCase):
    def test_it_says_what_the_counters_say(self) -> None:
        with tempfile.TemporaryDirectory(prefix="apiary-trace-") as folder:
            file = Path(folder) / "trace.json"
            done = subprocess.run([PROGRAM, file, "30"], capture_output=True, text=True, timeout=300, check=True)
            trace = json.loads(file.read_text(), parse_float=nanoseconds)
        events = trace["traceEvents"]
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
        told = {}
        for line in done.stdout.splitlines():
            name, _, rest = line.partition(":")
            told[name] = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", rest)}
        self.assertEqual(set(tracks.values()), set(told))
        self.assertEqual(set(told), {"IO worker 0", "IO worker 1", "compute worker 0"})
        self.assertEqual(trace["otherData"]["left_out"], 0)
        for tid, name in tracks.items():
            with self.subTest(worker=name):
                mine = [e for e in events if e.get("tid") == tid and e["ph"] in "Xi"]
                seen = Counter(e["name"] for e in mine)
                self.assertEqual({what: seen[what] for what in COUNTED},
                                 {what: told[name][key] for what, key in COUNTED.items()})
                spans = [(e["ts"], e["ts"] + e["dur"]) for e in mine if e["ph"] == "X"]
                self.assertTrue(all(begin <= end for begin, end in spans))
                self.assertEqual(overlaps(spans), "")
        self.assertGreater(told["compute worker 0"]["run"], 0)

    def test_spans_that_cross_are_found(self) -> None:
        self.assertEqual(overlaps([(0, 10), (2, 5), (5, 10), (10, 12)]), "")
        self.assertIn("crosses", overlaps([(0, 10), (5, 11)]))

    def test_a_senseless_command_line_and_a_file_that_cannot_be_written(self) -> None:
        for words, rc, seen in (([], 2, "usage"), (["x", "0"], 2, "usage"), (["x", "1y"], 2, "usage"),
                                (["/nonexistent/x.json", "1"], 1, "/nonexistent/x.json")):
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, rc)
            self.assertIn(seen, done.stderr)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
