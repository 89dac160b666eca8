"""The decisions: each has a heading, a status and few words beside its part, a line in the index, and live links."""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

INDEX = "DECISIONS.md"
PARTS = ("impl", "model_check", "bench", "scripts")
WORDS = 170
SKIPPED = {"build", "results", "target", "__pycache__"}
READ = {".md", ".hpp", ".cpp", ".py", ".toml", ".csv", ".cmake", ".txt", ".rs", ".go", ".erl", ".sh", ".yml"}

HEADING = re.compile(r"^## D(\d+)\. (.+)$", re.MULTILINE)
STATUS = re.compile(r"\n\nStatus: (holds|withdrawn|superseded by \[D\d+\])(?!\w)[^.]*\.\n")
DEFINITION = re.compile(r"^\[D(\d+)\]: (\S*)#(\S+)$", re.MULTILINE)
MENTION = re.compile(r"\[D(\d+)\](?![:(])")
ROW = re.compile(r"^\| \[D(\d+)\]\((\S+)#(\S+)\) \| (.+) \| (?:holds|withdrawn|superseded by D\d+)\b[^|]*\|$", re.MULTILINE)
NUMBER = re.compile(r"\bD(\d{1,3})\b")


@dataclass(frozen=True)
class Entry:
    file: str
    title: str
    status: str

    def anchor(self, number: int) -> str:
        return re.sub(r"[^\w\- ]", "", f"D{number}. {self.title}".lower()).replace(" ", "-")


def entries(root: Path) -> tuple[dict[int, Entry], list[str]]:
    """Every entry by its number, and what is wrong with them."""
    found, wrong = {}, []
    for file in (f"{part}/{INDEX}" for part in PARTS):
        text = DEFINITION.sub("", (root / file).read_text(encoding="utf-8"))
        heads = list(HEADING.finditer(text))
        for head, end in zip(heads, [*(later.start() for later in heads[1:]), len(text)]):
            number, body = int(head[1]), text[head.end() : end]
            status = STATUS.match(body)
            if number in found:
                wrong.append(f"{file}: D{number} is in {found[number].file}, too")
            if not status:
                wrong.append(f"{file}: D{number} has no status")
            words = len(body[status.end() if status else 0 :].split())
            if words > WORDS:
                wrong.append(f"{file}: D{number} has {words} words, more than {WORDS}")
            found[number] = Entry(file, head[2], status[1] if status else "")
    return found, wrong


def index(root: Path, known: dict[int, Entry]) -> list[str]:
    """What the index says otherwise than the entries do."""
    text = (root / INDEX).read_text(encoding="utf-8")
    rows = [(int(n), file, anchor, title) for n, file, anchor, title in ROW.findall(text)]
    real = [(n, entry.file, entry.anchor(n), entry.title) for n, entry in known.items()]
    wrong = [f"{INDEX}: D{row[0]} has a row that is not its entry's" for row in rows if row not in real]
    wrong += [f"{INDEX}: D{row[0]} has no row" for row in real if row not in rows]
    listed = re.findall(r"^\| \[D", text, re.MULTILINE)
    return wrong + ([f"{INDEX}: a row is twice or cannot be read"] if len(listed) != len(real) or len(set(rows)) != len(rows) else [])


def named(root: Path, known: dict[int, Entry]) -> tuple[list[str], int]:
    """Numbers without an entry and links that lead elsewhere, in the whole tree; and how many numbers were read."""
    wrong, read = [], 0
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED and not name.startswith("."))
        for path in sorted(Path(folder) / file for file in files if Path(file).suffix in READ):
            file, text = str(path.relative_to(root)), path.read_text(encoding="utf-8", errors="replace")
            numbers = {int(number) for number in NUMBER.findall(text)}
            read += len(numbers)
            wrong += [f"{file}: D{number} has no entry" for number in sorted(numbers - set(known))]
            if path.suffix != ".md":
                continue
            leads = {int(number): (target, anchor) for number, target, anchor in DEFINITION.findall(text)}
            mentions = {int(number) for number in MENTION.findall(text)}
            wrong += [f"{file}: [D{number}] leads nowhere" for number in sorted(mentions - set(leads))]
            wrong += [f"{file}: the link of D{number} is used by nothing" for number in sorted(set(leads) - mentions)]
            for number in sorted(set(leads) & set(known)):
                target, anchor = leads[number]
                page = os.path.relpath(path.parent / target, root) if target else file
                if (page, anchor) != (known[number].file, known[number].anchor(number)):
                    wrong.append(f"{file}: the link of D{number} does not lead to its entry")
    return wrong, read


