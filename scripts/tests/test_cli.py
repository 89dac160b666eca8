"""The command line: unknown names of every kind are answered with the names that exist, and exit 2."""

from __future__ import annotations

import unittest

from apiary_cli import main

from . import fakes
from .support import TreeCase, apiary


class UnknownNames(TreeCase):
    def refused(self, *words: str, seen: str, exists: list[str]) -> None:
        done = apiary(self.root, *words)
        self.assertEqual(done.returncode, 2, done.stderr)
        for text in (seen, *exists):
            self.assertIn(text, done.stderr)

    def test_verb(self) -> None:
        self.refused("rase", seen="'rase'", exists=["did you mean 'race'", "prove", "stress", "doctor"])

    def test_option(self) -> None:
        self.refused("race", "--quik", seen="--quik", exists=["--quick", "--subject"])

    def test_abbreviated_option(self) -> None:
        self.refused("race", "--qui", seen="--qui", exists=["--quick"])

    def test_scenario(self) -> None:
        self.subjects({"name": "hive"})
        self.refused(
            "race",
            "--no-build",
            "--scenario",
            "post_thruput",
            seen="post_thruput",
            exists=["post_throughput", "post_latency", "timer_lateness"],
        )

    def test_subject(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"})
        self.refused(
            "race", "--no-build", "--subject", "tokyo", seen="tokyo", exists=["hive", "did you mean 'tokio'"]
        )

    def test_plan_and_placement(self) -> None:
        self.refused("race", "--plan", "slow", seen="slow", exists=["smoke", "quick", "nightly", "publish"])
        self.refused("race", "--placement", "moon", seen="moon", exists=["free", "one_cpu"])

    def test_check(self) -> None:
        program = fakes.checks(self.root / "build/model/bin/c", [("deque_last", "check", "pass")])
        fakes.manifest(self.root, "model", "checks", [program])
        self.refused("prove", "--no-build", "deque_lost", seen="deque_lost", exists=["deque_last"])

    def test_engine_mode_budget(self) -> None:
        self.refused("prove", "--engine", "spin", seen="spin", exists=["relacy", "explorer"])
        self.refused("prove", "--mode", "fast", seen="fast", exists=["random", "pct"])
        self.refused("prove", "--budget", "soon", seen="soon", exists=["5s", "20000x"])

    def test_preset_and_part(self) -> None:
        self.refused("build", "relase", seen="relase", exists=["release", "model", "rust"])
        self.refused("check", "--only", "tsn", seen="tsn", exists=["tsan", "python"])

    def test_result_folder(self) -> None:
        self.refused("report", "yesterday", seen="yesterday", exists=["(none exist)"])

    def test_numbers(self) -> None:
        self.refused("race", "--rounds", "0", seen="--rounds 0", exists=["at least one"])
        self.refused("nightly", "--budget", "long", seen="long", exists=["60m"])


class Help(unittest.TestCase):
    def test_every_verb_says_what_it_writes_and_how_long_it_takes(self) -> None:
        for name in main.VERBS:
            with self.subTest(verb=name):
                text = main.verb_module(name).DESCRIPTION
                self.assertIn("writes:", text)
                self.assertIn("takes:", text)

    def test_overview_names_every_verb(self) -> None:
        text = main.overview()
        for name in main.VERBS:
            self.assertIn(name, text)


class Faults(TreeCase):
    def test_no_subject_names_the_remedy(self) -> None:
        done = self.race()
        self.assertEqual(done.returncode, 3)
        self.assertIn("scripts/apiary build release rust", done.stderr)

    def test_unbuilt_program_names_the_remedy(self) -> None:
        fakes.manifest(self.root, "release", "subjects", [self.root / "build/release/bin/hive"])
        done = self.race()
        self.assertEqual(done.returncode, 3)
        self.assertIn("build/release lacks hive", done.stderr)
