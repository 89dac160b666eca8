"""Logic mutants: what is wrong with a header when a statement is missing, a condition is turned round, a number is one off.

The catalogue has two parts. Rules over the headers' text give candidates, of which a fixed seed draws a share of each header;
model_check/logic_mutants.toml adds by hand what no rule reaches. All of them are written into one copy of the headers, each
behind a question (`apiary_logic(17) ? mutated : written`), so that everything is compiled once and the environment variable
APIARY_LOGIC_MUTANT says which of them is alive.

Left out, by rule, as changing nothing: Sync::reach (counts) and what only guards one, Sync::relax, yields, prefetches, fences (their orders are mutated
by `mutate`), and what a compiler evaluates (constants, static_assert, if constexpr).
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ..base import repo
from ..base.errors import Fault
from . import inventory

WRITTEN = repo.ROOT / "model_check" / "logic_mutants.toml"
SEED = 12
LEAST, SHARE = 4, 0.15     # of a header's candidates, and so many at least
MOVED = {"impl/apiary/events/": "impl/parking/", "impl/apiary/workers/": "impl/schedulers/hive/",
         "impl/apiary/": "impl/"}   # since SEED was chosen: a move changes no draw
NO_LOGIC = {
    "impl/apiary/contract/laws.hpp": "the oracles themselves; the museum's exhibits hold them to account",
    "impl/apiary/contract/scheduler.hpp": "concepts and plain data", "impl/apiary/sync/sync_policy.hpp": "a concept",
    "impl/apiary/sync/real_sync.hpp": "the seam to the machine: fences, system calls and random numbers, of which nothing here sees the effect",
    "impl/apiary/sync/chaos_sync.hpp": "a test's policy: it only makes delays", "impl/apiary/sync/cache_line.hpp": "a constant",
    "impl/apiary/queues/steal_result.hpp": "plain data", "impl/apiary/events/event_source.hpp": "an interface",
    "impl/apiary/workers/parameters.hpp": "numbers to tune", "impl/apiary/schedulers/hive/parameters.hpp": "another name for them",
    "impl/apiary/schedulers/hive/parts.hpp": "names of types",
    "impl/apiary/schedulers/all.hpp": "a list for tests", "impl/apiary/schedulers/hive/examples/echo.hpp": "an example",
    "impl/apiary/testing/running_hive.hpp": "a test's helper", "impl/apiary/testing/stepped_hive.hpp": "a test's helper",
    "impl/apiary/testing/fake_driver.hpp": "a test's helper", "impl/apiary/testing/plain_crew.hpp": "a test's helper",
    "impl/apiary/testing/replaced_new.hpp": "a test's helper", "impl/apiary/events/driver.hpp": "a concept",
    "impl/apiary/testing/counting_sync.hpp": "a test's policy: it only counts",
    "impl/apiary/testing/plain_coroutine.hpp": "a test's helper", "impl/apiary/tasks/suspended.hpp": "an interface",
    "impl/apiary/coroutines/timer_service.hpp": "a concept",
}
SYSTEM = {
    ("impl/apiary/parking/time_slice.hpp", "linux_slices"): "the kernel's answers, which differ: before Linux 6.12 there is no slice",
    ("impl/apiary/schedulers/global_queue/processors.hpp", "usable_processors"): "the kernel's answers: no machine here has more processors than a mask has bits",
}
PROLOGUE = "#include <apiary/logic_mutant.hpp>"
SUPPORT = """\
// Which logic mutant is alive, and which were passed. Written by scripts/apiary mutate --logic.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <type_traits>
namespace apiary_logic_mutants {
constexpr int count = %d;
inline int alive() {
    const char* text = std::getenv("APIARY_LOGIC_MUTANT");
    return text == nullptr ? 0 : std::atoi(text) + 1;  // 0: none, also before this is initialised
}
// A file that all processes of a run share: a byte for each mutant whose place was passed.
inline volatile unsigned char* passed() {
    static unsigned char nowhere[count + 1];
    const char* path = std::getenv("APIARY_LOGIC_PASSED");
    if (path == nullptr) return nowhere;
    const int fd = ::open(path, O_RDWR);
    if (fd < 0) return nowhere;
    void* at = ::mmap(nullptr, count + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    return at == MAP_FAILED ? nowhere : static_cast<unsigned char*>(at);
}
inline const int the_one = alive();
inline volatile unsigned char* const places = passed();
}  // namespace apiary_logic_mutants
constexpr bool apiary_logic(int mutant) noexcept {
    if (std::is_constant_evaluated()) return false;
    if (apiary_logic_mutants::places != nullptr) apiary_logic_mutants::places[mutant] = 1;
    return mutant + 1 == apiary_logic_mutants::the_one;
}
"""


@functools.lru_cache(maxsize=128)
def blocks_of(source: str) -> tuple[str, list[tuple[int, int, str, bool]]]:
    """The blanked text of a header, and its blocks in order."""
    text = inventory.blanked(source)
    return text, sorted(inventory.scopes(text), key=lambda block: block[0])


@dataclass(frozen=True)
class Mutant:
    """One change of one place. `form` says how the place can ask whether it is alive."""

    file: str
    start: int
    end: int
    form: str           # statement, expression, condition, either (a clause that counts as true), neither (as false)
    rule: str
    function: str
    code: str           # what stands there, with a number behind it where the function has several of the same text
    put: str            # what stands there instead
    line: int
    reason: str = ""    # of a written one: why somebody could make this mistake

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.code, f"{self.rule}: {self.put}" if self.put else self.rule


def headers(root: Path | None = None) -> list[Path]:
    """Those that hold logic."""
    root = root or repo.ROOT
    return [path for path in sorted((root / "impl").rglob("*.hpp")) if str(path.relative_to(root)) not in NO_LOGIC]


# ------------------------------------------------------------------------------------------------------ reading the text

HEAD = re.compile(r"(?:else\b|do\b|(?:if|while|for|switch)\s*\(|if\s+constexpr\s*\(|\[\[.*?\]\]|(?:public|private|protected|default)\s*:)")
NO_STATEMENT = re.compile(r"(?:return|break|continue|throw|using|static_assert|struct|class|enum|const|constexpr|auto|goto|static|"
                          r"alignas|typename|template|case|friend|typedef|public|private|protected|namespace|delete|try)\b")
EFFECTLESS = re.compile(r"[Ss]ync::(reach|relax|fail)|__builtin_prefetch|std::this_thread::yield|\bfence(_light|_heavy)?\s*\(|trace_\.")


@dataclass(frozen=True)
class Statement:
    start: int
    end: int            # behind the semicolon
    block: int          # where its block begins
    guarded: bool       # it is the whole body of an if or a loop
    guard: str = ""     # the keyword


def unheaded(text: str, start: int, end: int) -> tuple[int, str]:
    """Where the statement itself begins, behind `if (…)`, `else` and the like, and the last of those words."""
    word = ""
    while True:
        while start < end and text[start].isspace():
            start += 1
        match = HEAD.match(text, start, end)
        if not match:
            return start, word
        if match[0].endswith("("):
            word = match[0][:-1].strip()
            start = inventory.closing(text, match.end() - 1) + 1
        else:
            word = match[0] if match[0] in ("else", "do") else word
            start = match.end()


def statements(text: str) -> list[Statement]:
    """Every statement that ends with a semicolon and stands in a block."""
    found, stack, begins = [], [(-1, "{")], {-1: 0}
    for i, c in enumerate(text):
        if c in "([{":
            stack.append((i, "?" if c == "{" and text[max(0, i - 12) : i].rstrip().endswith("requires") else c))
            begins[i] = i + 1
        elif c in ")]}":
            if len(stack) > 1:
                stack.pop()
            if c == "}":
                begins[stack[-1][0]] = i + 1
        elif c == ";":
            block, bracket = stack[-1]
            if bracket == "{":
                start, word = unheaded(text, begins[block], i)
                if start < i:
                    found.append(Statement(start, i + 1, block, bool(word), word))
                begins[block] = i + 1
    return found


def without_brackets(text: str) -> str:
    """The text with what stands in brackets left out, template arguments too."""
    for _ in range(8):
        text = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", " ", text)
        text = re.sub(r"(?<=\w)<[^<>;=]*>", "", text)
    return text


def is_expression(text: str) -> bool:
    """An assignment, a call, an increment: what can be left out without leaving out a name."""
    if NO_STATEMENT.match(text) or not re.search(r"[(=]|\+\+|--", text):
        return False
    head = re.split(r"(?<![=!<>+\-*/|&^])=(?!=)|[-+|&*/^]=", without_brackets(text.replace("(void)", "", 1)), maxsplit=1)[0]
    if head.startswith(("*", "&")):
        return False
    return not re.search(r"[\w>][\s*&]+\w", head.strip().rstrip(";")) or head.lstrip().startswith(("++", "--"))


def operands(text: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """The clauses of a condition: (from, to, the operator that joins them all), one when nothing joins them."""
    parts, depth, at, seen = [], 0, start, set()
    for i in range(start, end):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0 and text[i : i + 2] in ("&&", "||") and text[i - 1] == " " == text[i + 2 : i + 3]:
            parts.append((at, i))
            at = i + 2
            seen.add(text[i : i + 2])
        elif depth == 0 and text[i : i + 3] == " ? ":
            return []
    parts.append((at, end))
    if len(seen) > 1:
        return []       # mixed without parentheses
    joined = seen.pop() if seen else ""
    trimmed = []
    for a, b in parts:
        while a < b and text[a].isspace():
            a += 1
        while b > a and text[b - 1].isspace():
            b -= 1
        trimmed.append((a, b, joined))
    return trimmed


COMPARE = re.compile(r" (<=|>=|<|>|==|!=) ")
FLIP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def comparison(text: str, start: int, end: int) -> re.Match | None:
    """The one comparison of a clause, outside its brackets."""
    found, depth = [], 0
    for i in range(start, end):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        match = COMPARE.match(text, i, end) if depth == 0 else None
        if match:
            found.append(match)
    return found[0] if len(found) == 1 else None


@functools.lru_cache(maxsize=128)
def candidates(file: str, source: str) -> list[Mutant]:
    """What the rules make of one header."""
    (text, blocks), said = blocks_of(source), without_comments(source)
    inside: list[tuple[int, int, str]] = [(a, b, name) for a, b, name, _ in blocks if name]
    found: list[Mutant] = []
    times: dict[tuple, int] = {}

    def function_at(at: int) -> str:
        return next((name for a, b, name in reversed([x for x in inside if x[0] < at < x[1]])), "")

    def add(start: int, end: int, form: str, rule: str, put: str = "") -> None:
        function = function_at(start)
        if not function or (file, function.split("::")[0]) in SYSTEM:
            return
        code = " ".join(said[start:end].split())
        of = (function, code, form, rule, put)
        times[of] = times.get(of, 0) + 1
        if times[of] > 1:
            code += f" #{times[of]}"
        found.append(Mutant(file, start, end, form, rule, function, code, put, text.count("\n", 0, start) + 1))

    all_statements = [s for s in statements(text) if function_at(s.start)]
    previous: Statement | None = None
    for s in all_statements:
        body = text[s.start : s.end]
        flat = " ".join(said[s.start : s.end].split())
        if re.match(r"(constexpr|static_assert|static constexpr|using)\b", flat):
            previous = None
            continue
        plain = is_expression(flat[:-1]) and not EFFECTLESS.search(flat)
        if plain or (s.guarded and s.guard != "else" and re.match(r"(return|break|continue)\b", flat) and "constexpr" not in s.guard):
            add(s.start, s.end, "statement", "dropped")
        if plain and previous and previous.block == s.block and not s.guarded and \
                not text[previous.end : s.start].strip() and not previous.guarded:
            first, second = (" ".join(said[a:b].split()) for a, b in ((previous.start, previous.end), (s.start, s.end)))
            if first != second:
                add(previous.start, s.end, "statement", "swapped", f"{second} {first}")
        previous = s if plain else None
        for old, new in (("++", "--"), ("--", "++"), (" += ", " -= "), (" -= ", " += ")):
            if plain and (flat.startswith(old) if old in ("++", "--") else without_brackets(flat).count(old) == 1):
                add(s.start, s.end, "statement", "turned round", flat.replace(old, new, 1))
        for old, new in (("notify_all", "notify_one"), ("wake_all(", "wake_one("), ("push_back(", "push_front("),
                         ("push_front(", "push_back(")):
            if plain and re.search(rf"\b{re.escape(old)}", flat) and \
                    (old[:5] != "push_" or re.search(r"\b(lone_|private_|batch|queue_|list|reversed)\." + re.escape(old), flat)):
                add(s.start, s.end, "statement", "another call", flat.replace(old, new, 1))
        match = re.match(r"(?:return|(?:const )?bool \w+ =)\s+", body)
        if match and re.search(r" (&&|\|\|) ", body):
            clauses(text, said, s.start + match.end(), s.end - 1, add)
    for match in re.finditer(r"\b(if|while)\s*(\()", text):
        if not function_at(match.start()):
            continue
        start, end = match.end(2), inventory.closing(text, match.start(2))
        if ";" in text[start:end] or re.search(r"[\w>*&] [*&]?\w+ = ", text[start:end]):
            continue    # it declares a name
        if re.match(r"\s*[Ss]ync::reach\b", text[end + 1 : end + 80]) and match[1] == "if":
            continue    # it only tells an engine
        add(start, end, "condition", "negated")
        clauses(text, said, start, end, add)
    numbers(text, {block[0] for block in blocks}, function_at, add)
    return found


def clauses(text: str, said: str, start: int, end: int, add) -> None:
    """Clauses that are left out of a condition, and comparisons with the wrong edge."""
    parts = operands(text, start, end)
    for a, b, joined in parts:
        if joined:
            add(a, b, "either" if joined == "&&" else "neither", "clause dropped")
        match = comparison(text, a, b)
        if match and (match[1] not in ("==", "!=") or joined):
            flipped = f"{said[a : match.start()]} {FLIP[match[1]]} {said[match.end() : b]}"
            add(a, b, "expression", "another comparison", " ".join(flipped.split()))


def numbers(text: str, blocks: set[int], function_at, add) -> None:
    """Constants that are one off, and truth values that are the other one."""
    stack: list[int] = []
    enclosing: dict[int, str] = {}
    for i, c in enumerate(text):
        if c in "([{":
            block = c == "{" and (i in blocks or re.search(r"(\)|else|do|try|const|noexcept|mutable|\S->\s*\S+)\s*$", text[max(0, i - 60) : i])
                                  is not None)
            stack.append("B" if block else c)
        elif c in ")]}" and stack:
            stack.pop()
        enclosing[i] = stack[-1] if stack else ""
    for match in re.finditer(r"(?<![\w.'<])(\d+)([uUlL]*)(?![\w.'>])|\b(true|false)\b", text):
        at = match.start()
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if not function_at(at) or enclosing[at] == "{" or re.search(r"constexpr|static_assert|\bcase\b|template|alignas|std::array<|__builtin_prefetch|\[\[", line):
            continue
        if match[3]:
            if not re.search(r"operator|= default|noexcept\($", line):
                add(at, match.end(), "expression", "the other truth value", "false" if match[3] == "true" else "true")
            continue
        if re.search(r"(%|>>|<<|\b2 \*)\s*$", line) and match[1] == "64":
            continue
        value, suffix = int(match[1]), match[2]
        add(at, match.end(), "expression", "one more", f"{value + 1}{suffix}")
        if value > 0:
            add(at, match.end(), "expression", "one less", f"{value - 1}{suffix}")


def without_comments(source: str) -> str:
    """The source with comments as blanks, every character at its place."""
    pattern = r'("(?:\\.|[^"\\\n])*"|(?<![\w\'])\'(?:\\.|[^\'\\\n])+\')|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda m: m[1] or re.sub(r"[^\n]", " ", m[0]), source, flags=re.DOTALL)


# ---------------------------------------------------------------------------------------------------- the written ones


def written(root: Path | None = None, path: Path | None = None) -> list[Mutant]:
    """Those of the data file, each at the one place that its anchor names."""
    root, path = root or repo.ROOT, path or WRITTEN
    found = []
    for row in tomllib.loads(path.read_text()).get("mutant", []):
        missing = {"file", "at", "put", "kind", "reason"} - set(row)
        if missing:
            raise Fault(f"{path.name}: {row}", f"{', '.join(sorted(missing))} is missing", "every written mutant has all of them")
        file = "impl/apiary/" + row["file"]
        source = (root / file).read_text()
        text, blocks = blocks_of(source)
        pattern = r"\s+".join(re.escape(word) for word in row["at"].split())
        places = list(re.finditer(pattern, source))
        nth = int(row.get("nth", 1))
        if not places or (len(places) > 1 and "nth" not in row) or nth > len(places):
            raise Fault(f"{path.name}: {file} has {len(places)} places {row['at']!r}", "an anchor names one place",
                        "a longer anchor, or nth = …")
        place = places[nth - 1]
        statement = row["at"].rstrip().endswith((";", "}"))
        inside = [b for b in blocks if b[0] < place.start() < b[1] and b[2]]
        code = " ".join(row["at"].split()) + (f" #{nth}" if nth > 1 else "")
        found.append(Mutant(file, place.start(), place.end(), "statement" if statement else "expression", row["kind"],
                            inside[-1][2] if inside else "", code, " ".join(row["put"].split()),
                            text.count("\n", 0, place.start()) + 1, row["reason"]))
    return found


# ----------------------------------------------------------------------------------------------------- the catalogue


def crosses(one: Mutant, other: Mutant) -> bool:
    """They overlap, and neither lies inside the other."""
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


def draw(found: list[Mutant], taken: list[Mutant], seed: int, share: float, least: int) -> list[Mutant]:
    """A share of a header's candidates. What is drawn does not change when another function does."""
    def lot(m: Mutant) -> str:
        file = next((m.file.replace(now, then, 1) for now, then in MOVED.items() if m.file.startswith(now)), m.file)
        return hashlib.sha256(repr((seed, (file, *m.key[1:]))).encode()).hexdigest()

