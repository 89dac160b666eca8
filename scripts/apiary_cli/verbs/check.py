"""check: set-up, build, and every test there is."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
import sys
import time
from dataclasses import dataclass, field

from ..analysis import comparing
from ..base import building, commits, decided, packages, proc, repo, sources
from ..base.errors import Fault, unknown
from ..base.say import Progress, colour, duration, heading, say, table
from . import compare, setup

SUMMARY = "set up, build, run all tests"
DESCRIPTION = """\
Runs set-up, then builds and runs the unit tests (ci), the tests and stresses under the
sanitizers (asan-ubsan, tsan), the model checks (model), the Rust twin's tests (rust) and the
tests of these scripts (python). Where impl/ differs from the commit in results/baseline it races
the hive against that commit's (gate, as `compare` does): a regression that a second batch confirms
fails, an invalid batch is a warning. Prints each tool's own closing lines and a summary.
A part that has no tests fails.

writes:  build/ci, build/asan-ubsan, build/tsan and build/model, each with a junit.xml; build/compare,
         tokio_baseline/target, a folder in results/ for the gate, and in a job of GitHub its summary
takes:   half an hour and more on two cores from nothing; a few minutes when little changed, and four more where
         the gate asks
exit:    0 when every part passed, else 1"""

PRESETS = ("ci", "asan-ubsan", "tsan", "model")
PARTS = ("python", *PRESETS, "rust", "gate")
BASELINE = repo.RESULTS / "baseline"
SHIPPED = ("--", "impl", ":(exclude)*.md", ":(exclude)*_test.cpp")
CTEST_LINE = re.compile(r"^\s*(\d+)/(\d+) Test +#\d+: (\S+)")
CTEST_CLOSING = re.compile(
    r"^(\d+% tests passed|Total Test time|The following tests FAILED|\s+\d+ - \S+ \()" r"|No tests were found"
)
CARGO_CLOSING = re.compile(r"^test result: ")
CARGO_COUNTS = re.compile(r"(\d+) passed; (\d+) failed")
UNITTEST_CLOSING = re.compile(r"^(Ran (\d+) tests?|OK|FAILED)\b")


@dataclass
class Part:
    """How one part of the tests went."""

    name: str
    passed: bool
    seconds: float
    closing: list[str] = field(default_factory=list)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", metavar="PARTS", help="some of: " + ",".join(PARTS))
    parser.add_argument("--no-setup", action="store_true", help="do not look for missing packages")


def chosen(only: str | None) -> list[str]:
    names = [name for name in (only or ",".join(PARTS)).split(",") if name]
    for name in names:
        if name not in PARTS:
            raise unknown("part", name, PARTS)
    return names


def closing_lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if pattern.match(line)]


def ctest(preset: str, extra: list[str] | None = None) -> tuple[bool, str]:
    """Run a preset's tests; returns whether all passed and what CTest printed."""
    with Progress(f"ctest {preset}", 0) as progress:

        def on_line(line: str) -> None:
            match = CTEST_LINE.match(line)
            if match:
                progress.update(int(match[1]), int(match[2]), match[3])

        command = [
            "ctest",
            "--preset",
            preset,
            "--output-on-failure",
            "--no-tests=error",
            "--output-junit",
            str(repo.BUILD / preset / "junit.xml"),
            "--parallel",
            str(os.cpu_count() or 1),
            *(extra or []),
        ]
        done = proc.run(command, cwd=repo.ROOT, merge=True, on_line=on_line)
    return done.ok, done.out


def run_preset(name: str) -> tuple[bool, list[str]]:
    building.build(name)
    passed, text = ctest(name)
    (repo.BUILD / name / "apiary-ctest.log").write_text(text)
    if not passed:
        say(text.rstrip())
    return passed, closing_lines(text, CTEST_CLOSING)


def run_rust() -> tuple[bool, list[str]]:
    building.crate()
    with repo.locked("rust"), Progress("cargo test", 0) as progress:

        def on_line(line: str) -> None:
            if building.CARGO_LINE.match(line):
                progress.advance()

        tested, files = repo.RUST / "target" / "tested", building.rust_files("tests")
        building.touch_differing([tested], files)
        done = proc.run(
            building.cargo_command("test"),
            cwd=repo.RUST,
            merge=True,
            on_line=on_line,
            env=packages.cargo_env() | {"CARGO_TERM_COLOR": "never"},
        )
        if done.ok:
            tested.touch()
            sources.write_beside(tested, files)
    closing = closing_lines(done.out, CARGO_CLOSING)
    counted = any(not line.startswith("test result: ok. 0 passed") for line in closing)
    if not (done.ok and counted):
        say(done.out.rstrip())
    return done.ok and counted, closing or ["cargo test ran no tests"]


