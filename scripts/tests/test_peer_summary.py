"""How one of ours stands against each peer: counts, the worst and the best point, the losses by name."""

from __future__ import annotations

import unittest

from apiary_cli.analysis import comparing, matrix, peer_summary
from apiary_cli.report import picture

from . import points
from .test_cost import rows as costs
from .test_injector import rows as injected
from .test_report_curves import report, row

TIMES = {  # of a computation: fork_join is faster than go everywhere, and than rayon at one worker alone; equal to libomp
    "fork_join": (100, 100), "go": (400, 500), "libomp": (100, 100), "rayon": (200, 50), "hive": (1000, 1000),
}


def rows() -> list[dict[str, str]]:
    return points.copied([
        row(name, "fib", f"n=27;workers={workers}", n, ns_per_op=str(ns),
            role="candidate" if name in ("fork_join", "hive") else "peer")
        for name, times in TIMES.items() for workers, ns in enumerate(times, 1) for n in range(10)
    ])


def against(found: list[peer_summary.Standing], ours: str, other: str) -> peer_summary.Standing:
    return next(one for one in found if (one.ours, one.other) == (ours, other))


class Counts(unittest.TestCase):
    def test_each_peer_has_its_line_with_the_worst_and_the_best_point(self) -> None:
        claims = [one for one in comparing.compare(rows()) if one.claim and one.pairing.candidate == "fork_join"]
        self.assertEqual(peer_summary.table(peer_summary.of(claims)), [
            "| fork_join against | faster | slower | unresolved | worst | best |",
            "|---|--:|--:|--:|---|---|",
            "| go | 2 | 0 | 0 | ×0.25 [0.25, 0.25] 3.0 % `fib n=27;workers=1` | ×0.20 [0.20, 0.20] 3.0 % `fib n=27;workers=2` |",
            "| libomp | 0 | 0 | 2 | (×1.00 [1.00, 1.00] 3.0 %) `fib n=27;workers=2` | (×1.00 [1.00, 1.00] 3.0 %) `fib n=27;workers=1` |",
            "| rayon | 1 | 1 | 0 | **×2.00 [2.00, 2.00] 3.0 %** `fib n=27;workers=2` | ×0.50 [0.50, 0.50] 3.0 % `fib n=27;workers=1` |",
        ])
        self.assertEqual(peer_summary.table([]), [])

    def test_several_of_ours_have_lines_of_their_own(self) -> None:
        found = peer_summary.of(comparing.compare(rows()))
        self.assertEqual(len(found), 6)
        self.assertEqual(peer_summary.table(found)[0].split(" | ")[0], "| against")
        self.assertEqual(len(against(found, "hive", "rayon").time.lost), 2)

    def test_a_proven_loss_is_worse_than_a_greater_ratio_that_is_undecided(self) -> None:
        """And a proven win is better than a smaller ratio that is."""
        noisy = {"n=27;workers=3": (5000, 25), "n=27;workers=4": (2, 400)}  # rayon's, in turn
        more = points.copied([
            made for params, times in noisy.items() for n in range(10) for made in (
                row("fork_join", "fib", params, n, ns_per_op="100", role="candidate"), row("rayon", "fib", params, n, ns_per_op=str(times[n % 2])))
        ])
        found = against(peer_summary.of(comparing.compare(rows() + more)), "fork_join", "rayon").time
        ratios = [one.found.ratio for one in found.every]
        self.assertEqual((len(found.lost), len(found.won), found.unresolved), (1, 1, 2))
        self.assertTrue(min(ratios) < 0.5 and max(ratios) > 2, ratios)
        self.assertEqual([one.key[1] for one in found.ends()], ["n=27;workers=2", "n=27;workers=1"])

    def test_processor_time_is_counted_apart(self) -> None:
        (found,) = peer_summary.of(comparing.compare(costs()))
        head, _, line = peer_summary.table([found])
        self.assertIn("| spends less, more, unresolved |", head)
        self.assertIn("| spinner | 0 | 1 | 0 | 1, 0, 0 | **×5.00 [5.00, 5.00] 3.0 %** `post_latency rate=1000`, latency p50 |", line)

    def test_what_the_injector_made_is_unresolved_and_no_end(self) -> None:
        (found,) = peer_summary.of([one for one in comparing.compare(injected(11)) if one.metric.column == "lat_p50_ns"])
        self.assertEqual((found.time.unresolved, found.time.unranked, found.time.ends()), (1, 1, ()))
        self.assertTrue(peer_summary.table([found])[2].endswith("| 0 | 0 | 1 | – | – |"))

    def test_a_load_that_was_not_carried_is_no_ratio_of_latencies_and_says_so(self) -> None:
        for late, told in ((10, True), (4, False)):
            with self.subTest(late):
                rows = [one | {"flags": "overloaded"} if one["subject"] == "spinner" and int(one["round"]) < late else one for one in costs()]
                found = peer_summary.of(comparing.compare(rows))
                self.assertIs("latency p50 (overloaded) |" in peer_summary.table(found)[2], told)
                self.assertIs(peer_summary.OVERLOADED in peer_summary.legend(found), told)

    def test_a_terminal_is_told_the_same_without_marks(self) -> None:
        told = peer_summary.told(comparing.compare(costs()))
        self.assertEqual(told[0].split(), "hive against faster slower unresolved spends less, more, unresolved worst best".split())
        self.assertEqual(told[2].split()[:8], ["spinner", "0", "1", "0", "1,", "0,", "0", "×5.00"])
        self.assertEqual(told[3:], ["slower, or spends more, in post_latency rate=1000, latency p50: ×5.00 [5.00, 5.00] of spinner; "
                                    "processor time of hive ×0.25"])
        self.assertEqual(peer_summary.told([]), ["nothing was compared"])

    def test_where_the_control_failed_nothing_is_an_end(self) -> None:
        control = [row("fork_join-aa", "fib", "n=27;workers=2", n, ns_per_op="200", role="aa", row_kind="control") for n in range(10)]
        found = against(peer_summary.of(comparing.compare(rows() + control)), "fork_join", "rayon")
        self.assertEqual((len(found.time.lost), found.time.unresolved), (0, 1))
        self.assertEqual([one.key[1] for one in found.time.ends()], ["n=27;workers=1"] * 2)

    def test_without_a_control_nothing_is_an_end(self) -> None:
        uncontrolled = [one for one in rows() if one["role"] != "aa"]
        found = against(peer_summary.of(comparing.compare(uncontrolled)), "fork_join", "rayon")
        self.assertEqual((found.time.counts(), found.time.ends()), (["0", "0", "2"], ()))
        told = matrix.of(comparing.compare(uncontrolled), uncontrolled)
        self.assertTrue(told[4].endswith("| no A/A | no A/A | no A/A |"), told[4])


