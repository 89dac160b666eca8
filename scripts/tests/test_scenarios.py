"""The list of scenarios as data: what it holds, and how a slip in it is answered."""

from __future__ import annotations

import tempfile
import tomllib
import unittest
from pathlib import Path

from apiary_cli.base import source_names
from apiary_cli.base.errors import Fault
from apiary_cli.race import eta, plans, scenarios
from apiary_cli.race.arithmetic import Sum

from . import points

LIST = """\
[frame.blocks]
metric_class = "makespan"
metrics = ["time"]
required = ["ops", "check"]
run_s = "blocks * block_ms / 1000 + min(1, n)"
[scenario.fib]
frame = "blocks"
parameters = ["n", "ops"]
what = "A tree."
poor = "A spawn is dear."
defaults = { n = 27 }
brief = { n = 18 }
"""


class Read(unittest.TestCase):
    def read(self, text: str) -> dict[str, scenarios.Scenario]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scenarios.toml"
            path.write_text(text)
            return scenarios.read(path)

    def test_a_scenario_has_the_keys_of_its_frame_and_its_own(self) -> None:
        one = self.read(LIST)["fib"]
        self.assertEqual((one.metric_class, one.required, one.frame), ("makespan", ("ops", "check"), "blocks"))
        self.assertEqual((one.brief, one.calibrated, one.slow_every), ((("n", "18"),), False, 64))
        own = self.read(LIST + 'metric_class = "latency"\ncalibrated = true\n')["fib"]
        self.assertEqual((own.metric_class, own.calibrated), ("latency", True))

    def test_a_time_is_of_what_the_scenario_counts(self) -> None:
        words = [[metric.what for metric in self.read(text)["fib"].metrics_at("one_cpu")]
                 for text in (LIST, LIST + 'operation = "computation"\n')]
        self.assertEqual(words, [["processor time per task", "time per task"],
                                 ["processor time per computation", "time per computation"]])
        one = self.read(LIST + 'operation = "computation"\n')["fib"].metrics_at("one_cpu")[0]
        self.assertTrue(one.gates, "whatever it is called")

    def test_what_nobody_reads_is_refused(self) -> None:
        for text, seen, told in (
            (LIST + "calibratd = true\n", "no key of the scenario fib 'calibratd'", "did you mean 'calibrated'"),
            (LIST.replace("required", "requird"), "no key of the frame blocks 'requird'", "did you mean 'required'"),
            ("scenarios = 1\n" + LIST, "no key of the list of scenarios 'scenarios'", "did you mean 'scenario'"),
            (LIST.replace('frame = "blocks"', 'frame = "block"'), "no frame 'block'", "did you mean 'blocks'"),
            (LIST.replace('"time"', '"tim"'), "no metric 'tim'", "timer_cost"),
            (LIST.replace('"check"]', '"chek"]'), "no column of a subject's row 'chek'", "did you mean 'check'"),
            (LIST.replace("makespan", "speed"), "no metric class 'speed'", "throughput"),
            (LIST.replace("{ n = 18 }", "{ m = 18 }"), "no parameter in brief of fib 'm'", "ops"),
            (LIST + 'words = ["m"]\n', "no parameter of fib 'm'", "ops"),
            (LIST + 'words = ["n"]\n', "no parameter in defaults of fib 'n'", "ops"),
        ):
            with self.subTest(seen), self.assertRaises(Fault) as caught:
                self.read(text)
            self.assertIn(seen, caught.exception.text())
            self.assertIn(told, caught.exception.text())
            self.assertEqual(caught.exception.code, 2)

    def test_bad_values_are_answered_with_a_remedy(self) -> None:
        for text, seen in (
            ("", "it has no scenario"),
            (LIST.replace('what = "A tree."\n', ""), "the scenario fib has no what"),
            (LIST.replace('"A tree."', "3"), "what of fib is 3"),
            (LIST.replace("{ n = 18 }", "{ n = -1 }"), "n in brief of fib is -1"),
            (LIST + "calibrated = 1\n", "calibrated of fib is 1"),
            (LIST + "open_loop = true\n", "the scenario fib has no parameter rate"),
            (LIST.replace("[scenario.fib]", '[scenario."fib 2"]'), "a scenario is called 'fib 2'"),
            (LIST.replace('["ops", "check"]', "[]"), "required of the frame blocks is empty"),
            (LIST.replace("defaults = { n = 27 }\n", ""), "run_s of fib names n"),
            (LIST.replace("min(1, n)", "seconds"), "run_s of fib names seconds"),
            (LIST.replace("min(1, n)", "__import__('os')"), "is neither a number, a name"),
            (LIST.replace("min(1, n)", "2 **"), "it cannot be read"),
            ("[frame", "is no TOML"),
        ):
            with self.subTest(seen), self.assertRaises(Fault) as caught:
                self.read(text)
            self.assertIn(seen, caught.exception.text())
            self.assertIn("remedy: ", caught.exception.text())
            self.assertEqual(caught.exception.code, 2)
        with self.assertRaises(Fault) as caught:
            scenarios.read(Path("/no/such/list.toml"))
        self.assertIn("/no/such/list.toml cannot be read", caught.exception.text())

    def test_sums(self) -> None:
        self.assertEqual(Sum("1 + 2 * min(x, 4, 7) / max(2, 1)").value({"x": 5}), 5.0)
        self.assertEqual(Sum("a - (b - 1)").names, {"a", "b"})
        self.assertEqual(Sum("1 / n").value({"n": 0}), 0.0)
        for text in ("a if b else c", "f(1)", "min(1)", "x.y", "'a'", "True", "a < b", "[1]", "-1", ""):
            with self.subTest(text), self.assertRaises(ValueError):
                Sum(text)


