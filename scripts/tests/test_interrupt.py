"""Ctrl-C and SIGTERM: no stray process, no half-written result folder, whatever was running."""

from __future__ import annotations

import signal
import subprocess
import time

from . import fakes
from .support import TreeCase, processes_of, start


class Interrupted(TreeCase):
    def wait_for(self, process: subprocess.Popen, text: str) -> None:
        """Until a process whose command line holds `text` runs."""
        for _ in range(600):
            if any(text in line for line in processes_of(self.root)):
                return
            if process.poll() is not None:
                self.fail(f"it ended: {process.communicate()}")
            time.sleep(0.05)
        self.fail("nothing was started")

    def stop(self, process: subprocess.Popen, number: int) -> str:
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertEqual(processes_of(self.root), [])
        return err

    def race_is_stopped_by(self, number: int) -> None:
        self.subjects({"name": "hive", "behaviour": "hang"})
        process = start(self.root, "race", "--no-build", "--plan", "smoke", "--no-sidecars")
        self.wait_for(process, "arm00/subject")
        self.assertTrue(list((self.root / "results").glob(".tmp-*")))
        self.stop(process, number)
        self.assertEqual(list((self.root / "results").iterdir()), [])

    def test_race_and_ctrl_c(self) -> None:
        self.race_is_stopped_by(signal.SIGINT)

    def test_race_and_sigterm(self) -> None:
        self.race_is_stopped_by(signal.SIGTERM)

    def test_killed_outright_the_next_race_sweeps_up(self) -> None:
        self.subjects({"name": "hive", "behaviour": "slow_run"})
        process = start(self.root, "race", "--no-build", "--plan", "smoke", "--no-sidecars")
        self.wait_for(process, "arm00/subject")
        process.kill()
        process.communicate()
        for _ in range(100):
            if not processes_of(self.root):
                break
            time.sleep(0.02)
        self.assertEqual(processes_of(self.root), [], "the kernel ended the subject with its parent")
        self.assertTrue(list((self.root / "results").glob(".tmp-*")))
        self.subjects({"name": "hive"})
        self.assertEqual(self.race("--plan", "smoke", "--scenario", "post_throughput").returncode, 0)
        self.assertFalse(list((self.root / "results").glob(".tmp-*")))

    def test_prove_and_its_grandchildren(self) -> None:
        program = fakes.script(
            self.root / "build/model/bin/c",
            "#!/bin/sh\n"
            'if [ "$1" = --list ]; then echo \'{"name":"x","kind":"check","engines":["relacy"]}\'; exit; fi\n'
            f'(trap "" TERM; setsid sleep 600 {self.root}) 2>/dev/null & sh -c "exec tail -f {__file__} {self.root}" &\nwait\n',
        )
        fakes.manifest(self.root, "model", "checks", [program])
        process = start(self.root, "prove", "--no-build")
        self.wait_for(process, "tail -f")
        self.stop(process, signal.SIGINT)
        self.assertFalse((self.root / "build/model/prove.json").exists())
