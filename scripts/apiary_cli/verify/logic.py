"""Logic mutants: what is wrong with a header when a statement is missing, a condition is turned round, a number is one off.

Rules over the headers' text make most of the catalogue; model_check/logic_mutants.toml adds by hand what no rule reaches. All of
them are written into one copy of the headers, each behind a question (`apiary_logic(17) ? mutated : written`), so that everything
is compiled once and the environment variable APIARY_LOGIC_MUTANT says which of them is alive. A run asks a part of them: the hash
of a mutant's key says in which part it lies, so that the parts have them all, each in one.

Left out, by rule, as changing nothing: Sync::reach (counts) and what only guards one, Sync::relax, yields, prefetches, fences (their orders are mutated
by `mutate`), and what a compiler evaluates (constants, static_assert, if constexpr, the bound of an array, a template's argument).
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import itertools
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from ..base import repo
from ..base.errors import Fault
from . import inventory

WRITTEN = repo.ROOT / "model_check" / "logic_mutants.toml"
IMPL = "impl/apiary/"
DRAWS = 6                  # parts, of which a night takes one; nights a day or a week apart come to all
LOT_DIGITS = 12
LEAST_PLACES = 8192        # so that a mutant more compiles nothing else anew
LOTS = 16**LOT_DIGITS
PROLOGUE = "#include <apiary/logic_mutant.hpp>"
SUPPORT = repo.ROOT / "model_check" / "logic_mutant.hpp.in"     # how the mutated text asks


def data(path: Path) -> dict:
    return tomllib.loads(path.read_text())


def no_logic() -> dict[str, str]:
    """Headers without logic, and why."""
    return {IMPL + file: why for file, why in data(WRITTEN).get("no_logic", {}).items()}


@functools.lru_cache(maxsize=1)
def no_logic_in() -> set[tuple[str, str]]:
    """(file, function) of what only asks the system."""
    return {(IMPL + row["file"], row["function"]) for row in data(WRITTEN).get("no_logic_in", [])}


@dataclass(frozen=True)
class Mutant:
    """One change of one place. `form` says how the place can ask whether it is alive."""

    file: str
    start: int
    end: int
    form: str           # statement, expression, condition, either (a clause that counts as true), neither (as false)
    rule: str
    function: str
    code: str           # what stands there, with a number after it where the function has several of the same text
    put: str            # what stands there instead
    line: int
    reason: str = ""    # of a written one: why somebody could make this mistake

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.code, f"{self.rule}: {self.put}" if self.put else self.rule


    @functools.cached_property
    def lot(self) -> int:
        """A number below LOTS that is the mutant's for good: its name alone says it."""
        return int(hashlib.sha256(repr(self.key).encode()).hexdigest()[:LOT_DIGITS], 16)


@dataclass(frozen=True)
class Part:
    """One of `of` parts of about the same size. A mutant that comes or goes moves no other to another part."""

    number: int = 1
    of: int = DRAWS

    def has(self, m: Mutant) -> bool:
        return m.lot * self.of // LOTS == self.number - 1

    def __str__(self) -> str:
        return f"{self.number} of {self.of}"


def draw_of(day: datetime.date) -> Part:
    """The part that the night of this day asks."""
    return Part(day.toordinal() % DRAWS + 1)


@functools.lru_cache(maxsize=1)
def no_effect() -> re.Pattern[str]:
    """What begins a statement that changes nothing of what is promised."""
    return re.compile("|".join([EFFECTLESS, *(r"\b" + re.escape(start) for start in data(WRITTEN).get("no_effect", {}))]))


def headers() -> list[Path]:
    """Those that hold logic, and ship: no helper of a test, no example."""
    left, beside = no_logic(), {"tests", "testing", "examples"}
    return [path for path in sorted((repo.ROOT / "impl").rglob("*.hpp"))
            if str(path.relative_to(repo.ROOT)) not in left and beside.isdisjoint(path.parts)]


# ------------------------------------------------------------------------------------------------------ reading the text

