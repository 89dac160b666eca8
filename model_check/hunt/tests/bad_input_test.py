"""Bad input: what `scripts/apiary hunt` answers to programs that cannot be hunted, or that ask for what is not there.

    bad_input_test.py FOLDER [--threads N]     where hunted_bad and its like lie"""

import os
import re
import resource
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(".")
THREADS = "1000"
NOBODY = 65534


def hunt(program: str, *words: str, options: tuple[str, ...] = ("--runs", "3"), **more: object) -> tuple[int, str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("APIARY_")} | {"NO_COLOR": "1"}
    done = subprocess.run([ROOT / "scripts/apiary", "hunt", "--jobs", "1", "--time", "120s", *options, "--", FOLDER / program, *words],
                          env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    return done.returncode, done.stdout


def by_itself(program: str, *words: str, before: object) -> tuple[int, str]:
    """As the command calls it, within what `before` allows it."""
    done = subprocess.run([FOLDER / program, *words], env=os.environ | {"APIARY_HUNT": "runs=3;seconds=60;out=/dev/null"}, text=True,
                          preexec_fn=before, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def no_process() -> None:
    if os.geteuid() == 0:  # root may start as many as it likes
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def no_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))


class BadInput(unittest.TestCase):
    def test_what_is_not_instrumented_or_half_or_twice(self) -> None:
        code, said = hunt("hunted_blind", "terminal")
        self.assertEqual(code, 2, said)
        self.assertIn("nothing of hunted_blind was seen", said)
        code, said = hunt("hunted_half", "terminal")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"hunted_half: compiled without -fsanitize=thread, so what they do is not seen: \S*unseen\.cpp\n")
        self.assertNotIn("compiled without", hunt("hunted_bad", "terminal")[1])
        if (FOLDER / "hunted_twice").exists():
            code, said = hunt("hunted_twice", "terminal")
            self.assertEqual(code, 2, said)
            self.assertIn("is linked with ThreadSanitizer as well", said)
        code, said = hunt(sys.executable)
        self.assertEqual(code, 2, said)
        self.assertIn("is not linked with the hunt's runtime", said)

    def test_a_terminal_a_network_and_hours(self) -> None:
        self.assertEqual(hunt("hunted_bad", "terminal")[0], 0, "standard input is no terminal, and empty")
        self.assertEqual(hunt("hunted_bad", "hours")[0], 0, "five hours pass at once")
        code, said = hunt("hunted_bad", "network")
        self.assertEqual(code, 3, said)
        self.assertIn("not supported: connect", said)

    def test_assembly_and_fences_by_intrinsics(self) -> None:
        code, said = hunt("hunted_bad", "fences")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"not seen are assembly and fences by intrinsics.*: bad\.cpp:\d+ \(mfence\), bad\.cpp:\d+ \(lock addl \$0x0,\(%rsp\)\)\n")

    def test_signals_that_come_at_no_step_of_the_run(self) -> None:
        process = "kill of the process itself, with several threads"
        for name, what in (("signal", process), ("kill", process), ("queue", "sigqueue, by syscall"), ("alarm", "alarm")):
            code, said = hunt("hunted_bad", name)
            self.assertEqual(code, 3, said)
            self.assertIn(f"not supported: {what}", said)

    def test_many_threads(self) -> None:
        code, said = hunt("hunted_bad", "threads", THREADS, options=("--runs", "1"))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"hunted_bad +1 .*nothing found")

    def test_no_process_and_no_memory_left(self) -> None:
        if os.geteuid() == 0 and not os.access(FOLDER, os.X_OK):
            self.skipTest("another user may not look into the build folder")
        code, said = by_itself("hunted_bad", "terminal", before=no_process)
        self.assertEqual((code, bool(re.search(r"apiary hunt: no process can be started", said))), (3, True), said)
        code, said = by_itself("hunted_bad", "terminal", before=no_memory)
        self.assertEqual((code, "apiary hunt: no memory can be mapped" in said), (3, True), said)

    def test_a_seed_of_another_build(self) -> None:
        code, said = hunt("hunted_bad", "terminal", options=("--seed", "5:20:00000000"))
        self.assertEqual(code, 2, said)
        self.assertIn("the seed is of build 00000000", said)


if __name__ == "__main__":
    FOLDER = Path(sys.argv.pop(1)).resolve()
    if sys.argv[1:2] == ["--threads"]:
        THREADS = sys.argv[2]
        del sys.argv[1:3]
    unittest.main()
