"""JUnit XML, as CI systems read it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Case:
    """One thing that passed, failed or was skipped, and why."""

    name: str
    status: str
    seconds: float = 0.0
    message: str = ""


@dataclass
class Verdict(Case):
    """A case, and of a failure what it is, where it is, and how it came about."""

    kind: str = ""  # race, deadlock, …
    steps: list[dict] = field(default_factory=list)  # of the execution: step, thread, operation, file, line
    places: list[tuple[str, int]] = field(default_factory=list)  # files and lines, the nearest first
    trace: str = ""
    replay: str = ""


@dataclass
class Part:
    """A group of cases: one part of a night."""

    name: str
    cases: list[Case] = field(default_factory=list)
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)  # what the page says of it
    invalid: bool = False  # the race's controls failed

    @property
    def status(self) -> str:
        states = {case.status for case in self.cases}
        return FAILED if FAILED in states else PASSED if PASSED in states else SKIPPED

    def count(self, status: str) -> int:
        return sum(case.status == status for case in self.cases)


def printable(text: str) -> str:
    """XML knows no control characters."""
    return "".join(c if c >= " " or c in "\n\t" else "?" for c in text)


def xml(parts: list[Part]) -> str:
    tests, failures = sum(len(part.cases) for part in parts), sum(part.count(FAILED) for part in parts)
    root = ET.Element("testsuites", name="apiary", tests=str(tests), failures=str(failures))
    for part in parts:
        name, counted = f"apiary.{part.name}", {"tests": len(part.cases), "failures": part.count(FAILED), "skipped": part.count(SKIPPED)}
        suite = ET.SubElement(root, "testsuite", name=name, **{key: str(n) for key, n in counted.items()}, time=f"{part.seconds:.3f}")
        for case in part.cases:
            node = ET.SubElement(suite, "testcase", classname=name, name=case.name, time=f"{case.seconds:.3f}")
            if case.status != PASSED:
                kind, text = ("failure" if case.status == FAILED else "skipped"), printable(case.message)
                ET.SubElement(node, kind, message=text[:300]).text = text if kind == "failure" else None
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
