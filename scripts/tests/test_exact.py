"""exact: slopes, the gate, and a driver that is not deterministic; with a fake valgrind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from apiary_cli.verify import exact

from . import fakes
from .support import APIARY, TreeCase, environment

# Counts what the driver says it costs: "cost" on its standard error.
VALGRIND = """#!{python} -ISE
import subprocess, sys
out = next(w.split("=", 1)[1] for w in sys.argv if w.startswith("--callgrind-out-file="))
done = subprocess.run(sys.argv[4:], capture_output=True, text=True)
sys.stdout.write(done.stdout)
open(out, "w").write("events: Ir\\nsummary: " + done.stderr.strip() + "\\n")
sys.exit(done.returncode)
"""
DRIVER = """#!{python} -ISE
import os, sys
if sys.argv[1:] == ["--list"]:
    print("push\\npop"); sys.exit(0)
n = int(sys.argv[3])
noise = os.getpid() if {random!r} else 0
print("allocations=" + str(3 + 2 * n))
print(1000 + {cost} * n + noise, file=sys.stderr)
"""


class Gate(unittest.TestCase):
    def words(self, before: float, after: float, count: str = "instructions") -> str:
        key = ("d", "push", count)
        return exact.changes({key: before}, [exact.Figure(*key, after)])[0].word

    def test_the_allowance(self) -> None:
        self.assertEqual(self.words(100.0, 100.5), "same")
        self.assertEqual(self.words(100.0, 101.0), "MORE", "one instruction more is one too many")
        self.assertEqual(self.words(199.0, 200.0), "MORE")
        self.assertEqual(self.words(200.0, 201.0), "same")
        self.assertEqual(self.words(1000.0, 1004.0), "same")
        self.assertEqual(self.words(1000.0, 1006.0), "MORE")
        self.assertEqual(self.words(100.0, 90.0), "less")
        self.assertEqual(self.words(2.0, 2.5, "allocations"), "MORE")

    def test_what_vanished_is_red(self) -> None:
        self.assertTrue(exact.changes({("d", "push", "instructions"): 5.0}, [])[0].red)

    def test_written_and_read(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "exact" / "k.csv"
            exact.write(path, [exact.Figure("d", "push", "instructions", 12.5)])
            self.assertEqual(exact.read(path), {("d", "push", "instructions"): 12.5})


class Whole(TreeCase):
    def driver(self, cost: int, random: bool = False) -> None:
        text = DRIVER.format(python=sys.executable, cost=cost, random=random)
        program = fakes.script(self.root / "build" / "release" / "bin" / "queue_exact", text)
        fakes.manifest(self.root, "release", "exact", [program])

    def exact(self, *words: str) -> subprocess.CompletedProcess:
        fakes.script(self.root / "tools" / "valgrind", VALGRIND.format(python=sys.executable))
        env = environment(self.root) | {"PATH": f"{self.root / 'tools'}{os.pathsep}{os.environ['PATH']}"}
        command = [sys.executable, str(APIARY), "exact", "--no-build", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)

    def test_recorded_then_held(self) -> None:
        self.driver(40)
        self.assertEqual(self.exact().returncode, 1, "nothing is recorded yet")
        self.assertEqual(self.exact("--update").returncode, 0)
        same = self.exact()
        self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
        self.assertIn("40.00", same.stdout)
        self.driver(42)
        more = self.exact()
        self.assertEqual(more.returncode, 1)
        self.assertIn("MORE", more.stdout)

    def test_a_driver_that_is_not_deterministic(self) -> None:
        self.driver(40, random=True)
        done = self.exact("--update")
        self.assertEqual(done.returncode, 3)
        self.assertIn("is not deterministic", done.stderr)


if __name__ == "__main__":
    unittest.main()
