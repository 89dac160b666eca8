"""Which source a program was made of, as it tells itself, and whether the tree is still that one.

Whatever is compiled here carries the content hashes of what it was compiled from
(scripts/cmake/record_sources.py), so that time stamps decide nothing: a build throws away what
differs, and a verb that records what programs did refuses those that differ. Headers outside the
project are represented by the compiler's version."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
from pathlib import Path
from typing import Callable, Iterable, Iterator, NamedTuple

from . import repo
from .errors import Fault
from .say import warn

SECTION = b".apiary.source"
BESIDE = ".source"  # PROGRAM.source, where no linker of ours made it; the entry `.` is the program
CONFIGURED = "configured.source"
BUILD_ID = b".note.gnu.build-id"
LOADED, NO_BITS = 2, 8  # of a section in ELF: SHF_ALLOC, SHT_NOBITS

Record = frozenset[tuple[str, str]]  # (hash, name)


def digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def parse(text: str) -> Record:
    """The entries of a record: lines as of sha256sum."""
    pairs = (line.partition("  ") for line in text.splitlines())
    return frozenset((hash, name) for hash, _, name in pairs)


class Section(NamedTuple):
    name: bytes
    type: int
    flags: int
    address: int
    size: int
    content: Callable[[], bytes]


@contextlib.contextmanager
def sections(path: Path) -> Iterator[Iterator[Section]]:
    """Of an ELF file of 64 bits, the last one first; none of another file. ValueError where it tells of what it does not have: anybody
    may hand a program over."""
    with path.open("rb") as file:
        head, whole = file.read(64), path.stat().st_size
        if head[:5] != b"\x7fELF\2" or len(head) < 64:
            yield iter(())
            return
        order = "<" if head[5] == 1 else ">"

        def part(start: int, size: int) -> bytes:
            if start + size > whole:
                raise ValueError(f"{size} bytes at {start}, of {whole}")
            file.seek(start)
            return file.read(size)

        def headers(start: int, number: int) -> list[tuple]:
            return list(struct.iter_unpack(order + "IIQQQQIIQQ", part(start, 64 * number)))

        start, number, names = (*struct.unpack_from(order + "Q", head, 40), *struct.unpack_from(order + "HH", head, 60))
        if not start:
            yield iter(())
            return
        first = headers(start, 1)[0]  # where the numbers stand that are too large for the head
        table = headers(start, number or first[5])
        text = part(*table[first[6] if names == 0xFFFF else names][4:6])
        yield (Section(text[one[0]:text.find(b"\0", one[0])], *one[1:4], one[5], functools.partial(part, *one[4:6])) for one in reversed(table))


def section(path: Path, wanted: bytes = SECTION) -> bytes | None:
    """The content of the last one of that name."""
    with sections(path) as found:
        return next((one.content() for one in found if one.name == wanted), None)


def code(path: Path) -> str | None:
    """The hash of what of a program is loaded when it runs: not of its symbols, its lines, its record of sources or its build's name. None
    for what is no such program, a script for example."""
    try:
        with sections(path) as found:
            loaded = [one for one in found if one.flags & LOADED and one.name != BUILD_ID]
            told = [(one.name, one.address, one.size, one.type == NO_BITS or hashlib.sha256(one.content()).digest()) for one in loaded]
    except (OSError, ValueError, struct.error, IndexError):
        return None
    return hashlib.sha256(repr(told).encode()).hexdigest() if told else None


def recorded(path: Path) -> Record | None:
    """What an object or a program says it was made of. None where it says nothing, and where what
    lies beside it is about another program."""
    try:
        told = section(path)
        if told is not None:
            return parse(told.decode())
        found = parse(path.with_name(path.name + BESIDE).read_text())
    except (OSError, ValueError, struct.error, IndexError):
        return None
    return found if (digest(path), ".") in found else None


def write_beside(program: Path, files: Iterable[Path]) -> None:
    """For programs of compilers that tell no dependencies: PROGRAM.source."""
    entries = [(digest(program), ".")] + [(digest(path), str(path.relative_to(repo.ROOT))) for path in sorted(files)]
    program.with_name(program.name + BESIDE).write_text("".join(f"{hash}  {name}\n" for hash, name in entries))


class Present:
    """The tree as it is now; each file is read once. `folder`, where it is known, is the build
    folder, whose flags count."""

    def __init__(self, root: Path | None = None, folder: Path | None = None):
        self.root, self.folder = root or repo.ROOT, folder
        self.known: dict[str, str | None] = {}

    @functools.cached_property
    def words(self) -> dict[str, str]:
        """By object, as seen from the build folder: the words of its compile, as CMake wrote last."""
        try:
            commands = json.loads((self.folder / "compile_commands.json").read_text()) if self.folder else []
        except (OSError, ValueError):
            return {}
        split = (shlex.split(one["command"]) for one in commands)
        return {words[words.index("-o") + 1]: "\0".join(words) for words in split}

    @functools.cached_property
    def flags(self) -> dict[str, str]:
        return {made: hashlib.sha256(words.encode()).hexdigest() for made, words in self.words.items()}

    def flags_anywhere(self, made: str) -> str | None:
        """Without the place of the tree, which its options name: the same in each clone."""
        words = self.words.get(made)
        return words and hashlib.sha256(re.sub(rf"{re.escape(str(self.root))}(?=[/=\0]|$)", ".", words).encode()).hexdigest()

    def hash(self, name: str) -> str | None:
        if name not in self.known:
            self.known[name] = self.find(name)
        return self.known[name]

    def find(self, name: str) -> str | None:
        kind, _, rest = name.partition(":")
        if kind == "flags" and rest:
            return self.flags.get(rest)
        if kind == "compiler" and rest:
            try:
                told = subprocess.run([rest, "--version"], capture_output=True, check=False).stdout
            except OSError:
                return None
            return hashlib.sha256(told.partition(b"\n")[0]).hexdigest()
        return digest(self.root / name)

    def place(self, path: Path) -> str | None:
        return str(path.relative_to(self.folder)) if self.folder and path.is_relative_to(self.folder) else None

    def differing(self, path: Path) -> list[str]:
        """The names of what has changed since this object or program was made of it."""
        found = recorded(path) or frozenset()
        if all(name == "." or ":" in name for _, name in found):
            return ["(it does not say what it was made of)"]
        ours = {one for one in found if one[1] != "." and (self.folder or not one[1].startswith("flags:"))}
        parts = (made for made in self.flags if f"/{path.resolve().name}.dir/" in made or made == self.place(path))
        lacking = {f"flags:{made}" for made in parts} - {name for _, name in ours}
        return sorted(lacking | {name for hash, name in ours if self.hash(name) != hash})


def words_for(name: str) -> str:
    """An entry's name, for a person."""
    kind, _, rest = name.partition(":")
    if kind == "compiler" and rest:
        return f"{rest} (another version)"
    return f"the flags of {Path(rest).name.removesuffix('.o')}" if kind == "flags" and rest else name


