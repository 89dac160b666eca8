"""No two files of the Rust crate need each other, by whatever detour: what a file names is read from its text.

A path is written in one of four ways, so that it can be read without knowing the language: crate::file::…, in mod.rs and
lib.rs child::…, super::sibling::…, and `use super::*` in a file's own tests. Every other way to name a file is refused.
What no path names is not seen, such as the type of a value whose methods are called.
"""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT
from .test_layers import Edges, circle

SKIPPED = re.compile(r"""pub\((?:crate|super)\)|//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'\n])'""", re.DOTALL)
TESTS = "#[cfg(test)]"
PATH = re.compile(r"(?<![\w:])(?:\$?crate|super|self)(?:\s*::\s*\w+)*(?:\s*::\s*(?:\{[^;]*|\*))?")
REFUSED = {
    "a module with a path of its own": r"#\[path",
    "a macro that has no path": r"#\[macro_(?:export|use)\]",
    "another name for the crate, or for a module above": r"\b(?:crate|super)\s+as\b",
    "a group at the crate's root": r"\bcrate\s*::\s*[{*]",
    "super of super": r"\bsuper\s*::\s*super\b",
    "a module inside a file that is not its tests": r"\bmod (?!tests\b)\w+\s*\{",
}


def place(file: str) -> tuple[str, ...]:
    """The module that a file is."""
    parts = tuple(file.removesuffix(".rs").split("/"))
    return parts[:-1] if parts[-1] in ("lib", "mod") else parts


def read(source: Path) -> tuple[Edges, list[str]]:
    """What each file needs, with the line that says so; and what cannot be read, or is not listed by any `mod`."""
    texts = {path.relative_to(source).as_posix(): path.read_text() for path in sorted(source.rglob("*.rs"))}
    texts = {file: SKIPPED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text) for file, text in texts.items() if file[:4] != "bin/"}
    files = {place(file): file for file in texts}
    edges, wrong, listed = {file: {} for file in texts}, [], {"lib.rs"}

    def needs(file: str, path: tuple[str, ...], line: int) -> None:
        while path not in files:
            path = path[:-1]
        if files[path] != file:
            edges[file].setdefault(files[path], line)

    for file, text in texts.items():
        own, above = place(file), place(file)[:-1]
        children = {path[-1] for path in files if path and path[:-1] == own} if file.endswith(("lib.rs", "mod.rs")) else set()
        listed |= {files[*own, name] for name in re.findall(r"\bmod (\w+)\s*;", text) if name in children}
        wrong += [f"{file}: {what}" for what, pattern in REFUSED.items() if re.search(pattern, text)]
        tests = text.find(TESTS) % (len(text) + 1)
        if re.search(r"\bsuper\s*::\s*[{*]", text[:tests]):
            wrong.append(f"{file}: super as a whole, outside of the tests")
        for found in PATH.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            head, grouped, group = found[0].partition("{")
            first, *rest = re.findall(r"\w+", head)
            at = own if first == "self" or (first == "super" and found.start() > tests) else above if first == "super" else ()
            for ending in re.findall(r"(?:^|,)\s*(\w+)", group) if grouped else [""]:
                needs(file, (*at, *rest, ending), line)
        for found in re.finditer(r"(?<![\w:$])(\w+)\s*::", text):
            if found[1] in children:
                needs(file, (*own, found[1]), text.count("\n", 0, found.start()) + 1)
    return edges, wrong + [f"{file} stands in no list of modules" for file in sorted(set(texts) - listed)]


def faults(source: Path) -> list[str]:
    edges, wrong = read(source)
    return wrong + circle(edges)


A = "pub fn y() {}\npub fn b() { crate::b::b() }\n"  # needs b.rs
BACK = {  # what b.rs may say to need a.rs in turn, and in which line it does
    "a use": (1, "use crate::a::y;"),
    "a use of many": (1, "use crate::a::{\n    y,\n};"),
    "a path in an expression": (1, "pub fn b() { if 1 != 2 { crate::a::y() } }"),
    "a path in a type": (1, "pub struct B(Vec<<crate::a::A as Iterator>::Item>);"),
    "a sibling": (1, "pub fn b() { super::a::y() }"),
    "its unit tests": (3, "#[cfg(test)]\nmod tests {\n    use crate::a::y;\n}"),
    "a macro's body": (1, "macro_rules! b { () => { $crate::a::y() } }"),
    "after texts": (2, """const T: (&str, char) = (r#""//"#, '"');\nfn f<'a>(t: &'a u8) {} /* */ use crate::a::y;//";"""),
    "a bound that says use": (1, "fn f<T>(t: T) -> impl Sized + use<T> { crate::a::y() }"),
}
ODD = ("use super::*;", "use crate as all;", "use crate::{a::y};", "mod inner { fn f() {} }", "fn f() { super::super::a::y() }",
       "#[macro_export]\nmacro_rules! b { () => {} }", '#[path = "c.rs"]\nmod c;')
