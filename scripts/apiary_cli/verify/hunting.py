"""Programs linked with the hunt's runtime (model_check/hunt): what they are, how they are asked, and what they answered."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator, Sequence

from ..base import proc
from ..base.errors import Fault, HARNESS, USAGE
from ..base.say import table

SEED = re.compile(r"([0-9]+)(?::([0-9]+(?:/[a-z0-9.,]*)?):([0-9a-f]{8}))?")
SHOWN_ROWS, COLUMNS = 24, 4
ORDERS = ("relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst")
FIELDS = ("seed", "length", "kind", "status", "steps", "switches", "stale", "early", "threads", "hash", "strategy", "run", "seconds", "base")
REACH = ("pairs", "sites", "by_two", "met", "waits", "waited", "freed", "used_again")
SUMMARY = ("runs", "seconds", "steps", "stale", "cuts", "failed", "accesses")


@dataclass(frozen=True)
class Seed:
    """Where a hunt begins; with a length and a build: the one run to replay."""

    first: int
    length: str = "0"  # of the runs before; after a stroke, the decisions of the one to replay
    build: str = ""

    @property
    def replays(self) -> bool:
        return bool(self.build)


@dataclass
class Found:
    """What one process of a hunt wrote: the run that failed, if any, and what all runs came to."""

    run: dict = field(default_factory=dict)
    needs: str = ""
    text: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    rows: list[dict] = field(default_factory=list)
    summary: dict = field(default_factory=dict)
    sites: list[dict] = field(default_factory=list)  # these three where it was asked for what was reached
    reach: dict = field(default_factory=dict)
    knobs: list[str] = field(default_factory=list)


def parse_seed(text: str) -> Seed | None:
    found = SEED.fullmatch(text)
    return Seed(int(found[1]), found[2] or "0", found[3] or "") if found and int(found[1]) < 2**62 else None


def build_of(program: Path) -> str:
    """A seed is of one build: another compiles to other operations."""
    return hashlib.sha256(program.read_bytes()).hexdigest()[:8]


def must_be_linked(name: str) -> Path:
    path = Path(shutil.which(name) or name)
    if not path.is_file():
        raise Fault(f"there is no program {name}", "", "scripts/apiary hunt -- PROGRAM ARGUMENTS", USAGE)
    content = path.read_bytes()
    if b"libtsan.so" in content:
        raise Fault(f"{name} is linked with ThreadSanitizer as well", "it needs libtsan.so, whose entry points come before the hunt's",
                    "compile with -fsanitize=thread, but link without it (model_check/hunt/README.md)", USAGE)
    if b"apiary_hunt_runtime" not in content:
        raise Fault(f"{name} is not linked with the hunt's runtime", "", "CMake: apiary_hunt(TARGET); by hand: model_check/hunt/README.md",
                    USAGE)
    return path


def uninstrumented(program: Path) -> list[str]:
    """The program's own sources that were compiled without -fsanitize=thread, as their debugging information tells."""
    if not shutil.which("readelf"):
        return []
    done = proc.run(["readelf", "--debug-dump=info", "--dwarf-depth=1", program], timeout=120)
    names, name, producer, by_clang = [], "", "", False
    for line in [*done.out.splitlines(), "DW_TAG_compile_unit"]:
        if "DW_TAG_compile_unit" in line:
            instrumented = "-fsanitize=thread" in producer
            by_clang |= instrumented and "clang" in producer
            if name and ("C++" in producer or "clang" in producer) and not instrumented and "/hunt/runtime/" not in f"/{name}":
                names.append((name, producer))
            name = producer = ""
        elif "DW_AT_producer" in line:
            producer = line
        elif "DW_AT_name" in line and not name:
            name = line.rpartition(": ")[2].strip()
    # clang++ writes down its options by -grecord-command-line alone: without any, nothing is known.
    return [name for name, producer in names if by_clang or "clang" not in producer]


# Instructions that no compiler emits for instrumented code, where each atomic and each fence is a call; between registers it is a copy.
UNSEEN = re.compile(r"^ *([0-9a-f]+):\s+((?:lock|xchg[bwlq]?|cmpxchg\w*|xadd[bwlq]?|[lms]fence|xbegin)\b.*)", re.MULTILINE)
COPY = re.compile(r"xchg[bwlq]? +%[a-z0-9]+,%[a-z0-9]+ *$")


