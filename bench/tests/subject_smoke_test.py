#!/usr/bin/env python3
"""Holds one subject to the treaty (bench/contract/), with tiny operation counts.

    subject_smoke_test.py PROGRAM CASE

CASE is a scenario, `treaty` for the calls and refusals, or `wrong` for a subject that must be found out. The expected
sums are computed here, by a third implementation.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CONTRACT = Path(__file__).resolve().parents[1] / "contract"
SCENARIOS = ["post_throughput", "post_latency", "timer_lateness"]
MASK = (1 << 64) - 1
PROGRAM = ""


def mix(i: int) -> int:
    z = (i + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def expected_check(ops: int) -> str:
    return f"{sum(mix(i) for i in range(ops)) & MASK:016x}"


@functools.cache
def measured_columns() -> str:
    """The header of a subject's row: the line of CSV.md that starts with `scenario,workers`."""
    lines = (CONTRACT / "CSV.md").read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith("scenario,workers,")]
    assert len(found) == 1, f"CSV.md holds {len(found)} headers of measured columns"
    return found[0]


def call(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=60, check=False)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-smoke-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def row_of(self, done: subprocess.CompletedProcess) -> dict[str, str]:
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, f"a header and one row, seen: {done.stdout!r} and {done.stderr!r}")
        self.assertEqual(lines[0], measured_columns())
        row = next(csv.DictReader(io.StringIO(done.stdout)))
        self.assertNotIn(None, row.values(), "a short row")
        self.assertNotIn(None, row.keys(), "a long row")
        return row

    def run_ok(self, scenario: str, ops: int, *words: object) -> dict[str, str]:
        done = call("run", "--scenario", scenario, "--workers", 2, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.row_of(done)
        wanted = {"scenario": scenario, "workers": "2", "ops": str(ops), "status": "ok", "check": expected_check(ops)}
        self.assertEqual({key: row[key] for key in wanted}, wanted)
        for column in ("cpu_ns", "nvcsw", "nivcsw", "minflt", "maxrss_kib"):
            self.assertRegex(row[column], r"^\d+$", column)
        return row

    def plan(self, text: str) -> Path:
        path = self.folder / "plan.txt"
        path.write_text(text, encoding="utf-8")
        return path

    def check_histogram(self, path: Path, row: dict[str, str]) -> None:
        with path.open(encoding="utf-8") as file:
            self.assertEqual(file.readline(), "value_lo_ns,value_hi_ns,count\n")
            buckets = [tuple(map(int, line.split(","))) for line in file]
        self.assertEqual(sum(count for _, _, count in buckets), int(row["lat_count"]))
        self.assertTrue(all(lo <= hi and count > 0 for lo, hi, count in buckets))
        lo, hi, _ = buckets[-1]
        self.assertTrue(lo <= int(row["lat_max_ns"]) <= hi)


class PostThroughput(Case):
    def test_every_mix_of_producers_and_batches(self) -> None:
        for producers, batch in ((1, 1), (3, 1), (1, 16), (2, 256)):
            with self.subTest(producers=producers, batch=batch):
                row = self.run_ok("post_throughput", 1001, "--param", "ops=1001", "--param", f"producers={producers}",
                                  "--param", f"batch={batch}", "--seed", 9, "--warmup-blocks", 2, "--blocks", 1)
                self.assertEqual((row["seed"], row["blocks"], row["lat_count"]), ("9", "1", ""))
                self.assertIn(row["steady"], ("0", "1"))
                self.assertAlmostEqual(float(row["ns_per_op"]), int(row["wall_ns"]) / 1001, places=2)

    def test_calibration_doubles_from_the_floor(self) -> None:
        done = call("run", "--scenario", "post_throughput", "--workers", 1, "--block-ms", 5, "--blocks", 1,
                    "--warmup-blocks", 0)
        row = self.row_of(done)
        ops = int(row["ops"])
        self.assertIn(ops, [16384 << k for k in range(20)])
        self.assertEqual((row["check"], row["warmup_blocks"], row["steady"]), (expected_check(ops), "0", "0"))

    def test_the_built_in_slow_down_is_there(self) -> None:
        row = self.run_ok("post_throughput", 200, "--param", "ops=200", "--slowdown-ns", 50_000, "--blocks", 1)
        self.assertGreaterEqual(int(row["wall_ns"]), 200 * 50_000 // 2, "two workers")


class PostLatency(Case):
    def test_a_small_plan(self) -> None:
        plan = self.plan("# a burst every 500 us\n" + "".join(f"{i // 5 * 500_000}\n" for i in range(200)))
        hist = self.folder / "hist.csv"
        row = self.run_ok("post_latency", 200, "--plan", plan, "--hist", hist, "--param", "rate=10000")
        self.assertEqual((row["lat_count"], row["warmup_blocks"], row["blocks"]), ("180", "0", "1"))
        self.assertLessEqual(float(row["achieved_per_s"]), float(row["offered_per_s"]))
        self.assertIn(row["flags"], ("", "injector_limited"))
        self.assertEqual(row["lat_p90_ns"], "", "18 samples lie above it")
        self.check_histogram(hist, row)

    def test_bad_plans(self) -> None:
        for text, seen in (("5\nx7\n", "x7"), ("5\n4\n", "4 after 5"), ("-1\n", "-1"), ("1\n\n2\n", "line 2"),
                           ("# none\n", "no release time")):
            with self.subTest(text=text):
                done = call("run", "--scenario", "post_latency", "--workers", 1, "--plan", self.plan(text))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(seen, done.stderr)

    def test_a_plan_is_required(self) -> None:
        done = call("run", "--scenario", "post_latency", "--workers", 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--plan", done.stderr)


class TimerLateness(Case):
    def test_small_chains(self) -> None:
        if "timer_lateness" not in call("--list").stdout.split():
            done = call("run", "--scenario", "timer_lateness", "--workers", 2)
            self.assertEqual((done.returncode, done.stdout), (3, ""))
            self.assertIn("unsupported", done.stderr)
            return
        for pending in (1, 7, 40):
            with self.subTest(pending=pending):
                hist = self.folder / "hist.csv"
                row = self.run_ok("timer_lateness", 40, "--param", "ops=40", "--param", f"pending={pending}",
                                  "--param", "delay_us=500", "--hist", hist)
                self.assertEqual(row["lat_count"], "36")
                self.assertGreaterEqual(int(row["wall_ns"]), 40 // pending * 500_000)
                self.check_histogram(hist, row)
        done = call("run", "--scenario", "timer_lateness", "--workers", 2, "--param", "ops=3", "--param", "pending=4")
        self.assertEqual(done.returncode, 2)
        self.assertIn("pending=4", done.stderr)


class Treaty(Case):
    def test_version_is_one_json_line(self) -> None:
        done = call("--version")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 1))
        said = json.loads(done.stdout)
        self.assertEqual(list(said), ["subject", "subject_version", "language", "build_id"])
        self.assertTrue(all(said.values()), said)
        self.assertEqual(Path(PROGRAM).name, "subject_" + said["subject"])

    def test_list_names_scenarios(self) -> None:
        done = call("--list")
        self.assertEqual(done.returncode, 0)
        names = done.stdout.splitlines()
        self.assertTrue(names and set(names) <= set(SCENARIOS), names)

    def test_bad_arguments_end_with_2_and_say_what_was_seen(self) -> None:
        throughput = ["run", "--scenario", "post_throughput", "--workers"]
        for words, *seen in (
                (["run", "--scenario", "nope", "--workers", 1], "nope", *SCENARIOS),
                ([*throughput, 1, "--param", "size=1"], "size", "producers", "batch", "ops"),
                ([*throughput, 0], "--workers", "0"),
                ([*throughput, "two"], "two"),
                ([*throughput, 1, "--blocks", "-1"], "--blocks", "-1"),
                ([*throughput, 1, "--wrong-option", "1"], "--wrong-option", "--slowdown-ns"),
                ([*throughput, 1, "--hist", "/nonexistent/h"], "/nonexistent/h"),
                (["run", "--workers", 1], "--scenario"),
                (["measure"], "measure", "run"),
                ([], "--list")):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                for text in seen:
                    self.assertIn(text, done.stderr)


class Wrong(Case):
    """The subject of bench/tests/wrong_subject.cpp, whose runtime swaps tasks and fires early."""

    def assert_found_out(self, complaint: str, *words: object) -> dict[str, str]:
        done = call("run", "--workers", 1, *words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(complaint, done.stderr)
        row = self.row_of(done)
        self.assertEqual(row["status"], "wrong")
        return row

    def test_a_swapped_task_is_found_out(self) -> None:
        row = self.assert_found_out("run twice", "--scenario", "post_throughput", "--param", "ops=100")
        self.assertNotEqual(row["check"], expected_check(100))
        self.assert_found_out("run twice", "--scenario", "post_latency", "--plan", self.plan("0\n10\n20\n"))

    def test_an_early_timer_is_found_out(self) -> None:
        self.assert_found_out("before it was due", "--scenario", "timer_lateness", "--param", "ops=20")


CASES = {"post_throughput": PostThroughput, "post_latency": PostLatency, "timer_lateness": TimerLateness,
         "treaty": Treaty, "wrong": Wrong}


def main() -> int:
    global PROGRAM
    if len(sys.argv) != 3 or sys.argv[2] not in CASES:
        print(f"expected PROGRAM CASE, seen {sys.argv[1:]}; the cases are: {', '.join(CASES)}", file=sys.stderr)
        return 2
    PROGRAM = sys.argv[1]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(CASES[sys.argv[2]])
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
