"""Fake subjects, check programs and stress programs: small scripts that speak the treaty, well or badly."""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from apiary_cli.base import sources
from apiary_cli.race import ledger, tables

SUBJECT = '''#!{python} -ISE
"""A fake subject: it measures nothing and prints plausible figures."""
import _random, math, os, sys, time  # a race starts it some hundred times: no more than it needs
try:
    from _sha512 import sha512
except ImportError:
    from hashlib import sha512
NAME, BEHAVIOUR, NS, EFFECT = {name!r}, {behaviour!r}, {ns!r}, {effect!r}
COLUMNS = {columns!r}
words = sys.argv[1:]
if words == ["--version"]:
    version = {{"no_version": "", "odd_version": "<b>&evil"}}.get(BEHAVIOUR, "1.0")
    import json
    print(json.dumps(dict(subject=NAME, subject_version=version, language="python", build_id="fake")))
    sys.exit(0)
if words == ["--list"]:
    print("\\n".join({scenarios!r}))
    sys.exit(0)
TUNABLES, TUNED = {tunables!r}, {tuned!r}
if words == ["--tunables"]:
    for line in TUNABLES:
        print(line)
    sys.exit(0 if TUNABLES else 2)
options, params = {{}}, {{}}
for key, value in zip(words[1::2], words[2::2]):
    if key == "--param":
        params.update([value.split("=", 1)])
    elif key == "--tune":
        NS *= TUNED.get(value, 1)
    else:
        options[key] = value
scenario = options["--scenario"]
if BEHAVIOUR == "crash":
    import signal
    print("about to fail", file=sys.stderr); sys.stderr.flush()
    os.kill(os.getpid(), signal.SIGSEGV)
if BEHAVIOUR == "hang":
    os.fork()
    time.sleep(600)
if BEHAVIOUR == "sleep":
    time.sleep(600)
if BEHAVIOUR == "malformed":
    print("hello"); sys.exit(0)
if BEHAVIOUR == "unsupported":
    sys.exit(3)
# Of the round (its seed) and the arm (its folder), so that a test sees the same figures always.
def seeded(text):
    text = text.encode()
    return _random.Random(int.from_bytes(text + sha512(text).digest(), "big"))
def lognormal(mu, sigma):  # as random.lognormvariate
    while True:
        u, v = rng.random(), 1 - rng.random()
        z = 4 * math.exp(-0.5) / math.sqrt(2) * (u - 0.5) / v
        if z * z / 4 <= -math.log(v):
            return math.exp(mu + z * sigma)
rng = seeded(repr((NAME, options["--seed"], os.path.basename(os.path.dirname(os.path.abspath(__file__))))))
noise = lambda: lognormal(0, 0.01)
def mark(i):
    z = (i + 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return (z ^ (z >> 31)) >> 32 << 32 | 1
row = dict.fromkeys(COLUMNS, "")
row["steady"] = int(int(options["--warmup-blocks"]) >= 2)
row.update(scenario=scenario, workers=options["--workers"], seed=options["--seed"], status="ok",
           warmup_blocks=min(2, int(options["--warmup-blocks"])), blocks=options["--blocks"], nvcsw=3, nivcsw=1, minflt=100, maxrss_kib=4000)
if scenario in ("post_throughput", "spawn_many_remote_idle"):
    ops = int(params.get("ops", 16384))
    slow = int(options.get("--slowdown-ns", 0)) / 64
    # odd_control: large slow-downs slow it, as the calibration sees; the one of the race makes it faster.
    if BEHAVIOUR == "odd_control" and 0 < slow < 0.3 * NS:
        slow = slow if int(options["--seed"]) < 1000 else -0.3 * NS
    ns = NS * noise() + EFFECT * slow
    wall = round(ns * ops)
    row.update(ops=ops, wall_ns=wall, cpu_ns=round(2 * ns * ops), ns_per_op=f"{{wall / ops:.3f}}",
               ops_per_s=f"{{1e9 * ops / wall:.3f}}")
else:
    if scenario == "post_latency":
        due = [int(line) for line in open(options["--plan"]) if line[0] != "#"]
        ops, offered = len(due), f"{{1e9 * len(due) / due[-1]:.3f}}"
        row.update(warmup_blocks=0, blocks=1, steady="", offered_per_s=offered, achieved_per_s=offered, lateness_p99_ns=1000)
    else:
        ops = int(params["ops"])
        row.update(warmup_blocks=0, blocks=1, steady="")
    late = sorted(round(NS * 100 * lognormal(0, 0.5)) for _ in range(ops - ops // 10))
    def edges(v):
        shift = max(0, v.bit_length() - 8)
        return v >> shift << shift, (v >> shift << shift) + (1 << shift) - 1
    at = lambda permille: min(edges(late[-(-permille * len(late) // 1000) - 1])[1], late[-1])
    row.update(ops=ops, lat_count=len(late), lat_min_ns=late[0], lat_p50_ns=at(500), lat_max_ns=late[-1], cpu_ns=5000)
    for permille, column in ((900, "lat_p90_ns"), (950, "lat_p95_ns"), (990, "lat_p99_ns")):
        if len(late) - -(-permille * len(late) // 1000) >= 100:
            row[column] = at(permille)
    if "--hist" in options:
        counts = {{}}
        for v in late:
            found = edges(v * 2 if BEHAVIOUR == "shifted_histogram" else v)
            counts[found] = counts.get(found, 0) + 1
        with open(options["--hist"], "w") as out:
            out.write("value_lo_ns,value_hi_ns,count\\n")
            for (lo, hi), n in sorted(counts.items()):
                out.write(f"{{lo}},{{hi}},{{n}}\\n")
row["check"] = {known!r}.get(ops) or f"{{sum(map(mark, range(ops))) & (2**64 - 1):016x}}"
if BEHAVIOUR == "wrong_check":
    row["check"] = "0123456789abcdef"
if BEHAVIOUR == "says_wrong":
    row["status"] = "wrong"
    print("task 17 ran twice", file=sys.stderr)
if BEHAVIOUR == "bad_number":
    row["ops"] = "many"
print(",".join(COLUMNS))
print(",".join(str(row[c]) for c in COLUMNS))
sys.exit(4 if row["status"] == "wrong" else 0)
'''

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
NAME, SITES, KILLED = {name!r}, {sites!r}, {killed!r}
words = sys.argv[1:]
if words == ["--list", "--json"]:
    print(json.dumps(dict(name=NAME, kind="check", engines=["relacy", "explorer"], threads=2, what="what " + NAME)))
    sys.exit(0)
