#!/usr/bin/env python3
"""Compares the machine code of the probes in two object files.

    compare_codegen.py OURS.o REFERENCE.o [--must-differ NAME,NAME…]

Every function `probe_*` must be the same in both, instruction by instruction, after addresses and the
names of local functions and thread_local variables have been normalised; functions that a probe calls are
compared with it. With --must-differ exactly the named probes must differ: that is the test of this test.

Exit status: 0 as demanded; 1 not, with a diff; 2 it could not be found out.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys

HEADER = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
INSTRUCTION = re.compile(r"^\s*(?P<address>[0-9a-f]+):\t(?P<text>.*)$")
RELOCATION = re.compile(r"^\s*[0-9a-f]+: R_(?P<kind>\w+)\t(?P<symbol>\S+)$")
THREAD_LOCAL = re.compile(r"TLS|TPOFF|TPREL")
JUMP = re.compile(r"\b[0-9a-f]+ <(?P<function>[^>+]+)(?:\+0x(?P<offset>[0-9a-f]+))?>")
PADDING = re.compile(r"^(nop|data16|cs nop|xchg\s+%ax,%ax)")


class Unreadable(Exception):
    pass


class Function:
    """Its instructions by address, each with the symbol that the linker would put in, if any."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, str, str]] = []

    def add(self, address: int, text: str) -> None:
        self.lines.append((address, " ".join(re.split("# |//", text)[0].split()), ""))

    def relocate(self, symbol: str) -> None:
        address, text, _ = self.lines[-1]
        self.lines[-1] = (address, text, symbol)

    def code(self) -> list[tuple[int, str, str]]:
        """Without the padding behind the last instruction."""
        end = len(self.lines)
        while end > 0 and PADDING.match(self.lines[end - 1][1]):
            end -= 1
        return self.lines[:end]


def disassemble(path: str) -> dict[str, Function]:
    try:
        done = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], capture_output=True, text=True, check=True)
    except FileNotFoundError as error:
        raise Unreadable("objdump is missing. Remedy: apt-get install binutils") from error
    except subprocess.CalledProcessError as error:
        raise Unreadable(f"objdump {path}: {error.stderr.strip()}") from error
    functions: dict[str, Function] = {}
    current = None
    for line in done.stdout.splitlines():
        if match := HEADER.match(line):
            current = functions.setdefault(match["name"], Function())
        elif match := RELOCATION.match(line):
            current.relocate("(thread_local)" if THREAD_LOCAL.search(match["kind"]) else match["symbol"])
        elif (match := INSTRUCTION.match(line)) and current is not None:
            current.add(int(match["address"], 16), match["text"])
    return functions


def normalised(functions: dict[str, Function], probe: str) -> list[str]:
    """The probe and what it calls in its own file, with labels for addresses and numbers for names."""
    names = {probe: "self"}
    queue, text = [probe], []

    def name_of(symbol: str) -> str:
        base = re.sub(r"[-+]0x[0-9a-f]+$", "", symbol)
        if base not in functions:
            if base.startswith(".text"):
                return "cold part"
            return "constant" if base.startswith(".") else base  # a literal of this file, or somebody else's function
        if base not in names:
            names[base] = f"function_{len(names)}"
            queue.append(base)
        return names[base]

    while queue:
        function = queue.pop(0)
        code = functions[function].code()
        start = code[0][0] if code else 0
        targets = sorted({start + int(jump["offset"] or "0", 16) for _, line, symbol in code if not symbol
                          for jump in JUMP.finditer(line) if jump["function"] == function})
        labels = {address: f"L{number}" for number, address in enumerate(targets)}
        text.append(f"{names[function]}:")
        cold = function + ".cold"  # where the compiler moved what it thinks rare; reached by a jump to its section
        if cold in functions and cold not in names:
            names[cold] = names[function] + ".cold"
            queue.append(cold)
        for address, line, symbol in code:
            if address in labels:
                text.append(f"  {labels[address]}:")
            if symbol:  # the field is still zero: what objdump prints there is an address of no meaning
                line = re.sub(r"\b[0-9a-f]+ <[^>]*>|0x0\(%rip\)", "", line).strip() + f" -> {name_of(symbol)}"
            else:
                line = JUMP.sub(lambda jump, at=start: labels.get(at + int(jump["offset"] or "0", 16), "?")
                                if jump["function"] == function else name_of(jump["function"]), line)
            text.append(f"    {line}")
    return text


def compare(ours_path: str, reference_path: str, must_differ: set[str]) -> int:
    ours, reference = disassemble(ours_path), disassemble(reference_path)
    probes = sorted(name for name in ours if name.startswith("probe_") and "." not in name)
    twins = sorted(name for name in reference if name.startswith("probe_") and "." not in name)
    if not probes or probes != twins:
        raise Unreadable(f"the two files hold different probes: {probes} and {twins}")
    if unknown := must_differ - set(probes):
        raise Unreadable(f"no such probe: {', '.join(sorted(unknown))}; there are: {', '.join(probes)}")

    failures = 0
    for probe in probes:
        mine, theirs = normalised(ours, probe), normalised(reference, probe)
        differs, expected = mine != theirs, probe in must_differ
        if differs == expected:
            continue
        failures += 1
        if expected:
            print(f"{probe}: a stronger memory order gave the same {len(mine)} lines: this test sees nothing")
        else:
            print(f"{probe}: the machine code differs (-: {reference_path}, +: {ours_path})")
            print("\n".join(difflib.unified_diff(theirs, mine, "reference", "ours", lineterm="", n=4)))
    lines = sum(len(normalised(ours, probe)) for probe in probes)
    print(f"{len(probes)} probes, {lines} lines of machine code, {len(must_differ)} meant to differ: "
          f"{failures} not as demanded")
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ours")
    parser.add_argument("reference")
    parser.add_argument("--must-differ", default="", metavar="NAME,NAME")
    words = parser.parse_args()
    try:
        return compare(words.ours, words.reference, set(filter(None, words.must_differ.split(","))))
    except Unreadable as error:
        print(f"compare_codegen: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
