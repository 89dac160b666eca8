"""The names of checks, subjects and stress programs, read from the sources, so that a wrong name is refused before a build."""

from __future__ import annotations

import fnmatch
import re

from . import building, repo
from .errors import unknown

GROUPS = {"litmus": "litmus", "checks": "check", "exhibits": "exhibit"}  # of model checks: in place of a name -> the kind
CHECK = re.compile(r"^\s*APIARY_(CHECK|EXHIBIT|LITMUS|SCENARIO|FAILING_SCENARIO|LINEARIZABLE|NOT_LINEARIZABLE)\("
                   r"\s*(\w+?)(##|<|\b(?!##|<))", re.MULTILINE)
KINDS = {"FAILING_SCENARIO": "exhibit", "NOT_LINEARIZABLE": "exhibit", "SCENARIO": "check", "LINEARIZABLE": "check"}
SUBJECT = re.compile(r"apiary_add_subject\(\s*([\w.+-]+)|add_executable\(subject_(\w+) IMPORTED")
COMPUTED = re.compile(r'^\s*entry\.name = "(\w+_)" \+.*?entry\.kind = check_kind::(\w+)', re.MULTILINE | re.DOTALL)
ELSEWHERE = {"selftest", "outside_example", "long"}  # folders of checks that `prove` does not run
STRESS = re.compile(r"apiary_add_stress\(\s*(\w+)")


def texts(folder: str, pattern: str) -> list[str]:
    found = []
    for path in sorted((repo.ROOT / folder).rglob(pattern)):
        try:
            found += [] if ELSEWHERE & set(path.relative_to(repo.ROOT).parts) else [path.read_text(errors="replace")]
        except OSError:
            continue
    return found


def checks(kind: str | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """The checks of model_check/, each with its kind. First the whole names; then the beginnings of names that a macro
    (prefix_##word), a type's arguments (ring<int, 4> gives ring_int_4) or a table completes."""
    names: dict[str, str] = {}
    begun: dict[str, str] = {}
    for text in texts("model_check", "*.cpp"):
        for what, name, pasted in CHECK.findall(text):
            (begun if pasted else names)[name + "_" * (pasted == "<")] = KINDS.get(what, what.lower())
        begun |= COMPUTED.findall(text)
    return tuple({name: of for name, of in found.items() if kind in (None, of)} for found in (names, begun))


def completes(pattern: str, begun: str) -> bool:
    """True if the pattern may match a name with this beginning."""
    literal = re.split(r"[*?\[]", pattern)[0]
    return literal.startswith(begun) or (begun.startswith(literal) and literal != pattern)


def check_names(patterns: list[str], kind: str | None = None) -> None:
    """Refuses a pattern that matches no check in the sources. Once the programs are built, they are asked again."""
    names, begun = checks(kind)
    for pattern in patterns if names else ():
        if not fnmatch.filter(names, pattern) and not any(completes(pattern, one) for one in begun) and (kind or pattern not in GROUPS):
            raise unknown(kind or "check", pattern, [*names, *([] if kind else GROUPS)])


def stresses(names: list[str]) -> None:
    found = {name for text in texts("stress", "CMakeLists.txt") for name in STRESS.findall(text)}
    for name in names if found else ():
        if name not in found:
            raise unknown("stress", name, found)


def subjects() -> set[str]:
    """The subjects that the sources can build, by the names of their programs."""
    text = "\n".join(texts("bench/subjects", "CMakeLists.txt"))
    rust = {path.name.removeprefix("subject_") for path in [*building.rust_programs(), *building.peer_programs()]}
    return {a or b for a, b in SUBJECT.findall(text)} | rust

