"""The museum's catalogue: every demanded defect is there, every exhibit belongs to one."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from apiary_cli.base.errors import Fault
from apiary_cli.verify import catalogue

from .support import REAL_ROOT

HEADER = ",".join(catalogue.COLUMNS) + "\n"


def written(folder: str, *rows: str) -> list[catalogue.Defect]:
    path = Path(folder) / "catalogue.csv"
    path.write_text(HEADER + "".join(row + "\n" for row in rows))
    return catalogue.read(path)


def demanded(*but: str) -> list[str]:
    return [f"{id},a defect,a paper,I,,,nobody has looked" for id in catalogue.DEMANDED if id not in but]


class Committed(unittest.TestCase):
    def test_every_demanded_defect_is_there_once_and_in_order(self) -> None:
        ids = [defect.id for defect in catalogue.read()]
        self.assertEqual([id for id in ids if id in catalogue.DEMANDED], catalogue.DEMANDED)
        self.assertEqual(sorted(set(ids)), ids)

    def test_every_named_exhibit_exists_and_every_exhibit_is_filed(self) -> None:
        sources = "".join(file.read_text() for file in (REAL_ROOT / "model_check" / "museum").glob("*.cpp"))
        exhibits = re.findall(r"^APIARY_EXHIBIT\((\w+)", sources, re.MULTILINE)
        self.assertGreater(len(exhibits), 10)
        wrong = catalogue.filed(catalogue.read(), exhibits)
        self.assertEqual([sentence for sentence in wrong if "no reason" not in sentence], [])


class Filing(unittest.TestCase):
    def test_an_exhibit_belongs_by_its_name_or_because_it_is_named(self) -> None:
        with TemporaryDirectory() as folder:
            defects = written(folder, *demanded("A01"), "A01,lost wake,seed 002,I SB,sleeps_too_soon,,")
            self.assertEqual(catalogue.filed(defects, ["a01_no_recheck", "sleeps_too_soon"]), [])
            self.assertEqual(defects[-1].exhibits, ["sleeps_too_soon", "a01_no_recheck"])

    def test_what_does_not_fit_is_told(self) -> None:
        with TemporaryDirectory() as folder:
            defects = written(folder, *demanded("A01", "A02", "B07"), "A01,lost,seed,I,,,", "A02,lost,seed,I,gone,,")
            told = catalogue.filed(defects, ["b01_stale", "stray"])
            for sentence in ("A01 has no exhibit and no reason", "A02 names the exhibit gone, which does not exist",
                             "B01 is seen by b01_stale: take out why it is not", "B07 is not in the catalogue",
                             "the exhibit stray belongs to no defect"):
                self.assertTrue(any(one.startswith(sentence) for one in told), (sentence, told))

    def test_a_unit_test_may_show_a_defect_and_must_exist(self) -> None:
        shows = "processes.one_that_runs_again_and_again_starves_nobody"
        with TemporaryDirectory() as folder:
            defects = written(folder, *demanded("A18", "A29", "A30"), f"A18,starved,seed,S,,{shows},",
                              "A29,dropped,seed,S,,processes.no_such_test,", f"A30,cut,seed,S,,{shows},nobody has looked")
            self.assertEqual(catalogue.filed(defects, []),
                             ["A29 names the unit test processes.no_such_test, which does not exist",
                              f"A30 is seen by {shows}: take out why it is not"])

    def test_a_row_without_source_or_with_an_unknown_tag_is_refused(self) -> None:
        with TemporaryDirectory() as folder:
            for row in ("A01,lost,,I,,,", "A01,lost,seed,X,,,", "A01,lost,seed,I,,"):
                with self.assertRaises(Fault):
                    written(folder, row)


if __name__ == "__main__":
    unittest.main()
