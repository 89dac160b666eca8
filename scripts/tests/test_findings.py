"""Findings: two modes, a control on the wrong side of 1, and those that are expected."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import random
import types
import unittest
from typing import Callable
from unittest import mock

from apiary_cli.base import stats
from apiary_cli.base.errors import Fault
from apiary_cli.race import metrics, plans, scenarios, sharpening
from apiary_cli.analysis import comparing, findings, summary, verdict
from apiary_cli.report import page_sections, page_summary, splice
from apiary_cli.report.junit import Part
from apiary_cli.verbs import nightly, race

from . import points
from .support import TreeCase
from .test_report_curves import report, row

# The burst on one processor, hive and its copy, 30 runs each: ns of processor time per task, in the order of rounds.
BURST = [
    [66, 64, 311, 71, 63, 72, 64, 410, 71, 65, 131, 67, 290, 62, 71, 469, 64, 68, 73, 95, 320, 66, 70, 71, 78, 324, 69, 71, 79, 64],
    [71, 66, 62, 279, 69, 63, 84, 65, 54, 72, 70, 112, 63, 71, 472, 67, 69, 62, 92, 66, 83, 64, 72, 79, 63, 74, 70, 71, 69, 72],
]
POINT = ("post_throughput", points.POSTS.params_text, "one_cpu")


def shapes(pick: random.Random) -> dict:
    """Noise of one mode, as a factor, from thin tails to none that have a mean."""
    def student(k: int):
        return lambda s: math.exp(max(-40, min(40, s * pick.gauss(0, 1) / math.sqrt(
            sum(pick.gauss(0, 1) ** 2 for _ in range(k)) / k))))
    return {
        "normal": lambda s: math.exp(pick.gauss(0, s)),
        "uniform": lambda s: math.exp(3.4 * s * pick.random()),
        "exponential": lambda s: math.exp(pick.expovariate(1 / s)),
        "t3": student(3), "t2": student(2), "cauchy": student(1),
        "a tenth five times as wide": lambda s: math.exp(pick.gauss(0, s if pick.random() > 0.1 else 5 * s)),
    }


class Modes(unittest.TestCase):
    def test_the_burst_has_two(self) -> None:
        low, high = stats.two_modes([list(map(float, arm)) for arm in BURST])
        self.assertEqual((len(low), len(high)), (52, 8))
        self.assertAlmostEqual(max(low), 131)
        self.assertAlmostEqual(min(high), 279)

    def test_noise_of_one_mode_is_no_finding(self) -> None:
        """METHODOLOGY's table: at most 3 in 100 whatever the tails, and none at the noise of a pinned point."""
        pick = random.Random(11)
        for name, noise in shapes(pick).items():
            for runs, spread, most in ((20, 0.03, 0), (30, 0.03, 0), (20, 0.2, 6), (30, 0.2, 3)):
                alarms = sum(
                    bool(stats.two_modes([[noise(spread) for _ in range(runs)] for _ in range(2)])) for _ in range(200)
                )
                heavy = 3 if name == "cauchy" else 0
                with self.subTest(name, runs=2 * runs, spread=spread):
                    self.assertLessEqual(alarms, most + heavy)

    def test_a_mode_of_a_fifth_is_found(self) -> None:
        pick = random.Random(5)

        def one() -> float:
            return 320 * math.exp(pick.gauss(0, 0.2)) if pick.random() < 0.2 else 68 * math.exp(pick.gauss(0, 0.1))

        found = sum(bool(stats.two_modes([[one() for _ in range(30)] for _ in range(2)])) for _ in range(200))
        self.assertGreater(found, 180)

    def test_what_is_none(self) -> None:
        two = [100.0, 100.0, 100.0, 400.0] * 5
        self.assertTrue(stats.two_modes([two]))
        self.assertIsNone(stats.two_modes([two[:16]]), "too few")
        self.assertIsNone(stats.two_modes([sorted(two)]), "slow for a while: the machine, not the program")
        self.assertIsNone(stats.two_modes([[100.0, 100.0, 100.0, 140.0] * 5]), "less than x1.5 apart")
        self.assertIsNone(stats.two_modes([[*[100.0, 100.0, 100.0, 100.0, 100.0, 400.0] * 3, 100.0, 100.0]]), "three are outliers")


