"""Calls and refusals of the treaty (bench/contract/CLI.md)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path

from . import subject
from .subject import Case, call, listed, CONTRACT

SCENARIOS = tomllib.loads((CONTRACT / "scenarios.toml").read_text(encoding="utf-8"))["scenario"]


class Treaty(Case):
    def test_version_is_one_json_line(self) -> None:
        done = call("--version")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 1))
        said = json.loads(done.stdout)
        self.assertEqual(list(said), ["subject", "subject_version", "language", "build_id"])
        self.assertTrue(all(said.values()), said)
        self.assertEqual(Path(subject.PROGRAM).name, "subject_" + said["subject"])

    def test_list_names_scenarios(self) -> None:
        done = call("--list")
        self.assertEqual(done.returncode, 0)
        names = done.stdout.splitlines()
        self.assertTrue(names and set(names) <= set(SCENARIOS), names)

    def test_each_scenario_has_the_parameters_that_the_list_says(self) -> None:
        for name in listed():
            done = call("run", "--scenario", name, "--workers", 1, "--param", "no_such_parameter=1")
            told = re.search(r"has no parameter 'no_such_parameter'; there are: (.*)", done.stderr)
            self.assertTrue(done.returncode == 2 and told, (name, done))
            self.assertEqual(sorted(told[1].split(", ")), sorted(SCENARIOS[name]["parameters"]), name)

    def test_each_of_the_runtimes_own_numbers_can_be_set_within_its_range(self) -> None:
        done = call("--tunables")
        if done.returncode == 2:
            self.skipTest("it does not know the call: it has none")
        closed = next((name for name in listed() if SCENARIOS[name]["frame"] != "open_loop"), listed()[0])
        some = ["run", "--scenario", closed, "--workers", 1]
        for name, standard, least, most in map(str.split, done.stdout.splitlines()):
            with self.subTest(name=name):
                self.assertTrue(int(least) <= int(standard) <= int(most))
                for value in (int(most) + 1, int(least) - 1):
                    refused = call(*some, "--tune", f"{name}={value}")
                    self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                    self.assertIn(f"from {least} to {most}", refused.stderr)
                if closed == "post_throughput":
                    for value in (least, standard):
                        self.run_ok(closed, 1000, "--param", "ops=1000", "--blocks", 1, "--tune", f"{name}={value}")
        refused = call(*some, "--tune", "no_such_number=1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no_such_number", refused.stderr)

    def test_bad_arguments_end_with_2_and_say_what_was_seen(self) -> None:
        some = ["run", "--plan", self.plan("1\n"), "--load", subject.LOAD, "--scenario", listed()[0], "--workers"]
        for words, *seen in (
                (["run", "--scenario", "nope", "--workers", 1], "nope", *listed()),
                ([*some, 1, "--param", "size=1"], "size", SCENARIOS[listed()[0]]["parameters"][-1]),
                ([*some, 0], "--workers", "0"),
                ([*some, "two"], "two"),
                ([*some, 1, "--blocks", "-1"], "--blocks", "-1"),
                ([*some, 1, "--wrong-option", "1"], "--wrong-option", "--slowdown-ns"),
                ([*some, 1, "--hist", "/nonexistent/h"], "/nonexistent/h"),
                (["run", "--workers", 1], "--scenario"),
                (["measure"], "measure", "run"),
                ([], "--list")):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                for text in seen:
                    self.assertIn(text, done.stderr)


class OtherLibrary(unittest.TestCase):
    """oneTBB's libraries of all years have one soname: the program must not race the headers of one with the library of another."""

    def test_it_does_not_begin_with_a_library_of_another_version(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "libother.so"
            words = ["c++", "-x", "c++", "-shared", "-fPIC", "-o", str(library), "-"]
            source = 'extern "C" const char* TBB_runtime_version() { return "2020.3"; }'
            subprocess.run(words, input=source, text=True, check=True, timeout=60)
            env = {**os.environ, "LD_PRELOAD": str(library)}
            done = subprocess.run([subject.PROGRAM, "--list"], env=env, capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the library of oneTBB is 2020.3, its headers are 20", done.stderr)
        self.assertEqual(call("--list").returncode, 0)
