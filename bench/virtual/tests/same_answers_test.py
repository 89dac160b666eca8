"""Each scenario of apiary_virtual on real threads: the subject has the same source, and answers the same.

    same_answers_test.py APIARY_VIRTUAL SUBJECT…

SUBJECT: the programs subject_NAME of the schedulers. Both get the same parameters. The sum of the ledger's marks and
what a scenario says in its flags of its own answer and size must agree.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM, *SUBJECTS = sys.argv[1:]
PROFILE = Path(__file__).resolve().parents[1] / "profiles" / "flat.profile"
WORKERS = "3"


def output(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class SameAnswers(unittest.TestCase):
    def test_of_every_scenario(self) -> None:
        programs = {Path(path).name.removeprefix("subject_"): path for path in SUBJECTS}
        compared = set()
        for line in output(PROGRAM, "--list").splitlines():
            subject, scenario, _ = line.split()
            with self.subTest(subject=subject, scenario=scenario):
                found = json.loads(output(PROGRAM, subject, scenario, WORKERS, "--brief", "--profile", str(PROFILE)))
                params = [word for name, value in found["params"].items() for word in ("--param", f"{name}={self.word(name, value)}")]
                rows = output(programs[subject], "run", "--scenario", scenario, "--workers", WORKERS, "--blocks", "1",
                              "--warmup-blocks", "1", *params)
                row = next(csv.DictReader(io.StringIO(rows)))
                self.assertEqual(row["status"], "ok")
                self.assertEqual(row["check"], found["check"])
                self.assertEqual(self.told(row["flags"]), self.told(found["flags"]))
                compared.add(subject)
        self.assertEqual(compared, set(programs))

    @staticmethod
    def told(flags: str) -> list[str]:
        return [flag for flag in flags.split(";") if not flag.startswith("bytes_each")]

    @staticmethod
    def word(name: str, value: int) -> str:
        words = {"pattern": ["stencil_1d"], "lengths": ["equal", "pareto"]}
        return words[name][value] if name in words else str(value)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
