"""`scripts/apiary prove --reach` on real programs, from end to end: reach_test.py ORDERS [MOODYCAMEL_BLOCKS].

The verb runs in a tree of its own, whose programs are these: what `prove` writes stays there."""

import csv
import json
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAMS = [Path(word) for word in sys.argv[1:]]
del sys.argv[1:]
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
from tests import fakes, support  # noqa: E402

KINDS = ("operation", "retry", "wait", "wrap", "round", "slot", "contention", "freed", "reuse")


class Reach(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="apiary-reach-")
        self.addCleanup(folder.cleanup)
        self.root = fakes.tree(Path(folder.name))
        there = self.root / "build" / "model" / "bin"
        there.mkdir(parents=True)
        # By a script each: a program tells its own source, which is not there.
        fakes.manifest(self.root, "model", "checks",
                       [fakes.script(there / program.name, f'#!/bin/sh\nexec {shlex.quote(str(program.resolve()))} "$@"\n')
                        for program in PROGRAMS])

    def prove(self, *words: str, code: int = 0) -> tuple[dict[str, dict[str, str]], dict[str, str], str]:
        """By scenario and kind what it says was never reached; by kind what would reach it."""
        done = subprocess.run([sys.executable, ROOT / "scripts" / "apiary", "prove", "--reach", "--no-build", *words],
                              env=support.environment(self.root), capture_output=True, text=True, timeout=280)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        never, would, of = {}, {}, None
        for line in done.stdout.split("what was never reached\n", 1)[1].splitlines():
            if line == "what would reach it":
                of = would
            elif " never reached" in line and not line.startswith(" "):
                of = never.setdefault(line.split(" never reached")[0], {})
            elif line.startswith("  ") and of is not None:
                kind, _, rest = line.strip().partition(":" if of is would else " ")
                of[kind] = rest.strip()
            else:
                break
        return never, would, done.stdout

    def test_what_a_scenario_leaves_out_is_printed_with_what_would_reach_it(self) -> None:
        never, would, said = self.prove("bounded_queue_of_two_producers", "turnstile_lets_three_in", "gate_stands_open",
                                        "till_of_one_customer", "box_is_filled_twice", "ring_hands_over_weakly")
        of_ours = {name: set(kinds) for name, kinds in never.items()}
        self.assertLessEqual({"operation", "retry", "round", "slot"}, of_ours["bounded_queue_of_two_producers"], said)
        for name, kind in (("turnstile_lets_three_in", "wrap"), ("gate_stands_open", "wait"),
                           ("till_of_one_customer", "contention"), ("box_is_filled_twice", "reuse")):
            self.assertIn(kind, of_ours[name], said)
        self.assertNotIn("ring_hands_over_weakly", never)  # an exhibit: red before it had been everywhere
        self.assertIn("textbook_queues.hpp:", never["bounded_queue_of_two_producers"]["slot"])
        self.assertEqual(set(would), set.union(*of_ours.values()), said)
        self.assertLessEqual(set(would), set(KINDS))
        self.assertTrue(all(would.values()), would)

    def test_record_table_and_page_have_it_too(self) -> None:
        self.prove("till_of_one_customer")
        folder = self.root / "build" / "model"
        self.assertIn("till_of_one_customer",
                      [row["name"] for row in csv.DictReader((folder / "prove.csv").read_text().splitlines())])
        self.assertIn("contention", (folder / "prove.html").read_text())
        verdict, = json.loads((folder / "prove.json").read_text())["verdicts"]
        self.assertIn("contention", [row["what"] for row in verdict["never"]])

    @unittest.skipIf(len(PROGRAMS) < 2, "moodycamel's queue was not built")
    def test_blocks_that_are_never_used_again_are_named_and_blocks_of_two_show_the_race(self) -> None:
        never, would, said = self.prove("moodycamel_block_of_32", "moodycamel_block_comes_back")
        self.assertIn("concurrentqueue/concurrentqueue.h:", never["moodycamel_block_of_32"]["slot"], said)
        self.assertIn("smaller", would["slot"], said)
        self.assertRegex(said, r"moodycamel_block_comes_back +.*caught")

    def test_what_is_replayed_or_changed_is_refused(self) -> None:
        for words in (("--replay", "x1:"), ("--mutate", "a.hpp:1=relaxed")):
            done = subprocess.run([sys.executable, ROOT / "scripts" / "apiary", "prove", "till_of_one_customer", "--reach",
                                   "--no-build", *words], env=support.environment(self.root), capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("--reach is of whole searches of the code as it stands", done.stderr)


if __name__ == "__main__":
    unittest.main()
