"""The English of pages and of comments: every actor has its role's name, and prose wraps at 100 columns."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

WIDTH = 100
CODE = ("impl/", "model_check/", "stress/", "bench/")
SKIPPED = {"build", "results", "target", "__pycache__"}

ROLES = """author caller canceller claimer contributor engineer newcomer owner person poster producer programmer pusher reader
    searcher sleeper stranger thief thieves thread user waiter worker""".split()
WHO = re.compile(r"\bwho(?:ever)?\b", re.IGNORECASE)
NAMED = re.compile(rf"\b(?:{'|'.join(ROLES)})s?,?\s+$", re.IGNORECASE)
TITLE = re.compile(r"who (?:must )?wakes? whom", re.IGNORECASE)  # the name of the protocol

COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|(//[^\n]*)')
FENCE = re.compile(r"^[ ]*(?:```|~~~)")
MADE = re.compile(r"^<!-- ([a-z][a-z_ ]*) -->\n.*?^<!-- /\1 -->$", re.MULTILINE | re.DOTALL)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def comments(text: str) -> str:
    """A C++ file in which all but the words of its comments is blank; lines stay where they are."""
    kept, end = [], 0
    for match in COMMENT.finditer(text):
        if match[1]:
            kept += [blank(text[end : match.start()]), match[1].replace("/", " ")]
            end = match.end()
    return "".join(kept) + blank(text[end:])


def prose(text: str) -> str:
    """A page in which code and what a tool has made is blank."""
    inside, kept = False, []
    for line in MADE.sub(lambda made: blank(made[0]), text).split("\n"):
        fence = bool(FENCE.match(line))
        kept.append("" if inside or fence else line)
        inside ^= fence
    return re.sub(r"`[^`\n]*`", lambda code: "`" * len(code[0]), "\n".join(kept))


def nameless(text: str) -> list[int]:
    """The lines of a bare "who": one that stands behind no role."""
    return [
        text.count("\n", 0, found.start()) + 1
        for found in WHO.finditer(text)
        if not NAMED.search(text[: found.start()]) and not TITLE.match(re.sub(r"\s+", " ", text[found.start() :][:40]))
    ]


def long_lines(text: str) -> list[int]:
    """The lines above the width, but rows of tables and single words, such as links."""
    lines = enumerate(prose(text).split("\n"), 1)
    return [n for n, line in lines if len(line) > WIDTH and not line.lstrip().startswith("|") and " " in line.strip()]


def wrong(root: Path) -> tuple[list[str], int]:
    """Every place that reads badly, and how many files were read."""
    found, read = [], 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED and not name.startswith("."))
        for path in sorted(Path(folder) / file for file in files):
            name = str(path.relative_to(root))
            page = path.suffix == ".md"
            if not page and not (name.startswith(CODE) and path.suffix in (".hpp", ".cpp")):
                continue
            text = path.read_text(encoding="utf-8")
            read += 1
            who = nameless(prose(text) if page else comments(text))
            found += [f'{name}:{line}: a bare "who": name the actor by its role' for line in who]
            found += [f"{name}:{line}: prose above {WIDTH} columns" for line in (long_lines(text) if page else [])]
    return found, read


class English(unittest.TestCase):
    def test_the_tree_reads_well(self) -> None:
        found, read = wrong(REAL_ROOT)
        self.assertEqual(found, [])
        self.assertGreater(read, 80, "the tree was not read")

    def told(self, name: str, text: str) -> list[str]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            found, read = wrong(Path(folder))
            self.assertEqual(read, 1)
            return found

    def test_a_bare_who_is_seen(self) -> None:
        for line in (
            "// Who falls asleep counts it.",
            "int a;  // it decides who owns the bit",
            "// claims a sleeper, for\n// who posts",
            "// Whoever moves `top` owns the element.",
            "// one is needed that wakes, and who waits",
        ):
            with self.subTest(line=line):
                found = self.told("impl/a.hpp", f"#pragma once\n{line}\n")
                self.assertRegex("".join(found), r'^impl/a.hpp:[23]: a bare "who"')
        said = ['a.md:3: a bare "who": name the actor by its role']
        self.assertEqual(self.told("a.md", "A row\n\n| who fills it |\n"), said)

    def test_a_named_actor_a_string_and_code_are_not(self) -> None:
        for name, text in (
            ("impl/a.hpp", "// A thief, who comes seldom; the workers\n// who sleep. Who must wake whom: crew.hpp\n"),
            ("impl/a.hpp", 'f("who else // searches");  // with_whoever_comes\n'),
            ("a.md", "`who` and\n\n```\nwho -a\n```\n"),
        ):
            with self.subTest(text=text):
                self.assertEqual(self.told(name, text), [])

    def test_a_long_line_is_seen_and_a_row_code_a_link_and_a_made_part_are_not(self) -> None:
        long = "word " * 21
        said = [f"a.md:1: prose above {WIDTH} columns"]
        self.assertEqual(self.told("a.md", long), said)
        self.assertEqual(self.told("a.md", f"- {long}\n\n| {long} |\n```\n{long}\n```\n"), said)
        self.assertEqual(self.told("a.md", f"<!-- race -->\n{long}\n<!-- /race -->\n<https://{'a' * 100}>\n"), [])
        self.assertEqual(self.told("a.md", f"<!-- race -->\n{long}\n"), [f"a.md:2: prose above {WIDTH} columns"])


if __name__ == "__main__":
    unittest.main()