class Sharper(unittest.TestCase):
    def test_a_batch_gets_more_rounds_where_its_own_pair_is_too_wide_to_tell_a_tenth(self) -> None:
        point = types.SimpleNamespace(key=("fib", "n=1", "free"), metric=types.SimpleNamespace(value=lambda one: float(one["ns"])))
        rows = [{"subject": name, "role": role, "status": "ok", "batch": batch, "round": str(n), "ns": str(100.0 + wide * (n % 2) * (role == "aa")),
                 "scenario": "fib", "scenario_params": "n=1", "placement": "free"}
                for batch, wide in (("1", 60.0), ("2", 1.0)) for n in range(8) for name, role in (("hive", "candidate"), ("hive-aa", "aa"))]
        self.assertEqual([sharpening.blunt(rows, [point], batch) for batch in (1, 2)], [[point], []])
        self.assertEqual(sharpening.blunt(rows[:8], [point], 1), [], "too few pairs to say")


def raced(arms: list[list[float]], slow: list[float] | None = None) -> list[dict[str, str]]:
    """Rows of hive, its copy and perhaps its slow-down at the burst."""
    roles = (("hive", "candidate"), ("hive-aa", "aa"), ("hive-slow10", "slow10"))
    return [
        row(name, *POINT[:2], n, placement="one_cpu", role=role, cpu_ns=str(round(2048 * ns)), ops="2048")
        for (name, role), values in zip(roles, [*arms, slow or []])
        for n, ns in enumerate(values, 1)
    ]


def judged(rows: list[dict[str, str]], *listed: str) -> list[findings.Finding]:
    known = [dict(zip(findings.COLUMNS, (*POINT, "hive", kind, "known"))) for kind in listed]
    return findings.judged(rows, comparing.compare(rows), known)


STEADY = [[70.0, 71.0, 72.0] * 10] * 2


