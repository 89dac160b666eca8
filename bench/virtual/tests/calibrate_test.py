"""apiary_calibrate: a whole profile, whose prices say where they come from; and what it answers where it cannot measure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
PROFILES = Path(__file__).resolve().parents[1] / "profiles"
FLAT = PROFILES / "flat.profile"
LINE = re.compile(r"(\w+) = ([0-9.]+)  # (measured, quartiles [0-9.]+ to [0-9.]+|default: |not measured: |by the system: )")


def call(*words: str, defaults: Path = FLAT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "--defaults", str(defaults), *words], capture_output=True, text=True, timeout=300, check=False)


def prices(text: str) -> dict[str, tuple[float, str]]:
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            parts = LINE.match(line)
            assert parts, line
            found[parts[1]] = float(parts[2]), parts[3].partition(",")[0].rstrip(": ")
    return found


def defaults() -> dict[str, float]:
    rows = (line.partition("#")[0].split(" = ") for line in FLAT.read_text().splitlines())
    return {row[0].strip(): float(row[1]) for row in rows if len(row) == 2}


class Calibrate(unittest.TestCase):
    def test_each_price_is_there_and_says_where_it_comes_from(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "here.profile"
            done = call("--batches", "50", "--most-spread", "10000", "--out", str(path))
            self.assertEqual(done.returncode, 0, done.stderr)
            found = prices(path.read_text())
        self.assertEqual(set(found), set(defaults()))
        for name in ("hit", "change_hit", "fence", "clock_read", "futex_wake_nobody", "basic_block"):
            self.assertEqual(found[name][1], "measured", (name, done.stderr))
            self.assertGreater(found[name][0], 0)
        self.assertLess(found["hit"][0], found["change_hit"][0])  # by one, on any machine
        self.assertEqual(found["cold"], (defaults()["cold"], "default"))

    def test_what_is_measured_too_noisily_keeps_the_default(self) -> None:
        done = call("--batches", "50", "--most-spread", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("too noisy", done.stderr)
        noisy = [line.partition(" = ")[0] for line in done.stdout.splitlines() if "too noisy here" in line]  # a quiet price may have no spread
        self.assertGreater(len(noisy), 0, done.stdout)
        self.assertEqual([prices(done.stdout)[name] for name in noisy], [(defaults()[name], "default") for name in noisy])

    def test_one_processor_alone(self) -> None:
        mine = str(min(os.sched_getaffinity(0)))
        done = call("--batches", "20", "--processors", mine, "--most-spread", "10000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("one processor alone", done.stderr)
        found = prices(done.stdout)
        self.assertEqual(found["transfer"], (defaults()["transfer"], "default"))
        self.assertEqual(found["change_hit"][1], "measured")

    def test_pinning_is_refused(self) -> None:
        for processors in ("1023", f"{min(os.sched_getaffinity(0))},1023"):
            done = call("--batches", "20", "--processors", processors)
            self.assertEqual((done.returncode, done.stdout), (3, ""), done.stderr)
            self.assertIn("processor 1023: no thread can be pinned to it", done.stderr)
            self.assertIn("remedy:", done.stderr)

    def test_bad_input(self) -> None:
        for words, told, status in ((("--processors", "0,0"), "two different ones", 2), (("--processors", "x"), "it can be", 2),
                                    (("--batches", "1"), "it can be 10 to", 2), (("--batch", "1"), "is no option", 2),
                                    (("--out",), "needs a value", 2), (("--batches", "10", "--out", "/none/x"), "cannot be written", 3)):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual((done.returncode, done.stdout), (status, ""), done.stderr)
                self.assertIn(told, done.stderr)
        self.assertEqual(call(defaults=Path("/none")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
