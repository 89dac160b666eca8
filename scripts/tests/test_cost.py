"""What a post costs beside how long it takes: which rows tell it, and that a reader sees both at once."""

from __future__ import annotations

import unittest

from apiary_cli.base import stats
from apiary_cli.race import metrics, plans
from apiary_cli.analysis import comparing, matrix
from apiary_cli.report import page_sections

from . import points
from .test_report_curves import report, row

# The spinner answers in a fifth of the time, for four times the processor time.
TAKES = {"hive": ("50000", "40000000"), "spinner": ("10000", "160000000")}


def rows(scenario: str = "post_latency", flags: str = "injector_us=30000", rounds: int = 10) -> list[dict[str, str]]:
    return points.copied([
        row(name, scenario, "rate=1000", n, lat_p50_ns=p50, cpu_ns=cpu, ops="1250", flags=flags, placement="free",
            role="candidate" if name == "hive" else "peer")
        for name, (p50, cpu) in TAKES.items()
        for n in range(rounds)
    ])


def by_column(found: list[dict[str, str]]) -> dict[str, comparing.Comparison]:
    return {one.metric.column: one for one in comparing.compare(found) if one.claim}


class Cost(unittest.TestCase):
    def test_it_is_compared_and_ranked(self) -> None:
        found = by_column(rows())
        self.assertEqual(set(found), {"lat_p50_ns", "cpu_ns_per_post"})
        self.assertEqual(found["lat_p50_ns"].verdict, stats.REGRESSED)
        self.assertEqual(found["cpu_ns_per_post"].verdict, stats.IMPROVED)
        self.assertAlmostEqual(found["cpu_ns_per_post"].found.ratio, 0.25)
        self.assertAlmostEqual(found["cpu_ns_per_post"].pairs[0][0], 32_000)

    def test_only_rows_in_which_the_process_spends_on_posts_alone(self) -> None:
        self.assertNotIn("cpu_ns_per_post", by_column(rows(flags="spun_us=30000")), "older: with the sleeps in it")
        self.assertNotIn("cpu_ns_per_post", by_column(rows(flags="injector_us=1;starved_ppm=0")), "others compute")
        self.assertNotIn("cpu_ns_per_post", by_column(rows("mixed_load")))
        for name in ("targeted_latency", "latency_vs_load"):
            self.assertIn("cpu_ns_per_post", by_column(rows(name)))
        self.assertIn("cpu_ns_per_timer", by_column(rows("timer_lateness", flags="")))

    def test_the_plans_that_are_read_have_it(self) -> None:
        for name in ("quick", "publish"):
            self.assertTrue(any(metrics.POST_COST in p.scenario.metrics for p in plans.plan(name).points), name)
        published = {p.scenario.name for p in plans.plan("publish").points if metrics.POST_COST in p.scenario.metrics}
        self.assertEqual(published, {"post_latency", "targeted_latency", "latency_vs_load"})

    def test_it_decides_over_no_change(self) -> None:
        self.assertFalse(metrics.POST_COST.gates or metrics.TIMER_COST.gates)

    def test_the_page_shows_both_in_one_row_and_counts_them_apart(self) -> None:
        made = report(rows())
        made.comparisons, made.roles = comparing.compare(made.rows), {"hive": "candidate", "spinner": "peer"}
        made.validity = comparing.validity(made.comparisons)
        self.assertRegex(page_sections.costs(made), r"spinner</td>.*10.0 µs</td>.*<b>128 µs</b>")
        lost = page_sections.losses(made)
        self.assertIn('hive takes <span class="num">×5.00</span>', lost)
        self.assertIn('and <span class="num">×0.25</span>', lost)
        self.assertIn("slower in 1 of 2 comparisons", lost)
        self.assertNotIn("spends more in", lost)
        standing = page_sections.standing(made)
        self.assertIn("spends less", standing)
        self.assertEqual(standing.count('<b class="word bad">1</b>'), 1, "slower in one")
        self.assertEqual(standing.count('<b class="word good">1</b>'), 1, "spends less in one")
        self.assertEqual(page_sections.costs(report(rows("mixed_load"))), "")
        axis = page_sections.forest(made)
        self.assertIn("← hive takes less", axis)
        self.assertIn("the other takes less →", axis)

    def test_no_loss_is_good_only_where_something_was_decided(self) -> None:
        made = report(rows())
        made.comparisons = [one for one in comparing.compare(made.rows) if one.claim]

        def kind(word: str, *verdicts: str) -> str:
            made.validity = comparing.Validity(word, (), (), ())
            for one, verdict in zip(made.comparisons, verdicts):
                one.verdict = verdict
            return page_sections.lost(made)["kind"]

        self.assertEqual(kind(comparing.VALID, stats.INCONCLUSIVE, stats.INCONCLUSIVE), "note")
        self.assertEqual(page_sections.lost(made)["more"], "nothing is decided")
        for word in (stats.IMPROVED, stats.EQUIVALENT):
            self.assertEqual(kind(comparing.VALID, word, stats.INCONCLUSIVE), "good")
            self.assertEqual(kind(comparing.INVALID, word, stats.INCONCLUSIVE), "note")
            self.assertEqual(kind(comparing.INVALID, word, stats.REGRESSED), "bad")


class Spliced(unittest.TestCase):
    def test_what_a_latency_costs_stands_below_it_where_a_peer_wins(self) -> None:
        found = matrix.lines_of(comparing.compare(rows() + rows("targeted_latency")))
        cost = next(line for line in found if line[2].column == "cpu_ns_per_post")
        self.assertEqual(matrix.name_of(cost, False), "`post_latency` · rate 1000/s · processor time per post")
        names = [(key[0], metric.column) for key, _, metric in matrix.listed(found)]
        self.assertEqual(names[:2], [("post_latency", "lat_p50_ns"), ("post_latency", "cpu_ns_per_post")])

    def test_a_lateness_is_called_so(self) -> None:
        line = (("timer_lateness", "", "free"), "hive", metrics.LATENESS[0])
        self.assertIn("lateness p50", matrix.name_of(line, False))


if __name__ == "__main__":
    unittest.main()
