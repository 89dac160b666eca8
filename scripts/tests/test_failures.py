"""What the end of check's log says: each part and test that failed, its first error, the machine; also where it is stopped."""

from __future__ import annotations

import contextlib
import io
import unittest
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault, Stopped
from apiary_cli.base.say import Progress
from apiary_cli.verbs import check, failures

CTEST = """\
Test project /somewhere/build/tsan
      Start  1: hive_test
      Start  2: queues_test
 1/6 Test #2: queues_test ......................   Passed    0.10 sec
      Start  3: subject_hive.blocks
 2/6 Test #1: hive_test ........................***Failed    0.52 sec
Running main() from gtest_main.cc
[ RUN      ] hive.stops
impl/apiary/hive_test.cpp:12: Failure
Expected equality of these values:
  1
[  FAILED  ] hive.stops (3 ms)

 3/6 Test #3: subject_hive.blocks ..............***Failed    1.00 sec
.F
======================================================================
FAIL: test_successor (__main__.Blocks.test_successor)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "subject_smoke_test.py", line 3, in test_successor
AssertionError: 3 != 4

Ran 2 tests in 0.9s
      Start  4: stress_parker
 4/6 Test #4: stress_parker ....................***Timeout 180.00 sec
stress_parker: the parker; seed 1, 6 threads
 5/6 Test #5: chat .............................***Skipped   0.00 sec
      Start  6: crasher
 6/6 Test #6: crasher ..........................Subprocess aborted***Exception:   0.10 sec

50% tests passed, 3 tests failed out of 6

Total Test time (real) = 181.00 sec

The following tests did not run:
\t  5 - chat (Skipped)

The following tests FAILED:
\t  7 - waits_for_that (Not Run)
\t  1 - hive_test (Failed)
\t  3 - subject_hive.blocks (Failed)
\t  4 - stress_parker (Timeout)
\t  6 - crasher (Subprocess aborted)
Errors while running CTest
"""
CARGO = """\
running 2 tests
test ring ... ok
test fib ... FAILED

failures:

---- fib stdout ----

thread 'fib' (77) panicked at tests/golden.rs:12:5:
assertion `left == right` failed

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""


class Lines(unittest.TestCase):
    def test_each_test_that_ctest_lists_as_failed_has_its_first_error(self) -> None:
        self.assertEqual(
            failures.of_ctest(CTEST),
            [
                "hive_test (Failed): impl/apiary/hive_test.cpp:12: Failure | Expected equality of these values:",
                "subject_hive.blocks (Failed): test_successor: AssertionError: 3 != 4",
                "stress_parker (Timeout): stress_parker: the parker; seed 1, 6 threads",
                "crasher (Subprocess aborted): it printed nothing",
                "waits_for_that (Not Run)",
            ],
        )
        self.assertEqual(failures.of_ctest("ctest was killed\n"), ["ctest was killed"])

    def test_unittest_and_cargo(self) -> None:
        text = "E\nERROR: test_a (tests.test_x.A.test_a) [1 == 2]\nTraceback:\n  File\nOSError: [Errno 28] full\n\nRan 1 test\n"
        self.assertEqual(failures.of_unittest("test_x", text), ["test_x: test_a: OSError: [Errno 28] full"])
        self.assertEqual(failures.of_unittest("test_x", "ImportError: no numpy\n"), ["test_x: ImportError: no numpy"])
        self.assertEqual(failures.of_unittest("test_x", ""), ["test_x: it printed nothing"])
        told = "thread 'fib' (77) panicked at tests/golden.rs:12:5: | assertion `left == right` failed"
        self.assertEqual(failures.of_cargo(CARGO), [f"fib: {told}"])
        built = "   Compiling x\nerror[E0425]: cannot find value `y`\n --> src/lib.rs:1:1\n"
        self.assertEqual(failures.of_cargo(built), ["error[E0425]: cannot find value `y` | --> src/lib.rs:1:1"])

    def test_the_first_error_of_a_build_is_the_compiler_s(self) -> None:
        text = "FAILED: b.o\ng++ -c b.cpp\nb.cpp:1:2: error: x was not declared\n    1 | x\n"
        self.assertEqual(failures.first_error(text.splitlines()), "b.cpp:1:2: error: x was not declared | 1 | x")
        for report in ("==1==ERROR: AddressSanitizer: heap-use-after-free", "WARNING: ThreadSanitizer: data race (pid=1)"):
            self.assertEqual(failures.first_error(["[ RUN ] x", report, "#0 f"]), f"{report} | #0 f")

    def test_a_line_has_a_width(self) -> None:
        self.assertEqual(len(failures.line("word " * 100)), failures.WIDEST)


class TheEnd(unittest.TestCase):
    def checked(self, **works: object) -> tuple[list[check.Part], str]:
        """The parts, and what was printed, where the parts do this."""
        out = io.StringIO()
        with contextlib.ExitStack() as patches, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            for name, work in works.items():
                patches.enter_context(mock.patch.object(check, f"run_{name}", work))
            parts = check.run_parts([{"preset": "tsan"}.get(name, name) for name in works])
            check.close(parts, 61.0)
        return parts, out.getvalue()

    def test_the_last_lines_name_what_failed_where_and_on_which_machine(self) -> None:
        many = [f"test_{i} (Failed): error {i}" for i in range(40)]
        parts, text = self.checked(
            python=lambda: (True, ["Ran 3 tests in 1 files", "OK"], []),
            preset=mock.Mock(side_effect=Fault("building tsan failed", "FAILED: b.o\nb.cpp:1: error: x", "")),
            rust=lambda: (False, ["test result: FAILED. 1 passed; 1 failed"], many),
            gate=lambda: (False, ["REGRESSED: yield_many ×1.060"]),
        )
        self.assertEqual([part.passed for part in parts], [True, False, False, False])
        last = text.splitlines()[-30:]
        self.assertIn("== check: summary", last, "the table, too")
        for line in ("tsan: building tsan failed: b.cpp:1: error: x", "rust: test_0 (Failed): error 0",
                     "rust: … and 37 more, above", "gate: REGRESSED: yield_many ×1.060"):
            self.assertIn(line, last)
        self.assertRegex(last[-2], r"^machine: .* CPUs .* GiB of disk free; Linux .* commit ")
        self.assertEqual(last[-1], "check: FAILED in tsan, rust, gate, after 61.0 s")
        self.assertIn("    gate: REGRESSED: yield_many ×1.060", check.job_summary(parts))

    def test_nothing_is_added_where_all_passed(self) -> None:
        parts, text = self.checked(python=lambda: (True, ["Ran 3 tests in 1 files", "OK"], []))
        self.assertNotIn("machine", text)
        self.assertEqual(len(check.job_summary(parts).splitlines()), 3)

    def test_an_error_of_the_scripts_ends_its_part_alone(self) -> None:
        parts, text = self.checked(
            rust=mock.Mock(side_effect=OSError(28, "No space left on device")),
            python=lambda: (True, ["Ran 3 tests in 1 files"], []),
        )
        self.assertEqual([part.passed for part in parts], [False, True])
        self.assertIn("Traceback", text)
        self.assertIn("rust: OSError: [Errno 28] No space left on device", text.splitlines()[-4:])

    def test_stopped_it_says_how_far_it_came(self) -> None:
        out = io.StringIO()
        with (
            mock.patch.object(check, "run_python", lambda: (True, ["Ran 3 tests in 1 files"], [])),
            mock.patch.object(check, "run_preset", side_effect=Stopped(15)),
            contextlib.redirect_stdout(out),
            self.assertRaises(Stopped),
        ):
            check.run_parts(["python", "ci", "model"])
        self.assertRegex(out.getvalue(), r"(?m)^ci: stopped by signal 15 after 0\.0 s$")
        self.assertRegex(out.getvalue().splitlines()[-1], "^check: FAILED in ci, after ")

    def test_a_ctest_that_is_stopped_names_what_was_running(self) -> None:
        def run(_words: list[str], on_line, **_: object) -> proc.Done:
            for line in CTEST.splitlines()[:5]:
                on_line(line)
            raise Stopped(15)

        out = io.StringIO()
        with mock.patch.object(proc, "run", run), contextlib.redirect_stdout(out), self.assertRaises(Stopped):
            check.ctest("ci")
        Progress.active = None
        self.assertIn("ctest ci: stopped after 1 of 6 tests; running: hive_test subject_hive.blocks", out.getvalue())


if __name__ == "__main__":
    unittest.main()
