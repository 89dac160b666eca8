"""A night in units: what one is, its result, who runs it, in which order, and the page. Nothing is built; commands are fake."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from apiary_cli.base.errors import Fault
from apiary_cli.night.unit import Unit

from . import fakes


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-night-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def program(self, name: str = "one", text: str = "#!/bin/sh\nexit 0\n") -> str:
        fakes.script(self.folder / name, text)
        return str(self.folder / name)


class Identity(Folder):
    def test_all_that_decides_the_result_is_in_its_key_and_nothing_else(self) -> None:
        data = self.folder / "data"
        data.write_text("1")
        one = Unit("stress", "hive seed 1", self.program(), ("--seed", "1", "{data}"), (("data", str(data)),))
        (self.folder / "elsewhere").mkdir()
        for same in (one.with_(limit=1.0), one.with_(memory=0), one.with_(replay="x"), one.with_(program=self.program("elsewhere/one"))):
            self.assertEqual(same.key, one.key)
        others = [one.with_(**change) for change in (dict(kind="soak"), dict(name="b"), dict(words=("--seed", "2")), dict(salt="s"),
                  dict(environment=(("A", "1"),)), dict(reads="verdicts"), dict(program=self.program("elsewhere/one", "#!/bin/sh\nexit 1\n")))]
        before = one.key
        data.write_text("23")
        self.assertEqual(len({before, one.key, *(other.key for other in others)}), 2 + len(others))

    def test_an_unknown_kind_and_a_program_that_is_not_there_are_refused_by_name(self) -> None:
        with self.assertRaisesRegex(Fault, "unit of the kind 'odd'"):
            Unit("odd", "x", "/bin/true")
        with self.assertRaisesRegex(Fault, "/no/program cannot be read"):
            Unit("soak", "x", "/no/program").key

    def test_the_line_that_a_person_pastes(self) -> None:
        unit = Unit("logic", "17", self.program(), ("a b", "{data}", "--json", "{out}"), (("data", self.program("data")),), (("M", "17"),))
        self.assertEqual(unit.line(), f"M=17 {self.folder}/one 'a b' {self.folder}/data --json /dev/null")
        self.assertEqual(unit.with_(replay="scripts/apiary soak hive").line(), "scripts/apiary soak hive")
        self.assertEqual(unit.command("/p", {"data": "/d", "out": "/o"}), ["/p", "a b", "/d", "--json", "/o"])


if __name__ == "__main__":
    unittest.main()
