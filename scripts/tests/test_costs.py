"""What `check` says of its parts' costs."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.verbs import check, costs


class Costs(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        patched = mock.patch.object(costs, "RECORD", self.folder / "check_cost.csv")
        patched.start()
        self.addCleanup(patched.stop)

    def test_a_part_that_grew_by_a_tenth_is_named_and_one_that_did_not_is_not(self) -> None:
        costs.record({"ci": costs.Cost(100.0, whole=True), "tsan": costs.Cost(200.0, whole=True)}, 2.0)
        self.assertEqual(costs.grown({"ci": costs.Cost(109.0, whole=True), "tsan": costs.Cost(180.0, whole=True)}, 2.0), [])
        (line,) = costs.grown({"ci": costs.Cost(111.0, whole=True), "tsan": costs.Cost(210.0, whole=True)}, 2.0)
        self.assertEqual(line, "ci has grown: 111 s of processor time, 1.11 times the 100 s that results/check_cost.csv leads to "
                               "on this machine today")

    def test_a_machine_that_is_slower_by_the_yardstick_is_no_growth(self) -> None:
        costs.record({"ci": costs.Cost(100.0, whole=True)}, 2.0)
        self.assertEqual(costs.grown({"ci": costs.Cost(160.0, whole=True)}, 3.0), [])
        self.assertEqual(len(costs.grown({"ci": costs.Cost(166.0, whole=True)}, 3.0)), 1)

    def test_what_was_not_begun_from_nothing_is_neither_compared_nor_recorded(self) -> None:
        costs.record({"ci": costs.Cost(100.0, whole=True)}, 2.0)
        self.assertEqual(costs.grown({"ci": costs.Cost(500.0), "rust": costs.Cost(500.0, whole=True)}, 2.0), [])
        self.assertEqual(costs.record({"ci": costs.Cost(500.0), "rust": costs.Cost(50.0, whole=True)}, 2.0), ["rust"])
        self.assertEqual({part: row["processor_s"] for part, row in costs.recorded().items()}, {"ci": "100.0", "rust": "50.0"})

    def test_the_seconds_of_jobs_are_of_this_build_and_of_its_tests(self) -> None:
        log, old = self.folder / ".ninja_log", "0\t9000\t1\told.o\th\n"
        log.write_text("# ninja log v5\n" + old)
        before = costs.log(self.folder)
        log.write_text("# ninja log v5\n" + old + "0\t1500\t1\ta.cpp.o\th\n1500\t2000\t1\tbin/a\th\n")
        (self.folder / "junit.xml").write_text('<testsuite><testcase name="a" time="0.25"/><testcase name="b" time="1"/></testsuite>')
        self.assertEqual(costs.of_jobs(self.folder, before), (1.5, 0.5, 1.25))
        self.assertEqual(costs.of_jobs(self.folder / "absent", set()), (0.0, 0.0, 0.0))

    def test_processor_time_is_that_of_children_too(self) -> None:
        self.assertGreater(costs.yardstick(), 0.05)

    def test_a_part_says_its_cost_in_the_summary(self) -> None:
        part = check.Part("ci", True, 3.0, ["100% tests passed"], cost=costs.Cost(512.4, 300.0, 20.0, 190.0, whole=True))
        self.assertIn("512 s", check.row(part, "passed", "FAILED"))
        self.assertIn("300, 20, 190 s", check.row(part, "passed", "FAILED"))


if __name__ == "__main__":
    unittest.main()
