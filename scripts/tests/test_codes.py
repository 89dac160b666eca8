"""Codes are found where they are read: a decision (D31) by a link on a page, elsewhere by the name of its file; a defect of the
museum (A05, B13, C06) by a link to the catalogue, or the word for what it is; an invariant or a synchronisation (I2, S1) in the
same file, or beside the name of the header that has it."""

from __future__ import annotations

import os
import re
import unittest
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

SOURCES = ("impl/", "model_check/", "stress/", "bench/")
SKIPPED = {"build", "results", "target", "__pycache__"}
BESIDE = 160  # characters before a code, and a third of that after it, in which its header is named

DECISION = re.compile(r"(?<![\w/.-])D\d{1,3}(?![\w.]|-\d)")
DEFECT = re.compile(r"(?<![\w/.-])[ABC]\d\d(?!\w)")
LABEL = re.compile(r"(?<![\w/.-])[IS]\d{1,2}(?!\w)")
# "//   S1  The owner's store …" in a card, "- **S1** …" on a page.
DEFINED = re.compile(r"^(?://|#|-)\s+(?:\*\*)?([IS]\d{1,2})(?:\*\*)?\s{1,3}\S", re.MULTILINE)
CODE = re.compile(r"^[ ]*(?:```|~~~).*?^[ ]*(?:```|~~~)|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def read(root: Path) -> dict[str, str]:
    found = {}
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED and not name.startswith("."))
        for path in sorted(Path(folder) / file for file in files):
            name = str(path.relative_to(root))
            if path.suffix == ".md" or name.startswith(SOURCES) and path.suffix in (".hpp", ".cpp"):
                found[name] = path.read_text(encoding="utf-8")
    return found


def unlinked(name: str, text: str) -> list[str]:
    """A page's decisions that it links nowhere, and its defects where it has no way to the catalogue. (The decisions name defects
    that they are about; the museum's is the folder beside them.)"""
    said = CODE.sub(lambda code: blank(code[0]), text)
    linked = set(re.findall(r"(?:\[|^## )(D\d+)(?:\]|\. )", text, re.MULTILINE))
    found = [f"{name}:{said.count(chr(10), 0, one.start()) + 1}: {one[0]} without a link"
             for one in DECISION.finditer(said) if one[0] not in linked]
    decides = name.endswith("DECISIONS.md")
    if one := not decides and not re.search(r"\]\S*museum/", text) and DEFECT.search(said):
        found.append(f"{name}:{said.count(chr(10), 0, one.start()) + 1}: {one[0]}, and no link to the museum")
    return found


def unnamed(name: str, text: str) -> list[str]:
    """The same of a source, which has no links: it names the file, or says what such a code is of."""
    found = []
    for code, home in ((DECISION, r"DECISIONS\.md"), (DEFECT, r"(?i)exhibit|museum|defect")):
        if (one := code.search(text)) and not re.search(home, text):
            found.append(f"{name}:{text.count(chr(10), 0, one.start()) + 1}: {one[0]}, and nothing says where that is")
    return found


def undefined(files: dict[str, str]) -> list[str]:
    """Invariants and synchronisations of which neither the file nor the header that is named beside them has the text."""
    homes = defaultdict(set)
    for name, text in files.items():
        for label in DEFINED.findall(text):
            homes[label].add(Path(name).stem)
    found = []
    for name, text in files.items():
        own = set(DEFINED.findall(text))
        for one in LABEL.finditer(text):
            words = re.findall(r"\w+", text[max(0, one.start() - BESIDE) : one.end() + BESIDE // 3])
            if name.startswith(SOURCES) and one[0] not in own and homes[one[0]].isdisjoint(words):
                found.append(f"{name}:{text.count(chr(10), 0, one.start()) + 1}: {one[0]} is of no header that is named there")
    return found


def wrong(root: Path) -> list[str]:
    files = read(root)
    found = [line for name, text in files.items() for line in (unlinked if name.endswith(".md") else unnamed)(name, text)]
    return found + undefined(files)


class Codes(unittest.TestCase):
    def test_every_code_can_be_followed(self) -> None:
        self.assertEqual(wrong(REAL_ROOT), [])
        self.assertGreater(len(read(REAL_ROOT)), 500, "the tree was not read")

    def told(self, **files: str) -> list[str]:
        with TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder) / name.replace("__", "/").replace("_dot_", ".")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return wrong(Path(folder))

    def test_a_code_that_leads_nowhere_is_seen(self) -> None:
        card = "// a: it.\n//   I2  One at a time.\n"
        for files, said in (
            ({"a_dot_md": "It pays (D31).\n"}, "a.md:1: D31 without a link"),
            ({"a_dot_md": "As exhibit\nA05 has it.\n"}, "a.md:2: A05, and no link to the museum"),
            ({"impl__a_dot_hpp": "// (D31)\n"}, "impl/a.hpp:1: D31, and nothing says where that is"),
            ({"impl__a_dot_hpp": "int a;  // A05\n"}, "impl/a.hpp:1: A05, and nothing says where that is"),
            ({"impl__a_dot_hpp": card, "impl__b_dot_hpp": "f();  // I2\n"}, "impl/b.hpp:1: I2 is of no header that is named there"),
            ({"impl__a_dot_hpp": card, "impl__b_dot_hpp": "f();  // a I3\n"}, "impl/b.hpp:1: I3 is of no header that is named there"),
        ):
            with self.subTest(said=said):
                self.assertEqual(self.told(**files), [said])

    def test_one_that_can_be_followed_is_not(self) -> None:
        card = "// a: it.\n//   I2  One at a time.\nf();  // I2\n"
        for files in (
            {"a_dot_md": "It pays ([D31]) and [so](D.md#d31). `D31`\n\n## D31. It\n\n[D31]: D.md#d31\n"},
            {"a_dot_md": "Exhibit A05 ([museum](model_check/museum/catalogue.csv)).\n"},
            {"impl__a_dot_hpp": "// impl/DECISIONS.md D31; exhibit A05\n"},
            {"impl__a_dot_hpp": card, "impl__b_dot_hpp": "f();  // a I2\n", "impl__README_dot_md": "The order (I2 in `impl/a.hpp`).\n"},
        ):
            with self.subTest(files=files):
                self.assertEqual(self.told(**files), [])


if __name__ == "__main__":
    unittest.main()
