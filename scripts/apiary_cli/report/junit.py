"""JUnit XML, as CI systems read it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass
class Case:
    """One thing that passed, failed or was skipped, and why."""

    name: str
    status: str
    seconds: float = 0.0
    message: str = ""


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
    root = ET.Element(
        "testsuites",
        name="apiary",
        tests=str(sum(len(p.cases) for p in parts)),
        failures=str(sum(p.count(FAILED) for p in parts)),
    )
    for part in parts:
        suite = ET.SubElement(
            root,
            "testsuite",
            name=f"apiary.{part.name}",
            tests=str(len(part.cases)),
            failures=str(part.count(FAILED)),
            skipped=str(part.count(SKIPPED)),
            time=f"{part.seconds:.3f}",
        )
        for case in part.cases:
            node = ET.SubElement(
                suite, "testcase", classname=f"apiary.{part.name}", name=case.name, time=f"{case.seconds:.3f}"
            )
            if case.status == FAILED:
                ET.SubElement(node, "failure", message=printable(case.message)[:300]).text = printable(case.message)
            elif case.status == SKIPPED:
                ET.SubElement(node, "skipped", message=printable(case.message)[:300])
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def write(path: Path, parts: list[Part]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(xml(parts))
