#!/usr/bin/env python3
"""Holds one subject to the treaty (bench/contract/), with tiny operation counts.

    subject_smoke_test.py PROGRAM CASE

CASE is a group of scenarios, `treaty` for the calls and refusals, or one for subjects that must be found out. The
expected sums are computed here, by a third implementation. What a subject cannot express it must say, by status 3.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import resource
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

from expected import answer, cholesky, expected_check, layers

CONTRACT = Path(__file__).resolve().parents[1] / "contract"
FLOORS = ["floor_futex", "floor_eventfd", "floor_spin"]
SCENARIOS = tomllib.loads((CONTRACT / "scenarios.toml").read_text(encoding="utf-8"))["scenario"]
PROGRAM = ""


@functools.cache
def measured_columns() -> str:
    """The header of a subject's row: the line of CSV.md that starts with `scenario,workers`."""
    lines = (CONTRACT / "CSV.md").read_text(encoding="utf-8").splitlines()
    found = [line for line in lines if line.startswith("scenario,workers,")]
    assert len(found) == 1, f"CSV.md holds {len(found)} headers of measured columns"
    return found[0]


@functools.cache
def listed() -> tuple[str, ...]:
    return tuple(call("--list").stdout.split())


def call(*words: object) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, check=False)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-smoke-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def row_of(self, done: subprocess.CompletedProcess) -> dict[str, str]:
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2, f"a header and one row, seen: {done.stdout!r} and {done.stderr!r}")
        self.assertEqual(lines[0], measured_columns())
        row = next(csv.DictReader(io.StringIO(done.stdout)))
        self.assertNotIn(None, row.values(), "a short row")
        self.assertNotIn(None, row.keys(), "a long row")
        return row

    def run_ok(self, scenario: str, ops: int, *words: object, workers: int = 2) -> dict[str, str]:
        """The row of a good run, held to what every row must have; skips the test where the subject cannot."""
        done = call("run", "--scenario", scenario, "--workers", workers, *words)
        if scenario not in listed():
            self.assertIn(done.returncode, (2, 3), "2: a name that this subject does not even know")
            self.assertEqual(done.stdout, "")
            self.assertIn("unsupported" if done.returncode == 3 else scenario, done.stderr)
            self.skipTest(f"unsupported: {scenario}")
        self.assertEqual(done.returncode, 0, done.stderr)
        row = self.row_of(done)
        wanted = {"scenario": scenario, "workers": str(workers), "ops": str(ops), "status": "ok",
                  "check": expected_check(ops)}
        self.assertEqual({key: row[key] for key in wanted}, wanted)
        for column in ("cpu_ns", "nvcsw", "nivcsw", "minflt", "maxrss_kib"):
            self.assertRegex(row[column], r"^\d+$", column)
        return row

    def assert_refused(self, seen: str, scenario: str, *params: str, plan: bool = False) -> None:
        if scenario not in listed():
            return
        words = [word for param in params for word in ("--param", param)]
        words += ["--plan", self.plan("1\n")] if plan else []
        done = call("run", "--scenario", scenario, "--workers", 2, *words)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(seen, done.stderr)

    def assert_unsupported(self, scenario: str, *words: object) -> None:
        """What it can do otherwise, but not with these words."""
        done = call("run", "--scenario", scenario, "--workers", 2, *words)
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("unsupported", done.stderr)

    def assert_found_out(self, complaint: str, *words: object) -> dict[str, str]:
        done = call("run", "--workers", 1, *words)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(complaint, done.stderr)
        row = self.row_of(done)
        self.assertEqual(row["status"], "wrong")
        return row

    def plan(self, text: str) -> Path:
        path = self.folder / "plan.txt"
        path.write_text(text, encoding="utf-8")
        return path

    def check_histogram(self, path: Path, row: dict[str, str]) -> None:
        with path.open(encoding="utf-8") as file:
            self.assertEqual(file.readline(), "value_lo_ns,value_hi_ns,count\n")
            buckets = [tuple(map(int, line.split(","))) for line in file]
        self.assertEqual(sum(count for _, _, count in buckets), int(row["lat_count"]))
        self.assertTrue(all(lo <= hi and count > 0 for lo, hi, count in buckets))
        lo, hi, _ = buckets[-1]
        self.assertTrue(lo <= int(row["lat_max_ns"]) <= hi)


