"""What the injector made is never ranked: which figures that is, what is left out, and what that may not decide."""

from __future__ import annotations

import unittest

from apiary_cli.base import stats
from apiary_cli.race import metrics, tables
from apiary_cli.analysis import comparing, matrix

from . import points

P50, P99 = (next(m for m in metrics.LATENCY if m.column == f"lat_{name}_ns") for name in ("p50", "p99"))


def run(subject: str, number: int, ns: float, flags: str = "", role: str = "") -> dict[str, str]:
    return dict.fromkeys(tables.ROWS, "") | {
        "scenario": "post_latency", "scenario_params": "rate=1000", "placement": "free", "row_kind": "measure",
        "subject": subject, "role": role or ("candidate" if subject == "hive" else "peer"), "batch": "1",
        "round": str(number), "status": "ok", "lat_p50_ns": str(ns), "lat_p99_ns": str(10 * ns), "flags": flags,
    }


def rows(spoilt: int, whose: str = "tokio", ns: float = 10_000, flag: str = "injector_limited_p50") -> list[dict]:
    """20 rounds, the hive at half of tokio's time; in the first ones the injector made `ns` of `whose`."""
    out = []
    for n in range(20):
        for subject, usual in (("hive", 5_000), ("tokio", 10_000)):
            mine = n < spoilt and subject == whose
            out.append(run(subject, n, (ns if mine else usual) + n, f"{flag};injector_us=1" if mine else "injector_us=1"))
    return points.copied(out)


def one(table: list[dict[str, str]], metric=P50) -> comparing.Comparison:
    return next(c for c in comparing.compare(table) if c.claim and c.metric == metric)


class Injector(unittest.TestCase):
    def test_each_percentile_is_judged_by_itself_and_old_folders_have_one_word_for_all(self) -> None:
        for flags, limited in (
            ("injector_limited_p50;injector_us=3", (True, False)),
            ("injector_limited_p99", (False, True)),
            ("injector_limited;compute_tasks=5", (True, True)),
            ("injector_limited_p999;injector_plain;overloaded", (False, False)),
            ("", (False, False)),
        ):
            found = run("hive", 1, 1, flags)
            self.assertEqual((comparing.limited(found, P50), comparing.limited(found, P99)), limited, flags)

    def test_a_spoilt_pair_is_left_out_as_a_pair_and_counted_for_each_side(self) -> None:
        found = one(rows(7))
        self.assertEqual((found.found.n, len(found.pairs), found.ranked), (13, 13, True))
        self.assertEqual(found.flags, ["pairs_dropped=7/20", "injector_limited_tokio=7/20"])
        self.assertEqual(found.verdict, stats.IMPROVED)
        other = one(rows(7), P99)
        self.assertEqual((other.found.n, other.flags), (20, []), "its p99 was the subject's own")

    def test_more_than_half_of_the_pairs_must_be_left(self) -> None:
        self.assertTrue(one(rows(10)).ranked)
        found = one(rows(11))
        self.assertEqual((found.ranked, found.verdict, found.found.n), (False, stats.INCONCLUSIVE, 20))
        self.assertEqual(found.flags[0], "not_ranked")

    def test_what_only_the_dropping_shows_is_not_claimed(self) -> None:
        # As if the hive kept the injector from running in every other round, and was slow there.
        found = one(rows(9, "hive", 40_000))
        self.assertEqual((found.verdict, found.flags[0]), (stats.INCONCLUSIVE, "dropping_decides"))
        self.assertAlmostEqual(found.found.ratio, 0.5, places=2)

    def test_a_rate_that_was_not_reached_is_the_subjects_own(self) -> None:
        found = one(rows(5, flag="overloaded"))
        self.assertEqual((found.found.n, found.flags, found.verdict), (20, ["overloaded=5/40"], stats.IMPROVED))

    def test_a_table_says_how_many_pairs_a_line_left_out(self) -> None:
        self.assertEqual(matrix.left_out([one(rows(n)) for n in (2, 3, 11)]), " · at most 3 of 20 pairs left out")
        self.assertFalse(one(rows(11)).ranked)
        self.assertEqual(matrix.left_out([one(rows(0))]), "")


if __name__ == "__main__":
    unittest.main()
