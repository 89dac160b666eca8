"""Fork and join: answers of trees and loops."""

from __future__ import annotations

import json

from .subject import Case, listed, CONTRACT, ONE_BLOCK

class ForkJoin(Case):
    """Answers of golden.json; the row's sum is right only if every answer was."""

    def test_answers(self) -> None:
        golden = json.loads((CONTRACT / "golden.json").read_text(encoding="utf-8"))["answer"]
        most = {"fib": 10, "tree_sum": 1023, "skynet": 1000, "nqueens": 6, "uts": 3, "matmul": 64}
        for case in golden:
            if case["value"] <= most[case["scenario"]]:
                with self.subTest(**case):
                    self.run_ok(case["scenario"], 3, "--param", "ops=3", "--param",
                                f"{case['parameter']}={case['value']}", *ONE_BLOCK)

    def test_a_row_tells_how_many_forks_or_nodes_an_operation_has(self) -> None:
        golden = json.loads((CONTRACT / "golden.json").read_text(encoding="utf-8"))["forks"]
        for case in (case for case in golden if case["forks"] < 1000 and case["scenario"] in listed()):
            words = ("fib", "n", "forks", case["forks"]) if case["scenario"] == "fib" else (
                "tree_sum", "nodes", "nodes", case["value"])
            with self.subTest(**case):
                row = self.run_ok(words[0], 5, "--param", "ops=5", "--param", f"{words[1]}={case['value']}", *ONE_BLOCK)
                self.assertEqual(row["flags"], f"{words[2]}_per_op={words[3]}")

    def test_the_slow_down_stands_behind_each_computation(self) -> None:
        for scenario, param in (("tree_sum", "nodes=1023"), ("fib", "n=14")):
            if scenario in listed():
                with self.subTest(scenario=scenario):
                    words = ("--param", "ops=7", "--param", param, *ONE_BLOCK, "--slowdown-ns", 2_000_000)
                    row = self.run_ok(scenario, 7, *words)
                    self.assertGreaterEqual(int(row["wall_ns"]), 7 * 2_000_000)

    def test_refusals(self) -> None:
        for scenario, param in (("skynet", "leaves=20"), ("matmul", "n=96"), ("nqueens", "n=21"), ("fib", "n=61"),
                                ("tree_sum", "nodes=1024")):
            with self.subTest(scenario=scenario):
                self.assert_refused(param.partition("=")[2], scenario, param)

    def test_each_loop_gives_the_right_answer(self) -> None:
        for scenario, *params in (("loop_empty",), ("loop_for", "n=1000"), ("loop_for", "n=1", "iterations=1"),
                                  ("loop_for", "n=1000", "lengths=pareto"), ("loop_reduce", "n=1000"),
                                  ("loop_reduce", "n=999", "lengths=pareto"), ("loop_scan", "n=1"),
                                  ("loop_scan", "n=9999"), ("loop_sort", "n=2"), ("loop_sort", "n=10000")):
            if scenario in listed():
                with self.subTest(scenario=scenario, params=params):
                    words = [word for param in ("ops=3", *params) for word in ("--param", param)]
                    self.run_ok(scenario, 3, *words, *ONE_BLOCK)
        self.assert_refused("lengths", "loop_for", "lengths=normal")

    def test_the_slow_down_follows_each_loop(self) -> None:
        row = self.run_ok("loop_empty", 7, "--param", "ops=7", *ONE_BLOCK, "--slowdown-ns", 2_000_000)
        self.assertGreaterEqual(int(row["wall_ns"]), 7 * 2_000_000)