    wanted = max(least, round(share * len(found)))
    drawn: list[Mutant] = []
    known = {m.key for m in taken}
    for m in sorted(found, key=lot):
        if len(drawn) >= wanted:
            break
        if m.key not in known and not any(crosses(m, other) for other in taken + drawn):
            drawn.append(m)
            known.add(m.key)
    return drawn


def left_out(path: Path | None = None) -> dict[tuple[str, str, str, str], str]:
    """Candidates that change nothing, with the proof of it: rows `equivalent` of the data file."""
    rows = tomllib.loads((path or WRITTEN).read_text()).get("equivalent", [])
    for row in rows:
        if set(row) != {"file", "function", "code", "change", "proof"} or not row["proof"].strip():
            raise Fault(f"{WRITTEN.name}: {row}", "what is left out as equivalent needs its place and its proof", "")
    return {("impl/apiary/" + r["file"], r["function"], r["code"], r["change"]): r["proof"] for r in rows}


def idle_exclusions(root: Path | None = None) -> list[tuple[str, str, str, str]]:
    """Rows `equivalent` of what no rule makes any more."""
    root = root or repo.ROOT
    made = {m.key for path in headers(root) for m in candidates(str(path.relative_to(root)), path.read_text())}
    return [key for key in left_out() if key not in made]


def catalogue(root: Path | None = None, seed: int = SEED, share: float = SHARE, least: int = LEAST) -> list[Mutant]:
    """All mutants, in the order of the files and their lines; a mutant's number is its place in this list."""
    root = root or repo.ROOT
    by_hand, skipped, all_of = written(root), left_out(), []
    for path in headers(root):
        file = str(path.relative_to(root))
        own = [m for m in by_hand if m.file == file]
        for i, one in enumerate(own):
            for other in own[i + 1 :]:
                if crosses(one, other):
                    raise Fault(f"{WRITTEN.name}: {one.code!r} and {other.code!r} overlap", "one must lie inside the other", "")
        found = [m for m in candidates(file, path.read_text()) if m.key not in skipped]
        all_of += sorted(own + draw(found, own, seed, share, least), key=lambda m: (m.start, -m.end, m.key))
    return all_of


def rendered(source: str, numbered: list[tuple[int, Mutant]]) -> str:
    """The header with every mutant in it, line for line."""

