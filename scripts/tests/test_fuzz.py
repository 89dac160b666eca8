"""Every input of the fuzzers' corpora is read or refused as its reader says; no fuzzer runs here."""

from __future__ import annotations

import subprocess
import sys
import unittest
from unittest import mock

from apiary_cli.base.errors import Fault
from apiary_cli.verbs import fuzz

from .support import REAL_ROOT

FOLDER = REAL_ROOT / "scripts" / "fuzz"


def tried(target: str, *inputs) -> subprocess.CompletedProcess:
    words = [sys.executable, str(FOLDER / "targets.py"), target, *map(str, inputs)]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


class Corpora(unittest.TestCase):
    def test_each_input_is_read_or_refused_in_its_reader_s_way(self) -> None:
        read = 0
        for folder in sorted((FOLDER / "corpus").iterdir()):
            inputs = sorted(folder.iterdir())
            read += len(inputs)
            with self.subTest(target=folder.name):
                done = tried(folder.name, *inputs)
                self.assertEqual(done.returncode, 0, done.stderr[-1500:])
        self.assertGreater(read, 12)

    def test_every_target_has_a_corpus_and_it_stays_small(self) -> None:
        self.assertEqual({folder.name for folder in (FOLDER / "corpus").iterdir()}, set(fuzz.targets()))
        self.assertLess(sum(file.stat().st_size for file in (FOLDER / "corpus").rglob("*")), 300_000)

    def test_an_unknown_target_is_refused(self) -> None:
        self.assertEqual(tried("no_such_reader").returncode, 2)


class Verb(unittest.TestCase):
    def test_a_night_has_one_target_in_turn(self) -> None:
        names = fuzz.targets()
        self.assertEqual({fuzz.of_day(day) for day in range(len(names))}, set(names))

    def test_where_no_target_is_found_nothing_is_fine(self) -> None:
        with mock.patch.object(fuzz.repo, "must_read", lambda *_: "nothing"), self.assertRaisesRegex(Fault, "no targets"):
            fuzz.targets()

    def test_without_the_index_it_says_what_to_do(self) -> None:
        gone = mock.Mock(ok=False, out="from versions: none", how=lambda: "failed")
        with mock.patch.object(fuzz.libraries, "pinned", lambda *_: False), mock.patch.object(fuzz.libraries, "fetch", lambda *_: gone), \
                mock.patch("sys.stdout"), self.assertRaisesRegex(Fault, "Atheris"):
            fuzz.ready()


if __name__ == "__main__":
    unittest.main()
