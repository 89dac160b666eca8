"""compare: two result folders, and two commits of a made-up repository."""

from __future__ import annotations

import json
import math
import random
import subprocess
import unittest

from apiary_cli.base import stats
from apiary_cli.race import tables
from apiary_cli.analysis import compare_folders

from . import fakes, points
from .support import TreeCase, apiary


def rows(ours: float, peer: float, rounds: int, seed: int, peer_build: str = "b") -> list[dict[str, str]]:
    """Rows of one throughput point; every round has a speed of its own that both subjects share."""
    rng, out = random.Random(seed), []
    for number in range(1, rounds + 1):
        speed = rng.lognormvariate(0, 0.2)
        for name, role, ns in (("hive", "candidate", ours), ("hive-aa", "aa", ours), ("tokio", "peer", peer)):
            out.append(
                dict.fromkeys(tables.ROWS, "")
                | {
                    "scenario": "post_throughput",
                    "scenario_params": "batch=1;producers=1",
                    "placement": "free",
                    "subject": name,
                    "subject_version": "1",
                    "build_id": peer_build if role == "peer" else "x",
                    "role": role,
                    "batch": "1",
                    "round": str(number),
                    "ns_per_op": f"{ns * speed * rng.lognormvariate(0, 0.01):.4f}",
                    "status": "ok",
                }
            )
    return out


class CompareFolders(unittest.TestCase):
    def only(self, old: list[dict[str, str]], new: list[dict[str, str]]) -> compare_folders.FolderComparison:
        found = compare_folders.compare(old, new)
        self.assertEqual([one.subject for one in found], ["hive"])
        return found[0]

    def test_the_common_peer_takes_the_machine_out(self) -> None:
        # The second folder's machine is twice as slow, for everybody.
        one = self.only(rows(100, 300, 20, 1), rows(200, 600, 20, 2))
        self.assertEqual(one.verdict, stats.EQUIVALENT)
        self.assertEqual(one.anchors, ("tokio",))
        self.assertAlmostEqual(one.found.ratio, 1.0, delta=0.02)

    def test_a_slower_scheduler_is_seen(self) -> None:
        one = self.only(rows(100, 300, 20, 1), rows(120, 300, 20, 2))
        self.assertEqual(one.verdict, stats.REGRESSED)
        self.assertAlmostEqual(one.found.ratio, 1.2, delta=0.03)
        self.assertEqual(self.only(rows(120, 300, 20, 1), rows(100, 300, 20, 2)).verdict, stats.IMPROVED)

    def test_a_peer_of_another_build_is_no_anchor(self) -> None:
        one = self.only(rows(100, 300, 20, 1), rows(200, 300, 20, 2, peer_build="c"))
        self.assertEqual((one.verdict, one.anchors), (stats.INCONCLUSIVE, ()))
        self.assertIn("no_common_peer", one.flags)

    def test_a_peer_that_hung_takes_no_rounds_of_the_others_with_it(self) -> None:
        """It is not asked again after that, so it has two rounds of twenty."""
        def raced(ours: float, seed: int, lacks: range) -> list[dict[str, str]]:
            table = rows(ours, 300, 20, seed)
            table += [row | {"subject": "asio", "ns_per_op": f"{1.1 * float(row['ns_per_op'])}"} for row in table if row["role"] == "peer"]
            return [row | ({"status": "hang", "ns_per_op": ""} if row["subject"] == "asio" and int(row["round"]) in lacks else {}) for row in table]

        for lacks, anchors, n, flags in ((range(0), ("asio", "tokio"), 20, []), (range(3, 21), ("tokio",), 20, []),
                                         (range(9, 11), ("asio", "tokio"), 18, ["pairs_missing=2/40"])):
            for old, new in ((lacks, range(0)), (range(0), lacks)):
                one = self.only(raced(100, 1, old), raced(200, 2, new))
                self.assertEqual((one.verdict, one.anchors, one.found.n, one.flags), (stats.REGRESSED, anchors, n, flags), (old, new))

    def test_the_controls_of_either_folder_decide(self) -> None:
        old, new = rows(100, 300, 20, 1), rows(120, 300, 20, 2)

        def copy(table: list[dict[str, str]], **change: str) -> list[dict[str, str]]:
            return [row | (change if row["role"] == "aa" else {}) for row in table]

        def slower(table: list[dict[str, str]]) -> list[dict[str, str]]:
            return [row | ({"ns_per_op": f"{1.1 * float(row['ns_per_op'])}"} if row["role"] == "aa" else {}) for row in table]

        for both in ((slower(old), new), (old, slower(new))):
            one = self.only(*both)
            self.assertEqual((one.verdict, one.flags[0]), (stats.INCONCLUSIVE, "control_failed"))
        one = self.only(old, copy(new, status="crash"))
        self.assertEqual((one.verdict, one.flags), (stats.INCONCLUSIVE, ["no_control"]))
        self.assertEqual(self.only(old, new).flags, [])

    def test_the_correction_over_all_rows_is_a_races(self) -> None:
        """What is just beyond the margin is no claim beside forty others."""
        others = [[row | {"scenario_params": f"batch={n};producers=1"} for row in rows(100, 300, 20, seed)] for n, seed in
                  enumerate(range(100, 140), 2)]
        same = [row for table in others for row in table]
        for effect in range(1030, 1100):
            old, new = rows(100, 300, 20, 1), rows(effect / 10, 300, 20, 2)
            if self.only(old, new).verdict == stats.REGRESSED:
                break
        one = next(one for one in compare_folders.compare(old + same, new + same) if one.key[1] == "batch=1;producers=1")
        self.assertEqual(one.verdict, stats.INCONCLUSIVE)
        self.assertGreater(one.p_bh, stats.FALSE_DISCOVERY)

    def test_the_interval_holds_the_truth(self) -> None:
        held = 0
        for seed in range(24):
            one = self.only(rows(100, 300, 12, seed), rows(105, 300, 12, 1000 + seed))
            held += one.found.log_lo <= math.log(1.05) <= one.found.log_hi
        self.assertGreaterEqual(held, 20)


