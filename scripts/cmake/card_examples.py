"""The examples of header cards, as files that a test includes: card_examples.py OUT DEPFILE TEST FOLDER…

A card is the comment that a header begins with. An example in it is lines that begin with `//` and five blanks, after a line that is
`//` alone; what is no C++ of a user's has three blanks. Each paragraph of one is written to OUT/<folder>/<header>.<n>.inc; `…` in it is
an empty statement. TEST must include every one, so that no example of the FOLDERs is left that nothing compiles.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CODE = "//     "


def examples(text: str) -> list[tuple[int, list[str]]]:
    """Every paragraph of the card's examples, with the line where it begins."""
    found: list[tuple[int, list[str]]] = []
    behind_blank = inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("//"):
            break
        if line.startswith(CODE) and (inside or behind_blank):
            if not inside:
                found.append((number, []))
            found[-1][1].append(line[len(CODE) :])
            inside = True
        else:
            inside = False
        behind_blank = line == "//"
    return found


def written(header: Path, name: str, line: int, code: list[str]) -> str:
    """What the test includes: an error in it is told of the card."""
    return f"// {name}\n#line {line} \"{header}\"\n" + "\n".join(code).replace("…", ";") + "\n"


def main(out: Path, depfile: Path, test: Path, *folders: Path) -> int:
    included = set(re.findall(r'#include "([^"]+\.inc)"', test.read_text(encoding="utf-8")))
    made, read = set(), [test]
    for header in (header for folder in folders for header in sorted(folder.glob("*.hpp"))):
        read += [header.parent, header]
        for n, (line, code) in enumerate(examples(header.read_text(encoding="utf-8")), 1):
            name = f"{header.parent.name}/{header.stem}.{n}.inc"
            made.add(name)
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(written(header, name, line, code), encoding="utf-8")
    wrong = [f"{test}: no test includes the example {name}; write one, with what it needs" for name in sorted(made - included)]
    wrong += [f"{test}: no card has the example {name}" for name in sorted(included - made)]
    if not made:
        wrong.append("no card has an example")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    stamp = depfile.with_suffix("")
    depfile.write_text(f"{stamp}: " + " ".join(str(path).replace(" ", "\\ ") for path in dict.fromkeys(read)) + "\n", encoding="utf-8")
    if not wrong:
        stamp.touch()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
