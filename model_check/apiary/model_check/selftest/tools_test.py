#!/usr/bin/env python3
"""scripts/apiary mutate, prove and museum on the real programs: tools_test.py ROOT. The rest of them is tested with fakes."""
import csv
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(sys.argv.pop(1))
MODEL = ROOT / "build" / "model"


def apiary(*words):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "apiary", *words, "--no-build"], capture_output=True, text=True,
                          timeout=1700)
    return done.returncode, done.stdout + done.stderr


def rows(name):
    with (MODEL / name).open(newline="") as file:
        return list(csv.DictReader(file))


class Tools(unittest.TestCase):
    def test_the_sources_name_whatever_the_programs_hold(self):
        """So that a list of an unbuilt tree lacks nothing, and no name that exists is refused."""
        sys.path.insert(0, str(ROOT / "scripts"))
        from apiary_cli.base import source_names
        names, begun = source_names.checks()
        code, said = apiary("prove", "--list")
        held = [line.split()[1] for line in said.splitlines() if line.split()[0] in ("litmus", "check", "exhibit")]
        self.assertGreater(len(held), 500, said)
        self.assertEqual(code, 0)
        self.assertEqual([name for name in held if name not in names and not name.startswith(tuple(begun))], [])

    def test_the_orders_of_the_idle_set_are_all_needed(self):
        code, said = apiary("mutate", "parking/idle_set", "--longer", "0s")
        found = [row for row in rows("mutation.csv") if row["file"] == "impl/apiary/parking/idle_set.hpp"]
        killed = [row for row in found if row["verdict"] == "killed"]
        self.assertGreater(len(killed), 5, said)
        self.assertLessEqual({"fence_light", "fence_heavy", "fetch_sub"}, {row["operation"] for row in killed}, said)
        self.assertTrue(all(row["killed_by"] and int(row["executions"]) > 0 for row in killed), said)
        self.assertEqual(code, 0, said)

    def test_an_exhibit_that_relacy_passes_is_explained(self):
        code, said = apiary("prove", "deque_bottom_*")
        self.assertEqual(code, 0, said)
        found = {(row["name"], row["engine"]): row for row in rows("prove.csv")}
        self.assertEqual(found["deque_bottom_relaxed", "explorer"]["verdict"], "fail")
        relacy = found["deque_bottom_relaxed", "relacy"]
        self.assertEqual((relacy["verdict"], relacy["as_expected"]), ("pass", "yes"))
        self.assertIn("C++11", relacy["differs"])
        self.assertIn("deque_bottom_relaxed", (MODEL / "prove.html").read_text())

    def test_the_museum_says_after_how_many_executions(self):
        code, said = apiary("museum", "a01_no_recheck")
        self.assertEqual(code, 0, said)  # so every exhibit of the real programs has its defect, and the other way round
        self.assertRegex(said, r"a01_no_recheck +explorer: caught after \d+ execution")
        self.assertIn("A01", {row["id"] for row in rows("museum.csv") if row["result"] == "caught"})


if __name__ == "__main__":
    unittest.main()
