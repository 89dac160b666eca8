"""What failed, a line for each test, out of what the tools print: for a reader who has the end of a log and nothing else."""

from __future__ import annotations

import re

WIDEST = 200
CTEST_RESULT = re.compile(r"^\s*\d+/\d+ Test +#\d+: (\S+)")
CTEST_START = re.compile(r"^\s+Start +\d+: (\S+)")
CTEST_ENDS = re.compile(r"^\d+% tests passed")
CTEST_FAILED = re.compile(r"^\s+\d+ - (\S+) \((.+)\)")
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
CARGO_FAILED = re.compile(r"^test (\S+) \.\.\. FAILED")
CARGO_STDOUT = re.compile(r"^---- (\S+) stdout ----")


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
    """The first test of unittest that failed, or the first line that tells of an error with the one behind it, or the last
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
    blocks: dict[str, list[str]] = {}
    listed: list[tuple[str, str]] = []
    block, listing = None, False
    for row in text.splitlines():
        if found := CTEST_RESULT.match(row):
            block = blocks.setdefault(found[1], [])
        elif CTEST_START.match(row) or CTEST_ENDS.match(row):
            block = None
        elif row.startswith("The following tests "):
            listing = row.endswith("FAILED:")
        elif listing and (found := CTEST_FAILED.match(row)):
            listed.append((found[1], found[2]))
        elif block is not None:
            block.append(row)
    listed.sort(key=lambda one: one[1] == "Not Run")
    rows = [f"{name} ({how})" + (f": {first_error(blocks[name])}" if blocks.get(name) else "") for name, how in listed]
    return list(map(line, rows or [first_error(text.splitlines())]))


def of_unittest(file: str, text: str) -> list[str]:
    """The tests of one file, each with what it raised; the file itself where no test is named."""
    rows = text.splitlines()
    return [line(f"{file}: {told}") for told in of_tests(rows) or [first_error(rows)]]


def of_cargo(text: str) -> list[str]:
    """The tests that failed, each with where it panicked; where none is named, the first error of the build."""
    rows = text.splitlines()
    names = [found[1] for found in map(CARGO_FAILED.match, rows) if found]
    blocks: dict[str, list[str]] = {}
    block: list[str] = []
    for row in rows:
        if found := CARGO_STDOUT.match(row):
            block = blocks.setdefault(found[1], [])
        else:
            block.append(row)
    return [line(f"{name}: {first_error(blocks.get(name, []))}") for name in names] or [line(first_error(rows))]