def assembly(program: Path) -> list[str]:
    """Places in the program's own sources with a locked instruction or a fence that is no call: assembly, an intrinsic, or a function
    without instrumentation."""
    if not shutil.which("objdump"):
        return []
    done = proc.run(["objdump", "-d", "--no-show-raw-insn", program], timeout=300)
    found = {int(address, 16): words for address, words in UNSEEN.findall(done.out) if not COPY.match(words)}
    places = Places(program, 0)
    places.learn(set(found))
    at = {address: places.where(address) for address in found}
    return list(dict.fromkeys(f"{os.path.basename(where[0])}:{where[1]} ({' '.join(found[address].split('#')[0].split())})"
                              for address, where in at.items() if where and "/hunt/runtime/" not in f"/{where[0]}"))


def read(text: str) -> Found:
    """What a process told. A line that says nothing is left out: the program may have been ended as it was written."""
    found = Found()
    for line in text.splitlines():
        kind, *rest = line.split("\t")
        if not rest or kind == "reach" and not all(one.isascii() and one.isdigit() for one in rest):
            continue
        if kind == "run":
            found.run = dict(zip(FIELDS, rest))
        elif kind == "needs":
            found.needs = rest[0]
        elif kind == "text":
            found.text.append("\t".join(rest))
        elif kind == "output":
            found.output.append("\t".join(rest))
        elif kind == "row":
            found.rows.append(dict(zip(("step", "thread", "operation", "address", "place", "order", "value", "note"), rest)))
        elif kind == "summary":
            found.summary = dict(zip(SUMMARY, rest))
        elif kind == "site":
            found.sites.append(dict(zip(("place", "operation", "times", "state", "wait"), rest)))
        elif kind == "reach":
            found.reach = dict(zip(REACH, map(int, rest)))
        elif kind == "knob":
            found.knobs.append(rest[0])
    return found


def found_by(done: proc.Done, out: Path) -> Found:
    """What a process told; a fault where it ended before its hunt did: it was refused, or could not start."""
    found = read(out.read_text(errors="replace") if out.exists() else "")
    if not found.summary:
        raise Fault(f"{Path(done.argv[0]).name} {done.how()} before its hunt was over", done.err or done.out,
                    "run it by itself: without a hunt it runs once", USAGE if done.rc == 2 else HARNESS)
    return found


Frame = tuple[str, str]  # a function, and FILE:LINE


def frames(program: Path, addresses: Sequence[int]) -> Iterator[tuple[int, list[Frame]]]:
    """By addr2line, for each address of the program what is there: the innermost of what was inlined first."""
    if not addresses or not shutil.which("addr2line"):
        return  # a hunt then names no places; what cannot do without them asks must_have_places() before
    with tempfile.NamedTemporaryFile("w") as asked:  # as many as a command line does not hold
        asked.write("".join(f"{address:x}\n" for address in addresses))
        asked.flush()
        told = proc.run(["sh", "-c", 'addr2line -Cfipae "$0" < "$1"', program, asked.name], timeout=300).out
    for address, part in zip(addresses, re.split(r"^0x[0-9a-f]+: ", told, flags=re.MULTILINE)[1:]):
        lines = (re.sub(r" \(discriminator.*", "", line.removeprefix(" (inlined by) ")).rpartition(" at ") for line in part.splitlines())
        yield address, [(function, place) for function, _, place in lines if not place.startswith("?")]


def must_have_places() -> None:
    if lacking := [tool for tool in ("objdump", "addr2line") if not shutil.which(tool)]:
        raise Fault(f"{' and '.join(lacking)} not found", "without it no address has a line of the source", "apt-get install binutils", HARNESS)


class Places:
    """Places in the program: each is asked for once."""

    def __init__(self, program: Path, base: int):
        with program.open("rb") as binary:
            moved = binary.read(18)[16] == 3  # ET_DYN: linked at 0
        self.program, self.offset, self.known = program, base if moved else 0, {}

    def learn(self, addresses: set[int]) -> None:
        wanted = sorted(addresses - self.known.keys())
        for address, found in frames(self.program, [one - self.offset for one in wanted]):
            if found:  # the innermost that is no header of the system's
                function, place = next((frame for frame in found if not frame[1].startswith("/usr/")), found[0])
                self.known[address + self.offset] = (place, re.sub(r"\(.*", "", function)[:80] or "?")

    def short(self, address: int) -> str:
        return os.path.basename(self.known.get(address, ("(library)", ""))[0])

    def where(self, address: int) -> tuple[str, int] | None:
        """The file and the line."""
        path, _, line = self.known.get(address, ("", ""))[0].rpartition(":")
        return (path, int(line)) if path and line.isdigit() else None

    def told(self, line: str) -> str:
        found = re.fullmatch(r"( +(?:at|by)) 0x([0-9a-f]+)", line)
        if not found:
            return line
        place, function = self.known.get(int(found[2], 16), ("(library)", f"0x{found[2]}"))
        return f"{found[1]} {os.path.basename(place)}  {function}"