class Ours(unittest.TestCase):
    def test_each_way_to_run_has_its_forecast(self) -> None:
        plan = plans.plan("wide")
        for one, seconds in (
            (points.throughput(1), (2 + 3 + 3) * 0.1),
            (points.latency(1000, 2.5), 2.5),
            (points.timers(5000, 100, 12_500), 0.625),
            (points.blocks("wake_chain", ops=12_500, sleep_us=100), 1.25),
            (points.blocks("idle_cpu", rate=0, seconds=2), 2.1),
            (points.blocks("idle_cpu"), 10.1),
            (points.POSTS, 0.0),
        ):
            self.assertAlmostEqual(eta.guess(plan, one) - eta.PROCESS, seconds, msg=one.label)

    def test_each_point_is_in_its_file_once(self) -> None:
        for path in plans.FOLDER.glob("*.toml"):
            told = tomllib.loads(path.read_text())
            if "point" in told:
                self.assertEqual(len(told["point"]), len(plans.plan(path.stem).points), f"{path.name} has a point twice")

    def test_each_plan_says_what_it_is_and_races_what_the_tree_can_build(self) -> None:
        for plan in plans.every():
            self.assertTrue(plan.what and plan.takes, plan.name)
            self.assertLessEqual(set(plan.subjects), source_names.subjects(), plan.name)

    def test_smoke_is_wide_in_brief(self) -> None:
        smoke, wide = plans.plan("smoke").points, plans.plan("wide").points
        self.assertEqual(*({(p.scenario, p.placement, p.workers) for p in some} for some in (smoke, wide)))
        self.assertTrue(all(dict(p.scenario.brief).items() <= dict(p.params).items() for p in smoke))
        self.assertIn("fib n=18", [p.label for p in smoke])
        self.assertEqual(max(p.plan_seconds for p in smoke), plans.BRIEF_SECONDS)

    def test_fork_join_is_raced_by_those_that_have_it(self) -> None:
        plan = plans.plan("forkjoin")
        forked = {name for name, one in scenarios.SCENARIOS.items() if one.answer_first} - {"graph", "graph_again"}
        forked -= {name for name in forked if name.startswith("loop_")}
        self.assertEqual({p.scenario.name for p in plan.points}, forked | {"steal_pressure"})
        self.assertLessEqual({"hive", "rayon", "tokio", "onetbb", "openmp", "libomp", "asio", "asio_awaitable", "go"}, set(plan.subjects))

    def test_loops_are_raced_by_those_that_have_them(self) -> None:
        plan = plans.plan("loops")
        self.assertEqual({p.scenario.name for p in plan.points}, {name for name in scenarios.SCENARIOS if name.startswith("loop_")})
        self.assertEqual({dict(p.params).get("lengths") for p in plan.points}, {None, "equal", "pareto"})
        self.assertLessEqual({"fork_join", "onetbb", "std_par", "openmp", "libomp", "rayon"}, set(plan.subjects))

    def test_messages_are_raced_by_those_that_have_processes_at_one_worker_and_two(self) -> None:
        plan = plans.plan("messages")
        others = {"chameneos", "big", "bounded_buffer", "idle_processes", "restart_storm"}
        names = {name for name in scenarios.SCENARIOS if name.startswith("msg_")} | others
        no_time = {("msg_count", 2), ("idle_processes", 1)}
        self.assertEqual({(p.scenario.name, p.workers) for p in plan.points}, {(name, n) for name in names for n in (1, 2)} - no_time)
        wide = [p for p in plans.plan("wide").points if p.scenario.name in {name for name, _ in no_time}]
        self.assertEqual({(p.scenario.name, p.workers) for p in wide}, {("msg_count", None), ("idle_processes", None), ("idle_processes", 1)})
        self.assertLessEqual({"caf", "boost_fiber", "erlang", "go", "tokio", "ractor", "actix", "machine"}, set(plan.subjects))
        idle = {p.workers: dict(p.params)["processes"] for p in (*plan.points, *wide) if p.scenario.name == "idle_processes"}
        self.assertEqual(idle, {1: "1000000", 2: "25000", None: "100000"})

    def test_graphs_are_raced_in_every_pattern_and_at_lengths_that_give_a_metg(self) -> None:
        plan = plans.plan("graphs")
        told = [dict(p.params) for p in plan.points]
        told_in_the_treaty = (scenarios.LIST.parent / "CLI.md").read_text().partition("| pattern | producers")[2].partition("\n\n")[0]
        patterns = {line.split("`")[1] for line in told_in_the_treaty.splitlines() if "`" in line}
        self.assertEqual({one["pattern"] for one in told}, patterns)
        self.assertGreaterEqual(len({one.get("iterations", "0") for one in told if one["pattern"] == "stencil_1d"}), 5)
        self.assertLessEqual({"openmp", "libomp", "onetbb", "starpu", "tokio", "go", "machine"}, set(plan.subjects))