def latencies(ours: float, peer: float, spoilt: int = 0, whose: str = "hive", factor: float = 1.0) -> list[dict]:
    """Twenty rounds of a latency; in the first `spoilt` ones the injector made `factor` times the figure of `whose`."""
    out = []
    for number in range(20):
        for name, role, ns in (("hive", "candidate", ours), ("tokio", "peer", peer)):
            mine = number < spoilt and name == whose
            out.append(
                dict.fromkeys(tables.ROWS, "")
                | {
                    "scenario": "post_latency", "scenario_params": "rate=1000", "placement": "free", "subject": name,
                    "subject_version": "1", "build_id": "b", "role": role, "batch": "1", "round": str(number),
                    "status": "ok",
                    "lat_p50_ns": str(ns * (factor if mine else 1) + number),
                    "flags": "injector_limited_p50;injector_us=1" if mine else "injector_us=1",
                }
            )
    return points.copied(out)


class WhatTheInjectorMade(unittest.TestCase):
    """As in a race (test_injector.py), between two folders."""

    def only(self, old: list[dict[str, str]], new: list[dict[str, str]]) -> compare_folders.FolderComparison:
        (one,) = compare_folders.compare(old, new)
        return one

    def test_such_rounds_are_left_out_and_counted(self) -> None:
        for whose in ("hive", "tokio"):
            one = self.only(latencies(5_000, 10_000), latencies(6_000, 10_000, 5, whose, 1.02))
            self.assertEqual((one.verdict, one.flags[0]), (stats.REGRESSED, "pairs_dropped=5/40"), whose)
            self.assertAlmostEqual(one.found.ratio, 1.2, places=2)

    def test_what_only_the_dropping_shows_is_not_claimed(self) -> None:
        one = self.only(latencies(5_000, 10_000), latencies(4_000, 10_000, 9, "hive", 4.0))
        self.assertEqual(one.verdict, stats.INCONCLUSIVE)
        self.assertEqual(one.flags[:2], ["dropping_decides", "pairs_dropped=9/40"])
        self.assertAlmostEqual(one.found.ratio, 0.8, places=2)

    def test_half_of_the_rounds_of_each_folder_must_be_left(self) -> None:
        self.assertEqual(self.only(latencies(5_000, 10_000, 10), latencies(6_000, 10_000)).verdict, stats.REGRESSED)
        one = self.only(latencies(5_000, 10_000, 11), latencies(6_000, 10_000))
        self.assertEqual((one.verdict, one.flags[0]), (stats.INCONCLUSIVE, "not_ranked"))


