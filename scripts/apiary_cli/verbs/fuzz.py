"""fuzz: what people and programs hand over, made up by a fuzzer that sees which code it reaches."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from ..base import argument_kinds, json_result, libraries, packages, proc, repo
from ..base.errors import Fault, tail, unknown
from ..base.say import colour, say, table
from ..night.unit import Unit

SUMMARY = "feed made-up plans, histograms, rows, programs and tables to their readers, which must read or refuse them"
DESCRIPTION = """\
Runs Atheris (libFuzzer for Python) on the readers of files that others hand over: a plan, a sum in a data file, a
subject's row and histogram, a program's record of sources, tables, verdicts, the output of a hunted program. The
targets that begin with cpp_ are readers in C++, under libFuzzer, AddressSanitizer and UBSan: plans, task graphs,
profiles of the virtual machine, verdicts between processes, replay tokens, parts of a search. A reader may refuse an
input in its own way. Any other exception, a sanitizer's report, or a hang is red, and the input is kept. The first run
fetches Atheris and, for C++, libFuzzer's library; clang is not needed, since g++ instruments the edges.

writes:  build/fuzz/ (the fuzzers, the corpora as they grow, the inputs that were red); nothing in scripts/fuzz/corpus
takes:   --seconds for each target, and a minute to build the readers of C++
exit:    0 nothing was found; 1 something was; 3 a fuzzer could not be fetched, or the readers not be built"""

FOLDER, PLACE = Path(__file__).resolve().parents[2] / "fuzz", repo.BUILD / "fuzz"  # of these scripts, whose readers they are
WHERE = PLACE / f"{sys.version_info[0]}.{sys.version_info[1]}"
REQUIREMENTS = FOLDER / "requirements.txt"
MEMORY_MB, HANG_S = 1024, 20
NIGHT_S = 600.0
DONE = re.compile(r"^#(\d+)\s+DONE\s+(?:cov|ft): (\d+)", re.MULTILINE)  # g++'s edges have no names, so that only features are counted
CPP, READERS = "cpp_", PLACE / "cpp" / "bin" / "readers"
LIBFUZZER, ARCHIVE = "libfuzzer-19-dev", "usr/lib/llvm-19/lib/libFuzzer.a"  # a Debian package, unpacked and not installed: it asks for clang
BUILDS_WITHIN = 900.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="TARGET", help=f"some of {', '.join(targets())} (default: all)")
    parser.add_argument("--seconds", type=argument_kinds.seconds, default=60.0, help="for each target (default 60)")
    parser.add_argument("--seed", type=argument_kinds.seed, default=0, help="the fuzzer's seed (default: random, in the log)")


def targets() -> list[str]:
    """As targets.py and readers.cpp have them; each has a corpus."""
    found = re.search(r"for one in \(([\w, ]+)\)\}", repo.must_read(FOLDER / "targets.py"))
    cpp = re.findall(r'target\{"(\w+)", \w+\}', repo.must_read(FOLDER / "readers.cpp"))
    if not found or not cpp:
        raise Fault("no targets are found in scripts/fuzz", "their table is written in another way", "mend verbs/fuzz.py")
    return [*found[1].split(", "), *(CPP + name for name in cpp)]


def of_day(day: int | None = None) -> str:
    """The one of a night."""
    names = targets()
    return names[(datetime.now(timezone.utc).toordinal() if day is None else day) % len(names)]


def there(target: str) -> bool:
    return READERS.exists() if target.startswith(CPP) else libraries.pinned(WHERE, REQUIREMENTS)


def ready(target: str) -> None:
    """Fetched, and built of this source."""
    if target.startswith(CPP):
        return build_readers()
    libraries.beside(WHERE, REQUIREMENTS, "Atheris",
                     "let this machine reach the Python package index once; it has wheels for CPython 3.11 to 3.13 on Linux")


def libfuzzer() -> Path:
    """That of the system, or one that is unpacked beside the readers."""
    for root in (Path("/"), PLACE / "libfuzzer"):
        if (root / ARCHIVE).exists():
            return root / ARCHIVE
    say(f"fetching {LIBFUZZER}")
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=PLACE) as folder:
        Path(folder).chmod(0o755)   # apt-get fetches as a user of its own
        done = proc.run(["apt-get", "-q", "download", LIBFUZZER], cwd=folder, merge=True)
        got = list(Path(folder).glob("*.deb"))
        if done.ok and got:
            done = proc.run(["dpkg-deb", "-x", got[0], Path(folder) / "made"], merge=True)
        if not (Path(folder) / "made" / ARCHIVE).exists():
            raise Fault(f"{LIBFUZZER} could not be fetched ({done.how()})", tail(done.out, 600),
                        f"sudo apt-get update, or {LIBFUZZER} installed; without it the targets of Python are fuzzed: scripts/apiary fuzz plan")
        shutil.rmtree(PLACE / "libfuzzer", ignore_errors=True)
        (Path(folder) / "made").rename(PLACE / "libfuzzer")
    return PLACE / "libfuzzer" / ARCHIVE


def build_readers() -> None:
    """A project of its own: instrumented, they are in no other build."""
    packages.require("cmake", "ninja", "g++")
    build = PLACE / "cpp"
    with repo.locked("fuzz"):
        words = ["cmake", "-G", "Ninja", "-S", FOLDER, "-B", build, f"-DLIBFUZZER={libfuzzer()}", "-DCMAKE_CXX_COMPILER=g++"]
        for command in (words, ["cmake", "--build", build]):
            done = proc.run(command, cwd=repo.ROOT, merge=True, timeout=BUILDS_WITHIN)
            if not done.ok:
                raise Fault(f"the readers of C++ could not be built ({done.how()})", tail(done.out, 3000), f"cmake --build {repo.shown(build)}")


def command(target: str, seconds: float, seed: int) -> list[str]:
    grown, found = PLACE / "corpus" / target, PLACE / "found" / target
    for folder in (grown, found):
        folder.mkdir(parents=True, exist_ok=True)
    return [*reader(target), f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={found}/",
            f"-rss_limit_mb={MEMORY_MB}", f"-timeout={HANG_S}", *([f"-seed={seed}"] if seed else []), str(grown), str(FOLDER / "corpus" / target)]


def reader(target: str) -> list[str]:
    """What reads inputs of this target."""
    if target.startswith(CPP):
        return [str(READERS), target.removeprefix(CPP)]
    return [sys.executable, str(FOLDER / "targets.py"), target]


def environment() -> dict[str, str]:
    """Atheris, beside the libraries of these scripts."""
    return {"PYTHONPATH": os.pathsep.join([str(WHERE), *filter(None, sys.path)])}


def units(seconds: float = NIGHT_S, day: int | None = None) -> list[Unit]:
    """For a night: the target whose turn it is. It needs this checkout, and its fuzzer (`ready()`)."""
    target = of_day(day)
    words = (str(repo.ROOT / "scripts" / "apiary"), "fuzz", target, "--seconds", f"{seconds:g}")
    return [Unit("fuzz", target, sys.executable, words, salt=str(day or datetime.now(timezone.utc).date()), tree=True,
                 limit=seconds + (BUILDS_WITHIN if target.startswith(CPP) else 120.0), lasts=seconds, replay=f"scripts/apiary fuzz {target} --seconds {seconds:g}")]


def judged(target: str, done: proc.Done, before: set[Path]) -> dict:
    """Red where an input was kept, and where the fuzzer itself did not end well."""
    kept = sorted(set((PLACE / "found" / target).iterdir()) - before)
    counted = DONE.search(done.err + done.out)
    error = next((line for line in (done.err + done.out).splitlines() if re.match(r"(\w*(Error|Exception)\b|NOT SO: |==\d+==ERROR: |.*runtime error: )", line)), "")
    said = f"{error or done.how()}" if not done.ok or kept else ""
    input_ = str(repo.shown(kept[0])) if kept else ""
    return {"target": target, "passed": done.ok and not kept and counted is not None, "runs": int(counted[1]) if counted else 0,
            "reached": int(counted[2]) if counted else 0, "said": said or ("" if counted else "it counted no runs"), "input": input_,
            "replay": shlex.join([*reader(target), input_]).replace(f"{repo.ROOT}/", "").replace(sys.executable, "python3") if kept else ""}


def run(args: argparse.Namespace) -> int:
    known = targets()
    for name in args.names:
        if name not in known:
            raise unknown("target", name, known)
    results = []
    for target in args.names or known:
        ready(target)
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
