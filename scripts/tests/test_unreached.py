"""prove --reach: what it says of verdicts that name what was never reached."""

import unittest

from apiary_cli.report import prove_page
from apiary_cli.verify import checks, unreached

SLOT = {"what": "slot", "places": [f"queue.h:{line}:write" for line in range(5)], "would": "a smaller block"}
FREED = {"what": "freed", "places": [], "would": "threads that take out what others put in"}


def verdict(name: str, *never: dict) -> dict:
    return {"name": name, "kind": "check", "engine": "explorer", "verdict": "pass", "as_expected": True, "never": list(never)}


class Unreached(unittest.TestCase):
    def test_each_scenario_has_its_kinds_and_each_kind_its_remedy_once(self) -> None:
        lines = unreached.text([verdict("one", SLOT, FREED), verdict("other", FREED), verdict("third")])
        self.assertEqual(lines, [
            "one never reached",
            "  slot (5): queue.h:0:write, queue.h:1:write, queue.h:2:write, and 2 more",
            "  freed",
            "other never reached",
            "  freed",
            "third never reached: nothing that is looked for",
            "what would reach it",
            "  slot: a smaller block",
            "  freed: threads that take out what others put in",
        ])

    def test_without_a_scenario_it_says_so(self) -> None:
        told = unreached.text([{"name": "deque_check", "kind": "check", "verdict": "pass"}])
        self.assertEqual(told, ["--reach: no scenario of code as it is came through, so that there is nothing to say"])

    def test_the_page_has_a_row_for_each_kind(self) -> None:
        rows = prove_page.unreached_rows([verdict("one", SLOT, FREED)])
        self.assertEqual([[row[0], row[1], row[2], row[4]] for row in rows],
                         [["one", "slot", 5, SLOT["would"]], ["one", "freed", "", FREED["would"]]])
        self.assertIn("queue.h:4:write", str(rows[0][3]))

    def test_programs_of_other_checks_are_not_asked(self) -> None:
        asked = {(kind, is_it): checks.Options(reach=True).asks(checks.Entry("x", kind, ("explorer",), 1, "", None, as_it_is=is_it))
                 for kind in ("check", "exhibit") for is_it in (False, True)}
        self.assertEqual([key for key, words in asked.items() if words], [("check", True)])
        self.assertEqual(asked["check", True], ["--reach", "all"])


if __name__ == "__main__":
    unittest.main()
