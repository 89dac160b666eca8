"""A subject's histogram file, and whether it tells the same as the row beside it (bench/contract/CSV.md)."""

from __future__ import annotations

import os
import stat
from fractions import Fraction
from pathlib import Path

from . import tables

Bucket = tuple[int, int, int]  # lowest value, highest value, count

ABOVE = 100  # samples that must lie above a percentile
PERCENTILES = (("lat_p50_ns", 500), ("lat_p90_ns", 900), ("lat_p95_ns", 950), ("lat_p99_ns", 990), ("lat_p999_ns", 999))
MOST_BYTES = 4 << 20  # all buckets there are, with counts of 20 digits, stay below this
KINDS = {stat.S_IFIFO: "pipe", stat.S_IFDIR: "folder", stat.S_IFLNK: "symbolic link", stat.S_IFSOCK: "socket"}


def edges(value: int) -> tuple[int, int]:
    """The bucket of a value: one each below 256, above that 128 in each octave."""
    shift = max(0, value.bit_length() - 8)
    low = value >> shift << shift
    return low, low + (1 << shift) - 1


def plain_file(path: Path) -> None:
    """Raises ValueError unless this is an ordinary file of a size that a histogram can have: opening a pipe would wait
    for ever, and a link may lead anywhere."""
    try:
        found = os.lstat(path)
    except OSError as error:
        raise ValueError(f"the file was not written ({error.strerror})") from error
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"the path has become a {KINDS.get(stat.S_IFMT(found.st_mode), 'device')}, not a file")
    if found.st_size > MOST_BYTES:
        raise ValueError(f"the file has {found.st_size} bytes, more than every bucket there is")


def bucket(row: dict[str, str]) -> Bucket:
    for column, cell in row.items():
        if not (cell.isascii() and cell.isdigit() and len(cell) <= 20):
            raise ValueError(f"{column} is {cell[:60]!r}, not a whole number")
    return tuple(int(row[column]) for column in tables.SUBJECT_HIST)


def read(path: Path) -> list[dict[str, str]]:
    """The file's rows; raises ValueError where they are no histogram."""
    plain_file(path)
    rows, before = tables.read(path, tables.SUBJECT_HIST), -1
    for low, high, count in map(bucket, rows):
        if (low, high) != edges(low) or count < 1:
            raise ValueError(f"{low}…{high} with count {count} is no bucket")
        if low <= before:
            raise ValueError(f"bucket {low}…{high} does not ascend")
        before = high
    return rows


def flaw(rows: list[dict[str, str]], row: dict[str, str]) -> str:
    """How a histogram contradicts the row that was printed with it, or an empty string."""
    buckets = list(map(bucket, rows))
    n, told = sum(count for _, _, count in buckets), Fraction(row["lat_count"] or 0)
    if n != told:
        return f"it holds {n} samples, lat_count is {told}"
    if n == 0:
        return ""
    for column, (low, high, _) in (("lat_min_ns", buckets[0]), ("lat_max_ns", buckets[-1])):
        if row[column] and not low <= Fraction(row[column]) <= high:
            return f"its outermost bucket is {low}…{high}, {column} is {row[column]}"
    most = Fraction(row["lat_max_ns"] or buckets[-1][1])
    for column, permille in PERCENTILES:
        place = max(1, -(-permille * n // 1000))
        if row[column] == "":
            continue
        if not told_by(column, n, place):
            return f"{column} is {row[column]} with {n - place} samples above it, fewer than {ABOVE}"
        expected = min(value_at(buckets, place), most)
        if Fraction(row[column]) != expected:
            return f"by it {column} is {expected}, the row says {row[column]}"
    return ""


def told_by(column: str, n: int, place: int) -> bool:
    """Whether n samples are enough for a percentile."""
    return column == "lat_p50_ns" or n - place >= ABOVE


def lacking(rows: list[dict[str, str]], row: dict[str, str]) -> str:
    """Which percentile the row leaves out that its histogram has, of those that are compared, or an empty string. A subject
    that leaves them out now and then chooses its rounds."""
    n = sum(count for _, _, count in map(bucket, rows))
    for column, permille in PERCENTILES:
        compared = column in ("lat_p50_ns", "lat_p90_ns", "lat_p99_ns")
        if compared and n and row[column] == "" and told_by(column, n, max(1, -(-permille * n // 1000))):
            return f"{column} is empty, and it holds {n} samples"
    return ""


def value_at(buckets: list[Bucket], place: int) -> int:
    """The upper edge of the bucket that holds the sample of this place; there is one."""
    for _, high, count in buckets:
        place -= count
        if place <= 0:
            return high
    raise AssertionError("the place is beyond the samples")
