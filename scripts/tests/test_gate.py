"""check's gate: when it asks whether the hive became slower, and what it makes of the answer."""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from apiary_cli.analysis import comparing
from apiary_cli.base.errors import Fault, gravest
from apiary_cli.race import plans
from apiary_cli.report.page_data import Report
from apiary_cli.verbs import check, compare, race

HEAD, NOBODYS = "1" * 40, "0" * 40


def answer(
    validity: str, regressed: tuple[str, ...] = (), wrong: tuple[str, ...] = (), decided: int = 6, findings: tuple[str, ...] = (),
    undecided: tuple[str, ...] = (),
) -> compare.Gate:
    return compare.Gate(list(regressed), list(wrong), validity, Path("results/x"), asked=6, decided=decided,
                        findings=list(findings), undecided=list(undecided))


class Gate(unittest.TestCase):
    def run_gate(
        self, text: str, differs: str | None, found: compare.Gate | None = None, fresh: str | None = ""
    ) -> tuple[bool, str, int]:
        """Whether it passed, what it said, and how often it raced; impl/ differs in the files `differs`, and has the files
        `fresh` that git does not know yet."""
        known = HEAD if HEAD in text else None

        def git(*words: str) -> str | None:
            return {"diff": differs, "ls-files": fresh, "rev-parse": known}[words[0]]

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "baseline"
            path.write_text(text)
            with (
                mock.patch.object(check, "BASELINE", path),
                mock.patch.object(check.repo, "git", git),
                mock.patch.object(check.compare, "gate", return_value=found) as raced,
            ):
                passed, said = check.run_gate()
        return passed, "\n".join(said), raced.call_count

    def test_the_baseline_of_this_tree_names_a_commit(self) -> None:
        self.assertRegex(check.baseline(), "^[0-9a-f]{40}$")

    def test_it_races_only_where_impl_differs(self) -> None:
        passed, said, raced = self.run_gate(f"{HEAD}\nreason", "")
        self.assertEqual((passed, raced), (True, 0))
        self.assertIn("impl/ is as in", said)
        self.assertEqual(self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID))[2], 1)
        self.assertEqual(self.run_gate(HEAD, "", answer(comparing.VALID), fresh="impl/new.hpp")[2], 1)

    def test_a_git_that_fails_is_no_sameness(self) -> None:
        self.assertEqual(self.run_gate(HEAD, None, answer(comparing.VALID))[2], 1)
        self.assertEqual(self.run_gate(HEAD, "", answer(comparing.VALID), fresh=None)[2], 1)

    def test_points_without_a_pair_fail(self) -> None:
        for decided in (0, 5):
            passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID, decided=decided))
            self.assertFalse(passed)
            self.assertIn(f"{decided} of 6 points", said)

    def test_a_clone_without_that_commit_says_so(self) -> None:
        passed, said, raced = self.run_gate(NOBODYS, "impl/x.hpp")
        self.assertEqual((passed, raced), (True, 0))
        self.assertIn("no commit 0000000", said)

    def test_a_regression_fails_and_is_named(self) -> None:
        passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID, ("successor ×1.2",)))
        self.assertFalse(passed)
        self.assertIn("REGRESSED: successor ×1.2", said)
        passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID, ("successor ×1.2",)))
        self.assertFalse(passed)

    def test_an_invalid_batch_is_a_warning_that_still_names_what_it_saw(self) -> None:
        passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.INVALID, ("successor ×1.2",)))
        self.assertTrue(passed)
        self.assertIn("warning", said)
        self.assertIn("successor ×1.2", said)

    def test_a_red_finding_fails(self) -> None:
        passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID, findings=("FINDING: two modes",)))
        self.assertFalse(passed)
        self.assertIn("FINDING: two modes", said)

    def test_what_is_undecided_is_named(self) -> None:
        passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(comparing.VALID, undecided=("yield_many ×1.18",)))
        self.assertTrue(passed)
        self.assertIn("UNDECIDED: yield_many ×1.18", said)

    def test_a_point_that_the_new_one_lost(self) -> None:
        rows = [{"scenario": name, "scenario_params": "", "placement": "one_cpu", "role": role, "status": "ok"}
                for name, role in (("fib", "baseline"), ("fib", "candidate"), ("yield_many", "baseline"))]
        self.assertEqual(compare.lost(rows), ["NEW has no figure in yield_many one_cpu, and OLD has"])

    def test_wrong_work_fails_whatever_the_controls_say(self) -> None:
        for validity in (comparing.VALID, comparing.INVALID):
            self.assertFalse(self.run_gate(HEAD, "impl/x.hpp", answer(validity, (), ("a task was lost",)))[0], validity)

    def test_a_red_finding_fails_where_the_batch_is_valid_and_is_told_where_it_is_not(self) -> None:
        """What makes a batch INVALID may have made the finding, too."""
        finding = "FINDING: the slow-down made it faster"
        for validity, may_pass in ((comparing.VALID, False), (comparing.INVALID, True)):
            passed, said, _ = self.run_gate(HEAD, "impl/x.hpp", answer(validity, findings=(finding,)))
            self.assertEqual(passed, may_pass, validity)
            self.assertIn(finding, said)
            self.assertEqual("warning" in said, may_pass)

    def test_a_lost_point_is_wrong_in_the_gate_as_in_compare(self) -> None:
        """A free point does not gate, so the count of decided points does not tell."""
        rows = [{"scenario": "fib", "scenario_params": "", "placement": "free", "role": role, "subject": name, "status": status}
                for name, role, status in (("hive-base", "baseline", "ok"), ("hive", "candidate", "unsupported"))]
        read = Report(Path("x"), {}, rows, [])
        outcome = race.Outcome(Path("x"), 0, read)
        with (mock.patch.multiple(compare, builds=lambda _: (None, None), tell=lambda *_: read), mock.patch.object(race, "perform", return_value=outcome)):
            self.assertEqual(compare.gate("HEAD", ".").wrong, ["NEW has no figure in fib, and OLD has"])

    def test_a_file_that_names_no_commit_is_refused(self) -> None:
        for text in ("", "main\n", "123abc"):
            with self.subTest(text), self.assertRaises(Fault):
                self.run_gate(text, "impl/x.hpp")


