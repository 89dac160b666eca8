"""arbitrate: what the verb refuses, and that it hands over the program's answer; with a fake program."""

from __future__ import annotations

import json
import sys
import unittest

from .support import TreeCase, apiary

PROGRAM = """#!{python} -ISE
import sys
assert sys.argv[1:] == ["named", "--arbitrate", sys.argv[3]], sys.argv
word = open(sys.argv[3]).read().split()[0]
print("reported: a.hpp:1 and a.hpp:2")
print({{"race": "a race: here", "none": "none within this bound. What keeps", "open": "undecided: why"}}.get(word, "no report"))
sys.exit({{"race": 1, "none": 0, "open": 3, "crash": 70}}.get(word, 2))
"""


class Arbitrate(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.program = self.root / "disputed"
        self.program.write_text(PROGRAM.format(python=sys.executable))
        self.program.chmod(0o755)

    def asked(self, text: str, *words: str) -> tuple[int, str, str]:
        (self.root / "report.txt").write_text(text)
        done = apiary(self.root, "arbitrate", str(self.root / "report.txt"), "named", "--program", str(self.program), *words)
        return done.returncode, done.stdout, done.stderr

    def test_the_programs_answer_is_handed_over(self) -> None:
        for text, code, said in (("race", 1, "a race: here"), ("none", 0, "none within this bound"), ("open", 3, "undecided: why")):
            with self.subTest(text=text):
                seen, out, err = self.asked(text, "--json", str(self.root / "answer.json"))
                self.assertEqual(seen, code, out + err)
                self.assertIn(said, out)
                self.assertEqual(len(json.loads((self.root / "answer.json").read_text())["answers"]), 1)

    def test_a_scenario_may_be_named_after_the_options(self) -> None:
        (self.root / "report.txt").write_text("race")
        for words in (("--program", str(self.program), "named"), ("named", "--program", str(self.program))):
            done = apiary(self.root, "arbitrate", str(self.root / "report.txt"), *words)
            self.assertEqual((done.returncode, "a race: here" in done.stdout), (1, True), done.stderr)

    def test_without_a_report_the_one_word_that_is_lacking_is_named(self) -> None:
        done = apiary(self.root, "arbitrate", "--program", str(self.program))
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("the following arguments are required: REPORT\n", done.stderr)
        self.assertIn("scripts/apiary arbitrate REPORT\n", done.stderr)

    def test_a_text_without_a_report_and_a_program_that_crashes(self) -> None:
        code, _, err = self.asked("nothing")
        self.assertEqual(code, 2)
        self.assertIn("nothing could be asked", err)
        code, _, err = self.asked("crash")
        self.assertEqual(code, 3)
        self.assertIn("exited with status 70", err)

    def test_what_is_refused(self) -> None:
        report = str(self.root / "report.txt")
        (self.root / "report.txt").write_text("race")
        for words, said in ((("nowhere.txt", "--program", "x"), "nowhere.txt is no file"),
                            ((report, "--program", "nowhere"), "nowhere is no file"),
                            ((report, "--program", "x", "--include", "."), "--program with --include"),
                            ((report, "--scenario", "nowhere.cpp"), "nowhere.cpp is no file"),
                            ((report, "--scenario", report, "--include", "nowhere"), "nowhere is no folder"),
                            ((report, "--scenario", report, "--define", "a b"), "--define a b cannot be read")):
            with self.subTest(words=words):
                done = apiary(self.root, "arbitrate", *words)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
