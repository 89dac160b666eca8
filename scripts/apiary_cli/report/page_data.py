"""What report.html shows, computed from a result folder: medians, spectra, colours, commands."""

from __future__ import annotations

import argparse
import bisect
import csv
import functools
import itertools
import lzma
import operator
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Sequence

from ..base import stats
from ..base.errors import Fault, USAGE
from ..verify import verification
from ..race import metrics, plans, scenarios, tables
from ..analysis import comparing, findings, summary, verdict
from .html import COLOURS

DEPTHS = [
    0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.985, 0.99, 0.9925,
    0.995, 0.9975, 0.999, 0.9995, 0.9999, 0.99995, 0.99999,
]
ABOVE = 100
HIST = ("scenario", "scenario_params", "subject", "round", "value_lo_ns", "value_hi_ns", "count")

Buckets = list[tuple[int, int, int]]


@dataclass(frozen=True)
class Cell:
    """The median of a metric over rounds, for one subject at one point."""

    key: comparing.Key
    metric: metrics.Metric
    subject: str
    median: float
    low: float
    high: float
    n: int
    limited: bool
    series: tuple[tuple[int, float], ...]


@dataclass
class Report:
    """Everything that the sections read: the one view of a race, for the page, summary.md and the drawing."""

    folder: Path
    env: dict
    rows: list[dict[str, str]]
    comparisons: list[comparing.Comparison]
    hist: dict[tuple[str, str, str], dict[int, Buckets]] = field(default_factory=dict)
    micro: list[dict[str, str]] = field(default_factory=list)
    startup: list[dict[str, str]] = field(default_factory=list)
    validity: comparing.Validity = None
    findings: list[findings.Finding] = field(default_factory=list)
    statuses: list[verification.Status] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    colours: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.validity = self.validity or verdict.of(self.env, self.rows, self.comparisons)
        self.roles = self.roles or {row["subject"]: row["role"] for row in self.rows}
        order = self.ours + sorted(self.peers) + self.having("bare")
        self.colours = self.colours or {name: f"c{i % COLOURS}" for i, name in enumerate(order)}

    def only(self, scenario: str) -> Report:
        """The same of one scenario."""
        return replace(
            self,
            rows=[row for row in self.rows if row["scenario"] == scenario],
            comparisons=[one for one in self.comparisons if one.key[0] == scenario],
            hist={key: found for key, found in self.hist.items() if key[0] == scenario},
        )

    @property
    def race(self) -> dict:
        return self.env.get("race", {})

    @property
    def claims(self) -> list[comparing.Comparison]:
        return [one for one in self.comparisons if one.claim]

    def having(self, *roles: str) -> list[str]:
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def ours(self) -> list[str]:
        return self.having("candidate")

    @property
    def peers(self) -> list[str]:
        return self.having("peer", "baseline")

    @property
    def own(self) -> set[str]:
        """The arms built from the source that was proved and stressed: ours, the floor among them."""
        marked = {arm["label"] for arm in self.race.get("arms", []) if arm.get("own") and arm["role"] != "baseline"}
        return marked | set(self.ours)

    def rank(self, subject: str) -> tuple[bool, str]:
        """Ours first, then the others by name."""
        return self.roles.get(subject) != "candidate", subject

    @functools.cached_property
    def cells(self) -> list[Cell]:
        """Medians with their quartiles, without the controls. Kept: every section asks."""
        return self.medians(row for row in self.rows if row["row_kind"] == "measure")

    def medians(self, rows: list[dict[str, str]]) -> list[Cell]:
        groups: dict[tuple, list[dict[str, str]]] = defaultdict(list)
        for row in comparing.good(rows):
            groups[comparing.key_of(row), row["subject"]].append(row)
        out = []
        for (key, subject), found in groups.items():
            for metric in scenarios.metrics_of(key[0], key[2]):
                series = tuple((int(row["round"]), value) for row in found if (value := metric.value(row)))
                if series:
                    middle = (stats.quantile([value for _, value in series], q) for q in (0.5, 0.25, 0.75))
                    limited = comparing.mostly_limited(found, metric)
                    out.append(Cell(key, metric, subject, *middle, len(series), limited, series))
        return sorted(out, key=lambda cell: (comparing.by_size(cell.key), scenarios.METRICS.index(cell.metric), self.rank(cell.subject)))


# ------------------------------------------------------------------------------------------------- reading


def optional(path: Path, header: list[str]) -> list[dict[str, str]]:
    try:
        return tables.read(path, header)
    except (OSError, ValueError):
        return []


def read_hist(path: Path) -> dict[tuple[str, str, str], dict[int, Buckets]]:
    """scenario, params, subject -> round -> buckets in ascending order; of hist.csv or hist.csv.xz."""
    out: dict[tuple[str, str, str], dict[int, Buckets]] = defaultdict(lambda: defaultdict(list))
    if found := tables.stored(path):
        with tables.opened(found) as handle:
            reader = csv.reader(handle)  # there may be a million rows
            columns = operator.itemgetter(*map(next(reader, []).index, HIST))
            for *key, number, lo, hi, count in map(columns, reader):
                out[tuple(key)][int(number)].append((int(lo), int(hi), int(count)))
    return out