class PostThroughput(Case):
    def test_every_mix_of_producers_and_batches(self) -> None:
        for producers, batch in ((1, 1), (3, 1), (1, 16), (2, 256)):
            with self.subTest(producers=producers, batch=batch):
                row = self.run_ok("post_throughput", 1001, "--param", "ops=1001", "--param", f"producers={producers}",
                                  "--param", f"batch={batch}", "--seed", 9, "--warmup-blocks", 2, "--blocks", 1)
                self.assertEqual((row["seed"], row["blocks"], row["lat_count"]), ("9", "1", ""))
                self.assertIn(row["steady"], ("0", "1"))
                self.assertAlmostEqual(float(row["ns_per_op"]), int(row["wall_ns"]) / 1001, places=2)

    def test_calibration_doubles_from_the_floor(self) -> None:
        if "post_throughput" not in listed():
            self.skipTest("unsupported")
        done = call("run", "--scenario", "post_throughput", "--workers", 1, "--block-ms", 5, "--blocks", 1,
                    "--warmup-blocks", 0)
        row = self.row_of(done)
        ops = int(row["ops"])
        self.assertIn(ops, [16384 << k for k in range(20)])
        self.assertEqual((row["check"], row["warmup_blocks"], row["steady"]), (expected_check(ops), "0", "0"))

    def test_the_built_in_slow_down_is_there(self) -> None:
        # In every 64th post of the one producer, and in every 64th task of a worker.
        row = self.run_ok("post_throughput", 200, "--param", "ops=200", "--slowdown-ns", 3_000_000, "--blocks", 1)
        self.assertGreaterEqual(int(row["wall_ns"]), 3 * 3_000_000)


class PostLatency(Case):
    def test_a_small_plan(self) -> None:
        plan = self.plan("# a burst every 500 us\n" + "".join(f"{i // 5 * 500_000}\n" for i in range(200)))
        hist = self.folder / "hist.csv"
        row = self.run_ok("post_latency", 200, "--plan", plan, "--hist", hist, "--param", "rate=10000")
        self.assertEqual((row["lat_count"], row["warmup_blocks"], row["blocks"]), ("180", "0", "1"))
        self.assertLessEqual(float(row["achieved_per_s"]), float(row["offered_per_s"]))
        self.assertRegex(row["flags"], r"(^|;)injector_us=\d+$")
        self.assertEqual(row["lat_p90_ns"], "", "18 samples lie above it")
        self.check_histogram(hist, row)

    def test_the_injector_is_no_part_of_the_processor_time(self) -> None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        row = self.run_ok("post_latency", 400, "--plan", self.plan("".join(f"{i * 500_000}\n" for i in range(400))))
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole_us = 1e6 * (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)
        own_us = int(re.search(r"injector_us=(\d+)", row["flags"])[1])
        self.assertGreater(own_us, 0, "it sleeps 400 times")
        self.assertLessEqual(int(row["cpu_ns"]) / 1000 + own_us, 1.01 * whole_us, "together they are the process")

    def test_bad_plans(self) -> None:
        if "post_latency" not in listed():
            self.skipTest("unsupported")
        for text, seen in (("5\nx7\n", "x7"), ("5\n4\n", "4 after 5"), ("-1\n", "-1"), ("1\n\n2\n", "line 2"),
                           ("# none\n", "no release time")):
            with self.subTest(text=text):
                done = call("run", "--scenario", "post_latency", "--workers", 1, "--plan", self.plan(text))
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(seen, done.stderr)

    def test_a_plan_is_required(self) -> None:
        if "post_latency" not in listed():
            self.skipTest("unsupported")
        done = call("run", "--scenario", "post_latency", "--workers", 1)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--plan", done.stderr)