option = lambda word: words[words.index(word) + 1] if word in words else None
mutant, engine = option("--mutate"), option("--engine")
if mutant and mutant.split("=")[0] + "=crash" in KILLED:
    sys.exit(70)
fails = mutant in KILLED
with open(option("--json"), "w") as file:
    for one in [engine] if engine else ["relacy", "explorer"]:
        file.write(json.dumps(dict(name=NAME, kind="check", engine=one, mode="exhaustive", verdict="fail" if fails else
            "pass", as_expected=not fails, executions=10, seconds=0.01, reason="lost" if fails else "", sites=SITES)) + "\\n")
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

EXPECTED_16384 = ledger.POWERS[0]
ALL = ("post_throughput", "post_latency", "timer_lateness")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


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
    return script(
        path,
        SUBJECT.format(
            python=sys.executable,
            name=name,
            behaviour=behaviour,
            ns=ns,
            effect=effect,
            columns=tables.SUBJECT,
            scenarios=scenarios,
            tunables=tunables,
            tuned=tuned or {},
            known={16384: EXPECTED_16384},
        ),
    )


def checks(path: Path, entries: list[tuple[str, str, str]]) -> Path:
    """A check program with (name, kind, verdict) entries; verdict may also be crash or silent."""
    return script(path, CHECKS.format(python=sys.executable, entries=entries))


def engines(path: Path, entries: list[dict]) -> Path:
    """A check program; an entry has a name and perhaps kind, engines, must_reach, reach, one_engine, differs, an engine's
    name with its verdict, and executions by engine (a list: by seed)."""
    return script(path, ENGINES.format(python=sys.executable, entries=entries))


def mutable(path: Path, name: str, sites: dict[str, str], killed: list[str]) -> Path:
    """A check program that executes these sites and fails under these mutations; SITE=crash crashes there."""
    return script(path, MUTABLE.format(python=sys.executable, name=name, sites=sites, killed=killed))


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
