"""A race leaves the sources of what it ran; a tree that has others is told from one that has the same."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import packages, repo, sources
from apiary_cli.race import plans, raced

from .support import TreeCase


class Leaves(TreeCase):
    def test_a_race_leaves_what_its_programs_and_its_plan_were_made_of(self) -> None:
        (program,) = self.subjects({"name": "hive"})
        header = self.root / "impl" / "raced.hpp"
        header.write_text("int a;\n")
        program.with_name(program.name + sources.BESIDE).write_text(
            f"{sources.digest(program)}  .\n{sources.digest(header)}  impl/raced.hpp\n")
        done = self.race(*self.one_point())
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.result()
        names = {name for _, name in raced.taken(folder)}
        self.assertEqual({name for name in names if ":" in name}, {"plan:one_point.toml", f"code:{program.name}"})
        self.assertLessEqual({"impl/raced.hpp", *raced.RUNNER}, names)
        with mock.patch.multiple(repo, ROOT=self.root, BUILD=self.root / "build"):
            now = raced.of_plan(plans.read(self.root / "build" / "one_point.toml"))
            with mock.patch.object(raced, "plan_now", lambda _: now):
                self.assertEqual(raced.why_not(folder, raced.Tree()), "")
                header.write_text("int b;\n")
                self.assertEqual(raced.why_not(folder, raced.Tree()), f"changed since it was raced: impl/raced.hpp (whether {program.name} came out "
                                 "the same is told after a build)")
            self.assertIn("the plan one_point.toml", raced.why_not(folder, raced.Tree()), "a plan of one's own has no name here")


class Holds(unittest.TestCase):
    """What decides a figure and is in no file that a program names."""

    def setUp(self) -> None:
        self.root = Path(self.enterContext(TemporaryDirectory()))
        self.enterContext(mock.patch.object(raced, "RUNNER", ()))

    def clone(self, name: str, option: str = "-O3") -> contextlib.AbstractContextManager:
        """A tree at a place of its own, configured with this option."""
        root = self.root / name
        folder = root / "build" / raced.RELEASE
        folder.mkdir(parents=True, exist_ok=True)
        (folder / sources.CONFIGURED).write_text("")
        command = f"c++ {option} -I{root}/impl -I{root} -ffile-prefix-map={root}/= -o a.o -c {root}/a.cpp"
        (folder / "compile_commands.json").write_text(json.dumps([{"command": command}]))
        return mock.patch.multiple(repo, ROOT=root, BUILD=root / "build", RUST=root / "rust")

    def told(self, name: str) -> sources.Record:
        program = self.root / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        flags = sources.Present(folder=repo.BUILD / raced.RELEASE).hash("flags:a.o")
        program.with_name(program.name + sources.BESIDE).write_text(f"{sources.digest(program)}  .\n{flags}  flags:a.o\n")
        return raced.found([program], plans.plan("loops"))

    def test_flags_are_the_same_in_each_clone_and_others_are_told(self) -> None:
        with self.clone("here"):
            told = self.told("peer")
            self.assertEqual(raced.Tree().changed(told), [])
        with self.clone("a/clone/elsewhere"):
            self.assertEqual(raced.Tree().changed(told), [])
        with self.clone("a/third", "-O2"):
            self.assertEqual(raced.Tree().changed(told), ["the flags of a"])

    def test_another_version_of_a_peer_s_package_or_of_rust_is_told(self) -> None:
        with self.clone("here"):
            told = self.told("subject_onetbb") | self.told("here/rust/twin")
            self.assertEqual(raced.Tree().changed(told), [])
            for name in ("version_here", "rustc_version"):
                with self.subTest(name), mock.patch.object(packages, name, lambda *_: "0.1"):
                    self.assertRegex(str(raced.Tree().changed(told)), r"^\['(libtbb-dev|rustc) \(another version, or none\)'\]$")
            fetched = told | {("0" * 64, f"build/pypi/tbb-devel/include/{name}.h") for name in "ab"}
            self.assertEqual(raced.Tree().changed(fetched), ["tbb-devel (another version, or none)"], "and not each of its files")

    def test_another_rule_of_a_scenario_is_another_plan(self) -> None:
        plan = plans.plan("loops")
        before, one = raced.of_plan(plan), plan.points[0]
        for found in ({"slow_every": 7}, {"calibrated": not one.scenario.calibrated}, {"served": not one.scenario.served}):
            changed = dataclasses.replace(one, scenario=dataclasses.replace(one.scenario, **found))
            with self.subTest(found):
                self.assertNotEqual(raced.of_plan(dataclasses.replace(plan, points=(changed, *plan.points[1:]))), before)

    def test_a_record_without_a_script_that_starts_runs_is_not_of_this_tree(self) -> None:
        with self.clone("here"), mock.patch.object(raced, "RUNNER", ("scripts/apiary_cli/base/proc.py",)):
            told = self.told("peer")
            self.assertEqual(raced.Tree().changed(told), [])
            cut = frozenset(one for one in told if not one[1].endswith("proc.py"))
            self.assertEqual(raced.Tree().changed(cut), ["scripts/apiary_cli/base/proc.py (not recorded)"])

    def test_what_makes_no_other_program_is_spared(self) -> None:
        with self.clone("here"):
            source, header, program = (repo.ROOT / name for name in ("a.c", "a.h", "subject_peer"))

            def make(answer: int, comment: str = "") -> None:
                """A comment moves the lines, and by them the name of the build."""
                source.write_text('#include "a.h"\nint main(void) { return answer(); }\n')
                header.write_text(f"{comment}static int answer(void) {{ return {answer}; }}\n")
                subprocess.run(["gcc", "-g", "-Wl,--build-id", "-o", program, source], check=True)
                sources.write_beside(program, (source, header))

            self.enterContext(mock.patch.object(raced, "programs", lambda: [program]))
            make(0)
            told = raced.found([program], plans.plan("loops"))
            header.write_text("// a word\n")
            folder = self.root / "results"
            folder.mkdir()
            known = self.enterContext(mock.patch.object(raced, "taken", return_value=told))
            self.assertEqual(raced.why_not(folder, raced.Tree()),
                             "changed since it was raced: a.h (whether subject_peer came out the same is told after a build)")
            known.return_value = told | {("1" * 64, "plan:loops")}
            self.assertEqual(raced.why_not(folder, raced.Tree()), "changed since it was raced: a.h, the plan loops", "a build would not help")
            known.return_value = told
            make(0, "// a word\n")
            self.assertEqual(raced.Tree().held(told), ([], ["a.h"]))
            self.assertEqual(raced.why_not(folder, raced.Tree()), "")
            self.assertRegex(raced.sentence([folder]), r"are those of .*\), but for a\.h: every program comes out the same, byte for byte\.$")
            for name, word in (("plan:loops", "the plan loops"), ("package:libuv1-dev", "libuv1-dev (another version, or none)")):
                self.assertEqual(raced.Tree().held(told | {("1" * 64, name)}), ([word], ["a.h"]))
            self.assertEqual(raced.Tree().changed(told | {("1" * 64, "code:apiary_load")}), ["a.h"], "one of two programs is another")
            without = frozenset(one for one in told if not one[1].startswith("code:"))
            self.assertEqual(raced.Tree().changed(without), ["a.h"], "a record of older races tells no bytes")
            script, words = repo.ROOT / "subject_script", repo.ROOT / "script.in"
            self.enterContext(mock.patch.object(raced, "programs", lambda: [program, script]))
            words.write_text("exit 0\n")
            script.write_text("exit 0\n")
            known.return_value = told | {(raced.NOTHING, "code:subject_script")}
            self.assertEqual(raced.why_not(folder, raced.Tree()), "changed since it was raced: a.h", "a script that does not say what it was made of")
            sources.write_beside(script, (words,))
            make(0)
            known.return_value = raced.found([program, script], plans.plan("loops"))
            make(0, "// a word\n")
            self.assertEqual(raced.Tree().held(known.return_value), ([], ["a.h"]), "a script is held to its files")
            words.write_text("exit 1\n")
            sources.write_beside(script, (words,))
            self.assertEqual(raced.why_not(folder, raced.Tree()), "changed since it was raced: a.h, script.in")
            known.return_value = told
            make(1)
            self.assertEqual(raced.Tree().held(told), (["a.h"], []))


if __name__ == "__main__":
    unittest.main()