class Judged(unittest.TestCase):
    def test_two_modes_are_red_and_stand_where_they_are_expected(self) -> None:
        (one,) = judged(raced(BURST))
        self.assertEqual((one.kind, one.level, one.red), (findings.TWO_MODES, findings.RED, True))
        self.assertIn("8 of 60 runs take 279 ns to 472 ns", one.text)
        (one,) = judged(raced(BURST), findings.TWO_MODES)
        self.assertEqual((one.level, one.red), (findings.EXPECTED, False))
        self.assertIn("known", one.line)

    def test_rounds_in_which_the_copy_is_slow_too_are_the_machines(self) -> None:
        slow = {3, 11, 14, 22, 25, 28}
        arms = [[value * (2.0 if n in slow else 1.0) for n, value in enumerate(arm)] for arm in STEADY]
        self.assertTrue(stats.two_modes(arms))
        self.assertEqual(judged(raced(arms)), [])
        self.assertTrue(judged(raced([arms[0], STEADY[1]])), "one of the two alone")

    def test_a_control_on_the_wrong_side(self) -> None:
        (one,) = judged(raced(STEADY, [60.0, 61.0, 62.0] * 10))
        self.assertEqual((one.kind, one.subject, one.red), (findings.WRONG_SIDE, "hive", True))
        self.assertEqual(judged(raced(STEADY, [77.0, 78.0, 79.0] * 10)), [])
        self.assertEqual(judged(raced(STEADY, [69.5, 70.5, 71.5] * 10)), [], "within 3 % of 1 it only is not seen")

    def test_an_expected_one_that_is_gone_is_red(self) -> None:
        both = judged(raced(STEADY, [77.0, 78.0, 79.0] * 10), *findings.KINDS)
        self.assertEqual([(one.kind, one.level, one.red) for one in both],
                         [(kind, findings.GONE, True) for kind in findings.KINDS])

    def test_a_batch_that_could_not_have_shown_it_says_nothing(self) -> None:
        self.assertEqual(judged(raced([arm[:9] for arm in STEADY]), *findings.KINDS), [], "too few runs, no control")
        traced = [[*STEADY[0][:-1], 300.0], STEADY[1]]
        self.assertEqual(judged(raced(traced), findings.TWO_MODES), [], "a trace is left")
        elsewhere = [r | {"scenario": "successor", "scenario_params": ""} for r in raced(STEADY)]
        self.assertEqual(judged(elsewhere, *findings.KINDS), [], "the point was not raced")

    def test_a_peer_and_a_free_point_may_have_as_many_as_they_like(self) -> None:
        self.assertEqual(judged([r | {"role": "peer"} for r in raced(BURST)]), [])
        self.assertEqual(judged([r | {"placement": "free", "ns_per_op": r["cpu_ns"]} for r in raced(BURST)]), [])

    def test_the_batches_are_judged_by_themselves(self) -> None:
        second = [r | {"batch": "2", "cpu_ns": str(4 * int(r["cpu_ns"]))}
                  for r in raced(STEADY)]
        self.assertEqual(judged(raced(STEADY) + second), [], "a slower hour is no mode")

    def test_two_batches_must_show_them(self) -> None:
        second = [[r | {"batch": "2"} for r in raced(arms)] for arms in (BURST, STEADY)]
        self.assertEqual([one.kind for one in judged(raced(BURST) + second[0])], [findings.TWO_MODES])
        self.assertEqual(judged(raced(BURST) + second[1]), [], "one of two: the machine's, and the second denies it")
        few = [r | {"batch": "2"} for r in raced([arm[:9] for arm in STEADY])]
        self.assertTrue(judged(raced(BURST) + few), "a batch that cannot tell denies nothing")

    def test_what_the_earlier_build_shows_too_is_the_machines(self) -> None:
        def beside(values: list[float]) -> list[dict[str, str]]:
            return [r | {"subject": "hive-base", "role": "baseline"} for r in raced([values, []])]

        self.assertEqual(judged(raced(BURST) + beside(BURST[0])), [])
        self.assertEqual([one.kind for one in judged(raced(BURST) + beside(STEADY[0]))], [findings.TWO_MODES])
        self.assertTrue(judged(raced(BURST) + beside([*STEADY[0][1:], 400.0])), "one run is no mode")
        often = [value * 5 if n % 2 else value for n, value in enumerate(STEADY[0])]
        self.assertTrue(judged(raced([often, often[1:]]) + beside([*STEADY[0][3:], 360.0, 361.0, 362.0])), "it has become frequent")
        self.assertTrue(judged(raced(BURST) + beside([9 * ns for ns in STEADY[0]])), "all of them beyond the gap are none")

    def test_a_race_measures_them_twice(self) -> None:
        def asked(plan: str, arms: list[list[float]]) -> list[str]:
            return race.doubts(mock.Mock(rows=raced(arms), plan=plans.plan(plan)), [])

        self.assertIn("two modes", *asked("gate", BURST))
        self.assertEqual(asked("gate", STEADY), [])
        self.assertIn("two modes", *asked("quick", BURST))

    def test_a_race_that_goes_on_in_its_second_batch_ends_it(self) -> None:
        begun = mock.Mock(rows=raced(STEADY), plan=plans.plan("gate"), rounds_done={1: 10, 2: 1}, deadline=None)
        with (
            mock.patch.object(race.rounds, "run_batch") as ran, mock.patch.object(race.rounds, "runs_of"),
            mock.patch.object(race.eta, "Eta", return_value=mock.Mock(left=lambda: 0.0)),
            contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()),
        ):
            race.run_rounds(begun, [])
        self.assertEqual([call.args[1] for call in ran.call_args_list], [1, 2])

    def test_what_was_expected_when_it_was_raced_counts(self) -> None:
        rows = raced(BURST)
        env = {"race": {"expected_findings": [dict(zip(findings.COLUMNS, (*POINT, "hive", findings.TWO_MODES, "then")))]}}
        self.assertEqual([one.level for one in findings.of(env, rows, comparing.compare(rows))], [findings.EXPECTED])
        env["race"]["expected_findings"] = []
        self.assertEqual([one.level for one in findings.of(env, rows, comparing.compare(rows))], [findings.RED])

    def test_they_stand_first_wherever_a_batch_is_told(self) -> None:
        rows = raced(BURST)
        env = {"run_id": "r", "env_id": "e", "race": {"rounds": 30, "rounds_of_batches": [30], "expected_findings": []}}
        made = report(rows)
        made.env, made.findings = env, findings.of(env, rows, comparing.compare(rows))
        made.validity = comparing.validity(made.comparisons)
        text = page_summary.markdown(made)
        self.assertLess(text.index("FINDING: hive in post_throughput"), text.index("## Against each peer"))
        self.assertIn('class="word bad">FINDING: hive', page_sections.findings(made))
        found = verdict.of(env, rows, comparing.compare(rows))
        self.assertFalse(found.published)
        self.assertIn("two modes", found.bars[0])


