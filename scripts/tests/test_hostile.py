"""A subject cannot crash the race, nor hold it up: whatever it prints, writes or leaves behind is an error row."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault, tail
from apiary_cli.race import histogram, plans, rounds, subjects, tables

from . import fakes, points
from .support import TreeCase, comes_true, processes_of

HEADER = ",".join(tables.SUBJECT)
PRINTS = {  # what is printed in place of a row, and a word of the error
    "a bare carriage return": ("\r 10 %\r 20 %\n", "carriage return"),
    "a long field": (HEADER + "\\n" + "x" * 200_000 + "\\n", "more than 8192 characters"),
    "a NUL byte": ("a\\0b\\n", "NUL"),
    "an escape": ("\\x1b[2K\\n", "control character"),
    "an open quote": (HEADER + '\\n"' + "," * 32 + "\\n", "CSV"),
    "nothing": ("", "printed nothing"),
}
HIST = {
    "fifo": ("os.mkfifo(path)", "pipe"),
    "folder": ("os.mkdir(path); open(path + '/x', 'w').close()", "folder"),
    "link": ("os.symlink('/dev/zero', path)", "symbolic link"),
    "dangling": ("os.symlink('/nowhere', path)", "symbolic link"),
    "socket": ("import socket; socket.socket(socket.AF_UNIX).bind(path)", "socket"),
    "huge": ("open(path, 'w').write('x' * (5 << 20))", "bytes"),
    "no text": ("open(path, 'wb').write(b'value_lo_ns,value_hi_ns,count\\n\\xff,1,1\\n')", "utf-8"),
    "NULs": ("open(path, 'wb').write(b'\\0' * 100)", "header"),
    "long field": ("open(path, 'w').write('value_lo_ns,value_hi_ns,count\\n' + '1' * 200000 + ',1,1\\n')", "CSV"),
    "words": ("open(path, 'w').write('value_lo_ns,value_hi_ns,count\\n٣,3,1\\n')", "whole number"),
    "no file": ("pass", "not written"),
}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="apiary-hostile-")
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def run_code(self, code: str, point: plans.Point = points.throughput(1), timeout: float = 20.0) -> dict[str, str]:
        """The row of a subject that runs these lines."""
        text = f"#!{sys.executable} -ISE\nimport os, sys, time, signal\nargs = sys.argv\n{code}\n"
        program = fakes.script(self.folder / "program", text)
        one = subjects.Subject("bad", "1", "python", "", program, (point.scenario.name,))
        plan = plans.Plan("p", (point,), 1, 1, block_ms=1, blocks=1, warmup_blocks=1)
        (self.folder / "scratch").mkdir(exist_ok=True)
        arms = [subjects.Arm(one, "peer", program, "bad")]
        race = rounds.Race(plan, arms, 2, 3, "r", "e", "c", self.folder / "scratch", timeout, most_repeats=0)
        rounds.run_batch(race, 1, lambda *_: None)
        (row,) = race.rows
        tables.write(self.folder / "rows.csv", tables.ROWS, race.rows)
        self.assertEqual(tables.read(self.folder / "rows.csv", tables.ROWS)[0]["error"], row["error"], "it can be read back")
        return row


class Printing(Case):
    def test_what_is_no_row(self) -> None:
        for what, (text, told) in PRINTS.items():
            with self.subTest(what=what):
                row = self.run_code(f"sys.stdout.write({text!r}.replace('\\\\n', chr(10)).replace('\\\\0', chr(0)).replace('\\\\x1b', chr(27)))")
                self.assertEqual(row["status"], "malformed")
                self.assertIn(told, row["error"])

    def test_bytes_that_are_no_text(self) -> None:
        row = self.run_code("sys.stdout.buffer.write(b'\\xff\\xfe\\n')")
        self.assertEqual((row["status"], "UTF-8" in row["error"]), ("malformed", True))

    def test_output_without_end_fills_no_memory(self) -> None:
        for stream in ("stdout", "stderr"):
            with self.subTest(stream=stream):
                program = fakes.script(self.folder / "p", f"#!{sys.executable}\nimport sys\nwhile True: sys.{stream}.write('x' * 65536)\n")
                for seconds in (1.0, 10.0, 100.0):  # it must have printed more than is kept
                    done = subjects.run([program], timeout=seconds)
                    if done.overflow:
                        break
                self.assertTrue(done.timed_out and done.overflow)
                self.assertLessEqual(len(done.out) + len(done.err), subjects.KEPT)

    def test_the_last_words_are_one_plain_line_that_begins_at_a_word(self) -> None:
        row = self.run_code("sys.stderr.write('begin ' + 'word ' * 200 + chr(13) + chr(27) + '[1m end'); sys.exit(9)")
        self.assertEqual(row["status"], "crash")
        self.assertRegex(row["error"], r"status 9\. … (word )+\[1m end$")
        self.assertEqual(tail("one two three", 9), "… two three")
        self.assertEqual(tail("one two three", 8), "… three")
        self.assertEqual(tail("x" * 20, 5), "… xxxxx")


class Files(Case):
    def test_a_histogram_that_is_no_file_or_no_histogram(self) -> None:
        good = (self.folder / "good")
        fakes.subject(good, "bad")
        for what, (code, told) in HIST.items():
            with self.subTest(what=what):
                # The row of an honest fake, then its histogram turned into something else.
                lines = (
                    "import subprocess\n"
                    f"done = subprocess.run([{str(good)!r}, *args[1:]], capture_output=True)\n"
                    "path = args[args.index('--hist') + 1]\nos.unlink(path)\n"
                    f"{code}\nsys.stdout.buffer.write(done.stdout)"
                )
                row = self.run_code(lines, points.latency(500, 0.2))
                self.assertEqual(row["status"], "malformed", row["error"])
                self.assertIn(told, row["error"])

    def test_no_run_finds_what_another_left(self) -> None:
        for leave in ("os.mkfifo('plan.txt')", "os.symlink('/', 'x')", "os.mkdir('hist.csv')", "os.mkdir('a'); os.chmod('a', 0)"):
            with self.subTest(leave=leave):
                row = self.run_code(f"assert not os.listdir('.'), os.listdir('.')\n{leave}\nsys.exit(3)")
                self.assertEqual(row["status"], "unsupported", row["error"])

    def test_a_file_without_end(self) -> None:
        row = self.run_code("signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nwith open('x', 'wb') as f:\n    while True: f.write(bytes(1 << 20))")
        self.assertEqual((row["status"], "SIGXFSZ" in row["error"]), ("crash", True), row["error"])

    def test_an_honest_file_is_read(self) -> None:
        path = self.folder / "h"
        path.write_text("value_lo_ns,value_hi_ns,count\n3,3,1\n")
        self.assertEqual(len(histogram.read(path)), 1)


class Processes(Case):
    def gone(self) -> bool:
        return comes_true(lambda: not processes_of(self.folder))

    def test_sigterm_is_ignored(self) -> None:
        row = self.run_code("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)", timeout=0.5)
        self.assertEqual(row["status"], "hang")
        self.assertTrue(self.gone())

    def test_it_stops_itself(self) -> None:
        self.assertEqual(self.run_code("os.kill(os.getpid(), signal.SIGSTOP)", timeout=0.5)["status"], "hang")
        self.assertTrue(self.gone())

    def test_a_grandchild_keeps_the_pipe_open(self) -> None:
        proc.become_subreaper()  # as main() does
        for escape in ("", "os.setsid()"):
            with self.subTest(escape=escape):
                began = time.monotonic()
                row = self.run_code(f"if os.fork() == 0:\n    {escape or 'pass'}\n    time.sleep(600)\nsys.exit(5)")
                self.assertEqual(row["status"], "crash")
                self.assertLess(time.monotonic() - began, 300, "nobody waited for the grandchild")
                self.assertTrue(self.gone())


class Introductions(Case):
    def test_names_that_are_none(self) -> None:
        for name in ("a,b", "a b", "", "../x", "x" * 41, "hive-aa", "x-slow10", "a\\nb"):
            with self.subTest(name=name), self.assertRaises(Fault):
                subjects.introduce(fakes.subject(self.folder / "s", name))

    def test_answers_that_are_none(self) -> None:
        for text in ("[]", "7", '"x"', "{" * 100_000, "\\0", '{"subject":["x"],"subject_version":{}}'):
            program = fakes.script(self.folder / "s", f"#!{sys.executable}\nprint({text!r})\n")
            with self.subTest(text=text[:20]), self.assertRaises(Fault):
                subjects.introduce(program)

    def test_a_file_that_is_no_program(self) -> None:
        path = self.folder / "x"
        path.write_bytes(b"\x7fELF no program")
        path.chmod(0o755)
        with self.assertRaises(Fault):
            proc.run([path])


class Columns(unittest.TestCase):
    def test_numbers_are_plain_digits(self) -> None:
        from apiary_cli.race import row_checks

        blank = dict.fromkeys(tables.SUBJECT, "")
        for cell in ("1e5", "1_000", " 5", "٣", "-1", "nan", "inf", "0x5", "1.5", "9" * 40):
            self.assertIn("ops is", row_checks.malformed_cell(blank | {"ops": cell}, tables.WORDS), cell)
        self.assertEqual(row_checks.malformed_cell(blank | {"ops": "5", "ns_per_op": "1.25"}, tables.WORDS), "")
        for flags in ("a b", "a,b", "disturbed", "a=;b", "A", "x=1;;y"):
            self.assertNotEqual(row_checks.malformed_cell(blank | {"flags": flags}, tables.WORDS), "", flags)
        self.assertEqual(row_checks.malformed_cell(blank | {"flags": "overloaded;x=-5"}, tables.WORDS), "")


    def test_a_point_of_short_posts_has_as_many_samples_as_the_seed_has_short_posts(self) -> None:
        from apiary_cli.race import row_checks

        point = points.blocks("latency_vs_load", lasts=1, rate=1000, service="bimodal", latency_of="short")
        row = {"seed": "6"}  # of its 600 services three are long, one of them of the first tenth
        self.assertEqual(row_checks.samples(row, point, 600), 538)
        self.assertEqual(row_checks.samples(row, points.blocks("latency_vs_load", lasts=1, rate=1000), 600), 540)

    def test_a_server_that_counts_the_load_program_or_another_wall_time_is_not_believed(self) -> None:
        from apiary_cli.race import row_checks

        point = points.blocks("echo", lasts=1, rate=1000, connections=1, bytes=64)
        asked = row_checks.Asked(1, 0, 1, posts=1000, last_ns=1_000_000_000)
        row = dict.fromkeys(tables.SUBJECT, "") | {"ops": "1000", "lat_count": "900", "wall_ns": "1001000000", "offered_per_s": "1000",
                                                   "achieved_per_s": "999.001", "cpu_ns": "900000000"}
        self.assertEqual(row_checks.contradiction(row, point, asked), "")
        self.assertIn("operations in 500000000 ns", row_checks.contradiction(row | {"wall_ns": "500000000"}, point, asked))
        seen = row_checks.Seen(seconds=1.2, cpu_seconds=2.2, start_cpu_s=0.01)
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            self.assertEqual(row_checks.beyond_the_process(row, point, asked, seen), "")
            self.assertIn("beside the load program", row_checks.beyond_the_process(row | {"cpu_ns": "1800000000"}, point, asked, seen))

    def test_a_coarse_clock_of_processor_time_may_see_nothing_of_a_short_block(self) -> None:
        from apiary_cli.race import subjects

        given, chosen = points.blocks("idle_processes", ops=1, processes=1000), points.blocks("idle_processes", processes=1000)
        row = dict.fromkeys(tables.SUBJECT, "") | {name: "5" for name in given.scenario.required} | {
            "scenario": "idle_processes", "workers": "2", "seed": "1", "status": "ok", "check": "0" * 16}
        for point, cpu, wall, says in (
            (given, "", "1000000", ""), (given, "", "30000000", "cpu_ns is empty"), (given, "0", "1000000", "cpu_ns is 0"),
            (given, "7", "30000000", ""), (chosen, "", "1000000", "cpu_ns is empty"),
        ):
            found = subjects.flaw(row | {"cpu_ns": cpu, "wall_ns": wall}, point, 2, 1)
            self.assertEqual("cpu_ns" in found, bool(says), found)
            self.assertIn(says, found)

    def test_more_compute_tasks_than_there_was_time_for_are_not_believed(self) -> None:
        from apiary_cli.race import row_checks

        point = points.blocks("mixed_load", lasts=1, rate=1000, beside="workers")
        asked = row_checks.Asked(1, 0, 2, posts=1000, last_ns=1_000_000_000)
        row = dict.fromkeys(tables.SUBJECT, "") | {"ops": "1000", "lat_count": "900", "wall_ns": "1000000000", "offered_per_s": "1000",
                                                   "achieved_per_s": "999.9"}
        with mock.patch("os.sched_getaffinity", return_value={0, 1}):
            lasted = "compute_ns=1000000000"
            for flags, seen in ((f"compute_tasks=1000;{lasted};starved_ppm=0", ""),
                                (f"compute_tasks=1200;{lasted};starved_ppm=0", "there was time for"),
                                ("compute_tasks=1200;compute_ns=1100000000;starved_ppm=0", ""),
                                (f"{lasted};starved_ppm=0", "no compute_tasks"), ("compute_tasks=9;starved_ppm=0", "no compute_ns"),
                                ("compute_tasks=9;compute_ns=900000000;starved_ppm=0", "less than wall_ns"),
                                (f"compute_tasks=9;{lasted};starved_ppm=1000001", "starved_ppm is")):
                found = row_checks.contradiction(row | {"flags": flags}, point, asked)
                self.assertIn(seen, found)
                self.assertEqual(bool(found), bool(seen), found)
            # A server's: the client has the other processor.
            served = points.blocks("echo_beside", lasts=1, rate=1000, beside="own")
            row |= {"wall_ns": "1000000000", "achieved_per_s": "1000"}
            for flags, seen in (("compute_tasks=550", ""), ("compute_tasks=560", "there was time for"), ("", "no compute_tasks")):
                found = row_checks.contradiction(row | {"flags": f"{flags};{lasted}"}, served, asked)
                self.assertIn(seen, found)
                self.assertEqual(bool(found), bool(seen), found)
        seen = row_checks.Seen(seconds=1.5, cpu_seconds=2.5, start_cpu_s=0.01)
        row |= {"cpu_ns": "900000000"}
        self.assertEqual(row_checks.beyond_the_process(row | {"flags": "compute_tasks=9;compute_ns=1400000000"}, served, asked, seen), "")
        self.assertIn("whole process lasted 1.500 s",
                      row_checks.beyond_the_process(row | {"flags": "compute_tasks=9;compute_ns=1600000000"}, served, asked, seen))


class TheOthersGoOn(TreeCase):
    def test_a_progress_bar_ends_no_batch(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio"})
        bar = fakes.script(
            self.root / "bar",
            f"#!{sys.executable} -ISE\nimport subprocess, sys\ndone = subprocess.run([{str(self.root / 'honest')!r}, *sys.argv[1:]], "
            "capture_output=True, text=True)\nprint('\\r10 %\\r20 %\\r' * (sys.argv[1] == 'run') + done.stdout, end='')\n",
        )
        fakes.subject(self.root / "honest", "bar")
        done = self.race("--program", str(bar), *self.one_point())
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        rows = tables.read(self.result() / "rows.csv", tables.ROWS)
        told = {(row["subject"], row["status"]) for row in rows if row["row_kind"] == "measure"}
        self.assertEqual(told, {("hive", "ok"), ("tokio", "ok"), ("bar", "malformed")})
        self.assertTrue(os.path.exists(self.result() / "report.html"))