class Folders(TreeCase):
    def made(self, *subjects: dict) -> str:
        before = set((self.root / "results").iterdir())
        self.subjects(*subjects)
        done = self.race(*self.one_point(), "--rounds", "8")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return next(iter(set((self.root / "results").iterdir()) - before)).name

    def test_two_folders(self) -> None:
        old = self.made({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        new = self.made({"name": "hive", "ns": 130.0}, {"name": "tokio", "ns": 300.0})
        worse = apiary(self.root, "compare", old, new)
        self.assertEqual(worse.returncode, 1, worse.stdout + worse.stderr)
        self.assertIn("REGRESSED", worse.stdout)
        self.assertEqual(worse.stdout.count("against tokio"), 1, "once for all rows")
        better = apiary(self.root, "compare", new, old)
        self.assertEqual(better.returncode, 0, better.stdout + better.stderr)
        self.assertIn("IMPROVED", better.stdout)

    def test_an_invalid_folder_is_refused(self) -> None:
        old = self.made({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        new = self.made({"name": "hive", "ns": 130.0}, {"name": "tokio", "ns": 300.0})
        path = self.root / "results" / new / "rows.csv"
        table = tables.read(path, tables.ROWS)
        tables.write(path, tables.ROWS, [
            row | ({"cpu_ns": str(2 * int(row["cpu_ns"]))} if row["subject"] == "hive-aa" else {}) for row in table
        ])
        for both in ((old, new), (new, old)):
            done = apiary(self.root, "compare", *both)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn(f"{new} is INVALID", done.stderr)
            self.assertNotIn("REGRESSED", done.stdout)
        table = tables.read(path, tables.ROWS)
        tables.write(path, tables.ROWS, [
            row | ({"status": "wrong", "error": "a fake"} if row["subject"] == "tokio" else {}) for row in table
        ])
        done = apiary(self.root, "compare", old, new)
        self.assertEqual(done.returncode, 1, "wrong work is 1 whatever the controls say: " + done.stdout + done.stderr)
        self.assertIn(f"{new} is INVALID", done.stderr)

    def test_what_the_new_one_did_wrong_or_lost_is_red_whatever_is_compared(self) -> None:
        both = ({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        old, new = self.made(*both), self.made(*both)
        path = self.root / "results" / new / "rows.csv"
        table = tables.read(path, tables.ROWS)
        lost = "WRONG: NEW has no figure of hive in post_throughput batch=1;producers=1 one_cpu, and OLD has"
        for subject, status, told in (("tokio", "crash", ["WRONG: tokio: 8 × crash"]), ("hive", "unsupported", [lost]),
                                      ("hive", "hang", ["WRONG: hive: 8 × hang", lost])):
            with self.subTest(subject=subject, status=status):
                change = {"status": status, "error": "a fake"}
                tables.write(path, tables.ROWS, [row | (change if row["subject"] == subject else {}) for row in table])
                done = apiary(self.root, "compare", old, new, "--json", str(self.root / "told.json"))
                self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                for line in told:
                    self.assertIn(line, done.stdout)
                noted = json.loads((self.root / "told.json").read_text())
                self.assertEqual(noted["exit"], 1)
                self.assertEqual(len(noted["failures"]) + len(noted["lost"]), len(told))
                self.assertEqual(apiary(self.root, "compare", new, new).returncode, 2 if told == [lost] else 1)

    def test_folders_of_two_plans_have_nothing_in_common(self) -> None:
        old, new = self.made({"name": "hive"}), self.made({"name": "hive"})
        path = self.root / "results" / new / "rows.csv"
        table = tables.read(path, tables.ROWS)
        tables.write(path, tables.ROWS, [row | {"scenario_params": "batch=1;producers=2"} for row in table])
        done = apiary(self.root, "compare", old, new)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("nothing in common", done.stderr)
        self.assertNotIn("WRONG", done.stdout)

    def test_a_red_finding_of_the_new_one_is_red(self) -> None:
        both = ({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        old, new = self.made(*both), self.made(*both)
        path = self.root / "results" / new / "env.json"
        env = json.loads(path.read_text())
        env["race"]["expected_findings"] = [{
            "scenario": "post_throughput", "scenario_params": "batch=1;producers=1", "placement": "one_cpu", "subject": "hive",
            "finding": "control_wrong_side", "reason": "a fake",
        }]
        path.write_text(json.dumps(env))
        done = apiary(self.root, "compare", old, new)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("FINDING NO LONGER SHOWS: hive", done.stdout)
        self.assertEqual(apiary(self.root, "compare", new, old).returncode, 0, "of OLD it is no news")

    def test_options_of_a_race_are_refused(self) -> None:
        one = self.made({"name": "hive"})
        for words in (["--scenario", "successor"], ["--plan", "quick"], ["--subject", "tokio"], ["--rounds", "3"], ["--repeat", "2"]):
            done = apiary(self.root, "compare", one, one, *words)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertIn(f"two result folders with {words[0]}", done.stderr)

    def test_another_environment_is_a_warning(self) -> None:
        old = self.made({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        new = self.made({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        path = self.root / "results" / old / "env.json"
        env = json.loads(path.read_text())
        env["env_id"], env["machine"]["cpu"] = "other", "another CPU"
        path.write_text(json.dumps(env))
        done = apiary(self.root, "compare", old, new)
        self.assertIn("machine.cpu", done.stderr)
        self.assertEqual(done.returncode, 0)

    def test_bad_names(self) -> None:
        old = self.made({"name": "hive"})
        mixed = apiary(self.root, "compare", old, "HEAD")
        self.assertEqual(mixed.returncode, 2)
        self.assertIn("one is a result folder, the other is not", mixed.stderr)
        unknown = apiary(self.root, "compare", "HEAD~1000", "no-such-thing")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("neither a result folder nor a commit", unknown.stderr)


# Its CMake project "builds" a subject by copying a script that the commit holds.
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(fake NONE)
add_custom_target(subject_hive ALL COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/hive.py
  ${CMAKE_BINARY_DIR}/bin/subject_hive)
"""
PRESETS = {
    "version": 6,
    "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}],
}


class Commits(TreeCase):
    def git(self, *words: str) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(self.root), *identity, *words], check=True, capture_output=True)

    def commit(self, ns: float) -> None:
        fakes.subject(self.root / "hive.py", name="hive", ns=ns)
        self.git("add", "--all")
        self.git("commit", "-m", f"{ns}")

    def setUp(self) -> None:
        super().setUp()
        (self.root / "CMakeLists.txt").write_text(PROJECT)
        (self.root / "CMakePresets.json").write_text(json.dumps(PRESETS))
        (self.root / ".gitignore").write_text("build/\nresults/\n")
        self.git("init", "-q", "-b", "main")

    def compare(self, old: str, new: str) -> subprocess.CompletedProcess:
        words = (*self.one_point(), "--rounds", "12", "--seed", "3")
        return apiary(self.root, "compare", old, new, *words)

    def test_two_commits_and_the_working_tree(self) -> None:
        self.commit(100.0)
        self.commit(130.0)
        worse = self.compare("HEAD~1", "HEAD")
        self.assertEqual(worse.returncode, 1, worse.stdout + worse.stderr)
        self.assertIn("REGRESSED", worse.stdout)
        fakes.subject(self.root / "hive.py", name="hive", ns=90.0)
        better = self.compare("HEAD", ".")
        self.assertEqual(better.returncode, 0, better.stdout + better.stderr)
        self.assertIn("IMPROVED", better.stdout)
        status = subprocess.run(
            ["git", "-C", str(self.root), "status", "--porcelain"], capture_output=True, text=True, check=True
        )
        self.assertEqual(status.stdout, " M hive.py\n", "the index and the tree are left as they were")
        env = json.loads(max((self.root / "results").glob("*/env.json")).read_text())
        self.assertTrue(env["race"]["dirty"])
        self.assertFalse(env["verification"]["source_changed"])

    def test_several_times_with_the_verdicts_below_each_other(self) -> None:
        self.commit(100.0)
        words = (*self.one_point(), "--rounds", "12", "--seed", "3", "--repeat", "2", "--block-ms", "20", "--json", str(self.root / "build" / "told.json"))
        done = apiary(self.root, "compare", "HEAD", ".", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tail = done.stdout[done.stdout.index("2 times . over HEAD") :]
        # The figures of fakes are a function of seed and arm.
        self.assertIn(" 1  batch VALID: post_throughput batch=1;producers=1 one_cpu ×", tail)
        self.assertIn("\nverdicts: 2 EQUIVALENT\n", tail, "of what gates, one in each race")
        envs = [json.loads(path.read_text()) for path in sorted((self.root / "results").glob("*/env.json"))]
        self.assertEqual(sorted(env["race"]["seed"] for env in envs), [3, 4])
        self.assertEqual({env["race"]["block_ms"] for env in envs}, {20})
        races = json.loads((self.root / "build" / "told.json").read_text())["races"]
        self.assertEqual([one["folder"].rpartition("/")[2] for one in races], sorted(env["run_id"] for env in envs))
        self.assertEqual([(one["exit"], one["batch"], one["lost"], len(one["comparisons"]) > 0) for one in races], [(0, "VALID", [], True)] * 2)

    def test_a_point_that_the_new_one_cannot_run(self) -> None:
        self.commit(100.0)
        fakes.subject(self.root / "hive.py", name="hive", behaviour="unsupported")
        file = self.root / "build" / "told.json"
        done = apiary(self.root, "compare", "HEAD", ".", *self.one_point(), "--rounds", "2", "--json", str(file))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        told = json.loads(file.read_text())
        self.assertEqual((told["exit"], told["lost"]), (1, ["NEW has no figure in post_throughput batch=1;producers=1 one_cpu, and OLD has"]))

    def test_a_commit_that_does_not_build(self) -> None:
        self.commit(100.0)
        (self.root / "CMakeLists.txt").write_text("message(FATAL_ERROR broken)\n")
        self.commit(101.0)
        done = self.compare("HEAD~1", "HEAD")
        self.assertEqual(done.returncode, 3, done.stdout)
        self.assertIn("building subject_hive of HEAD failed", done.stderr)


if __name__ == "__main__":
    unittest.main()
