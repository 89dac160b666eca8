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

    def test_mutation(self) -> None:
        for given in ("x", "impl/queues/a.hpp=relaxed", "impl/queues/a.hpp:3=relaxt", "recheck:"):
            self.refused("prove", "--no-build", "--mutate", given, seen=given, exists=["FILE:LINE", "--inventory"])

    def test_missing_arguments_are_shown_in_a_call(self) -> None:
        self.refused("compare", "HEAD", seen="required: NEW", exists=["scripts/apiary compare OLD NEW"])

    def test_numbers(self) -> None:
        self.refused("race", "--rounds", "0", seen="--rounds 0", exists=["from 1"])
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

    def test_nothing_built_is_no_unknown_name(self) -> None:
        for words in (("race", "--subject", "hive"), ("tune",), ("qualify",)):
            with self.subTest(words=words):
                done = apiary(self.root, *words, "--no-build")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("scripts/apiary build release rust", done.stderr)

    def test_what_is_no_program_names_the_remedy(self) -> None:
        file = self.root / "text"
        file.write_text("no program\n")
        for name, seen in ((file, "chmod +x"), (self.root / "nothing", "no such file")):
            done = apiary(self.root, "race", "--no-build", "--program", str(name))
            self.assertEqual(done.returncode, 2, done.stderr)
            for text in (seen, "bench/contract/CLI.md"):
                self.assertIn(text, done.stderr)

    def test_what_the_system_refuses_is_no_traceback(self) -> None:
        self.subjects({"name": "hive"})
        (self.root / "results").rmdir() if (self.root / "results").exists() else None
        (self.root / "results").write_text("a file where a folder belongs\n")
        done = self.race("--rounds", "1", "--scenario", "successor")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn("remedy:", done.stderr)

    def test_unbuilt_program_names_the_remedy(self) -> None:
        fakes.manifest(self.root, "release", "subjects", [self.root / "build/release/bin/hive"])
        done = self.race()
        self.assertEqual(done.returncode, 3)
        self.assertIn("build/release lacks hive", done.stderr)
