"""No two files of the Rust crate need each other, by whatever detour: what a file names is read from its text.

A file needs another one when a path in it leads there, or through it: in a `use`, in an expression, in a type, in the body
of a macro, in a unit test; and when it calls a macro that is defined there. The line `mod x;` is no need: it lists a file.
What no path names is not seen, such as the type of a value whose methods are called.
"""

from __future__ import annotations

import re
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

SKIPPED = re.compile(
    r'//[^\n]*|(?:b|c)?r(#*)".*?"\1|(?:b|c)?"(?:\\.|[^"\\])*"'  # comments and texts
    r"|b?'(?:\\x..|\\u\{[^}]*\}|\\.|[^\\'])'|\d\w*|\s+",  # characters, numbers
    re.DOTALL,
)
TOKEN = re.compile(r"(?:r#)?([A-Za-z_]\w*|\$crate)|(::|.)", re.DOTALL)

Edges = dict[str, dict[str, str]]  # a file, the files that it needs, and the first line that says so


@dataclass(eq=False)
class Module:
    file: Path
    path: tuple[str, ...] = ()
    parent: Module | None = None
    children: dict[str, Module] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=dict)
    globs: list[list[str]] = field(default_factory=list)


def tokens_of(text: str) -> list[tuple[str, int]]:
    """The words and signs of a source, each with its line."""
    found, at, line = [], 0, 1
    while at < len(text):
        if text.startswith("/*", at):
            end, depth = at + 2, 1
            while depth and end < len(text):  # comments nest
                mark = text[end : end + 2]
                depth += (mark == "/*") - (mark == "*/")
                end += 2 if mark in ("/*", "*/") else 1
        elif skipped := SKIPPED.match(text, at):
            end = skipped.end()
        else:
            token = TOKEN.match(text, at)
            found.append((token[1] or token[2], line))
            end = token.end()
        line += text.count("\n", at, end)
        at = end
    return found


