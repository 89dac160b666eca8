"""Plans: what they hold, how long they take, and plans of one's own."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import stats
from apiary_cli.base.errors import Fault
from apiary_cli.race import eta, plans, tables
from apiary_cli.analysis import summary

from . import points
from .support import REAL_ROOT, TreeCase


TOKIO = (
    *(f"spawn_many_{kind}" for kind in ("local", "remote_idle", "remote_busy1", "remote_busy2")),
    *("ping_pong", "yield_many", "chained_spawn", "remote_spawn"),
)
BARE = ("steal_pressure", "timer_lateness", "post_latency", "fib", "uts")  # what the machine has a control of


class BuiltIn(unittest.TestCase):
    def seconds(self, name: str) -> float:
        """By arithmetic, as if every subject could do everything, with the A/A copy."""
        plan = plans.plan(name)
        arms = len(set(plan.subjects) - {"machine"}) + 1
        bare = {p: "machine" in plan.subjects and p.scenario.name in BARE for p in plan.points}
        runs = {p: plan.batches * plan.rounds * p.times * (arms + p.controlled + bare[p]) for p in plan.points}
        return eta.Eta(plan, runs).left()

    def test_plans_fit_their_limits(self) -> None:
        for name, share in (("quick", 1.0), ("publish", 1.2)):
            with self.subTest(name):
                self.assertLess(self.seconds(name), share * plans.plan(name).limit)

    def test_a_point_that_some_rounds_leave_out_has_pairs_enough(self) -> None:
        for plan in plans.every():
            for point in plan.points:
                if point.every != 1:
                    rounds_of = sum(point.runs_in(number) for number in range(1, plan.rounds + 1))
                    self.assertGreaterEqual(rounds_of * point.times, stats.LEAST_PAIRS, f"{plan.name} {point.label}")

    def test_quick_races_the_first_peers(self) -> None:
        self.assertEqual(plans.plan("quick").subjects, ("hive", "global_queue", "tokio", "tokio-mimalloc", "onetbb"))

    def test_four_workers_and_a_load_curve(self) -> None:
        points = plans.plan("publish").points
        self.assertIn(4, {p.workers for p in points})
        rates = {dict(p.params)["rate"] for p in points if p.scenario.name == "latency_vs_load"}
        self.assertGreaterEqual(len(rates), 3)

    def test_publish_fills_the_table_that_is_published(self) -> None:
        plan = plans.plan("publish")
        self.assertEqual(plan.subjects, (*plans.plan("quick").subjects, "asio", "moodycamel_pool", "machine"))
        self.assertLessEqual(
            {"successor", "post_latency", "targeted_latency", "targeted_throughput", "steal_pressure", "mixed_load", *BARE, *TOKIO},
            {p.scenario.name for p in plan.points},
        )
        posts = {
            (dict(p.params)["producers"], p.workers, p.placement) for p in plan.points if p.scenario.name == "post_throughput"
        }
        self.assertEqual(posts, {("1", None, "free"), ("2", None, "free"), ("2", 4, "free"), ("1", None, "one_cpu")})
        self.assertIn(points.POSTS, plan.points, "the burst on one processor")
        self.assertLessEqual(set(points.PINNED), set(plan.points))
        delays = {dict(p.params)["delay_us"] for p in plan.points if p.scenario.name == "timer_lateness"}
        self.assertEqual(delays, {"1000", "16000"})

    def test_publish_is_ten_rounds_twice_and_fits_40_minutes(self) -> None:
        plan = plans.plan("publish")
        self.assertEqual((plan.limit, plan.least_rounds, plan.rounds, plan.batches), (2400.0, 10, 10, 2))
        self.assertLess(self.seconds("publish"), 0.9 * plan.limit)

    def test_publish_never_has_fewer_than_ten_rounds(self) -> None:
        plan = plans.plan("publish")
        with self.assertRaises(Fault) as caught:
            plans.narrowed(plan, [], 9, None)
        self.assertIn("10 rounds in each batch at least", caught.exception.text())
        self.assertEqual(plans.narrowed(plan, [], 10, None).rounds, 10)
        self.assertEqual(plans.narrowed(plan, [], None, None, 5.0).least_rounds, 10, "a limit does not go below it")
        self.assertEqual(plans.narrowed(plan, [], 3, None, None, None, ["steal_pressure"]).rounds, 3, "one point again")

    def test_a_limit_given_by_hand(self) -> None:
        quick = plans.plan("quick")
        self.assertEqual(plans.narrowed(quick, [], 3, None).limit, None)
        both = plans.narrowed(quick, [], 30, None, 2.0, 20)
        self.assertEqual((both.limit, both.rounds, both.least_rounds, both.block_ms), (120.0, 30, quick.least_rounds, 20))

    def test_the_words_of_a_limit_do_not_promise_an_end(self) -> None:
        """The least rounds run whatever the limit."""
        told = summary.rounds_line({"rounds_of_batches": [5, 5], "rounds_planned": 10, "limit_s": 720.0})
        self.assertTrue(told.endswith("5 and 5 (a batch each) of 10 planned for each batch, because none beyond the least begins after 12 min 00 s"), told)

    def test_each_block_class_has_a_slow_down_control(self) -> None:
        for name in ("quick", "publish"):
            points = plans.plan(name).points
            for kind in {p.scenario.metric_class for p in points} & {"throughput", "makespan"}:
                self.assertTrue(any(p.controlled for p in points if p.scenario.metric_class == kind), kind)


class Pacing(unittest.TestCase):
    def test_the_guess_gives_way_to_what_was_measured(self) -> None:
        plan = plans.plan("quick")
        one, two = plan.points[0], plan.points[2]
        found = eta.Eta(plan, {one: 10, two: 4})
        self.assertAlmostEqual(found.left(), 10 * eta.guess(plan, one) + 4 * eta.guess(plan, two))
        found.note(one, 3.0)
        found.note(one, 5.0)
        self.assertAlmostEqual(found.left(), 8 * 4.0 + 4 * eta.guess(plan, two))
        found.note(one, 1.0, again=True)  # a disturbed round's: as many are left as before
        self.assertAlmostEqual(found.left(), 8 * 3.0 + 4 * eta.guess(plan, two))

    def test_what_runs_beside_an_open_loop_takes_its_time(self) -> None:
        plan = plans.plan("publish")
        alone = points.latency(1000, 1.25)
        for longer, seconds in (
            (points.blocks("mixed_load", lasts=1.25, rate=1000), 1.25 / 4 + 0.02),
            (points.latency(1000, 1.25, respawners=4, task_us=1000), 0.1),
            (points.latency(1000, 1.25, respawners=0), 0.0),
        ):
            self.assertAlmostEqual(eta.guess(plan, longer) - eta.guess(plan, alone), seconds, msg=longer.label)


class Own(unittest.TestCase):
    def read(self, text: str, name: str = "mine.toml") -> plans.Plan:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_text(text)
            return plans.read(path)

    def test_the_example_of_the_methodology(self) -> None:
        text = (REAL_ROOT / "METHODOLOGY.md").read_text()
        plan = self.read(re.search(r"```toml\n(.*?)```", text, re.S)[1])
        self.assertEqual((plan.rounds, plan.batches, plan.block_ms, plan.limit), (20, 2, 50, 1800.0))
        self.assertEqual(plan.subjects, ("hive", "tokio"))
        self.assertEqual(
            [p.label for p in plan.points],
            [
                "post_throughput batch=16;producers=2;workers=4",
                "post_throughput batch=1;producers=1 one_cpu",
                "latency_vs_load rate=50000;scale=10;service=exponential",
            ],
        )
        self.assertEqual([p.plan_seconds for p in plan.points], [0.0, 0.0, 0.5])

    def test_what_it_does_not_say_is_as_in_quick(self) -> None:
        plan, quick = self.read('[[point]]\nscenario = "successor"\n'), plans.plan("quick")
        self.assertEqual((plan.rounds, plan.blocks, plan.block_ms), (quick.rounds, quick.blocks, quick.block_ms))
        self.assertEqual((plan.subjects, plan.limit, plan.least_rounds), ((), None, quick.rounds))

    def test_rivals_and_workers_are_of_the_point_and_no_parameters(self) -> None:
        text = '[[point]]\nscenario = "successor"\nworkers = 4\nrivals = 2\n'
        (point,) = self.read(text).points
        self.assertEqual((point.workers, point.rivals, point.label), (4, 2, "successor rivals=2;workers=4"))
        for name in plans.RUNNERS:
            with self.subTest(name), self.assertRaises(Fault) as caught:
                self.read(f'[[point]]\nscenario = "successor"\nparams = {{ {name} = 2 }}\n')
            self.assertIn(f"no parameter of successor '{name}'", caught.exception.text())

    def test_a_point_may_be_of_every_second_round(self) -> None:
        (point,) = self.read('[[point]]\nscenario = "successor"\nevery = 2\n').points
        self.assertEqual([number for number in range(1, 6) if point.runs_in(number)], [1, 3, 5])

    def test_two_points_of_one_name_are_refused(self) -> None:
        for text in ('[[point]]\nscenario = "successor"\nblocks = 3\n[[point]]\nscenario = "successor"\nblocks = 9\n',
                     '[[point]]\nscenario = "post_latency"\nseconds = 0.2\nparams = {rate = 100}\n'
                     '[[point]]\nscenario = "post_latency"\nseconds = 0.2\nplacement = "one_cpu"\nparams = {rate = 100}\n'):
            with self.assertRaisesRegex(Fault, "stands in it twice"):
                self.read(text)

    def test_points_of_another_plan(self) -> None:
        gate = plans.plan("gate").points
        plan = self.read('points_of = "gate"\n[[point]]\nscenario = "fib"\nblocks = 7\ntimes = 2\nparams = { n = 27 }\n')
        self.assertEqual([p.label for p in plan.points], [*(p.label for p in gate), "fib n=27"])
        self.assertEqual([(p.times, p.measured) for p in plan.points], [*((p.times, p.measured) for p in gate), (2, 7)])
        self.assertEqual(self.read('points_of = "gate"\n', "gate.toml").points, gate, "of the same name, and no circle")
        brief = self.read('points_of = "quick"\nbrief = true\n[[point]]\nscenario = "fib"\nparams = { n = 27 }\n')
        self.assertEqual(brief.points[-1].label, "fib n=18")
        self.assertEqual(max(p.plan_seconds for p in brief.points), 0.2)

    def test_points_of_each_other(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(plans, "FOLDER", Path(folder)):
            (Path(folder) / "one.toml").write_text('rounds = 1\npoints_of = "two"\n')
            (Path(folder) / "two.toml").write_text('rounds = 1\npoints_of = "one"\n')
            with self.assertRaises(Fault) as caught:
                plans.read(Path(folder) / "one.toml")
        self.assertIn("one.toml: points_of leads in a circle: one → two → one", caught.exception.text().replace("two.toml", "one.toml"))

    def test_quick_says_all_that_others_need_not(self) -> None:
        text = (plans.FOLDER / "quick.toml").read_text()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(plans, "FOLDER", Path(folder)):
            path = Path(folder) / "quick.toml"
            for key in ("block_ms", "gates"):
                path.write_text(re.sub(rf"(?m)^{key} = .*$", "", text))
                with self.subTest(key), self.assertRaises(Fault) as caught:
                    plans.read(path)
                self.assertIn(f"it has no {key}", caught.exception.text())

    def test_unknown_names_are_answered_with_those_that_exist(self) -> None:
        point = '[[point]]\nscenario = "post_latency"\nseconds = 1\nparams = { rate = 1000 }\n'
        for text, seen, told in (
            ("round = 3\n" + point, "no key of a plan 'round'", "did you mean 'rounds'"),
            (point + "second = 2\n", "no key of a point 'second'", "placement"),
            (point.replace("post_latency", "post_latenci"), "no scenario 'post_latenci'", "post_latency"),
            (point.replace("rate =", "rat ="), "no parameter of post_latency 'rat'", "rate"),
            (point + 'placement = "two_cpus"\n', "no placement 'two_cpus'", "one_cpu"),
            ('points_of = "gat"\n', "no plan 'gat'", "did you mean 'gate'"),
        ):
            with self.subTest(seen), self.assertRaises(Fault) as caught:
                self.read(text)
            self.assertIn(seen, caught.exception.text())
            self.assertIn(told, caught.exception.text())
            self.assertEqual(caught.exception.code, 2)

    def test_bad_values(self) -> None:
        point = '[[point]]\nscenario = "post_latency"\nseconds = 1\nparams = { rate = 1000 }\n'
        for text in (
            "",
            "rounds = 0\n" + point,
            "rounds = true\n" + point,
            "gates = 1\n" + point,
            'subjects = "hive"\n' + point,
            point.replace("seconds = 1\n", ""),
            point.replace("rate = 1000", ""),
            point.replace("rate = 1000", "rate = 1.5"),
            point + "workers = 0\n",
            point + "rivals = 0\n",
            point + "rivals = 65\n",
            '[[point]]\nscenario = "successor"\nseconds = 1\n',
            "rounds = = 1",
            "limit_minutes = 0\n" + point,
            'limit_minutes = "4"\n' + point,
            "brief = 1\n" + point,
            "points_of = 3\n" + point,
            point + "times = 0\n",
            point + "blocks = 1001\n",
            point.replace("rate = 1000", 'rate = "fast"'),
            '[[point]]\nscenario = "latency_vs_load"\nseconds = 1\nparams = { rate = 1000, service = 7 }\n',
        ):
            with self.subTest(text), self.assertRaises(Fault):
                self.read(text)


class Racing(TreeCase):
    def test_a_plan_of_one_s_own(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"}, {"name": "crowd"})
        path = self.root / "mine.toml"
        path.write_text('rounds = 2\nsubjects = ["hive", "tokio"]\n[[point]]\nscenario = "post_throughput"\nworkers = 3\n')
        done = self.race("--plan", str(path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not in this plan: crowd", done.stdout)
        self.assertRegex(done.stdout, r"about .* by arithmetic")
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        self.assertEqual({(r["workers"], r["scenario_params"]) for r in rows}, {("3", "workers=3")})
        self.assertEqual({r["subject"] for r in rows}, {"hive", "tokio", "hive-aa", "hive-slow10"})

    def test_an_unknown_plan(self) -> None:
        done = self.race("--plan", "fast")
        self.assertEqual(done.returncode, 2)
        self.assertIn("publish", done.stderr)
        done = self.race("--plan", "none.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.toml cannot be read", done.stderr)