HEAD = re.compile(r"(?:else\b|do\b|(?:if|while|for|switch)\s*\(|if\s+constexpr\s*\(|\[\[.*?\]\]|(?:public|private|protected|default)\s*:)")
NO_STATEMENT = re.compile(r"(?:return|break|continue|throw|using|static_assert|struct|class|enum|const|constexpr|auto|goto|static|"
                          r"alignas|typename|template|case|friend|typedef|public|private|protected|namespace|delete|try)\b")
EFFECTLESS = r"[Ss]ync::(reach|relax|fail|yield|prefetch)|\bfence(_light|_heavy)?\s*\("


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


TYPE_HEAD = re.compile(r"\b(?:struct|class|union|enum)\b[^;{}()]*\Z")


def statements(text: str) -> list[Statement]:
    """Every statement that ends with a semicolon and stands in a block."""
    found, stack, begins = [], [(-1, "{")], {-1: 0}
    for i, c in enumerate(text):
        if c in "([{":
            if c == "{" and text[max(0, i - 12) : i].rstrip().endswith("requires"):
                c = "?"
            elif c == "{" and re.match(r"[\w>]", text[i - 1 : i]):
                c = "="     # a value in braces: word{0}.spent() is one statement
            elif c == "{" and TYPE_HEAD.search(text, max(begins.get(stack[-1][0], 0), i - 200), i):
                c = "type"  # const struct guard { … } at_end{…} is one statement
            stack.append((i, c))
            begins[i] = i + 1
        elif c in ")]}":
            opened = stack.pop()[1] if len(stack) > 1 else ""
            if c == "}" and opened not in ("=", "type") and text[i + 1 : i + 2] != "(":     # but of a lambda that is called
                begins[stack[-1][0]] = i + 1
        elif c == ";":
            block, bracket = stack[-1]
            if bracket in ("{", "type"):
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


ASSIGNS = re.compile(r" (?:[-+*/%&|^]|<<|>>)?= ")


def operands(text: str, said: str, start: int, end: int) -> list[tuple[int, int, str]]:
    """The clauses of a condition: (from, to, the operator that joins them all), one when nothing joins them. Of `a = b || c` those of
    the value."""
    parts, at, seen = [], start, set()
    for i in inventory.outside(text, start, end):
        if assigns := ASSIGNS.match(text, i, end):
            parts, at, seen = [], assigns.end(), set()
        elif text[i : i + 2] in ("&&", "||") and text[i - 1] == " " == text[i + 2 : i + 3]:
            parts.append((at, i))
            at = i + 2
            seen.add(text[i : i + 2])
        elif text[i : i + 3] == " ? ":
            return []
    if len(seen) > 1:
        return []       # mixed without parentheses
    found = []
    for a, b in [*parts, (at, end)]:
        part = said[a:b]    # in `text` a literal is blank
        found.append((b - len(part.lstrip()), a + len(part.rstrip()), "".join(seen)))
    return found


COMPARE = re.compile(r" (<=|>=|<|>|==|!=) ")
FLIP = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def comparison(text: str, start: int, end: int) -> re.Match | None:
    """The one comparison of a clause, outside its brackets."""
    found = list(filter(None, (COMPARE.match(text, i, end) for i in inventory.outside(text, start, end))))
    return found[0] if len(found) == 1 else None


def one_line(text: str) -> str:
    return " ".join(text.split())


blocks_of = functools.lru_cache(maxsize=512)(inventory.blocks_of)


