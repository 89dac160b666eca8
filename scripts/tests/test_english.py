"""The English of pages and of comments: every actor has its role's name, a page wraps at 100 columns and a comment of
`impl/` at 120, and a header stands by itself."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

WIDTH = 100  # of a page
LONG, SCREEN = 200, 40  # lines of a page, and of its first screen
COMMENT_WIDTH = 120  # of a comment line in impl/, and of a line of code that ends in a comment
CODE = ("impl/", "model_check/", "stress/", "bench/")
HELD = ("impl/",)  # the folders in which comments are held to all rules below
# Of these, the rooms that are not clean yet: only the bare "who" is looked for there. An empty tuple ends the exemption.
NOT_YET: tuple[str, ...] = ()
SKIPPED = {"build", "results", "target", "__pycache__"}

ROLES = """author caller canceller claimer contributor engineer newcomer owner person poster producer programmer pusher reader
    searcher sleeper stranger thief thieves thread user waiter worker""".split()
WHO = re.compile(r"\bwho(?:ever)?\b", re.IGNORECASE)
NAMED = re.compile(rf"\b(?:{'|'.join(ROLES)})s?,?\s+$", re.IGNORECASE)
TITLE = re.compile(r"who (?:must )?wakes? whom", re.IGNORECASE)  # the name of the protocol

# The seeds are not in this repository, so a header stands by itself; a README may tell the origin.
ORIGIN = (r"\b[Ss]eeds? \d{3}\b|\b[Tt]he seeds?\b(?! of\b)", "the origin in a header: a README tells it")
# Words of the table in STYLE.md that are wrong wherever they stand, with what to write in their place.
WORDS = (
    (r"(?:^|[.:;] )Behind\b", 'a sentence that begins with "Behind": write "After"'),
    (r"\b[Bb]ehind (?:a|the|its) (?:stop|cancel|nap|search|resumption|construction)\b", '"behind" an event: write "after"'),
    (r"\b[Bb]ehind (?:start|stop|request_stop)\b", '"behind" a call: write "after"'),
    (r"(?:^|\. )Of what\b", 'a sentence that begins with "Of what": subject, verb, object'),
    (r"(?:^|\. )What does\b(?![^?.]*\?)", '"What does" as a subject: name it'),
)

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


def wide_comments(text: str) -> list[int]:
    """The lines above the width that hold a comment, but a single word alone, such as a link."""
    said = comments(text).split("\n")
    return [
        n
        for n, line in enumerate(text.split("\n"), 1)
        if len(line) > COMMENT_WIDTH and said[n - 1].strip() and " " in line.strip(" /")
    ]


def paragraphs(text: str) -> list[tuple[int, str]]:
    """The comments of a C++ file, each with its first line's number; lines that follow one another are one comment."""
    found: list[tuple[int, str]] = []
    before = ""
    for n, (line, code) in enumerate(zip(comments(text).split("\n"), text.split("\n"), strict=True), 1):
        alone = code.lstrip().startswith("//")
        if not line.strip():
            before = ""
        elif alone and before == "alone":
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line.strip()}")
        else:
            found.append((n, line.strip()))
        before = "alone" if alone and line.strip() else ""
    return found


def of_the_table(said: str) -> list[tuple[int, str]]:
    """The lines of a page with words that the table of STYLE.md replaces."""
    return sorted((said.count("\n", 0, found.end()) + 1, reason)
                  for rule, reason in WORDS for found in re.finditer(rule.replace(" ", r"\s+"), said, re.MULTILINE))


def awkward(text: str, header: bool) -> list[tuple[int, str]]:
    """The lines, and what is wrong there: words that the table of STYLE.md replaces, and in a header an origin elsewhere."""
    return sorted(
        (first + said.count("\n", 0, match.end()), reason)
        for first, said in paragraphs(text)
        for rule, reason in (*WORDS, *([ORIGIN] if header else []))
        for match in re.finditer(rule.replace(" ", r"\s+"), said)
    )


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
            found += [f"{name}:{line}: {reason}" for line, reason in (of_the_table(prose(text)) if page else [])]
            if not page and name.startswith(HELD) and not name.startswith(NOT_YET):
                found += [f"{name}:{line}: a comment above {COMMENT_WIDTH} columns" for line in wide_comments(text)]
                found += [f"{name}:{line}: {reason}" for line, reason in awkward(text, path.suffix == ".hpp")]
    return found, read


