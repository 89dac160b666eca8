"""bisect: the commit that moved what is exact: instructions, moves between virtual processors, the verdict of a search."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from ..base import commits, json_result, proc, repo
from ..base.errors import Fault, INCORRECT, USAGE, tail, unknown
from ..base.say import colour, duration, heading, say, table
from ..verify import exact
from . import setup

SUMMARY = "find the commit that moved an exact figure: an instruction count, virtual moves, a verdict"
DESCRIPTION = """\
GOOD is a commit before BAD. Halves the commits between them until one is left: the one that moved the figure. Each
commit that is asked is exported and built by itself; this working tree stays as it is. Only exact figures can be asked
for, since there one answer for each commit is enough (for a time there is a race: scripts/apiary compare):

  -- exact PROGRAM OPERATION [COUNT]                 per operation, by callgrind (default COUNT: instructions)
  -- virtual SUBJECT SCENARIO WORKERS [COUNT]        of the virtual machine: moves (the default) or accesses
  -- prove PROGRAM CHECK [verdict|executions|graphs] of the explorer's whole search

for instance  scripts/apiary bisect HEAD~40 HEAD -- exact structures_exact deque_steal

A commit is bad if its figure differs from GOOD's in the same direction as BAD's: more, less, or another word. A commit
that cannot be built or asked is passed over, and is named if it may be the answer. Builds are kept, so that the same
question is answered quickly the next time.

writes:  build/compare/TREE for each commit that is asked; scripts/apiary clean removes them
takes:   for each asked commit, about log2 of their number, the build of one program and its run
exit:    0 one commit is named; 1 one of several, since some could not be asked; 2 names that make no sense, or
         GOOD and BAD have the same figure; 3 GOOD or BAD cannot be asked"""

ANSWERS_WITHIN = 1800.0  # seconds, of one run
Value = float | str


@dataclass(frozen=True)
class Question:
    """What is asked of each commit: a program, and how it answers."""

    preset: str
    program: str
    count: str
    folders: tuple[str, ...]    # sources that decide the answer
    ask: Callable[[Path, Path], Value]

    def word(self, good: Value, now: Value) -> str:
        """How this figure differs from GOOD's."""
        if isinstance(good, str) or isinstance(now, str):
            return "same" if good == now else "other"
        return exact.Change((self.program, "", self.count), good, now).word.lower()


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("good", metavar="GOOD", help="a commit with the figure as it should be")
    parser.add_argument("bad", metavar="BAD", help="a later commit with another figure")
    parser.add_argument("what", nargs="+", metavar="WHAT", help="after --: exact, virtual or prove, and its words")


def answer(words: list, cwd: Path, good: tuple[int, ...] = (0,)) -> proc.Done:
    done = proc.run(words, cwd=cwd, timeout=ANSWERS_WITHIN)
    if done.timed_out or done.rc not in good:
        raise Fault(f"{Path(words[0]).name} {done.how()}", tail(done.err or done.out, 300))
    return done


def named(kind: str, name: str, record: dict) -> Value:
    if name not in record:
        raise Fault(f"{kind} tells no {name}", f"it tells {', '.join(sorted(record))}")
    return record[name]


def of_exact(program: str, operation: str, count: str = "instructions") -> Question:
    def ask(built: Path, _: Path) -> Value:
        found = {figure.count: figure.per_operation for figure in exact.slope(built, operation)}
        return float(named(f"{program} {operation}", count, found))

    return Question("release", program, count, exact.COUNTED_FOLDERS, ask)


def of_virtual(subject: str, scenario: str, workers: str, count: str = "moves") -> Question:
    def ask(built: Path, source: Path) -> Value:
        prices = source / "bench" / "virtual" / "profiles" / "flat.profile"
        done = answer([built, subject, scenario, workers, "--profile", prices], source)
        return float(named(f"{subject} {scenario}", count, repo.parsed(done.out) or {}))

    return Question("release", "apiary_virtual", count, exact.COUNTED_FOLDERS, ask)


def of_prove(program: str, check: str, count: str = "verdict") -> Question:
    def ask(built: Path, source: Path) -> Value:
        with tempfile.TemporaryDirectory(prefix="apiary-bisect-") as folder:
            verdicts = Path(folder) / "verdicts"
            answer([built, check, "--engine", "explorer", "--no-trace", "--json", verdicts], source, (0, INCORRECT))
            try:
                (verdict,) = map(json.loads, verdicts.read_text().splitlines())
            except (OSError, ValueError) as error:
                raise Fault(f"{program} {check} left no verdict", str(error)) from error
        value = named(check, count, verdict)
        return value if isinstance(value, str) else float(value)

    return Question("model", program, count, repo.PROVED_FOLDERS, ask)


