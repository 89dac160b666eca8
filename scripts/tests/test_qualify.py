"""qualify: rates of false alarms and of detection, with fake subjects and with made-up rows."""

from __future__ import annotations

import unittest
from unittest import mock

from apiary_cli.base import stats
from apiary_cli.race import tables
from apiary_cli.analysis import comparing, qualification, simulated

from . import points
from .support import TreeCase, apiary


class Simulated(unittest.TestCase):
    def test_equal_programs_are_claimed_to_be_equal_and_rules_without_a_margin_are_caught(self) -> None:
        found = simulated.simulate(6, 0.02, 6)
        self.assertEqual((found.invalid, found.claims), (0, 0))
        self.assertGreater(found.tells, 0.5)
        self.assertEqual(simulated.simulate(6, 0.1, 2).tells, 0.0)
        with mock.patch.object(stats, "margin", return_value=0.0), mock.patch.object(comparing, "rank"):
            self.assertGreater(simulated.simulate(6, 0.02, 6).claims, 0)


class Rates(unittest.TestCase):
    def test_wilson(self) -> None:
        # Worked by hand: 0 of 100 gives 0 to 3.7 %; 5 of 10 gives 23.7 to 76.3 %.
        low, high = qualification.interval(0, 100)
        self.assertEqual((low, round(high, 3)), (0.0, 0.037))
        self.assertEqual(tuple(round(x, 3) for x in qualification.interval(5, 10)), (0.237, 0.763))
        self.assertEqual(qualification.interval(0, 0), (0.0, 1.0))

    def rows(self, values: dict[str, float]) -> list[dict[str, str]]:
        labels = [f"margin{i}" for i in range(2)] + [f"pair{i}{s}" for i in range(qualification.PAIRS) for s in "ab"]
        out = []
        for number in range(1, 9):
            for i, label in enumerate([*labels, *qualification.SLOW]):
                wobble = 1 + 0.002 * ((number * 7 + i * 3) % 5 - 2)
                out.append(
                    dict.fromkeys(tables.ROWS, "")
                    | {
                        "scenario": "post_throughput",
                        "scenario_params": points.POSTS.params_text,
                        "placement": "one_cpu",
                        "ops": "1000",
                        "subject": label,
                        "batch": "1",
                        "round": str(number),
                        "cpu_ns": f"{1000 * values.get(label, 100.0) * wobble:.0f}",
                        "status": "ok",
                    }
                )
        return out

    def test_a_pair_that_differs_is_an_alarm_and_a_slow_copy_is_seen(self) -> None:
        trials = qualification.judge(self.rows({"pair1b": 110.0, "slow10": 110.0}), 1, qualification.points())
        words = {(t.kind, t.verdict) for t in trials}
        self.assertIn(("aa", stats.IMPROVED), words)
        self.assertIn(("slow10", stats.REGRESSED), words)
        self.assertNotIn(("slow5", stats.REGRESSED), words)
        self.assertAlmostEqual(qualification.alarm_rate(trials), 1 / 3)
        self.assertIn("1 of 3", qualification.lines(trials)[0])


class Whole(TreeCase):
    def test_a_quiet_subject_raises_no_alarm(self) -> None:
        self.subjects({"name": "hive", "scenarios": ("post_throughput", "spawn_many_remote_idle")})
        words = ("--no-build", "--batches", "1", "--rounds", "4", "--seed", "5")
        done = apiary(self.root, "qualify", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("equal copies called different: 0 of 6", done.stdout)
        self.assertIn("10 % built in, called REGRESSED: 2 of 2", done.stdout)
        folder = self.result()
        rows = tables.read(folder / "qualify.csv", qualification.COLUMNS)
        self.assertEqual(len(rows), 10)
        self.assertEqual({r["placement"] for r in rows}, {"one_cpu"})
        raced = tables.read(folder / "rows.csv", tables.ROWS)
        self.assertEqual({r["role"] for r in raced}, {"aa", "slow5", "slow10"})

    def test_nothing_to_measure(self) -> None:
        self.assertEqual(apiary(self.root, "qualify", "--batches", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