@functools.lru_cache(maxsize=512)
def candidates(file: str, source: str) -> list[Mutant]:
    """What the rules make of one header."""
    (text, blocks), said = blocks_of(source), without_comments(source)
    found: list[Mutant] = []
    times: Counter = Counter()

    def function_at(at: int) -> str:
        return inventory.function_at(blocks, at)

    def add(start: int, end: int, form: str, rule: str, put: str = "") -> None:
        function = function_at(start)
        if not function or (file, function.split("::")[0]) in no_logic_in():
            return
        code = one_line(said[start:end])
        of = (function, code, rule, put)
        times[of] += 1
        code += f" #{times[of]}" if times[of] > 1 else ""
        found.append(Mutant(file, start, end, form, rule, function, code, put, text.count("\n", 0, start) + 1))

    previous: Statement | None = None
    for s in (s for s in statements(text) if function_at(s.start)):
        flat = one_line(said[s.start : s.end])
        if re.match(r"(constexpr|static_assert|static constexpr|using)\b", flat):
            previous = None
            continue
        plain = is_expression(flat[:-1]) and not no_effect().search(flat)
        if plain or (s.guarded and s.guard != "else" and re.match(r"(return|break|continue)\b", flat) and "constexpr" not in s.guard):
            add(s.start, s.end, "statement", "dropped")
        if plain and previous and previous.block == s.block and not s.guarded and \
                not text[previous.end : s.start].strip() and not previous.guarded:
            first = one_line(said[previous.start : previous.end])
            if first != flat and not independent(first, flat):
                add(previous.start, s.end, "statement", "swapped", f"{flat} {first}")
        previous = s if plain else None
        for old, new in (("++", "--"), ("--", "++"), (" += ", " -= "), (" -= ", " += ")):
            if plain and not (old == " += " and appends(text, flat)) and (flat.startswith(old) if old in ("++", "--") else without_brackets(flat).count(old) == 1):
                add(s.start, s.end, "statement", "turned round", flat.replace(old, new, 1))
        for old, new in (("notify_all", "notify_one"), ("_.wake_all(", "_.wake_one("), ("push_front(", "push_back("),
                         ("push_back(", "push_front(")):
            # A list whose front nobody pushes to may have none, as a vector has.
            pushed = re.search(r"(\w+(?:\.|->))push_back\(", flat) if old == "push_back(" else None
            if plain and re.search(rf"\b{re.escape(old)}", flat) and \
                    (old != "push_back(" or pushed and re.search(rf"\b{re.escape(pushed[1])}push_front\(", text)):
                add(s.start, s.end, "statement", "another call", flat.replace(old, new, 1))
        body = text[s.start : s.end]
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


def appends(text: str, flat: str) -> bool:
    """It adds to a string, from which nothing can be subtracted."""
    to, added = flat.split(" += ", 1) if " += " in flat else ("", "")
    return bool(re.search(r"[\"']", added) or re.search(rf"\bstd::string&? {re.escape(to.strip())}\b", text))


PLACE = r"\w+(?:\[[\w +-]+\])?(?:(?:\.|->)\w+(?:\[[\w +-]+\])?)*"
READ = r"\.(?:read|get)\(\)|\.load\(std::memory_order_relaxed\)|\bstatic_cast<[\w:]+>|\bstd::(?:min|max)\b"    # calls that write nothing
VALUE = r"(?:(?!\+\+|--)[^()=*,;])+"
WRITES = re.compile(rf"(?P<chain>{PLACE}(?: = {PLACE})*) [-+|]?= {VALUE}|(?:\+\+|--)(?P<by_one>{PLACE})"
                    rf"|(?P<cell>{PLACE})\.(?:write\({VALUE}\)|store\({VALUE}, std::memory_order_relaxed\))")


def written_by(statement: str) -> set[str] | None:
    """The names of what it writes; None where it does anything beside plain writes, writes of cells and relaxed stores."""
    text, found, at = re.sub(rf"({READ})(\([^()]*\))?", lambda m: re.sub(r"[(),]", " ", m[0]), statement), set(), 0
    while match := WRITES.match(text, at):
        places = (match["chain"] or match["by_one"] or match["cell"]).split(" = ")
        found |= {re.findall(r"\w+", re.sub(r"\[.*?\]", "", place))[-1] for place in places}
        at = match.end()
        if text[at:] == ";":
            return found
        if not text.startswith(", ", at):
            return None
        at += 2
    return None


def independent(one: str, other: str) -> bool:
    """Two statements of such writes, of which neither names what the other writes, nor both load one atomic: the memory model lets
    neighbours of that kind come in either order. That a class has an assignment or a subscript of its own is not seen in the text."""
    first, second = written_by(one), written_by(other)
    names, loads = ([set(re.findall(of, text)) for text in (one, other)] for of in (r"\w+", r"(\w+)\.(?:load|get)\("))
    return bool(first and second) and not (first & names[1] or second & names[0] or loads[0] & loads[1])


