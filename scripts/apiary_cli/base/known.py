"""Names that can be looked at before anything is built, read from the sources: checks, subjects, stress programs."""

from __future__ import annotations

import fnmatch
import re

from . import building, repo
from .errors import unknown

GROUPS = {"litmus": "litmus", "checks": "check", "exhibits": "exhibit"}  # of model checks: in place of a name -> the kind
CHECK = re.compile(r"^\s*APIARY_(CHECK|EXHIBIT|LITMUS|SCENARIO|FAILING_SCENARIO|LINEARIZABLE|NOT_LINEARIZABLE)\("
                   r"\s*(\w+?)(##|\b(?!##))", re.MULTILINE)
KINDS = {"FAILING_SCENARIO": "exhibit", "NOT_LINEARIZABLE": "exhibit", "SCENARIO": "check", "LINEARIZABLE": "check"}
SUBJECT = re.compile(r"apiary_add_subject\(\s*([\w.+-]+)|add_executable\(subject_(\w+) IMPORTED")
STRESS = re.compile(r"apiary_add_stress\(\s*(\w+)")


def texts(folder: str, pattern: str) -> list[str]:
    found = []
    for path in sorted((repo.ROOT / folder).rglob(pattern)):
        try:
            found.append(path.read_text(errors="replace"))
        except OSError:
            continue
    return found


def checks(kind: str | None = None) -> tuple[set[str], set[str]]:
    """Of model_check/: names, and beginnings of names that a macro completes (prefix_##word)."""
    names: set[str] = set()
    begun: set[str] = set()
    for text in texts("model_check", "*.cpp"):
        for what, name, pasted in CHECK.findall(text):
            if kind in (None, KINDS.get(what, what.lower())):
                (begun if pasted else names).add(name)
    return names, begun


def check_names(patterns: list[str], kind: str | None = None) -> None:
    """Refuses a pattern that no check of the sources matches; their programs are asked again once they are built."""
    names, begun = checks(kind)
    for pattern in patterns if names else ():
        literal = re.split(r"[*?\[]", pattern)[0]
        completed = any(literal.startswith(one) or (one.startswith(literal) and literal != pattern) for one in begun)
        if not fnmatch.filter(names, pattern) and not completed and (kind or pattern not in GROUPS):
            raise unknown("exhibit" if kind == "exhibit" else "check", pattern, names)


def stresses(names: list[str]) -> None:
    found = {name for text in texts("stress", "CMakeLists.txt") for name in STRESS.findall(text)}
    for name in names if found else ():
        if name not in found:
            raise unknown("stress", name, found)


def subjects() -> set[str]:
    """What the sources can build, by the names of their programs."""
    text = "\n".join(texts("bench/subjects", "CMakeLists.txt"))
    rust = {path.name.removeprefix("subject_") for path in building.rust_programs()}
    return {a or b for a, b in SUBJECT.findall(text)} | rust