class OneVerdict(unittest.TestCase):
    """A batch that its controls bear is VALID, and is published only in ten rounds and without a red finding."""

    def word(self, rows: list[dict[str, str]], *done: int) -> tuple[bool, str]:
        env = {"race": {"rounds_of_batches": list(done), "expected_findings": []}}
        found = verdict.of(env, rows, comparing.compare(rows))
        self.assertEqual(found.word, comparing.VALID)
        return found.published, verdict.why(found)

    def test_rounds_and_findings_count(self) -> None:
        good = raced(STEADY, [77.0, 78.0, 79.0] * 10)
        self.assertEqual(self.word(good, 10, 10), (True, "The controls did what they must."))
        self.assertEqual(self.word(good, 10, 9),
                         (False, "Not for publication: a batch has 9 rounds, 10 are the least that is published."))
        rival = [r | {"subject": "tokio", "role": "peer", "cpu_ns": str(2 * int(r["cpu_ns"]))} for r in raced([STEADY[0], []])]
        self.assertEqual(self.word(good + rival, 10), (True, "Tells 10 % at 1 of 1 points, 5 % at 1."))
        modes = raced([*BURST[:1], BURST[0][::-1]], [1.4 * ns for ns in BURST[0]])
        self.assertIn("two modes", self.word(modes, 30)[1])
        self.assertFalse(self.word(modes, 30)[0])

    def test_the_setting_of_a_sweep_has_no_findings(self) -> None:
        rows = [r | {"subject": r["subject"].replace("hive", "naps=0")} for r in raced(BURST)]
        self.assertEqual(judged(rows), [])

    def test_each_batch_of_a_sweep_is_judged_by_itself(self) -> None:
        good = raced(STEADY, [77.0, 78.0, 79.0] * 10)
        bad = [r | {"batch": "2"} for r in raced([STEADY[0], [100.0, 101.0] * 15], [77.0, 78.0, 79.0] * 10)]
        few = verdict.of_sweep({"race": {"rounds": 9, "expected_findings": []}}, good)[0]
        found = verdict.of_sweep({"race": {"rounds": 30, "expected_findings": []}}, good + bad)
        self.assertEqual(verdict.poorest([found[0], few]), few, "what is not published stands for both")
        self.assertEqual([one.word for one in found], [comparing.VALID, comparing.INVALID])
        self.assertEqual(verdict.poorest(found), found[1])


