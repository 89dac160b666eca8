"""check: set-up, build, and every test there is."""

from __future__ import annotations

import argparse
import dataclasses
import os
import platform
import re
import resource
import shutil
import sys
import time
import traceback
from dataclasses import dataclass, field
from typing import Callable, TypeVar

from ..analysis import comparing
from ..base import argument_kinds, building, commits, environment, json_result, proc, repo, sources
from ..base.errors import Fault, Stopped, USAGE, unknown
from ..base.say import Progress, colour, counted, duration, heading, markdown, say, table, warn
from ..verify import stressing
from . import compare, costs, failures, setup

SUMMARY = "set up, build, run all tests"
DESCRIPTION = """\
Runs set-up, then builds and runs the unit tests, examples and subjects (ci), the tests under the sanitizers
(asan-ubsan, tsan) and the stresses under the latter, the model checks (model), the Rust twin's tests (rust) and the
tests of these scripts (python); what the presets that end in -night have is left to `nightly`. Where
impl/ differs from the commit in results/baseline it races the hive against that commit's (gate, as
`compare` does): a regression or a finding that a second batch confirms fails, and so does a point that
the hive has lost; an invalid batch and its findings are a warning.
Prints each tool's own closing lines and a summary; where something failed, the last 30 lines
name each failed part and test, with its first error, and the machine. A part that has no tests fails.
Each part's processor time stands in the summary; a part that was
begun from nothing and costs a tenth more than results/check_cost.csv records is named, which is no failure.

writes:  build/ci, build/asan-ubsan, build/tsan and build/model, each with a junit.xml; build/compare,
         tokio_baseline/target, a folder in results/ for the gate, and in a job of GitHub its summary
takes:   23 minutes on two cores from nothing; a few minutes when little changed, and two more where the gate asks
exit:    0 when every part passed, else 1"""

PRESETS = ("ci", "asan-ubsan", "tsan", "model")
PARTS = ("python", *PRESETS, "rust", "gate")
RUST_NIGHT = "rust-night"
BASELINE = repo.RESULTS / "baseline"
SHIPPED = ("--", "impl", ":(exclude)*.md", ":(exclude)*_test.cpp")
CTEST_LINE = re.compile(r"^\s*(\d+)/(\d+) Test +#\d+: (\S+)")
CTEST_CLOSING = re.compile(
    r"^(\d+% tests passed|Total Test time|The following tests FAILED|\s+\d+ - \S+ \()" r"|No tests were found"
)
CARGO_CLOSING = re.compile(r"^test result: ")
CARGO_COUNTS = re.compile(r"(\d+) passed; (\d+) failed")
UNITTEST_CLOSING = re.compile(r"^(Ran (\d+) tests?|OK|FAILED)\b")
RAN_SOME = re.compile(r"^Ran [1-9]", re.MULTILINE)
TOLD_AT_END = 14  # lines about failures: with the table and the machine they fit into the last 30 of a log


Result = TypeVar("Result")


@dataclass
class Part:
    """How one part of the tests went. `failed`: a line for each test that did."""

    name: str
    passed: bool
    seconds: float
    closing: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    cost: costs.Cost = field(default_factory=costs.Cost)


def arguments(parser: argparse.ArgumentParser) -> None:
    argument_kinds.repeatable(parser, "--only", "PARTS", f"some of: {','.join(PARTS)} (repeatable)")
    parser.add_argument("--record-cost", action="store_true", help="write what the parts cost to results/check_cost.csv; begin from nothing")


def chosen(only: list[str]) -> list[str]:
    names = list(filter(None, ",".join(only).split(","))) if only else list(PARTS)
    for name in names:
        if name not in PARTS:
            raise unknown("part", name, PARTS)
    if not names:
        raise Fault(f"--only {','.join(only)}", "it names no part, so nothing would be tested", f"the parts: {', '.join(PARTS)}", USAGE)
    return names


def closing_lines(text: str, pattern: re.Pattern[str]) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if pattern.match(line)]


def at_once(preset: str) -> int:
    """How many tests. In `ci` one more than there are processors, since those of subjects wait, too; searches do not, and what is
    sanitized needs memory."""
    return (os.cpu_count() or 1) + (preset == "ci")


