"""The failures of a run, one line for each test, extracted from the tools' output, for a reader who has only the end of a log."""

from __future__ import annotations

import re

WIDEST = 200
CTEST_START = re.compile(r"^\s+Start +\d+: (\S+)")
# A test's name, and what it printed: up to the next result, start, or the sum.
CTEST_BLOCK = re.compile(r"^ *\d+/\d+ Test +#\d+: (\S+).*\n((?:(?! *\d+/\d+ Test +#| +Start +\d+: |\d+% tests passed).*\n)*)", re.MULTILINE)
CTEST_FAILED = re.compile(r"^\s+\d+ - (\S+) \((.+)\)$", re.MULTILINE)
# The surest first: a line that only says that something failed counts where none says what.
ERRORS = (
    re.compile(
        r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: |: Failure$|\b(fatal )?error(\[\w+\])?: |panicked at"
        r"|terminate called|Assertion |^apiary: |^[\w.]*(Error|Exception|Fault|Expired): "
    ),
    re.compile(r"\bFAIL(ED|URE)?\b|\bERROR\b"),
)
UNITTEST_HEAD = re.compile(r"^(?:FAIL|ERROR): (\S+)")
UNITTEST_CAUSE = re.compile(r"^[\w.]+(Error|Exception|Exit|Fault|Expired|Interrupt)\b")
CARGO_FAILED = re.compile(r"^test (\S+) \.\.\. FAILED", re.MULTILINE)
CARGO_BLOCK = re.compile(r"^---- (\S+) stdout ----.*\n((?:(?!---- \S+ stdout ----).*\n?)*)", re.MULTILINE)


def line(text: str) -> str:
    """On one line, of a width that a page shows."""
    text = " ".join(text.split())
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def of_tests(rows: list[str]) -> list[str]:
    """What unittest says of each test that failed: its name, and what it raised."""
    found: list[list[str]] = []
    for row in rows:
        if head := UNITTEST_HEAD.match(row):
            found.append([head[1], "see above"])
        elif found and found[-1][1] == "see above" and UNITTEST_CAUSE.match(row):
            found[-1][1] = row
    return [f"{name}: {cause}" for name, cause in found]


def first_error(rows: list[str]) -> str:
    """The first test of unittest that failed, or the first line that tells of an error with the one after it, or the last
    line that says anything."""
    told = [row.strip() for row in rows if row.strip()]
    if tests := of_tests(rows):
        return tests[0]
    for pattern in ERRORS:
        for i, row in enumerate(told):
            if pattern.search(row):
                return " | ".join(told[i : i + 2])
    return told[-1] if told else "it printed nothing"


def of_ctest(text: str) -> list[str]:
    """The tests that CTest lists as failed, those that were only not run last."""
    blocks = {name: told.splitlines() for name, told in CTEST_BLOCK.findall(text)}
    listed = CTEST_FAILED.findall(text.partition("The following tests FAILED:")[2])
    listed.sort(key=lambda one: one[1] == "Not Run")
    rows = [f"{name} ({how})" + (f": {first_error(blocks[name])}" if blocks.get(name) else "") for name, how in listed]
    return list(map(line, rows or [first_error(text.splitlines())]))


def of_unittest(file: str, text: str) -> list[str]:
    """The tests of one file, each with what it raised; the file itself where no test is named."""
    rows = text.splitlines()
    return [line(f"{file}: {told}") for told in of_tests(rows) or [first_error(rows)]]


def of_cargo(text: str) -> list[str]:
    """The tests that failed, each with where it panicked; where none is named, the first error of the build."""
    blocks = {name: told.splitlines() for name, told in CARGO_BLOCK.findall(text)}
    rows = [f"{name}: {first_error(blocks.get(name, []))}" for name in CARGO_FAILED.findall(text)]
    return list(map(line, rows or [first_error(text.splitlines())]))
