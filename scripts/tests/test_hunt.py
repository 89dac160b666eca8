"""hunt: what a made-up program's answers become, cases, seeds, and what is refused."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unittest
import xml.etree.ElementTree as ET
from pathlib import Path
from unittest import mock

from apiary_cli.verify import hunting

from . import fakes
from .support import TreeCase, apiary

# It answers as the runtime does. The names in its comment are what a program is known by.
PROGRAM = """#!{python} -ISE
# apiary_hunt_runtime {names}
import os, sys
words = sys.argv[1:]
asks = "APIARY_HUNT" not in os.environ
if "--gtest_list" + "_tests" in words:
    assert asks
    print("Running main() from somewhere\\nqueue.\\n  fifo\\n  loses  # TypeParam = int\\n  DISABLED_slow"); sys.exit(0)
if asks and ("--list-test" + "-names-only" in words or "quiet" in words):
    names = [one for one in ["a fifo, bounded", "it loses [one]", "-odd"] if words[0][0] == "-" or one == words[0].replace(chr(92), "")]
    print(*names, sep="\\n"); sys.exit(len(names) if "quiet" not in words else 0)
if asks and "--list-test-cases" in words:
    print("a line of its own\\n<?xml version='1.0'?><doctest><TestCase name='a fifo' skipped='false'/>"
          "<TestCase name='it loses, &quot;one&quot;' skipped='false'/><TestCase name='left out' skipped='true'/></doctest>"); sys.exit(0)
asked = dict(word.split("=") for word in os.environ["APIARY_HUNT"].split(";"))
bad = "loses" in " ".join(words)
kind = "refused" if "asks" in words else "race"
if "here" in words:
    assert os.environ["OF_THE_TEST"] == "yes" and os.path.exists("of_the_test"), os.getcwd()
with open(asked["out"], "w") as out:
    if bad or "asks" in words or "replay" in asked:
        print("run", asked["first"], 20, kind, 66, 9, 3, 1, 0, 3, "00c0ffee", "pct,weak", 4, 0.5, "400000", sep="\\t", file=out)
        print("text\\tnot supported: fork" if "asks" in words else "text\\tdata race at 0x10", file=out)
        print("row", 1, 0, "store", "ab12345", "0", 3, "2a", "", sep="\\t", file=out)
        print("row", 2, 1, "load", "ab12345", "0", 2, "0", "an older store", sep="\\t", file=out)
        print("needs\\ta stale read", file=out)
    if "reach" in asked:
        place = format(int(os.environ["PLACE"]), "x")
        print("site", place, "lock", 7, "met" if "fifo" in " ".join(words) else "never together", "never waited", sep="\\t", file=out)
        print("site", place, "load", 9, "never together", "", sep="\\t", file=out)
        print("reach", 5, 4, 3, 2, 1, 0, 8, 0, sep="\\t", file=out)
        print("knob\\tof 8 blocks that were freed none was used again", file=out)
    runs, cuts, accesses = 7, 7 if "ends_never" in words else 0, 0 if "blind" in words else 5
    print("summary", runs, 0.5, 90, 3, cuts, int(bad), accesses, sep="\\t", file=out)
