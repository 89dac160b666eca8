"""The statistics: known answers, no false alarms on equal data, a built-in slow-down seen."""

from __future__ import annotations

import math
import random
import unittest

from apiary_cli.base import stats


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
        self.assertEqual(stats.ratio_text(0.0009, 0.0008, 0.001), "0.001 [0.001, 0.001]")
        self.assertEqual(stats.ratio_text(0.5), "0.50")

    def test_margin(self) -> None:
        self.assertEqual(stats.margin(None), 0.03)
        self.assertEqual(stats.margin(0.01), 0.03)
        self.assertEqual(stats.margin(0.04), 0.08)

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
            count += stats.verdict(found, stats.margin(aa.half_width), "lower") in (stats.REGRESSED, stats.IMPROVED)
        return count

    def test_equal_programs_raise_no_alarm(self) -> None:
        self.assertLessEqual(self.alarms(rounds=30, effect=1.0, trials=150, seed=11), 1)

    def test_few_rounds_raise_hardly_any(self) -> None:
        self.assertLessEqual(self.alarms(rounds=7, effect=1.0, trials=150, seed=12), 4)

    def test_ten_per_cent_is_seen(self) -> None:
        self.assertGreaterEqual(self.alarms(rounds=30, effect=1.10, trials=60, seed=13), 54)