class OneDefinition(unittest.TestCase):
    def slow(self, low: float, high: float) -> comparing.Comparison:
        found = stats.Estimate(20, math.log(math.sqrt(low * high)), math.log(low), math.log(high))
        return comparing.Comparison(POINT, metrics.PROCESSOR, comparing.Pairing("hive-slow10", "hive", "slow10"), found, [])

    def test_seen_is_an_interval_above_1_everywhere(self) -> None:
        called, seen, missed = self.slow(1.08, 1.12), self.slow(1.02, 1.18), self.slow(0.98, 1.2)
        aa = comparing.Comparison(POINT, metrics.PROCESSOR, comparing.Pairing("hive-aa", "hive", "aa"),
                                  stats.Estimate(20, 0.0, -0.03, 0.03), [])
        every = comparing.with_verdicts([aa, called, seen]) + [missed]
        self.assertEqual(list(map(comparing.seen, every)), [False, True, True, False])
        self.assertEqual(list(map(comparing.unseen, every)), [False, False, False, True])
        words = "seen at 2 of 3 points, called REGRESSED at 1"
        made = report([])
        made.comparisons, made.validity = every, comparing.validity(every)
        for where, text in (
            ("page", page_sections.controls(made)),
            ("splice", splice.controls(every)),
            ("summary", "\n".join(summary.control_lines(made.validity))),
        ):
            self.assertIn(words, text, where)
        self.assertIn("is not seen at 1 of 3 points", " ".join(made.validity.reasons))


class Resolution(unittest.TestCase):
    """What each point could have told: by its own pair, and by its own slow-down."""

    def raced(self, copy: list[float], slow: list[float], rival: float = 1.0) -> list[comparing.Comparison]:
        rows = raced([STEADY[0], copy], slow)
        rows += [r | {"subject": "tokio", "role": "peer", "cpu_ns": str(round(rival * int(r["cpu_ns"])))} for r in raced([copy, []])]
        return comparing.compare(rows)

    def test_of_a_quiet_point_it_is_the_least_margin_and_its_noise(self) -> None:
        (one,) = (one for one in self.raced(STEADY[1], [77.0, 78.0, 79.0] * 10) if one.claim)
        self.assertAlmostEqual(one.resolution, 0.03, delta=0.005)
        self.assertFalse(one.coarse)

    def test_a_noisy_copy_cannot_tell_a_tenth_and_what_is_larger_it_tells(self) -> None:
        noisy = [ns * (1.3 if n % 2 else 1 / 1.3) for n, ns in enumerate(STEADY[1])]
        found = self.raced(noisy, [77.0, 78.0, 79.0] * 10)
        (one,) = (one for one in found if one.claim)
        self.assertGreater(one.resolution, 0.25)
        self.assertTrue(one.coarse)
        self.assertEqual(comparing.validity(found).tells, "tells 10 % at 0 of 1 points, 5 % at 0")
        self.assertIn("**Cannot tell 10 %**", "\n".join(summary.comparison_table(found)))
        (one,) = (one for one in self.raced(noisy, [77.0, 78.0, 79.0] * 10, rival=4.0) if one.claim)
        self.assertEqual((one.verdict, one.coarse), (stats.IMPROVED, False))

    def test_a_slow_down_that_is_not_told_widens_it(self) -> None:
        quiet, loud = stats.Estimate(20, 0.0, -0.01, 0.01), stats.Estimate(20, 0.1, -0.02, 0.22)
        self.assertAlmostEqual(math.log1p(stats.resolution(0.03, quiet, None)), math.log1p(0.03) + 0.01)
        self.assertAlmostEqual(math.log1p(stats.resolution(0.03, quiet, loud)), 0.22, msg="it may have been as large as that")
        told = stats.Estimate(20, 0.1, 0.08, 0.12)
        self.assertAlmostEqual(math.log1p(stats.resolution(0.03, quiet, told)), math.log1p(0.03) + 0.02)

    def test_without_a_copy_nothing_is_told(self) -> None:
        found = comparing.compare([r for r in raced([STEADY[0], []]) + [
            r | {"subject": "tokio", "role": "peer"} for r in raced([STEADY[1], []])]])
        (one,) = (one for one in found if one.claim)
        self.assertEqual((one.resolution, one.coarse, summary.tells(one)), (None, True, "nothing"))

    def test_chance_decides_how_many_pairs_may_differ(self) -> None:
        self.assertAlmostEqual(comparing.chance_of(0, 18), 1.0)
        self.assertAlmostEqual(comparing.chance_of(1, 1), 0.05)
        for pairs, allowed in ((3, 1), (6, 2), (18, 4), (36, 5)):
            self.assertGreaterEqual(comparing.chance_of(allowed, pairs), comparing.BAD_LUCK, pairs)
            self.assertLess(comparing.chance_of(allowed + 1, pairs), comparing.BAD_LUCK, pairs)


