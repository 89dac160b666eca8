"""museum: the catalogue as printed and tabled, and the time to detect against what is recorded."""

from __future__ import annotations

import csv
import json
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from apiary_cli.base.errors import Fault
from apiary_cli.verify import catalogue, detection
from apiary_cli.verify.detection import Detection

from . import fakes
from .support import TreeCase, apiary


def found(*rows: tuple[str, str, int]) -> dict:
    return {(exhibit, engine): Detection(exhibit, engine, executions, 21) for exhibit, engine, executions in rows}


class Detections(unittest.TestCase):
    def test_an_exact_count_must_not_change_and_a_median_must_not_grow_fourfold(self) -> None:
        recorded = found(("a", "explorer", 10), ("a", "relacy", 100))
        self.assertEqual(detection.compared(found(("a", "explorer", 10), ("a", "relacy", 400)), recorded), [])
        self.assertEqual(len(detection.compared(found(("a", "explorer", 9)), recorded)), 1)
        self.assertEqual(detection.compared(found(("a", "relacy", 16)), found(("a", "relacy", 1))), [], "a few are a few")
        told = detection.compared(found(("a", "relacy", 401)), recorded)
        self.assertIn("more than 4 times the recorded 100", told[0])

    def test_what_is_not_recorded_is_told(self) -> None:
        self.assertIn("none recorded", detection.compared(found(("b", "relacy", 5)), {})[0])

    def test_the_file_comes_back_as_written(self) -> None:
        with TemporaryDirectory() as folder:
            file, rows = Path(folder) / "detection.csv", found(("b", "relacy", 5), ("a", "explorer", 3))
            detection.write(rows, file)
            self.assertEqual(detection.read(file), rows)
            for text in ("exhibit,engine\n", ",".join(detection.COLUMNS) + "\na,explorer\n"):
                file.write_text(text)
                with self.subTest(text), self.assertRaises(Fault):
                    detection.read(file)


class EndToEnd(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        (self.root / "model_check/museum").mkdir()
        rows = [f"{id},a defect,a paper,I,,,nobody has looked" for id in catalogue.DEMANDED if id != "A01"]
        self.catalogue("A01,A post wakes nobody,seed 002,I SB,,,", *rows)

    def catalogue(self, *rows: str) -> None:
        text = "\n".join([",".join(catalogue.COLUMNS), *rows])
        (self.root / "model_check/museum/catalogue.csv").write_text(text + "\n")

    def museum(self, *words: str, **more):
        entry = dict(name="a01_no_recheck", kind="exhibit") | more
        fakes.manifest(self.root, "model", "checks", [fakes.engines(self.root / "build/model/bin/c", [entry])])
        return apiary(self.root, "museum", "--no-build", *words)

    def test_the_catalogue_says_who_caught_what_and_what_nobody_sees(self) -> None:
        done = self.museum()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("A01  A post wakes nobody (seed 002; I SB)", "explorer: caught after 10 executions, 10.0 ms",
                      "not yet seen: nobody has looked", "1 of 1 exhibits as they must be"):
            self.assertIn(words, done.stdout)
        with (self.root / "build/model/museum.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["exhibit"]]
        self.assertEqual([(r["id"], r["engine"], r["result"], r["executions"]) for r in rows],
                         [("A01", "relacy", "caught", "10"), ("A01", "explorer", "caught", "10")])

    def test_what_fails_of_ordinary_code_stands_beside_its_scenario_and_hangs_in_no_museum(self) -> None:
        self.assertIn("the exhibit stray belongs to no defect", self.museum(name="stray").stdout)
        done = self.museum(name="stray", as_it_is=True)
        self.assertNotIn("stray", done.stdout)
        self.assertIn("A01 has no exhibit", done.stdout)

    def test_an_exhibit_that_is_not_caught_and_a_defect_without_reason_are_red(self) -> None:
        done = self.museum(relacy="pass")
        self.assertEqual(done.returncode, 1)
        self.assertIn("relacy: NOT CAUGHT", done.stdout)
        done = self.museum(relacy="pass", differs="a short history")
        self.assertEqual(done.returncode, 0)
        self.assertIn("relacy passes it: a short history", done.stdout)
        self.catalogue("A01,lost,seed 002,I,,,", "A02,lost,seed 002,I,,,")
        done = self.museum()
        self.assertEqual(done.returncode, 1)
        self.assertIn("A02 has no exhibit and no reason for that", done.stdout)

    def test_times_are_recorded_and_compared(self) -> None:
        executions = {"explorer": 7, "relacy": [90, 100, 110]}
        done = self.museum("--times", executions=executions)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a01_no_recheck on relacy: 100 executions, and none recorded", done.stdout)
        self.assertEqual(self.museum("--times", "--update", executions=executions).returncode, 0)
        recorded = (self.root / "model_check/museum/detection.csv").read_text()
        self.assertIn("a01_no_recheck,explorer,7,1\na01_no_recheck,relacy,100,21\n", recorded)
        self.assertEqual(self.museum("--times", executions=executions).returncode, 0)
        done = self.museum("--times", executions={"explorer": 8, "relacy": 401})
        self.assertEqual(done.returncode, 1)
        self.assertIn("8 executions until found, recorded are 7", done.stdout)
        self.assertIn("a median of 401 executions over 21 seeds", done.stdout)
        told = json.loads(self.museum("--times", "--json", "-", executions=executions).stdout)
        self.assertEqual([(one["engine"], one["executions"], one["recorded"]) for one in told.get("times", [])],
                         [("explorer", 7, 7), ("relacy", 100, 100)])

    def test_nothing_is_recorded_of_what_was_not_measured(self) -> None:
        self.assertEqual(self.museum("--update").returncode, 2)


if __name__ == "__main__":
    unittest.main()