def clauses(text: str, said: str, start: int, end: int, add) -> None:
    """Clauses that are left out of a condition, and comparisons with the wrong edge."""
    for a, b, joined in operands(text, said, start, end):
        if joined:
            add(a, b, "either" if joined == "&&" else "neither", "clause dropped")
        match = comparison(text, a, b)
        if match and (match[1] not in ("==", "!=") or joined):
            flipped = f"{said[a : match.start()]} {FLIP[match[1]]} {said[match.end() : b]}"
            add(a, b, "expression", "another comparison", one_line(flipped))


BLOCK_HEAD = re.compile(r"(\)|else|do|try|const|noexcept|mutable|\S->\s*\S+)\s*$")
NO_NUMBER = re.compile(r"constexpr|static_assert|\bcase\b|template|alignas|std::array<|__builtin_prefetch|__builtin_frame_address|\[\[")
BOUND = re.compile(r"\s*(?!return|throw|case|else|delete|co_)(?:const )?[\w:<>]+[*& ]+\w+\[$")      # of an array that is declared


def numbers(text: str, blocks: set[int], function_at, add) -> None:
    """Constants that are one off, and truth values that are the other one; none in the braces of an initialiser, nor an argument of
    a template, which no run can choose."""
    stack, enclosing = [""], []
    for i, c in enumerate(text):
        if c in "([{":
            block = c == "{" and (i in blocks or BLOCK_HEAD.search(text[max(0, i - 60) : i]))
            stack.append("B" if block else c)
        elif c in ")]}" and stack[1:]:
            stack.pop()
        enclosing.append(stack[-1])
    for match in re.finditer(r"(?<![\w.'<])(\d+)([uUlL]*)(?![\w.'>])|(?<!<)\b(true|false)\b(?!>)", text):
        at = match.start()
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if not function_at(at) or enclosing[at] == "{" or NO_NUMBER.search(line):
            continue
        if text[at - 1] + text[match.end()] == "<>" or text[match.end()] == "]" and BOUND.match(line):
            continue    # the compiler evaluates it, and asks for no mutant
        if match[3]:
            if not re.search(r"operator|= default|noexcept\($", line):
                add(at, match.end(), "expression", "the other truth value", "false" if match[3] == "true" else "true")
        elif not (match[1] == "64" and re.search(r"(%|>>|<<|\b2 \*)\s*$", line)):
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
    for row in data(path).get("mutant", []):
        missing = {"file", "at", "put", "kind", "reason"} - set(row)
        if missing:
            raise Fault(f"{path.name}: {row}", f"{', '.join(sorted(missing))} is missing", "every written mutant has all of them")
        file, at, nth = IMPL + row["file"], row["at"], int(row.get("nth", 1))
        source = (root / file).read_text()
        text, blocks = blocks_of(source)
        places = list(re.finditer(r"\s+".join(map(re.escape, at.split())), source))
        if not places or (len(places) > 1 and "nth" not in row) or nth > len(places):
            raise Fault(f"{path.name}: {file} has {len(places)} places {at!r}", "an anchor names one place", "a longer anchor, or nth = …")
        start, end = places[nth - 1].span()
        form = "statement" if at.rstrip().endswith((";", "}")) else "expression"
        function = inventory.function_at(blocks, start)
        code = one_line(at) + (f" #{nth}" if nth > 1 else "")
        line = text.count("\n", 0, start) + 1
        found.append(Mutant(file, start, end, form, row["kind"], function, code, one_line(row["put"]), line, row["reason"]))
    return found


# ----------------------------------------------------------------------------------------------------- the catalogue


def crosses(one: Mutant, other: Mutant) -> bool:
    """They overlap, and neither lies inside the other."""
    return one.start < other.start < one.end < other.end or other.start < one.start < other.end < one.end


def left_out(path: Path | None = None) -> dict[tuple[str, str, str, str], str]:
    """Candidates that change nothing, with the proof of it: rows `equivalent` of the data file."""
    rows = data(path or WRITTEN).get("equivalent", [])
    for row in rows:
        if set(row) != {"file", "function", "code", "change", "proof"} or not row["proof"].strip():
            raise Fault(f"{WRITTEN.name}: {row}", "what is left out as equivalent needs its place and its proof", "")
    return {(IMPL + r["file"], r["function"], r["code"], r["change"]): r["proof"] for r in rows}


