"""Every input of the fuzzers' corpora is read or refused as its reader says; no fuzzer runs here."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import proc, repo
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
            if folder.name.startswith(fuzz.CPP):  # those are read where the readers of C++ are built: by the night
                continue
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
            fuzz.ready("plan")

    def test_libfuzzer_is_that_of_the_system_or_is_fetched_and_unpacked_or_refused_by_name(self) -> None:
        """Installed it would bring clang, of which only its library is needed."""
        def run(words, **options) -> proc.Done:
            if words[0] == "apt-get" and fetches:
                (Path(options["cwd"]) / "libfuzzer.deb").touch()
            if words[0] == "dpkg-deb":
                repo.write_text(Path(words[3]) / fuzz.ARCHIVE, "a library")
            return proc.Done(list(map(str, words)), 0 if fetches else 100, "E: Unable to locate package", "", 0.1)

        with tempfile.TemporaryDirectory() as name, mock.patch.object(fuzz, "PLACE", Path(name)), mock.patch.object(fuzz.proc, "run", run), \
                mock.patch.object(fuzz, "ARCHIVE", f"usr/lib/{Path(name).name}.a"), contextlib.redirect_stdout(io.StringIO()):
            fetches = False
            with self.assertRaises(Fault) as refused:
                fuzz.libfuzzer()
            self.assertRegex(refused.exception.text(), "(?s)libfuzzer-19-dev could not be fetched.*Unable to locate.*apt-get update")
            fetches = True
            self.assertEqual(fuzz.libfuzzer().read_text(), "a library")
            fetches = False
            self.assertEqual(fuzz.libfuzzer(), Path(name) / "libfuzzer" / fuzz.ARCHIVE, "and once is enough")

    def test_a_target_of_c_plus_plus_that_reports_is_red_with_the_line_that_repeats_it(self) -> None:
        said = "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n#9\tDONE   ft: 12 corp: 3/5b\n"
        with tempfile.TemporaryDirectory() as name, mock.patch.object(fuzz, "PLACE", Path(name)):
            words = fuzz.command("cpp_graph", 5.0, 3)
            self.assertEqual((words[0], words[1], words[-1]), (str(fuzz.READERS), "graph", str(FOLDER / "corpus" / "cpp_graph")))
            (Path(name) / "found" / "cpp_graph" / "crash-1").touch()
            red = fuzz.judged("cpp_graph", proc.Done(words, 1, "", said, 5.0), set())
            good = fuzz.judged("cpp_plan", proc.Done(fuzz.command("cpp_plan", 5.0, 3), 0, "", "#9\tDONE   ft: 12 corp: 3/5b\n", 5.0), set())
        self.assertEqual((red["passed"], red["runs"], red["reached"]), (False, 9, 12))
        self.assertIn("heap-use-after-free", red["said"])
        self.assertRegex(red["replay"], r"^build/fuzz/cpp/bin/readers graph \S+/found/cpp_graph/crash-1$")
        self.assertTrue(good["passed"])


if __name__ == "__main__":
    unittest.main()