def batch(pick: random.Random, number: int, slow: Callable[[int, str], float]) -> list[dict[str, str]]:
    """20 pairs of the hive, its copy and its earlier build, of 19.3 ns; `slow`: how much slower a program's run of a round is."""
    roles = (("hive", "candidate"), ("hive-aa", "aa"), ("hive-base", "baseline"))
    return [row(name, *POINT[:2], n, batch=str(number), placement="one_cpu", role=role, ops="2048",
                cpu_ns=str(round(2048 * 19.3 * slow(n, name) * math.exp(pick.gauss(0, 0.02)))))
            for n in range(1, 21) for name, role in roles]


def disturbed(pick: random.Random) -> Callable[[int, str], float]:
    """For some neighbouring rounds the machine is slow and quick by turns, for whichever program it has just then."""
    begins, rounds = pick.randint(1, 16), pick.randint(2, 5)
    return lambda n, _: pick.uniform(1.42, 1.6) if begins <= n < begins + rounds and pick.random() < 0.5 else 1.0


def touched(pick: random.Random) -> Callable[[int, str], float]:
    """One run of a batch is slow, as one of an unquiet machine is now and then."""
    which = pick.randint(1, 20)
    return lambda n, name: 1.6 if (n, name) == (which, "hive") else 1.0


def defect(pick: random.Random, share: float) -> Callable[[int, str], float]:
    """The program has two modes, which it had not in its earlier build."""
    return lambda _, name: 1.6 if name != "hive-base" and pick.random() < share else 1.0


def red_of(times: int, pick: random.Random, *batches: Callable[[random.Random], Callable[[int, str], float]]) -> int:
    """How many races of such batches are red by two modes."""
    raced_now = ([one for number, how in enumerate(batches, 1) for one in batch(pick, number, how(pick))] for _ in range(times))
    return sum(bool(findings.judged(rows, [], [])) for rows in raced_now)


class Simulated(unittest.TestCase):
    """The gate as it races: how often a disturbance turns it red, how often a defect does."""

    def test_a_disturbance_of_some_rounds_does_not(self) -> None:
        pick = random.Random(44)
        first = red_of(100, pick, disturbed)
        self.assertLessEqual(first, 8, "one batch")
        self.assertEqual(red_of(100, pick, disturbed, touched), 0, "and one slow run in the second one")
        self.assertLessEqual(red_of(100, pick, disturbed, disturbed), 1)

    def test_what_ci_saw(self) -> None:
        """5 of 40 runs, in five neighbouring rounds, of which the copy shares none; one run of the second batch was slow."""
        seen = {(9, "hive"), (10, "hive-aa"), (11, "hive"), (12, "hive-aa"), (13, "hive")}
        pick = random.Random(1)
        first = batch(pick, 1, lambda n, name: 1.45 if (n, name) in seen else 1.0)
        self.assertEqual(judged(first), [])
        apart = {(2 * n % 20, name) for n, name in seen}
        first = batch(pick, 1, lambda n, name: 1.6 if (n, name) in apart else 1.0)
        self.assertEqual(len(judged(first)), 1, "where they do not stand together one batch shows them")
        self.assertEqual(judged(first + batch(pick, 2, touched(pick))), [], "and the second one does not")

    def test_a_defect_does(self) -> None:
        pick = random.Random(45)
        for share, least in ((0.2, 75), (0.3, 95), (0.5, 90)):
            twice = [lambda pick, share=share: defect(pick, share)] * 2
            with self.subTest(share=share):
                self.assertGreaterEqual(red_of(100, pick, *twice), least)


