"""Symmetry of threads as they are (--alike): pools are searched with it and without, and what only seems alike is found out.

    pools_test.py POOLS"""

import functools
import json
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop()
LARGE = ("pool_of_two_runs_two_tasks", "pool_of_three_runs_one_task")


@functools.cache
def verdict(name: str, *options: str) -> dict:
    done = subprocess.run([PROGRAM, name, "--json", "-", *options], capture_output=True, text=True)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def names() -> list[str]:
    done = subprocess.run([PROGRAM, "--list", "--json"], capture_output=True, text=True, check=True)
    return [json.loads(line)["name"] for line in done.stdout.splitlines()]


class Symmetry(unittest.TestCase):
    def test_each_verdict_is_the_same_without_it(self) -> None:
        for name in filter(lambda name: name not in LARGE, names()):
            with self.subTest(name):
                some, all_ = verdict(name, "--alike"), verdict(name)
                self.assertTrue(some["as_expected"], some["reason"])
                self.assertEqual((some["verdict"], some["reason"].split(":")[0]), (all_["verdict"], all_["reason"].split(":")[0]))
                self.assertNotIn("symmetry", all_["bound"])

    def test_workers_of_a_pool_are_alike(self) -> None:
        some, all_ = (verdict("pool_of_two_runs_two_tasks", *options) for options in (("--alike",), ()))
        self.assertIn("symmetry of threads 1, 2 (--alike: if the program looks at no address", some["bound"])
        self.assertNotIn("symmetry", all_["bound"])
        self.assertEqual((some["mode"], some["graphs"]), ("exhaustive", 26_036))
        self.assertEqual((all_["mode"], all_["graphs"]), ("exhaustive", 52_072))

    def test_a_search_that_is_not_whole_says_nothing_of_symmetry(self) -> None:
        for options in (("--mode", "random", "--budget", "20x"), ("--mode", "pct", "--budget", "20x"), ("--shard", "0/2")):
            with self.subTest(options):
                self.assertNotIn("symmetry", verdict("two_put_and_two_take", "--alike", *options)["bound"])

    def test_two_sets_of_threads_are_alike_each(self) -> None:
        some, all_ = (verdict("two_put_and_two_take", *options) for options in (("--alike",), ()))
        for threads in ("1, 2", "3, 4"):
            self.assertIn(f"symmetry of threads {threads}", some["bound"])
        self.assertLess(some["graphs"], 0.4 * all_["graphs"])

    def test_what_only_seems_alike_is_searched_as_any_other(self) -> None:
        for name in filter(lambda name: name.startswith("told_apart_by_"), names()):
            with self.subTest(name):
                found = verdict(name, "--alike")
                self.assertTrue(found["as_expected"], found["reason"])
                self.assertNotIn("symmetry of threads", found["bound"])

    def test_its_replay_needs_no_symmetry(self) -> None:
        for name, reason in (("pool_of_two_tells_one_of_the_end", "deadlock"),
                             ("pool_of_three_takes_without_the_lock", "data race"),
                             ("vector_gave_memory_back_and_both_are_late", "both are late")):
            found = verdict(name, "--alike")
            line = found["replay"].split()
            done = subprocess.run([PROGRAM, *line], capture_output=True, text=True)
            self.assertIn(reason, done.stdout.splitlines()[0], line)
            self.assertNotIn("its replay", found["reason"])


if __name__ == "__main__":
    unittest.main()