def ctest(preset: str) -> tuple[bool, str]:
    """Run a preset's tests; returns whether all passed and what CTest printed. Stopped, it says what was running."""
    running: dict[str, None] = {}
    with Progress(f"ctest {preset}", 0) as progress:

        def on_line(line: str) -> None:
            if match := failures.CTEST_START.match(line):
                running[match[1]] = None
            if match := CTEST_LINE.match(line):
                running.pop(match[3], None)
                progress.update(int(match[1]), int(match[2]), match[3])

        steady = stressing.without_randomisation() if preset.startswith("tsan") else []
        command = [*steady, "ctest", "--preset", preset, "--output-on-failure", "--no-tests=error", "--output-junit",
                   str(repo.BUILD / preset / "junit.xml"), "--parallel", str(at_once(preset))]
        try:
            plain = os.environ | {"CLICOLOR_FORCE": "0", "GTEST_COLOR": "no"}  # its lines are read here
            done = proc.run(command, cwd=repo.ROOT, merge=True, on_line=on_line, env=plain)
        except Stopped:
            names = " ".join(running) or "none"
            say(f"ctest {preset}: stopped after {progress.done} of {progress.total} tests; running: {names}")
            raise
    return done.ok, done.out


def run_preset(name: str) -> tuple[bool, list[str], list[str]]:
    building.build(name)
    passed, text = ctest(name)
    (repo.BUILD / name / "apiary-ctest.log").write_text(text)
    if not passed:
        say(text.rstrip())
    return passed, closing_lines(text, CTEST_CLOSING), [] if passed else failures.of_ctest(text)


def run_rust(by_night: bool = False) -> tuple[bool, list[str], list[str]]:
    """The tests of the Rust twin; by night those that ask for a feature, which compile half of its libraries and itself anew."""
    with repo.locked("rust"), Progress("cargo test", 0) as progress:
        tested, files = repo.RUST / "target" / f"tested{'_by_night' * by_night}", building.rust_files("tests")
        building.touch_differing([tested], files)
        closing, passed, text = [], True, ""
        # The library's tests, and the files of tests, not the programs: those have none, and would be built twice. The tests of a
        # feature have its name, and stand in files that ask for it; Tokio's are of the Tokio that is raced.
        asking = [["--features", name, *tests_of(name), name] for name in building.crate().get("features", {})]
        for words in asking if by_night else [["--lib", "--test", "*"]]:
            done = building.cargo(progress, "test", "--profile", "checked", *words)
            lines, text = closing_lines(done.out, CARGO_CLOSING), done.out
            closing += lines
            passed = done.ok and any(not line.startswith("test result: ok. 0 passed") for line in lines)
            if not passed:
                break
        if passed:
            tested.touch()
            sources.write_beside(tested, files)
    if not passed:
        say(text.rstrip())
    return passed, closing or ["cargo test ran no tests"], [] if passed else failures.of_cargo(text)


def tests_of(feature: str) -> list[str]:
    """The test programs that ask for a feature, for cargo; the others need not be built anew."""
    asks = (path for path in sorted((repo.RUST / "tests").glob("*.rs")) if f'feature = "{feature}"' in path.read_text())
    return [word for path in asks for word in ("--test", path.stem)]


def run_python() -> tuple[bool, list[str], list[str]]:
    """Each file of tests in a process of its own, two more at a time than there are processors, since they wait for programs,
    too; long files, which mostly take long, begin first."""
    scripts = repo.ROOT / "scripts"
    # Compiled code is kept, where the command itself keeps it and not beside the sources: the tests start Python a thousand times.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    env["PYTHONPYCACHEPREFIX"] = str(repo.BUILD / ".pycache")
    specs = [proc.Spec([sys.executable, "-m", "unittest", f"tests.{path.stem}"], cwd=scripts, merge=True, env=env, tag=path.stem)
             for path in sorted((scripts / "tests").glob("test_*.py"), key=lambda path: -path.stat().st_size)]
    runs = counted("unittest", proc.run_many(specs, (os.cpu_count() or 1) + 2), len(specs), lambda done: done.tag)
    ended, failed = [(done.tag, done.ok, done.out) for done in runs], []
    for file, passed, text in sorted(ended):
        if not (passed and RAN_SOME.search(text)):
            say(text.rstrip())
            failed += failures.of_unittest(file, text)
    return *unittest_closing(ended), failed


