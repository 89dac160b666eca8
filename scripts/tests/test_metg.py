"""METG(50 %) from rows: where the curve of efficiency over granularity comes to a half."""

from __future__ import annotations

import unittest

from apiary_cli.analysis import metg


def row(subject: str, iterations: int, each: float, **given: str) -> dict[str, str]:
    """`each` nanoseconds of a task, of which the graph has 100."""
    params = f"iterations={iterations};pattern=chain;workers=2" if iterations else "pattern=chain;workers=2"
    usual = {"scenario": "graph", "scenario_params": params, "placement": "free", "status": "ok", "row_kind": "measure", "workers": "2"}
    return usual | {"subject": subject, "ns_per_op": str(100 * each), "flags": "tasks_per_op=100;edges_per_op=99"} | given


class Metg(unittest.TestCase):
    def test_a_straight_line_between_two_points(self) -> None:
        # Granularity from 100 to 400, efficiency from 1/8 to 1: a half is two of three doublings along.
        self.assertEqual(metg.crossing([(100.0, 0.125), (400.0, 1.0)]), f"{100 * 4 ** (2 / 3):.0f}")
        self.assertEqual(metg.crossing([(100.0, 0.1), (200.0, 0.5), (400.0, 0.9)]), "200")

    def test_a_curve_that_never_comes_to_a_half_gives_a_bound(self) -> None:
        self.assertEqual(metg.crossing([(100.0, 0.1), (200.0, 0.4)]), "> 200")
        self.assertEqual(metg.crossing([(100.0, 0.6), (200.0, 0.9)]), "≤ 100")

    def test_the_table_takes_the_floor_of_one_thread_and_medians(self) -> None:
        rows = [row("machine", n, n or 2.0) for n in (0, 64, 256)]
        for n, each in ((0, 50.0), (64, 80.0), (256, 160.0)):  # of two workers: granularity 100, 160, 320
            rows += [row("hive", n, each), row("hive", n, 10 * each), row("hive", n, each / 10)]
        rows += [row("hive", 256, 1.0, status="wrong"), row("hive-aa", 0, 1.0, row_kind="control")]
        share_64, share_256 = 64 / 160, 256 / 320
        self.assertLess(share_64, 0.5)
        self.assertGreater(share_256, 0.5)
        told = metg.crossing([(160.0, share_64), (320.0, share_256)])
        self.assertEqual(metg.table(rows), ["| METG(50 %), ns | hive |", "|---|---|", f"| pattern chain workers 2 | {told} |"])

    def test_a_point_that_names_no_workers_has_those_of_its_race(self) -> None:
        def told(params: str, **given: str) -> str:
            rows = [row("machine", n, n or 2.0, scenario_params=f"iterations={n};{params}", **given) for n in (0, 64, 256)]
            rows += [row("hive", n, each, scenario_params=f"iterations={n};{params}", **given) for n, each in ((0, 50.0), (64, 80.0), (256, 160.0))]
            return metg.table(rows)[-1].split("|")[2]

        self.assertEqual(told("pattern=chain", workers="4"), told("pattern=chain;workers=4", workers="2"))
        self.assertNotEqual(told("pattern=chain", workers="4"), told("pattern=chain", workers="1"))

    def test_one_length_of_tasks_or_no_floor_gives_no_line(self) -> None:
        self.assertEqual(metg.table([row("machine", 0, 2.0), row("hive", 0, 50.0)]), [])
        self.assertEqual(metg.table([row("hive", 0, 50.0), row("hive", 64, 80.0)]), [])
        self.assertEqual(metg.table([row("machine", 0, 2.0, scenario="fib", flags="forks_per_op=3")]), [])


if __name__ == "__main__":
    unittest.main()
