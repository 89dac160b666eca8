"""The frozen headers of bench/contract/CSV.md, and reading and writing such files."""

from __future__ import annotations

import csv
import functools
import io
import lzma
import re
from pathlib import Path
from types import MappingProxyType
from typing import Iterable, Mapping, TextIO

from ..base import repo

SCHEMA_VERSION = 1

ROWS = (
    "schema_version,row_kind,run_id,batch,env_id,utc_start,suite_commit,scenario,scenario_params,"
    "metric_class,subject,subject_version,language,build_id,role,placement,workers,round,arm_order,"
    "seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,offered_per_s,"
    "achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,lat_p999_ns,"
    "lat_max_ns,lateness_p99_ns,nvcsw,nivcsw,migrations,minflt,run_delay_ns,psi_cpu_some_us,"
    "foreign_cpu_ppm,maxrss_kib,allocs,wakes,parks,steals,check,flags,status,error"
).split(",")

SUBJECT = (
    "scenario,workers,seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,"
    "offered_per_s,achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,"
    "lat_p999_ns,lat_max_ns,lateness_p99_ns,nvcsw,nivcsw,minflt,maxrss_kib,allocs,wakes,parks,steals,"
    "check,flags,status"
).split(",")

HIST = "schema_version,run_id,scenario,scenario_params,subject,workers,round,value_lo_ns,value_hi_ns,count".split(",")
SUBJECT_HIST = "value_lo_ns,value_hi_ns,count".split(",")

COMPARE = (
    "schema_version,run_id,scenario,scenario_params,placement,metric,unit,better,candidate,baseline,"
    "n_pairs,batches,ratio,ci_lo,ci_hi,margin,aa_halfwidth,verdict,confirmed,p_bh,flags"
).split(",")

MICRO = "schema_version,run_id,benchmark,metric,unit,iterations,repetitions,median,min,max,cv".split(",")
STARTUP = "schema_version,run_id,command,metric,unit,runs,median,min,max,stddev".split(",")

# The same work without a scheduler: no peer, whatever an older race has called it.
BARE = "machine"
FLOORS = (BARE, "machine_calls", "machine_rust")

# Columns of a subject that are not numbers.
WORDS = {"scenario", "check", "flags", "status"}


def params_text(params: dict[str, str]) -> str:
    """key=value in key order, joined by semicolons."""
    return ";".join(f"{key}={params[key]}" for key in sorted(params))


def label_of(key: tuple[str, str, str]) -> str:
    """A point (scenario, scenario_params, placement) as `race --point` takes it."""
    return " ".join(filter(None, (*key[:2], "" if key[2] == "free" else key[2])))


def params_of(text: str) -> dict[str, str]:
    return dict(part.split("=", 1) for part in text.split(";") if part)


def flags_of(row: dict[str, str]) -> Mapping[str, str]:
    """What a row says in `flags`: names, those with a number with that."""
    return flags_in(row["flags"])


@functools.lru_cache(maxsize=4096)
def flags_in(text: str) -> Mapping[str, str]:
    """A comparison asks each row of its point some ten times, and most rows say the same."""
    return MappingProxyType(dict(flag.partition("=")[::2] for flag in text.split(";") if flag))


def number(value: float | int | None, digits: int = 6) -> str:
    """A cell: empty for None, no exponent, no trailing zeros."""
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


FROM_ROOT = re.compile(r"(?<![\w.…/])/(?:[^/\s]+/)+(?=(?:[^/\s]+/){3}[^/\s]+)")


def without_homes(row: dict) -> dict:
    """Of a path of more than four parts in what a program said only the last four: a folder of results is published, and where
    packages lie on whose machine is not."""
    return row | {"error": FROM_ROOT.sub("", row["error"])} if row.get("error") else row


def append(path: Path, header: list[str], rows: Iterable[dict]) -> None:
    """To a file of one of the headers above, which is begun where there is none; an unknown column is an error."""
    text = io.StringIO()
    writer = csv.DictWriter(text, header, restval="", extrasaction="raise", lineterminator="\n")
    if not path.exists():
        writer.writeheader()
    writer.writerows(map(without_homes, rows))
    with path.open("a") as handle:
        handle.write(text.getvalue())


def stored(path: Path) -> Path | None:
    """The file, or the compressed one beside it, or None."""
    return next((one for one in (path, path.with_name(path.name + ".xz")) if one.exists()), None)


def opened(path: Path) -> TextIO:
    """To read, compressed or not."""
    return lzma.open(path, "rt", newline="") if path.suffix == ".xz" else path.open(newline="")


# For tables: long matches, and no alignment of bytes. A histogram of 128 MB takes 3.2 MB and a minute, and 6.0 MB by lzma's own.
OF_TABLES = ({"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 4, "lp": 0, "pb": 0, "nice_len": 273, "depth": 24},)


def compress(path: Path) -> Path:
    """Replace the file by FILE.xz. What is compressed already stays; where the disk is full, the file does."""
    packed = path.with_name(path.name + ".xz")
    if path.exists():
        repo.write_bytes(packed, lzma.compress(path.read_bytes(), filters=OF_TABLES))
        path.unlink()
    return packed


def write(path: Path, header: list[str], rows: Iterable[dict]) -> None:
    path.unlink(missing_ok=True)
    append(path, header, rows)


def read(path: Path, header: list[str]) -> list[dict[str, str]]:
    """All rows; ValueError where it is no CSV, or one with another header."""
    with opened(stored(path) or path) as handle:
        rows = repo.rows_of(handle, path.name, header)
    for row in rows:
        if row.get("role") and row["subject"] in FLOORS:
            row["role"] = "bare"
    return rows
