"""Bad input and bad luck: torn plans and folders, a disk that is full or may not be written, two races at once, interrupts.
Nothing that was there before is damaged, and the message says what and where."""

from __future__ import annotations

import lzma
import json
import os
import resource
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from apiary_cli.analysis import summary
from apiary_cli.base.errors import Fault

from .support import APIARY, REAL_ROOT, TreeCase, apiary, comes_true, environment, start

WORDS = ("race", "--no-build", "--no-sidecars", "--seed", "7", "--repeats", "0", "--believe", "--subject", "hive")
POINT = '[[point]]\nscenario = "successor"\n'


def mounts() -> bool:
    """Whether a test may mount file systems for itself, as below."""
    script = 'mount -t tmpfs apiary-test "$1" && mount -o remount,ro,bind "$1"'
    words = ["unshare", "-m", "sh", "-c", script, "sh", str(REAL_ROOT)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


class Case(TreeCase):
    def setUp(self) -> None:
        super().setUp()
        self.subjects({"name": "hive"})
        self.results = self.root / "results"

    def whole(self) -> Path:
        """A race that went well, before the bad luck."""
        done = self.race(*self.one_point(), "--rounds", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        (found,) = [path for path in self.results.iterdir() if (path / "env.json").exists()]
        return found

    def contents(self, folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    def told(self, done: subprocess.CompletedProcess, code: int, *words: str) -> None:
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for word in ("apiary:", *words):
            self.assertIn(word, done.stderr)


class Plans(Case):
    def test_a_plan_that_is_torn_of_another_schema_or_no_file(self) -> None:
        plan = self.root / "mine.toml"
        for text, word in (
            (b'rounds = 3\n[[point]]\nscenario = "succ', "mine.toml"),
            (b"rounds = 3\nspeed = 9\n" + POINT.encode(), "speed"),
            (b"\xff\xfe\x00", "mine.toml"),
            (b"", "mine.toml"),
        ):
            with self.subTest(text=text):
                plan.write_bytes(text)
                self.told(apiary(self.root, *WORDS, "--plan", str(plan)), 2, word)
        plan.unlink()
        self.told(apiary(self.root, *WORDS, "--plan", str(plan)), 2, "mine.toml")
        plan.mkdir()
        self.told(apiary(self.root, *WORDS, "--plan", str(plan)), 2, "mine.toml")
        self.assertEqual(list(self.results.iterdir()), [])


class Folders(Case):
    def test_every_verb_that_reads_a_folder_refuses_what_is_torn_or_of_another_schema(self) -> None:
        folder = self.whole()
        good = self.contents(folder)
        verbs = (["report", folder.name], ["compare", folder.name, folder.name], ["report", folder.name, "--splice", "x.md"])
        env = json.loads(good["env.json"])
        breaks = {
            "another schema": ("env.json", json.dumps(env | {"schema_version": 99}).encode(), "schema_version 99"),
            "half an env.json": ("env.json", good["env.json"][: len(good["env.json"]) // 2], "env.json"),
            "a race of another kind": ("env.json", json.dumps(env | {"race": env["race"] | {"rounds_of_batches": ["x"]}}).encode(),
                                       "rounds_of_batches"),
            "a row twice": ("rows.csv", good["rows.csv"] + good["rows.csv"].splitlines(keepends=True)[-1], "two figures of round"),
            "half a row": ("rows.csv", good["rows.csv"][:-25], "cells"),
            "another header": ("rows.csv", b"scenario,speed\na,1\n", "header"),
            "no text": ("rows.csv", b"\xff\xfe\x00\x01", "rows.csv"),
        }
        for what, (name, data, word) in breaks.items():
            (folder / name).write_bytes(data)
            for words in verbs:
                with self.subTest(what=what, words=words):
                    self.told(apiary(self.root, *words), 2, folder.name, "" if what == "no text" else word)
            (folder / name).write_bytes(good[name])
        self.assertEqual(self.contents(folder), good, "what was refused was left as it was")

    def test_what_a_race_has_in_env_json_is_of_its_kind(self) -> None:
        """What is not would end the list of all folders, too."""
        folder = self.whole()
        env = json.loads((folder / "env.json").read_text())
        for key, value in (("rounds", None), ("rounds_planned", "x"), ("limit_s", [5]), ("earlier", "x"), ("absent", [5]), ("problems", None),
                           ("arms", None), ("audits", None), ("block_ms", None), ("side_failures", 5)):
            (folder / "env.json").write_text(json.dumps(env | {"race": env["race"] | {key: value}}))
            with self.subTest(key=key):
                with self.assertRaises(Fault) as caught:
                    summary.load(folder)
                self.assertIn(f"env.json {key} is of another kind", caught.exception.cause)
        done = apiary(self.root, "report", "--index")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("env.json side_failures is of another kind", (self.results / "index.html").read_text())
        none = {"rounds": None, "rounds_planned": None, "limit_s": 5.0}
        self.assertEqual(summary.rounds_line(none), "rounds: 0", "of a folder that is read otherwise")

    def test_a_histogram_that_ends_in_the_middle(self) -> None:
        folder = self.whole()
        packed = lzma.compress(b"run_id,scenario\n" + b"x,y\n" * 5000)
        (folder / "hist.csv").unlink()
        (folder / "hist.csv.xz").write_bytes(packed[: len(packed) // 2])
        self.told(apiary(self.root, "report", folder.name), 2, "hist.csv")


class Disk(Case):
    def limited(self, *words: str, size: int) -> subprocess.CompletedProcess:
        """The command where no file may grow beyond `size`: the system's way of a quota."""
        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        command = [sys.executable, "-B", str(APIARY), *words]  # or what Python keeps of a module is cut, too, and no command starts again
        return subprocess.run(command, env=environment(self.root), preexec_fn=limit, capture_output=True, text=True, check=False)

    def mounted(self, mount: str, *words: str) -> subprocess.CompletedProcess:
        """The command in a name space of its own, in which `mount` was run."""
        script = f'{mount} && exec "$@"'
        command = ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, str(APIARY), *words]
        return subprocess.run(command, env=environment(self.root), capture_output=True, text=True, check=False)

    def test_a_file_that_may_not_grow(self) -> None:
        folder = self.whole()
        good = self.contents(folder)
        done = self.limited(*WORDS, *self.one_point(), "--rounds", "4", size=1500)
        self.told(done, 3, "File too large", "remedy:")
        self.assertEqual(self.contents(folder), good)
        left = [path.name for path in self.results.iterdir() if path != folder]
        self.assertFalse([name for name in left if not name.endswith(".unfinished")], left)
        page = self.limited("report", folder.name, size=1500)
        self.told(page, 3, "report.html", "File too large")
        self.assertEqual(self.contents(folder), good, "the page that was there is there")

    @unittest.skipUnless(mounts(), "this user may mount nothing")
    def test_a_full_disk_and_one_that_may_not_be_written(self) -> None:
        folder = self.whole()
        good = self.contents(folder)
        small = f"mount -t tmpfs -o size=16k apiary-test {self.results}"
        self.told(self.mounted(small, *WORDS, *self.one_point(), "--rounds", "4"), 3, "the disk is full", str(self.results))
        still = f"mount --bind {self.results} {self.results} && mount -o remount,ro,bind {self.results}"
        self.told(self.mounted(still, *WORDS, *self.one_point()), 3, "Read-only file system", str(self.results))
        for words, page in (((folder.name,), f"{folder.name}/report.html"), (("--index",), "/history.html")):
            self.told(self.mounted(still, "report", *words), 3, "Read-only file system", page)
        self.assertEqual(self.contents(folder), good)


class Together(Case):
    def test_two_races_at_once_leave_two_whole_folders(self) -> None:
        words = (*WORDS, *self.one_point(), "--rounds", "4")
        both = [start(self.root, *words) for _ in range(2)]
        ended = [(*process.communicate(timeout=300), process.returncode) for process in both]
        self.assertEqual([code for *_, code in ended], [0, 0], ended)
        folders = sorted(self.results.iterdir())
        self.assertEqual(len(folders), 2, folders)
        for folder in folders:
            self.assertEqual(apiary(self.root, "report", folder.name).returncode, 0)


class Interrupts(Case):
    def test_at_any_moment(self) -> None:
        """From before the folder is made until its last file is written."""
        folder = self.whole()
        good = self.contents(folder)
        moments = {
            "begun": lambda: list(self.results.glob(".tmp-*")),
            "a round is kept": lambda: list(self.results.glob("*.unfinished/resume.json")),
            "rows are written": lambda: list(self.results.glob("*.unfinished/rows.csv")),
            "env.json is written": lambda: list(self.results.glob("*.unfinished/env.json")),
        }
        for moment, seen in moments.items():
            with self.subTest(moment=moment):
                process = start(self.root, *WORDS, *self.one_point(), "--rounds", "6")
                self.assertTrue(comes_true(lambda: seen() or process.poll() is not None))
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=120)
                self.assertIn(process.returncode, (130, 0), err)
                self.assertEqual(self.contents(folder), good)
                others = [path for path in self.results.iterdir() if path != folder]
                for path in others:
                    name = path.name.removesuffix(".unfinished")
                    if not path.name.startswith(".") and path.name == name:  # it was whole when the signal came
                        self.assertEqual(apiary(self.root, "report", name).returncode, 0)
                        continue
                    self.assertTrue(path.name.endswith(".unfinished"), path)
                    self.told(apiary(self.root, "report", path.name), 2, "unfinished", "race --resume")
                    done = apiary(self.root, "race", "--resume", name)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    path = self.results / name
                subprocess.run(["rm", "-rf", *map(str, others), *(str(self.results / p.name.removesuffix(".unfinished")) for p in others)], check=True)
        self.assertEqual(os.listdir(self.results), [folder.name])


if __name__ == "__main__":
    unittest.main()