def unittest_closing(ended: list[tuple[str, bool, str]]) -> tuple[bool, list[str]]:
    """Whether all passed, and closing lines as of one run, for each (file, passed, what unittest printed). A file that ran
    no tests has not passed."""
    ran = [sum(int(m[2] or 0) for m in map(UNITTEST_CLOSING.match, text.splitlines()) if m) -
           sum(int(n) for n in re.findall(r"^OK \(skipped=([0-9]+)", text, re.M)) for _, _, text in ended]
    failed = [f"FAILED {name}: {n} tests ran" for (name, passed, _), n in zip(ended, ran) if not (passed and n)]
    said = sorted(failed) or ["OK"] * bool(ended)
    return bool(ended) and not failed, [f"Ran {sum(ran)} tests in {len(ended)} files", *said]


def baseline() -> str:
    """The commit that impl/ is held to: the first word of results/baseline; the rest of the file is the reason."""
    words = repo.must_read(BASELINE, "git checkout results/baseline").split()
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
    said = [f"REGRESSED: {one}" for one in found.regressed] + [f"WRONG: {one}" for one in found.wrong] + found.findings
    doubts = [f"gate: UNDECIDED: {one}" for one in found.undecided]
    if not found.decided or found.decided != found.asked:
        return False, [f"gate: {found.decided} of {found.asked} points were compared with {commit[:7]}", *said]
    if found.validity == comparing.INVALID:
        # Wrong work and a lost point are no matter of the controls. A finding may be the same disturbance: it is told.
        heading = f"gate: {'' if found.wrong else 'a warning: '}the batch is INVALID, and decides nothing over {commit[:7]}"
        return not found.wrong, [heading, *said, *doubts]
    nothing = f"gate: nothing of {found.decided} points REGRESSED over {commit[:7]}; batch {found.validity}"
    return not said, [*(said or [nothing]), *doubts]


def attempt(work: Callable[[], Result]) -> tuple[Result | None, Fault | None]:
    """What one part of many returns, or why it does not: that is said, and the next part begins."""
    try:
        return work(), None
    except Fault as fault:
        say(fault.text())
        return None, fault
    except Exception as error:  # of these scripts, or the system's: no reason to leave out the other parts
        say(traceback.format_exc().rstrip())
        return None, Fault(failures.line(f"{type(error).__name__}: {error}"))


def begun_from_nothing(name: str) -> bool:
    """Whether it has nothing built, so that what it costs can be compared. The gate builds what has changed, and cannot."""
    made = {"rust": repo.RUST / "target" / "checked"} | {preset: repo.BUILD / preset / "build.ninja" for preset in PRESETS}
    return name != "gate" and not (name in made and made[name].exists())


def run_part(name: str) -> Part:
    """One part, and what it cost."""
    cost = costs.Cost(whole=begun_from_nothing(name))
    folder, before, spent = repo.BUILD / name, costs.log(repo.BUILD / name), costs.spent()
    part = tried(name)
    part.cost, cost.processor = cost, costs.spent() - spent
    if name in PRESETS:
        cost.compile, cost.link, cost.run = costs.of_jobs(folder, before)
    return part


def tried(name: str) -> Part:
    started = time.monotonic()
    heading(f"check {name}")
    work = {"rust": run_rust, RUST_NIGHT: lambda: run_rust(by_night=True), "python": run_python, "gate": lambda: (*run_gate(), [])}.get(name, lambda: run_preset(name))
    found, fault = attempt(work)
    if fault:
        cause = f": {failures.first_error(fault.cause.splitlines())}" if fault.cause else ""
        found = False, [fault.seen], [failures.line(fault.seen + cause)]
    passed, closing, failed = found
    failed = [] if passed else failed or list(map(failures.line, closing))
    say(*closing)
    return Part(name, passed, time.monotonic() - started, closing, failed)


def in_short(closing: list[str]) -> str:
    """One line for the summary: cargo's many results added up, else the line that counts."""
    results = [CARGO_COUNTS.search(line) for line in closing if CARGO_CLOSING.match(line)]
    if results and all(results):
        passed, failed = (sum(int(result[i]) for result in results) for i in (1, 2))
        return f"{passed} passed, {failed} failed in {len(results)} test programs"
    counting = (line for line in closing if line.startswith("Ran") or "tests passed" in line)
    return next(counting, closing[0] if closing else "")


HEAD = ["part", "result", "time", "processor", "compile, link, run", "in short"]