    def render(start: int, end: int, inner: list[tuple[int, Mutant]]) -> str:
        out, at = [], start
        rest = sorted(inner, key=lambda pair: (pair[1].start, -pair[1].end, pair[0]))
        while rest:
            number, m = rest.pop(0)
            within = [pair for pair in rest if pair[1].end <= m.end]
            rest = rest[len(within) :]
            out.append(source[at : m.start])
            out.append(asked(m, number, render(m.start, m.end, within)))
            at = m.end
        out.append(source[at:end])
        return "".join(out)

    body = render(0, len(source), numbered)
    first, rest = body.split("\n", 1)
    if not first.startswith("//"):
        raise Fault("a header does not begin with a comment", first, "its first line makes room for an include")
    return f"{PROLOGUE}\n{rest}"


def asked(m: Mutant, number: int, inner: str) -> str:
    """The place, and the question which of the two it is."""
    question = f"apiary_logic({number})"
    if m.form == "statement":
        return f"{{ if ({question}) {{ {m.put} }} else {{ {inner} }} }}"
    if m.form == "condition":
        return f"({question} != static_cast<bool>({inner}))"
    if m.form == "either":
        return f"({question} || ({inner}))"
    if m.form == "neither":
        return f"(!{question} && ({inner}))"
    return f"({question} ? ({m.put}) : ({inner}))"


def write_headers(mutants: list[Mutant], folder: Path, root: Path | None = None) -> None:
    """The mutated copies of all headers of impl/, and what they ask. Only what changed is written."""
    root = root or repo.ROOT
    keep = set()

    def put(path: Path, text: str) -> None:
        keep.add(path)
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    numbered: dict[str, list[tuple[int, Mutant]]] = {}
    for number, m in enumerate(mutants):
        numbered.setdefault(m.file, []).append((number, m))
    for path in sorted((root / "impl").rglob("*.hpp")):
        file = str(path.relative_to(root))
        source = path.read_text()
        put(folder / path.relative_to(root / "impl"), rendered(source, numbered[file]) if file in numbered else source)
    put(folder / "apiary" / "logic_mutant.hpp", SUPPORT % max(len(mutants), 4096))
    for path in list(folder.rglob("*.hpp")):
        if path not in keep:
            path.unlink()
