"""The statistics: known answers, no false alarms on equal data, a built-in slow-down seen."""

from __future__ import annotations

import math
import random
import re
import unittest

from apiary_cli.analysis import comparing
from apiary_cli.base import stats
from apiary_cli.race import scenarios

from .support import REAL_ROOT


def synthetic(
    rng: random.Random, rounds: int, effect: float, noise: float = 0.03, drift: float = 0.10
) -> list[tuple[float, float]]:
    """Paired rounds: a slow drift common to both sides, noise of each process, now and then an outlier."""
    pairs = []
    for number in range(rounds):
        level = 100 * math.exp(drift * math.sin(number / 5))
        candidate, baseline = (
            level * math.exp(rng.gauss(0, noise)) * (1.5 if rng.random() < 0.03 else 1) for _ in range(2)
        )
        pairs.append((candidate * effect, baseline))
    return pairs


class KnownAnswers(unittest.TestCase):
    def test_trimmed_mean(self) -> None:
        self.assertEqual(stats.trimmed_mean([1, 2, 3, 4, 100]), 3)  # one off each end
        self.assertEqual(stats.trimmed_mean([5, 1, 3, 100]), 27.25)  # 20 % of four is none
        self.assertEqual(stats.trimmed_mean(range(10)), 4.5)  # two off each end

    def test_quantiles(self) -> None:
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(stats.quantile([0, 10], 0.25), 2.5)

    def test_benjamini_hochberg(self) -> None:
        adjusted = stats.benjamini_hochberg([0.01, 0.04, 0.03, 0.005])
        self.assertEqual([round(p, 4) for p in adjusted], [0.02, 0.04, 0.04, 0.02])
        self.assertEqual(stats.benjamini_hochberg([]), [])

    def test_estimate_of_constant_ratio(self) -> None:
        found = stats.estimate([(110.0, 100.0)] * 8)
        self.assertAlmostEqual(found.ratio, 1.1)
        self.assertAlmostEqual(found.lo, 1.1)
        self.assertAlmostEqual(found.hi, 1.1)
        self.assertAlmostEqual(found.half_width, 0.0)

    def test_estimate_is_reproducible(self) -> None:
        pairs = synthetic(random.Random(1), 12, 1.0)
        self.assertEqual(stats.estimate(pairs), stats.estimate(pairs))

    def test_the_intervals_are_those_of_plain_python(self) -> None:
        """numpy draws what random.Random drew, and adds up in another order at most."""
        for n in (1, 2, 5, 7, 10, 20, 33):
            pick = random.Random(stats.SEED * 1_000_003 + n)
            drawn = [[int(pick.random() * n) for _ in range(n)] for _ in range(300)]
            self.assertEqual(stats.resample_indices(n, 300, stats.SEED).tolist(), drawn)
            values = [math.log(a / b) for a, b in synthetic(random.Random(n), n, 1.1)]
            plain = sorted(stats.trimmed_mean([values[i] for i in row]) for row in drawn)
            found = stats.bootstrap(values, 300)
            self.assertEqual(len(found), 300)
            for a, b in zip(found, plain):
                self.assertAlmostEqual(a, b, delta=1e-15)
            for margin in (0.0, 0.03, 0.2):
                bound, one = math.log1p(margin), stats.Estimate(n, 0.0, 0.0, 0.0, tuple(plain))
                sides = sum(d <= bound for d in plain), sum(d >= -bound for d in plain)
                self.assertEqual(stats.p_value(one, margin), min(1.0, 2 * min((1 + side) / 301 for side in sides)))

    def test_swapping_sides_inverts_the_ratio(self) -> None:
        pairs = synthetic(random.Random(2), 15, 1.2)
        there, back = stats.estimate(pairs), stats.estimate([(b, a) for a, b in pairs])
        self.assertAlmostEqual(there.ratio * back.ratio, 1.0)

    def test_a_small_ratio_keeps_a_digit(self) -> None:
        self.assertEqual(stats.ratio_text(1.104, 0.996, 1.2), "1.10 [1.00, 1.20]")
        self.assertEqual(stats.ratio_text(0.0009, 0.0008, 0.001), "0.00090 [0.00080, 0.00100]")
        self.assertEqual(stats.ratio_text(0.034, 0.03, 0.04), "0.034 [0.030, 0.040]")
        self.assertEqual(stats.ratio_text(0.5), "0.50")

    def test_margin(self) -> None:
        def pair(ratio: float, half: float) -> stats.Estimate:
            return stats.Estimate(10, math.log(ratio), math.log(ratio) - math.log1p(half), math.log(ratio) + math.log1p(half))

        self.assertEqual(stats.margin(None), 0.03)
        self.assertEqual(stats.margin(pair(1.0, 0.01)), 0.03)
        self.assertAlmostEqual(stats.margin(pair(1.0, 0.04)), 0.08)
        for ratio in (1.2, 1 / 1.2):
            self.assertAlmostEqual(stats.margin(pair(ratio, 0.04)), 1.2 * 1.04 - 1, msg="what the copy showed")

    def test_modes(self) -> None:
        self.assertEqual(stats.modes([10, 10.1, 10.2, 20, 20.1, 20.3]), 2)
        self.assertEqual(stats.modes([10, 10.1, 10.2, 10.4, 10.5, 99]), 1)


