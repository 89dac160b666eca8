"""apiary_virtual: every scenario's answers, the same figures each time wherever the kernel puts the program, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, RELINKED = sys.argv.pop(1), sys.argv.pop(1)
PROFILES = Path(__file__).resolve().parents[1] / "profiles"
FLAT = str(PROFILES / "flat.profile")


def call(*words: str, before: tuple[str, ...] = (), env: dict[str, str] | None = None,
         program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, program, *words], capture_output=True, text=True, timeout=300, env=env, check=False)


def scenarios() -> list[tuple[str, str]]:
    return [(line.split()[0], line.split()[1]) for line in call("--list").stdout.splitlines()]


def point(*words: str, profile: str = FLAT, program: str = PROGRAM) -> dict:
    done = call(*words, "--profile", profile, program=program)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class EveryScenario(unittest.TestCase):
    def test_answers_with_one_and_with_three_workers(self) -> None:
        self.assertGreaterEqual(len({subject for subject, _ in scenarios()}), 3)
        for subject, scenario in scenarios():
            for workers in ("1", "3"):
                with self.subTest(subject=subject, scenario=scenario, workers=workers):
                    found = point(subject, scenario, workers, "--brief")
                    self.assertGreater(found["ns"], 0)
                    self.assertAlmostEqual(found["moves"], sum(row["moves"] for row in found["lines"]), delta=0.01 * len(found["lines"]))

    def test_names_objects_and_places(self) -> None:
        rows = point("hive", "spawn_many_local", "4", "--brief")["lines"]
        self.assertIn("account_line[]", [row["object"] for row in rows])
        ledger = next(row for row in rows if row["object"] == "account_line[]")
        self.assertRegex(ledger["places"][0]["place"], r"account\.hpp:\d+$")


class Determinism(unittest.TestCase):
    POINT = ("processes", "msg_create", "3", "--brief", "--profile", FLAT)

    def test_addresses_and_environment_change_nothing(self) -> None:
        first = call(*self.POINT).stdout
        self.assertIn('"moves"', first)
        longer = {**os.environ, "PADDING": "x" * 12345}
        self.assertEqual(call(*self.POINT, env=longer).stdout, first)
        self.assertEqual(call(*self.POINT, before=("nice",)).stdout, first)
        with tempfile.TemporaryDirectory() as folder:  # a longer path moves what the host allocates
            found = set()
            for length in (1, 20, 60, 200):
                path = Path(folder) / ("x" * length)
                path.write_text(Path(FLAT).read_text())
                found |= {call("coro_pool", "spawn_many_local", "4", "--profile", str(path)).stdout,
                          call("hive", "spawn_many_local", "4", "--profile", str(path)).stdout}
            self.assertEqual(len(found), 2)
        setarch = shutil.which("setarch")
        if setarch is None or subprocess.run([setarch, "-R", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("this system does not let a program have fixed addresses (setarch -R)")
        self.assertEqual(call(*self.POINT, before=(setarch, "-R")).stdout, first)

    def test_another_link_order_changes_nothing(self) -> None:
        for subject, scenario in scenarios():
            with self.subTest(subject=subject, scenario=scenario):
                found = []
                for program in (PROGRAM, RELINKED):
                    one = point(subject, scenario, "4", "--brief", program=program)
                    del one["flags"]  # has bytes of the host's memory
                    one["lines"] = [{**row, "places": len(row["places"])} for row in one["lines"]]  # plain code lies elsewhere
                    found.append(one)
                self.assertEqual(*found)

    def test_a_tunable_changes_the_figure_and_its_usual_value_does_not(self) -> None:
        words = ("hive", "ping_pong", "4", "--brief", "--profile", FLAT)
        usual, same, none = (call(*words, *more).stdout for more in ((), ("--tune", "naps=16"), ("--tune", "looks_before_sleep=0")))
        self.assertIn("hive naps 16 0 1000\n", call("--tunables").stdout)
        self.assertEqual(usual, same)
        self.assertNotEqual(json.loads(usual)["ns"], json.loads(none)["ns"])

    def test_a_size_that_is_given_takes_the_place_of_the_usual_one(self) -> None:
        words = ("fork_join", "fib", "2", "--brief", "--profile", FLAT)
        usual, same, other = (json.loads(call(*words, *more).stdout) for more in ((), ("--param", "n=13"), ("--param", "n=10", "--param", "ops=3")))
        for key in ("operations", "check", "params"):  # not the time: the list of sizes lies in thread 0's memory
            self.assertEqual(usual[key], same[key])
        self.assertEqual((usual["params"]["n"], usual["operations"]), (13, 376))
        self.assertEqual((other["params"], other["operations"]), ({"n": 10, "ops": 3}, 3 * 88))

    def test_a_price_changes_the_figure(self) -> None:
        cheap, dear = (json.loads(call(*self.POINT, "--price", f"transfer={ns}").stdout)["ns"] for ns in (40, 160))
        self.assertGreater(dear, 1.3 * cheap)


class BadInput(unittest.TestCase):
    def refused(self, *words: str, told: str, status: int = 2) -> None:
        done = call(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(told, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_numbers_of_workers(self) -> None:
        for workers in ("0", "5000", "-1", "4x", ""):
            with self.subTest(workers=workers):
                self.refused("fork_join", "fib", workers, "--profile", FLAT, told="it can be 1 to 256")

    def test_names_and_options(self) -> None:
        self.refused("fork_join", "fibb", "1", "--profile", FLAT, told="these are: coro_pool fib")
        self.refused("fork_join", "fib", "1", told="no --profile")
        self.refused("fork_join", "fib", "1", "--profile", told="needs a value")
        self.refused("fork_join", "fib", "1", "--profil", FLAT, told="is no option")
        self.refused(told="a point is SUBJECT SCENARIO WORKERS")
        for word in ("nap=1", "naps", "naps=-1", "naps=1001"):
            self.refused("hive", "ping_pong", "1", "--profile", FLAT, "--tune", word, told="--tune naps is" if word[4:5] == "=" else "of hive")
        self.refused("fork_join", "fib", "1", "--profile", FLAT, "--tune", "naps=0", told="its numbers are: none")
        for word in ("n=99", "n", "m=1"):
            told = "it can be 0 to 60" if word == "n=99" else "its numbers are: n, ops"
            self.refused("fork_join", "fib", "1", "--profile", FLAT, "--param", word, told=told)
        if len(os.sched_getaffinity(0)) < 64:
            self.refused("coro_pool", "fib", "64", "--profile", FLAT, "--tune", "pinned=1", told="64 pinned workers, but this process may use")

    def test_profiles(self) -> None:
        self.refused("fork_join", "fib", "1", "--profile", "/none", told="cannot be read")
        self.refused("fork_join", "fib", "1", "--profile", FLAT, "--price", "transfer=-1", told="lies outside of")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "holes.profile"
            path.write_text(Path(FLAT).read_text().replace("transfer = 80\n", "", 1))
            self.refused("fork_join", "fib", "1", "--profile", str(path), told="no line for transfer")

    def test_too_little_virtual_time_names_the_threads(self) -> None:
        words = ("processes", "msg_throughput", "2", "--profile", FLAT, "--virtual-ms", "1")
        self.refused(*words, told="thread 1 (worker 0)", status=1)


if __name__ == "__main__":
    unittest.main()
