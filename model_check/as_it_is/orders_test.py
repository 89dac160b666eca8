"""What --mutate-all says of the orders of unmodified code: a queue that a beginner wrote gets the orders that its author published.
And what --reach says that scenarios left out."""

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

    def test_instances_of_a_template_are_one_operation_that_is_weakened_as_a_whole(self) -> None:
        line = line_of("orders.cpp", "// of each instance")
        rows, _, table = advice("twenty_instances_hand_over", code=0, file="orders.cpp")
        store, = (row for row in rows if row["site"].split(":")[1] == str(line))
        self.assertEqual((store["advice"], store["written"], store["operations"]), ("needed", "release", 20), rows)
        self.assertIn("20 operations of the program, changed together: instances of a template, a macro, or inlined", table)
        self.assertEqual(table.count(f"orders.cpp:{line}:store  "), 2, table)  # a mutant, and its advice

    def test_one_instance_is_named_by_its_column(self) -> None:
        line = line_of("orders.cpp", "// of each instance")
        site = f"model_check/as_it_is/orders.cpp:{line}"
        name = "twenty_instances_hand_over"
        found = json.loads(subprocess.run([PROGRAM, name, "--json", "-"], capture_output=True, text=True).stdout)
        each = [one for one in found["sites"] if one.startswith(f"{site}:")]
        self.assertEqual(len(each), 20, found["sites"])
        said = [json.loads(subprocess.run([PROGRAM, name, "--json", "-", "--mutate", f"{one}=relaxed"], capture_output=True,
                                          text=True).stdout)["verdict"] for one in (*each, site)]
        self.assertEqual((said.count("fail"), said[-1]), (2, "fail"), said)  # the one that is read, and all at once

    def test_an_operation_of_a_macro_is_named_by_the_line_that_uses_it(self) -> None:
        first, second, both = (line_of("orders.cpp", f"// {which}") for which in ("of the first", "of the second", "both"))
        rows, patch, table = advice("macro_hands_over", code=1, file="orders.cpp")
        of = {(int(row["site"].split(":")[1]), row["site"].split(":")[2]): row for row in rows}
        self.assertEqual(of[first, "store"]["advice"], "needed")
        self.assertEqual((of[second, "store"]["advice"], of[second, "store"]["together"]), ("free", "relaxed"))
        self.assertEqual((of[both, "fetch_add"]["operations"], of[both, "fetch_add"]["together"]), (2, "relaxed"))
        self.assertIn(f"# model_check/as_it_is/orders.cpp:{second}: store release -> relaxed", patch)
        self.assertNotIn("+        HAND_OVER", patch)

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


def line_of(file: str, text: str) -> int:
    return next(i for i, line in enumerate((HERE / file).read_text().splitlines(), 1) if text in line)