INNOCENT = (  # what b.rs may say without needing a.rs
    "// use crate::a::y;\n/* use crate::a::y; */\n//! crate::a::y()",
    r"""const T: [&str; 3] = ["\"crate::a::y()\\", r#"" crate::a::y()"#, "use crate::a::y;"];""",
    "use ::a::y;\nuse std::a as c;\npub fn b() { ::a::y(); Vec::<u8>::a::y(); c::y() }",
    "pub(crate) fn a() {}\n#[cfg(test)]\nmod tests {\n    use super::*;\n}",
)


class Where(unittest.TestCase):
    def test_no_test_stands_where_check_builds_none(self) -> None:
        """It asks cargo for those of the library and of tests/: a program is too short to have one, and no comment holds an example."""
        for path in sorted((REAL_ROOT / "tokio_baseline" / "src").rglob("*.rs")):
            found = re.findall(r"#\[test\]" if path.parent.name == "bin" else r"^\s*//[/!].*```", path.read_text(), re.M)
            self.assertEqual(found, [], path)


class Reading(unittest.TestCase):
    """Of small crates made for it."""

    def told(self, files: dict[str, str]) -> list[str]:
        with TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return faults(Path(folder))

    def both(self, b: str) -> list[str]:
        return self.told({"lib.rs": "pub mod a;\nmod b;\n", "a.rs": A, "b.rs": b, "bin/main.rs": "fn main() { x::a::y() }\n"})

    def test_a_circle_is_found_by_whatever_words_it_is_closed(self) -> None:
        for how, (line, text) in BACK.items():
            with self.subTest(how):
                self.assertEqual(self.both(text), ["a.rs:2 imports b.rs, in a circle", f"b.rs:{line} imports a.rs, in a circle"])

    def test_what_cannot_be_read_so_is_refused(self) -> None:
        for text in ODD:
            with self.subTest(text):
                self.assertRegex("\n".join(self.both(text)), "^b.rs: ")

    def test_what_only_looks_like_a_path_is_none(self) -> None:
        for text in INNOCENT:
            with self.subTest(text):
                self.assertEqual(self.both(text), [])

    def test_a_list_must_not_define_what_its_entries_are_made_of(self) -> None:
        lists = {"list/mod.rs": "pub mod one;\npub struct T;\npub static ALL: [&T; 1] = [&one::ONE];\n"}
        one = "use crate::{}::T;\npub static ONE: T = T;\n"
        self.assertEqual(self.told({"lib.rs": "mod list;\n", "list/one.rs": one.format("list")} | lists),
                         ["list/mod.rs:3 imports list/one.rs, in a circle", "list/one.rs:1 imports list/mod.rs, in a circle"])
        apart = {"lib.rs": "mod list;\nmod types;\n", "types.rs": "pub struct T;\n", "list/one.rs": one.format("types")}
        self.assertEqual(self.told(apart | lists), [])

    def test_a_group_names_the_files_in_it_and_what_is_handed_on_is_needed(self) -> None:
        files = {"lib.rs": "mod a;\nmod b;\n", "a/mod.rs": "pub mod inner;\npub use inner::y;\n", "a/inner.rs": "use crate::b::b;\n"}
        for b in ("use crate::a::{inner};\n", "use crate::a::{y};\n", "use crate::a::y;\n"):
            self.assertTrue(self.told(files | {"b.rs": b}), b)

    def test_a_file_that_no_list_has_is_told(self) -> None:
        self.assertEqual(self.told({"lib.rs": "mod a;\n", "a.rs": "", "lost.rs": ""}), ["lost.rs stands in no list of modules"])


class Layers(unittest.TestCase):
    """Of the Rust twins."""

    def test_no_two_files_need_each_other(self) -> None:
        source = REAL_ROOT / "tokio_baseline" / "src"
        self.assertEqual(faults(source), [])
        edges, _ = read(source)
        scenarios = {file for file in edges if file.startswith("scenarios/")}
        self.assertGreater(len(scenarios), 20)
        self.assertEqual(scenarios - set(edges["scenarios/mod.rs"]), {"scenarios/mod.rs"})


if __name__ == "__main__":
    unittest.main()