class Timers(Case):
    def test_timeouts_are_armed_again_and_none_fires(self) -> None:
        for pending in (1, 50, 1000):
            with self.subTest(pending=pending):
                self.run_ok("timers", 200, "--param", "ops=200", "--param", f"pending={pending}", *ONE_BLOCK)

    def test_small_chains(self) -> None:
        for pending in (1, 7, 40):
            with self.subTest(pending=pending):
                hist = self.folder / "hist.csv"
                row = self.run_ok("timer_lateness", 40, "--param", "ops=40", "--param", f"pending={pending}",
                                  "--param", "delay_us=500", "--hist", hist)
                self.assertEqual(row["lat_count"], "36")
                self.assertGreaterEqual(int(row["wall_ns"]), 40 // pending * 500_000)
                self.check_histogram(hist, row)
        self.assert_refused("pending=4", "timer_lateness", "ops=3", "pending=4")


ONE_BLOCK = ("--warmup-blocks", 0, "--blocks", 1)


class Blocks(Case):
    """Every scenario made of blocks, at a size that shows whether each task runs once."""

    def test_targeted_throughput(self) -> None:
        for producers, targets in ((1, 1), (3, 2)):
            with self.subTest(producers=producers, targets=targets):
                self.run_ok("targeted_throughput", 1001, "--param", "ops=1001", "--param", f"producers={producers}",
                            "--param", f"targets={targets}", *ONE_BLOCK)
        self.assert_refused("targets=3", "targeted_throughput", "targets=3")

    def test_steal_pressure(self) -> None:
        row = self.run_ok("steal_pressure", 500, "--param", "ops=500", "--warmup-blocks", 1, "--blocks", 2)
        flags = r"^elsewhere_ppm=\d+;bytes_each=\d+" + (r";lat_mean_ns=(\d+)$" if int(row["lat_count"]) else "$")
        self.assertRegex(row["flags"], flags)
        if int(row["lat_count"]):
            mean = int(re.match(flags, row["flags"])[1])
            self.assertLessEqual(int(row["lat_min_ns"]), mean)
            self.assertLessEqual(mean, int(row["lat_max_ns"]))
            if row["lat_count"] == "2":
                self.assertEqual(mean, (int(row["lat_min_ns"]) + int(row["lat_max_ns"])) // 2)
        self.assertLessEqual(int(re.match(r"elsewhere_ppm=(\d+)", row["flags"])[1]), 1_000_000)
        self.assertIn(row["lat_count"], ("0", "1", "2"), "at most one sample per measured block")
        # By the wall, for the system brings the time of a thread that runs elsewhere up to date at its ticks. Three threads at most.
        self.assertGreaterEqual(3 * int(row["wall_ns"]), 500 * 1000 // 2, "the children do work")

    def test_steal_pressure_with_one_worker_has_no_thief(self) -> None:
        row = self.run_ok("steal_pressure", 50, "--param", "ops=50", *ONE_BLOCK, workers=1)
        self.assertEqual((row["flags"].partition(";")[0], row["lat_count"]), ("elsewhere_ppm=0", "0"))

    def test_successor(self) -> None:
        for chains in (1, 3, 100):
            with self.subTest(chains=chains):
                self.run_ok("successor", 100, "--param", "ops=100", "--param", f"chains={chains}", *ONE_BLOCK)
        self.assert_refused("chains=4", "successor", "ops=3", "chains=4")

    def test_the_slow_down_is_in_every_64th_task_of_a_worker(self) -> None:
        row = self.run_ok("successor", 640, "--param", "ops=640", "--slowdown-ns", 1_000_000, *ONE_BLOCK)
        # On three threads at most: eight waits at least, of which one thread has three. A wait may pass beside the next task.
        self.assertGreaterEqual(int(row["wall_ns"]), 3 * 1_000_000)


class Tokio(Case):
    """Tokio's own eight, two iterations each."""

    def two_iterations(self, scenario: str, *params: str) -> None:
        words = [word for param in ("tasks=20", "ops=40", *params) for word in ("--param", param)]
        self.run_ok(scenario, 40, *words, *ONE_BLOCK)

    def test_refuses_part_of_an_iteration(self) -> None:
        self.assert_refused("ops=30", "chained_spawn", "tasks=20", "ops=30")


for _name, *_params in (("spawn_many_local",), ("spawn_many_remote_idle",),
                        ("spawn_many_remote_busy1", "yielders=3", "stall_us=1"),
                        ("spawn_many_remote_busy2", "stallers=3", "stall_us=1"), ("ping_pong",),
                        ("yield_many", "yields=7"), ("chained_spawn",), ("remote_spawn", "threads=3")):
    setattr(Tokio, f"test_{_name}", lambda self, n=_name, p=tuple(_params): self.two_iterations(n, *p))


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
                                  ("loop_scan", "n=10000"), ("loop_sort", "n=2"), ("loop_sort", "n=10000")):
            if scenario in listed():
                with self.subTest(scenario=scenario, params=params):
                    words = [word for param in ("ops=3", *params) for word in ("--param", param)]
                    self.run_ok(scenario, 3, *words, *ONE_BLOCK)
        self.assert_refused("lengths", "loop_for", "lengths=normal")

    def test_the_slow_down_stands_behind_each_loop(self) -> None:
        row = self.run_ok("loop_empty", 7, "--param", "ops=7", *ONE_BLOCK, "--slowdown-ns", 2_000_000)
        self.assertGreaterEqual(int(row["wall_ns"]), 7 * 2_000_000)


class OpenLoops(Case):
    def loop(self, scenario: str, *params: str) -> dict[str, str]:
        plan = self.plan("".join(f"{i * 100_000}\n" for i in range(50)))
        hist = self.folder / "hist.csv"
        words = [word for param in params for word in ("--param", param)]
        row = self.run_ok(scenario, 50, "--plan", plan, "--hist", hist, *words)
        self.assertEqual(row["lat_count"], "45")
        self.check_histogram(hist, row)
        return row

    def test_targeted_latency(self) -> None:
        self.loop("targeted_latency")
        row = self.loop("targeted_latency", "targets=2", "service_ns=30000")
        self.assertGreaterEqual(int(row["lat_min_ns"]), 30_000, "latency counts to the end of the service")

    def test_latency_vs_load(self) -> None:
        if "latency_vs_load" not in listed():
            self.skipTest("unsupported")
        for service, least in (("fixed", 100_000), ("exponential", 0), ("bimodal", 50_000)):
            with self.subTest(service=service):
                row = self.loop("latency_vs_load", f"service={service}", "scale=100")
                self.assertGreaterEqual(int(row["lat_min_ns"]), least)
        self.assert_refused("normal", "latency_vs_load", "service=normal", plan=True)
        self.assert_refused("101", "latency_vs_load", "idle_cpu=101", plan=True)
        for share in (50, 100):  # of a processor, which a runtime may be able to spend on looking for work, or not
            plan = self.plan("".join(f"{i * 100_000}\n" for i in range(50)))
            done = call("run", "--scenario", "latency_vs_load", "--workers", 2, "--plan", plan, "--param", f"idle_cpu={share}")
            if done.returncode == 3:
                self.assertEqual(done.stdout, "")
                self.assertIn("unsupported", done.stderr)
            else:
                self.assertEqual((done.returncode, self.row_of(done)["status"]), (0, "ok"), done.stderr)

    def test_mixed_load(self) -> None:
        # A hundred of these do not fit beside the plan's few milliseconds, however long the machine stands still there.
        row = self.loop("mixed_load", "compute_us=100000", "compute_workers=1")
        self.assertRegex(row["flags"], r"(^|;)compute_tasks=\d+$", "too few to tell the share")
        self.assertGreater(int(row["wall_ns"]), 0)
        # A hundred of these do, where the machine gives them 2 ms in a quarter of the plan: the longer, the surer.
        for ms in (500, 2000, 8000):
            row = self.run_ok("mixed_load", 2, "--plan", self.plan(f"0\n{ms}000000\n"), "--param", "compute_us=20")
            if "compute_lost_ppm" in row["flags"]:
                break
        self.assertRegex(row["flags"], r"(^|;)compute_tasks=\d+;compute_lost_ppm=-?\d+$")

    def test_post_latency_beside_tasks_that_respawn(self) -> None:
        if set(FLOORS) <= set(listed()):
            self.assert_unsupported("post_latency", "--param", "respawners=1", "--plan", self.plan("1\n"))
            return
        row = self.loop("post_latency", "respawners=3", "task_us=200")
        share = re.search(r"(?:^|;)starved_ppm=(\d+)$", row["flags"])
        self.assertTrue(share and int(share[1]) <= 1_000_000, row["flags"])


class Waking(Case):
    def test_wake_chain(self) -> None:
        for ops, sleeps in ((1, 0), (41, 20)):
            with self.subTest(ops=ops):
                row = self.run_ok("wake_chain", ops, "--param", f"ops={ops}", "--param", "sleep_us=50")
                self.assertEqual(row["lat_count"], str(ops - ops // 10))
                self.assertGreaterEqual(int(row["wall_ns"]), sleeps * 50_000)

    def test_idle_cpu(self) -> None:
        row = self.run_ok("idle_cpu", 2, "--param", "rate=2", "--param", "seconds=1")
        self.assertGreaterEqual(int(row["wall_ns"]), 1_000_000_000)
        self.assertRegex(row["flags"], r"^idle_switches=\d+$")


class Floors(Case):
    def test_hand_overs(self) -> None:
        for scenario in FLOORS:
            with self.subTest(scenario=scenario):
                row = self.run_ok(scenario, 40, "--param", "ops=40", *ONE_BLOCK, workers=1)
                self.assertEqual(row["lat_count"], "0" if scenario == "floor_spin" else "40")

    def test_each_thread_of_the_bare_control_has_its_share_of_the_children(self) -> None:
        if not set(FLOORS) <= set(listed()):
            self.skipTest("no bare control")
        for workers, ops, elsewhere in ((1, 10, 0), (2, 500, 500_000), (3, 10, 600_000), (4, 4, 750_000)):
            with self.subTest(workers=workers, ops=ops):
                words = ("--param", f"ops={ops}", "--warmup-blocks", 2)
                row = self.run_ok("steal_pressure", ops, *words, workers=workers)
                self.assertEqual(row["flags"].partition(";")[0], f"elsewhere_ppm={elsewhere}")
        self.assert_unsupported("steal_pressure", "--param", "ops=1")


class Treaty(Case):
    def test_version_is_one_json_line(self) -> None:
        done = call("--version")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 1))
        said = json.loads(done.stdout)
        self.assertEqual(list(said), ["subject", "subject_version", "language", "build_id"])
        self.assertTrue(all(said.values()), said)
        self.assertEqual(Path(PROGRAM).name, "subject_" + said["subject"])

    def test_list_names_scenarios(self) -> None:
        done = call("--list")
        self.assertEqual(done.returncode, 0)
        names = done.stdout.splitlines()
        self.assertTrue(names and set(names) <= set(SCENARIOS), names)

    def test_each_scenario_has_the_parameters_that_the_list_says(self) -> None:
        for name in listed():
            done = call("run", "--scenario", name, "--workers", 1, "--param", "no_such_parameter=1")
            told = re.search(r"has no parameter 'no_such_parameter'; there are: (.*)", done.stderr)
            self.assertTrue(done.returncode == 2 and told, (name, done))
            self.assertEqual(sorted(told[1].split(", ")), sorted(SCENARIOS[name]["parameters"]), name)

    def test_each_of_the_runtimes_own_numbers_can_be_set_within_its_range(self) -> None:
        done = call("--tunables")
        if done.returncode == 2:
            self.skipTest("it does not know the call: it has none")
        closed = next(name for name in listed() if name not in ("post_latency", "targeted_latency"))
        some = ["run", "--scenario", closed, "--workers", 1]
        for name, standard, least, most in map(str.split, done.stdout.splitlines()):
            with self.subTest(name=name):
                self.assertTrue(int(least) <= int(standard) <= int(most))
                for value in (int(most) + 1, int(least) - 1):
                    refused = call(*some, "--tune", f"{name}={value}")
                    self.assertEqual((refused.returncode, refused.stdout), (2, ""))
                    self.assertIn(f"from {least} to {most}", refused.stderr)
                if closed == "post_throughput":
                    for value in (least, standard):
                        self.run_ok(closed, 1000, "--param", "ops=1000", "--blocks", 1, "--tune", f"{name}={value}")
        refused = call(*some, "--tune", "no_such_number=1")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no_such_number", refused.stderr)

    def test_bad_arguments_end_with_2_and_say_what_was_seen(self) -> None:
        closed = next(name for name in listed() if name not in ("post_latency", "targeted_latency"))
        some = ["run", "--scenario", closed, "--workers"]
        for words, *seen in (
                (["run", "--scenario", "nope", "--workers", 1], "nope", *listed()),
                ([*some, 1, "--param", "size=1"], "size", "ops"),
                ([*some, 0], "--workers", "0"),
                ([*some, "two"], "two"),
                ([*some, 1, "--blocks", "-1"], "--blocks", "-1"),
                ([*some, 1, "--wrong-option", "1"], "--wrong-option", "--slowdown-ns"),
                ([*some, 1, "--hist", "/nonexistent/h"], "/nonexistent/h"),
                (["run", "--workers", 1], "--scenario"),
                (["measure"], "measure", "run"),
                ([], "--list")):
            with self.subTest(words=words):
                done = call(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                for text in seen:
                    self.assertIn(text, done.stderr)


class Wrong(Case):
    """The subject of bench/tests/wrong_subject.cpp, whose runtime swaps tasks and fires early."""

    def test_a_swapped_task_is_found_out(self) -> None:
        row = self.assert_found_out("run twice", "--scenario", "post_throughput", "--param", "ops=100")
        self.assertNotEqual(row["check"], expected_check(100))
        self.assert_found_out("run twice", "--scenario", "post_latency", "--plan", self.plan("0\n10\n20\n"))

    def test_an_early_timer_is_found_out(self) -> None:
        self.assert_found_out("before it was due", "--scenario", "timer_lateness", "--param", "ops=20")


class Skip(Case):
    """Loses every millionth task."""

    def test_a_lost_task_is_a_hang(self) -> None:
        words = ["run", "--scenario", "post_throughput", "--workers", "1", *map(str, ONE_BLOCK)]
        done = subprocess.run([PROGRAM, *words, "--param", "ops=999999"], capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, "none is lost yet")
        with self.assertRaises(subprocess.TimeoutExpired):
            subprocess.run([PROGRAM, *words, "--param", "ops=1000000"], capture_output=True, timeout=5, check=False)


class Twice(Case):
    """Runs every thousandth task twice."""

    def test_the_sum_is_wrong(self) -> None:
        self.assert_found_out("run twice", "--scenario", "post_throughput", "--param", "ops=1000", *ONE_BLOCK)


class Sleep(Case):
    """Sleeps 60 ms in every 12,000 posts."""

    def test_a_pause_shows_in_the_tail_because_latency_counts_from_the_intended_time(self) -> None:
        plan = self.plan("".join(f"{i * 250_000}\n" for i in range(12_000)))
        row = self.row_of(call("run", "--scenario", "post_latency", "--workers", 1, "--plan", plan))
        self.assertEqual((row["status"], row["check"]), ("ok", expected_check(12_000)), "the work itself is right")
        self.assertGreaterEqual(int(row["lat_max_ns"]), 60_000_000)
        self.assertGreaterEqual(int(row["lat_p99_ns"]), 20_000_000, "1.3 % of the posts wait a third of it or more")


class Within(Case):
    """Runs each task within the call that posts it."""

    def test_the_harness_says_so(self) -> None:
        complaint = "tasks run on the thread that posts them"
        self.assert_found_out(complaint, "--scenario", "post_throughput", "--param", "ops=100", *ONE_BLOCK)
        self.assert_found_out(complaint, "--scenario", "post_latency", "--plan", self.plan("0\n10\n20\n"))


class Shift(Case):
    """Writes a histogram one bucket lower than the row."""

    def test_the_last_bucket_must_hold_the_maximum(self) -> None:
        hist = self.folder / "hist.csv"
        plan = self.plan("".join(f"{i * 100_000}\n" for i in range(50)))
        row = self.row_of(call("run", "--scenario", "post_latency", "--workers", 1, "--plan", plan, "--hist", hist))
        with self.assertRaises(AssertionError):
            self.check_histogram(hist, row)


class Messages(Case):
    """The programs of processes: the row's sum is right only if the sum of all values was."""

    def program(self, scenario: str, flag: str, *params: str) -> dict[str, str]:
        words = [word for param in ("ops=3", *params) for word in ("--param", param)]
        row = self.run_ok(scenario, 3, *words, *ONE_BLOCK)
        self.assertRegex(row["flags"], f"^{flag}$")
        return row

    def test_a_ring_of_two_and_one_hop(self) -> None:
        self.program("msg_ring", "messages_per_op=1", "processes=2", "hops=1")

    def test_one_of_everything(self) -> None:
        for scenario, flag, *params in (
                ("msg_ping_pong", "messages_per_op=2", "pings=1"), ("msg_count", "messages_per_op=1", "messages=1"),
                ("msg_create", "spawns_per_op=1", "processes=1"),
                ("msg_throughput", "messages_per_op=1", "processes=1", "messages=1"),
                ("chameneos", "messages_per_op=4", "processes=2", "meetings=1"),
                ("big", "messages_per_op=2", "processes=1", "pings=1"),
                ("bounded_buffer", "messages_per_op=4", "capacity=1", "producers=1", "consumers=1", "items=1"),
                ("restart_storm", "restarts_per_op=1", "processes=1", "restarts=1")):
            with self.subTest(scenario=scenario):
                self.program(scenario, flag, *params)

    def test_rounds_with_a_message_to_itself_between_them(self) -> None:
        for rounds in (7, 1000, 5000):
            with self.subTest(rounds=rounds):
                self.program("msg_throughput", "messages_per_op=3000", "processes=3", "messages=1000", f"rounds={rounds}")

    def test_what_was_woken_runs_before_the_message_to_itself(self) -> None:
        # Of those that promise it. Else all letters lie in memory before the first is read.
        if Path(PROGRAM).name not in ("subject_machine", "subject_processes"):
            self.skipTest("not promised")
        cut = Path(PROGRAM).name == "subject_processes"  # lets others run behind so many letters, unless it is told not to
        for processes in (60, 200):
            sizes = []
            for rounds, letters in ((0, 0), (16, 0), *([(0, 4096)] if cut else [])):
                params = (f"processes={processes}", f"messages={1_200_000 // processes}", f"rounds={rounds}", "ops=1")
                words = [word for param in params for word in ("--param", param)]
                words += ["--tune", f"letters_a_step={letters}"] if cut else []
                sizes.append(int(self.run_ok("msg_throughput", 1, *words, *ONE_BLOCK, workers=1)["maxrss_kib"]))
            for less in sizes[1:]:
                self.assertLess(4 * less, sizes[0], f"{processes} processes: {sizes}")

    def test_a_crowd_that_waits_takes_memory(self) -> None:
        row = self.program("idle_processes", r"spawns_per_op=20000;bytes_each=\d+", "processes=20000")
        self.assertIn(int(row["flags"].partition("bytes_each=")[2]), range(16, 20_000))

    def test_a_circle_of_full_channels_and_a_crowd_without_end_are_refused(self) -> None:
        if Path(PROGRAM).name in ("subject_boost_fiber", "subject_coro_pool", "subject_coro_pool_heap"):
            self.assertNotIn("big", listed())
            self.assert_unsupported("big")
            self.assert_unsupported("idle_processes", "--param", "processes=262145", "--param", "ops=1")

    def test_one_worker(self) -> None:
        for scenario in ("msg_ping_pong", "big"):
            if scenario in listed():
                params = ("--param", "ops=1", "--param", "pings=50")
                self.run_ok(scenario, 1, *params, *ONE_BLOCK, workers=1)

    def test_the_slow_down_is_in_every_64th_letter(self) -> None:
        # A token is with one process at a time: 15 letters of a thousand, two fewer for what either thread has left over.
        if "msg_ring" in listed():
            slow = call("run", "--scenario", "msg_ring", "--workers", 2, "--param", "hops=1000", "--param", "ops=3", *ONE_BLOCK,
                        "--slowdown-ns", 2_000_000)
            self.assertGreaterEqual(int(self.row_of(slow)["wall_ns"]), 3 * 13 * 2_000_000)


for _name, _flag, *_params in (
        ("msg_ping_pong", "messages_per_op=200", "pings=100"), ("msg_count", "messages_per_op=5000", "messages=5000"),
        ("msg_ring", "messages_per_op=1000", "processes=7", "hops=1000"), ("msg_create", "spawns_per_op=500", "processes=500"),
        ("msg_throughput", "messages_per_op=7000", "processes=7", "messages=1000"),
        ("chameneos", "messages_per_op=2000", "processes=9", "meetings=500"),
        ("big", "messages_per_op=2000", "processes=50", "pings=20"),
        ("bounded_buffer", "messages_per_op=1600", "capacity=3", "producers=8", "consumers=5", "items=50"),
        ("restart_storm", "restarts_per_op=300", "processes=7", "restarts=300"),
        ("idle_processes", r"spawns_per_op=500;bytes_each=\d+", "processes=500")):
    setattr(Messages, f"test_{_name}", lambda self, n=_name, f=_flag, p=tuple(_params): self.program(n, f, *p))


class Graphs(Case):
    """The graphs, made here a third time: tasks, edges, and the answer of the values that went along the edges."""

    def graph(self, tasks: list[list[int]], *params: str, iterations: int = 0, workers: int = 2, form: str = "graph") -> None:
        words = [word for param in ("ops=3", f"iterations={iterations}", *params) for word in ("--param", param)]
        row = self.run_ok(form, 3, *words, *ONE_BLOCK, workers=workers)
        told = f"tasks_per_op={len(tasks)};edges_per_op={sum(map(len, tasks))};answer={answer(tasks, iterations)}"
        self.assertRegex(row["flags"], rf"^{told};bytes_each=\d+$")

    def test_every_pattern(self) -> None:
        for pattern in ("stencil_1d", "nearest", "spread", "fft", "tree", "random_nearest", "chain", "wavefront", "layered"):
            for width, steps in ((1, 5), (2, 30), (9, 20)):
                with self.subTest(pattern=pattern, width=width, steps=steps):
                    self.graph(layers(pattern, width, steps), f"pattern={pattern}", f"width={width}", f"steps={steps}")

    def test_cholesky(self) -> None:
        for tiles in (1, 2, 7):
            with self.subTest(tiles=tiles):
                self.graph(cholesky(tiles), "pattern=cholesky", f"width={tiles}")

    def test_kernels(self) -> None:
        self.graph(layers("nearest", 4, 30), "pattern=nearest", "width=4", "steps=30", iterations=13)

    def test_one_worker(self) -> None:
        self.graph(layers("wavefront", 5, 30), "pattern=wavefront", "width=5", "steps=30", workers=1)

    def test_a_graph_that_was_built_once_runs_again(self) -> None:
        for workers in (1, 2):
            for pattern, width, steps in (("stencil_1d", 9, 20), ("tree", 9, 20), ("wavefront", 5, 30), ("chain", 1, 50)):
                with self.subTest(pattern=pattern, workers=workers):
                    params = f"pattern={pattern}", f"width={width}", f"steps={steps}"
                    self.graph(layers(pattern, width, steps), *params, workers=workers, form="graph_again")
        self.graph(cholesky(7), "pattern=cholesky", "width=7", iterations=13, form="graph_again")

    def test_a_graph_that_is_made_of_submitted_tasks_does_not_run_again(self) -> None:
        name = Path(PROGRAM).name.removeprefix("subject_")
        if name in ("task_graph", "task_graph_min_clock", "openmp", "libomp", "starpu"):
            self.assertIn("graph", listed())
            self.assert_unsupported("graph_again")

    def test_the_slow_down_is_in_every_64th_task(self) -> None:
        row = self.run_ok("graph", 2, "--param", "ops=2", "--param", "steps=80", *ONE_BLOCK, "--slowdown-ns", 2_000_000)
        self.assertGreaterEqual(int(row["wall_ns"]), 2 * (640 // 64 - 2) * 1_000_000)  # by two threads at most

    def test_refusals(self) -> None:
        self.assert_refused("16777216 tasks", "graph", "width=4096", "steps=4097")
        self.assert_refused("stencil_1d", "graph", "pattern=star")


CASES = {"post_throughput": PostThroughput, "post_latency": PostLatency, "timers": Timers, "blocks": Blocks,
         "tokio": Tokio, "fork_join": ForkJoin, "messages": Messages, "graphs": Graphs,
         "open_loops": OpenLoops, "waking": Waking, "floors": Floors,
         "treaty": Treaty, "wrong": Wrong, "skip": Skip, "twice": Twice, "sleep": Sleep, "shift": Shift,
         "within": Within}


def main() -> int:
    global PROGRAM
    if len(sys.argv) != 3 or sys.argv[2] not in CASES:
        print(f"expected PROGRAM CASE, seen {sys.argv[1:]}; the cases are: {', '.join(CASES)}", file=sys.stderr)
        return 2
    PROGRAM = sys.argv[1]
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(CASES[sys.argv[2]])
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
