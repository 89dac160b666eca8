"""fuzz: what people and programs hand over, made up by a fuzzer that sees which code it reaches."""

from __future__ import annotations

import argparse
import os
import re
import sys
from datetime import datetime, timezone
from pathlib import Path

from ..base import argument_kinds, json_result, libraries, proc, repo
from ..base.errors import Fault, tail, unknown
from ..base.say import colour, say, table
from ..night.unit import Unit

SUMMARY = "hands made-up plans, histograms, rows, programs and tables to their readers, which must read or refuse them"
DESCRIPTION = """\
Runs Atheris (libFuzzer for Python) on the readers of what others hand over: a plan, a sum in a data file, a subject's
row and histogram, a program's record of sources, tables, verdicts, what a hunted program wrote. A reader may refuse an
input by a fault; any other exception, or a hang, is red, and the input is kept. The first time Atheris is fetched.

writes:  build/fuzz/ (Atheris, the corpora as they grow, what was found); nothing in scripts/fuzz/corpus
takes:   --seconds for each target
exit:    0 nothing was found; 1 something was; 3 Atheris could not be fetched"""

FOLDER, PLACE = repo.ROOT / "scripts" / "fuzz", repo.BUILD / "fuzz"
WHERE = PLACE / f"{sys.version_info[0]}.{sys.version_info[1]}"
REQUIREMENTS = FOLDER / "requirements.txt"
MEMORY_MB, HANG_S = 1024, 20
NIGHT_S = 600.0
DONE = re.compile(r"^#(\d+)\s+DONE\s+cov: (\d+)", re.MULTILINE)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="TARGET", help=f"of {', '.join(targets())} (default: all)")
    parser.add_argument("--seconds", type=argument_kinds.seconds, default=60.0, help="for each target (default 60)")
    parser.add_argument("--seed", type=argument_kinds.seed, default=0, help="of the fuzzer (default: random, in the log)")


def targets() -> list[str]:
    """As targets.py has them; each has a corpus."""
    text = repo.must_read(FOLDER / "targets.py")
    found = re.search(r"for one in \(([\w, ]+)\)\}", text)
    if not found:
        raise Fault("no targets are found in scripts/fuzz/targets.py", "its table TARGETS is written in another way", "mend verbs/fuzz.py")
    return found[1].split(", ")


def of_day(day: int | None = None) -> str:
    """The one of a night."""
    names = targets()
    return names[(datetime.now(timezone.utc).toordinal() if day is None else day) % len(names)]


def there() -> bool:
    return libraries.pinned(WHERE, REQUIREMENTS)


def ready() -> None:
    libraries.beside(WHERE, REQUIREMENTS, "Atheris",
                     "let this machine reach the Python package index once; it has wheels for CPython 3.11 to 3.13 on Linux")


def command(target: str, seconds: float, seed: int) -> list[str]:
    grown, found = PLACE / "corpus" / target, PLACE / "found" / target
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    return [sys.executable, str(FOLDER / "targets.py"), target, f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={found}/",
            f"-rss_limit_mb={MEMORY_MB}", f"-timeout={HANG_S}", *([f"-seed={seed}"] if seed else []), str(grown), str(FOLDER / "corpus" / target)]


def environment() -> dict[str, str]:
    """Atheris, beside the libraries of these scripts."""
    return {"PYTHONPATH": os.pathsep.join([str(WHERE), *filter(None, sys.path)])}


def units(seconds: float = NIGHT_S, day: int | None = None) -> list[Unit]:
    """For a night: the target whose turn it is. It needs this checkout, and Atheris (`ready()`)."""
    target = of_day(day)
    words = (str(repo.ROOT / "scripts" / "apiary"), "fuzz", target, "--seconds", f"{seconds:g}")
    return [Unit("fuzz", target, sys.executable, words, salt=str(day or datetime.now(timezone.utc).date()), tree=True,
                 limit=seconds + 120.0, lasts=seconds, replay=f"scripts/apiary fuzz {target} --seconds {seconds:g}")]


def judged(target: str, done: proc.Done, before: set[Path]) -> dict:
    """Red where an input was kept, and where the fuzzer itself did not end well."""
    kept = sorted(set((PLACE / "found" / target).iterdir()) - before)
    counted = DONE.search(done.err + done.out)
    error = next((line for line in (done.err + done.out).splitlines() if re.match(r"\w*(Error|Exception)\b", line)), "")
    said = f"{error or done.how()}" if not done.ok or kept else ""
    input_ = str(repo.shown(kept[0])) if kept else ""
    return {"target": target, "passed": done.ok and not kept and counted is not None, "runs": int(counted[1]) if counted else 0,
            "reached": int(counted[2]) if counted else 0, "said": said or ("" if counted else "it counted no runs"), "input": input_,
            "replay": f"python3 scripts/fuzz/targets.py {target} {input_}" if kept else ""}


def run(args: argparse.Namespace) -> int:
    known = targets()
    for name in args.names:
        if name not in known:
            raise unknown("target", name, known)
    ready()
    results = []
    for target in args.names or known:
        before = set((PLACE / "found" / target).glob("*"))
        done = proc.run(command(target, args.seconds, args.seed), cwd=repo.ROOT, env=os.environ | environment(), timeout=args.seconds + 120.0)
        result = judged(target, done, before)
        results.append(result)
        if not result["passed"]:
            say(colour(f"{target}: {result['said']}", "red"), tail(done.err, 2500), f"replay: {result['replay']}")
    say(table(["target", "runs:n", "edges:n", "result"], [[r["target"], f"{r['runs']:,}", str(r["reached"]), "ok" if r["passed"] else colour("FOUND", "red")]
                                                          for r in results]))
    red = sum(not r["passed"] for r in results)
    json_result.note(targets=results)
    say(f"{len(results)} targets, {red} with findings")
    return 1 if red else 0
