"""Subjects that lie: the harness must say so."""

from __future__ import annotations

import subprocess

from expected import expected_check

from . import subject
from .subject import Case, call, ONE_BLOCK

class Wrong(Case):
    """The subject of bench/tests/wrong_subject.cpp, whose runtime swaps tasks and fires early."""

    def test_a_swapped_task_is_found_out(self) -> None:
        row = self.assert_found_out("run twice", "--scenario", "post_throughput", "--param", "ops=100")
        self.assertNotEqual(row["check"], expected_check(100))
        self.assert_found_out("run twice", "--scenario", "post_latency", "--plan", self.plan("0\n10\n20\n"))

    def test_an_early_timer_is_found_out(self) -> None:
        self.assert_found_out("before it was due", "--scenario", "timer_lateness", "--param", "ops=20")


class Skip(Case):
    """Loses every millionth task."""

    def test_a_lost_task_is_a_hang(self) -> None:
        words = ["run", "--scenario", "post_throughput", "--workers", "1", *map(str, ONE_BLOCK)]
        done = subprocess.run([subject.PROGRAM, *words, "--param", "ops=999999"], capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, "none is lost yet")
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run([subject.PROGRAM, *words, "--param", "ops=1000000"], capture_output=True, timeout=5, check=False)


class Twice(Case):
    """Runs every thousandth task twice."""

    def test_the_sum_is_wrong(self) -> None:
        # The thousandth is not the last: a second run of the last one comes after the end, and may come after the sum.
        self.assert_found_out("run twice", "--scenario", "post_throughput", "--param", "ops=1500", *ONE_BLOCK)


class Sleep(Case):
    """Sleeps 60 ms in every 12,000 posts."""

    def test_a_pause_shows_in_the_tail_because_latency_counts_from_the_intended_time(self) -> None:
        plan = self.plan("".join(f"{i * 250_000}\n" for i in range(12_000)))
        row = self.row_of(call("run", "--scenario", "post_latency", "--workers", 1, "--plan", plan))
        self.assertEqual((row["status"], row["check"]), ("ok", expected_check(12_000)), "the work itself is right")
        self.assertGreaterEqual(int(row["lat_max_ns"]), 60_000_000)
        self.assertGreaterEqual(int(row["lat_p99_ns"]), 20_000_000, "1.3 % of the posts wait a third of it or more")


class Within(Case):
    """Runs each task within the call that posts it."""

    def test_the_harness_says_so(self) -> None:
        complaint = "tasks run on the thread that posts them"
        self.assert_found_out(complaint, "--scenario", "post_throughput", "--param", "ops=100", *ONE_BLOCK)
        self.assert_found_out(complaint, "--scenario", "post_latency", "--plan", self.plan("0\n10\n20\n"))


class Shift(Case):
    """Writes a histogram one bucket lower than the row."""

    def test_the_last_bucket_must_hold_the_maximum(self) -> None:
        hist = self.folder / "hist.csv"
        plan = self.plan("".join(f"{i * 100_000}\n" for i in range(50)))
        row = self.row_of(call("run", "--scenario", "post_latency", "--workers", 1, "--plan", plan, "--hist", hist))
        with self.assertRaises(AssertionError):
            self.check_histogram(hist, row)
