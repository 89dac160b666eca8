"""Micro-benchmarks (Google Benchmark) and whole-process times (hyperfine), and their CSVs."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from ..base import proc, repo, stats
from ..base.errors import tail
from ..base.say import Progress, warn
from . import rounds, tables
from .subjects import Arm

UNIT_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def micro_rows(report: dict, run_id: str) -> list[dict[str, str]]:
    """Google Benchmark's JSON: one row per benchmark, over its repetitions (real time in ns)."""
    groups: dict[str, list[dict]] = defaultdict(list)
    for entry in report.get("benchmarks", []):
        if entry.get("run_type", "iteration") == "iteration" and not entry.get("error_occurred"):
            groups[entry.get("run_name") or entry["name"]].append(entry)
    rows = []
    for name, entries in groups.items():
        values = [entry["real_time"] * UNIT_NS[entry.get("time_unit", "ns")] for entry in entries]
        counts = str(entries[0].get("iterations", "")), str(len(values))
        told = (tables.number(value, 3) for value in (stats.median(values), min(values), max(values)))
        spread = tables.number(stats.coefficient_of_variation(values), 4)
        rows.append(dict(zip(tables.MICRO, ("1", run_id, name, "real_time", "ns", *counts, *told, spread), strict=True)))
    return rows


def startup_rows(report: dict, run_id: str) -> list[dict[str, str]]:
    """hyperfine's JSON, seconds turned into milliseconds."""
    rows = []
    for entry in report.get("results", []):
        seconds = (entry.get(name) for name in ("median", "min", "max", "stddev"))
        ms = ("" if value is None else tables.number(1000 * value, 3) for value in seconds)
        cells = ("1", run_id, entry["command"], "wall", "ms", str(len(entry.get("times", []))), *ms)
        rows.append(dict(zip(tables.STARTUP, cells, strict=True)))
    return rows


def run_micro(programs: list[Path], folder: Path, run_id: str, repetitions: int, min_time: float) -> list[str]:
    """Run each program; merge their JSON into micro.json and write micro.csv. Returns what failed."""
    merged: dict = {"context": {}, "benchmarks": []}
    failed = []
    options = {"out_format": "json", "repetitions": repetitions, "min_time": f"{min_time:g}"}
    with Progress("micro", len(programs)) as progress:
        for program in programs:
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                words = [f"--benchmark_{name}={value}" for name, value in (options | {"out": out.name}).items()]
                done = proc.run([program, *words], env=rounds.base_environment(), timeout=600)
                report = repo.read_json(Path(out.name)) if done.ok else None
            if report is None:
                failed.append(f"{program.name} {done.how()}")
                warn(f"micro: {failed[-1]}")
            else:
                # Without the program's path: several ran, and a published folder tells nothing of where.
                merged["context"] = {key: value for key, value in report.get("context", {}).items() if key != "executable"}
                merged["benchmarks"] += report["benchmarks"]
            progress.advance(program.name)
    repo.write_json(folder / "micro.json", merged)
    tables.write(folder / "micro.csv", tables.MICRO, micro_rows(merged, run_id))
    return failed


def run_startup(arms: list[Arm], folder: Path, run_id: str, workers: int, runs: int) -> list[str]:
    """Start to finish of the whole process, a fixed small amount of work, by hyperfine."""
    arms = [arm for arm in arms if not arm.control and "post_throughput" in arm.subject.scenarios]
    out, report, failed = folder / "startup.json", {}, []
    if not arms:
        warn("startup: no subject runs post_throughput")
    elif not shutil.which("hyperfine"):
        failed = ["hyperfine is not installed"]
        warn(f"startup: {failed[0]}")
    else:
        words = ["hyperfine", "-N", "--style", "none", "--warmup", "2", "--runs", str(runs), "--export-json", str(out)]
        for arm in arms:
            work = f"--scenario post_throughput --param ops=16384 --workers {workers} --seed 1 --warmup-blocks 1 --blocks 1"
            words += ["-n", arm.label, f"{shlex.quote(str(arm.program))} run {work}"]
        with Progress("startup", 1) as progress:
            done = proc.run(words, env=rounds.base_environment(), timeout=600, cwd=folder)
            progress.advance()
        if done.ok:
            report = repo.read_json(out) or {}
        else:
            failed = [f"hyperfine {done.how()}"]
            warn(f"startup: {failed[0]}: {tail(done.err)}")
            out.write_text("{}\n")
    for entry, arm in zip(report.get("results", []), arms):
        entry["command"] = arm.label
    tables.write(folder / "startup.csv", tables.STARTUP, startup_rows(report, run_id))
    return failed