def row(part: Part, passed: str, failed: str) -> list[str]:
    jobs = [f"{seconds:.0f}" for seconds in (part.cost.compile, part.cost.link, part.cost.run)]
    return [part.name, passed if part.passed else failed, duration(part.seconds), f"{part.cost.processor:.0f} s",
            ", ".join(jobs) + " s" if part.name in PRESETS else "", in_short(part.closing)]


def job_summary(parts: list[Part]) -> str:
    """How each part went, in Markdown, for the page of a CI job."""
    told = [f"    {line}" for line in failed_lines(parts)]
    return "\n".join([*markdown(HEAD, (row(part, "passed", "**FAILED**") for part in parts)), *[""] * bool(told), *told]) + "\n"


def tell_the_job(text: str) -> None:
    """In a job of GitHub: onto its page."""
    if os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(os.environ["GITHUB_STEP_SUMMARY"], "a") as handle:
            handle.write(text)


def failed_lines(parts: list[Part]) -> list[str]:
    """A line for each test that failed, the same number at most for each part."""
    red, lines = [part for part in parts if not part.passed], []
    most = max(2, TOLD_AT_END // max(1, len(red)))
    for part in red:
        told = part.failed
        if len(told) > most:
            told = [*told[: most - 1], f"… and {len(told) - most + 1} more, above"]
        lines += [f"{part.name}: {line}" for line in told]
    return lines


def machine() -> str:
    """What a reader of the log asks about a machine that is gone."""
    gib = lambda n: f"{n / (1 << 30):.1f}"  # noqa: E731
    memory = dict(re.findall(r"^(Mem\w+): +(\d+) kB", environment.read("/proc/meminfo"), re.MULTILINE))
    free, whole = (gib(int(memory.get(name, 0)) << 10) for name in ("MemAvailable", "MemTotal"))
    disk, files = shutil.disk_usage(repo.ROOT), resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    cpu = environment.cpu_fields(environment.read("/proc/cpuinfo")).get("model name") or platform.machine()
    return (
        f"machine: {cpu}, {os.cpu_count()} CPUs ({len(os.sched_getaffinity(0))} usable), "
        f"load {environment.first('/proc/loadavg')[:14]}; {free} of {whole} GiB of memory and {gib(disk.free)} of "
        f"{gib(disk.total)} GiB of disk free; Linux {platform.release()}, Python {platform.python_version()}, "
        f"{files} files, user {os.geteuid()}; commit {repo.commit()[:12]}{', changed' if repo.dirty() else ''}"
    )


def run_parts(names: list[str]) -> list[Part]:
    """All of them; stopped, it says how far it came."""
    parts: list[Part] = []
    started = time.monotonic()
    for name in names:
        began = time.monotonic()
        try:
            parts.append(run_part(name))
        except Stopped as stopped:
            now = time.monotonic()
            told = f"stopped by signal {stopped.signum} after {duration(now - began)}"
            close([*parts, Part(name, False, now - began, [told], [told])], now - started)
            raise
    return parts


def close(parts: list[Part], seconds: float) -> None:
    """The last lines: how each part went, and where one failed what did, on which machine."""
    heading("check: summary")
    say(table(HEAD, [row(part, colour("passed", "green"), colour("FAILED", "red")) for part in parts]))
    red = [part.name for part in parts if not part.passed]
    if red:
        heading("check: what failed")
        last = colour(f"check: FAILED in {', '.join(red)}, after {duration(seconds)}", "red")
        say(*failed_lines(parts), machine(), last)


def run(args: argparse.Namespace) -> int:
    names, started = chosen(args.only), time.monotonic()
    say(machine())
    setup.ensure()
    measure = costs.yardstick()
    parts = run_parts(names)
    measure = (measure + costs.yardstick()) / 2
    found = {part.name: part.cost for part in parts if part.passed}
    grown = costs.grown(found, measure)
    json_result.note(parts=[dataclasses.asdict(part) for part in parts], yardstick_s=measure, grown=grown)
    for line in grown:
        warn(line)
    close(parts, time.monotonic() - started)
    if args.record_cost:
        say(f"recorded in {repo.shown(costs.RECORD)}: {', '.join(costs.record(found, measure)) or 'nothing, since nothing was begun from nothing'}")
    tell_the_job(job_summary(parts))
    return 0 if all(part.passed for part in parts) else 1
