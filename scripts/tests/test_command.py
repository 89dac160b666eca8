"""What people expect of a command: completion, JSON beside the prose, named baselines, groups, and no end in silence."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli import main
from apiary_cli.base import repo
from apiary_cli.base.errors import Fault, Stopped
from apiary_cli.verbs import compare, completion, setup

from . import fakes
from .support import APIARY, TreeCase, apiary, environment
from .test_checks import GOOD


class Completion(unittest.TestCase):
    def offered(self, line: str) -> list[str]:
        """What the shell gets for this line; argcomplete writes it to descriptor 8."""
        read, write = os.pipe()
        asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_SUPPRESS_SPACE": "1", "IFS": "\v"}
        command = f"exec 8>&{write} 9>&2; exec {shlex.join([sys.executable, str(APIARY)])}"
        with os.fdopen(read) as answer:
            subprocess.run(["bash", "-c", command], env=environment(repo.ROOT) | asked, pass_fds=[write], capture_output=True, check=False)
            os.close(write)
            return [word.strip() for word in answer.read().split("\v")]

    def test_verbs_options_and_names(self) -> None:
        for line, expected in (
            ("scripts/apiary ra", ["race"]),
            ("scripts/apiary race --save", ["--save-baseline"]),
            ("scripts/apiary race --scenario post_th", ["post_throughput"]),
            ("scripts/apiary race --plan pub", ["publish"]),
            ("scripts/apiary prove lit", ["litmus"]),
            ("scripts/apiary build asan", ["asan-ubsan"]),
            ("scripts/apiary mutate --js", ["--json"]),
        ):
            with self.subTest(line=line):
                self.assertLessEqual(set(expected), set(self.offered(line)))
        self.assertNotIn("doctor", self.offered("scripts/apiary ra"))

    def test_both_sides_of_compare_may_be_a_saved_baseline(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.object(repo, "BASELINES", Path(name)):
            (Path(name) / "green").touch()
            for side in ("old", "new"):
                self.assertIn("green", completion.NAMES["compare", side]())

    def test_a_name_that_is_no_commit_is_refused_before_anything_is_installed(self) -> None:
        with mock.patch.object(setup, "ensure", side_effect=AssertionError("set up")):
            for words in (["HEAD", "nosuch"], ["nosuch", "HEAD"]):
                with self.assertRaisesRegex(Fault, "'nosuch' is neither a result folder nor a commit"):
                    compare.run(main.parse("compare", words))

    def test_every_shell_gets_a_script(self) -> None:
        for shell in completion.SHELLS:
            done = apiary(repo.ROOT, "completion", shell)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("apiary", done.stdout)

    def test_every_argument_that_has_names_exists(self) -> None:
        for verb, dest in completion.NAMES:
            parsers = [verb] if verb else main.VERBS
            found = {action.dest for name in parsers for action in self.actions(name)}
            self.assertIn(dest, found)

    def actions(self, verb: str) -> list:
        parser = main.Parser()
        main.arguments(verb, parser)
        return parser._actions


class Surroundings(TreeCase):
    """What a parent leaves to the command, and the command does not take over."""

    def test_git_s_variables_of_a_hook(self) -> None:
        usual = apiary(repo.ROOT, "--version").stdout
        with mock.patch.dict(os.environ, GIT_DIR=str(self.root), GIT_WORK_TREE=str(self.root), GIT_INDEX_FILE="/nowhere"):
            self.assertEqual(apiary(repo.ROOT, "--version").stdout, usual)

    def test_a_stream_that_takes_plain_letters_alone_and_none_to_read(self) -> None:
        words, env = [sys.executable, str(APIARY), "help", "tune"], environment(self.root)
        for told, options in (("V,V,\\u2026", dict(env=env | {"PYTHONIOENCODING": "ascii"})),
                              ("V,V,…", dict(env=env | {"PYTHONIOENCODING": "utf-8"}, preexec_fn=lambda: os.close(0)))):
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False, **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(told, done.stdout)

    def test_limits_that_are_too_low_or_have_no_end(self) -> None:
        def narrow() -> None:
            for which, soft in ((resource.RLIMIT_NOFILE, 256), (resource.RLIMIT_STACK, 1 << 20)):
                resource.setrlimit(which, (soft, resource.getrlimit(which)[1]))

        code = (
            "import resource as r, sys; sys.path.insert(0, sys.argv[1]); from apiary_cli.base import proc; "
            "proc.usual_limits(); print(r.getrlimit(r.RLIMIT_NOFILE)[0], r.getrlimit(r.RLIMIT_STACK)[0])"
        )
        words = [sys.executable, "-c", code, str(APIARY.parent)]
        told = subprocess.run(words, preexec_fn=narrow, capture_output=True, text=True, check=True).stdout
        hard = [resource.getrlimit(which)[1] for which in (resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)]
        wanted = [n if most == resource.RLIM_INFINITY else min(n, most) for n, most in zip((4096, 8 << 20), hard)]
        self.assertEqual(told.split(), list(map(str, wanted)))


class Json(TreeCase):
    def test_prove_says_its_verdicts_to_standard_output_and_its_prose_elsewhere(self) -> None:
        fakes.manifest(self.root, "model", "checks", [fakes.checks(self.root / "build/model/bin/c", GOOD)])
        done = apiary(self.root, "prove", "--no-build", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual((told["verb"], told["exit"], len(told["verdicts"])), ("prove", 0, 4))
        self.assertIn("all as expected", done.stderr)

    def test_a_race_says_its_batch_and_comparisons(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        file = self.root / "race.json"
        done = self.race(*self.one_point(), "--rounds", "10", "--json", str(file))
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(file.read_text())
        self.assertEqual((told["verb"], told["exit"], told["batch"]), ("race", 0, "VALID"))
        self.assertIn(("tokio", "IMPROVED"), {(one["baseline"], one["verdict"]) for one in told["comparisons"]})
        folder = told["folder"].rpartition("/")[2]
        done = apiary(self.root, "compare", folder, folder, "--json", "-")
        self.assertEqual({one["verdict"] for one in json.loads(done.stdout)["comparisons"]}, {"EQUIVALENT"}, done.stdout)

    def test_a_race_says_what_was_refused(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio", "behaviour": "no_version"})
        done = self.race(*self.one_point(), "--json", str(self.root / "race.json"))
        self.assertEqual(done.returncode, 1, done.stderr)
        told = json.loads((self.root / "race.json").read_text())
        self.assertEqual((told["exit"], len(told["failures"])), (1, 1))
        self.assertIn("program1", told["failures"][0])

    def test_a_replay_says_its_verdicts(self) -> None:
        fakes.manifest(self.root, "model", "checks", [fakes.checks(self.root / "build/model/bin/c", GOOD)])
        done = apiary(self.root, "prove", "--no-build", "deque_last", "--replay", "7", "--json", "-")
        self.assertEqual([one["name"] for one in json.loads(done.stdout).get("verdicts", [])], ["deque_last"], done.stderr)

    def test_a_fault_is_told_too(self) -> None:
        done = apiary(self.root, "prove", "--no-build", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual((told["exit"], done.returncode), (3, 3))
        self.assertIn("no checks", told["fault"]["seen"])
        self.assertIn("no checks", done.stderr)

    def test_however_a_verb_ends_its_status_is_that_of_the_command(self) -> None:
        file = self.root / "found.json"
        for error, code, seen in (
            (Stopped(15), 143, None), (BrokenPipeError(), 141, None), (Fault("torn", code=2), 2, "torn"),
            (PermissionError(13, "Permission denied", "x"), 3, "x cannot be used"), (TypeError("odd"), 3, "TypeError: odd"),
        ):
            said = io.StringIO()
            with self.subTest(error=error), mock.patch.object(main, "carry_out", side_effect=error), contextlib.redirect_stderr(said):
                try:
                    ended = main.answer(["doctor", "--json", str(file)])
                except Stopped as stopped:  # main() says that
                    ended = 128 + stopped.signum
                told = json.loads(file.read_text())
                self.assertEqual((ended, told["exit"], told.get("fault", {}).get("seen")), (code, code, seen))
                self.assertIn(seen or "", said.getvalue())
                self.assertEqual("Traceback" in said.getvalue(), isinstance(error, TypeError), said.getvalue())

    def test_a_file_that_cannot_be_written_is_refused_before_the_work(self) -> None:
        (self.root / "text").write_text("no folder\n")
        os.mkfifo(self.root / "pipe")  # no regular file; a device would be lost to all where this fails
        for name in (".", "", str(self.root / "pipe"), str(self.root / "text" / "x"), str(self.root / ("x" * 255))):
            for words in (["prove", "--no-build", "--json", name], ["nightly", "--no-build", "--junit", name]):
                with self.subTest(words=words):
                    done = apiary(self.root, *words)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertRegex(done.stderr, f"^apiary: {words[2]} .*cannot be written\n  cause: +[\\w ]+\n  remedy: ")
        self.assertEqual(list(self.root.rglob(".x*")), [])

    def test_it_is_written_as_seen_from_where_the_command_began(self) -> None:
        with mock.patch.object(main, "carry_out", lambda *_: os.chdir("/") or 0), mock.patch.object(repo, "ROOT", self.root):
            with contextlib.chdir(self.root):
                main.dispatch(["doctor", "--json", "new/found.json"])
        self.assertEqual(json.loads((self.root / "new/found.json").read_text())["exit"], 0)

    def test_every_verb_that_decides_has_it(self) -> None:
        for verb in main.VERBS:
            options = {name for action in Completion.actions(self, verb) for name in action.option_strings}
            exits = "exit:" in main.verb_module(verb).DESCRIPTION
            self.assertEqual("--json" in options, exits, f"{verb}: what has exit codes of its own decides something")


class NobodyReadsOn(TreeCase):
    def ended(self, *words: str, faults: bool = True) -> tuple[int, str]:
        """Status and faults of the command where what it prints goes into a closed pipe; its faults, too, unless they are read."""
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as closed:
            done = subprocess.run([sys.executable, str(APIARY), *words], env=environment(self.root), stdin=subprocess.DEVNULL,
                                  stdout=closed, stderr=subprocess.PIPE if faults else closed, text=True, check=False)
        return done.returncode, done.stderr or ""

    def test_what_decides_or_works_has_not_ended_well(self) -> None:
        file = self.root / "told.json"
        for words in (["doctor", "--json", str(file)], ["clean"]):
            self.assertEqual(self.ended(*words), (141, ""), words)
        self.assertEqual(json.loads(file.read_text())["exit"], 141)

    def test_words_alone_may_end_anywhere(self) -> None:
        for words in (["--version"], ["help"], ["completion", "bash"]):
            self.assertEqual(self.ended(*words), (0, ""), words)

    def test_a_fault_that_nobody_can_be_told_has_its_status(self) -> None:
        self.assertEqual(self.ended("build", "relase", faults=False)[0], 2)


class Groups(TreeCase):
    def test_a_group_in_place_of_names(self) -> None:
        fakes.manifest(self.root, "model", "checks", [fakes.checks(self.root / "build/model/bin/c", GOOD)])
        for words, expected in (
            (["litmus"], {"store_buffering"}),
            (["exhibits"], {"store_buffering", "a01_lost_wake"}),
            (["checks"], {"store_buffering", "deque_last", "inbox_close"}),
            (["exhibits", "deque*"], {"store_buffering", "a01_lost_wake", "deque_last"}),
        ):
            done = apiary(self.root, "prove", "--no-build", *words, "--json", "-")
            self.assertEqual(done.returncode, 0, done.stderr)
            # The record adds up over runs of one source: what this one ran is what it printed.
            ran = {name for name, *_ in GOOD if name in done.stderr}
            self.assertEqual(ran, expected)
        listed = apiary(self.root, "prove", "--no-build", "--list", "litmus").stdout
        self.assertEqual([line.split()[1] for line in listed.splitlines()], ["store_buffering"])


class NothingEndsInSilence(TreeCase):
    def test_a_list_of_checks_where_nothing_is_built(self) -> None:
        done = apiary(self.root, "prove", "--no-build", "--list")
        self.assertEqual(done.returncode, 3)
        self.assertIn("scripts/apiary build model", done.stderr)

    SOURCES = {
        "deque_check.cpp": "APIARY_CHECK(deque_last) {}\n#define EACH(x) \\\n    APIARY_LITMUS(corr_##x) {}\nAPIARY_EXHIBIT(a01_lost_wake) {}\n",
        "table.cpp": '        entry.name = "rc11_" + text;\n        entry.kind = check_kind::litmus;\n',
        "selftest/misbehaving.cpp": "APIARY_CHECK(hangs) {}\n",
        "outside_example/stack.cpp": "APIARY_CHECK(stack) {}\n",
    }

    def listed(self, *words: str) -> tuple[list[list[str]], str]:
        """`prove --list` builds nothing: this tree could not be built."""
        done = apiary(self.root, "prove", "--list", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split() for line in done.stdout.splitlines()], done.stderr

    def test_an_unbuilt_tree_lists_the_names_in_its_sources_and_says_what_is_lacking(self) -> None:
        for name, text in self.SOURCES.items():
            (self.root / "model_check" / name).parent.mkdir(exist_ok=True)
            (self.root / "model_check" / name).write_text(text)
        every = [["check", "deque_last"], ["exhibit", "a01_lost_wake"], ["litmus", "corr_…"], ["litmus", "rc11_…"]]
        self.assertEqual(self.listed()[0], every)
        self.assertIn("of 4 checks only the name is known", self.listed()[1])
        self.assertIn("scripts/apiary build model", self.listed()[1])
        self.assertEqual(self.listed("exhibits", "rc11_iriw")[0], [every[1], every[3]])
        self.assertEqual(apiary(self.root, "prove", "--list", "deque_lost").returncode, 2)

    def test_what_is_built_says_more_and_what_has_changed_since_is_not_asked(self) -> None:
        program = fakes.checks(self.root / "build/model/bin/c", GOOD)
        fakes.manifest(self.root, "model", "checks", [program])
        (self.root / "build/model/configured.source").write_text("")
        (self.root / "model_check" / "deque_check.cpp").write_text("APIARY_CHECK(deque_last) {}\nAPIARY_CHECK(deque_first) {}\n")
        lines, lacking = self.listed("checks")
        self.assertEqual([line[1] for line in lines], ["deque_last", "inbox_close"])
        self.assertTrue(all(len(line) > 2 for line in lines), lines)
        self.assertEqual(lacking, "")
        (self.root / fakes.SOURCE).write_text("// changed\n")
        lines, lacking = self.listed()
        self.assertEqual(lines, [["check", "deque_first"], ["check", "deque_last"]])
        self.assertIn("of 2 checks", lacking)

    def test_nothing_to_clean(self) -> None:
        for words in ([], ["--dry-run"]):
            subprocess.run(["rm", "-rf", str(self.root / "build")], check=True)
            done = apiary(self.root, "clean", *words)
            self.assertEqual((done.returncode, done.stdout), (0, "nothing to remove\n"))


class Baselines(TreeCase):
    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return subprocess.run(["git", "-C", str(self.root), *identity, *words], check=True, capture_output=True, text=True).stdout

    def test_a_name_stands_for_the_commit_that_was_raced(self) -> None:
        self.subjects({"name": "hive"}, {"name": "tokio", "ns": 300.0})
        (self.root / ".gitignore").write_text("/build/\n/results/\n")
        refused = self.race(*self.one_point(), "--rounds", "5", "--save-baseline", "good")
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("a baseline is a commit", refused.stderr)
        self.git("init", "-q", "-b", "main")
        self.git("add", "--all")
        self.git("commit", "-q", "-m", "one")
        done = self.race(*self.one_point(), "--rounds", "5", "--save-baseline", "good")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("compare good .", done.stdout)
        saved = json.loads((self.root / "results" / "baselines" / "good").read_text())
        self.assertEqual(saved["commit"], self.git("rev-parse", "HEAD").strip())
        unknown = apiary(self.root, "compare", "goood", ".")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("baselines: good", unknown.stderr)
        known = apiary(self.root, "compare", "good", ".")
        self.assertNotIn("neither a result folder nor a commit", known.stderr, "it went on to export that commit")
        self.assertEqual(self.race(*self.one_point(), "--save-baseline", "HEAD").returncode, 2, "a commit is called so")


if __name__ == "__main__":
    unittest.main()