sys.exit(1 if bad or "replay" in asked else 0)
"""


class Hunt(TreeCase):
    def program(self, names: str = "", text: str = PROGRAM) -> Path:
        return fakes.script(self.root / "some_test", text.format(python=sys.executable, names=names))

    @contextlib.contextmanager
    def tools(self, **texts: str):
        """These come before those of the machine."""
        for name, text in texts.items():
            fakes.script(self.root / "tools" / name, text)
        with mock.patch.dict(os.environ, PATH=f"{self.root / 'tools'}:{os.environ['PATH']}"):
            yield

    def hunt(self, *words: str):
        return apiary(self.root, "hunt", "--jobs", "1", "--time", "1s", *words)

    def test_each_case_is_hunted_by_itself(self) -> None:
        program = self.program("gtest_list_tests")
        done = self.hunt("--json", str(self.root / "told.json"), "--", str(program), "--gtest_color=no")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("queue.loses: race; needs a stale read", done.stdout)
        self.assertRegex(done.stdout, r"queue\.fifo +7 .* nothing found")
        self.assertNotIn("slow", done.stdout)
        build = hunting.build_of(program)
        replay = f"scripts/apiary hunt --seed 1:20:{build} -- {program} --gtest_color=no --gtest_filter=queue.loses"
        self.assertIn(f"replay: {replay}", done.stdout)
        self.assertRegex(done.stdout, r"2 +load …12345 = 0 acquire \(an older store\)")
        told = json.loads((self.root / "told.json").read_text())
        self.assertEqual([one["case"] for one in told["failures"]], ["queue.loses"])
        again = apiary(self.root, *replay.split()[1:])
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("hash 00c0ffee", again.stdout)

    def test_cases_of_other_frameworks(self) -> None:
        for framework, names, listed, filtered in (
            ("Catch2 v2", "list-test-names-only", ["a fifo, bounded", "it loses [one]", "-odd"], r"--order rand 'it loses \[one]'"),
            ("Catch2 v3", "list all/matching test cases", ["a fifo, bounded", "it loses [one]", "-odd"], r"--order rand 'it loses \[one]'"),
            ("doctest", "doctest version is ", ["a fifo", 'it loses, "one"'], "--order rand '--test-case=it loses? ?one?'"),
        ):
            with self.subTest(framework=framework):
                done = self.hunt("--json", str(self.root / "told.json"), "--", str(self.program(names)), "--order", "rand")
                told = json.loads((self.root / "told.json").read_text())
                self.assertEqual((done.returncode, list(told["cases"])), (1, listed), done.stderr)
                self.assertEqual([one["case"] for one in told["failures"]], listed[1:2])
                self.assertTrue(told["failures"][0]["replay"].endswith(filtered), told["failures"][0]["replay"])

    def test_the_tests_of_ctest(self) -> None:
        folder = self.root / "tests"
        (folder / "here").mkdir(parents=True)
        (folder / "here" / "of_the_test").touch()
        program, cases = self.program(), fakes.script(self.root / "cases", PROGRAM.format(python=sys.executable, names="gtest_list_tests"))
        (folder / "CTestTestfile.cmake").write_text(f"""
