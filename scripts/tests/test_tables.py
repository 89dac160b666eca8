"""The headers are those of bench/contract/CSV.md, and cells are written as it says."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from apiary_cli.race import tables

from .support import REAL_ROOT

TREATY = (REAL_ROOT / "bench" / "contract" / "CSV.md").read_text()


def after(text: str) -> list[str]:
    """The columns of the first fenced or quoted header after `text` in CSV.md."""
    rest = TREATY[TREATY.index(text) + len(text) :]
    return re.search(r"`+\s*((?:\w+,){2,}\w+)\s*`", rest)[1].split(",")


class Headers(unittest.TestCase):
    def test_rows(self) -> None:
        self.assertEqual(tables.ROWS, after("## rows.csv"))

    def test_what_a_subject_prints(self) -> None:
        self.assertEqual(tables.SUBJECT, after("**A subject prints**"))

    def test_hist(self) -> None:
        self.assertEqual(tables.HIST, after("## hist.csv"))
        self.assertEqual(tables.SUBJECT_HIST, after("`--hist FILE` holds "[:-1]))

    def test_compare(self) -> None:
        self.assertEqual(tables.COMPARE, after("## compare.csv"))

    def test_micro_and_startup(self) -> None:
        self.assertEqual(tables.MICRO, after("kept beside as `micro.json`):"))
        self.assertEqual(tables.STARTUP, after("kept beside as `startup.json`):"))

    def test_a_subject_prints_only_columns_of_rows(self) -> None:
        self.assertLessEqual(set(tables.SUBJECT), set(tables.ROWS))


class Cells(unittest.TestCase):
    def test_parameters_stand_in_key_order(self) -> None:
        self.assertEqual(tables.params_text({"producers": "2", "batch": "1"}), "batch=1;producers=2")
        self.assertEqual(tables.params_of("batch=1;producers=2"), {"batch": "1", "producers": "2"})

    def test_numbers(self) -> None:
        self.assertEqual(tables.number(None), "")
        self.assertEqual(tables.number(3), "3")
        self.assertEqual(tables.number(1.5), "1.5")
        self.assertEqual(tables.number(1e-9), "0")
        self.assertEqual(tables.number(120.0), "120")

    def test_round_trip_with_awkward_text(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "micro.csv"
            row = dict.fromkeys(tables.MICRO, "") | {"benchmark": 'deque<int, "x">/4'}
            tables.write(path, tables.MICRO, [row])
            self.assertEqual(tables.read(path, tables.MICRO), [row])
            self.assertNotIn("\r", path.read_bytes().decode())

    def test_what_a_program_said_names_nobodys_folders(self) -> None:
        said = "it was ended by SIGABRT. panicked at /home/a/.store/src/index-1/stack-0.8/src/mod/a.rs:3:5: see /tmp/b and https://a/b/c/d/e"
        kept = "it was ended by SIGABRT. panicked at stack-0.8/src/mod/a.rs:3:5: see /tmp/b and https://a/b/c/d/e"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            tables.write(path, ["status", "error"], [{"status": "crash", "error": said}, {"status": "ok"}])
            self.assertEqual([row["error"] for row in tables.read(path, ["status", "error"])], [kept, ""])

    def test_an_unknown_column_is_an_error(self) -> None:
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(ValueError):
            tables.write(Path(folder) / "x.csv", tables.MICRO, [{"speed": "1"}])

    def test_another_header_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.csv"
            path.write_text("a,b\n1,2\n")
            with self.assertRaises(ValueError):
                tables.read(path, tables.MICRO)