ASKED = {"exact": (of_exact, 2, 3), "virtual": (of_virtual, 3, 4), "prove": (of_prove, 2, 3)}


def question(words: list[str]) -> Question:
    kind, *told = words
    if kind not in ASKED:
        raise unknown("question", kind, ASKED)
    make, least, most = ASKED[kind]
    if not least <= len(told) <= most:
        raise Fault(f"{kind} takes {least} or {most} words, and not {len(told)}", "", "scripts/apiary bisect --help", USAGE)
    return make(*told)


def commit_of(name: str) -> str:
    if name == commits.WORKING_TREE:
        raise Fault("the working tree is no commit", "", "commit it, or name HEAD", USAGE)
    return commits.resolve(name)[1]


def told(commit: str) -> str:
    """As people name it: a short hash, the subject."""
    return commits.git("log", "-1", "--format=%h %s", commit)


def between(good: list[str], bad: str) -> list[str]:
    """What may have moved it, BAD among it; first the commit that halves the others best."""
    found = commits.git("rev-list", "--bisect-all", bad, *(f"^{one}" for one in good))
    return [line.split()[0] for line in found.splitlines()]


class Asking:
    """Asks commits, each source once."""

    def __init__(self, asked: Question):
        self.asked, self.known, self.rows = asked, {}, []

    def figure(self, commit: str) -> Value:
        tree = commits.export(commit)
        source = repo.source_hash(*self.asked.folders, root=tree.source)
        if source not in self.known:
            self.known[source] = self.asked.ask(commits.build(tree, self.asked.program, self.asked.preset), tree.source)
        return self.known[source]

    def tell(self, commit: str, value: Value | None, word: str) -> None:
        shown = "" if value is None else value if isinstance(value, str) else f"{value:.4f}"
        self.rows.append({"commit": commit, "figure": value, "word": word})
        say(f"{word:9} {shown:>12}  {told(commit)}")


def halved(asking: Asking, good: str, bad: str) -> tuple[list[str], dict[str, str]]:
    """The commits of which one moved it (one, where all could be asked), and why others were passed over."""
    at_first, at_last = asking.figure(good), asking.figure(bad)
    wrong = asking.asked.word(at_first, at_last)
    asking.tell(good, at_first, "good")
    if wrong == "same":
        raise Fault(f"GOOD and BAD have the same {asking.asked.count}: {at_first}", "nothing moved it between them, or it came back",
                    "name another GOOD or BAD, or ask something else", USAGE)
    asking.tell(bad, at_last, f"bad: {wrong}")
    goods, passed = [good], {}
    while True:
        left = between(goods, bad)
        next_ = next((one for one in left if one != bad and one not in passed), None)
        if next_ is None:
            return [bad, *(one for one in left if one != bad)], passed
        try:
            value = asking.figure(next_)
        except Fault as fault:
            passed[next_] = fault.seen
            asking.tell(next_, None, "passed")
            continue
        word = asking.asked.word(at_first, value)
        if word == wrong:
            bad = next_
        else:
            goods.append(next_)
        asking.tell(next_, value, f"bad: {word}" if word == wrong else "good" if word == "same" else f"good: {word}")


def run(args: argparse.Namespace) -> int:
    started, asked = time.monotonic(), question(args.what)
    good, bad = commit_of(args.good), commit_of(args.bad)
    if good == bad or repo.git("merge-base", "--is-ancestor", good, bad) is None:
        raise Fault(f"{args.good} is no commit before {args.bad}", "between them nothing can be halved",
                    f"git merge-base {args.good} {args.bad}   may be GOOD", USAGE)
    setup.ensure(quiet=True)
    asking = Asking(asked)
    say(f"{len(between([good], bad))} commits, of which one moved {asked.count}")
    found, passed = halved(asking, good, bad)
    heading(f"{' '.join(args.what)}: moved by {'this commit' if len(found) == 1 else f'one of {len(found)} commits'}")
    say(*(colour(told(one), "red") for one in found[:1]), *(f"{told(one)}   ({passed[one]})" for one in found[1:]))
    files = commits.git("show", "--format=", "--numstat", "--first-parent", found[0])
    say(table(["lines added:n", "removed:n", "file"], [line.split("\t") for line in files.splitlines()]) if files else "it changes no file",
        f"took {duration(time.monotonic() - started)}")
    json_result.note(found=found, passed=passed, asked=asking.rows, count=asked.count)
    return 0 if len(found) == 1 else INCORRECT