def idle_exclusions() -> list[tuple[str, str, str, str]]:
    """Rows `equivalent` of what no rule makes any more."""
    made = {m.key for path in headers() for m in candidates(str(path.relative_to(repo.ROOT)), path.read_text())}
    return [key for key in left_out() if key not in made]


def catalogue() -> list[Mutant]:
    """All mutants, in the order of the files and their lines; a mutant's number is its place in this list."""
    by_hand, skipped, all_of = written(), left_out(), []
    for path in headers():
        file = str(path.relative_to(repo.ROOT))
        own = [m for m in by_hand if m.file == file]
        for one, other in itertools.combinations(own, 2):
            if crosses(one, other):
                raise Fault(f"{WRITTEN.name}: {one.code!r} and {other.code!r} overlap", "one must lie inside the other", "")
        known = skipped.keys() | {m.key for m in own}
        found = [m for m in candidates(file, path.read_text()) if m.key not in known]
        all_of += sorted(own + found, key=lambda m: (m.start, -m.end, m.key))
    return all_of


def widened(source: str, numbered: list[tuple[int, Mutant]]) -> list[tuple[int, Mutant]]:
    """Those that cross (a statement swapped with the one before it, and with the one after it) made to hold all that they
    touch together: of the same place one can lie inside the other."""
    said, done = without_comments(source), sorted(numbered, key=lambda pair: pair[1].start)
    i = 0
    while i < len(done):
        m, met = done[i][1], []
        for j in range(i + 1, len(done)):
            if done[j][1].start >= m.end:
                break
            if crosses(m, done[j][1]):
                met.append(j)
        if not met:
            i += 1
            continue
        start, end = m.start, max(done[j][1].end for j in met)
        for j in (i, *met):
            number, one = done[j]
            if one.form != "statement":
                raise Fault(f"{one.file}:{one.line}: {one.code!r} overlaps another", "one must lie inside the other", "")
            put = one_line(f"{said[start : one.start]} {one.put} {said[one.end : end]}")
            done[j] = number, replace(one, start=start, end=end, put=put)
        done.sort(key=lambda pair: pair[1].start)
        i = 0
    return done


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

    body = render(0, len(source), widened(source, numbered))
    first, rest = body.split("\n", 1)
    if not first.startswith("//"):
        raise Fault("a header does not begin with a comment", first, "its first line makes room for an include")
    return f"{PROLOGUE}\n{rest}"


def asked(m: Mutant, number: int, inner: str) -> str:
    """The place, and the question which of the two it is."""
    question = f"apiary_logic({number})"
    return {
        "statement": f"{{ if ({question}) {{ {m.put} }} else {{ {inner} }} }}",
        "expression": f"({question} ? ({m.put}) : ({inner}))",
        "condition": f"({question} != static_cast<bool>({inner}))",
        "either": f"({question} || ({inner}))",
        "neither": f"(!{question} && ({inner}))",
    }[m.form]


def support(count: int) -> str:
    return SUPPORT.read_text().replace("@COUNT@", str(count))


def write_headers(mutants: list[Mutant], folder: Path) -> None:
    """The mutated copies of all headers of impl/, and what they ask. Only what changed is written."""
    impl, keep, by_file = repo.ROOT / "impl", set(), {}
    for number, m in enumerate(mutants):
        by_file.setdefault(m.file, []).append((number, m))

    def put(path: Path, text: str) -> None:
        keep.add(path)
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    for path in sorted(impl.rglob("*.hpp")):
        own = by_file.get(str(path.relative_to(repo.ROOT)))
        source = path.read_text()
        put(folder / path.relative_to(impl), rendered(source, own) if own else source)
    put(folder / "apiary" / "logic_mutant.hpp", support(max(len(mutants), LEAST_PLACES)))
    for path in list(folder.rglob("*.hpp")):
        if path not in keep:
            path.unlink()
