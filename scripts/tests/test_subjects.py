"""What a subject may do, and what row comes of it."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.race import subjects

from . import fakes, points

POINT = points.throughput(1)


class Judging(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def row(self, behaviour: str, timeout: float = 20.0) -> dict[str, str]:
        program = fakes.subject(self.folder / "subject", behaviour=behaviour)
        words = subjects.command(program, POINT, 2, 5, block_ms=1, blocks=1, warmup_blocks=1)
        return subjects.judge(proc.run(words, timeout=timeout), POINT, 2, 5)

    def assert_row(self, behaviour: str, status: str, *told: str, **options: float) -> None:
        row = self.row(behaviour, **options)
        self.assertEqual(row["status"], status, row)
        for text in told:
            self.assertIn(text, row["error"])

    def test_good(self) -> None:
        row = self.row("ok")
        self.assertEqual((row["status"], row["error"], row["check"]), ("ok", "", fakes.EXPECTED_16384))

    def test_crash_keeps_the_last_words(self) -> None:
        self.assert_row("crash", "crash", "SIGSEGV", "about to fail")

    def test_hang(self) -> None:
        self.assert_row("hang", "hang", timeout=0.4)

    def test_malformed(self) -> None:
        self.assert_row("malformed", "malformed", "header")
        self.assert_row("bad_number", "malformed", "ops is 'many'")

    def test_wrong_check(self) -> None:
        self.assert_row("wrong_check", "wrong", "0123456789abcdef", fakes.EXPECTED_16384)

    def test_it_says_itself_that_it_is_wrong(self) -> None:
        self.assert_row("says_wrong", "wrong", "task 17 ran twice")

    def test_unsupported_is_no_error(self) -> None:
        self.assert_row("unsupported", "unsupported")

    def test_status_and_row_must_agree(self) -> None:
        done = proc.run(
            [
                fakes.subject(self.folder / "s"),
                *subjects.command(Path("x"), POINT, 2, 5, block_ms=1, blocks=1, warmup_blocks=1)[1:],
            ]
        )
        done.rc = 4
        self.assertEqual(subjects.judge(done, POINT, 2, 5)["status"], "malformed")

    def test_an_answer_to_another_question(self) -> None:
        done = proc.run(
            subjects.command(fakes.subject(self.folder / "s"), POINT, 3, 5, block_ms=1, blocks=1, warmup_blocks=1)
        )
        row = subjects.judge(done, POINT, 2, 5)
        self.assertEqual(row["status"], "malformed")
        self.assertIn("workers is '3', asked for '2'", row["error"])


class Introductions(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def test_a_subject_without_a_version_is_refused_and_the_others_stay(self) -> None:
        programs = [fakes.subject(self.folder / "a", "hive"), fakes.subject(self.folder / "b", "mute", "no_version")]
        found, refused = subjects.discover(programs)
        self.assertEqual([s.name for s in found], ["hive"])
        self.assertIn("refused", refused[0].seen)

    def test_a_program_that_is_no_subject(self) -> None:
        with self.assertRaises(Fault):
            subjects.introduce(fakes.script(self.folder / "c", "#!/bin/sh\necho hello\n"))

    def test_equal_names_are_told_apart(self) -> None:
        programs = [fakes.subject(self.folder / name, "tokio") for name in ("a", "b")]
        self.assertEqual([s.name for s in subjects.discover(programs)[0]], ["tokio", "tokio-2"])

    def test_arms_stand_at_paths_of_equal_length(self) -> None:
        found, _ = subjects.discover(
            [fakes.subject(self.folder / "a", "hive"), fakes.subject(self.folder / "longer_name", "tokio")]
        )
        arms = subjects.place(
            [(s, "peer", s.name) for s in found] + [(found[0], "aa", "hive-aa")], self.folder / "arms"
        )
        self.assertEqual(len({len(str(arm.program)) for arm in arms}), 1)
        self.assertEqual(len({arm.program.stat().st_ino for arm in arms}), 3)
