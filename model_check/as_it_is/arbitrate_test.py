"""--arbitrate: is this report of ThreadSanitizer's true? The text is that of g++ 12's runtime, and of clang's."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = sys.argv.pop(1)
SOURCE = Path(__file__).resolve().parent / "disputed.cpp"
LINES = SOURCE.read_text().splitlines()


def line(comment: str) -> int:
    found = [number for number, text in enumerate(LINES, 1) if re.search(rf"// {comment}$", text)]
    assert len(found) == 1, comment
    return found[0]


def report(read: int, write: int, column: str = "", file: str = str(SOURCE)) -> str:
    return f"""==================
WARNING: ThreadSanitizer: data race (pid=22089)
  Read of size 4 at 0x5555555580b8 by thread T2:
    #0 receive(message&) {file}:{read}{column} (disputed+0x13ec)
    #1 __invoke_impl<void, main()::<lambda()> > /usr/include/c++/12/bits/invoke.h:61 (disputed+0x13ec)
    #2 <null> <null> (libstdc++.so.6+0xd44a2)

  Previous write of size 4 at 0x5555555580b8 by thread T1:
    #0 send(message&) {file}:{write}{column} (disputed+0x1273) (BuildId: 12ab)
    #1 __invoke<main()::<lambda()> > /usr/include/c++/12/bits/invoke.h:96 (disputed+0x1273)

  Thread T2 (tid=22493, running) created by main thread at:
    #0 pthread_create ../../../../src/libsanitizer/tsan/tsan_interceptors_posix.cpp:1001 (libtsan.so.2+0x5e686)

SUMMARY: ThreadSanitizer: data race {file}:{read} in operator()
"""


class Arbitrate(unittest.TestCase):
    def asked(self, text: str, *names: str, code: int) -> str:
        done = subprocess.run([PROGRAM, *names, "--arbitrate", "-"], input=text, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_a_report_that_ignores_fences(self) -> None:
        for column in ("", ":9"):
            said = self.asked(report(line("read"), line("written"), column), "fences_hand_over", code=0)
            self.assertIn("none within this bound. ThreadSanitizer ignores fences", said)
            for fence in ("the release fence", "the acquire fence"):
                self.assertIn(f"disputed.cpp:{line(fence)}", said)

    def test_a_race_is_shown(self) -> None:
        said = self.asked(report(line("read"), line("written")), "fence_is_missing", code=1)
        self.assertIn("a race: here is an execution of it", said)
        self.assertRegex(said, r"row +\| thread")
        self.assertIn("--replay", said)

    def test_what_orders_keep_apart_is_no_fences(self) -> None:
        said = self.asked(report(line("read by an order"), line("written by an order")), "orders_hand_over", code=0)
        self.assertIn("no fence has a part in it, and what keeps them apart is the order at", said)
        for order in ("the releasing store", "the acquiring load"):
            self.assertIn(f"disputed.cpp:{line(order)}", said)

    def test_an_allocation_that_is_met_first_is_no_answer_of_its_own(self) -> None:
        said = self.asked(report(line("read from a block"), line("written to a block")), "a_block_is_handed_over", code=0)
        for order in ("the publishing store", "the taking load"):
            self.assertIn(f"disputed.cpp:{line(order)}", said)

    def test_places_that_no_scenario_brings_together(self) -> None:
        said = self.asked(report(line("read by an order"), line("written alone")), "orders_hand_over", code=3)
        self.assertIn("undecided: also with every order relaxed no scenario brings both places together", said)
        self.assertIn(f"disputed.cpp:{line('the releasing store')}", said)

    def test_a_search_that_is_cut_decides_nothing(self) -> None:
        done = subprocess.run([PROGRAM, "fences_hand_over", "--arbitrate", "-", "--budget", "1x"], input=report(line("read"), line("written")),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("undecided: not every search came to its end (fences_hand_over: ", done.stdout)

    def test_it_goes_alone(self) -> None:
        for option in (("--mutate-all", "disputed.cpp"), ("--mutate", "disputed.cpp:1=relaxed")):
            done = subprocess.run([PROGRAM, "--arbitrate", "-", *option], input="", capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("--arbitrate searches for one race in the code as it stands", done.stderr)

    def test_another_build_is_no_answer(self) -> None:
        for text, seen in ((report(1, line("written")), f"{SOURCE}:1"), (report(9, 10, file="/elsewhere/queue.hpp"), "queue.hpp:9")):
            said = self.asked(text, "fences_hand_over", code=3)
            self.assertRegex(said, rf"undecided: no access of this program was compiled at \S*{re.escape(seen)}")

    def test_the_worst_of_several_reports_counts(self) -> None:
        two = report(line("read"), line("written")) + report(1, 2)
        self.assertEqual(self.asked(two, "fences_hand_over", code=3).count("reported: "), 2)
        self.asked(two, "fence_is_missing", code=1)

    def test_a_text_without_a_report_is_refused(self) -> None:
        for text in ("", "WARNING: ThreadSanitizer: thread leak (pid=1)\n", report(5, 6).replace(f"{SOURCE}:5", "<null>")):
            self.assertIn("holds no report of a data race", self.asked(text, code=2))
        done = subprocess.run([PROGRAM, "--arbitrate", "/nowhere/report"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (2, "cannot read '/nowhere/report'\n"))


if __name__ == "__main__":
    unittest.main()
