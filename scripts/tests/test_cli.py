"""The command line: unknown names of every kind are answered with the names that exist, and exit 2."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli import main
from apiary_cli.base import argument_kinds, repo, source_names
from apiary_cli.base.errors import unknown
from apiary_cli.race import folder
from apiary_cli.verbs import clean

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

    def test_option_in_place_of_a_verb(self) -> None:
        for word in ("--vresion", "version"):
            self.refused(word, seen=f"'{word}'", exists=["did you mean '--version'", "help", "race"])

    def test_group_of_checks(self) -> None:
        (self.root / "model_check" / "deque_check.cpp").write_text("APIARY_CHECK(limits) {}\n")
        self.refused("prove", "--list", "litmsu", seen="'litmsu'", exists=["did you mean 'litmus'", "exhibits", "limits"])

    def test_option(self) -> None:
        self.refused("race", "--quik", seen="--quik", exists=["did you mean --quick?", "--subject"])

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

    def test_of_hundreds_of_names_those_like_it_are_told(self) -> None:
        told = unknown("check", "deque_lost", [f"check_{n}" for n in range(300)] + ["deque_last"]).text()
        self.assertIn("did you mean 'deque_last'?", told)
        self.assertIn("301 names exist; the 12 most like it:", told)
        self.assertLess(len(told.splitlines()), 6)

    def test_plan_and_placement(self) -> None:
        self.refused("race", "--plan", "slow", seen="slow", exists=["smoke", "quick", "publish"])
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
        self.refused("check", "--only", "tsn", "--only", "ci", seen="tsn", exists=["tsan", "python"])  # each of them counts
        self.refused("check", "--only", "", seen="--only", exists=["tsan", "python"])

    def test_result_folder(self) -> None:
        self.refused("report", "yesterday", seen="yesterday", exists=["(none exist)"])

    def test_mutation(self) -> None:
        for given in ("x", "impl/apiary/queues/a.hpp=relaxed", "impl/apiary/queues/a.hpp:3=relaxt", "recheck:"):
            self.refused("prove", "--no-build", "--mutate", given, seen=given, exists=["FILE:LINE", "--inventory"])

    def test_options_of_the_other_kind_of_mutants(self) -> None:
        for words, seen in ((["--list"], "--list without --logic"), (["--share", "1/6"], "--shard without --logic"),
                            (["--draw", "2"], "--draw without --logic"), (["--killers", "x"], "--killers without --logic"),
                            (["--logic", "--inventory"], "--inventory with --logic"),
                            (["--hunted", "--draw", "2"], "--draw with --hunted"), (["--seed", "2"], "--seed without --hunted")):
            self.refused("mutate", "--no-build", *words, seen=seen, exists=["mutate --logic --list"])
        self.refused("mutate", "--longer", "soon", seen="--longer soon", exists=["5s"])

    def test_an_option_that_would_change_nothing_is_refused(self) -> None:
        for words, seen in (
            (["museum", "--no-build", "--times", "--budget", "5s"], "--times --budget 5s"),
            (["prove", "--list", "--engine", "relacy"], "--list with --engine"),
            (["report", "--index", "--splice", "x"], "--index lists every folder"),
        ):
            with self.subTest(words=words):
                self.refused(*words, seen=seen, exists=[])

    def test_missing_arguments_are_shown_in_a_call(self) -> None:
        self.refused("compare", "HEAD", seen="required: NEW", exists=["scripts/apiary compare OLD NEW"])

    def test_numbers(self) -> None:
        self.refused("race", "--rounds", "0", seen="--rounds 0", exists=["from 1"])
        self.refused("nightly", "--budget", "long", seen="long", exists=["60m"])


    def test_every_number_of_every_verb_is_looked_at(self) -> None:
        """nan, inf, what is negative, huge or no number: refused by each option that takes a number, whatever the verb."""
        numbers = 0
        for verb in main.VERBS:
            parser = argparse.ArgumentParser()
            main.verb_module(verb).arguments(parser)
            for action in parser._actions:
                self.assertNotIn(action.type, (int, float), f"{verb} {action.option_strings}: argument_kinds.py has kinds that refuse")
                if action.type is None:
                    continue
                numbers += 1
                for text in ("nan", "inf", "-1", "-5", "1e400", "9" * 30, "٣", "", "1_0", "x"):
                    with self.subTest(verb=verb, option=action.option_strings, text=text):
                        with self.assertRaises(argparse.ArgumentTypeError):
                            action.type(text)
        self.assertGreater(numbers, 30)

    def test_a_call_is_shown_without_where_it_writes_json(self) -> None:
        for words, shown in ((["race", "--json", "/here/x.json", "--plan", "a b"], "scripts/apiary race --plan 'a b'"),
                             (["race", "--json=-", "hive"], "scripts/apiary race hive"), (["race", "--json", "-"], "scripts/apiary race")):
            self.assertEqual(argument_kinds.spelled(words), shown)

    def test_a_number_that_makes_no_sense_is_named(self) -> None:
        for verb, option, text in (("race", "--limit", "nan"), ("race", "--repeats", "-1"), ("race", "--timeout", "0"),
                                   ("race", "--timeout", "nan"), ("race", "--timeout", "-5"), ("stress", "--seconds", "inf"),
                                   ("tune", "--minutes", "nan"), ("compare", "--repeat", "0")):
            words = ["a", "b"] if verb == "compare" else []
            self.refused(verb, *words, f"{option}={text}", seen=f"{option} {text}", exists=["not a"])
        self.refused("prove", "--budget", "0s", seen="0s", exists=["5s"])
        self.refused("mutate", "--no-build", "--hunted", "--budget", "0s", seen="--budget 0s", exists=["60m"])
        self.refused("nightly", "--budget", "99999999h", seen="99999999h", exists=["a year at most"])

    def test_names_are_looked_at_before_anything_is_built(self) -> None:
        """With no compiler called: the made-up repository could not be built, and would say so with status 3."""
        check = self.root / "model_check" / "x_check.cpp"
        check.write_text("APIARY_CHECK(real_one);\nAPIARY_EXHIBIT(real_bug, 1);\n    APIARY_LITMUS(made_##program)\n")
        (self.root / "stress" / "CMakeLists.txt").write_text("apiary_add_stress(stress_one SOURCES x.cpp)\n")
        (self.root / "bench" / "subjects").mkdir(parents=True)
        (self.root / "bench" / "subjects" / "CMakeLists.txt").write_text("apiary_add_subject(hive SOURCES hive.cpp)\n")
        self.refused("prove", "nosuch", seen="no check 'nosuch'", exists=["real_one", "real_bug"])
        self.refused("museum", "real_one", seen="no exhibit 'real_one'", exists=["real_bug"])
        self.refused("mutate", "nosuch", seen="'nosuch'", exists=["no header with atomic sites"])
        self.refused("compare", "HEAD", "HEAD", "--subject", "nosuch", seen="no subject 'nosuch'", exists=["hive"])
        self.refused("stress", "nosuch", seen="no stress 'nosuch'", exists=["stress_one"])
        self.refused("race", "--subject", "nosuch", seen="no subject 'nosuch'", exists=["hive"])
        plan = self.root / "p.toml"
        plan.write_text('subjects = ["nosuch"]\n[[point]]\nscenario = "successor"\n')
        self.refused("race", "--plan", str(plan), seen="no subject 'nosuch'", exists=["hive"])
        self.refused("race", "--program", "/nowhere", seen="/nowhere", exists=["no such file"])
        with mock.patch.object(repo, "ROOT", self.root):
            source_names.check_names(["real_*", "real_one", "made_anything", "made_*", "ma*"])

    def test_every_word_that_declares_a_check_gives_its_name(self) -> None:
        words = {word for text in source_names.texts("model_check", "*.cpp") for word in re.findall(r"^APIARY_([A-Z_]+)\(", text, re.M)}
        self.assertGreaterEqual(words, {"CHECK", "EXHIBIT", "SCENARIO"})
        for word in words - {"BOTH_PARKERS"}:  # for one parker and the other, by APIARY_CHECK
            self.assertRegex(f"APIARY_{word}(name, more)", source_names.CHECK)
        source_names.check_names(["libstdcxx_semaphore", "boost_queue", "torn_stack"], "exhibit")
        source_names.check_names(["treiber_stack", "mutex_gu*"], "check")

    def test_a_plan_of_subjects_that_are_none_races_nobody(self) -> None:
        self.subjects({"name": "hive"})
        plan = self.root / "p.toml"
        plan.write_text('subjects = ["nosuch"]\n[[point]]\nscenario = "post_throughput"\n')
        self.refused("race", "--no-build", "--plan", str(plan), seen="'nosuch'", exists=["hive"])

    def test_plans_with_numbers_that_make_no_sense(self) -> None:
        plan = self.root / "p.toml"
        closed, opened = '[[point]]\nscenario = "successor"\n', '[[point]]\nscenario = "post_latency"\n'
        for text in ("rounds = " + "1" + "0" * 23 + "\n" + closed, "rounds = -1\n" + closed, "blocks = 100000\n" + closed,
                     "limit_minutes = nan\n" + closed, closed + "workers = 10000000\n", closed + "params = { chains = -1 }\n",
                     closed + 'params = { ops = "abc" }\n', opened + "seconds = inf\nparams = { rate = 5 }\n",
                     opened + "seconds = nan\nparams = { rate = 5 }\n", opened + "seconds = 1\nparams = { rate = 0 }\n",
                     opened + "seconds = 3000\nparams = { rate = 1000000 }\n", "[[point]]\nscenario = []\n",
                     '[[point]]\nscenario = "timer_lateness"\nparams = { pending = 0 }\n'):
            with self.subTest(text=text):
                plan.write_text(text)
                self.refused("race", "--no-build", "--plan", str(plan), seen="p.toml" if "[]" not in text else "[]", exists=[])

    def test_a_result_folder_with_a_strange_env_json(self) -> None:
        folder = self.root / "results" / "old"
        folder.mkdir()
        (folder / "rows.csv").write_text("")
        for text in ("[]", "7", "null", "{", "{}", '{"run_id": 5}', '{"run_id": "a", "env_id": "b", "race": []}', "[" * 100000):
            (folder / "env.json").write_text(text)
            for words in (("report", "old"), ("compare", "old", "old")):
                with self.subTest(text=text[:40], words=words):
                    self.refused(*words, seen="no whole result folder", exists=["env.json"])


class Disks(unittest.TestCase):
    def test_a_full_disk_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            error = OSError(errno.ENOSPC, "No space left on device")
            self.assertEqual(main.mount_of(Path("/proc/self")).split()[0], "/proc")
            room = os.statvfs_result((4096, 4096, 100, 0, 0, 100, 50, 50, 0, 255))
            with mock.patch.object(os, "statvfs", lambda _: room):
                with mock.patch.object(folder, "unfinished", side_effect=[[], [name]]):
                    told, resumable = main.of_system(error).text(), main.of_system(error).remedy
            self.assertIn("scripts/apiary clean", told)
            self.assertNotIn("clean", resumable, "a race goes on with the programs as they lie")
            self.assertIn("race --resume", resumable)
            self.assertIn(f"the disk is full: {main.mount_of(repo.ROOT)} (0 KiB", told)
            self.assertNotIn("a system call", told)
            self.assertTrue(name)

    def test_clean_leaves_results_that_are_tracked(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.object(repo, "ROOT", Path(name)), mock.patch.object(
            repo, "RESULTS", Path(name) / "results"
        ):
            for one in ("kept", "loose", "half.unfinished"):
                (repo.RESULTS / one).mkdir(parents=True)
                (repo.RESULTS / one / "env.json").write_text("{}")
            for words in (["init", "-q"], ["add", "results/kept"]):
                subprocess.run(["git", "-C", name, *words], check=True)
            doomed = clean.doomed(True)
            self.assertEqual({p.name for p in doomed if p.parent == repo.RESULTS}, {"loose", "half.unfinished"})
            self.assertFalse([p for p in clean.doomed(False) if p.parent == repo.RESULTS])


class Help(unittest.TestCase):
    def test_every_verb_says_what_it_writes_and_how_long_it_takes(self) -> None:
        for name in main.VERBS:
            with self.subTest(verb=name):
                text = main.verb_module(name).DESCRIPTION
                self.assertIn("writes:", text)
                self.assertIn("takes:", text)
                self.assertEqual([line for line in text.splitlines() if len(line) > 120], [])

    def test_a_plan_and_how_long_it_takes_stand_apart(self) -> None:
        self.assertRegex(main.verb_module("race").DESCRIPTION, r"(?m)^  gate +10 rounds of [^()]+ \(2 minutes; ")

    def test_overview_names_every_verb(self) -> None:
        text = main.overview()
        for name in main.VERBS:
            self.assertIn(name, text)


    def test_help_and_a_verb_is_the_help_of_the_verb(self) -> None:
        asked, short = apiary(repo.ROOT, "race", "--help"), apiary(repo.ROOT, "help", "race")
        self.assertEqual((short.returncode, short.stdout), (0, asked.stdout))
        self.assertIn("--quick", short.stdout)

    def test_version_is_that_of_the_project_and_names_the_commit(self) -> None:
        done = apiary(repo.ROOT, "--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"^apiary {re.escape(repo.version())} \(\w+")
        self.assertIn(f"project(apiary VERSION {repo.version()} ", (repo.ROOT / "CMakeLists.txt").read_text())


class List(TreeCase):
    def test_a_list_names_plans_scenarios_and_subjects_and_races_nothing(self) -> None:
        self.subjects({"name": "hive"})
        done = apiary(self.root, "race", "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        for line in (r"publish\s+10 rounds", r"post_throughput\s+\w", r"program0\s+built"):
            self.assertRegex(done.stdout, rf"(?m)^  {line}")
        self.assertFalse(list((self.root / "results").glob("*")))
        told = json.loads(apiary(self.root, "race", "--list", "--json", "-").stdout)
        self.assertEqual(told.get("subjects", {}).get("program0"), "built")
        self.assertLessEqual({"publish"}, told["plans"].keys())
        self.assertLessEqual({"post_throughput"}, told["scenarios"].keys())

    def test_a_tree_whose_build_was_stopped_has_one(self) -> None:
        fakes.manifest(self.root, "release", "subjects", [self.root / "build/release/bin/subject_hive"])
        done = apiary(self.root, "race", "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^subjects \(--subject\):$")
        self.assertNotRegex(done.stdout, r"hive +built")


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
