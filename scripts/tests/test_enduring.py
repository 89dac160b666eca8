"""What `faults` and `soak` make of the lines of stress/night, with a fake in its place."""

from __future__ import annotations

import argparse
import json
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import repo
from apiary_cli.base.errors import Fault, Stopped
from apiary_cli.base.proc import Done
from apiary_cli.verbs import faults, soak
from apiary_cli.verify import enduring
from apiary_cli.verify.enduring import Cell
from apiary_cli.verify.stressing import Run

from .support import REAL_ROOT


def row(word: str = "works", **more: object) -> dict:
    return {"scheduler": "hive", "variant": "as_is", "fault": "none", "seed": 1, "nth": 0, "word": word, "said": "", "pieces": 100, "refusals": 0,
            "sleeps": 7, "switches": 9, "rounds": 5, "kb_begin": 4000, "kb_end": 4200, "none_failed": False, "seconds": 0.5} | more


def done(out: str, rc: int = 0) -> Done:
    return Done(["stress_night"], rc, out, "", 0.1)


class Program(unittest.TestCase):
    """A program of shell that prints what it is told to, in the place of stress_night."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "night"
        for name, value in (("program", lambda _: self.path),):
            patched = mock.patch.object(enduring, name, value)
            patched.start()
            self.addCleanup(patched.stop)

        quiet = mock.patch("sys.stderr")
        quiet.start()
        self.addCleanup(quiet.stop)

    def says(self, words: dict[str, str]) -> None:
        cases = "".join(f"{name}) echo '{json.dumps(row(word, scheduler=name))}';;\n" for name, word in words.items())
        self.path.write_text(f"#!/bin/sh\ncase $1 in\n{cases}esac\n")
        self.path.chmod(0o755)

    def test_the_control_takes_no_word_but_the_defect_s_own(self) -> None:
        self.says(enduring.PLANTED)
        enduring.control("ci-night")
        for name in enduring.PLANTED:
            for wrong in ("works", "refused", "HANG" if enduring.PLANTED[name] != "HANG" else "LOST"):
                with self.subTest(name=name, wrong=wrong):
                    self.says(enduring.PLANTED | {name: wrong})
                    with self.assertRaisesRegex(Fault, f"control failed: {name} {wrong}"):
                        enduring.control("ci-night")

    def test_a_failure_leaves_what_was_said_and_the_command_that_repeats_it(self) -> None:
        cell, red = Cell("hive", fault="allocation", ids=60), row("LOST", said="piece 3 was lost\nthread 1: …", nth=17)
        where = enduring.keep(self.folder, cell, red)
        self.assertIn("thread 1: …", (where / "said.txt").read_text())
        self.assertIn("--fault allocation --seed 1 --seconds 0 --watchdog 20 --ids 60 --nth 17\n", (where / "again.sh").read_text())
        self.assertEqual(json.loads((where / "result.json").read_text())["preset"], "ci-night")


class Lines(unittest.TestCase):
    def test_a_line_that_cannot_be_read_is_never_a_good_one(self) -> None:
        for out, rc in (("", 0), ("{", 0), ("[]", 0), (json.dumps(row("fine")), 0), (json.dumps(row()), 2), (json.dumps(row()), -11)):
            with self.subTest(out=out, rc=rc), self.assertRaises(Fault):
                enduring.rows_of(done(out, rc))
        self.assertEqual(len(enduring.rows_of(done(json.dumps(row()) + "\n" + json.dumps(row("HANG")) + "\n", 1))), 2)

    def test_a_sweep_says_its_gravest_word_first_and_hides_none(self) -> None:
        rows = [row("works"), row("refused"), row("CRASH"), row("works")]
        self.assertEqual(faults.happened(rows), "CRASH 1, refused 1, works 2")
        self.assertEqual(faults.happened([row("ends")]), "ends")

    def test_memory_that_grows_is_red_in_a_build_without_a_sanitizer(self) -> None:
        leaks = row(kb_begin=4000, kb_end=40000)
        self.assertEqual(enduring.judged(leaks, "ci-night")["word"], "LOST")
        self.assertEqual(enduring.judged(leaks, "tsan")["word"], "works")
        self.assertEqual(enduring.judged(row(), "ci-night")["word"], "works")
        self.assertEqual(enduring.judged(row("HANG", kb_begin=4000, kb_end=40000), "ci-night")["word"], "HANG")

    def test_a_night_is_extrapolated_from_the_rate_with_the_time_of_all(self) -> None:
        rows = [row(pieces=1000, sleeps=10, seconds=1.0), row(scheduler="global_queue", pieces=10, sleeps=0, switches=5, seconds=3.0)]
        hive, queue = soak.sums(rows)
        self.assertEqual(hive[4:6], [f"{8 * 3600 / 4 * 1000:.1e}", f"{8 * 3600 / 4 * 10:.1e}"])
        self.assertEqual(queue[3], "5")


class NotBuilt(unittest.TestCase):
    def test_what_is_not_there_is_named_with_the_command_that_builds_it(self) -> None:
        parser = argparse.ArgumentParser()
        faults.arguments(parser)
        with TemporaryDirectory() as name, mock.patch.object(enduring, "program", lambda preset: Path(name) / preset), \
                mock.patch.object(faults, "FOLDER", Path(name) / "faults"), self.assertRaises(Fault) as caught:
            faults.run(parser.parse_args(["--no-build", "--preset", "tsan"]))
        self.assertIn("no stress_night of this source", caught.exception.seen)
        self.assertEqual(caught.exception.remedy, "the same command without --no-build")


class Badly(unittest.TestCase):
    """A soak that is stopped, or finds another; nothing is built."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(TemporaryDirectory())) / "soak"
        self.enterContext(mock.patch.multiple(soak, FOLDER=self.folder, RECORD=self.folder.with_name("soak.json"), sources=mock.Mock(**{"Evidence.return_value.check.return_value": {}})))
        self.enterContext(mock.patch.multiple(enduring, is_built=lambda preset: preset == "ci-night", control=mock.Mock()))
        self.enterContext(mock.patch("sys.stdout"))

    def soaked(self, ends: list) -> int:
        def rows(*_: object):
            for one in ends:
                if isinstance(one, BaseException):
                    raise one
                yield one

        parser = argparse.ArgumentParser()
        soak.arguments(parser)
        with mock.patch.object(soak, "of_schedulers", rows):
            return soak.run(parser.parse_args(["hive", "--time", "1s", "--no-build"]))

    def test_what_ran_before_it_was_stopped_is_on_its_page(self) -> None:
        one = row("works", preset="ci-night", replay="again")
        for red, head in ((row("LOST", preset="ci-night", replay="again"), "RED; stopped before its end"),
                          (one, "nothing was red; stopped before its end")):
            for end in (Stopped(15), Fault("stress_night exited with status 2")):
                with self.subTest(head=head, end=end), self.assertRaises(type(end)):
                    self.soaked([one, red, end])
                told = (self.folder / "summary.md").read_text()
                self.assertTrue(told.startswith(f"# Soak: {head}\n"), told)
                self.assertIn("| hive | 2 | 200 |", told)
                self.assertFalse(soak.RECORD.exists(), "that is of a whole one")

    def test_the_failures_of_the_last_time_lie_beside_those_of_this_one(self) -> None:
        enduring.keep(enduring.afresh(self.folder), Cell("hive"), row("LOST"))
        self.assertEqual(self.soaked([row("works", preset="ci-night", replay="again")]), 0)
        self.assertEqual([path.name for path in self.folder.with_name("soak-before").glob("hive*")], ["hive-as_is-none-ci-night-1"])
        self.assertFalse(list(self.folder.glob("hive*")))

    def test_two_at_once_are_refused_and_the_first_keeps_what_it_has(self) -> None:
        with enduring.alone(self.folder):
            kept = enduring.keep(enduring.afresh(self.folder), Cell("hive"), row("LOST"))
            with self.assertRaisesRegex(Fault, "another soak"):
                self.soaked([])
        self.assertTrue((kept / "said.txt").exists())


