"""The comparison of machine code (bench/probes/compare_codegen.py): what of an instruction counts."""

from __future__ import annotations

import sys
import unittest

from .support import REAL_ROOT

sys.path.insert(0, str(REAL_ROOT / "bench" / "probes"))
import compare_codegen


def read(text: str) -> str:
    function = compare_codegen.Function()
    function.add(0, text)
    return function.lines[0][1]


class Instructions(unittest.TestCase):
    def test_an_immediate_counts_and_a_comment_does_not(self) -> None:
        self.assertEqual(read("tbz\tx0, #3, 20 <f+0x20>"), "tbz x0, #3, 20 <f+0x20>")
        self.assertEqual(read("b.eq\td4 <f+0x34>  // b.none"), "b.eq d4 <f+0x34>")
        self.assertEqual(read("lea    0x0(%rip),%rax        # 7 <f+0x7>"), "lea 0x0(%rip),%rax")


if __name__ == "__main__":
    unittest.main()
