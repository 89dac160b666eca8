"""The report's sections across points: latency against load, scaling, stability, exact counts."""

from __future__ import annotations

import re
import shlex
import tempfile
import unittest
from pathlib import Path

from apiary_cli import main
from apiary_cli.base.errors import Fault
from apiary_cli.race import plans, subjects, tables
from apiary_cli.report import page_curves, page_data
from apiary_cli.report.page_data import Report

from . import points
from apiary_cli.verbs import race


def row(subject: str, scenario: str, params: str, number: int, **columns: str) -> dict[str, str]:
    return (
        dict.fromkeys(tables.ROWS, "")
        | {
            "scenario": scenario,
            "scenario_params": params,
            "placement": "free",
            "subject": subject,
            "role": "candidate" if subject == "hive" else "peer",
            "row_kind": "measure",
            "batch": "1",
            "round": str(number),
            "status": "ok",
        }
        | columns
    )


def report(rows: list[dict[str, str]], env: dict | None = None) -> Report:
    made = Report(Path("."), env or {"race": {"workers": 2}, "machine": {"cpus": 2}}, rows, [], {}, [], [])
    made.roles = {r["subject"]: r["role"] for r in rows}
    made.colours = {name: f"c{i}" for i, name in enumerate(made.roles)}
    return made


