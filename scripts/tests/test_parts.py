"""Small parts: progress, plan files, disturbance, result folders, side tables, child processes."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import building, proc, repo
from apiary_cli.base.errors import Fault
from apiary_cli.base.say import Progress, duration, in_prose, table
from apiary_cli.race import disturbance, folder, planfile, plans, scenarios, unpaired

from . import fakes, points
from .support import comes_true


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Showing(unittest.TestCase):
    def drawn(self, stream: io.StringIO) -> str:
        with Progress("build", 20, stream) as progress:
            for _ in range(20):
                progress._last -= 2.5  # as if each took a while
                progress.advance("file.cpp")
        return stream.getvalue()

    def test_a_bar_on_a_terminal(self) -> None:
        text = self.drawn(Screen())
        for shown in ("━", "20/20", "file.cpp", "left"):
            self.assertIn(shown, text)
        self.assertTrue(text.rstrip("\n").endswith("\x1b[2K"), f"the bar is wiped at the end: {text[-40:]!r}")
        self.assertIn("\x1b[?25h", text, "the cursor is there again")

    def test_no_thread_draws_beside_what_is_measured(self) -> None:
        before = threading.active_count()
        with Progress("race", 3, Screen()) as progress:
            progress.advance()
            self.assertEqual(threading.active_count(), before)

    def test_plain_lines_elsewhere(self) -> None:
        text = self.drawn(io.StringIO())
        self.assertNotIn("\r", text)
        self.assertNotIn("\x1b", text)
        self.assertIn("build: 20/20", text)
        self.assertRegex(text, r"build: \d+/20 after [\d.]+ s, about [\d.]+ s left")
        self.assertLessEqual(len(text.splitlines()), 12, "a line at each tenth, not for each file")

    def test_what_is_left_is_said_once_by_whatever_knows_it(self) -> None:
        for stream in (io.StringIO(), Screen()):
            with Progress("race", 10, stream, left=lambda: 125.0) as progress:
                progress._last -= 60
                progress.update(4, note="fib")
            told = [part for part in re.split(r"[\r\n]", stream.getvalue()) if "fib" in part]
            self.assertTrue(told and all(part.count("left") == 1 and "about 2 min 05 s left" in part for part in told), told)

    def test_names_in_prose(self) -> None:
        self.assertEqual([in_prose(list(names)) for names in ("", "a", "ab", "abc")], ["", "a", "a and b", "a, b and c"])

    def test_durations_and_tables(self) -> None:
        self.assertEqual(duration(3.04), "3.0 s")
        self.assertEqual(duration(125), "2 min 05 s")
        self.assertEqual(
            table(["a", "n:n"], [["x", "1"], ["yy", "10"]]).splitlines()[2:], ["x    1", "yy  10"]
        )

    def test_a_table_is_no_wider_than_the_terminal_and_loses_nothing(self) -> None:
        rows = [["post_throughput batch=1;producers=1 one_cpu", "REGRESSED", "against asio, global_queue, onetbb and tokio"]]
        whole = table(["point", "[verdict]", "note"], rows)
        self.assertEqual(len(whole.splitlines()), 3, "a file gets each row in one line")
        self.assertIn(rows[0][0], whole)
        with mock.patch.object(sys, "stdout", Screen()), mock.patch.dict(os.environ, {"COLUMNS": "50"}):
            folded = table(["point", "[verdict]", "note"], rows)
        self.assertLessEqual(max(map(len, folded.splitlines())), 50)
        self.assertEqual(sorted("".join(folded.split())), sorted("".join(whole.split()).replace("-", "") + "-" * folded.count("-")))


class PlanFiles(unittest.TestCase):
    def test_the_same_seed_gives_the_same_times(self) -> None:
        self.assertEqual(planfile.times(1000, 1.0, 3), planfile.times(1000, 1.0, 3))
        self.assertNotEqual(planfile.times(1000, 1.0, 3), planfile.times(1000, 1.0, 4))

    def test_equal_work_in_every_round(self) -> None:
        for seed in range(5):
            self.assertEqual(len(planfile.times(1000, 1.25, seed)), 1250)

    def test_times_ascend_and_keep_the_rate(self) -> None:
        times = planfile.times(10_000, 2.0, 1)
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(times[0], 0)
        self.assertAlmostEqual(times[-1] / 1e9, 2.0, delta=0.1)

    def test_the_file_has_a_comment_and_integers_only(self) -> None:
        comment, *lines = planfile.text(100, 0.5, 9).splitlines()
        self.assertEqual(comment[:2], "# ")
        self.assertEqual(list(map(int, lines)), planfile.times(100, 0.5, 9))

    def test_points_know_their_operations(self) -> None:
        self.assertEqual(points.latency(1000, 1.25).ops(), 1250)
        self.assertEqual(points.timers(1000, 1, 1250).ops(), 1250)
        self.assertIsNone(points.throughput(1).ops())

    def test_every_scenario_is_in_the_smoke_plan_with_parameters_that_exist(self) -> None:
        points = plans.plan("smoke").points
        self.assertEqual({point.scenario.name for point in points}, set(scenarios.SCENARIOS))
        for chosen in plans.every():
            self.assertEqual(len(set(chosen.points)), len(chosen.points), f"{chosen.name} has a point twice")
            for point in chosen.points:
                keys = {key for key, _ in point.params} - set(plans.RUNNERS)
                self.assertLessEqual(keys, set(point.scenario.parameters), point.label)
                self.assertGreater(point.time_limit(), 2 * point.plan_seconds)

    def test_quick_can_print_p90(self) -> None:
        for point in plans.plan("quick").points:
            if point.scenario.histogram:
                kept = point.ops() - point.ops() // 10
                self.assertGreaterEqual(kept - -(-kept * 9 // 10), 100, point.label)


class Disturbances(unittest.TestCase):
    STAT = "cpu  100 10 50 9000 5 1 2 {steal} 0 0\ncpu0 50 5 25 4500 2 0 1 0 0 0\n"

    def test_steal_counts_and_idling_does_not(self) -> None:
        self.assertEqual(disturbance.parse_busy_ticks(self.STAT.format(steal=7)), 170)
        self.assertIsNone(disturbance.parse_busy_ticks(""))

    def test_pressure(self) -> None:
        self.assertEqual(
            disturbance.parse_psi_total("some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0 total=1\n"), 42
        )
        self.assertIsNone(disturbance.parse_psi_total(""))

    def test_foreign_share(self) -> None:
        before, after = disturbance.Sample(0, 0, 0, 0), disturbance.Sample(1, 5, 150, 1.0)
        found = disturbance.between(before, after, cpus=2, ticks_per_s=100)
        self.assertEqual(found, disturbance.Disturbance(5, 250_000, 10_000))  # 0.5 s of 2 CPU seconds
        self.assertTrue(found.disturbed)
        self.assertFalse(disturbance.Disturbance(0, 105_000, 10_000).disturbed, "within the grain of the count")
        self.assertFalse(disturbance.Disturbance(None, None).disturbed)

    def test_the_time_of_children_is_this_process_s_own(self) -> None:
        before = disturbance.sample()
        proc.run([sys.executable, "-ISc", "import time\nwhile time.process_time() < 0.2: pass"])
        self.assertGreater(disturbance.sample().own_cpu - before.own_cpu, 0.15)

    def test_own_children_are_not_foreign(self) -> None:
        before, after = disturbance.Sample(0, 0, 0, 0), disturbance.Sample(1, 0, 150, 1.5)
        self.assertEqual(disturbance.between(before, after, 2, 100).foreign_ppm, 0)


class Folders(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.results = Path(holder.name)

    def test_a_failure_leaves_nothing(self) -> None:
        with self.assertRaises(RuntimeError), folder.begun(self.results) as (_, out, _scratch):
            (out / "rows.csv").write_text("half")
            raise RuntimeError
        self.assertEqual(list(self.results.iterdir()), [])

    def test_names_do_not_collide(self) -> None:
        made = []
        for _ in range(3):
            with folder.begun(self.results) as (run_id, out, _scratch):
                (out / "x").write_text(run_id)
            made.append(run_id)
        self.assertEqual(len(set(made)), 3)

    def test_an_existing_folder_is_never_touched(self) -> None:
        (self.results / "a").mkdir()
        (self.results / "b").mkdir()
        with self.assertRaises(FileExistsError):
            folder.finish(self.results / "a", self.results / "b")

    def test_the_folder_of_a_live_run_stays(self) -> None:
        (self.results / f".tmp-x-{os.getpid()}").mkdir()
        folder.sweep(self.results)
        self.assertEqual(len(list(self.results.iterdir())), 1)


class SideTables(unittest.TestCase):
    def test_google_benchmark(self) -> None:
        entry = {
            "name": "push/64",
            "run_name": "push/64",
            "run_type": "iteration",
            "iterations": 100,
            "time_unit": "us",
        }
        report = {
            "benchmarks": [entry | {"real_time": t} for t in (1.0, 3.0, 2.0)]
            + [entry | {"run_type": "aggregate", "name": "push/64_mean", "real_time": 2.0}]
        }
        (row,) = unpaired.micro_rows(report, "r")
        self.assertEqual(
            (row["benchmark"], row["median"], row["min"], row["max"], row["repetitions"], row["unit"]),
            ("push/64", "2000", "1000", "3000", "3", "ns"),
        )

    def test_hyperfine(self) -> None:
        report = {
            "results": [
                {"command": "hive", "median": 0.0123, "min": 0.01, "max": 0.02, "stddev": None, "times": [1, 2]}
            ]
        }
        (row,) = unpaired.startup_rows(report, "r")
        self.assertEqual((row["median"], row["unit"], row["runs"], row["stddev"]), ("12.3", "ms", "2", ""))


class Children(unittest.TestCase):
    def test_output_status_and_time_limit(self) -> None:
        done = proc.run(
            [sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)"]
        )
        self.assertEqual((done.rc, done.out, done.err), (5, "out\n", "err\n"))
        self.assertTrue(proc.run(["sleep", "60"], timeout=0.2).timed_out)

    def test_lines_arrive_one_by_one(self) -> None:
        seen: list[str] = []
        proc.run(["sh", "-c", "printf 'a\\nb\\nc'"], merge=True, on_line=seen.append)
        self.assertEqual(seen, ["a", "b", "c"])

    def test_what_a_child_leaves_in_its_group_is_ended(self) -> None:
        done = proc.run(["sh", "-c", "sleep 600 & echo $!"])
        self.assertTrue(comes_true(lambda: not _lives(int(done.out))))

    def test_a_missing_program_is_a_fault(self) -> None:
        with self.assertRaises(Fault):
            proc.run(["/no/such/program"])

    def test_at_most_so_many_at_a_time(self) -> None:
        specs = [proc.Spec(["sh", "-c", "exit 3"], tag=i) for i in range(5)]
        self.assertEqual(sorted(done.tag for done in proc.run_many(specs, 2)), [0, 1, 2, 3, 4])


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Sources(unittest.TestCase):
    def test_the_hash_follows_names_and_contents_but_not_prose(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = fakes.tree(Path(name))
            first = repo.source_hash("impl", root=root)
            (root / "impl" / "README.md").write_text("prose")
            self.assertEqual(repo.source_hash("impl", root=root), first)
            (root / "impl" / "apiary" / "schedulers" / "hive" / "hive.hpp").write_text("// other")
            self.assertNotEqual(repo.source_hash("impl", root=root), first)

    def test_git_has_no_answer_or_must_have_one(self) -> None:
        self.assertIsNone(repo.git("rev-parse", "--verify", "--quiet", "no-such-commit"))
        with self.assertRaisesRegex(Fault, "git cat-file -t failed"):
            repo.git("cat-file", "-t", "no-such-object", must=True)

    def test_the_failing_part_of_a_build_log(self) -> None:
        log = ["[1/3] CXX a.o", "FAILED: b.o", "b.cpp:1: error: x", "[2/3] CXX c.o", "ninja: build stopped"]
        self.assertEqual(building.failing_part(log), "FAILED: b.o\nb.cpp:1: error: x\nninja: build stopped")
