"""Servers on a page: percentiles of all rounds at once, and requests of a second of processor time."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from apiary_cli.race import tables
from apiary_cli.report import page_servers

from .test_report_curves import report, row

PARAMS = "bytes=64;connections=100;rate=20000;workers=1"


def asked(subject: str, n: int, cpu: int) -> dict[str, str]:
    return row(subject, "echo", PARAMS, n, cpu_ns=str(1000 * cpu), ops="1000", lat_p50_ns="30000")


class Servers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def lines(self, rows: list[dict[str, str]], hist: list[tuple[str, int, int, int]]) -> list[str]:
        names = ["scenario", "scenario_params", "subject", "round", "value_lo_ns", "value_hi_ns", "count"]
        tables.write(self.folder / "hist.csv", names, [
            {"scenario": "echo", "scenario_params": PARAMS, "subject": who, "round": str(n), "value_lo_ns": str(high - 1), "value_hi_ns": str(high),
             "count": str(count)} for who, n, high, count in hist])
        made = report(rows)
        made.folder = self.folder
        return page_servers.table(made, "hive")

    def test_each_round_adds_to_the_percentiles_and_the_median_round_says_the_requests(self) -> None:
        rows = [asked("hive", 1, 12_000), asked("hive", 2, 10_000), asked("hive", 3, 40_000), asked("tokio", 1, 16_000), asked("go", 1, 20_000)]
        # Neither round alone has 100 answers above its p99.9.
        hist = [("hive", 1, 30_000, 49_000), ("hive", 2, 30_000, 49_000), ("hive", 1, 90_000, 950), ("hive", 2, 90_000, 950),
                ("hive", 1, 2_000_000, 50), ("hive", 2, 2_000_000, 50), ("tokio", 1, 7000, 200_000)]
        head, _, line = self.lines(rows, hist)
        self.assertEqual(head, "| point | p50 | p99 | p99.9 | requests | the most of a peer |")
        self.assertEqual(line, "| `echo`, 64 bytes, 100 connections, 20,000 requests a second | 30 | 90 | 90 | 83,333 | 62,500, tokio |")

    def test_a_percentile_with_too_few_answers_above_it_is_none_and_so_is_a_peer_that_did_not_run(self) -> None:
        *_, line = self.lines([asked("hive", 1, 10_000)], [("hive", 1, 30_000, 2000), ("hive", 1, 80_000, 2000)])
        self.assertTrue(line.endswith("| 30 | – | – | 100,000 | – |"), line)
        *_, line = self.lines([asked("hive", 1, 10_000)], [])
        self.assertTrue(line.endswith("| – | – | – | 100,000 | – |"), line)

    def test_a_race_without_servers_has_none(self) -> None:
        self.assertEqual(self.lines([row("hive", "fib", "n=27", 1, ns_per_op="5"), asked("tokio", 1, 10_000)], []), [])
