"""Latency at a price: what is a frontier, its drawing, its table and its file."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from apiary_cli.race import plans, tables
from apiary_cli.report import page_frontier, panels, svg

from .test_report_curves import report, row

PLACE = "rate=30000;scale=10"


def post(subject: str, budget: int, n: int, cpu: int, p50: int, p99: str, **more: str) -> dict[str, str]:
    columns = {"cpu_ns": str(1000 * cpu), "ops": "1000", "lat_p50_ns": str(p50), "lat_p99_ns": p99, "flags": "injector_us=9"}
    return row(subject, "latency_vs_load", f"idle_cpu={budget};{PLACE}", n, **(columns | more))


def a_race() -> list[dict[str, str]]:
    return [one for n in (1, 2, 3) for one in (
        post("hive", 0, n, 9000 + n, 40_000, "90000"), post("hive", 100, n, 8000, 1000 + n, "2000"),
        post("tokio", 0, n, 9500, 41_000, ""),
        post("asio", 0, n, 9100, 42_000, "95000", flags="injector_us=9;injector_limited"), post("asio", 100, n, 60_000, 900, "1500"),
    )]


class Frontier(unittest.TestCase):
    def test_a_curve_goes_from_the_cheapest_step_to_the_dearest(self) -> None:
        (by,) = page_frontier.frontiers(report(a_race())).values()
        self.assertEqual({name: [step.budget for step in steps] for name, steps in by.items()},
                         {"hive": [100, 0], "tokio": [0], "asio": [0, 100]})
        self.assertEqual(list(page_frontier.frontiers(report(a_race()))), [("latency_vs_load", PLACE, "free")])

    def test_it_is_drawn_for_each_percentile_that_was_printed(self) -> None:
        text = page_frontier.frontier(report(a_race()))
        self.assertIn("p50 against processor time per post", text)
        self.assertIn("p99 against processor time per post", text)
        self.assertEqual(text.count('class="mark') + text.count('class="hollow'), 5 + 4, "tokio has no p99")
        self.assertEqual(text.count("<polyline"), 2, "of hive; the line of asio would pass through a limited point")
        self.assertIn('<td class="">hive</td><td class="n">100 %</td><td class="n">8.00 µs</td>', text)

    def test_a_page_shows_what_is_drawn(self) -> None:
        page = page_frontier.DRAWING.parent / "room" / "LATENCY.md"
        told = page_frontier.reference(report(a_race()), page)
        self.assertEqual(re.findall(r'(srcset|src)="([^"]+)"', told), [("srcset", "../frontier-narrow.svg"), ("src", "../frontier.svg")])
        self.assertEqual(page_frontier.reference(report(a_race()[2:3]), page), "")

    def test_the_numbers_of_its_axes_do_not_touch(self) -> None:
        """Also where a panel spans less than a factor of two: 8.7 and 9.1 us once stood in each other."""
        for low, high in ((8800, 14_200), (9000, 9500), (21_000, 133_000), (10_000, 900_000)):
            scale = svg.log_scale([low, high])
            ticks = svg.log_ticks(scale)
            with self.subTest(low=low, high=high, ticks=ticks):
                self.assertGreaterEqual(len(ticks), 3)
                gaps = [scale.at(b) - scale.at(a) for a, b in zip(ticks, ticks[1:])]
                self.assertGreaterEqual((panels.WIDE - panels.LEFT - 12) * min(gaps), 34, "pixels; a label has up to 33")

    def test_the_lightest_load_comes_first_and_a_narrow_screen_has_its_own(self) -> None:
        rates = [row | {"scenario_params": row["scenario_params"].replace("30000", rate)} for rate in ("120000", "80000") for row in a_race()]
        wide, narrow = (page_frontier.picture(report(rates), across) for across in (3, 1))
        self.assertLess(wide.index("80,000 posts"), wide.index("120,000 posts"))
        self.assertIn('viewBox="0 0 600 ', wide)
        self.assertIn('viewBox="0 0 300 ', narrow)
        notes = re.findall(r'<text x="46" y="[0-9]+" class="soft">([^<]+)', narrow)
        self.assertGreater(len(notes), 2, notes)
        self.assertLess(max(map(len, notes)), 45, "no line leaves the drawing")

    def test_a_single_point_whose_colour_comes_again_is_told_from_the_first(self) -> None:
        names = [f"runtime {k}" for k in range(len(panels.COLOURS) + 1)]
        text = panels.drawn([panels.Point("10,000 posts", name, 1 + k, 1 + k, name) for k, name in enumerate(names)], "a note", "a label")
        self.assertEqual(text.count('class="c0 dot"'), 1)
        self.assertEqual(text.count('class="c0 hollow"'), 2, "its point, and the one beside its name")

    def test_one_budget_is_no_frontier(self) -> None:
        for rows in (a_race()[2:3], [row("hive", "latency_vs_load", PLACE, 1, cpu_ns="5", ops="1", lat_p50_ns="5")]):
            self.assertEqual(page_frontier.frontier(report(rows)), "")
            with tempfile.TemporaryDirectory() as folder:
                page_frontier.write(report(rows), Path(folder))
                self.assertEqual(list(Path(folder).iterdir()), [])

    def test_its_file_has_the_medians_of_every_step(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            page_frontier.write(report(a_race()), Path(folder))
            rows = tables.read(Path(folder) / "frontier.csv", page_frontier.COLUMNS)
        self.assertEqual([(one["subject"], one["idle_cpu"]) for one in rows],
                         [("hive", "0"), ("hive", "100"), ("asio", "0"), ("asio", "100"), ("tokio", "0")])
        self.assertEqual((rows[0]["cpu_ns_per_post"], rows[0]["lat_p50_ns"], rows[0]["rounds"]), ("9002.0", "40000.0", "3"))
        self.assertEqual([one["limited"] for one in rows], ["0", "0", "1", "0", "0"])
        self.assertEqual(rows[-1]["lat_p99_ns"], "")

    def test_the_plan_has_each_budget_at_each_rate(self) -> None:
        points = [p for p in plans.plan("frontier").points if "idle_cpu" in dict(p.params)]
        told = {(dict(p.params)["rate"], dict(p.params)["idle_cpu"]) for p in points}
        rates = {rate for rate, _ in told}
        self.assertEqual(told, {(rate, str(budget)) for rate in rates for budget in (0, 1, 5, 20, 50, 100)})
        self.assertGreaterEqual(len(rates), 3)
        self.assertEqual({round(p.plan_seconds * int(dict(p.params)["rate"])) for p in points}, {12_500})

    def test_the_plan_has_the_short_posts_beside_long_ones_whole_and_in_slices(self) -> None:
        points = [p for p in plans.plan("frontier").points if dict(p.params).get("latency_of") == "short"]
        self.assertEqual([dict(p.params).get("slice_us") for p in points], [None, "20"])
        # p99.9 is printed of at least 100 samples above it: of 100,000 short posts, beside the first tenth and the long ones.
        self.assertTrue(all(0.9 * 0.995 * p.plan_seconds * int(dict(p.params)["rate"]) > 100_000 for p in points))