def run_python() -> tuple[bool, list[str]]:
    """Each file of tests in a process of its own, as many at a time as there are processors."""
    specs = [
        proc.Spec(
            [sys.executable, "-m", "unittest", f"tests.{path.stem}"],
            cwd=repo.ROOT / "scripts",
            merge=True,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            tag=path.stem,
        )
        for path in sorted((repo.ROOT / "scripts" / "tests").glob("test_*.py"))
    ]
    ended = []
    with Progress("unittest", len(specs)) as progress:
        for done in proc.run_many(specs, os.cpu_count() or 1):
            ended.append((done.tag, done.ok, done.out))
            progress.advance(done.tag)
    for _, passed, text in ended:
        if not passed:
            say(text.rstrip())
    return unittest_closing(ended)


def unittest_closing(ended: list[tuple[str, bool, str]]) -> tuple[bool, list[str]]:
    """Whether all passed, and closing lines as of one run, for each (file, passed, what unittest printed). A file that ran
    no tests has not passed."""
    ran = [sum(int(m[2] or 0) for m in map(UNITTEST_CLOSING.match, text.splitlines()) if m) for _, _, text in ended]
    failed = [f"FAILED {name}: {n} tests ran" for (name, passed, _), n in zip(ended, ran) if not (passed and n)]
    said = sorted(failed) or ["OK"] * bool(ended)
    return bool(ended) and not failed, [f"Ran {sum(ran)} tests in {len(ended)} files", *said]


def baseline() -> str:
    """The commit that impl/ is held to: the first word of results/baseline; the rest of the file is the reason."""
    try:
        words = BASELINE.read_text().split()
    except OSError as error:
        raise Fault("results/baseline cannot be read", str(error.strerror), "git checkout results/baseline") from error
    if not words or not re.fullmatch("[0-9a-f]{40}", words[0]):
        raise Fault("results/baseline names no commit", f"it begins with {words[:1]}", "its first word is 40 hex digits")
    return words[0]


def run_gate() -> tuple[bool, list[str]]:
    """Is the hive slower than at the baseline? Asked only where impl/ differs from it."""
    commit = baseline()
    if not repo.git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return True, [f"gate: not asked: this clone has no commit {commit[:7]}, the baseline"]
    changed = [repo.git("diff", "--name-only", commit, *SHIPPED), repo.git("ls-files", "--others", "--exclude-standard", *SHIPPED)]
    if changed == ["", ""]:
        return True, [f"gate: not asked: impl/ is as in {commit[:7]}, the baseline"]
    found = compare.gate(commit, commits.WORKING_TREE)
    said = [f"REGRESSED: {one}" for one in found.regressed] + [f"WRONG: {one}" for one in found.wrong]
    if not found.decided or found.decided != found.asked:
        return False, [f"gate: {found.decided} of {found.asked} points were compared with {commit[:7]}", *said]
    if found.validity == comparing.INVALID:
        return not found.wrong, [f"gate: a warning: the batch is INVALID, and decides nothing over {commit[:7]}", *said]
    return not said, said or [f"gate: nothing of {found.decided} points REGRESSED over {commit[:7]}; batch {found.validity}"]


def run_part(name: str) -> Part:
    started = time.monotonic()
    heading(f"check {name}")
    try:
        work = {"rust": run_rust, "python": run_python, "gate": run_gate}.get(name)
        passed, closing = work() if work else run_preset(name)
    except Fault as fault:
        say(fault.text())
        passed, closing = False, [f"{fault.seen}"]
    for line in closing:
        say(line)
    return Part(name, passed, time.monotonic() - started, closing)


def in_short(closing: list[str]) -> str:
    """One line for the summary: cargo's many results added up, else the line that counts."""
    results = [CARGO_COUNTS.search(line) for line in closing if CARGO_CLOSING.match(line)]
    if results and all(results):
        passed, failed = (sum(int(result[i]) for result in results) for i in (1, 2))
        return f"{passed} passed, {failed} failed in {len(results)} test programs"
    counting = (line for line in closing if line.startswith("Ran") or "tests passed" in line)
    return next(counting, closing[0] if closing else "")


def summary(parts: list[Part]) -> str:
    rows = [
        [
            part.name,
            colour("passed", "green") if part.passed else colour("FAILED", "red"),
            duration(part.seconds),
            in_short(part.closing),
        ]
        for part in parts
    ]
    return table(["part", "result", "time", "in short"], rows)


def job_summary(parts: list[Part]) -> str:
    """The same in Markdown, for the page of a CI job."""
    rows = [f"| {one.name} | {'passed' if one.passed else '**FAILED**'} | {duration(one.seconds)} | {in_short(one.closing)} |" for one in parts]
    return "\n".join(["| part | result | time | in short |", "|---|---|---|---|", *rows]) + "\n"


def run_parts(names: list[str]) -> list[Part]:
    return [run_part(name) for name in names]


def run(args: argparse.Namespace) -> int:
    names = chosen(args.only)
    if not args.no_setup:
        setup.ensure()
    parts = run_parts(names)
    decided.note(parts=[dataclasses.asdict(part) for part in parts])
    heading("check: summary")
    say(summary(parts))
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a") as handle:
            handle.write(job_summary(parts))
    return 0 if all(part.passed for part in parts) else 1
