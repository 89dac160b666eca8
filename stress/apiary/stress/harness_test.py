#!/usr/bin/env python3
"""What the command line of a stress program takes and refuses: harness_test.py PROGRAM."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    return subprocess.run([PROGRAM, "--seconds", "0", *arguments], capture_output=True, text=True, timeout=300)


class CommandLine(unittest.TestCase):
    def test_numbers_beyond_their_range_are_refused(self):
        for option, seen, said in (
            ("--seconds", "-1", "number from 0 to 1e+09"), ("--seconds", "nan", "number from 0 to 1e+09"),
            ("--watchdog", "nan", "number from 0.001 to 1e+09"), ("--watchdog", "inf", "number from 0.001 to 1e+09"),
            ("--seed", "-1", "whole number from 0 to 18446744073709551615"),
            ("--seed", "18446744073709551616", "whole number from 0 to 18446744073709551615"),
            ("--seed", "0x10", "whole number from 0 to"), ("--threads", "1", "whole number from 2 to 64"),
        ):
            with self.subTest(option=option, seen=seen):
                done = run(option, seen)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(f"{option}: '{seen}' is no {said}", done.stderr)

    def test_a_seed_is_read_in_decimal(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "verdict.json")
            done = run("--seed", "010", "--threads", "2", "--json", str(file))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json.loads(file.read_text())["seed"], 10)


if __name__ == "__main__":
    unittest.main()
