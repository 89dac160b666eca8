"""Ctrl-C and SIGTERM: no stray process, no half-written result folder, whatever was running."""

from __future__ import annotations

import shlex
import signal
import subprocess

from . import fakes
from .support import TreeCase, apiary, comes_true, processes_of, start


class Interrupted(TreeCase):
    def wait_for(self, process: subprocess.Popen, text: str) -> None:
        """Until a process whose command line holds `text` runs."""
        def runs() -> bool:
            if process.poll() is not None:
                self.fail(f"it ended: {process.communicate()}")
            return any(text in line for line in processes_of(self.root))

        self.assertTrue(comes_true(runs), "nothing was started")

    def stop(self, process: subprocess.Popen, number: int) -> str:
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + number, err)
        self.assert_nothing_runs("what it started has ended with it")
        return err

    def assert_nothing_runs(self, why: str) -> None:
        """What was killed may still be there for a moment; what was not sleeps for minutes."""
        self.assertTrue(comes_true(lambda: not processes_of(self.root)), f"{why}: {processes_of(self.root)}")

    def race_is_stopped_by(self, number: int, **options) -> None:
        self.subjects({"name": "hive", "behaviour": "hang"})
        process = start(self.root, "race", "--no-build", "--plan", "smoke", "--no-sidecars", **options)
        self.wait_for(process, "arm00/subject")
        self.assertTrue(list((self.root / "results").glob(".tmp-*")))
        self.stop(process, number)
        self.assertEqual(list((self.root / "results").iterdir()), [])

    def test_race_and_ctrl_c(self) -> None:
        self.race_is_stopped_by(signal.SIGINT)

    def test_race_and_sigterm(self) -> None:
        self.race_is_stopped_by(signal.SIGTERM)

    def test_whatever_its_parent_ignores_or_blocks(self) -> None:
        """A script's job in the background has SIGINT ignored; a service may have any of them blocked."""
        def deaf() -> None:
            for number in (signal.SIGINT, signal.SIGCHLD):
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                self.race_is_stopped_by(number, preexec_fn=deaf)

    def test_killed_outright_the_next_race_sweeps_up(self) -> None:
        self.subjects({"name": "hive", "behaviour": "sleep"})
        process = start(self.root, "race", "--no-build", "--plan", "smoke", "--no-sidecars")
        self.wait_for(process, "arm00/subject")
        process.kill()
        process.communicate()
        self.assert_nothing_runs("the kernel ends the subject with its parent")
        self.assertTrue(list((self.root / "results").glob(".tmp-*")))
        self.subjects({"name": "hive"})
        self.assertEqual(self.race("--plan", "smoke", "--scenario", "post_throughput").returncode, 0)
        self.assertFalse(list((self.root / "results").glob(".tmp-*")))

    def test_clean_leaves_what_a_live_race_needs(self) -> None:
        self.subjects({"name": "hive", "behaviour": "sleep"})
        process = start(self.root, "race", "--no-build", "--plan", "smoke", "--no-sidecars")
        self.wait_for(process, "arm00/subject")
        half_made = [*(self.root / "results").glob(".tmp-*"), *(self.root / "results").glob("*.unfinished"), self.root / "build"]
        self.assertEqual(len(half_made), 3)
        done = apiary(self.root, "clean", "--results")
        self.assertEqual((done.returncode, done.stdout.count("stays: another apiary works")), (0, 3), done.stdout + done.stderr)
        self.assertTrue(all(path.exists() for path in half_made))
        process.kill()
        process.communicate()
        self.assertEqual(apiary(self.root, "clean", "--results").returncode, 0)
        self.assertFalse(any(path.exists() for path in half_made))

    def test_what_cannot_go_on_says_what_is_lost(self) -> None:
        self.subjects({"name": "hive", "scenarios": ("post_throughput", "spawn_many_remote_idle")})
        process = start(self.root, "qualify", "--no-build", "--rounds", "999")
        for _ in range(2):  # an arm that runs again: one point has run whole
            self.wait_for(process, "arm00/subject")
            self.assertTrue(comes_true(lambda: not any("arm00/subject" in line for line in processes_of(self.root))))
        self.assertRegex(self.stop(process, signal.SIGINT), r"warning: the figures of \d+ runs are lost: only `race` keeps them")

    def test_prove_and_its_grandchildren(self) -> None:
        program = fakes.script(
            self.root / "build/model/bin/c",
            "#!/bin/sh\n"
            'if [ "$1" = --list ]; then echo \'{"name":"x","kind":"check","engines":["relacy"]}\'; exit; fi\n'
            f'(trap "" TERM; setsid sleep 600 {self.root}) 2>/dev/null & sh -c "exec tail -f {shlex.quote(__file__)} {self.root}" &\nwait\n',
        )
        fakes.manifest(self.root, "model", "checks", [program])
        process = start(self.root, "prove", "--no-build")
        self.wait_for(process, "tail -f")
        self.stop(process, signal.SIGINT)
        self.assertFalse((self.root / "build/model/prove.json").exists())
