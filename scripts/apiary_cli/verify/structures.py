"""Which structure a check is of, and which a header: read from the sources of the checks, so that a page can be made without a
build. A check's structure is its file's, `queues/chase_lev_deque`; a scheduler is one structure; an exhibit of the museum is of the
first structure whose header its file includes."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ..base import repo, source_names

INCLUDE = re.compile(r'^#include (?:<apiary/([\w/]+)\.hpp>|"(\w+\.hpp)")', re.MULTILINE)
MUSEUM = "museum"


def structure(path: Path) -> str:
    """Of a check's source or of a header, by its path below model_check or impl/apiary."""
    folder, name = path.parts[:-1], path.stem.removesuffix("_check")
    return "/".join(folder[:2]) if folder[:1] == ("schedulers",) else "/".join([*folder, name])


@functools.cache
def sources(root: Path) -> dict[str, str]:
    """Path below model_check -> text."""
    found = sorted((root / "model_check").rglob("*.cpp"))
    return {str(path.relative_to(root / "model_check")): path.read_text(errors="replace")
            for path in found if not source_names.ELSEWHERE & set(path.parts)}


def checked(root: Path) -> set[str]:
    """The structures that have checks of their own."""
    return {structure(Path(file)) for file in sources(root) if not file.startswith(f"{MUSEUM}/")}


def shown_by(root: Path, file: str, text: str) -> str:
    """The structure that an exhibit of the museum is of; the museum where it includes none."""
    for header, beside in INCLUDE.findall(text):
        if header and (name := structure(Path(header))) in checked(root):
            return name
        path = root / "model_check" / MUSEUM / beside
        if beside and path.exists() and (name := shown_by(root, file, path.read_text(errors="replace"))) != MUSEUM:
            return name
    return MUSEUM


@functools.cache
def of_checks(root: Path | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """Name -> structure; and the beginnings of names that a macro completes."""
    root = root or repo.ROOT
    whole: dict[str, str] = {}
    begun: dict[str, str] = {}
    for file, text in sources(root).items():
        of = shown_by(root, file, text) if file.startswith(f"{MUSEUM}/") else structure(Path(file))
        for _, name, pasted in source_names.CHECK.findall(text):
            (begun if pasted else whole)[name + "_" * (pasted == "<")] = of
        begun |= {name: of for name, _ in source_names.COMPUTED.findall(text)}
    return whole, begun


def of_check(name: str) -> str:
    whole, begun = of_checks()
    return whole.get(name) or next((of for start, of in sorted(begun.items(), reverse=True) if name.startswith(start)), "others")


def of_header(file: str) -> str:
    """Of impl/apiary/…: the structure that has checks, or else the header's folder."""
    path = Path(file.removeprefix("impl/apiary/"))
    name = structure(path)
    return name if name in checked(repo.ROOT) else str(path.parent)