def never(file: str, *names: str, options: tuple[str, ...] = ()) -> dict[str, set[str]]:
    """By kind, what the named scenarios together never reached."""
    done = subprocess.run([PROGRAM, *names, "--reach", file, "--json", "-", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    each = [{row["what"]: set(row["places"]) for row in json.loads(line)["never"]} for line in done.stdout.splitlines()]
    return {what: set.intersection(*(one[what] for one in each)) for what in each[0] if all(what in one for one in each)}


class Reach(unittest.TestCase):
    PUSH, POP = (f"{HEADER}:{line_of('textbook_queues.hpp', text)}:compare_exchange_weak"
                 for text in ("tail_.compare_exchange_weak", "head_.compare_exchange_weak"))

    def test_what_compare_exchanges_never_failed_depends_on_who_competes(self) -> None:
        for names, left in ((("bounded_queue_hands_over",), {self.PUSH, self.POP}),
                            (("bounded_queue_of_two_producers",), {self.POP}),
                            (("bounded_queue_of_two_producers", "bounded_queue_of_two_consumers"), set())):
            with self.subTest(names):
                self.assertEqual(never("textbook_queues.hpp", *names).get("retry", set()), left)

    def test_an_operation_that_no_scenario_ran_is_named(self) -> None:
        one, two = (never("textbook_queues.hpp", f"bounded_queue_{name}")["operation"]
                    for name in ("hands_over", "of_two_consumers"))
        again = f"{HEADER}:{line_of('textbook_queues.hpp', '                at = head_.load();')}:load"  # it takes two consumers
        self.assertIn(again, one)
        self.assertNotIn(again, two)

    def test_memory_is_freed_and_then_used_again(self) -> None:
        for name, left in (("box_is_filled", {"freed"}), ("box_is_filled_twice", {"reuse"}),
                           ("box_is_filled_three_times", set())):
            with self.subTest(name):
                self.assertEqual(never("box_and_gate.hpp", name).keys() & {"freed", "reuse"}, left)
        self.assertIn("reuse", never("box_and_gate.hpp", "box_is_filled_three_times", options=("--bounds", "reuse=0")))

    def test_a_wait_that_never_slept_is_named(self) -> None:
        wait = f"model_check/as_it_is/box_and_gate.hpp:{line_of('box_and_gate.hpp', 'open_.wait(')}:wait"
        self.assertEqual(never("box_and_gate.hpp", "gate_may_be_shut").get("wait", set()), set())
        self.assertIn(wait, never("box_and_gate.hpp", "gate_stands_open")["wait"])

    def test_a_masked_index_that_never_came_round_is_named(self) -> None:
        write = f"model_check/as_it_is/box_and_gate.hpp:{line_of('box_and_gate.hpp', 'at_.store((')}:write"
        self.assertEqual(never("box_and_gate.hpp", "turnstile_lets_three_in").get("wrap", set()), {write})
        self.assertEqual(never("box_and_gate.hpp", "turnstile_comes_round").get("wrap", set()), set())

    def test_a_value_falls_late_in_an_execution_or_by_a_thread_that_did_not_know_of_it(self) -> None:
        tick = f"model_check/as_it_is/box_and_gate.hpp:{line_of('box_and_gate.hpp', 'at_.fetch_add(1')}:write"
        self.assertEqual(never("box_and_gate.hpp", "turnstile_comes_round_late").get("wrap", set()), {tick})
        self.assertEqual(never("box_and_gate.hpp", "meter_is_cleared").get("wrap", set()), set())

    def test_a_state_that_rises_by_one_is_no_counter(self) -> None:
        self.assertEqual(never("box_and_gate.hpp", "lamp_burns_out").get("wrap", set()), set())

    def test_slots_that_were_never_filled_again_are_named(self) -> None:
        value = f"{HEADER}:{line_of('textbook_queues.hpp', 's.value = ')}:write"
        self.assertIn(value, never("textbook_queues.hpp", "bounded_queue_of_two_producers")["slot"])
        self.assertNotIn(value, never("textbook_queues.hpp", "bounded_queue_hands_over").get("slot", set()))

    def test_slots_that_were_never_used_again_are_named(self) -> None:
        turn = f"{HEADER}:{line_of('textbook_queues.hpp', 's.turn.store(at + 1')}:write"
        self.assertIn(turn, never("textbook_queues.hpp", "bounded_queue_of_two_producers")["round"])
        self.assertNotIn(turn, never("textbook_queues.hpp", "bounded_queue_hands_over").get("round", set()))

    def test_a_mutex_that_no_thread_waited_for_is_named(self) -> None:
        lock = f"model_check/as_it_is/box_and_gate.hpp:{line_of('box_and_gate.hpp', 'own(lock_)')}:lock"
        self.assertEqual(never("box_and_gate.hpp", "till_of_one_customer").get("contention", set()), {lock})
        self.assertEqual(never("box_and_gate.hpp", "till_of_two_customers").get("contention", set()), set())

    def test_the_text_puts_all_scenarios_together(self) -> None:
        done = subprocess.run([PROGRAM, "bounded_queue_hands_over", "bounded_queue_of_two_producers", "ring_hands_over_weakly",
                               "--reach", "textbook_queues.hpp", "--jobs", "2"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = done.stdout.split("never reached by any of the 2 scenarios that came through")[1]
        self.assertIn("compare-exchanges that found no other value than expected: 1\n", told)
        self.assertIn(self.POP, told)
        self.assertNotIn(self.PUSH, told)

    def test_what_cannot_be_asked_is_refused(self) -> None:
        for options, said in ((("--reach", "nowhere.hpp"), "no operation of code as it is in a file whose name contains 'nowhere"),
                              (("--reach", "x", "--mutate-all", "y"), "leave out --mutate")):
            done = subprocess.run([PROGRAM, *options], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
