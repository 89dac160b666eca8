"""The static inventory of atomic sites: what stands in the headers of impl/, found by reading their text.

A site is an operation on an atomic of the Sync policy, a fence, or a source of a last look (Sync::recheck). What the checks
executed must be these sites and no others: a site that no check executes is unproved, and one that the inventory
does not know (a macro, a helper that forwards its caller's place) cannot be mutated by itself.

Left out, by rule:
  impl/apiary/sync/  the policies themselves
  std::atomic        an object that is not the policy's is no part of what is checked
  <thread>           a header that starts threads of the system is stressed; no engine can run it
  !Sync::checked     what stands under `requires(!Sync::checked)` or `if constexpr (!Sync::checked)`"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Iterator

from ..base import repo

OPERATIONS = ("load", "store", "exchange", "compare_exchange_weak", "compare_exchange_strong", "fetch_add", "fetch_sub",
              "fetch_or", "fetch_and", "fetch_xor")
ASYMMETRIC = ("fence_light", "fence_heavy")
FENCES = ("fence", *ASYMMETRIC)
WAIT = "spin_until"    # its order is acquire, and not written
FAILURE = ".failure"
CALL = re.compile(r"(?:\.|->)\s*(?:template\s+)?(" + "|".join(OPERATIONS) + r")\s*(\()|\b(?:\w+::)?(fence(?:_light|_heavy)?|recheck|" + WAIT + r")\s*(\()")
ORDER = re.compile(r"\bmemory_order(?:_|::)(\w+)")
CONTROL = {"if", "for", "while", "switch", "catch", "return", "do", "else", "try"}
NO_NAME = {"alignas", "noexcept", "decltype", "requires", "explicit", "sizeof", "static_assert", "constexpr"}


@dataclass(frozen=True)
class Item:
    """A site as its header has it. A compare-exchange is two: its failure order is a site of its own."""

    file: str
    line: int
    column: int         # of the parenthesis, as the compilers' source_location gives it
    operation: str
    order: str
    function: str
    code: str           # the call, with a number after it where the function has several of the same text
    real_only: bool = False

    @property
    def name(self) -> str:
        return self.code if self.operation == "recheck" else f"{self.file}:{self.line}:{self.column}:{self.operation}"


def blanked(text: str) -> str:
    """The text with comments, literals and preprocessor lines as blanks, every character at its place."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w\'])\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*'
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.DOTALL | re.MULTILINE)


def outside(text: str, start: int, end: int, brackets: tuple[str, str] = ("([{", ")]}")) -> Iterator[int]:
    """The places that stand in no bracket; of a bracket that opens there, where it closes."""
    depth = 0
    for i in range(start, end):
        depth += (text[i] in brackets[0]) - (text[i] in brackets[1])
        if depth == 0:
            yield i


def closing(text: str, start: int) -> int:
    """Where the parenthesis at `start` closes."""
    return next(outside(text, start, len(text)), len(text) - 1)


def beginning(text: str, end: int) -> int:
    """Where the object expression that ends before `end` begins."""
    i = end
    while i > 0:
        c = text[i - 1]
        if c in ")]":
            depth, i = 1, i - 1
            while depth and i > 0:
                i -= 1
                depth += (text[i] in ")]") - (text[i] in "([")
        elif c.isalnum() or c in "_.:" or text[i - 2 : i] == "->":
            i -= 2 if c == ">" else 1
        else:
            break
    return i


def without_template(header: str) -> str:
    """The header of a block without its template parameters."""
    match = re.search(r"\btemplate\s*<", header)
    end = next(outside(header, match.end() - 1, len(header), ("<", ">")), None) if match else None
    return header if end is None else without_template(header[: match.start()] + header[end + 1 :])


def function_name(header: str) -> str:
    """The function whose body follows this text, or nothing: a loop, a lambda, an initialiser."""
    header = re.sub(r"^\s*((public|private|protected)\s*:)", " ", header)
    if header.count("(") != header.count(")") or re.search(r"\[[^\[\]]*\]\s*(\(|mutable|noexcept|->|$)", header):
        return ""
    for match in re.finditer(r"(operator\s*(?:\(\)|[^\s\w(]+)|~?\b\w+)\s*\(", header):
        word = match[1]
        if word in CONTROL:
            return ""
        if word not in NO_NAME:
            return word.replace(" ", "")
    return ""