def refuse_other(folder: Path) -> None:
    """What `tune` and `qualify` leave is no race: its arms are settings or copies, and its summary.md is its own."""
    other = next((name for name in ("tune.csv", "ablation.csv", "qualify.csv") if (folder / name).exists()), None)
    if other:
        raise Fault(f"{folder.name} is no race", f"it has {other}; its summary.md says what came out", "name the folder of a race", USAGE)


def load(folder: Path) -> Report:
    refuse_other(folder)
    env, rows, comparisons = summary.load(folder)
    try:
        hist = read_hist(folder / "hist.csv")
    except (OSError, EOFError, ValueError, IndexError, lzma.LZMAError) as error:
        raise summary.torn(folder, f"hist.csv: {type(error).__name__}: {error}") from error
    micro, startup = optional(folder / "micro.csv", tables.MICRO), optional(folder / "startup.csv", tables.STARTUP)
    found, statuses = findings.of(env, rows, comparisons), verification.statuses(env.get("verification"))
    return Report(folder, env, rows, comparisons, hist, micro, startup, findings=found, statuses=statuses)


# ------------------------------------------------------------------------------------------------- spectra


def merged(rounds: dict[int, Buckets]) -> Buckets:
    """Histograms merge by addition."""
    total: Counter[tuple[int, int]] = Counter()
    for buckets in rounds.values():
        for lo, hi, count in buckets:
            total[lo, hi] += count
    return [(lo, hi, count) for (lo, hi), count in sorted(total.items())]


def percentiles(buckets: Buckets, depths: Sequence[float] = DEPTHS) -> list[int | None]:
    """By CSV.md's rule; None with fewer than 100 samples above (the median needs one)."""
    seen = list(itertools.accumulate(count for _, _, count in buckets))
    n, out = seen[-1] if seen else 0, []
    for q in depths:
        place = max(1, -(-round(q * n * 1e9) // 10**9))
        told = n and (q <= 0.5 or n - place >= ABOVE)
        out.append(buckets[min(bisect.bisect_left(seen, place), len(seen) - 1)][1] if told else None)
    return out


def curve(buckets: Buckets) -> list[tuple[float, float]]:
    return [(q, float(v)) for q, v in zip(DEPTHS, percentiles(buckets)) if v is not None]


def spread(rounds: dict[int, Buckets]) -> list[tuple[float, float, float]]:
    """The interquartile range over rounds of each percentile that most rounds can tell."""
    out = []
    for q, found in zip(DEPTHS, zip(*(percentiles(sorted(buckets)) for buckets in rounds.values()))):
        values = [v for v in found if v is not None]
        if len(values) >= 3 and 2 * len(values) > len(rounds):
            out.append((q, stats.quantile(values, 0.25), stats.quantile(values, 0.75)))
    return out


# ------------------------------------------------------------------------------------------------ commands


def asked(report: Report) -> argparse.Namespace:
    """What the race's own command has and env.json has not: the paths of programs and of a plan that is not ours."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)  # nightly and compare race, too, with options of theirs
    for option in ("--plan", "--placement", "--block-ms"):
        parser.add_argument(option)
    parser.add_argument("--program", action="append", default=[])
    return parser.parse_known_args(shlex.split(report.race.get("command", "")))[0]


def race_command(report: Report, key: comparing.Key, names: list[str]) -> str:
    """The command that measures this point again and no other, with the race's seed and programs. Its plan may have got another
    placement or length of block then, so it gets them again."""
    race, given, label = report.race, asked(report), tables.label_of(key)
    name = race.get("plan", "quick")
    known = next((one for one in plans.every() if one.name == name), None)
    words = ["scripts/apiary", "race", "--plan", name if known else given.plan or name, "--point", label]
    for option, values in (("subject", names), ("program", given.program)):
        words += [word for value in values for word in (f"--{option}", value)]
    for option, usual in (("workers", 2), ("rounds", 7), ("seed", 1)):
        words += [f"--{option}", str(race.get(option, usual))]
    if label not in {point.label for point in known.points} if known else given.placement:
        words += ["--placement", key[2]]
    if race.get("block_ms", known.block_ms) != known.block_ms if known else given.block_ms:
        words += ["--block-ms", str(race.get("block_ms", given.block_ms))]
    return shlex.join(words)


def subject_command(report: Report, key: comparing.Key, subject: str) -> str:
    """The bare call of one subject, without pairing: a figure of it proves nothing by itself."""
    program = next((arm["program"] for arm in report.race.get("arms", []) if arm["label"] == subject), subject)
    program = next((path for path in asked(report).program if Path(path).name == program), program)
    given = tables.params_of(key[1])
    workers = given.pop("workers", None) or report.race.get("workers", 2)
    params = " ".join(f"--param {name}={value}" for name, value in given.items() if name not in plans.RUNNERS)
    plan = " --plan PLAN" if scenarios.SCENARIOS[key[0]].open_loop else ""
    return f"{program} run --scenario {key[0]} {params} --workers {workers}{plan}"
