"""Imports of these scripts go one way: down the ladder of packages, and within a package in no circle."""

from __future__ import annotations

import ast
import re
import unittest
from pathlib import Path

# A file imports from its own folder and from those that stand before it here. "" is apiary_cli/ itself: main.py.
SCRIPTS = ("base", "night", "verify", "race", "analysis", "report", "verbs", "")

PACKAGE = Path(__file__).resolve().parents[1] / "apiary_cli"

Edges = dict[str, dict[str, int]]  # file -> the files that it imports, each with the line


def read(folder: Path) -> dict[str, str]:
    """Every source below the folder, by its path from there."""
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.py"))}


def folder_of(file: str) -> str:
    return file.rpartition("/")[0]


def named(node: ast.AST, file: str) -> list[list[str]]:
    """What an import of ours names, as the parts of a path: of a module, or of something in one."""
    if isinstance(node, ast.Import):
        names = [alias.name.split(".") for alias in node.names]
        return [parts[1:] for parts in names if parts[0] == PACKAGE.name]
    if not isinstance(node, ast.ImportFrom):
        return []
    words = node.module.split(".") if node.module else []
    if node.level:
        words = file.split("/")[: -node.level] + words
    elif words[0] != PACKAGE.name:
        return []
    else:
        words = words[1:]
    return [[*words, alias.name] for alias in node.names]


def python_imports(sources: dict[str, str]) -> Edges:
    """Those inside functions count: they hide a circle, and break none."""
    edges: Edges = {file: {} for file in sources}
    for file, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            for parts in named(node, file):
                places = ("/".join(parts) + ".py", "/".join(parts[:-1]) + ".py", "/".join([*parts[:-1], "__init__.py"]))
                target = next((place for place in places if place in sources), None)
                if target:
                    edges[file].setdefault(target, node.lineno)
    return edges


def unseen(sources: dict[str, str]) -> list[str]:
    """Imports by importlib are seen by no test. main.py, which nothing imports, may find its verbs so."""
    return [
        f"{file} uses importlib: which files it imports is not to be seen"
        for file, text in sources.items()
        if folder_of(file) and "importlib" in text
    ]


def upwards(edges: Edges, ladder: tuple[str, ...]) -> list[str]:
    """The files that stand on no rung; the imports of one that stands above."""
    rung = {folder: number for number, folder in enumerate(ladder)}
    lost = [f"{file} stands in no folder of the ladder" for file in edges if folder_of(file) not in rung]
    return lost or [
        f"{file}:{line} imports {target}, which stands above it"
        for file, found in edges.items()
        for target, line in found.items()
        if rung[folder_of(target)] > rung[folder_of(file)]
    ]


def circle(edges: Edges) -> list[str]:
    """The imports of one circle, or nothing: a file that imports only files outside of circles is in none."""
    left = set(edges)
    while free := {file for file in left if not left & set(edges[file])}:
        left -= free
    path = [min(left)] if left else []
    while path and path[-1] not in path[:-1]:
        path.append(min(left & set(edges[path[-1]])))
    around = path[path.index(path[-1]) :] if path else []
    return [f"{one}:{edges[one][two]} imports {two}, in a circle" for one, two in zip(around, around[1:])]


def faults(sources: dict[str, str]) -> list[str]:
    edges = python_imports(sources)
    return unseen(sources) + upwards(edges, SCRIPTS) + circle(edges)


class Scripts(unittest.TestCase):
    def test_imports_go_down_the_ladder_and_in_no_circle(self) -> None:
        self.assertEqual(faults(read(PACKAGE)), [])

    def test_the_imports_are_read(self) -> None:
        edges = python_imports(read(PACKAGE))
        self.assertEqual(set(edges["analysis/comparing.py"]), {"base/stats.py", "race/metrics.py", "race/scenarios.py", "race/tables.py"})
        self.assertGreater(sum(map(len, edges.values())), 300)


class Breaks(unittest.TestCase):
    """A small tree in order, and each kind of fault put into it."""

    ORDER = {
        "base/errors.py": "",
        "base/repo.py": "import os\nfrom .errors import Fault\n",
        "verify/checks.py": "from ..base import errors, repo\n",
        "race/plans.py": "from ..base.repo import ROOT\nfrom ..verify import checks\n",
        "main.py": "import importlib\nfrom .race import plans\n",
    }

    def broken(self, file: str, line: str) -> list[str]:
        return faults(self.ORDER | {file: self.ORDER.get(file, "") + line})

    def test_nothing_is_wrong_without_a_fault(self) -> None:
        self.assertEqual(faults(self.ORDER), [])

    def test_an_import_upwards(self) -> None:
        for line in (
            "from ..race import plans\n",
            "from ..race.plans import Plan\n",
            "import apiary_cli.race.plans\n",
            "from apiary_cli.race import plans\n",
            "def late(): from ..race import plans\n",
        ):
            told = self.broken("base/errors.py", line)
            self.assertEqual(told[0], "base/errors.py:1 imports race/plans.py, which stands above it", line)

    def test_a_circle_within_a_package(self) -> None:
        self.assertEqual(self.broken("base/errors.py", "def late(): from . import repo\n"), [
            "base/errors.py:1 imports base/repo.py, in a circle",
            "base/repo.py:2 imports base/errors.py, in a circle",
        ])

    def test_a_file_on_no_rung(self) -> None:
        self.assertEqual(self.broken("helpers/odd.py", ""), ["helpers/odd.py stands in no folder of the ladder"])

    def test_an_import_that_cannot_be_seen(self) -> None:
        (told,) = self.broken("race/plans.py", "import importlib\n")
        self.assertIn("race/plans.py uses importlib", told)


# What every table and every result is drawn by, and what no other file may do by itself. logic_run appends lines to a log, and
# environment hashes what it has found.
OF_ONE_PLACE = {
    r"rich\b.*\btable\b|\|---": ("base/say.py",),
    r"<table|<tr|<td": ("report/templates/sections.html",),
    r"json\.dumps?\b": ("base/environment.py", "base/repo.py", "verify/logic_run.py"),
}


def of_two_places(sources: dict[str, str]) -> list[str]:
    return [f"{file} does what only {' and '.join(homes)} may: {pattern}" for pattern, homes in OF_ONE_PLACE.items()
            for file, text in sources.items() if file not in homes and re.search(pattern, text)]


class OnePlace(unittest.TestCase):
    def test_tables_and_json_are_written_in_one_place(self) -> None:
        templates = PACKAGE / "report" / "templates"
        sources = read(PACKAGE) | {str(path.relative_to(PACKAGE)): path.read_text() for path in templates.glob("*.html")}
        self.assertEqual(of_two_places(sources), [])

    def test_a_second_place_is_seen(self) -> None:
        for text in ("from rich import console, table", 'lines = ["|---|"]', "<div><table class=w>", "print(json.dumps(told))"):
            self.assertEqual(len(of_two_places({"verbs/new.py": text})), 1, text)


if __name__ == "__main__":
    unittest.main()
