"""What a generated check says: its counts, a search that was cut, replay, mutation, nonsense.

    linearizable_test.py PROGRAM"""

import json
import re
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


def verdict(*words: str) -> dict:
    return json.loads(next(line for line in run(*words, "--json", "-").stdout.splitlines() if line.startswith("{")))


class Generated(unittest.TestCase):
    def test_the_verdict_counts_the_scenarios(self):
        done = run("atomic_counter")
        counts = re.search(r"scenarios: (\d+) generated, (\d+) exhausted, 0 cut", done.stdout)
        self.assertTrue(counts, done.stdout)
        self.assertEqual(counts[1], counts[2])
        self.assertGreater(int(counts[1]), 100)
        self.assertIn("scenarios: " + counts[0].removeprefix("scenarios: "), verdict("atomic_counter")["bound"])

    def test_a_search_that_was_cut_is_no_pass(self):
        for budget in ("1x", "200x"):
            done = run("atomic_counter", "--budget", budget)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, r"FAIL +atomic_counter .*scenarios: .* [1-9]\d* cut.*not finished")

    def test_jobs_and_shards_search_the_same(self):
        alone, shared = verdict("treiber_stack"), verdict("treiber_stack", "--jobs", "2")
        self.assertEqual((shared["verdict"], shared["graphs"]), ("pass", alone["graphs"]))
        alone = verdict("locked_queue")
        parts = [verdict("locked_queue", "--shard", f"{i}/2") for i in range(2)]
        self.assertGreaterEqual(sum(p["graphs"] for p in parts), alone["graphs"])
        self.assertTrue(all(0 < p["graphs"] < alone["graphs"] for p in parts), parts)

    def test_an_estimate_counts_the_scenarios(self):
        self.assertRegex(run("atomic_counter", "--estimate").stdout, r"estimate \S*atomic_counter\S*: \d+ scenarios")

    def test_a_failure_has_the_fewest_calls_and_is_replayed(self):
        done = run("torn_counter", "--trace")
        self.assertRegex(done.stdout, r"caught torn_counter .*not linearizable: add\(1\) = 0 \| add\(1\) = 0")
        line = re.search(r"replay: \S+ (torn_counter .*)", done.stdout)
        self.assertTrue(line, done.stdout)
        again = run(*line[1].split())
        self.assertIn("not linearizable: add(1) = 0 | add(1) = 0", again.stdout)
        self.assertEqual(again.returncode, 0, "an exhibit that fails for its reason is as expected")

    def test_a_token_that_is_none(self):
        for token in ("999999.A", "AB", "x.A"):
            done = run("torn_counter", "--replay", token)
            self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(run("torn_counter", "--replay", "999999.A").stdout, r"is no token of this check: NUMBER\.TOKEN")

    def test_an_order_is_weakened(self):
        site = next(s for s, order in verdict("treiber_stack")["sites"].items()
                    if order == "release" and s.startswith("model_check/as_it_is/linearizable.cpp"))
        done = run("treiber_stack", "--mutate", f"{':'.join(site.split(':')[:2])}=relaxed")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"data race: .*\[in .*(push|pop).*\]")


if __name__ == "__main__":
    unittest.main()
