"""Laws are asked, never broken by hand: a bare fail is not counted, and a check that has nothing else looks like one that
asks nothing."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

from apiary_cli.verify import inventory

from .support import REAL_ROOT

FAIL = re.compile(r"\bSync::fail\s*\(")
# The engines' own parts and tests: they are below the façade.
BELOW = ("model_check/apiary/model_check/explorer/", "model_check/apiary/model_check/relacy/")


def bare_fails(text: str) -> list[int]:
    """The lines of a source that call Sync::fail outside a comment or a literal."""
    code = inventory.blanked(text)
    return [code.count("\n", 0, found.start()) + 1 for found in FAIL.finditer(code)]


def sources(root: Path) -> list[Path]:
    """What holds laws: the checks, the stresses, the ledgers."""
    found = [path for folder in ("model_check", "stress", "impl/apiary/contract") for path in (root / folder).rglob("*.?pp")]
    return [path for path in sorted(found) if not str(path.relative_to(root)).startswith(BELOW)]


class Laws(unittest.TestCase):
    def test_no_check_fails_by_hand(self) -> None:
        seen = [f"{path.relative_to(REAL_ROOT)}:{line}" for path in sources(REAL_ROOT) for line in bare_fails(path.read_text())]
        self.assertEqual(seen, [], 'ask it in place of failing: Sync::law(condition, "what is wrong without it")')

    def test_the_lint_reads_the_checks(self) -> None:
        read = {str(path.relative_to(REAL_ROOT)) for path in sources(REAL_ROOT)}
        self.assertLessEqual({"model_check/queues/chase_lev_deque_check.cpp", "model_check/museum/sleep_scenario.hpp",
                              "model_check/outside_example/index_stack_check.cpp", "impl/apiary/contract/laws.hpp",
                              "model_check/apiary/model_check/selftest/misbehaving.cpp"}, read)

    def test_a_bare_fail_is_seen(self) -> None:
        text = 'void after() {\n    // Sync::fail("no")\n    Sync::law(n == 1, "Sync::fail(no)");\n    if (n != 1) Sync::fail("yes");\n}\n'
        self.assertEqual(bare_fails(text), [4])


if __name__ == "__main__":
    unittest.main()
