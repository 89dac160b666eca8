"""What a hunt is made of: of a test program each case by itself, as its framework (gtest, Catch2, doctest) lists them; of CTest each
test's command; of any other program the whole."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..base import proc
from ..base.errors import Fault, USAGE, tail
from . import hunting

LISTED_WITHIN = 60  # seconds
# Catch2's options whose value is a word of its own: any other word without a dash is a filter.
CATCH2_VALUED = {
    "-o", "--out", "-r", "--reporter", "-n", "--name", "-x", "--abortx", "-w", "--warn", "-d", "--durations", "-D", "--min-duration",
    "-f", "--input-file", "-c", "--section", "-v", "--verbosity", "--order", "--rng-seed", "--colour-mode", "--use-colour",
    "--wait-for-keypress", "--benchmark-samples", "--benchmark-resamples", "--benchmark-confidence-interval",
    "--benchmark-warmup-time", "--shard-count", "--shard-index",
}
# Of a test of CTest: what decides otherwise than by the status of one process.
JUDGED_OTHERWISE = {
    "WILL_FAIL": "it is meant to fail", "PASS_REGULAR_EXPRESSION": "it is judged by its output",
    "FAIL_REGULAR_EXPRESSION": "it is judged by its output", "SKIP_REGULAR_EXPRESSION": "it is judged by its output",
    "FIXTURES_REQUIRED": "it needs a fixture, which is another test", "DISABLED": "it is disabled",
    "ENVIRONMENT_MODIFICATION": "it changes a variable (ENVIRONMENT_MODIFICATION); ENVIRONMENT is known",
}


@dataclass(frozen=True)
class Unit:
    """One process of the program that is hunted: a case, or all of it."""

    name: str
    program: Path
    words: tuple[str, ...]
    folder: Path | None = None  # where it runs, if elsewhere
    variables: tuple[str, ...] = ()  # NAME=VALUE
    skipped: int | None = None  # the status by which it says that it was skipped

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, **dict(one.split("=", 1) for one in self.variables)}


@dataclass
class Plan:
    units: list[Unit]
    left_out: dict[str, str] = field(default_factory=dict)  # test -> why


def listed(unit: Unit, *words: str, fails: bool = False) -> str:
    """What the program prints when it is asked for its cases. `fails`: its status says nothing."""
    done = proc.run([unit.program, *words], cwd=unit.folder, env=unit.environment, timeout=LISTED_WITHIN)
    if done.timed_out or done.rc < 0 or not (fails or done.ok):
        raise Fault(f"{unit.program.name} {' '.join(words)} {done.how()}", tail(done.err or done.out), "does it list its tests by itself?")
    return done.out


def gtest(unit: Unit) -> list[Unit]:
    found, suite = [], ""
    for line in listed(unit, *unit.words, "--gtest_list_tests").splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  ") and suite:
            found.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    given = [one for one in unit.words if not one.startswith("--gtest_filter=")]
    everything = "--gtest_also_run_disabled_tests" in given
    return [replace(unit, name=one, words=(*given, f"--gtest_filter={one}")) for one in found if everything or "DISABLED_" not in one]


def without_filters(words: tuple[str, ...]) -> list[str]:
    kept, value = [], False
    for word in words:
        if word.startswith("-") or value:
            kept.append(word)
        value = not value and word in CATCH2_VALUED
    return kept


def catch2(unit: Unit, of_version_2: bool) -> list[Unit]:
    """Version 2 ends with the number of its tests as its status; from version 3 on the quiet list is one name to a line."""
    ask = ["--list-test-names-only"] if of_version_2 else ["--list-tests", "--verbosity", "quiet"]
    given = without_filters(unit.words)

    def names(*words: str) -> list[str]:
        return [line for line in listed(unit, *words, fails=of_version_2).splitlines() if line]

    units = []
    for name in names(*unit.words, *ask):
        escaped = "".join(f"\\{c}" if c in '\\,["' or i == 0 and c in "-~" else c for i, c in enumerate(name))
        if escaped != name and name not in names(*given, escaped, *ask):
            raise Fault(f"{unit.program.name}: no filter selects the test case {name!r}", "", "rename it, or hunt through the others by name")
        units.append(replace(unit, name=name, words=(*given, escaped)))
    return units


def doctest(unit: Unit) -> list[Unit]:
    def names(*words: str) -> list[str]:
        text = listed(unit, *words, "--list-test-cases", "--reporters=xml")
        return [one.get("name", "") for one in ET.fromstring(text[text.index("<?xml"):]).iter("TestCase") if one.get("skipped") != "true"]

    given = [one for one in unit.words if not one.lstrip("-").removeprefix("dt-").startswith(("tc=", "test-case="))]
    units = []
    for name in dict.fromkeys(names(*unit.words)):
        pattern = "--test-case=" + "".join("?" if c in ',\\"' else c for c in name)  # a comma would begin another filter
        if "?" in pattern and name not in names(*given, pattern):
            raise Fault(f"{unit.program.name}: no filter selects the test case {name!r}", "", "rename it, or hunt through the others by name")
        units.append(replace(unit, name=name, words=(*given, pattern)))
    return units


def cases(unit: Unit) -> list[Unit]:
    """Each case by itself; of a plain main, the program. gtest and Catch2 may be shared libraries, whose names the program has."""
    content = unit.program.read_bytes()
    if b"gtest_list_tests" in content or b"MakeAndRegisterTestInfo" in content:
        found = gtest(unit)
    elif b"list-test-names-only" in content:
        found = catch2(unit, True)
    elif b"list all/matching test cases" in content or b"N5Catch" in content:
        found = catch2(unit, False)
    elif b"doctest version is " in content:
        found = doctest(unit)
    else:
        return [unit]
    if not found:
        raise Fault(f"{unit.program.name} has no test case for {' '.join(unit.words) or 'this'}", "its own list is empty",
                    "which there are, its framework's option for lists says", USAGE)
    return found


def ctest(command: str, words: list[str]) -> Plan:
    """Each test of a build folder that is a program linked with the hunt; of the others, why not."""
    done = proc.run([command, *words, "--show-only=json-v1"], timeout=LISTED_WITHIN)
    if not done.ok:
        raise Fault(f"ctest {' '.join(words)} {done.how()}", tail(done.err or done.out), "run it where the tests were built, or with --test-dir",
                    USAGE)
    plan = Plan([])
    tests = json.loads(done.out).get("tests", [])
    for test in tests:
        name, properties = test["name"], {one["name"]: one["value"] for one in test.get("properties", [])}
        program, *its = test.get("command") or [""]
        why = next((told for key, told in JUDGED_OTHERWISE.items() if properties.get(key)), "" if program else "it is not built")
        if not why:
            try:
                unit = Unit(name, hunting.must_be_linked(program).resolve(), tuple(its), Path(properties.get("WORKING_DIRECTORY", ".")),
                            tuple(properties.get("ENVIRONMENT", ())), properties.get("SKIP_RETURN_CODE"))
                found = cases(unit)
                plan.units += found if len(found) == 1 and found[0] is unit else [
                    replace(one, name=name if len(found) == 1 else f"{name}: {one.name}") for one in found]
                continue
            except Fault as fault:
                why = fault.seen
        plan.left_out[name] = why
    if not plan.units:
        raise Fault(f"none of {len(tests)} tests of CTest can be hunted" if tests else "CTest has no test here",
                    "\n".join(f"{name}: {why}" for name, why in plan.left_out.items()),
                    "CMake: apiary_hunt(TARGET) for the program of a test; run it where the tests were built, or with --test-dir", USAGE)
    return plan


def plan(command: list[str]) -> Plan:
    name, *words = command
    if Path(name).name == "ctest":
        return ctest(name, words)
    unit = Unit(Path(name).name, hunting.must_be_linked(name).resolve(), tuple(words))
    return Plan(cases(unit))