class Crate:
    """The modules of a crate, and the paths that they name."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.named: list[tuple[Module, int, list[str]]] = []
        self.called: list[tuple[Module, int, str]] = []
        self.macros: dict[str, set[Path]] = {}
        self.root = Module(source / "lib.rs")
        self.read(self.root)

    def read(self, top: Module) -> None:
        tokens = [*tokens_of(top.file.read_text()), *[("", 0)] * 3]
        module, depth, opened, at = top, 0, [], 0
        while tokens[at][0]:
            (word, line), (after, _), before = tokens[at], tokens[at + 1], tokens[at - 1][0] if at else ""
            if word == "mod" and tokens[at + 2][0] in (";", "{"):
                inline = tokens[at + 2][0] == "{"
                child = Module(module.file, (*module.path, after), module)
                module.children[after] = child
                if inline:
                    opened.append((module, depth))
                    module, depth = child, depth + 1
                else:
                    child.file = self.file_of(child)
                    self.read(child)
                at += 3
            elif word == "use" and after != "<":
                at = self.use(module, tokens, at + 1, [])
            elif (word, after) == ("macro_rules", "!"):
                self.macros.setdefault(tokens[at + 2][0], set()).add(top.file)
                at += 3
            elif [token for token, _ in tokens[at : at + 4]] == ["#", "[", "path", "="]:
                raise ValueError(f"{top.file}:{line}: a module with a path of its own, which this reader does not follow")
            elif word.lstrip("$").isidentifier():
                segments, at = [word], at + 1
                while tokens[at][0] == "::" and tokens[at + 1][0].isidentifier():
                    segments, at = [*segments, tokens[at + 1][0]], at + 2
                if before not in ("::", "$") and len(segments) > 1:
                    self.named.append((module, line, segments))
                if tokens[at][0] == "!" and tokens[at + 1][0] != "=":
                    self.called.append((module, line, segments[-1]))
            else:
                depth += (word == "{") - (word == "}")
                if word == "}" and opened and opened[-1][1] == depth:
                    module = opened.pop()[0]
                at += 1

    def file_of(self, module: Module) -> Path:
        stem = self.source.joinpath(*module.path)
        for path in (stem.with_name(stem.name + ".rs"), stem / "mod.rs"):
            if path.exists():
                return path
        raise ValueError(f"{module.parent.file}: no file for `mod {module.path[-1]};`")

    def use(self, module: Module, tokens: list[tuple[str, int]], at: int, prefix: list[str]) -> int:
        """Notes what a use names, from `at` on; returns the place behind it."""
        segments, line, name = list(prefix), tokens[at][1], ""
        while tokens[at][0] not in (",", "}", ";", ""):
            word = tokens[at][0]
            if word == "{":
                while tokens[at][0] in ("{", ","):
                    at = self.use(module, tokens, at + 1, segments)
                return at + 1
            if word == "as":
                at += 1
                name = tokens[at][0]
            elif word == "::":
                segments = segments or ["::"]  # another crate's, whatever the modules of this one are called
            else:
                segments.append(word)
            at += 1
        if len(segments) == len(prefix):  # behind the last comma
            return at
        last = segments[-1]
        if last in ("self", "*") and len(segments) > 1:
            segments.pop()
        self.named.append((module, line, segments))
        if last == "*":
            module.globs.append(segments)
        else:
            module.imports[name or segments[-1]] = segments
        return at

    def files(self, module: Module, segments: list[str], seen: frozenset = frozenset()) -> set[Path]:
        """The files that a path leads through as seen from a module: what it ends in, and what hands it on."""
        at, left = module, list(segments)
        if left[0] in ("crate", "$crate"):
            at = self.root
            left.pop(0)
        found: set[Path] = set()
        while left:
            name = left[0]
            if name == "super" and at.parent:
                at = at.parent
            elif name in at.children:
                at = at.children[name]
            elif name != "self":
                break
            left.pop(0)
        if left and at is self.root and left[0] in self.macros:
            return self.macros[left[0]]
        if left and (at, left[0]) not in seen:
            seen |= {(at, left[0])}
            handed_on = [at.imports[left[0]] + left[1:]] if left[0] in at.imports else [path + left for path in at.globs]
            for path in handed_on:
                found |= self.files(at, path, seen)
        return found | {at.file}

    def edges(self) -> Edges:
        edges: Edges = {self.name(path): {} for path in sorted(self.source.rglob("*.rs")) if path.parent != self.source / "bin"}
        for module, line, segments in self.named:
            self.add(edges, module, line, "::".join(segments), self.files(module, segments))
        for module, line, name in self.called:
            if name in self.macros and module.file not in self.macros[name]:
                self.add(edges, module, line, name + "!", self.macros[name])
        return edges

    def add(self, edges: Edges, module: Module, line: int, what: str, files: set[Path]) -> None:
        here = self.name(module.file)
        for file in sorted(files - {module.file}):
            edges[here].setdefault(self.name(file), f"{here}:{line} needs {self.name(file)}: {what}")

    def unread(self) -> set[str]:
        """Files that no `mod` lists: their paths are not in the edges."""
        read, modules = set(), [self.root]
        while modules:
            module = modules.pop()
            read.add(self.name(module.file))
            modules += module.children.values()
        return set(self.edges()) - read

    def name(self, file: Path) -> str:
        return file.relative_to(self.source.parent).as_posix()


def way_round(edges: Edges, start: str) -> list[str]:
    """The shortest way from a file back to itself, the file first; empty when there is none."""
    before: dict[str, str] = {}
    queue = [start]
    for file in queue:
        for needed in edges[file]:
            if needed not in before:
                before[needed] = file
                queue.append(needed)
    if start not in before:
        return []
    way = [before[start]]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def complaint(edges: Edges) -> str:
    """The files that lie on cycles, and the lines of a shortest one; nothing when there is none."""
    ways = [way for way in (way_round(edges, file) for file in edges) if way]
    if not ways:
        return ""
    way = min(ways, key=len)
    lines = [edges[file][needed] for file, needed in zip(way, [*way[1:], way[0]])]
    files = " ".join(way[0] for way in ways)
    return "\n".join([f"{len(ways)} files need each other: {files}", "a shortest way round:", *lines])


A = "pub fn y() {}\npub fn b() { crate::b::b() }\n#[macro_export]\nmacro_rules! take { () => {} }\n"  # needs b.rs
BACK = {  # what b.rs may say to need a.rs in turn, and in which line it does
    "a use": (1, "use crate::a::y;"),
    "a use of many": (2, "use crate::{\n    a::{y},\n};"),
    "a path in an expression": (1, "pub fn b() { if 1 != 2 { crate::a::y() } }"),
    "a path in a type": (1, "pub struct B(Vec<<crate::a::A as Iterator>::Item>);"),
    "the parent": (1, "pub fn b() { super::a::y() }"),
    "the parent's names": (2, "use super::*;\npub fn b() { a::y() }"),
    "another name": (2, "use crate as all;\npub fn b() { all::a::y() }"),
    "a module inside": (2, "mod inner {\n    pub fn b() { super::super::a::y() }\n}"),
    "after a module inside": (2, "mod inner {}\npub fn b() { super::a::y() }"),
    "its unit tests": (3, "#[cfg(test)]\nmod tests {\n    use crate::a::y;\n}"),
    "a macro's body": (1, "macro_rules! b { () => { $crate::a::y() } }"),
    "a macro's call": (1, "pub fn b() { take!() }"),
    "a macro's import": (1, "use crate::take;"),
    "after texts": (2, """const T: (&str, char) = (r#""//"#, '"');\nfn f<'a>(t: &'a u8) {} /* /* */ */ use crate::a::y;//";"""),
    "a bound that says use": (1, "fn f<T>(t: T) -> impl Sized + use<T> { crate::a::y() }"),
}
INNOCENT = [  # what b.rs may say without needing a.rs, though it sees the module `a`
    "// use crate::a::y;\n/* /* */ use crate::a::y; */\n//! crate::a::y()",
    r"""const T: [&str; 3] = ["\"crate::a::y()\\", r#"" crate::a::y()"#, "use crate::a::y;"];""",
    "macro_rules! b { ($a:ident) => { $a::y() } }",
    "use ::a::y;\nuse std::a as c;\npub fn b() { ::a::y(); Vec::<u8>::a::y(); c::y() }",
    "pub(crate) fn a() {}\npub fn b(take: u8) -> bool { take != 1 }",
]