class Verdicts(unittest.TestCase):
    def verdict(self, lo: float, hi: float, better: str = "lower", n: int = 10, margin: float = 0.03) -> str:
        found = stats.Estimate(n, math.log(math.sqrt(lo * hi)), math.log(lo), math.log(hi))
        return stats.verdict(found, margin, better)

    def test_the_four(self) -> None:
        self.assertEqual(self.verdict(1.04, 1.10), stats.REGRESSED)
        self.assertEqual(self.verdict(0.90, 0.96), stats.IMPROVED)
        self.assertEqual(self.verdict(0.98, 1.02), stats.EQUIVALENT)
        self.assertEqual(self.verdict(1.01, 1.10), stats.INCONCLUSIVE)

    def test_direction(self) -> None:
        self.assertEqual(self.verdict(1.04, 1.10, "higher"), stats.IMPROVED)
        self.assertEqual(self.verdict(0.90, 0.96, "higher"), stats.REGRESSED)
        with self.assertRaises(ValueError):
            self.verdict(1, 1, "sideways")

    def test_a_wide_margin_makes_nothing_equal(self) -> None:
        self.assertEqual(self.verdict(0.92, 1.08, margin=0.4), stats.EQUIVALENT)
        self.assertEqual(self.verdict(0.80, 1.20, margin=0.4), stats.INCONCLUSIVE)
        self.assertEqual(self.verdict(1.42, 1.60, margin=0.4), stats.REGRESSED)

    def test_a_copy_differs_by_its_own_interval_and_three_per_cent(self) -> None:
        """Not by its margin: that is made of it, and lets nothing through."""
        for lo, hi, n, word in ((1.01, 1.20, 10, stats.REGRESSED), (0.80, 0.99, 10, stats.IMPROVED), (1.04, 1.041, 10, stats.REGRESSED),
                                (1.001, 1.04, 10, ""), (0.99, 1.30, 10, ""), (1.01, 1.20, 4, "")):
            found = stats.Estimate(n, math.log(math.sqrt(lo * hi)), math.log(lo), math.log(hi))
            margin = stats.margin(found)
            with self.subTest(lo=lo, hi=hi, n=n):
                self.assertEqual(stats.copy_differs(found), bool(word))
                said = stats.verdict_of_copy(found, margin, "lower")
                self.assertEqual(said if said in (stats.REGRESSED, stats.IMPROVED) else "", word)
                self.assertNotIn(stats.verdict(found, margin, "lower"), (stats.REGRESSED, stats.IMPROVED))

    def test_few_pairs_decide_nothing(self) -> None:
        self.assertEqual(self.verdict(2.0, 2.1, n=4), stats.INCONCLUSIVE)

    def test_a_claim_that_fails_the_correction_is_dropped(self) -> None:
        self.assertEqual(stats.after_discovery_control(stats.REGRESSED, 0.2), stats.INCONCLUSIVE)
        self.assertEqual(stats.after_discovery_control(stats.REGRESSED, 0.01), stats.REGRESSED)
        self.assertEqual(stats.after_discovery_control(stats.EQUIVALENT, 0.9), stats.EQUIVALENT)


