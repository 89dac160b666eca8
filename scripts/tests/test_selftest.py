"""selftest: which defects it plants, and that a row is good only where a part is red with the defect and green without."""

from __future__ import annotations

import argparse
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base.errors import Fault
from apiary_cli.race import subjects
from apiary_cli.verbs import selftest
from apiary_cli.verbs.selftest import Plant, Seen

from .support import REAL_ROOT

KINDS = ("weakened order", "dropped statement", "lost task", "doubled task", "late task", "lost wake-up", "leak", "race", "use after free", "+ 10 % time",
         "+ 1 allocation", "+ 1 instruction", "a twin that does less", "a stale binary", "a result file cut short",
         "a worker that lies about its hash")


def run(looks: dict[str, object]) -> int:
    """The verb, with these looks in place of its own: a Seen, or what it raises."""

    def look_of(one: object):
        def look() -> Seen:
            if isinstance(one, Exception):
                raise one
            return one

        return look

    plants = tuple(Plant(name, "part", "how", look_of(one)) for name, one in looks.items())
    with TemporaryDirectory() as folder, mock.patch.object(selftest, "PLANTS", plants), mock.patch("sys.stdout"), \
            mock.patch.object(selftest, "RECORD", Path(folder, "r.json")), mock.patch.object(selftest, "PAGE", Path(folder, "p.md")):
        return selftest.run(argparse.Namespace(names=[], no_build=True))


class Rows(unittest.TestCase):
    def test_a_defect_of_each_kind_is_planted(self) -> None:
        self.assertEqual(tuple(plant.defect for plant in selftest.PLANTS), KINDS)

    def test_only_red_with_it_and_green_without_is_good(self) -> None:
        good = Seen(True, "red", True, "green")
        self.assertEqual(run({"a": good, "b": good}), 0)
        for bad in (Seen(False, "not seen", True), Seen(True, "red", False, "red, too"), Fault("it is not built")):
            with self.subTest(bad=str(bad)):
                self.assertEqual(run({"a": good, "b": bad}), 1)

    def test_what_could_not_be_tried_is_called_so_and_ends_no_other_row(self) -> None:
        with TemporaryDirectory() as name, mock.patch.object(selftest.enduring, "program", lambda preset: Path(name, preset)), \
                mock.patch.object(selftest.repo, "BUILD", Path(name)):
            for plant in selftest.PLANTS:
                if plant.look in (selftest.stale_binary, selftest.weakened_order) or plant.part == "soak":
                    seen = selftest.look(plant)
                    with self.subTest(defect=plant.defect):
                        self.assertEqual((seen.good, selftest.row(plant, seen, 0.0)[2:4]), (False, ["not tried", "not tried"]))

    def test_a_red_word_for_another_reason_is_not_the_defect_s(self) -> None:
        def row_of(name: str, *_: object) -> tuple[dict, str]:
            word = "works" if name == "bare_pool" else "CRASH"
            return {"word": word, "said": "Segmentation fault"}, "again"

        with mock.patch.object(selftest, "row_of", row_of):
            self.assertFalse(selftest.planted("planted_races", "tsan", sign="data race").red)
            self.assertTrue(selftest.planted("planted_races", "tsan", sign="Segmentation").good)

    def test_what_it_names_is_there(self) -> None:
        planted = (REAL_ROOT / "stress/night/planted.hpp").read_text()
        text = (REAL_ROOT / "scripts/apiary_cli/verbs/selftest.py").read_text()
        for name in ("planted_loses", "planted_doubles", "planted_late", "planted_hangs", "planted_leaks", "planted_races", "planted_uses_freed"):
            self.assertIn(f'"{name}"', planted)
            self.assertIn(f'"{name}"', text)
        self.assertIn(f"({selftest.ASKED}", (REAL_ROOT / f"model_check/parking/{selftest.CHECK}.cpp").read_text())
        self.assertTrue((REAL_ROOT / f"bench/subjects/{selftest.SUBJECT}.cpp").exists())

    def test_time_is_tried_three_times_at_most(self) -> None:
        for trials, tries, good in (([], 3, False), (["slow10"], 1, True), (["slow10", "aa"], 3, False)):
            found = [mock.Mock(kind=kind, alarm=True, found=mock.Mock(ratio=1.1), margin=0.02, verdict="REGRESSED") for kind in trials]
            with self.subTest(trials=trials), mock.patch.object(selftest.entrants, "refuse_other_source"), \
                    mock.patch.object(selftest.qualify, "line_up", return_value=[]), mock.patch.object(subjects, "introduce"), \
                    mock.patch.object(selftest.qualify, "measure", return_value=found) as measure:
                self.assertEqual(selftest.more_time().good, good)
                self.assertEqual(measure.call_count, tries)


if __name__ == "__main__":
    unittest.main()