REAL = re.compile(r"(requires\s*\(?|if\s+constexpr\s*\()\s*!\s*[Ss]ync::checked")  # what no engine compiles: a block, or a statement


def scopes(text: str) -> Iterable[tuple[int, int, str, bool]]:
    """Every block that is a function's, or real only: (from, to, name, whether it is real only)."""
    text = re.sub(r"=\s*\{\s*\}(?=\s*[,)])", lambda found: " " * len(found[0]), text)   # a default argument is no block
    open_blocks: list[tuple[int, str, str, bool]] = []      # where, class, function, real only
    header_from, last_function = 0, ""
    for i, c in enumerate(text):
        if c == "{":
            header = text[header_from:i]
            plain = re.sub(r"\[\[.*?\]\]", " ", without_template(header))
            kind = re.search(r"\b(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*)?(\w+)[^()]*$", plain)
            name = "" if kind else function_name(plain)
            if header.lstrip().startswith(",") and last_function:
                name = last_function    # a constructor goes on after a member's braces
            real = REAL.search(header) is not None
            open_blocks.append((i, kind[1] if kind else "", name, real))
            header_from = i + 1
        elif c == "}":
            if open_blocks:
                at, _, name, real = open_blocks.pop()
                owner = next((block[1] for block in reversed(open_blocks) if block[1]), "")
                if name or real:
                    yield at, i, f"{owner}::{name}" if owner and name else name, real
                last_function = name
            header_from = i + 1
        elif c == ";":
            header_from, last_function = i + 1, ""


@functools.lru_cache(maxsize=128)
def blocks_of(source: str) -> tuple[str, list[tuple[int, int, str, bool]]]:
    """The blanked text of a header, and its blocks in order."""
    text = blanked(source)
    return text, sorted(scopes(text), key=lambda block: block[0])


def function_at(blocks: list[tuple[int, int, str, bool]], at: int) -> str:
    return next((name for a, b, name, _ in reversed(blocks) if name and a < at < b), "")


