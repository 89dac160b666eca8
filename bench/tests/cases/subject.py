"""What all cases of the judge share: the program under test, its calls, and what every row and refusal must be."""

from __future__ import annotations

import csv
import functools
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

from expected import expected_check

CONTRACT = Path(__file__).resolve().parents[2] / "contract"
FLOORS = ["floor_futex", "floor_eventfd", "floor_spin"]
ONE_BLOCK = ("--warmup-blocks", 0, "--blocks", 1)
PROGRAM = ""
MILLISECONDS = ("erlang",)  # their clocks of processor time count no less
LOAD = ""  # beside it, unless the environment's APIARY_LOAD names another


@functools.cache
def measured_columns() -> str:
    """The header of a subject's row: the line of CSV.md that starts with `scenario,workers`."""
    lines = (CONTRACT / "CSV.md").read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith("scenario,workers,")]
    assert len(found) == 1, f"CSV.md holds {len(found)} headers of measured columns"
    return found[0]


@functools.cache
def listed() -> tuple[str, ...]:
    return tuple(call("--list").stdout.split())


@functools.cache
def language() -> str:
    return str(json.loads(call("--version").stdout)["language"])


def call(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, check=False)


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

    def run_ok(self, scenario: str, ops: int, *words: object, workers: int = 2) -> dict[str, str]:
        """The row of a good run, held to what every row must have; skips the test where the subject cannot."""
        done = call("run", "--scenario", scenario, "--workers", workers, *words)
        if scenario not in listed():
            self.assertIn(done.returncode, (2, 3), "2: a name that this subject does not even know")
            self.assertEqual(done.stdout, "")
            self.assertIn("unsupported" if done.returncode == 3 else scenario, done.stderr)
            self.skipTest(f"unsupported: {scenario}")
        return self.good_row(done, scenario, ops, workers)

    def good_row(self, done: subprocess.CompletedProcess, scenario: str, ops: int, workers: int = 2) -> dict[str, str]:
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.row_of(done)
        wanted = {"scenario": scenario, "workers": str(workers), "ops": str(ops), "status": "ok",
                  "check": expected_check(ops)}
        self.assertEqual({key: row[key] for key in wanted}, wanted)
        # There was work: a clock that is too coarse for it leaves the column empty.
        self.assertRegex(row["cpu_ns"], r"^([1-9]\d*)?$" if language() in MILLISECONDS else r"^[1-9]\d*$")
        for column in ("nvcsw", "nivcsw", "minflt", "maxrss_kib"):
            self.assertRegex(row[column], r"^\d+$", column)
        return row

    def assert_refused(self, seen: str, scenario: str, *params: str, plan: bool = False) -> None:
        if scenario not in listed():
            return
        words = [word for param in params for word in ("--param", param)]
        words += ["--plan", self.plan("1\n"), "--load", LOAD] if plan else []
        done = call("run", "--scenario", scenario, "--workers", 2, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(seen, done.stderr)

    def assert_unsupported(self, scenario: str, *words: object) -> None:
        """What it can do otherwise, but not with these words."""
        done = call("run", "--scenario", scenario, "--workers", 2, *words)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("unsupported", done.stderr)

    def assert_found_out(self, complaint: str, *words: object) -> dict[str, str]:
        done = call("run", "--workers", 1, *words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(complaint, done.stderr)
        row = self.row_of(done)
        self.assertEqual(row["status"], "wrong")
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
