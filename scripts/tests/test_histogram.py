"""A histogram and the row beside it: the same file of buckets, the same figures."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from apiary_cli.race import histogram, tables

from .support import REAL_ROOT

GOLDEN = json.loads((REAL_ROOT / "bench" / "contract" / "golden.json").read_text())


def whole(number: int | str) -> int:
    """Numbers above 2^53 are hexadecimal strings there."""
    return int(number, 0) if isinstance(number, str) else number


def rows_of(values: list[int]) -> list[dict[str, str]]:
    counts: dict[tuple[int, int], int] = {}
    for value in sorted(values):
        counts[histogram.edges(value)] = counts.get(histogram.edges(value), 0) + 1
    return [dict(zip(tables.SUBJECT_HIST, map(str, (*edge, n)))) for edge, n in counts.items()]


class AgainstTheRow(unittest.TestCase):
    def setUp(self) -> None:
        self.values = [1000 + 7 * i for i in range(2000)]
        self.hist = rows_of(self.values)
        self.row = dict.fromkeys(tables.SUBJECT, "") | {
            "lat_count": "2000",
            "lat_min_ns": "1000",
            "lat_p50_ns": str(histogram.edges(self.values[999])[1]),
            "lat_p90_ns": str(histogram.edges(self.values[1799])[1]),
            "lat_max_ns": str(self.values[-1]),
        }

    def test_they_agree(self) -> None:
        self.assertEqual(histogram.flaw(self.hist, self.row), "")

    def test_each_contradiction_is_told(self) -> None:
        for column, cell, words in (
            ("lat_count", "1999", "2000 samples, lat_count is 1999"),
            ("lat_min_ns", "900", "lat_min_ns is 900"),
            ("lat_max_ns", "99999", "lat_max_ns is 99999"),
            ("lat_p50_ns", "8000", "the row says 8000"),
            ("lat_p99_ns", "14993", "fewer than 100"),
        ):
            with self.subTest(column):
                self.assertIn(words, histogram.flaw(self.hist, self.row | {column: cell}))

    def test_shifted_by_an_octave_or_a_bucket(self) -> None:
        self.assertTrue(histogram.flaw(rows_of([2 * v for v in self.values]), self.row))
        self.assertTrue(histogram.flaw(rows_of([v + 16 for v in self.values]), self.row))

    def test_no_samples(self) -> None:
        self.assertEqual(histogram.flaw([], dict.fromkeys(tables.SUBJECT, "")), "")

    def test_the_maximum_caps_a_percentile(self) -> None:
        row = dict.fromkeys(tables.SUBJECT, "") | {"lat_count": "1", "lat_p50_ns": "1000", "lat_max_ns": "1000"}
        self.assertEqual(histogram.flaw(rows_of([1000]), row), "")


class Golden(unittest.TestCase):
    def test_buckets(self) -> None:
        for one in GOLDEN["bucket"]:
            value, low, high = (whole(one[name]) for name in ("value", "lo", "hi"))
            self.assertEqual(histogram.edges(value), (low, high))

    def test_percentiles(self) -> None:
        for one in GOLDEN["percentile"]:
            pairs = zip(map(whole, one["values"]), one["counts"])
            hist = [dict(zip(tables.SUBJECT_HIST, map(str, (*histogram.edges(v), n)))) for v, n in pairs]
            row = dict.fromkeys(tables.SUBJECT, "") | {
                "lat_count": str(one["count"]),
                "lat_min_ns": str(whole(one["min"])),
                "lat_max_ns": str(whole(one["max"])),
            }
            for (column, permille), found in zip(histogram.PERCENTILES, one["quantiles"]):
                self.assertEqual(permille, found["permille"])
                told = histogram.flaw(hist, row | {column: str(whole(found["value"]))})
                self.assertEqual("fewer than" in told, not found["printed"], (one["name"], column, told))
                if found["printed"]:
                    self.assertEqual(told, "", one["name"])
                    self.assertTrue(histogram.flaw(hist, row | {column: str(whole(found["value"]) + 1)}))


class TheFile(unittest.TestCase):
    def read(self, *lines: str) -> list[dict[str, str]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "hist.csv"
            path.write_text("\n".join((",".join(tables.SUBJECT_HIST), *lines)) + "\n")
            return histogram.read(path)

    def test_good(self) -> None:
        self.assertEqual(len(self.read("255,255,1", "256,257,3")), 2)

    def test_refused(self) -> None:
        for lines in (("256,256,1",), ("257,258,1",), ("5,5,0",), ("7,7,1", "5,5,1"), ("5,5,1", "5,5,1")):
            with self.subTest(lines), self.assertRaises(ValueError):
                self.read(*lines)