class Reading(unittest.TestCase):
    """Of small crates made for it."""

    def read(self, files: dict[str, str]) -> Crate:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, text in files.items():
            path = Path(folder.name, "src", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Crate(Path(folder.name, "src"))

    def test_a_cycle_is_found_by_whatever_words_it_is_closed(self) -> None:
        for how, (line, text) in BACK.items():
            with self.subTest(how):
                edges = self.read({"lib.rs": "pub mod a;\nmod b;\n", "a.rs": A, "b.rs": text}).edges()
                self.assertIn("src/a.rs:2 needs src/b.rs: crate::b::b", complaint(edges))
                self.assertIn(f"src/b.rs:{line} needs src/a.rs: ", complaint(edges))

    def test_what_only_looks_like_a_path_is_none(self) -> None:
        for text in INNOCENT:
            with self.subTest(text):
                edges = self.read({"lib.rs": "pub mod a;\nmod b;\n", "a.rs": A, "b.rs": f"use super::*;\n{text}"}).edges()
                self.assertEqual((complaint(edges), list(edges["src/b.rs"])), ("", ["src/lib.rs"]))

    def test_the_complaint_names_the_files_and_the_lines_of_a_shortest_way(self) -> None:
        crate = self.read({
            "lib.rs": "mod a;\nmod b;\nmod c;\nmod d;\nfn main() { a::x() }\n",
            "a.rs": "\npub fn x() { crate::b::x() }\n",
            "b.rs": "use super::{c, d};\n",
            "c.rs": "use crate::{a::x,};\n",
            "d.rs": "pub use crate::c::*;\n",
        })
        self.assertEqual(complaint(crate.edges()).splitlines(), [
            "4 files need each other: src/a.rs src/b.rs src/c.rs src/d.rs",
            "a shortest way round:",
            "src/a.rs:2 needs src/b.rs: crate::b::x",
            "src/b.rs:1 needs src/c.rs: super::c",
            "src/c.rs:1 needs src/a.rs: crate::a::x",
        ])

    def test_what_a_module_hands_on_is_needed_too(self) -> None:
        crate = self.read({
            "lib.rs": "mod a;\nmod b;\nmod front;\n",
            "front.rs": "pub use crate::a::inner as handed;\n",
            "a/mod.rs": "pub mod inner;\n",
            "a/inner.rs": "pub fn y() { crate::b::b() }\n",
            "b.rs": "pub fn b() { crate::front::handed::y() }\n",
        })
        self.assertEqual(set(crate.edges()["src/b.rs"]), {"src/front.rs", "src/a/inner.rs"})

    def test_a_list_must_not_define_what_its_entries_are_made_of(self) -> None:
        entries = "pub mod one;\npub static ALL: [&{}T; 1] = [&one::ONE];\n"
        one = "use {}::T;\npub static ONE: T = T;\n"
        both = {"lib.rs": "mod list;\n", "list/one.rs": one.format("super")}
        both |= {"list/mod.rs": "pub struct T;\n" + entries.format("")}
        self.assertIn("src/list/mod.rs:3 needs src/list/one.rs: one::ONE", complaint(self.read(both).edges()))
        apart = {"lib.rs": "mod list;\nmod types;\n", "types.rs": "pub struct T;\n"}
        apart |= {"list/mod.rs": entries.format("crate::types::"), "list/one.rs": one.format("crate::types")}
        self.assertEqual(complaint(self.read(apart).edges()), "")

    def test_a_file_that_cannot_be_followed_is_told(self) -> None:
        lost = self.read({"lib.rs": "mod a;\n", "a.rs": "", "a/lost.rs": "use crate::a;\n", "bin/main.rs": "fn main() {}\n"})
        self.assertEqual(lost.unread(), {"src/a/lost.rs"})
        with self.assertRaisesRegex(ValueError, r"lib\.rs:1: a module with a path of its own"):
            self.read({"lib.rs": "#[path = \"b.rs\"]\nmod a;\n", "b.rs": ""})
        with self.assertRaisesRegex(ValueError, "no file for `mod a;`"):
            self.read({"lib.rs": "mod a;\n"})


class Layers(unittest.TestCase):
    """Of the Rust twins."""

    def test_no_two_files_need_each_other(self) -> None:
        crate = Crate(REAL_ROOT / "tokio_baseline" / "src")
        edges = crate.edges()
        self.assertEqual(crate.unread(), set())
        scenarios = {file for file in edges if file.startswith("src/scenarios/")}
        self.assertGreater(len(scenarios), 20)
        self.assertEqual(scenarios - set(edges["src/scenarios/mod.rs"]), {"src/scenarios/mod.rs"})
        if said := complaint(edges):
            self.fail(f"tokio_baseline: {said}")


if __name__ == "__main__":
    unittest.main()