def cell_of(row: dict, places: Places) -> str:
    order = int(row["order"])
    words = [row["operation"]]
    if row["address"] != "0":
        words.append(f"…{row['address'][-5:]}")
    if order >= 0:
        words.append(f"{'= ' if row['operation'] != 'fence' else ''}{int(row['value'], 16) if row['operation'] != 'fence' else ''}".strip())
        words.append(ORDERS[order])
    if row["note"]:
        words.append(f"({row['note']})")
    return " ".join(filter(None, [*words, places.short(int(row["place"], 16))]))


def of_the_program(rows: list[dict], places: Places) -> list[dict]:
    """Without what a library does for itself, such as a test framework's locks and counts around its report; its headers may have been
    compiled into the program."""
    def file(row: dict) -> str:
        return places.known.get(int(row["place"], 16), ("",))[0]

    own = [row for row in rows if file(row) and not file(row).startswith("/usr/")]
    seen = {file(row) for row in own or rows} - {""}
    return [row for row in rows if file(row) in seen or row["operation"].startswith(("thread", "join"))] or rows


def thread_table(rows: list[dict], places: Places) -> str:
    """The last rows, a column for each thread; of many threads one column names them."""
    last = rows[-SHOWN_ROWS:]
    threads = sorted({int(row["thread"]) for row in last})
    if len(threads) > COLUMNS:
        return table(["step:n", "thread:n", "operation"], [[row["step"], row["thread"], cell_of(row, places)] for row in last])
    cells = [[row["step"], *(cell_of(row, places) if int(row["thread"]) == thread else "" for thread in threads)] for row in last]
    return table(["step:n", *(f"thread {thread}" for thread in threads)], cells)


def places_of(program: Path, found: Found) -> Places:
    places = Places(program, int(found.run["base"], 16))
    places.learn({*told_places(found), *(int(row["place"], 16) for row in found.rows)})
    return places


def told_places(found: Found) -> list[int]:
    """Addresses of code that the text names, in its order."""
    return [int(one, 16) for one in re.findall(r"(?:at|by) 0x([0-9a-f]+)", "\n".join(found.text))]


def where(found: Found, places: Places) -> list[tuple[str, int]]:
    """Files and lines of a failure: what its text names, then its last operations, the latest first; the system's headers last."""
    told = [*told_places(found), *(int(row["place"], 16) for row in reversed(of_the_program(found.rows, places)[-SHOWN_ROWS:]))]
    known = dict.fromkeys(filter(None, map(places.where, told)))
    return sorted(known, key=lambda one: one[0].startswith("/usr/"))


def steps(found: Found, places: Places) -> list[dict]:
    """The last rows, each with its file and line where those are known, for a program to read."""
    return [{"step": int(row["step"]), "thread": int(row["thread"]), "operation": cell_of(row, places),
             **dict(zip(("file", "line"), places.where(int(row["place"], 16)) or (None, None)))}
            for row in of_the_program(found.rows, places)[-SHOWN_ROWS:]]


def report(found: Found, places: Places) -> list[str]:
    """What was found, where, and its last rows."""
    lines = [places.told(line) for line in found.text]
    if found.output:
        lines += ["output, its end:", *(f"  {line}" for line in found.output[-12:])]
    return [*lines, "", thread_table(of_the_program(found.rows, places), places)] if found.rows else lines


def replay_line(program: Path, arguments: Sequence[str], found: Found, strategy: str, leaks: bool = False) -> list[str]:
    seed = f"{found.run['seed']}:{found.run['length']}:{build_of(program)}"
    forced = ([] if strategy == "portfolio" else ["--strategy", strategy]) + ["--leaks"] * leaks
    return ["scripts/apiary", "hunt", "--seed", seed, *forced, "--", str(program), *arguments]


def debugger(program: Path, arguments: Sequence[str], seed: Seed, strategy: str, step: int, leaks: bool = False) -> tuple[list[str], str]:
    """gdb, stopped before the operation of this step of the seed's run; and the runtime's words for it."""
    words = ["gdb", "-q", "-ex", "set startup-with-shell off", "-ex", "break apiary_hunt_stops_here", "-ex", "run", "--args", str(program), *arguments]
    return words, f"first={seed.first};length={seed.length};strategy={strategy};stop={step}" + ";leaks=1" * leaks