class Plan(unittest.TestCase):
    def test_the_schedulers_and_the_faults_are_those_of_the_program(self) -> None:
        desks = (REAL_ROOT / "stress/night/desks.hpp").read_text()
        self.assertEqual(sorted(re.findall(r'string_view name = "(\w+)"', desks)), sorted(enduring.SCHEDULERS))
        calls = re.findall(r'\{"(\w+)", \{SYS_', (REAL_ROOT / "stress/night/faults.hpp").read_text())
        self.assertEqual(sorted(calls), sorted(set(faults.CALLS) - {"all"}))
        night = (REAL_ROOT / "stress/night/night.cpp").read_text()
        for name in (*soak.VARIANTS[1:], *faults.SWEPT, *faults.LASTING):
            self.assertIn(f'"{name}"', night)
        self.assertEqual(set(faults.MEANS), set(faults.FAULTS))

    def test_only_the_hive_s_workers_are_attached_and_detached(self) -> None:
        found = soak.cells(list(enduring.SCHEDULERS), ["ci-night", "tsan"], ["as_is", "attach_detach"], 1.0, 1)
        self.assertEqual(len(found), 2 * (len(enduring.SCHEDULERS) + 1))
        self.assertEqual({cell.scheduler for cell in found if cell.variant == "attach_detach"}, {"hive"})

    def test_stress_programs_are_oversubscribed_and_pinned(self) -> None:
        run = Run("ci-night", repo.BUILD / "stress_hive", 1)
        self.assertIn("--one-cpu", soak.stress_words(run, "one_cpu", 1.0))
        with mock.patch("os.cpu_count", return_value=2):
            self.assertEqual(soak.threads_of("over16"), 32)
        with mock.patch("os.cpu_count", return_value=64):
            self.assertEqual(soak.threads_of("over16"), soak.MOST_THREADS)
        self.assertIsNone(soak.threads_of("as_is"))

    def test_a_stress_program_that_fails_is_kept_with_its_command(self) -> None:
        with TemporaryDirectory() as name:
            folder = Path(name)
            program = folder / "stress_hive"
            program.write_text("#!/bin/sh\ncase $* in *--one-cpu*) echo lost; exit 1;; esac\n")
            program.chmod(0o755)
            with mock.patch.object(soak.stressing, "plan", lambda *_: [Run("ci-night", program, 5)]), mock.patch("sys.stdout"):
                found = list(soak.of_programs([], ["ci-night"], ["as_is", "one_cpu", "over4"], 0.1, 5, folder / "kept"))
            self.assertEqual([one["passed"] for one in found], [True, False, True])
            self.assertIn("--one-cpu", (folder / "kept" / "stress_hive-one_cpu-ci-night-5" / "again.sh").read_text())
            self.assertEqual((folder / "kept" / "stress_hive-one_cpu-ci-night-5" / "said.txt").read_text(), "lost\n")

    def test_under_a_sanitizer_its_own_system_calls_are_left_alone(self) -> None:
        with mock.patch.object(enduring, "program", lambda _: Path(__file__)), mock.patch.object(enduring, "is_built", lambda _: True):
            plain, under = ({one.name.split()[2] for one in faults.units(preset=preset)} for preset in ("ci-night", "tsan"))
        self.assertEqual(plain - under, set(faults.OF_SANITIZERS))


if __name__ == "__main__":
    unittest.main()