def scan(file: str, source: str) -> tuple[list[Item], list[str]]:
    """The sites of one header, and what is wrong with its text, a sentence each."""
    (text, blocks), wrong, found = blocks_of(source), [], []
    threads = re.search(r"^[ \t]*#[ \t]*include[ \t]*<thread>", source, re.MULTILINE) is not None
    foreign = set(re.findall(r"std::atomic<[^;{}()]*?>+\s*(?:&\s*)?(\w+)", text))
    foreign |= set(re.findall(r"std::atomic<[^;{}()]*>\s*\w+(?:\{[^}]*\})?\s*,\s*(\w+)", text))
    times: Counter = Counter()
    for match in CALL.finditer(text):
        operation = match[1] or match[3]
        paren = match.start(2) if match[1] else match.start(4)
        end = closing(text, paren)
        arguments = text[paren : end + 1]
        start = beginning(text, match.start()) if match[1] else match.start()
        line = text.count("\n", 0, paren) + 1
        column = paren - (text.rfind("\n", 0, paren) + 1) + 1
        orders = ORDER.findall(arguments)
        function = function_at(blocks, paren)
        statement = text[max(text.rfind(c, 0, paren) for c in ";{}") + 1 : paren]
        real_only = threads or REAL.search(statement) is not None or any(real for a, b, _, real in blocks if a < paren < b)
        code = " ".join(text[start : end + 1].split())
        if operation == "recheck":
            literal = re.match(r'\(\s*"([^"]+)"\s*\)', source[paren : end + 1])
            if not literal:
                wrong.append(f"{file}:{line}: the name of a recheck is one literal, so that it can be mutated")
                continue
            found.append(Item(file, line, column, operation, "kept", function, f"recheck:{literal[1]}", real_only))
            continue
        if match[1] and re.split(r"\W+", text[start : match.start()].rstrip("])"))[0] in foreign:
            continue
        own = len(ORDER.findall(re.sub(r"(?:\.|->)\s*\w+\s*\([^()]*\)", " ", arguments)))   # nested calls have theirs
        orders = orders[-own:] if own else []
        if operation in ASYMMETRIC:
            orders = ["seq_cst"]    # as its name says
        if operation == WAIT:
            orders = ["acquire"]
        wanted = 2 if operation.startswith("compare_exchange") else 1
        if len(orders) != wanted:
            wrong.append(f"{file}:{line}: {operation} needs {wanted} written memory order{'s' if wanted > 1 else ''}")
            continue
        times[function, code] += 1
        nth = times[function, code]
        code += f" #{nth}" if nth > 1 else ""
        found.append(Item(file, line, column, operation, orders[0], function, code, real_only))
        if wanted == 2:
            found.append(Item(file, line, column, operation + FAILURE, orders[1], function, code, real_only))
    for match in re.finditer(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", source, re.MULTILINE):
        if CALL.search(match[0]):
            line = source.count("\n", 0, match.start()) + 1
            wrong.append(f"{file}:{line}: an atomic operation in a macro has no place of its own")
    return found, wrong


def headers() -> list[Path]:
    impl = repo.ROOT / "impl"
    return sorted(set(impl.rglob("*.hpp")) - set((impl / "apiary" / "sync").rglob("*.hpp")))


def read() -> tuple[list[Item], list[str]]:
    """The whole inventory, and what is wrong with it."""
    items, wrong = [], []
    for path in headers():
        found, told = scan(str(path.relative_to(repo.ROOT)), path.read_text())
        items += found
        wrong += told
    names = [item.code for item in items if item.operation == "recheck"]
    wrong += [f"two places are called {name}: each source of a last look has a name of its own"
              for name in dict.fromkeys(names) if names.count(name) > 1]
    return items, wrong


def parse(site: str) -> tuple[str, int, int, str] | None:
    """A site as the engines name it; none when it is no operation that could be weakened (park, lock)."""
    file, line, column, operation = site.rsplit(":", 3)
    if operation.removesuffix(FAILURE) not in (*OPERATIONS, *FENCES, WAIT):
        return None
    return file, int(line), int(column), operation


def compare(items: list[Item], executed: dict[str, set[str]]) -> tuple[dict[Item, str], list[Item], list[str]]:
    """The executed sites (name -> orders seen there) against the inventory: which item ran under which name, which never
    ran, and what is wrong. Columns differ between compilers; the n-th operation of its kind on a line does not."""
    wrong, by_place, ran = [], {}, {}
    for item in items:
        if item.operation != "recheck":
            by_place.setdefault((item.file, item.line, item.operation), []).append(item)
    by_name = {item.code: item for item in items if item.operation == "recheck"}
    places: dict[tuple[str, int, int], set[str]] = {}
    lines: dict[tuple[str, int, str], list[tuple[int, str]]] = {}
    for name, orders in executed.items():
        if name.startswith("recheck:"):
            if name in by_name:
                ran[by_name[name]] = name
            continue    # a check may have sources of its own
        parts = parse(name)
        if parts is None or not parts[0].startswith("impl/") or parts[0].startswith("impl/apiary/sync/"):
            continue
        file, line, column, operation = parts
        if len(orders) > 1:
            wrong.append(f"{name}: two operations at one place, with the orders {' and '.join(sorted(orders))}")
        places.setdefault((file, line, column), set()).add(operation.removesuffix(FAILURE))
        lines.setdefault((file, line, operation), []).append((column, name))
    wrong += [f"{file}:{line}:{column}: two operations at one place: {', '.join(sorted(operations))}"
              for (file, line, column), operations in places.items() if len(operations) > 1]
    for place, seen in lines.items():
        known = {item.column: item for item in by_place.get(place, [])}
        exact = all(column in known for column, _ in seen)
        if not exact and len(seen) == len(known):
            known = {column: item for (column, _), item in zip(sorted(seen), sorted(known.values(), key=lambda i: i.column))}
        for column, name in seen:
            if column in known:
                ran[known[column]] = name
            else:
                wrong.append(f"{name} is executed, and the inventory does not know it")
    never = [item for item in items if item not in ran and not item.real_only]
    return ran, never, wrong