def all_wrong(root: Path) -> list[str]:
    known, wrong = entries(root)
    return wrong + index(root, known) + named(root, known)[0]


class Decisions(unittest.TestCase):
    def test_entries_index_and_links_agree(self) -> None:
        self.assertEqual(all_wrong(REAL_ROOT), [])
        known, _ = entries(REAL_ROOT)
        self.assertGreater(len(known), 150, "the entries were not read")
        self.assertGreater(named(REAL_ROOT, known)[1], 300, "the tree was not read")

    def told(self, file: str = "a.cpp", old: str = "", new: str = "") -> str:
        """What is said of a right tree of two entries after one change in one file."""
        tree = {f"{part}/{INDEX}": "# Decisions\n" for part in PARTS} | {
            f"impl/{INDEX}": "# A\n\n## D1. A word, or two\n\nStatus: superseded by [D2].\n\nIt was so.\n\n[D2]: ../bench/DECISIONS.md#d2-b\n",
            f"bench/{INDEX}": "# B\n\n## D2. B\n\nStatus: holds, 2026-11-22; amends D1.\n\nIt is so.\n",
            INDEX: "| [D1](impl/DECISIONS.md#d1-a-word-or-two) | A word, or two | superseded by D2 |\n"
            "| [D2](bench/DECISIONS.md#d2-b) | B | holds |\n",
            "impl/x/README.md": "So ([D2]).\n\n[D2]: ../../bench/DECISIONS.md#d2-b\n",
            "a.cpp": "// D1\n",
        }
        self.assertIn(old, tree[file])
        tree[file] = tree[file].replace(old, new)
        with TemporaryDirectory() as folder:
            for name, text in tree.items():
                (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / name).write_text(text, encoding="utf-8")
            return "\n".join(all_wrong(Path(folder)))

    def test_each_kind_of_disagreement_is_seen(self) -> None:
        self.assertEqual(self.told(), "")
        bench, impl, page = f"bench/{INDEX}", f"impl/{INDEX}", "impl/x/README.md"
        for file, old, new, seen in (
            ("a.cpp", "D1", "D3", "a.cpp: D3 has no entry"),
            (bench, "Status: holds", "It holds", "D2 has no status"),
            (bench, "Status: holds", "Status: hopes", "D2 has no status"),
            (bench, "It is so.", "word " * (WORDS + 1), f"D2 has {WORDS + 1} words, more than {WORDS}"),
            (bench, "## D2. B\n", "## D1. B\n", "D1 is in impl/DECISIONS.md, too"),
            (bench, "## D2. B\n", "## D2. C\n", "D2 has a row that is not its entry's"),
            (bench, "## D2. B\n", "## D2. C\n", f"{page}: the link of D2 does not lead to its entry"),
            (impl, "#d2-b", "#d2-c", "the link of D2 does not lead to its entry"),
            (INDEX, "| B |", "| Bee |", "D2 has no row"),
            (INDEX, "| holds |", "| perhaps |", "D2 has no row"),
            (INDEX, "| [D2](bench/DECISIONS.md#d2-b) | B | holds |\n", "", "D2 has no row"),
            (INDEX, "| holds |\n", "| holds |\n| [D2](bench/DECISIONS.md#d2-b) | B | holds |\n", "a row is twice"),
            (page, "[D2]: ../../bench", "[D2]: ../bench", "the link of D2 does not lead to its entry"),
            (page, "([D2])", "([D1])", "[D1] leads nowhere"),
            (page, "([D2])", "so", "the link of D2 is used by nothing"),
        ):
            with self.subTest(file=file, new=new):
                self.assertIn(seen, self.told(file, old, new))


if __name__ == "__main__":
    unittest.main()
