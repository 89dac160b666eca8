"""What --mutate-all says of the orders of unmodified code: a queue that a beginner wrote gets the orders that its author published."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
HERE = Path(__file__).resolve().parent
HEADER = "model_check/as_it_is/textbook_queues.hpp"
# Vyukov's, by the text of the operation. The failure order of a compare-exchange is an operation of its own.
PUBLISHED = {
    "tail_.load()": "relaxed", "head_.load()": "relaxed", "s.turn.load()": "acquire",
    "tail_.compare_exchange_weak": "relaxed", "head_.compare_exchange_weak": "relaxed", "s.turn.store": "release",
}


def advice(*names: str, code: int, file: str = "textbook_queues.hpp") -> tuple[list[dict], str, str]:
    with tempfile.TemporaryDirectory() as folder:
        found, patch = Path(folder, "a.json"), Path(folder, "a.patch")
        done = subprocess.run([PROGRAM, *names, "--mutate-all", file, "--json", found, "--patch", patch],
                              capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(found.read_text()), patch.read_text(), done.stdout


class Orders(unittest.TestCase):
    def test_a_queue_without_orders_gets_those_of_its_author(self) -> None:
        rows, patch, table = advice("bounded_queue_hands_over", "bounded_queue_of_two_producers", code=1)
        lines = (HERE / "textbook_queues.hpp").read_text().splitlines()
        free = [row for row in rows if row["advice"] == "free"]
        self.assertEqual(len(free), 11, rows)
        for row in free:
            text = lines[int(row["site"].split(":")[1]) - 1]
            published = {order for operation, order in PUBLISHED.items() if operation in text}
            self.assertEqual(published, {row["together"]}, row)
        self.assertEqual([row for row in rows if row["advice"] in ("undecided", "needed", "missing")], [])
        self.assertIn(f"unreached  {HEADER}:42:load", table)  # head_.load() again: it takes two consumers
        self.assert_applies(patch, {"std::memory_order_relaxed": 7, "std::memory_order_acquire": 2, "std::memory_order_release": 2})

    def assert_applies(self, patch: str, added: dict[str, int]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, HEADER)
            file.parent.mkdir(parents=True)
            before = (HERE / "textbook_queues.hpp").read_text()
            file.write_text(before)
            subprocess.run(["git", "apply", "--unidiff-zero"], cwd=folder, input=patch, text=True, check=True)
            after = file.read_text()
            self.assertEqual({order: after.count(order) - before.count(order) for order in added}, added)

    def test_an_order_that_is_missing_is_named(self) -> None:
        rows, patch, table = advice("ring_hands_over_weakly", code=1)
        self.assertEqual([(row["advice"], row["site"], row["written"], row["alone"]) for row in rows],
                         [("missing", f"{HEADER}:68:store", "relaxed", "release")])
        self.assertIn("a check is red as the code stands: ring_hands_over_weakly: data race", table)
        self.assert_applies(patch, {"std::memory_order_release": 1, "std::memory_order_relaxed": -1})

    def test_two_orders_of_which_one_is_enough_are_not_both_given_up(self) -> None:
        lines = (HERE / "orders.cpp").read_text().splitlines()
        first, second = (next(i for i, text in enumerate(lines, 1) if text.endswith(f"// {word}")) for word in ("first", "second"))
        rows, patch, table = advice("published_twice_over", code=1, file="orders.cpp")
        of = {row["site"].split(":")[1]: row for row in rows if row["advice"] != "unreached"}
        self.assertEqual((of[str(first)]["alone"], of[str(first)]["together"]), ("dropped", "dropped"))
        self.assertEqual((of[str(second)]["alone"], of[str(second)]["together"]), ("relaxed", "release"))
        self.assertIn("can be relaxed while the others of this list stay; not with them", table)
        self.assertNotIn("memory_order_relaxed", patch)

    def test_a_search_that_is_cut_decides_nothing(self) -> None:
        done = subprocess.run([PROGRAM, "bounded_queue_hands_over", "--mutate-all", "textbook_queues.hpp", "--budget", "29x"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"undecided .*no check failed with acquire, and not every search came to its end")

    def test_what_no_order_mends_says_so(self) -> None:
        done = subprocess.run([PROGRAM, "ring_hands_over_weakly", "--mutate-all", "nowhere.hpp"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("no stronger order of 'nowhere.hpp' makes it pass", done.stdout)

    def test_a_patch_without_a_table_is_refused(self) -> None:
        done = subprocess.run([PROGRAM, "--patch", "x"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--patch needs --mutate-all FILE", done.stderr)


if __name__ == "__main__":
    unittest.main()