class Curves(unittest.TestCase):
    def test_latency_against_load_marks_what_the_injector_limited(self) -> None:
        rows = [
            row(who, "post_latency", f"rate={rate}", n, lat_p50_ns=str(5000 + rate), flags=flag)
            for who in ("hive", "tokio")
            for rate, flag in ((1000, "injector_limited"), (10_000, ""), (100_000, ""))
            for n in (1, 2, 3)
        ]
        text = page_curves.load_curves(report(rows))
        self.assertIn("p50 against offered load", text)
        self.assertEqual(text.count('class="hollow'), 2)
        self.assertEqual(text.count('class="mark'), 4)
        self.assertEqual(text.count('class="span'), 6, "each with its interval")
        self.assertEqual(text.count("<polyline"), 2)
        for drawn in re.findall(r'<polyline points="([^"]*)"', text):
            self.assertEqual(len(drawn.split()), 2, "a line passes through a hollow mark")
        self.assertNotIn("p99 against", text, "no p99 was printed, so none is drawn")

    def test_what_scenarios_count_in_flags_is_shown_by_medians(self) -> None:
        rows = [
            row("hive", "mixed_load", "rate=1000", n, flags=f"injector_us=9;compute_tasks=8;compute_ns=7;compute_lost_ppm={lost}")
            for n, lost in enumerate((-2000, 31_000, 45_000))
        ] + [row("tokio", "idle_cpu", "rate=0;seconds=1", 1, flags="idle_switches=7")]
        text = page_curves.figures(report(rows))
        self.assertIn('compute throughput lost to the posts</td><td class="">hive</td><td class="n">3.1 %</td>', text)
        self.assertIn("-0.2 % to 4.5 %", text)
        self.assertIn('context switches while idle</td><td class="">tokio</td><td class="n">7</td>', text)
        self.assertEqual(page_curves.figures(report([row("hive", "successor", "", 1, flags="", maxrss_kib="9")])), "")

    def test_the_mean_time_until_a_task_ran_elsewhere_is_shown_where_one_did(self) -> None:
        flags = ("elsewhere_ppm=9;bytes_each=8;lat_mean_ns=17980", "elsewhere_ppm=0;bytes_each=8", "lat_mean_ns=18020")
        counts = ("3", "0", "1")
        rows = [row("hive", "steal_pressure", "work_ns=100", n, flags=f, lat_count=counts[n], blocks="3") for n, f in enumerate(flags)]
        text = page_curves.figures(report(rows))
        self.assertIn('first task ran elsewhere, where one did (4 of 9 blocks)</td><td class="">hive</td><td class="n">18.0 µs</td>', text)
        self.assertIn("18.0 µs to 18.0 µs", text)

    def test_memory_is_shown_of_a_task_that_waits_and_of_programs_that_fork(self) -> None:
        rows = [row("hive", "fib", "n=27", n, flags="", maxrss_kib=str(kib)) for n, kib in enumerate((2048, 3072, 9216))]
        rows += [row("hive", "steal_pressure", "", 1, flags="elsewhere_ppm=0;bytes_each=112", maxrss_kib="7")]
        text = page_curves.figures(report(rows))
        self.assertIn('at its most</td><td class="">hive</td><td class="n">3.0 MiB</td><td class="n">2.0 MiB to 9.0 MiB', text)
        self.assertIn('for each that waits</td><td class="">hive</td><td class="n">112</td>', text)
        self.assertEqual(text.count("at its most"), 1)

    def test_wakes_and_switches_for_each_task_only_where_the_process_is_its_tasks(self) -> None:
        alone = {"blocks": "1", "warmup_blocks": "0", "ops": "1000", "nvcsw": "2500", "nivcsw": "10"}
        rows = [
            row("hive", "post_latency", "rate=1000", 1, wakes="1250", **alone),
            row("tokio", "post_latency", "rate=1000", 1, **alone),
            row("hive", "post_throughput", "producers=1", 1, wakes="777", **(alone | {"blocks": "3"})),
        ]
        text = page_curves.per_task(report(rows))
        self.assertIn('<td class="n">1.25</td><td class="n">2.50</td><td class="n">0.01</td>', text)
        self.assertIn('<td class="n"></td><td class="n">2.50</td>', text, "tokio does not count its wakes")
        self.assertNotIn("post_throughput", text)
        self.assertEqual(page_curves.per_task(report(rows[2:])), "")

    def test_two_rates_are_no_curve(self) -> None:
        rows = [row("hive", "post_latency", f"rate={r}", 1, lat_p50_ns="5") for r in (1, 2)]
        self.assertEqual(page_curves.load_curves(report(rows)), "")

    def test_points_that_differ_in_another_parameter_too_are_no_curve(self) -> None:
        rows = [row("hive", "post_latency", f"rate={r};task_us={r}", 1, lat_p50_ns="5") for r in (1, 2, 3)]
        self.assertEqual(page_curves.load_curves(report(rows)), "")

    def test_scaling_counts_the_race_s_own_workers(self) -> None:
        rows = [
            row("hive", "post_throughput", params, n, ns_per_op=ns)
            for params, ns in (("batch=1;producers=1", "30"), ("batch=1;producers=1;workers=4", "45"))
            for n in (1, 2, 3)
        ]
        text = page_curves.scaling(report(rows))
        self.assertIn("hive, 2: 30.0 ns", text)
        self.assertIn("hive, 4: 45.0 ns", text)
        self.assertNotIn("ideal", text, "two CPUs: no line of perfect scaling from two workers on")
        self.assertIn(">workers</text>", text)
        wide = {"race": {"workers": 2}, "machine": {"cpus": 8}}
        self.assertIn("ideal, 4: 15.0 ns", page_curves.scaling(report(rows, wide)))

    def test_granularity_is_drawn_where_a_graph_has_several_lengths_of_tasks(self) -> None:
        rows = [
            row(who, "graph", f"{params}pattern=chain;workers=2", 1, ns_per_op=ns, flags="tasks_per_op=100;edges_per_op=99")
            for who, params, ns in (
                ("machine", "", "200"),
                ("machine", "iterations=400;", "40000"),
                ("hive", "", "10000"),
                ("hive", "iterations=400;", "25000"),
            )
        ]
        text = page_curves.granularity(report(rows))
        self.assertIn("pattern chain workers 2: METG", text)
        self.assertIn("hive, 200: 1 %", text)
        self.assertIn("hive, 500: 80 %", text)
        self.assertEqual(text.count("<polyline"), 2, "its line, and the one at a half")
        self.assertRegex(text, r"METG\(50 %\), ns: hive 4\d\d\.")
        self.assertEqual(page_curves.granularity(report(rows[:3])), "")

    def test_stability(self) -> None:
        values = ("30", "31", "30", "60", "61", "60")
        rows = [
            row("hive", "post_throughput", "batch=1;producers=1", n, ns_per_op=v, steady="0" if n == 1 else "1")
            for n, v in enumerate(values, 1)
        ]
        text = page_curves.stability(report(rows))
        self.assertIn("1 of 6", text)
        self.assertIn('<td class="n">2</td>', text)

    def test_exact_counts_only_where_recorded(self) -> None:
        self.assertEqual(page_curves.exact_counts(report([])), "")
        figure = {"driver": "queue_exact", "operation": "push", "count": "instructions", "per_operation": 12.5}
        env = {"verification": {"exact": {"key": "g++-12", "figures": [figure]}}}
        self.assertIn("12.50", page_curves.exact_counts(report([], env)))