def misconfigured(folder: Path) -> list[str]:
    """The CMake files that have changed since the build folder was configured."""
    try:
        text = (folder / CONFIGURED).read_text()
    except OSError:
        return ["(it does not say what it was configured from)"]
    return sorted(name for hash, name in parse(text) if digest(repo.ROOT / name) != hash)


def drop_differing(folder: Path, programs: Iterable[Path]) -> int:
    """Removes the objects of a build folder that differ from the tree, so that a build makes them
    anew; where all objects are right, a program that is not. Returns how many."""
    now = Present(folder=folder)
    made = {folder / name: folder / name for name in now.flags}
    made |= {path: path.with_name(path.name.removesuffix(BESIDE)) for path in (folder / "bin").glob(f"*{BESIDE}")}
    doomed = [path for path, teller in made.items() if path.exists() and now.differing(teller)]
    doomed = doomed or list({path.resolve() for path in programs if path.exists() and now.differing(path)})
    for path in doomed:
        path.unlink()
    return len(doomed)


def of(folder: Path, programs: Iterable[Path]) -> dict[str, list[Path]]:
    """By what has changed, the programs that were made of it as it was."""
    now, found = Present(folder=folder), {}
    for path in programs:
        for name in now.differing(path):
            found.setdefault(name, []).append(path)
    return found


def refuse_other(folder: Path, programs: list[Path], remedy: str, while_what: str = "") -> None:
    """Refuses programs of a build folder that were not made of the tree as it is now."""
    found = dict.fromkeys(misconfigured(folder), []) if programs and (folder / "CMakeCache.txt").exists() else {}
    found |= of(folder, programs)
    if not found:
        return
    wrong = {path.name for paths in found.values() for path in paths} or {path.name for path in programs}
    raise Fault(
        f"{len(wrong)} of {len(programs)} programs of {repo.shown(folder)} are not of this source: {repo.some(sorted(wrong))}",
        f"changed since they were built: {repo.some(map(words_for, sorted(found)))}{while_what}",
        remedy,
    )


def built(preset: str, kind: str) -> list[Path]:
    """As repo.built(), and all of them made of the tree as it is now."""
    programs = repo.built(preset, kind)
    refuse_other(repo.BUILD / preset, programs, f"scripts/apiary build {preset}")
    return programs


class Evidence:
    """Taken before programs run whose doings are recorded: they are of this source, and `stamp`
    names it. The source may then change, and the record stays one of what ran; the programs may
    not."""

    def __init__(self, folders: tuple[str, ...], presets: Iterable[str], kind: str):
        self.stamp = repo.identity(*folders)
        programs = [path for preset in presets for path in built(preset, kind)]
        self.seen = {path: self.state(path) for path in programs}
        if repo.source_hash(*folders) != self.stamp["source_hash"]:
            raise Fault("the source changes while its programs are looked at", "", "the same command again")

    @staticmethod
    def state(path: Path) -> tuple | None:
        """The ctime changes whatever is done to a file, and nobody can set it back."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_ctime_ns

    def check(self) -> dict:
        """When they have run. Returns the stamp."""
        replaced = sorted(path.name for path, state in self.seen.items() if self.state(path) != state)
        if replaced:
            raise Fault(f"{repo.some(replaced)} changed while they ran: nothing is recorded",
                        "somebody built meanwhile", "the same command again, and no build beside it")
        if repo.source_hash(*self.stamp["source_folders"]) != self.stamp["source_hash"]:
            warn(f"the source changed meanwhile; what is recorded is of {self.stamp['source_hash']}, which ran")
        return self.stamp
