"""The time of a fork or a node: the row's time of an operation over what it says that an operation has."""

from __future__ import annotations

import unittest

from apiary_cli.analysis import summary, units
from apiary_cli.race.metrics import unit_of


def row(**given: str) -> dict[str, str]:
    usual = {"scenario": "fib", "scenario_params": "n=20;workers=2", "placement": "free", "status": "ok"}
    return usual | {"row_kind": "measure", "subject": "rayon", "ns_per_op": "21890", "flags": "forks_per_op=10945"} | given


class Units(unittest.TestCase):
    def test_a_flag_tells_the_unit_and_how_many(self) -> None:
        for flags, found in (
            ("forks_per_op=10945", ("fork", 10945)),
            ("disturbed;nodes_per_op=1023", ("node", 1023)),
            ("nodes_per_op=1023;disturbed", ("node", 1023)),
            ("messages_per_op=80000", ("message", 80000)),
            ("spawns_per_op=1000;bytes_each=2640", ("spawn", 1000)),
            ("tasks_per_op=8000;edges_per_op=23978;answer=5", ("task", 8000)),
            ("", None),
            ("forks_per_op=0", None),  # a leaf alone: there is no fork to share its time
            ("my_forks_per_op=3", None),
        ):
            with self.subTest(flags):
                self.assertEqual(unit_of(row(flags=flags)), found)

    def test_the_table_has_the_median_of_good_rows_by_point_and_subject(self) -> None:
        rows = [
            row(),
            row(ns_per_op="43780"),
            row(ns_per_op="10945"),
            row(ns_per_op="1", status="wrong"),
            row(ns_per_op="1", row_kind="control", subject="rayon-aa"),
            row(subject="chili", ns_per_op="2046", scenario="tree_sum", scenario_params="nodes=1023", flags="nodes_per_op=1023"),
            row(subject="hive", scenario="post_throughput", flags=""),
        ]
        self.assertEqual(
            units.table(rows),
            [
                "| median ns | of a | chili | rayon |",
                "|---|---|---|---|",
                "| `fib` n 20, workers 2 | fork | – | 2.00 |",
                "| `tree_sum` nodes 1023 | node | 2.00 | – |",
            ],
        )

    def test_points_stand_by_size_and_a_race_has_the_workers_of_all(self) -> None:
        numbers = ("16", "4", "1")
        rows = [row(scenario_params=f"n=20;workers={number}", workers=number) for number in numbers]
        told = [line.split("|")[1].split()[-1] for line in units.table(rows)[2:]]
        self.assertEqual(told, ["1", "4", "16"])
        self.assertEqual(summary.workers_line(rows), "1, 4 and 16 workers")

    def test_rows_that_tell_of_none_give_no_table(self) -> None:
        self.assertEqual(units.table([row(flags="")]), [])


if __name__ == "__main__":
    unittest.main()
