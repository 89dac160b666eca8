"""Fake subjects, check programs and stress programs that speak the treaty, well or badly: subjects are a small compiled
program with its claims after it, because a race starts them some hundred times; the others are scripts."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from apiary_cli.base import sources
from apiary_cli.race import ledger, tables

CHECKS = '''#!{python} -ISE
"""A fake check program."""
import json, sys, time
ENTRIES = {entries!r}
words = sys.argv[1:]
if words == ["--list", "--json"]:
    for name, kind, verdict in ENTRIES:
        print(json.dumps(dict(name=name, kind=kind, engines=["relacy"], threads=2, what="what " + name,
                         one_engine="a fake")))
    sys.exit(0)
out = words[words.index("--json") + 1]
bad = 0
for name, kind, verdict in ENTRIES:
    if name not in words:
        continue
    if verdict == "crash":
        print("assertion failed", file=sys.stderr)
        sys.exit(70)
    if verdict == "silent":
        sys.exit(0)
    expected = (verdict == "fail") == (kind == "exhibit")
    bad += not expected
    print(name, verdict)
    if verdict == "fail":
        print("thread 0 | thread 1")
    with open(out, "a") as file:
        file.write(json.dumps(dict(name=name, kind=kind, engine="relacy", mode="random", bound="", verdict=verdict,
            as_expected=expected, executions=1000, graphs=None, seconds=0.01, reason="r", replay=name + " --replay 7",
            reach={{}}, blind="no load buffering")) + "\\n")
sys.exit(1 if bad else 0)
'''

ENGINES = '''#!{python} -ISE
"""A fake check program whose checks may go one way on one engine and another on the other."""
import json, sys
ENTRIES = {entries!r}
words = sys.argv[1:]
if words == ["--list", "--json"]:
    for e in ENTRIES:
        print(json.dumps(dict(name=e["name"], kind=e.get("kind", "check"), engines=e.get("engines", ["relacy", "explorer"]),
            threads=2, what="what " + e["name"], must_see=[x for x in ("relacy", "explorer") if not (x in e and "differs" in e)],
            must_reach=e.get("must_reach", []), one_engine=e.get("one_engine", ""),
            as_it_is=e.get("as_it_is", False))))
    sys.exit(0)
option = lambda word: words[words.index(word) + 1] if word in words else None
bad = 0
with open(option("--json"), "w") as file:
    for e in ENTRIES:
        if e["name"] not in words:
            continue
        kind = e.get("kind", "check")
        for engine in e.get("engines", ["relacy", "explorer"]):
            if option("--engine") not in (None, "all", engine):
                continue
            usual = "fail" if kind == "exhibit" else "pass"
            verdict = e.get(engine, usual)
            differs = e.get("differs", "") if verdict != usual else ""
            executions = e.get("executions", {{}}).get(engine, 10)
            if isinstance(executions, list):
                executions = executions[int(option("--seed") or 1) % len(executions)]
            bad += verdict != usual and not differs
            file.write(json.dumps(dict(name=e["name"], kind=kind, engine=engine, mode="m", bound="", verdict=verdict,
                as_expected=verdict == usual or bool(differs), executions=executions, seconds=0.01, reason="r", replay="",
                reach=e.get("reach", {{}}), differs=differs)) + "\\n")
sys.exit(1 if bad else 0)
'''

MUTABLE = '''#!{python} -ISE
"""A fake check program with one check, which fails under some mutations."""
import json, sys
NAME, SITES, KILLED, RARE = {name!r}, {sites!r}, {killed!r}, {rare!r}
words = sys.argv[1:]
if words == ["--list", "--json"]:
    print(json.dumps(dict(name=NAME, kind="check", engines=["relacy", "explorer"], threads=2, what="what " + NAME)))
    sys.exit(0)
option = lambda word: words[words.index(word) + 1] if word in words else None
mutant, engine = option("--mutate"), option("--engine")
if mutant and mutant.split("=")[0] + "=crash" in KILLED:
    sys.exit(70)
fails = mutant in KILLED
sites = {{site: order for site, order in SITES.items() if site != RARE or int(option("--budget")[:-1]) > 1000}}
with open(option("--json"), "w") as file:
    for one in [engine] if engine else ["relacy", "explorer"]:
        file.write(json.dumps(dict(name=NAME, kind="check", engine=one, mode="exhaustive", verdict="fail" if fails else
            "pass", as_expected=not fails, executions=10, seconds=0.01, reason="lost" if fails else "", sites=sites)) + "\\n")
sys.exit(1 if fails else 0)
'''

STRESS = '''#!{python} -ISE
"""A fake stress program."""
import json, sys
words = sys.argv[1:]
if {passes!r}:
    print("seed", words[words.index("--seed") + 1])
    if "--json" in words:
        open(words[words.index("--json") + 1], "w").write(json.dumps(dict(tasks=5)))
    sys.exit(0)
print("WARNING: ThreadSanitizer: data race (fake)", file=sys.stderr)
sys.exit(66)
'''

PROGRAM = Path(__file__).with_name("fake_subject.cpp")
COMPILED = Path(__file__).resolve().parents[2] / "build" / "tests"
FLAGS = ("-std=c++20", "-O1", "-s")
VERSIONS = {"no_version": "", "odd_version": "<b>&evil"}

EXPECTED_16384 = ledger.POWERS[0]
ALL = ("post_throughput", "post_latency", "timer_lateness")


def script(path: Path, text: str) -> Path:
    return executable(path, text.encode())


def executable(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # it may still run
    path.write_bytes(content)
    path.chmod(0o755)
    return path


@functools.cache
def compiled() -> bytes:
    """The fake subject without its claims. It is compiled once for all processes that run tests, until its source or the
    compiler changes; one of them compiles, and the others wait for it."""
    compiler = shutil.which("g++") or shutil.which("c++")
    if not compiler:
        raise RuntimeError(f"no g++ here: {PROGRAM.name} cannot be compiled (remedy: scripts/apiary setup)")
    real = os.path.realpath(compiler)
    made_of = (PROGRAM.read_bytes(), FLAGS, real, os.stat(real).st_size, os.stat(real).st_mtime_ns)
    path = COMPILED / f"fake_subject-{sha256(repr(made_of).encode()).hexdigest()[:16]}"
    COMPILED.mkdir(parents=True, exist_ok=True)
    with (COMPILED / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_name(f"{path.name}.{os.getpid()}")
            subprocess.run([compiler, *FLAGS, "-o", str(unfinished), str(PROGRAM)], check=True)
            unfinished.rename(path)
    return path.read_bytes()


def subject(
    path: Path,
    name: str = "fake",
    behaviour: str = "ok",
    ns: float = 100.0,
    effect: float = 1.0,
    scenarios: tuple[str, ...] = ALL,
    tunables: tuple[str, ...] = (),
    tuned: dict[str, float] | None = None,
) -> Path:
    """A subject program; behaviour: ok, crash, hang, malformed, wrong_check, says_wrong, bad_number,
    unsupported, no_version, odd_version, sleep, odd_control. `tunables` are its lines of --tunables, `tuned` the factor of a NAME=VALUE."""
    version = dict(
        subject=name, subject_version=VERSIONS.get(behaviour, "1.0"), language="python", build_id="fake"
    )
    claims = [("version", json.dumps(version)), ("name", name), ("behaviour", behaviour), ("ns", ns), ("effect", effect),
              ("columns", ",".join(tables.SUBJECT)), *(("scenario", one) for one in scenarios),
              *(("tunable", line) for line in tunables),
              *(("tuned", f"{value} {factor}") for value, factor in (tuned or {}).items())]
    told = "".join(f"{key} {value}\n" for key, value in claims).encode()
    return executable(path, compiled() + told + b"%08d" % len(told))


def checks(path: Path, entries: list[tuple[str, str, str]]) -> Path:
    """A check program with (name, kind, verdict) entries; verdict may also be crash or silent."""
    return script(path, CHECKS.format(python=sys.executable, entries=entries))


def engines(path: Path, entries: list[dict]) -> Path:
    """A check program; an entry has a name and perhaps kind, engines, must_reach, reach, one_engine, differs, an engine's
    name with its verdict, and executions by engine (a list: by seed)."""
    return script(path, ENGINES.format(python=sys.executable, entries=entries))


def mutable(path: Path, name: str, sites: dict[str, str], killed: list[str], rare: str = "") -> Path:
    """A check program that executes these sites, of which `rare` is not among the first thousand executions, and fails under
    these mutations; SITE=crash crashes there."""
    return script(path, MUTABLE.format(python=sys.executable, name=name, sites=sites, killed=killed, rare=rare))


def stress(path: Path, passes: bool = True) -> Path:
    return script(path, STRESS.format(python=sys.executable, passes=passes))


SOURCE = "impl/apiary/schedulers/hive/hive.hpp"


def manifest(root: Path, preset: str, kind: str, programs: list[Path]) -> None:
    """As a build would leave it: the list, and programs that say that they are of this source."""
    folder = root / "build" / preset / "manifest"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.txt").write_text("".join(f"{path}\n" for path in programs))
    for path in filter(Path.exists, programs):
        of_this_source(root, path)


def of_this_source(root: Path, program: Path) -> None:
    entries = ((sha256(file.read_bytes()).hexdigest(), name) for file, name in ((program, "."), (root / SOURCE, SOURCE)))
    text = "".join(f"{hash}  {name}\n" for hash, name in entries)
    program.with_name(program.name + sources.BESIDE).write_text(text)


def tree(root: Path) -> Path:
    """An empty repository as far as the tool looks at it."""
    (root / "impl" / "apiary" / "schedulers" / "hive").mkdir(parents=True)
    (root / SOURCE).write_text("// hive\n")
    for name in ("model_check", "stress", "results", "build"):
        (root / name).mkdir()
    (root / "CMakePresets.json").write_text(
        '{"configurePresets": [{"name": "base", "hidden": true}, ' '{"name": "release"}, {"name": "model"}]}'
    )
    return root
