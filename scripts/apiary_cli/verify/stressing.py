"""Runs the stress programs under the sanitizers and records what was run."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..base import proc, repo
from ..base.environment import read
from ..base.errors import Fault, tail, unknown
from ..base.say import colour, counted, say, table, warn

PRESETS = ("tsan", "asan-ubsan")
RECORD = repo.BUILD / "stress.json"
SANITIZERS = {"tsan": "ThreadSanitizer", "asan-ubsan": "Address-, Leak- and UndefinedBehaviorSanitizer"}
SANITIZER_ENV = {
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:exitcode=66",
    "ASAN_OPTIONS": "handle_sigill=1:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}
SIGNS = ("ERROR: ", "WARNING: ThreadSanitizer", "runtime error")
MAPPING_TROUBLE = "unexpected memory mapping"  # TSan with too much address randomisation
RANDOM_BITS = 28  # of an address, which g++ 12's TSan can do with
STEADY = ("setarch", "--addr-no-randomize")  # before a program's words


@dataclass(frozen=True)
class Run:
    """One stress program, under one preset, with one seed."""

    preset: str
    program: Path
    seed: int

    @property
    def name(self) -> str:
        return self.program.name


def plan(presets: list[str], names: list[str], seeds: list[int]) -> list[Run]:
    """Every stress program of the presets with every seed."""
    programs = {preset: repo.built(preset, "stress") for preset in presets}
    known = {path.name for paths in programs.values() for path in paths}
    for name in names:
        if name not in known:
            raise unknown("stress", name, known)
    if not all(programs.values()):
        empty = [preset for preset in presets if not programs[preset]]
        cause = "; ".join(f"build/{preset}/manifest/stress.txt is empty or absent" for preset in empty)
        raise Fault(f"there are no stress programs of {', '.join(empty)}", cause, f"scripts/apiary build {' '.join(empty)}")
    return [Run(preset, path, seed) for seed in seeds for preset in presets for path in programs[preset]
            if not names or path.name in names]


def command(run: Run, seconds: float, threads: int | None, json_file: str = "") -> list[str]:
    words = [str(run.program), "--seconds", f"{seconds:g}", "--seed", str(run.seed)]
    words += ["--threads", str(threads)] if threads else []
    return words + (["--json", json_file] if json_file else [])


def attempt(words: list[str], seconds: float) -> proc.Done:
    """Run it; where the kernel's address randomisation defeats TSan, once more without it."""
    options = {"cwd": repo.ROOT, "env": os.environ | SANITIZER_ENV, "timeout": 3 * seconds + 120}
    done = proc.run(words, **options)
    if not done.ok and MAPPING_TROUBLE in done.err + done.out:
        done = proc.run([*STEADY, *words], **options)
    return done


def without_randomisation() -> list[str]:
    """Words before those of a program that runs others under TSan: none where the kernel's randomisation does not defeat it."""
    bits = read("/proc/sys/vm/mmap_rnd_bits").strip()
    if not bits.isdigit() or int(bits) <= RANDOM_BITS:
        return []
    if shutil.which(STEADY[0]) and proc.run([*STEADY, "true"]).ok:
        return list(STEADY)
    warn(f"vm.mmap_rnd_bits is {bits}, and setarch may not switch it off: TSan may end with '{MAPPING_TROUBLE}'. Remedy: "
         f"sysctl vm.mmap_rnd_bits={RANDOM_BITS}, or in Docker --security-opt seccomp=unconfined")
    return []


def unit_command(preset: str, program: Path, words: list[str]) -> tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]:
    """(program, words, files) of a unit that runs this program of that preset."""
    wrap = without_randomisation() if preset == "tsan" else []
    if not wrap:
        return str(program), tuple(words), ()
    return f"/usr/bin/{wrap[0]}", (*wrap[1:], "{program}", *words), (("program", str(program)),)


def reason_of(done: proc.Done) -> str:
    """How it ended, with the sanitizer's first line, or the last line of all."""
    if done.ok:
        return ""
    lines = (done.out + done.err).strip().splitlines() or ["it printed nothing"]
    told = (line.strip() for line in lines if any(sign in line for sign in SIGNS))
    return f"{done.how()}: {next(told, lines[-1])}"


def outcome(run: Run, done: proc.Done, detail: dict | None, replay: list[str]) -> dict:
    return {
        "program": run.name,
        "preset": run.preset,
        "sanitizer": SANITIZERS.get(run.preset, run.preset),
        "seed": run.seed,
        "seconds": round(done.seconds, 3),
        "passed": done.ok,
        "reason": reason_of(done),
        "replay": shlex.join(word.removeprefix(f"{repo.ROOT}/") for word in replay),
        "detail": detail,
    }


def run_all(runs: list[Run], seconds: float, threads: int | None) -> list[dict]:
    """One after another: each program has more threads than this machine has CPUs."""
    results = []
    with tempfile.TemporaryDirectory(prefix="apiary-stress-") as folder:
        names = lambda one: f"{one[1].name} {one[1].preset} seed {one[1].seed}"  # noqa: E731
        for i, item in counted("stress", enumerate(runs), len(runs), names):
            file = Path(folder) / f"{i}.json"
            done = attempt(command(item, seconds, threads, str(file)), seconds)
            result = outcome(item, done, repo.read_json(file), command(item, seconds, threads))
            results.append(result)
            if not result["passed"]:
                say(colour(f"stress {item.name} ({item.preset}, seed {item.seed}) {result['reason']}", "red"))
                say(tail(done.out + done.err, 8000))
                say(f"replay: {result['replay']}")
    return results


def merge_record(old: dict | None, stamp: dict, results: list[dict]) -> dict:
    """Earlier runs stay in the record while the source is the same; a failure is never dropped
    for a success with another seed."""
    def key(r: dict) -> tuple:
        return r["program"], r["preset"], r["seed"]

    rerun = set(map(key, results))
    kept = old["runs"] if old and old.get("source_hash") == stamp["source_hash"] else []
    runs = ([r for r in kept if key(r) not in rerun] + results)[-2000:]
    passed, seconds = all(r["passed"] for r in runs), round(sum(r["seconds"] for r in runs), 1)
    return {"schema_version": 1, **stamp, "passed": passed, "seconds": seconds, "runs": runs}


def write_record(results: list[dict], stamp: dict) -> dict:
    record = merge_record(repo.read_json(RECORD), stamp, results)
    repo.write_json(RECORD, record)
    return record


def result_table(results: list[dict]) -> str:
    rows = [[r["program"], r["preset"], str(r["seed"]), f"{r['seconds']:.1f}",
             colour("ok", "green") if r["passed"] else colour("FAILED", "red")] for r in results]
    return table(["stress", "preset", "seed:n", "seconds:n", "result"], rows)