class Floors(unittest.TestCase):
    """The same work without a scheduler: nobody loses to it or wins against it."""

    ROWS = rows() + [
        row("machine_calls", "fib", f"n=27;workers={workers}", n, ns_per_op="80", role="bare") for workers in (1, 2) for n in range(10)
    ]

    def test_no_count_and_no_loss_names_one(self) -> None:
        found = comparing.compare(self.ROWS)
        self.assertEqual({one.other for one in peer_summary.of(found)}, {"go", "libomp", "rayon"})
        self.assertNotIn("machine_calls", " ".join(peer_summary.losses(found)))

    def test_they_stand_in_a_table_of_their_own(self) -> None:
        found = comparing.compare(self.ROWS)
        self.assertEqual(peer_summary.floors(found, ["fork_join"]), [
            "| fork_join over the floor | comparisons | farthest | nearest |",
            "|---|--:|---|---|",
            "| machine_calls | 2 | ×1.25 [1.25, 1.25] `fib n=27;workers=2` | ×1.25 [1.25, 1.25] `fib n=27;workers=1` |",
        ])
        several = peer_summary.floors(found, ["fork_join", "hive"])
        self.assertEqual([line.split(" | ")[0] for line in several[2:]], ["| fork_join / machine_calls", "| hive / machine_calls"])
        self.assertEqual(peer_summary.floors(comparing.compare(rows()), ["fork_join"]), [])


class Losses(unittest.TestCase):
    def test_one_loses_and_several_lose(self) -> None:
        self.assertEqual(peer_summary.losers(["fork_join"]), "fork_join loses")
        self.assertEqual(peer_summary.losers(["fork_join", "hive"]), "fork_join and hive lose")

    def test_they_are_named_by_point_the_worst_first(self) -> None:
        told = peer_summary.losses(comparing.compare(rows()))
        self.assertEqual(told, [
            "hive in `fib n=27;workers=2`: ×20.00 [20.00, 20.00] of rayon, ×10.00 [10.00, 10.00] of libomp, ×2.00 [2.00, 2.00] of go",
            "hive in `fib n=27;workers=1`: ×10.00 [10.00, 10.00] of libomp, ×5.00 [5.00, 5.00] of rayon, ×2.50 [2.50, 2.50] of go",
            "fork_join in `fib n=27;workers=2`: ×2.00 [2.00, 2.00] of rayon",
        ])

    def test_what_a_latency_was_bought_with_stands_behind_it(self) -> None:
        self.assertEqual(peer_summary.losses(comparing.compare(costs())), [
            "`post_latency rate=1000`, latency p50: ×5.00 [5.00, 5.00] of spinner; processor time of hive ×0.25"
        ])


class Picture(unittest.TestCase):
    def test_a_pattern_makes_a_row_of_its_own(self) -> None:
        self.assertEqual(picture.row_of(("graph", "iterations=64;pattern=fft;workers=2", "free")), "graph fft")
        self.assertEqual(picture.row_of(("fib", "n=27;workers=2", "free")), "fib")

    def test_one_of_several_is_drawn_alone_or_each_in_rows_of_its_own(self) -> None:
        made = report(rows())
        made.comparisons = comparing.compare(made.rows)
        alone = picture.view(made, ["fork_join"])
        self.assertEqual([name for name, _ in alone["rows"]], ["fib"])
        self.assertEqual([cell["text"] for cell in alone["rows"][0][1]], ["+ ×0.20–0.25", "= ×1.00", "− ×0.50–2.00"])
        both = picture.view(made, ["fork_join", "hive"])
        self.assertEqual([name for name, _ in both["rows"]], ["fork_join: fib", "hive: fib"])
        self.assertEqual([cell["kind"] for cell in both["rows"][1][1]], ["bad"] * 3)
        self.assertEqual(picture.file("dark", ["fork_join"], ["fork_join", "hive"]), "matrix-fork_join-dark.svg")
        self.assertEqual(picture.file("light", ["hive"], ["hive"]), "matrix.svg")


if __name__ == "__main__":
    unittest.main()