class English(unittest.TestCase):
    def test_the_tree_reads_well(self) -> None:
        found, read = wrong(REAL_ROOT)
        self.assertEqual(found, [])
        self.assertGreater(read, 80, "the tree was not read")

    def test_a_long_page_says_first_what_a_reader_in_a_hurry_needs(self) -> None:
        for path in sorted([*REAL_ROOT.rglob("README.md"), REAL_ROOT / "METHODOLOGY.md", REAL_ROOT / "BIAS.md"]):
            lines = path.read_text(encoding="utf-8").split("\n")
            if len(lines) > LONG and SKIPPED.isdisjoint(path.relative_to(REAL_ROOT).parts):
                self.assertRegex("\n".join(lines[:SCREEN]), r"\nIn short:?\s", f"the first {SCREEN} lines of {path}")

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

    def test_a_wide_comment_of_impl_is_seen(self) -> None:
        wide = "// " + "word " * 23 + "words"
        self.assertEqual(len(wide), 123)
        for name, text, said in (
            ("impl/a.hpp", f"#pragma once\n{wide}\n", ["impl/a.hpp:2: a comment above 120 columns"]),
            ("impl/a.cpp", f"int n = 0;  {wide[:-8]}\n", ["impl/a.cpp:1: a comment above 120 columns"]),
            ("impl/a.hpp", f"    {wide[:115]}.\n", []),  # 120
            ("impl/a.hpp", f"    {wide[:115]}..\n", ["impl/a.hpp:1: a comment above 120 columns"]),
            ("impl/a.hpp", f"// https://{'a' * 120}\n", []),
            ("impl/a.hpp", f'f("{wide}");\n', []),
            ("bench/a.hpp", f"{wide}\n", []),
        ):
            with self.subTest(name=name, text=text):
                self.assertEqual(self.told(name, text), said)

    def test_an_origin_in_a_header_is_seen_and_a_random_seed_is_not(self) -> None:
        said = ["impl/a.hpp:1: the origin in a header: a README tells it"]
        for text in ("// Source: seed 002 section 4.\n", "// as the seed has it\n", "int a;  // the seed's rule\n"):
            with self.subTest(text=text):
                self.assertEqual(self.told("impl/a.hpp", text), said)
                self.assertEqual(self.told("impl/a.cpp", text), [])
        for text in ("// The decisions repeat with the seed of the run.\n", "// seeded; `seed` 0 is as good as any\n"):
            with self.subTest(text=text):
                self.assertEqual(self.told("impl/a.hpp", text), [])

    def test_words_of_the_table_are_seen_also_across_lines(self) -> None:
        for text, line in (
            ("// Behind start.\n", 1),
            ("// It stays. Behind\n// the look it goes.\n", 1),
            ("// It stays.\n// Behind the look it goes.\n", 2),
            ("int a;\n// counted behind\n// the stop\n", 3),
            ("// Of what is called to make the task.\n", 1),
            ("// Whether it lives. What does is in the report.\n", 1),
        ):
            with self.subTest(text=text):
                self.assertRegex("".join(self.told("impl/a.hpp", text)), rf"^impl/a.hpp:{line}: ")
        for text, line in (("It stays. Behind\nthe look it goes.\n", 1), ("It is counted\nbehind a stop.\n", 2), ("Of what is called.\n", 1)):
            self.assertRegex("".join(self.told("a.md", text)), rf"^a.md:{line}: ")
        self.assertEqual(self.told("a.md", "What does it cost? `Behind a stop`\n"), [])
        for text in ("// The callable behind an end function.\n", "// see what does it, behind the last node\n"):
            with self.subTest(text=text):
                self.assertEqual(self.told("impl/a.hpp", text), [])

if __name__ == "__main__":
    unittest.main()