class ExitCodes(unittest.TestCase):
    """One rule for `race --baseline`, `compare` and the gate."""

    def code(self, validity: str, plan: str = "gate", slower: bool = True, status: str = "ok", wrong: tuple[str, ...] = ()) -> int:
        with (
            mock.patch.object(comparing, "validity", return_value=comparing.Validity(validity, (), (), ())),
            mock.patch.object(comparing, "regressions", return_value=["one"] if slower else []),
        ):
            return race.exit_code(plans.plan(plan), [{"subject": "hive", "status": status}], [], list(wrong))

    def test_a_regression_counts_where_the_batch_is_not_invalid(self) -> None:
        for validity in (comparing.VALID, comparing.NONE):
            self.assertEqual([self.code(validity, plan) for plan in ("gate", "quick")], [1, 1])
            self.assertEqual(self.code(validity, slower=False), 0)
        self.assertEqual(self.code(comparing.INVALID), 4)
        self.assertEqual(self.code(comparing.INVALID, "quick"), 4, "it asked, and got no answer")
        self.assertEqual(self.code(comparing.INVALID, "quick", slower=False), 0, "a warning")

    def test_wrong_work_is_red_whatever_the_controls_say(self) -> None:
        self.assertEqual(self.code(comparing.INVALID, status="wrong"), 1)
        self.assertEqual(self.code(comparing.INVALID, wrong=("a subject was refused",)), 1)
        self.assertEqual(self.code(comparing.INVALID, slower=False, status="unsupported"), 3, "nothing ran")

    def test_over_several_batches_red_wins(self) -> None:
        self.assertEqual([gravest(codes) for codes in ([0, 4], [4, 1, 0], [4, 3], [3, 1], [0, 0])], [4, 1, 3, 1, 0])
        parser = argparse.ArgumentParser()
        compare.arguments(parser)
        with (
            mock.patch.multiple(compare, setup=mock.DEFAULT, tell=lambda *_: SimpleNamespace(rows=[]), builds=lambda _: (None, None), verdicts_of=lambda _: []),
            mock.patch.object(race, "perform", side_effect=[race.Outcome(Path("x"), code) for code in (4, 1)]),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            self.assertEqual(compare.run(parser.parse_args(["HEAD", ".", "--repeat", "2"])), 1)


if __name__ == "__main__":
    unittest.main()
