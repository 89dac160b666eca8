"""The examples of header cards: what is one, and that a test must include every one."""

from __future__ import annotations

import contextlib
import io
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

sys.path.insert(0, str(REAL_ROOT / "scripts" / "cmake"))
import card_examples  # noqa: E402

CARD = """\
// a: a thing.
//
//     f(…);
//     { … }
//
//     int g();
//
//   f   no example
//
// Threads. Any, but for those
//     that hang behind a word.
#pragma once
//
//     no_card();
"""


class Cards(unittest.TestCase):
    def run_on(self, included: str) -> tuple[int, str, dict[str, str]]:
        with TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "room").mkdir()
            (root / "room" / "a.hpp").write_text(CARD)
            (root / "test.cpp").write_text(included)
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                rc = card_examples.main(root / "out", root / "out" / "made.d", root / "test.cpp", root / "room")
            made = {str(path.relative_to(root / "out")): path.read_text() for path in (root / "out").rglob("*.inc")}
            self.assertEqual((root / "out" / "made").exists(), rc == 0)
            self.assertIn(str(root / "room" / "a.hpp"), (root / "out" / "made.d").read_text())
            return rc, said.getvalue(), made

    def test_every_paragraph_of_a_card_is_an_example(self) -> None:
        rc, said, made = self.run_on('#include "room/a.1.inc"\n#include "room/a.2.inc"\n')
        self.assertEqual((rc, said), (0, ""))
        self.assertEqual([text.split("\n", 2)[2] for _, text in sorted(made.items())], ["f(;);\n{ ; }\n", "int g();\n"])
        self.assertRegex(made["room/a.2.inc"], r'#line 6 ".*a\.hpp"')

    def test_one_that_no_test_includes_is_named_and_so_is_one_that_no_card_has(self) -> None:
        rc, said, _ = self.run_on('#include "room/a.1.inc"\n#include "room/b.1.inc"\n')
        self.assertEqual(rc, 1)
        self.assertRegex(said, r"no test includes the example room/a\.2\.inc")
        self.assertRegex(said, r"no card has the example room/b\.1\.inc")


if __name__ == "__main__":
    unittest.main()
