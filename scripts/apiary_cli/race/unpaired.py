"""Micro-benchmarks (Google Benchmark) and whole-process times (hyperfine), and their CSVs."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from pathlib import Path

from ..base import proc, stats
from ..base.errors import tail
from ..base.say import Progress, warn
from . import rounds, tables
from .subjects import Arm

UNIT_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def micro_rows(report: dict, run_id: str) -> list[dict[str, str]]:
    """Google Benchmark's JSON: one row per benchmark, over its repetitions (real time in ns)."""
    groups: dict[str, list[dict]] = {}
    for entry in report.get("benchmarks", []):
        if entry.get("run_type", "iteration") == "iteration" and not entry.get("error_occurred"):
            groups.setdefault(entry.get("run_name") or entry["name"], []).append(entry)
    rows = []
    for name, entries in groups.items():
        values = [entry["real_time"] * UNIT_NS[entry.get("time_unit", "ns")] for entry in entries]
        rows.append(
            {
                "schema_version": "1",
                "run_id": run_id,
                "benchmark": name,
                "metric": "real_time",
                "unit": "ns",
                "iterations": str(entries[0].get("iterations", "")),
                "repetitions": str(len(values)),
                "median": tables.number(stats.median(values), 3),
                "min": tables.number(min(values), 3),
                "max": tables.number(max(values), 3),
                "cv": tables.number(stats.coefficient_of_variation(values), 4),
            }
        )
    return rows


def startup_rows(report: dict, run_id: str) -> list[dict[str, str]]:
    """hyperfine's JSON, seconds turned into milliseconds."""

    def ms(value: float | None) -> str:
        return "" if value is None else tables.number(1000 * value, 3)

    return [
        {
            "schema_version": "1",
            "run_id": run_id,
            "command": entry["command"],
            "metric": "wall",
            "unit": "ms",
            "runs": str(len(entry.get("times", []))),
            "median": ms(entry.get("median")),
            "min": ms(entry.get("min")),
            "max": ms(entry.get("max")),
            "stddev": ms(entry.get("stddev")),
        }
        for entry in report.get("results", [])
    ]


def run_micro(programs: list[Path], folder: Path, run_id: str, repetitions: int, min_time: float) -> list[str]:
    """Run each program; merge their JSON into micro.json and write micro.csv. Returns what failed."""
    merged: dict = {"context": {}, "benchmarks": []}
    failed = []
    with Progress("micro", len(programs)) as progress:
        for program in programs:
            with tempfile.NamedTemporaryFile(suffix=".json") as out:
                done = proc.run(
                    [
                        program,
                        "--benchmark_out_format=json",
                        f"--benchmark_out={out.name}",
                        f"--benchmark_repetitions={repetitions}",
                        f"--benchmark_min_time={min_time:g}",
                    ],
                    env=rounds.base_environment(),
                    timeout=600,
                )
                try:
                    report = json.loads(Path(out.name).read_text()) if done.ok else None
                except ValueError:
                    report = None
            if report is None:
                failed.append(f"{program.name} {done.how()}")
                warn(f"micro: {failed[-1]}")
            else:
                # Without the program's path: several ran, and a published folder tells nothing of where.
                merged["context"] = {key: value for key, value in report.get("context", {}).items() if key != "executable"}
                merged["benchmarks"] += report["benchmarks"]
            progress.advance(program.name)
    (folder / "micro.json").write_text(json.dumps(merged, indent=1) + "\n")
    tables.write(folder / "micro.csv", tables.MICRO, micro_rows(merged, run_id))
    return failed


def run_startup(arms: list[Arm], folder: Path, run_id: str, workers: int, runs: int) -> list[str]:
    """Start to finish of the whole process, a fixed small amount of work, by hyperfine."""
    arms = [arm for arm in arms if not arm.control and "post_throughput" in arm.subject.scenarios]
    out = folder / "startup.json"
    if not arms or not shutil.which("hyperfine"):
        reason = "hyperfine is not installed" if arms else "no subject runs post_throughput"
        warn(f"startup: {reason}")
        tables.write(folder / "startup.csv", tables.STARTUP, [])
        return [reason] if arms else []
    words = ["hyperfine", "-N", "--style", "none", "--warmup", "2", "--runs", str(runs), "--export-json", str(out)]
    for arm in arms:
        words += [
            "-n",
            arm.label,
            f"{shlex.quote(str(arm.program))} run --scenario post_throughput --param ops=16384 "
            f"--workers {workers} --seed 1 --warmup-blocks 1 --blocks 1",
        ]
    with Progress("startup", 1) as progress:
        done = proc.run(words, env=rounds.base_environment(), timeout=600, cwd=folder)
        progress.advance()
    report = json.loads(out.read_text()) if done.ok and out.exists() else {"results": []}
    if not done.ok:
        warn(f"startup: hyperfine {done.how()}: {tail(done.err)}")
        out.write_text("{}\n")
    for entry, arm in zip(report["results"], arms):
        entry["command"] = arm.label
    tables.write(folder / "startup.csv", tables.STARTUP, startup_rows(report, run_id))
    return [] if done.ok else [f"hyperfine {done.how()}"]
