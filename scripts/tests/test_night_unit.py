"""A unit of the night: its key, the line that repeats it, and the process that runs it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

from apiary_cli.base import proc
from apiary_cli.base.errors import Fault
from apiary_cli.night import child, spread
from apiary_cli.night.unit import Unit

from .nights import Folder


class Identity(Folder):
    def test_all_that_decides_the_result_is_in_its_key_and_nothing_else(self) -> None:
        data = self.folder / "data"
        data.write_text("1")
        one = Unit("stress", "hive seed 1", self.program(), ("--seed", "1", "{data}"), (("data", str(data)),))
        (self.folder / "elsewhere").mkdir()
        for same in (one.with_(limit=1.0), one.with_(memory=0), one.with_(replay="x"), one.with_(program=self.program("elsewhere/one"))):
            self.assertEqual(same.key, one.key)
        others = [one.with_(**change) for change in (dict(kind="soak"), dict(name="b"), dict(words=("--seed", "2")), dict(salt="s"),
                  dict(environment=(("A", "1"),)), dict(reads="verdicts"), dict(program=self.program("elsewhere/one", "#!/bin/sh\nexit 1\n")))]
        before = one.key
        data.write_text("23")
        self.assertEqual(len({before, one.key, *(other.key for other in others)}), 2 + len(others))

    def test_an_unknown_kind_and_a_program_that_is_not_there_are_refused_by_name(self) -> None:
        with self.assertRaisesRegex(Fault, "unit of the kind 'odd'"):
            Unit("odd", "x", "/bin/true")
        with self.assertRaisesRegex(Fault, "/no/program cannot be read"):
            Unit("soak", "x", "/no/program").key

    def test_the_line_that_a_person_pastes(self) -> None:
        unit = Unit("logic", "17", self.program(), ("a b", "{data}", "--json", "{out}"), (("data", self.program("data")),), (("M", "17"),))
        self.assertEqual(unit.line(), f"M=17 {self.folder}/one 'a b' {self.folder}/data --json /dev/null")
        self.assertEqual(unit.with_(replay="scripts/apiary soak hive").line(), "scripts/apiary soak hive")
        self.assertEqual(unit.command("/p", {"data": "/d", "out": "/o"}), ["/p", "a b", "/d", "--json", "/o"])


class Children(Folder):
    def run_one(self, text: str, **more: object) -> dict:
        return child.run(Unit("stress", "one", self.program("p", text), **more), cwd=self.folder)

    def test_what_it_leaves_is_a_result_however_it_ends(self) -> None:
        for text, rc, said in (("#!/bin/sh\necho 7; exit 3\n", 3, "7"), ("#!/bin/sh\nkill -SEGV $$\n", -11, "")):
            told = self.run_one(text)
            self.assertEqual((told["rc"], told["ended"], told["output"]), (rc, "", said))
        self.assertIn("could not be started", self.run_one("no program")["how"])
        told = self.run_one("#!/bin/sh\necho '{\"a\": 1}' > $2\n", words=("--json", "{out}"), reads="verdicts")
        self.assertEqual((told["lines"], told["how"]), ([{"a": 1}], ""))
        for text, how in (("#!/bin/sh\n", "left no verdict"), ("#!/bin/sh\necho '{\"a\": 1' > $2\n", "cannot be read")):
            self.assertIn(how, self.run_one(text, words=("--json", "{out}"), reads="verdicts")["how"])

    def test_it_is_held_to_its_limits_with_all_that_it_started(self) -> None:
        long = 10**6 + os.getpid()  # no sleep of another's
        told = self.run_one(f"#!/bin/sh\nsetsid sleep {long} &\nsleep {long}\n", limit=0.2)
        self.assertEqual((told["rc"], told["ended"], told["how"]), (None, "time", "did not end within 0.2 s"))
        hungry = f"#!{sys.executable} -S\nx = b'x' * (200 << 20)\nimport time\ntime.sleep(60)\n"
        self.assertEqual(self.run_one(hungry, memory=100 << 20)["how"], "held more than 100 MiB")
        told = self.run_one(f"#!/bin/sh\nsetsid sleep {long} &\n")
        self.assertEqual((told["rc"], told["ended"]), (0, ""), "what it left behind is ended, too")
        commands = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended
                commands.append(path.read_bytes())
        self.assertNotIn(f"sleep\0{long}\0".encode(), commands)

    def test_it_dies_with_its_worker(self) -> None:
        self.program("p", f"#!/bin/sh\nsetsid sh -c 'echo $$ > {self.folder}/born; exec sleep 986' &\nsleep 986\n")
        code = ("import sys; from pathlib import Path; from apiary_cli.night import child; from apiary_cli.night.unit import Unit\n"
                f"child.run(Unit('stress', 'one', '{self.folder}/p'), cwd=Path('/'))")
        worker = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).resolve().parents[1])
        born = self.folder / "born"
        self.until(lambda: born.exists() and born.read_text().strip())
        worker.kill()
        worker.wait()
        pid = int(born.read_text())
        self.until(lambda: not Path(f"/proc/{pid}").exists())

    def until(self, holds) -> None:
        for _ in range(3000):
            if holds():
                return
            time.sleep(0.01)
        self.fail("it never came")

    def test_an_engine_that_is_closed_leaves_no_unit_running(self) -> None:
        """A disk that is full ends a night's units; what comes after them is a race, which is measured."""
        pool, begun = spread.Pool(1), self.folder / "begun"
        for name in ("one", "two"):
            pool.submit(Unit("stress", name, self.program(name, f"#!/bin/sh\ntouch {begun}\nexec sleep 61.25\n")))
        while not begun.exists():
            time.sleep(0.01)
        pool.close()
        self.assertEqual([one for one in proc.descendants(os.getpid()) if b"61.25" in Path(f"/proc/{one}/cmdline").read_bytes()], [])

    def test_a_program_that_changes_while_it_runs_gives_no_result(self) -> None:
        with self.assertRaisesRegex(Fault, "changed while it ran"):
            self.run_one("#!/bin/sh\necho '# more' >> $0\n")


if __name__ == "__main__":
    unittest.main()
