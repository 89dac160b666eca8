"""A whole race with fake subjects: the folder it leaves, its controls, and how it takes failures."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import time
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

from apiary_cli import main
from apiary_cli.base import repo, stats
from apiary_cli.base.errors import Fault
from apiary_cli.race import metrics, plans, rounds, row_checks, subjects, tables
from apiary_cli.analysis import comparing
from apiary_cli.verbs import entrants, race as race_verb, report

from . import fakes, points
from .support import TreeCase, comes_true, processes_of
from .test_report_curves import row

FILES = {"env.json", "rows.csv", "compare.csv", "hist.csv", "report.html", "summary.md"}


class OneReading(TreeCase):
    def test_what_is_told_of_a_race_comes_from_the_one_reading_of_its_folder(self) -> None:
        self.subjects({"name": "hive"})
        done = self.race(*self.one_point(), "--rounds", "5")
        folder = self.result()
        pages = {name: (folder / name).read_bytes() for name in ("report.html", "summary.md")}
        read = report.write(folder)
        self.assertEqual({name: (folder / name).read_bytes() for name in pages}, pages, "the pages can be made again")
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            race_verb.tell(race_verb.Outcome(Path("gone"), 0, read))
        lines = told.getvalue().splitlines()
        self.assertIn("report: gone/report.html", lines)
        self.assertLessEqual({line for line in lines if "Batch:" in line or "rounds" in line}, set(done.stdout.splitlines()))
        self.assertIn("Batch:", told.getvalue())


class GoodRace(TreeCase):
    def test_a_race_leaves_a_whole_folder(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        done = self.race("--rounds", "5")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Batch: VALID\n  not for publication: a batch has 5 rounds, 10 are the least that is published", done.stdout)
        folder = self.result()
        self.assertLessEqual(FILES, {path.name for path in folder.iterdir()})
        self.assertFalse(list((self.root / "results").glob(".tmp-*")))
        self.assertIn(f"report: results/{folder.name}/report.html", done.stdout)
        self.rounds_and_arms(folder)
        self.comparisons(folder)
        self.environment(folder)

    def rounds_and_arms(self, folder: Path) -> None:
        rows = [r for r in tables.read(folder / "rows.csv", tables.ROWS) if r["status"] == "ok"]
        self.assertEqual({r["subject"] for r in rows}, {"hive", "tokio", "hive-aa", "hive-slow10"})
        self.assertEqual(
            {(r["subject"], r["role"], r["row_kind"]) for r in rows},
            {
                ("hive", "candidate", "measure"),
                ("tokio", "peer", "measure"),
                ("hive-aa", "aa", "control"),
                ("hive-slow10", "slow10", "control"),
            },
        )
        runs = Counter((r["placement"], r["scenario"], r["scenario_params"], r["subject"]) for r in rows)
        times = {"free": 1, "one_cpu": points.POSTS.times}
        self.assertEqual({(key[0], n) for key, n in runs.items()}, {(name, 5 * n) for name, n in times.items()})
        for key in {(r["placement"], r["scenario"], r["scenario_params"], r["round"]) for r in rows}:
            group = [r for r in rows if (r["placement"], r["scenario"], r["scenario_params"], r["round"]) == key]
            self.assertEqual(len({r["seed"] for r in group}), 1, "one seed, hence one plan, for all arms of a round")
            self.assertEqual(sorted(int(r["arm_order"]) for r in group), list(range(len(group))))
        blocks = {r["blocks"] for r in rows if (r["placement"], r["scenario"]) == ("one_cpu", "post_throughput")}
        self.assertEqual(blocks, {str(points.POSTS.measured)}, "a point that says how many is measured so")
        orders = {
            tuple(r["subject"] for r in rows if r["round"] == n and r["scenario_params"] == "batch=1;producers=2")
            for n in "12345"
        }
        self.assertGreater(len(orders), 1, "the order of the arms is shuffled")
        hist = tables.read(folder / "hist.csv", tables.HIST)
        self.assertEqual({r["scenario"] for r in hist}, {"post_latency", "timer_lateness"})

    def comparisons(self, folder: Path) -> None:
        found = {
            (r["scenario_params"], r["placement"], r["metric"], r["candidate"], r["baseline"]): r
            for r in tables.read(folder / "compare.csv", tables.COMPARE)
        }
        one = found["batch=1;producers=1", "free", "ns_per_op", "hive", "tokio"]
        self.assertEqual(one["verdict"], stats.IMPROVED)
        self.assertAlmostEqual(float(one["ratio"]), 1 / 3, delta=0.02)
        slow = found["batch=1;producers=1", "free", "ns_per_op", "hive-slow10", "hive"]
        self.assertEqual(slow["verdict"], stats.REGRESSED)
        self.assertIn("control", found["batch=1;producers=1", "free", "ns_per_op", "hive-aa", "hive"]["flags"])
        gate = found[points.POSTS.params_text, "one_cpu", "cpu_ns_per_op", "hive-slow10", "hive"]
        self.assertEqual((gate["verdict"], gate["n_pairs"]), (stats.REGRESSED, str(5 * points.POSTS.times)))
        self.assertAlmostEqual(float(gate["ratio"]), 1.1, delta=0.015)

    def environment(self, folder: Path) -> None:
        env = json.loads((folder / "env.json").read_text())
        rows = tables.read(folder / "rows.csv", tables.ROWS)
        self.assertEqual({r["env_id"] for r in rows}, {env["env_id"]})
        self.assertEqual(env["race"]["seed"], 7)
        self.assertEqual(env["race"]["rounds"], 5)
        self.assertNotIn(str(self.root), (folder / "env.json").read_text(), "no path of this machine")

    def test_a_point_of_every_second_round(self) -> None:
        self.subjects({"name": "hive"})
        words = self.one_point()
        path = Path(words[1])
        path.write_text(path.read_text() + "every = 2\n")
        self.assertEqual(self.race(*words, "--rounds", "4").returncode, 0)
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        self.assertEqual({r["round"] for r in rows if r["status"] == "ok"}, {"1", "3"})

    def test_a_limit_leaves_the_least_rounds(self) -> None:
        self.subjects({"name": "hive"})
        words = self.one_point()
        path = Path(words[1])
        path.write_text("least_rounds = 2\n" + path.read_text().replace("rounds = 1\n", "rounds = 3\n"))
        done = self.race(*words, "--limit", "0.0001")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(", but a batch has 2 at least\n", done.stdout)
        self.assertIn("rounds: 2 of 3 planned for each batch, because none beyond the least begins after", done.stdout)

    def test_two_races_leave_two_folders(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"})
        for _ in range(2):
            self.assertEqual(self.race(*self.one_point()).returncode, 0)
        self.assertEqual(len(list((self.root / "results").iterdir())), 2)

    def test_a_stranger_s_program(self) -> None:
        self.subjects({"name": "hive"})
        other = fakes.subject(self.root / "elsewhere", "mine")
        self.assertEqual(self.race("--program", str(other), *self.one_point()).returncode, 0)
        self.assertIn("mine", {r["subject"] for r in tables.read(self.result() / "rows.csv", tables.ROWS)})

    def test_a_floor_is_a_distance_and_no_peer(self) -> None:
        self.subjects(
            {"name": "hive"},
            {"name": "tokio", "ns": 130.0},
            {"name": "machine", "ns": 50.0, "scenarios": ("post_throughput",)},
            {"name": "machine_calls", "ns": 80.0, "scenarios": ("post_throughput",)},
            {"name": "machine_rust", "ns": 90.0, "scenarios": ("post_throughput",)},
        )
        done = self.race("--rounds", "5", "--scenario", "post_throughput", "--scenario", "timer_lateness")
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = self.result()
        roles = {r["subject"]: r["role"] for r in tables.read(folder / "rows.csv", tables.ROWS)}
        self.assertEqual(roles, roles | dict.fromkeys(tables.FLOORS, "bare") | {"hive": "candidate", "tokio": "peer"})
        every = tables.read(folder / "compare.csv", tables.COMPARE)
        found = [r for r in every if r["candidate"].startswith("machine") or r["baseline"].startswith("machine")]
        free = [r for r in found if r["placement"] == "free" and r["scenario_params"] == "batch=1;producers=1"]
        self.assertEqual({(r["candidate"], r["baseline"], r["verdict"], r["p_bh"]) for r in free},
                         {(name, floor, "", "") for name in ("hive", "tokio") for floor in tables.FLOORS})
        self.assertTrue(all("bare" in r["flags"].split(";") for r in found))
        ratios = {r["baseline"]: float(r["ratio"]) for r in free if r["candidate"] == "hive"}
        self.assertAlmostEqual(ratios["machine"], 2.0, delta=0.05)
        self.assertAlmostEqual(ratios["machine_calls"], 1.25, delta=0.03)
        for shown in (r"machine \(.* ns\): hive ×\d\.\d+ \[.*\], tokio ×2\.\d+", r"machine_calls \(.* ns\): hive ×1\.\d+ \[.*\], tokio ×1\.\d+"):
            self.assertRegex(done.stdout, "time per task, over the floor " + shown)
        summed, page = (folder / "summary.md").read_text(), (folder / "report.html").read_text()
        self.assertIn("## How far from the bare machine", summed)
        self.assertIn("How far from the bare machine</h3>", page)
        self.assertIn("<title>hive against tokio</title>", page)
        for text in (summed, done.stdout):
            self.assertNotRegex(text, r"(?m)^(\| )?machine(_calls)? [^|]|of machine|machine(_calls)? cannot express")

    def test_what_a_subject_does_not_list_is_said(self) -> None:
        self.subjects({"name": "hive"}, {"name": "pool", "scenarios": ("post_throughput",)})
        self.assertEqual(self.race("--rounds", "1").returncode, 0)
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        self.assertEqual(
            {r["scenario"] for r in rows if (r["subject"], r["status"]) == ("pool", "unsupported")},
            {p.scenario.name for p in plans.plan("quick").points} - {"post_throughput"},
        )


class BadSubjects(TreeCase):
    def test_bad_subjects_get_error_rows_and_the_others_go_on(self) -> None:
        self.subjects(
            {"name": "hive"},
            {"name": "crasher", "behaviour": "crash"},
            {"name": "hanger", "behaviour": "hang"},
            {"name": "babbler", "behaviour": "malformed"},
            {"name": "liar", "behaviour": "wrong_check"},
        )
        done = self.race(*self.one_point(), "--timeout", "10", "--rounds", "2")
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        times = Counter(r["subject"] for r in rows if r["status"] != "disturbed")
        self.assertEqual((times["hanger"], times["crasher"]), (1, 2), "nobody waits twice for a peer that has hung")
        self.assertEqual(
            {(r["subject"], r["status"]) for r in rows if r["status"] != "disturbed"},
            {
                ("hive", "ok"),
                ("hive-aa", "ok"),
                ("hive-slow10", "ok"),
                ("crasher", "crash"),
                ("hanger", "hang"),
                ("babbler", "malformed"),
                ("liar", "wrong"),
            },
        )
        for text in ("crasher: ", "hanger: ", "babbler: ", "liar: "):
            self.assertIn(text, done.stdout)
            self.assertIn(text, (self.result() / "summary.md").read_text())
        self.assertTrue(comes_true(lambda: not processes_of(self.root)), "the hanging subject and its child are gone")

    def test_a_shifted_histogram_is_found_out(self) -> None:
        self.subjects({"name": "hive"}, {"name": "shifter", "behaviour": "shifted_histogram"})
        done = self.race("--rounds", "1", "--scenario", "post_latency")
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        told = {(r["subject"], r["status"], r["error"][:10]) for r in rows if r["subject"] in ("hive", "shifter")}
        told -= {("hive", "disturbed", "")}
        self.assertEqual(told, {("hive", "ok", ""), ("shifter", "malformed", "histogram:")})
        hist = tables.read(self.result() / "hist.csv", tables.HIST)
        self.assertNotIn("shifter", {r["subject"] for r in hist})

    def test_a_subject_without_a_version_reddens_the_race(self) -> None:
        self.subjects({"name": "hive"}, {"name": "mute", "behaviour": "no_version"})
        done = self.race(*self.one_point())
        self.assertEqual(done.returncode, 1)
        self.assertIn("refused", done.stderr)
        self.assertNotIn("mute", {r["subject"] for r in tables.read(self.result() / "rows.csv", tables.ROWS)})

    def test_slower_than_a_peer_is_no_error_but_slower_than_the_baseline_is(self) -> None:
        hive, _ = self.subjects({"name": "hive", "ns": 150.0}, {"name": "tokio", "ns": 100.0})
        done = self.race("--rounds", "8", *self.one_point())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"slower, or spends more, in post_throughput batch=1;producers=1 one_cpu: ×1\.(49|5)")
        old = fakes.subject(self.root / "old_hive", "hive", ns=100.0)
        done = self.race("--rounds", "8", "--subject", "hive", "--baseline", str(old), *self.one_point())
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("a second batch must agree", done.stdout)

    def test_a_stranger_s_project_is_gated_by_its_older_build(self) -> None:
        slow = fakes.subject(self.root / "new" / "mine", "mine", ns=150.0)
        old = fakes.subject(self.root / "old" / "mine", "mine", ns=100.0)
        words = ("--rounds", "8", "--subject", "mine", *self.one_point())
        done = self.race("--program", str(slow), "--baseline", str(old), *words)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("a second batch must agree", done.stdout)
        done = self.race("--program", str(old), "--baseline", str(old), *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        other = fakes.subject(self.root / "old" / "other", "other")
        done = self.race("--program", str(old), "--baseline", str(other), *words)
        self.assertEqual(done.returncode, 2, "a baseline of nobody gates nothing")
        self.assertIn("other", done.stderr)


class Order(unittest.TestCase):
    def comparison(self, kind: str, ratio: float, n: int = 9, scenario: str = "s") -> comparing.Comparison:
        pairs = [(100.0 * ratio * (1 + 0.001 * i), 100.0) for i in range(n)]
        one = comparing.Comparison(
            (scenario, "", "free"),
            metrics.THROUGHPUT[0],
            comparing.Pairing("a", "b", kind),
            stats.estimate(pairs, resamples=200),
            pairs,
        )
        one.verdict = stats.verdict(one.found, one.margin, "lower")
        return one

    def test_validity(self) -> None:
        good = [self.comparison("aa", 1.0), self.comparison("slow10", 1.1)]
        self.assertEqual(comparing.validity(good).word, comparing.VALID)
        self.assertEqual(comparing.validity([self.comparison("aa", 1.2), good[1]]).word, comparing.INVALID)
        self.assertEqual(comparing.validity([good[0], self.comparison("slow10", 0.99)]).word, comparing.INVALID)
        self.assertEqual(comparing.validity([good[0], self.comparison("slow10", 1.02)]).word, comparing.VALID, "within the margin")
        self.assertEqual(comparing.validity([good[0]]).word, comparing.VALID)
        self.assertEqual(comparing.validity([]).word, comparing.NONE)

    def test_an_unequal_pair_voids_its_own_point_and_many_void_the_batch(self) -> None:
        points = [self.comparison("aa", 1.2 if name == "a" else 1.0, scenario=name) for name in "abcd"]
        claims = {name: dataclasses.replace(self.comparison("peer", 0.5, scenario=name), copied="b") for name in "ab"}
        comparing.void_failed_points(points + list(claims.values()))
        self.assertEqual(claims["a"].verdict, stats.INCONCLUSIVE)
        self.assertIn("control_failed", claims["a"].flags)
        self.assertEqual(claims["b"].verdict, stats.IMPROVED)
        self.assertEqual(comparing.validity(points).word, comparing.VALID, "one of four")
        bad = [self.comparison("aa", 1.2, scenario=name) for name in "efg"]
        found = comparing.validity(points + bad)
        self.assertEqual(found.word, comparing.INVALID)
        self.assertIn("4 of 7 A/A pairs differ, more than chance allows", found.reasons[0])
        good = [self.comparison("aa", 1.0, scenario=name) for name in "hijklmnopqr"]
        self.assertEqual(comparing.validity(points + bad + good).word, comparing.VALID, "four of eighteen")

    def test_each_candidate_is_judged_by_its_own_copy(self) -> None:
        def raced(*lacking: str, **figures: float) -> list[comparing.Comparison]:
            """Two candidates against tokio, steady but for the copy of `wide`."""
            usual = {"narrow": 100.0, "wide": 100.0, "tokio": 120.0, "narrow-aa": 100.0, "wide-aa": 100.0} | figures
            rows = [
                row(name, "fib", "n=27", n, ns_per_op=str(ns * (1.3 ** (-1) ** n if name == "wide-aa" else 1)),
                    role="aa" if name.endswith("-aa") else "peer" if name == "tokio" else "candidate")
                for name, ns in usual.items() if name not in lacking for n in range(10)
            ]
            return comparing.compare(rows + [row(name, "fib", "n=27", 1, role="aa", status="crash") for name in lacking if name == "wide-aa"])

        def told(found: list[comparing.Comparison]) -> dict[str, tuple]:
            return {one.ours: (one.verdict, one.copied, one.flags) for one in found if one.claim}

        found = raced()
        self.assertEqual(told(found), {
            "narrow": (stats.IMPROVED, "narrow", []), "wide": (stats.INCONCLUSIVE, "wide", []),
        })
        self.assertGreater(next(one.margin for one in found if one.ours == "wide"), 0.25)
        differing = raced(**{"narrow-aa": 110.0})
        self.assertEqual(told(differing)["narrow"], (stats.INCONCLUSIVE, "narrow", ["control_failed"]))
        self.assertEqual(told(raced(**{"narrow-aa": 110.0, "wide": 50.0, "wide-aa": 50.0}))["wide"][:2], (stats.IMPROVED, "wide"))
        self.assertIn("1 of 2 equal", comparing.equal_text([one for one in differing if one.pairing.kind == "aa"]))
        crashed = raced("wide-aa")
        self.assertEqual(told(crashed)["wide"], (stats.INCONCLUSIVE, "", ["no_control"]))
        self.assertIn(" at 1 of 2 points", comparing.validity(crashed).tells)
        old = raced("narrow-aa")
        self.assertEqual(told(old)["narrow"], (stats.INCONCLUSIVE, "wide", ["borrowed_control"]), "a folder of one copy")
        none = raced("narrow-aa", "wide-aa")
        self.assertEqual({verdict for verdict, *_ in told(none).values()}, {stats.INCONCLUSIVE})

    def test_an_unseen_slow_down_widens_the_margin_and_forbids_equivalence(self) -> None:
        def noisy(kind: str, ratio: float) -> comparing.Comparison:
            one = self.comparison(kind, ratio)
            pairs = [(100.0 * ratio * (1.3 if i % 2 else 1 / 1.3), 100.0) for i in range(9)]
            return dataclasses.replace(one, found=stats.estimate(pairs, resamples=200), pairs=pairs)

        claims = [self.comparison("peer", 1.0), self.comparison("peer", 0.9), self.comparison("peer", 0.3)]
        seen = comparing.with_verdicts([self.comparison("aa", 1.0), self.comparison("slow10", 1.1), *claims])
        self.assertEqual([one.verdict for one in seen[2:]], [stats.EQUIVALENT, stats.IMPROVED, stats.IMPROVED])
        blind = comparing.with_verdicts([self.comparison("aa", 1.0), noisy("slow10", 1.1), *claims])
        self.assertEqual([one.verdict for one in blind[2:]], [stats.INCONCLUSIVE, stats.INCONCLUSIVE, stats.IMPROVED])
        self.assertIn("ten_percent_unseen", blind[2].flags)
        found = comparing.validity(blind)
        self.assertEqual(found.word, comparing.INVALID, "seen nowhere")
        found = comparing.validity([*blind, self.comparison("slow10", 1.1, scenario="other")])
        self.assertEqual(found.word, comparing.VALID, "where nothing is pinned, a point that is blind is that point's matter")

    def test_exit_codes(self) -> None:
        ok, bad = {"status": "ok", "subject": "a"}, {"status": "hang", "subject": "a"}
        invalid = [self.comparison("aa", 1.2)]
        self.assertEqual(race_verb.exit_code(plans.plan("quick"), [ok], [], []), 0)
        self.assertEqual(race_verb.exit_code(plans.plan("quick"), [ok], invalid, []), 0, "quick warns")
        self.assertEqual(race_verb.exit_code(plans.plan("publish"), [ok], invalid, []), 4)
        self.assertEqual(race_verb.exit_code(plans.plan("publish"), [ok, bad], invalid, []), 1)
        self.assertEqual(race_verb.exit_code(plans.plan("quick"), [], [], []), 3)
        self.assertEqual(race_verb.exit_code(plans.plan("quick"), [ok], [], ["a proof failed"]), 1)

    def test_who_runs_in_which_role(self) -> None:
        def subject(name: str, own: bool) -> subjects.Subject:
            return subjects.Subject(name, "1", "c++", "", Path("x"), (), own)

        def roles(*given: tuple[str, bool]) -> list[tuple[str, str]]:
            return [
                (label, role) for _, role, label in entrants.line_up([subject(*one) for one in given], None, True)
            ]

        self.assertEqual(
            roles(("global_queue", True), ("tokio", False), ("hive", True)),
            [
                ("global_queue", "peer"),
                ("tokio", "peer"),
                ("hive", "candidate"),
                ("hive-aa", "aa"),
                ("hive-slow10", "slow10"),
            ],
        )
        self.assertEqual(roles(("global_queue", True), ("tokio", False))[0], ("global_queue", "candidate"))
        self.assertEqual(roles(("tokio", False))[1], ("tokio-aa", "aa"), "controls qualify any batch")
        several = roles(("fork_join", True), ("rayon", False), ("coro_pool", True), ("global_queue", True))
        self.assertEqual(several[4:], [("fork_join-aa", "aa"), ("coro_pool-aa", "aa"), ("fork_join-slow10", "slow10")])

    def test_the_forecast_counts_the_copy_of_each_candidate(self) -> None:
        found = [subjects.Subject(name, "1", "c++", "", Path("x"), ("post_throughput",), name != "tokio") for name in ("hive", "mine", "tokio")]
        arms = [subjects.Arm(one, role, Path("x"), label) for one, role, label in entrants.line_up(found, None, True)]
        plan = dataclasses.replace(plans.plan("smoke"), points=(points.throughput(1),), rounds=5)
        runs = rounds.runs_of(rounds.Race(plan, arms, 2, 7, "", "", "", Path("x")), 2)
        self.assertEqual(list(runs.values()), [2 * 5 * (3 + 2 + 1)])

    def test_the_controls_copy_the_first_of_ours_that_the_plan_names(self) -> None:
        built = [subjects.Subject(name, "1", "c++", "", Path(name), (), name != "tokio") for name in ("hive", "task_graph", "tokio")]
        for words, first in (([], "task_graph"), (["--subject", "hive", "--subject", "task_graph"], "hive")):
            with (
                mock.patch.object(entrants, "existing_programs", return_value=[]),
                mock.patch.object(subjects, "discover", return_value=(built, [])),
                mock.patch.object(entrants, "refuse_other_source"),
            ):
                found, _ = entrants.gather(main.parse("race", ["--no-build", *words]), ("task_graph", "tokio", "hive"))
            self.assertEqual(entrants.line_up(found, None, True)[-1][2], f"{first}-slow10")

    def test_what_is_given_by_name_is_on_trial(self) -> None:
        ours = subjects.Subject("hive", "1", "c++", "", Path("x"), (), True)
        mine = subjects.Subject("mine", "1", "c++", "", Path("/mine"), ())

        def candidates(given: list[Path], old: subjects.Subject | None = None) -> list[str]:
            return [one.name for one in entrants.on_trial([ours, mine], given, old)]

        self.assertEqual(candidates([]), ["hive"])
        self.assertEqual(candidates([Path("/mine")]), ["mine"])
        self.assertEqual(candidates([Path("/mine")], ours), ["hive"], "an older build says of whom")
        with self.assertRaises(Fault):
            candidates([], dataclasses.replace(mine, name="another"))

    def test_an_older_build_is_the_baseline_of_its_own_subject_alone(self) -> None:
        rows = [
            {"subject": name, "role": role}
            for name, role in (("hive", "candidate"), ("mine", "candidate"), ("mine-base", "baseline"), ("tokio", "peer"))
        ]
        found = {(one.candidate, one.baseline, one.kind) for one in comparing.pairings(rows)}
        self.assertEqual(found, {("hive", "tokio", "peer"), ("mine", "tokio", "peer"), ("mine", "mine-base", "baseline")})

    def test_the_slow_down_is_measured_where_its_effect_is_large(self) -> None:
        for per_ns in (0.00001, 0.001, 0.05):
            slowdown, share = rounds.lever(lambda ns, _: per_ns * ns, 500)
            self.assertTrue(0.3 <= share <= 1.0, f"{per_ns}: {slowdown} ns, {share}")
        self.assertEqual(rounds.lever(lambda ns, _: -0.01 if ns < 100 else 0.4, 30), (300, 0.4), "noise")
        self.assertIsNone(rounds.lever(lambda ns, _: None, 8))
        self.assertEqual(rounds.on_the_line((100, 0.06), (500, 0.5), 0.10), 136)
        self.assertEqual(rounds.on_the_line((100, 0.12), (500, 0.52), 0.10), 80, "counting costs something, too")
        self.assertEqual(rounds.on_the_line((500, 0.5), (500, 0.5), 0.10), 500)
        self.assertEqual(rounds.on_the_line((61665, 0.1943), (499335, 0.8097), 0.10), 30832, "noise; the line says -5404")
        self.assertIsNone(rounds.lever(lambda ns, _: 0.0, 8), "what no slow-down reaches has no control")

    def test_the_search_for_a_slow_down_begins_at_the_length_of_a_task_and_not_of_its_whole_graph(self) -> None:
        point = next(p for p in plans.plan("graphs").points if dict(p.params).get("iterations") == "4096")
        plain, tasks, longest = 8e6, 4000, []

        def trial(race: rounds.Race, point: plans.Point, arm: subjects.Arm, slowdown: int, seed: int) -> dict[str, str]:
            longest.append(plain + slowdown * tasks / 64 / 2)
            return {"status": "ok", "ns_per_op": str(longest[-1]), "flags": f"tasks_per_op={tasks};edges_per_op=1"}

        arm = mock.Mock(subject=mock.Mock())
        with mock.patch.object(rounds, "trial", trial):
            (made,) = rounds.calibrate(mock.Mock(), point, arm)
        self.assertLess(max(longest), 3 * plain, "an operation that takes seconds ends in the time limit")
        self.assertAlmostEqual(made["slowdown_ns"], 0.1 * plain / (tasks / 64 / 2), delta=1000)
        flags = {"flags": "forks_per_op=1000"}
        self.assertEqual(rounds.first_slowdown(plans.SCENARIOS["fib"], 1000.0, flags), 500, "after each computation")
        self.assertEqual(rounds.first_slowdown(plans.SCENARIOS["successor"], 1000.0, {"flags": ""}), 32_000)

    def test_what_a_disturbance_repeats_leaves_the_rounds_behind_it_as_they_were(self) -> None:
        plan = dataclasses.replace(plans.plan("smoke"), points=(points.throughput(1), points.throughput(2)), rounds=3)
        one = subjects.Subject("hive", "1", "c++", "", Path("x"), ("post_throughput",))
        arms = [subjects.Arm(one, "peer", Path("x"), label) for label in "abc"]

        def seeds(disturbed: bool) -> list[tuple]:
            seen: dict[tuple, None] = {}

            def measure(_race, point, _arm, _batch, number, _order, seed, _plan, padding):
                seen[number, point.label, seed, padding] = None
                return {"status": "ok", "flags": ""}, [], disturbed

            with mock.patch.object(rounds, "measure", measure):
                race = rounds.Race(plan, arms, 2, 7, "", "", "", Path("x"))
                rounds.run_batch(race, 1, lambda *_: None)
            self.assertEqual(race.repeats, 6 * rounds.REPEATS * disturbed)
            return list(seen)

        self.assertEqual(len(seeds(False)), 6)
        self.assertEqual(seeds(True), seeds(False))

    def sharpened(self, most: int, noise: dict[str, float], **more) -> rounds.Race:
        """A race of two free points, of which the runs of one producer have this noise by arm."""
        plan = dataclasses.replace(plans.plan("smoke"), points=(points.throughput(1), points.throughput(2)), rounds=10,
                                   least_rounds=10, most_rounds=most, batches=1)
        one = subjects.Subject("hive", "1", "c++", "", Path("x"), ("post_throughput",))
        arms = [subjects.Arm(one, role, Path("x"), label)
                for role, label in (("candidate", "hive"), ("aa", "hive-aa"), ("peer", "tokio"))]

        def measure(_race, point, arm, batch, number, _order, seed, _plan, padding):
            wide = noise.get(arm.label, 0.0) if dict(point.params)["producers"] == "1" and number <= 12 else 0.0
            figure = 100.0 * (1 + (wide if number % 2 else -wide) + 0.001 * (number % 3))
            return {"status": "ok", "flags": "", "subject": arm.label, "batch": str(batch), "round": str(number),
                    "ns_per_op": str(figure), "role": arm.role} | point.columns, [], False

        with mock.patch.object(rounds, "measure", measure):
            race = rounds.Race(plan, arms, 2, 7, "", "", "", Path("x"), **more)
            rounds.run_batch(race, 1, lambda *_: None)
        return race

    def test_further_rounds_go_to_the_points_whose_own_pair_is_wide(self) -> None:
        race = self.sharpened(20, {"hive-aa": 0.2})
        runs = Counter((row["scenario_params"], row["subject"]) for row in race.rows)
        first, second = (point.params_text for point in race.plan.points)
        self.assertEqual({runs[second, name] for name in ("hive", "hive-aa", "tokio")}, {10})
        self.assertEqual({runs[first, name] for name in ("hive", "hive-aa", "tokio")}, {race.rounds_done[1]})
        self.assertGreater(race.rounds_done[1], 10)
        self.assertLessEqual(race.rounds_done[1], 20)

    def test_what_a_peer_shows_brings_no_round_and_neither_does_a_plan_without_more(self) -> None:
        self.assertEqual(self.sharpened(20, {"tokio": 0.2}).rounds_done, {1: 10})
        self.assertEqual(self.sharpened(0, {"hive-aa": 0.2}).rounds_done, {1: 10})

    def test_no_further_round_begins_after_the_limit(self) -> None:
        self.assertEqual(self.sharpened(20, {"hive-aa": 0.2}, deadline=time.monotonic()).rounds_done, {1: 10})

    def test_placement_binds_to_one_cpu(self) -> None:
        self.assertEqual(len(rounds.processors(points.throughput(1, "one_cpu"))[0]), 1)
        self.assertEqual(rounds.processors(points.throughput(1)), (None, {}))

    def test_a_served_subject_leaves_the_last_processor_to_the_load_program(self) -> None:
        echo = plans.Point(plans.SCENARIOS["echo"], (("rate", "1000"),), "free", 1.0)
        with mock.patch("os.sched_getaffinity", return_value={2, 3, 5}):
            self.assertEqual(rounds.processors(echo), ({2, 3}, {"APIARY_LOAD_PROCESSOR": "5"}))
            self.assertEqual(rounds.processors(dataclasses.replace(echo, placement="one_cpu")), ({2}, {}))
        with mock.patch("os.sched_getaffinity", return_value={2}):
            self.assertEqual(rounds.processors(echo), (None, {}), "they share it")
        row = dict.fromkeys(tables.SUBJECT, "") | {"cpu_ns": "100000000", "ops": "1000"}
        for point, told in ((echo, ""), (points.latency(1000, 1.0), "by the row it used 0.100 s of processor time")):
            found = row_checks.beyond_the_process(row, point, row_checks.Asked(1, 0, 1), row_checks.Seen(1.0, 1.0))
            self.assertEqual(found[:44], told[:44], "the process includes the load program")
        words = subjects.command(Path("x"), echo, 1, 1, block_ms=1, blocks=1, warmup_blocks=1)
        self.assertEqual(words[words.index("--load") + 1], str(repo.LOAD))

    def test_the_environment_is_small_and_padded(self) -> None:
        with mock.patch.dict("os.environ", {"SECRET": "x"}):
            made = rounds.base_environment(32)
        self.assertNotIn("SECRET", made)
        self.assertEqual(len(made["APIARY_PADDING"]), 32)
