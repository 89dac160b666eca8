"""The first figure of `race --quick`: two subjects alone, and what is said when one of them does wrong."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.verbs import race

from . import fakes


class FirstFigure(unittest.TestCase):
    def figure(self, **theirs: object) -> tuple[list[str], str]:
        """What was wrong, and what was said, where tokio is a fake like this."""
        with tempfile.TemporaryDirectory() as name:
            ours = fakes.subject(Path(name) / "subject_hive", "hive", ns=100.0)
            other = fakes.subject(Path(name) / "subject_tokio", "tokio", ns=400.0, **theirs)
            said = io.StringIO()
            with (mock.patch.object(race.building, "build") as build, mock.patch.object(race.repo, "manifest", return_value=[ours]),
                  mock.patch.object(race.building, "build_rust", return_value=[other]) as rust, contextlib.redirect_stdout(said)):
                wrong = race.first_figure(race.parsed("--quick", "--believe", "--seed", "7"))
            build.assert_called_once_with("release", only="subjects", names=("subject_hive",))
            rust.assert_called_once_with("subject_tokio")
        return wrong, said.getvalue()

    def test_two_subjects_are_built_and_compared_and_it_is_called_no_verdict(self) -> None:
        wrong, said = self.figure()
        self.assertEqual(wrong, [])
        self.assertRegex(said, r"hive \d+ ns, tokio \d+ ns: ×0\.2\d* \[0\.\d+, 0\.\d+\], .* at post_throughput")
        self.assertIn("15 pairs of runs, every answer checked, both believed", " ".join(said.split()))
        self.assertIn("No verdict yet", said)

    def test_wrong_work_is_wrong_and_no_figure(self) -> None:
        wrong, said = self.figure(behaviour="says_wrong")
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn("tokio", wrong[0])
        self.assertNotIn("×", said)

    def test_a_subject_that_is_none_is_named(self) -> None:
        wrong, said = self.figure(behaviour="no_version")
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn("subject_tokio", wrong[0])
        self.assertNotIn("×", said)


if __name__ == "__main__":
    unittest.main()
