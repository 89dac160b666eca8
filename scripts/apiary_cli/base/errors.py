"""How apiary fails: what was seen, the cause, the remedy, and an exit code."""

from __future__ import annotations

import difflib
from typing import Iterable

# A batch of a race: incorrect work is 1, whatever its controls say; a regression is 1 where they hold, and 4 where they do not.
INCORRECT, USAGE, HARNESS, INVALID_BATCH = 1, 2, 3, 4
WIDTH = 88
MOST_NAMES, LIKE = 120, 12  # names that a fault lists; of more, so many


class Fault(Exception):
    """An error told to a person. `seen` is a fact; cause and remedy may be empty."""

    def __init__(self, seen: str, cause: str = "", remedy: str = "", code: int = HARNESS):
        super().__init__(seen)
        self.seen, self.cause, self.remedy, self.code = seen, cause, remedy, code

    def text(self) -> str:
        lines = [f"apiary: {self.seen}"]
        for label, body in (("cause:  ", self.cause), ("remedy: ", self.remedy)):
            if body:
                first, *rest = body.splitlines()
                lines.append(f"  {label}{first}")
                lines += [f"          {line}" for line in rest]
        return "\n".join(lines)


def gravest(codes: Iterable[int]) -> int:
    """Of several batches: one that is red makes all red."""
    found = set(codes)
    return next((code for code in (INCORRECT, HARNESS, INVALID_BATCH) if code in found), 0)


class Stopped(BaseException):
    """Ctrl-C or SIGTERM arrived. Not an Exception, so that no handler swallows it."""

    def __init__(self, signum: int):
        super().__init__(f"signal {signum}")
        self.signum = signum


def tail(text: str, limit: int = 300) -> str:
    """The end of a text, begun at a word; what was left out is shown by dots."""
    text = text.strip()
    if len(text) <= limit:
        return text
    kept = text[-limit:]
    if not text[-limit - 1].isspace():
        _, space, rest = kept.partition(next((c for c in kept if c.isspace()), "\0"))
        kept = rest if space and rest.strip() else kept
    return f"… {kept.strip()}"


def columns(names: Iterable[str]) -> str:
    """Names, wrapped to a readable block."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) + 2 > WIDTH:
            lines.append("")
        lines[-1] += ("  " if lines[-1] else "") + name
    return "\n".join(lines)


def unknown(kind: str, seen: str, names: Iterable[str]) -> Fault:
    """An unknown name: what was seen, the nearest one, and the names that exist; of more than a page shows, those like it.
    Exit 2."""
    known = sorted(set(names))
    near = difflib.get_close_matches(seen, known, n=1, cutoff=0.5)
    cause = f"did you mean '{near[0]}'?" if near else ""
    shown = known if len(known) <= MOST_NAMES else sorted(difflib.get_close_matches(seen, known, n=LIKE, cutoff=0.0))
    head = "the names that exist:" if shown is known else f"{len(known)} names exist; the {LIKE} most like it:"
    return Fault(f"there is no {kind} '{seen}'", cause, f"{head}\n{columns(shown) or '(none exist)'}", USAGE)
