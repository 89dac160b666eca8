"""The Python libraries: fetched once, of the versions named; a machine that cannot fetch them is told what to do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base import libraries, proc, repo
from apiary_cli.base.errors import Fault

WITHOUT = """
import sys
sys.path.insert(0, sys.argv[1])
class Nothing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("numpy", "jinja2", "markupsafe", "rich", "argcomplete"):
            raise ModuleNotFoundError(f"{name} is not there")
sys.meta_path.insert(0, Nothing())
from apiary_cli import main
main.setup.fetch_libraries = None  # nothing below asks for them
for words in (["setup", "--dry-run"], ["clean", "--dry-run"], ["doctor"], ["--version"], ["help"], ["prove", "--list"],
              ["race", "--list"]):
    code = main.main(words)
    assert code in (0, 1), (words, code)
for verb in main.VERBS:
    try:
        main.main([verb, "--help"])
    except SystemExit as ended:
        assert ended.code == 0, verb
"""


class Libraries(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)
        self.where = self.folder / "python"
        for patch in (mock.patch.object(repo, "BUILD", self.folder), mock.patch.object(libraries, "say", lambda _: None)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_every_version_is_pinned_and_every_library_is_named(self) -> None:
        lines = [line for line in libraries.REQUIREMENTS.read_text().splitlines() if line[0] not in "#-"]
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+==[0-9.]+$")
        self.assertLessEqual(set(libraries.USED), {line.partition("==")[0] for line in lines})

    def test_what_was_fetched_counts_until_the_list_changes(self) -> None:
        real = proc.run

        def pip(command: list, **_: object) -> proc.Done:
            if "--target" not in command:
                return real(command)  # is pip there?
            made = Path(command[command.index("--target") + 1])
            made.mkdir()
            (made / "numpy").mkdir()
            return proc.Done([], 0, "", "", 0.0)

        with mock.patch.object(proc, "run", pip), mock.patch.object(libraries, "present", lambda _: False):
            self.assertFalse(libraries.ready(self.where))
            libraries.install(self.where)
            self.assertTrue(libraries.ready(self.where))
            self.assertTrue((self.where / "numpy").is_dir())
            (self.where / libraries.STAMP).write_text("of another list")
            self.assertFalse(libraries.ready(self.where))
            libraries.install(self.where)
            self.assertTrue(libraries.ready(self.where))

    def test_without_network_nothing_is_left_and_the_remedies_are_said(self) -> None:
        real = proc.run

        def cut_off(command: list, **more: object) -> proc.Done:
            return real([*command, *(["--no-index"] if "--target" in command else [])], **more, env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})

        here = mock.patch.object(libraries, "present", lambda _: False)
        with here, mock.patch.object(proc, "run", cut_off), self.assertRaises(Fault) as caught:
            libraries.install(self.where)
        told = caught.exception.text()
        for words in ("could not be fetched", "No matching distribution", "PIP_FIND_LINKS", "python3-numpy"):
            self.assertIn(words, told)
        self.assertEqual([path.name for path in self.folder.iterdir()], [".lock-python"])

    def test_an_index_out_of_reach_is_told_from_a_version_that_does_not_exist(self) -> None:
        for told, reason in (("ERROR: Could not find a version that satisfies the requirement conan==2 (from versions: none)", True),
                             ("WARNING: Retrying (Retry(total=2)) after connection broken by 'ProxyError('no')': /simple/", True),
                             ("ERROR: Could not find a version that satisfies the requirement conan==9 (from versions: 2.33.0, 2.34.0)", False),
                             ("ERROR: Failed to build 'conan' when getting requirements to build wheel", False)):
            self.assertEqual(libraries.out_of_reach(told), reason, told)

    def test_a_python_without_pip_is_told_the_package(self) -> None:
        without = mock.patch.object(libraries, "has_pip", lambda: False)
        with without, mock.patch.object(libraries, "present", lambda _: False), self.assertRaises(Fault) as caught:
            libraries.install(self.where)
        self.assertIn("apt-get install python3-pip", caught.exception.text())

    def test_the_system_s_own_will_do_where_nothing_was_fetched(self) -> None:
        with mock.patch.object(libraries, "present", lambda _: True):
            self.assertTrue(libraries.ready(self.where))
            self.where.mkdir()
            self.assertFalse(libraries.ready(self.where), "what is there has no stamp: half, or of another list")

    def test_set_up_and_every_help_run_before_they_are_there(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT, str(Path(__file__).resolve().parents[1])], capture_output=True, text=True, check=False
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