class Simulation(unittest.TestCase):
    def alarms(self, rounds: int, effect: float, trials: int, seed: int) -> int:
        """How often the candidate counts as worse or better, with the margin of a simulated A/A pair."""
        rng, count = random.Random(seed), 0
        for _ in range(trials):
            aa = stats.estimate(synthetic(rng, rounds, 1.0), resamples=400)
            found = stats.estimate(synthetic(rng, rounds, effect), resamples=400)
            count += stats.verdict(found, stats.margin(aa), "lower") in (stats.REGRESSED, stats.IMPROVED)
        return count

    def test_equal_programs_raise_no_alarm(self) -> None:
        self.assertLessEqual(self.alarms(rounds=30, effect=1.0, trials=150, seed=11), 1)

    def test_few_rounds_raise_hardly_any(self) -> None:
        self.assertLessEqual(self.alarms(rounds=7, effect=1.0, trials=150, seed=12), 4)

    def test_the_interval_holds_the_truth_as_often_as_methodology_says(self) -> None:
        text = " ".join((REAL_ROOT / "METHODOLOGY.md").read_text().split())
        said = re.search(r"held the truth (\d+) times in 100 at 5 rounds, (\d+) times at 10 and (\d+) times at 30", text)
        for rounds, times in zip((5, 10, 30), map(int, said.groups())):
            rng, trials = random.Random(rounds), 2000
            every = (stats.estimate(synthetic(rng, rounds, 1.05), resamples=400) for _ in range(trials))
            held = sum(found.log_lo <= math.log(1.05) <= found.log_hi for found in every)
            with self.subTest(rounds=rounds):
                self.assertAlmostEqual(100 * held / trials, times, delta=1.5)

    def test_a_copy_differs_as_seldom_as_methodology_says(self) -> None:
        """By the half-width: below 2 % hardly ever, and where it is wide as often as the interval leaves 1 out."""
        for noise, widest, least, most in ((0.005, 0.02, 0, 1), (0.1, 1.0, 5, 13)):
            rng = random.Random(3)
            every = [stats.estimate(synthetic(rng, 10, 1.0, noise), resamples=400) for _ in range(300)]
            self.assertLess(stats.median([found.half_width for found in every]), widest)
            alarms = sum(map(stats.copy_differs, every)) / 3
            with self.subTest(noise=noise):
                self.assertTrue(least <= alarms <= most, f"{alarms} in 100")

    def test_false_alarms_of_copies_are_as_many_as_methodology_says(self) -> None:
        text = " ".join((REAL_ROOT / "METHODOLOGY.md").read_text().split())
        said = int(re.search(r"1 in (\d+) at 2\.6 %", text)[1])
        rng, trials = random.Random(7), 2000
        every = [stats.estimate([(math.exp(rng.gauss(0, 0.04)), 1.0) for _ in range(10)]) for _ in range(trials)]
        self.assertAlmostEqual(100 * stats.median([found.half_width for found in every]), 2.6, delta=0.15)
        alarms = sum(map(stats.copy_differs, every))
        self.assertTrue(trials / said / 1.6 <= alarms <= 1.6 * trials / said, f"{alarms} of {trials}, said 1 in {said}")

    def test_one_that_is_twice_as_slow_is_told_among_five_hundred_equal_ones(self) -> None:
        metric, pairing = scenarios.known_by("fib", "free"), comparing.Pairing("hive", "hive-base", "baseline")
        for rounds in (7, 10, 20):
            rng, claims = random.Random(rounds), []
            for i in range(500):
                found = stats.estimate(synthetic(rng, rounds, 2.0 if i == 7 else 1.0, noise=0.01))
                claims.append(comparing.Comparison(("fib", f"n={i}", "free"), metric, pairing, found, [], verdict=stats.verdict(found, 0.03, "lower")))
            comparing.rank(claims)
            self.assertEqual([(one.key[1], one.verdict) for one in claims if one.differs], [("n=7", stats.REGRESSED)], rounds)

    def test_among_equal_ones_no_more_are_told_for_the_fitted_tail(self) -> None:
        """Each with a noise of its own, and the margin of its own copy."""
        for rounds in (5, 10):
            rng = random.Random(rounds)
            noises = [math.exp(rng.uniform(math.log(0.005), math.log(0.2))) for _ in range(500)]
            every, copies = ([stats.estimate(synthetic(rng, rounds, 1.0, noise)) for noise in noises] for _ in range(2))
            found = list(zip(every, map(stats.margin, copies)))
            words = [stats.after_discovery_control(stats.verdict(one, m, "lower"), p) for (one, m), p in zip(found, stats.adjusted(found))]
            self.assertEqual([word for word in words if word in (stats.REGRESSED, stats.IMPROVED)], [], rounds)

    def test_where_the_resamples_stand_the_correction_nothing_is_fitted(self) -> None:
        rng = random.Random(4)
        clear, equal = ((stats.estimate(synthetic(rng, 20, effect)), 0.03) for effect in (2.0, 1.0))
        for slow, same in ((1, 99), (2, 198), (0, 500)):
            every = [clear] * slow + [equal] * same
            self.assertEqual(stats.adjusted(every), stats.benjamini_hochberg([stats.p_value(one, m) for one, m in every]))
        self.assertLess(stats.adjusted([clear] + [equal] * 100)[0], 1e-9)
        constant = stats.estimate([(2.0, 1.0)] * 20), 0.03
        self.assertAlmostEqual(stats.adjusted([constant] + [equal] * 100)[0], 101 * 2 / 4001, msg="no spread, nothing to fit")

    def test_the_fitted_tail_is_students(self) -> None:
        """P(T > t) from tables, and never below it."""
        for n, t, tail in ((7, 4.604, 0.005), (10, 4.032, 0.005), (10, 6.869, 0.0005), (20, 4.437, 0.0005)):
            for side in (1, -1):
                found = stats.Estimate(n, side * t, 0.0, 0.0, (side * t - 1, side * t + 1))
                self.assertTrue(tail * 0.999 <= stats.fitted_tail(found, 0.0) <= tail * 1.2, (n, t, stats.fitted_tail(found, 0.0)))

    def test_ten_per_cent_is_seen(self) -> None:
        self.assertGreaterEqual(self.alarms(rounds=30, effect=1.10, trials=60, seed=13), 54)