class PointWithWorkers(unittest.TestCase):
    def test_it_goes_to_the_option_and_not_to_the_parameters(self) -> None:
        point = points.with_workers(points.throughput(1), 4)
        words = subjects.command(Path("s"), point, 2, 1, block_ms=1, blocks=1, warmup_blocks=1)
        self.assertEqual(words[words.index("--workers") + 1], "4")
        self.assertNotIn("workers=4", words)
        self.assertEqual(point.params_text, "batch=1;producers=1;workers=4")

    def test_the_commands_of_the_report_say_it(self) -> None:
        key = ("post_throughput", "batch=1;producers=1;workers=4", "free")
        made = report([row("hive", *key[:2], 1, ns_per_op="1")])
        bare = page_data.subject_command(made, key, "hive")
        self.assertIn("--param batch=1 --param producers=1 --workers 4", bare)

    def test_the_command_of_a_point_races_that_point_alone(self) -> None:
        for name, overrides in (
            ("publish", []), ("quick", []), ("wide", []), ("quick", ["--placement", "free", "--block-ms", "9"])
        ):
            raced = self.plan_of(["--plan", name, *overrides])
            for point in raced.points:
                key = (point.scenario.name, point.params_text, point.placement)
                made = report([], {"race": {"plan": name, "workers": 2, "rounds": 3, "block_ms": raced.block_ms}})
                words = shlex.split(page_data.race_command(made, key, ["hive"]))
                self.assertEqual(words[:2], ["scripts/apiary", "race"])
                again = self.plan_of(words[2:])
                self.assertEqual((again.points, again.block_ms, again.rounds), ((point,), raced.block_ms, 3), words)

    def test_the_command_of_a_point_has_the_paths_that_the_race_was_given(self) -> None:
        """A plan of one's own is known here by its name alone, and so is a program from elsewhere."""
        with tempfile.TemporaryDirectory() as folder:
            path, program, key = Path(folder) / "mine.toml", "/tmp/a pool/bin/subject_tiny_pool", ("successor", "", "one_cpu")
            path.write_text('rounds = 3\n[[point]]\nscenario = "successor"\n')
            ran = shlex.join(["scripts/apiary", "race", "--plan", str(path), f"--program={program}", "--placement", "one_cpu", "--block-ms", "9"])
            arm = {"label": "tiny_pool", "program": "subject_tiny_pool"}
            made = report([], {"race": {"plan": path.name, "rounds": 3, "block_ms": 9, "command": ran, "arms": [arm]}})
            words = shlex.split(page_data.race_command(made, key, ["tiny_pool"]))
            args = main.parse("race", words[2:])
            self.assertEqual((args.plan, args.program, args.subject), (str(path), [program], ["tiny_pool"]))
            again = race.chosen_plan(args)
            self.assertEqual(([point.key for point in again.points], again.block_ms), ([key], 9))
        self.assertIn(f"{program} run --scenario", page_data.subject_command(made, key, "tiny_pool"))
        made.race["plan"] = "quick"
        self.assertIn("--plan quick", page_data.race_command(made, key, ["tiny_pool"]))

    def plan_of(self, words: list[str]) -> plans.Plan:
        return race.chosen_plan(main.parse("race", words))

    def test_an_unknown_point_is_answered_with_those_that_exist(self) -> None:
        with self.assertRaises(Fault) as caught:
            self.plan_of(["--plan", "publish", "--point", "fib one_cpu"])
        self.assertIn("post_throughput batch=1;producers=2;workers=4", caught.exception.text())


if __name__ == "__main__":
    unittest.main()
