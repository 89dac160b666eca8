"""tune: which settings run, when one is better everywhere, and that the best of many must be so twice."""

from __future__ import annotations

import unittest

from apiary_cli.base import stats
from apiary_cli.base.errors import Fault
from apiary_cli.race import tables
from apiary_cli.race.subjects import Tunable
from apiary_cli.analysis import comparing
from apiary_cli.analysis.comparing import Comparison, Pairing
from apiary_cli.verbs import against_defaults, tune

from . import points
from .support import TreeCase, apiary

KNOWN = {one.name: one for one in (Tunable("batch", 16, 1, 64), Tunable("rounds", 2, 1, 1000))}


class Settings(unittest.TestCase):
    def labels(self, *texts: str, cross: bool = False) -> list[str]:
        return [against_defaults.label(one) for one in tune.settings(KNOWN, list(texts), cross)]

    def test_each_number_alone_within_its_range_and_never_the_default(self) -> None:
        self.assertEqual(self.labels(), ["batch=4", "batch=8", "batch=32", "batch=64", *(f"rounds={n}" for n in (1, 4, 8))])

    def test_what_is_set_and_every_combination_of_it(self) -> None:
        self.assertEqual(self.labels("batch=16,32", "rounds=4"), ["batch=32", "rounds=4"])
        crossed = self.labels("batch=16,32", "rounds=2,4", cross=True)
        self.assertEqual(crossed, ["rounds=4", "batch=32", "batch=32 rounds=4"])

    def test_a_bad_setting_is_refused_with_the_remedy(self) -> None:
        for texts, seen in ((["batsh=1"], "did you mean 'batch'?"), (["batch=65"], "from 1 to 64"),
                            (["batch=0"], "from 1"), (["batch"], "from 1"), (["batch=1,x"], "'x'"), (["batch=16"], "are the defaults")):
            with self.subTest(texts=texts), self.assertRaises(Fault) as caught:
                tune.settings(KNOWN, texts, cross=False)
            self.assertIn(seen, caught.exception.text())
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(Fault):
            tune.settings(KNOWN, [], cross=True)


def found(setting: str, verdict: str, kind: str = "baseline", flags: tuple[str, ...] = ()) -> Comparison:
    point = points.throughput(1)
    key, pairing = ("post_throughput", point.params_text, "free"), Pairing(setting, "hive", kind)
    one = Comparison(key, point.scenario.metrics[0], pairing,
                     stats.estimate([(90.0 + i / 10, 100.0) for i in range(8)]), [])
    one.verdict, one.flags = verdict, list(flags)
    return one


class Advice(unittest.TestCase):
    valid = comparing.Validity(comparing.VALID, (), (), ())

    def words(self, *verdicts: str) -> str:
        (one,) = tune.standings([found("a=1", verdict) for verdict in verdicts])
        return one.word

    def test_better_everywhere_is_improved_once_and_nowhere_in_doubt(self) -> None:
        self.assertEqual(self.words(stats.IMPROVED, stats.EQUIVALENT), tune.BETTER)
        self.assertEqual(self.words(stats.IMPROVED, stats.INCONCLUSIVE), tune.UNCLEAR)
        self.assertEqual(self.words(stats.IMPROVED, stats.REGRESSED), tune.WORSE)
        self.assertEqual(self.words(stats.EQUIVALENT, stats.INCONCLUSIVE), tune.SAME)

    def test_what_the_injector_limited_and_the_controls_decide_nothing(self) -> None:
        some = [found("a=1", stats.IMPROVED), found("a=1", stats.INCONCLUSIVE, flags=("not_ranked",)),
                found("hive-slow10", stats.REGRESSED, "slow10")]
        self.assertEqual([(s.setting, s.word) for s in tune.standings(some)], [("a=1", tune.BETTER)])

    def test_the_best_of_many_must_be_so_twice(self) -> None:
        yes, no = tune.standings([found("a=1", stats.IMPROVED)]), tune.standings([found("a=1", stats.EQUIVALENT)])
        self.assertIn("keep the defaults: of 1 settings none", tune.advice(no, None, self.valid))
        self.assertIn("keep the defaults for now", tune.advice(yes, None, self.valid))
        self.assertIn("did not hold in a second batch", tune.advice(yes, no, self.valid))
        self.assertEqual(tune.advice(yes, yes, self.valid), "better everywhere, in two batches: a=1")
        invalid = comparing.Validity(comparing.INVALID, ("A/A differs",), (), ())
        self.assertIn("keep the defaults: the controls", tune.advice(yes, yes, invalid))


class Whole(TreeCase):
    def tune(self, *words: str, **subject):
        usual = {"name": "hive", "scenarios": ("post_throughput",), "tunables": ("batch 16 1 64", "rounds 2 1 9")}
        self.subjects(usual | subject)
        usual_words = ("--no-build", "--rounds", "8", "--seed", "3", "--scenario", "post_throughput")
        return apiary(self.root, "tune", *usual_words, *words)

    def test_a_better_setting_is_found_and_confirmed(self) -> None:
        done = self.tune("--set", "batch=8,32", "--set", "rounds=4", tuned={"batch=32": 0.7, "rounds=4": 1.3})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for words in ("better everywhere, in two batches: batch=32", "rounds=4: worse somewhere", "batch=8: no better"):
            self.assertIn(words, done.stdout)
        rows = tables.read(self.result() / "tune.csv", tune.COLUMNS)
        settings = {row["setting"] for row in rows if row["batch"] == "1"}
        self.assertEqual(settings, {"batch=8", "batch=32", "rounds=4", "hive-aa", "hive-slow10"})
        again = {row["setting"] for row in rows if row["batch"] == "2"}
        self.assertEqual(again, {"batch=32", "hive-aa", "hive-slow10"}, "only what must be confirmed")
        raced = tables.read(self.result() / "rows.csv", tables.ROWS)
        self.assertTrue(all(row["p_bh"] for row in rows if row["setting"] not in ("hive-aa", "hive-slow10")))
        self.assertEqual({row["role"] for row in raced}, {"baseline", "aa", "slow10", "candidate"})
        self.assertIn("×0.7", (self.result() / "summary.md").read_text())

    def test_equal_settings_leave_the_defaults(self) -> None:
        done = self.tune()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("keep the defaults: of 7 settings none is better everywhere", done.stdout)

    def test_wrong_work_and_a_subject_without_numbers(self) -> None:
        self.assertEqual(self.tune("--set", "batch=8", behaviour="wrong_check").returncode, 1)
        done = self.tune(tunables=())
        self.assertEqual(done.returncode, 2)
        self.assertIn("hive has nothing to tune", done.stderr)
        self.assertEqual(self.tune("--rounds", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