add_test(right "{program}" "here")
set_tests_properties(right PROPERTIES WORKING_DIRECTORY "{folder}/here" ENVIRONMENT "OF_THE_TEST=yes")
add_test(wrong "{program}" "loses")
add_test(skips "{program}" "loses")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 66)
add_test(cases "{cases}")
add_test(fails "{program}")
set_tests_properties(fails PROPERTIES WILL_FAIL TRUE)
add_test(other "{sys.executable}")
add_test(unbuilt "{folder}/nothing")
""")
        done = self.hunt("--json", str(self.root / "told.json"), "--", "ctest", "--test-dir", str(folder))
        self.assertEqual(done.returncode, 1, done.stderr)
        told = json.loads((self.root / "told.json").read_text())
        self.assertEqual(set(told["cases"]), {"right", "wrong", "skips", "cases: queue.fifo", "cases: queue.loses"})
        self.assertEqual([one["case"] for one in told["failures"]], ["wrong", "cases: queue.loses"])
        self.assertEqual(told["left_out"]["skips"], "it says that it was skipped")
        for name, why in (("fails", "it is meant to fail"), ("other", "is not linked with the hunt's runtime"), ("unbuilt", "is not built")):
            self.assertRegex(done.stdout, f"not hunted: {name}: .*{why}")
        self.assertRegex(told["failures"][0]["replay"], rf"^cd {folder} && {self.root}/scripts/apiary hunt --seed 1:20:\w+ -- {program} loses$")
        done = self.hunt("--", "ctest", "--test-dir", str(folder), "-R", "other")
        self.assertEqual((done.returncode, "none of 1 tests of CTest can be hunted" in done.stderr), (2, True), done.stderr)

    def test_the_files_for_ci_and_for_people(self) -> None:
        program = self.program("gtest_list_tests")
        words = [word for kind in ("junit", "sarif", "html") for word in (f"--{kind}", str(self.root / kind))]
        done = self.hunt(*words, "--", str(program))
        self.assertEqual(done.returncode, 1, done.stderr)
        suite = ET.parse(self.root / "junit").find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        failure = suite.find("testcase/failure")
        self.assertIn("an older store", failure.text)
        self.assertIn("replay: scripts/apiary hunt --seed 1:20:", failure.text)
        run = json.loads((self.root / "sarif").read_text())["runs"][0]
        result = run["results"][0]
        self.assertEqual((result["ruleId"], run["tool"]["driver"]["rules"][0]["id"]), ("apiary/race", "apiary/race"))
        self.assertEqual([flow["id"] for flow in result["codeFlows"][0]["threadFlows"]], ["thread 0", "thread 1"])
        page = (self.root / "html").read_text()
        self.assertIn("an older store", page)
        self.assertIn("queue.fifo", page)
        done = self.hunt("--sarif", str(self.root), "--", str(program))
        self.assertEqual((done.returncode, "cannot be written" in done.stderr), (2, True), done.stderr)

    def test_what_was_reached(self) -> None:
        addr2line = """#!/bin/sh\nwhile read address; do echo "0x$address: take(int) at /x/queue.hpp:7"; done\n"""
        with self.tools(addr2line=addr2line), mock.patch.dict(os.environ, PLACE="4096"):
            done = self.hunt("--reach", "--json", str(self.root / "told.json"), "--jobs", "4", "--", str(self.program("gtest_list_tests")))
        self.assertRegex(done.stdout, r"queue\.fifo +4 +3 +2 +5 +1 +0 +8 +0")
        self.assertIn("queue.fifo: of 8 blocks that were freed none was used again", done.stdout)
        told = json.loads((self.root / "told.json").read_text())
        self.assertEqual(told["reached"]["queue.loses"]["used_again"], 0)
        # The lock met another in one of the two cases, and what it waits for was in neither.
        self.assertEqual([list(one.values()) for one in told["missed"][str(self.root / "some_test")]],
                         [["queue.hpp:7", "load", 18, "never together"], ["queue.hpp:7", "lock", 14, "never waited"]])

    def test_a_debugger_at_a_step(self) -> None:
        program = self.program()
        seed = f"5:20/pa,1.2s3:{hunting.build_of(program)}"
        with self.tools(gdb='#!/bin/sh\nprintf "%s|" "$APIARY_HUNT" "$@"\n'):
            done = self.hunt("--gdb", "17", "--seed", seed, "--", str(program), "loses")
            self.assertEqual((done.returncode, done.stdout), (0, "first=5;length=20/pa,1.2s3;strategy=portfolio;stop=17|-q|-ex|set startup-with-shell off|"
                                                              f"-ex|break apiary_hunt_stops_here|-ex|run|--args|{program}|loses|"), done.stderr)
            for words, told in ((["--seed", "5"], "--gdb needs the run to replay"), (["--seed", "5:20:00000000"], "the seed is of build 00000000"),
                                (["--seed", seed, "--json", str(self.root / "x.json")], "--gdb with --json")):
                with self.subTest(words=words):
                    done = self.hunt("--gdb", "17", *words, "--", str(program))
                    self.assertEqual((done.returncode, told in done.stderr), (2, True), done.stderr)

    def test_a_plain_program_is_silent_if_nothing_is_found(self) -> None:
        done = self.hunt("--", str(self.program()))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"some_test +7 +3 +0 +nothing found")

    def test_a_seed_of_another_build_is_refused(self) -> None:
        done = self.hunt("--seed", "5:20:00000000", "--", str(self.program()))
        self.assertEqual(done.returncode, 2)
        self.assertIn("the seed is of build 00000000", done.stderr)

    def test_what_cannot_be_hunted_is_refused(self) -> None:
        for words, code, told in (
            ([str(self.program(names="libtsan.so.2"))], 2, "is linked with ThreadSanitizer as well"),
            ([str(self.root / "nothing")], 2, "there is no program"),
        ):
            with self.subTest(words=words):
                done = self.hunt("--", *words)
                self.assertEqual((done.returncode, told in done.stderr), (code, True), done.stderr)
        done = self.hunt("--", sys.executable)
        self.assertEqual((done.returncode, "is not linked with the hunt's runtime" in done.stderr), (2, True), done.stderr)
        program = str(self.program())
        for word, code, told in (("blind", 2, "was seen"), ("ends_never", 3, "no run has ended"), ("asks", 3, "not supported: fork")):
            with self.subTest(word=word):
                done = self.hunt("--", program, word)
                self.assertEqual((done.returncode, told in done.stderr), (code, True), done.stderr)

    def test_numbers(self) -> None:
        for option, value in (("--time", "soon"), ("--time", "0s"), ("--seed", "1:2"), ("--seed", "x"), ("--jobs", "0")):
            with self.subTest(option=option, value=value):
                self.assertEqual(self.hunt(option, value, "--", "true").returncode, 2)
        self.assertEqual(hunting.parse_seed("7:21:0123abcd"), hunting.Seed(7, "21", "0123abcd"))
        self.assertEqual(hunting.parse_seed("7:21/pa,1.2s3:0123abcd"), hunting.Seed(7, "21/pa,1.2s3", "0123abcd"))


if __name__ == "__main__":
    unittest.main()
