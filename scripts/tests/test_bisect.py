"""bisect: the commit that moved an exact figure, among those of a small made-up repository."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import unittest
from unittest import mock

from apiary_cli.base import commits, repo
from apiary_cli.base.errors import Fault
from apiary_cli.verbs import bisect

from . import fakes
from .support import TreeCase, apiary
from .test_compare import PRESETS
from .test_exact import DRIVER, VALGRIND

# "Builds" a program by copying the script that the commit holds.
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(fake NONE)
add_custom_target(queue_exact ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/impl/driver.py ${CMAKE_BINARY_DIR}/bin/queue_exact)
"""


class Repository(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        (self.root / ".gitignore").write_text("build/\n")
        self.git("init", "-q", "-b", "main")
        (self.root / "impl").mkdir(exist_ok=True)

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return subprocess.run(["git", "-C", str(self.root), *identity, *words], check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, subject: str, figure: object = "") -> str:
        (self.root / "impl" / "figure").write_text(f"{figure}")
        self.git("add", "--all")
        self.git("commit", "--allow-empty", "-qm", subject)
        return self.git("rev-parse", "HEAD")


class Commits(Repository):
    """What is exact is asked of a whole command, of few commits, since each is built by CMake."""

    def setUp(self) -> None:
        super().setUp()
        (self.root / "CMakeLists.txt").write_text(PROJECT)
        (self.root / "CMakePresets.json").write_text(json.dumps(PRESETS))
        fakes.script(self.root / "build" / "tools" / "valgrind", VALGRIND.format(python=sys.executable))

    def costs(self, subject: str, cost: int) -> str:
        fakes.script(self.root / "impl" / "driver.py", DRIVER.format(python=sys.executable, cost=cost, random=False))
        return self.commit(subject)

    def bisect(self, *words: str) -> subprocess.CompletedProcess:
        with mock.patch.dict(os.environ, {"PATH": f"{self.root / 'build' / 'tools'}{os.pathsep}{os.environ['PATH']}"}):
            return apiary(self.root, "bisect", *words)

    def test_one_instruction_more_is_found_and_the_tree_is_left_as_it_was(self) -> None:
        good = self.costs("first", 40)
        (self.root / "README").write_text("words\n")
        self.costs("words alone", 40)
        moved = self.costs("one more", 41)
        self.costs("and one less elsewhere", 41)
        (self.root / "impl" / "half").write_text("written")
        done = self.bisect("--json", str(self.root / "build" / "told.json"), good, "HEAD", "--", "exact", "queue_exact", "push")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("moved by this commit", done.stdout)
        told = json.loads((self.root / "build" / "told.json").read_text())
        self.assertEqual((told["found"], told["passed"]), ([moved], {}))
        self.assertEqual({row["figure"] for row in told["asked"]}, {40.0, 41.0})
        self.assertEqual(self.git("status", "--porcelain"), "?? impl/half")
        for words, seen in (((good, "HEAD", "--", "exact", "queue_exact", "push", "allocations"), "have the same allocations"),
                            ((good, "HEAD", "--", "exact", "queue_exact", "push", "sweets"), "queue_exact push tells no sweets"),
                            ((good, "HEAD", "--", "exact", "no_such", "push"), "building no_such of "),
                            (("HEAD", good, "--", "exact", "queue_exact", "push"), f"HEAD is no commit before {good}"),
                            ((good, ".", "--", "exact", "queue_exact", "push"), "the working tree is no commit"),
                            ((good, "nosuch", "--", "exact", "queue_exact", "push"), "'nosuch' is neither"),
                            ((good, "HEAD", "--", "time", "queue_exact"), "no question 'time'"),
                            ((good, "HEAD", "--", "exact", "queue_exact"), "exact takes 2 or 3 words")):
            with self.subTest(seen):
                done = self.bisect(*words)
                self.assertIn(done.returncode, (2, 3))
                self.assertIn(seen, done.stderr)


class Halving(Repository):
    """Which commits are asked, by figures that stand in them."""

    def ask(self, good: str, bad: str) -> tuple[list[str], dict[str, str], int]:
        def figure(_: object, source) -> bisect.Value:
            text = (source / "impl" / "figure").read_text()
            if text == "broken":
                raise Fault("it does not compile")
            return float(text) if text.replace(".", "").isdigit() else text

        asking = bisect.Asking(bisect.Question("release", "p", "moves", ("impl",), figure))
        with (mock.patch.object(repo, "ROOT", self.root), mock.patch.object(repo, "BUILD", self.root / "build"),
              mock.patch.object(commits, "build", lambda tree, *_: tree.source), contextlib.redirect_stdout(io.StringIO())):
            found, passed = bisect.halved(asking, good, bad)
        return found, passed, len(asking.rows)

    def test_of_many_few_are_asked(self) -> None:
        made = [self.commit(f"{i}", 1.0 if i < 11 else 1.5) for i in range(17)]
        found, _, asked = self.ask(made[0], made[-1])
        self.assertEqual(found, [made[11]])
        self.assertLessEqual(asked, 2 + 5)

    def test_less_is_no_more(self) -> None:
        first, _, worse = (self.commit(f"{figure}", figure) for figure in (1.0, 0.5, 2.0))
        self.assertEqual(self.ask(first, worse)[0], [worse], "GOOD's figure is 1: 0.5 is on no side of BAD's")

    def test_what_came_on_a_branch_is_found_there(self) -> None:
        first = self.commit("first", 1.0)
        self.git("checkout", "-qb", "side")
        (self.root / "impl" / "side").write_text("a file of its own")
        self.commit("side, good", 1.0)
        worse = self.commit("side, worse", 2.0)
        self.git("checkout", "-q", "main")
        self.commit("main, good", 1.0)
        self.git("merge", "-q", "-X", "theirs", "-m", "both", "side")
        last = self.commit("after it", 2.0)
        self.assertEqual(self.ask(first, last)[0], [worse])

    def test_what_cannot_be_asked_is_passed_and_named_where_it_may_be_the_one(self) -> None:
        made = [self.commit(f"{i}", word) for i, word in enumerate(("pass", "pass", "broken", "broken", "fail", "fail"))]
        found, passed, _ = self.ask(made[0], made[-1])
        self.assertEqual((found[0], set(found[1:]), set(passed)), (made[4], {made[2], made[3]}, {made[2], made[3]}))
        with self.assertRaisesRegex(Fault, "it does not compile"):
            self.ask(made[2], made[-1])


if __name__ == "__main__":
    unittest.main()