class TheFile(TreeCase):
    def file(self, text: str) -> None:
        path = self.root / "bench" / "contract" / "expected_findings.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def test_ours_is_whole_and_may_be_empty(self) -> None:
        for one in findings.expected():
            self.assertIn(one["scenario"], scenarios.SCENARIOS)
        with mock.patch("apiary_cli.base.repo.ROOT", self.root):
            self.assertEqual(findings.expected(), [], "no file")
            head = ",".join(findings.COLUMNS) + "\n"
            self.file(head)
            self.assertEqual(findings.expected(), [])
            for text in ("scenario,reason\n", head + "a,,free,hive,nonsense,why\n", head + "a,,free,hive,two_modes,\n",
                         head + "a,free\n", head + "x" * 200_000 + ",,,,\n"):
                self.file(text)
                with self.subTest(text), self.assertRaises(Fault):
                    findings.expected()

    def test_a_race_is_red_by_a_finding_and_green_where_it_is_expected(self) -> None:
        """A fake whose slow-down makes it faster, so that no machine decides."""
        self.subjects({"name": "hive", "effect": 1.0, "behaviour": "odd_control"})
        words = (*self.one_point(), "--rounds", "8")
        done = self.race(*words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FINDING: hive in post_throughput batch=1;producers=1 one_cpu: a built-in slow-down made it faster", done.stdout)
        line = "post_throughput,batch=1;producers=1,one_cpu,hive,control_wrong_side,a fake\n"
        self.file(",".join(findings.COLUMNS) + "\n" + line)
        done = self.race(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("expected finding: hive", done.stdout)
        self.subjects({"name": "hive"})
        done = self.race(*words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FINDING NO LONGER SHOWS: hive", done.stdout)
        newest = max((self.root / "results").iterdir())
        self.assertEqual(json.loads((newest / "env.json").read_text())["race"]["expected_findings"][0]["reason"], "a fake")
        other = self.root / "mine.csv"
        other.write_text(",".join(findings.COLUMNS) + "\n")
        self.assertEqual(self.race(*words, "--expected", str(other)).returncode, 0, "a file of one's own")
        self.assertEqual(self.race(*words, "--expected", str(self.root / "absent.csv")).returncode, 2)

    def test_a_night_has_a_case_for_it(self) -> None:
        self.subjects({"name": "hive", "behaviour": "odd_control"})
        part = night(self)
        red = [case for case in part.cases if case.status == "failed"]
        self.assertTrue(any(case.name.startswith("control_wrong_side hive") for case in red), part.cases)


def night(case: TheFile) -> Part:
    """The race of a night, of one pinned point."""
    point = dataclasses.replace(points.throughput(1), placement="one_cpu")
    plan = dataclasses.replace(plans.plan("gate"), points=(point,), rounds=8, least_rounds=8)
    programs = [case.root / "build" / "release" / "bin" / "program0"]
    with (
        mock.patch("apiary_cli.base.repo.ROOT", case.root),
        mock.patch("apiary_cli.base.repo.RESULTS", case.root / "results"),
        mock.patch("apiary_cli.verbs.entrants.existing_programs", return_value=programs),
        mock.patch("apiary_cli.verbs.entrants.refuse_other_source"),  # in this process it looks at the real tree
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        return nightly.raced("race", plan, None, 2, unpaired=False)


if __name__ == "__main__":
    unittest.main()
