"""What report.html shows, computed from a result folder: medians, spectra, colours, commands."""

from __future__ import annotations

import bisect
import csv
import itertools
import operator
import shlex
import zlib
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Sequence

from ..base import stats
from ..verify import verification
from ..race import metrics, plans, scenarios, tables
from ..analysis import comparing, findings, summary
from .html import COLOURS

DEPTHS = [
    0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.965, 0.98, 0.985, 0.99, 0.9925,
    0.995, 0.9975, 0.999, 0.9995, 0.9999, 0.99995, 0.99999,
]
ABOVE = 100
HIST = ("scenario", "scenario_params", "subject", "round", "value_lo_ns", "value_hi_ns", "count")

Buckets = list[tuple[int, int, int]]


@dataclass
class Report:
    """Everything that the sections read."""

    folder: Path
    env: dict
    rows: list[dict[str, str]]
    comparisons: list[comparing.Comparison]
    hist: dict[tuple[str, str, str], dict[int, Buckets]]
    micro: list[dict[str, str]]
    startup: list[dict[str, str]]
    validity: comparing.Validity = None
    findings: list[findings.Finding] = field(default_factory=list)
    statuses: list[verification.Status] = field(default_factory=list)
    colours: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    kept: dict[bool, list[Cell]] = field(default_factory=dict)

    @property
    def race(self) -> dict:
        return self.env.get("race", {})

    def only(self, scenario: str) -> Report:
        """The same of one scenario."""
        return replace(
            self,
            rows=[row for row in self.rows if row["scenario"] == scenario],
            comparisons=[one for one in self.comparisons if one.key[0] == scenario],
            hist={key: found for key, found in self.hist.items() if key[0] == scenario},
            kept={},
        )

    @property
    def own(self) -> set[str]:
        """The arms built from the source that was proved and stressed: ours, the floor among them."""
        marked = {arm["label"] for arm in self.race.get("arms", []) if arm.get("own") and arm["role"] != "baseline"}
        return marked | set(self.ours)

    @property
    def ours(self) -> list[str]:
        return [name for name, role in self.roles.items() if role == "candidate"]

    @property
    def peers(self) -> list[str]:
        return [name for name, role in self.roles.items() if role in ("peer", "baseline")]

    @property
    def bare(self) -> list[str]:
        return [name for name, role in self.roles.items() if role == "bare"]


def optional(path: Path, header: list[str]) -> list[dict[str, str]]:
    try:
        return tables.read(path, header)
    except (OSError, ValueError):
        return []


def read_hist(path: Path) -> dict[tuple[str, str, str], dict[int, Buckets]]:
    """scenario, params, subject -> round -> buckets in ascending order; of hist.csv or hist.csv.gz."""
    out: dict[tuple[str, str, str], dict[int, Buckets]] = defaultdict(lambda: defaultdict(list))
    if found := tables.stored(path):
        with tables.opened(found) as handle:
            reader = csv.reader(handle)  # there may be a million rows
            columns = operator.itemgetter(*map(next(reader, []).index, HIST))
            for *key, number, lo, hi, count in map(columns, reader):
                out[tuple(key)][int(number)].append((int(lo), int(hi), int(count)))
    return out


def load(folder: Path) -> Report:
    env, rows, comparisons = summary.load(folder)
    try:
        hist = read_hist(folder / "hist.csv")
    except (OSError, EOFError, ValueError, IndexError, zlib.error) as error:
        raise summary.torn(folder, f"hist.csv: {type(error).__name__}: {error}") from error
    made = Report(
        folder,
        env,
        rows,
        comparisons,
        hist,
        optional(folder / "micro.csv", tables.MICRO),
        optional(folder / "startup.csv", tables.STARTUP),
    )
    made.validity = comparing.validity(comparisons)
    made.findings = findings.of(env, rows, comparisons)
    made.statuses = verification.statuses(env.get("verification"))
    made.roles = {row["subject"]: row["role"] for row in rows}
    order = made.ours + sorted(made.peers) + made.bare
    made.colours = {name: f"c{i % COLOURS}" for i, name in enumerate(order)}
    return made


def merged(rounds: dict[int, Buckets]) -> Buckets:
    """Histograms merge by addition."""
    total: dict[tuple[int, int], int] = defaultdict(int)
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


def cells(report: Report, controls: bool = False) -> list[Cell]:
    """Medians with their interquartile range; ours first, then the peers by name. Kept: every section asks."""
    if controls not in report.kept:
        report.kept[controls] = computed(report, controls)
    return report.kept[controls]


def computed(report: Report, controls: bool) -> list[Cell]:
    groups: dict[tuple, list[dict[str, str]]] = defaultdict(list)
    for row in comparing.good(report.rows):
        if controls or row["row_kind"] == "measure":
            groups[comparing.key_of(row), row["subject"]].append(row)
    out = []
    for (key, subject), rows in sorted(groups.items(), key=lambda item: (item[0][0], rank(report, item[0][1]))):
        scenario = scenarios.SCENARIOS.get(key[0])
        for metric in scenario.metrics_at(key[2]) if scenario else ():
            series = tuple((int(r["round"]), value) for r in rows if (value := metric.value(r)))
            if series:
                values = [value for _, value in series]
                limited = comparing.mostly_limited(rows, metric)
                middle = (stats.quantile(values, q) for q in (0.5, 0.25, 0.75))
                out.append(Cell(key, metric, subject, *middle, len(values), limited, series))
    order = {metric.column: i for i, metric in enumerate(scenarios.METRICS)}
    return sorted(out, key=lambda c: (c.key, order[c.metric.column], rank(report, c.subject)))


def first_metric(key: comparing.Key) -> metrics.Metric | None:
    return scenarios.known_by(key[0], key[2])


def rank(report: Report, subject: str) -> tuple[bool, str]:
    return report.roles.get(subject) != "candidate", subject


def race_command(report: Report, key: comparing.Key, names: list[str]) -> str:
    """The command that measures this point again and no other, with the race's seed. Its plan may have got another
    placement or length of block then, so it gets them again."""
    race = report.race
    name = race.get("plan", "quick")
    label = " ".join(filter(None, (*key[:2], "" if key[2] == "free" else key[2])))
    known = {one.name: one for one in plans.every()}.get(name)
    words = ["scripts/apiary", "race", "--plan", name, "--point", label]
    for one in names:
        words += ["--subject", one]
    words += [
        "--workers", str(race.get("workers", 2)),
        "--rounds", str(race.get("rounds", 7)),
        "--seed", str(race.get("seed", 1)),
    ]
    if known and label not in {point.label for point in known.points}:
        words += ["--placement", key[2]]
    if known and race.get("block_ms", known.block_ms) != known.block_ms:
        words += ["--block-ms", str(race["block_ms"])]
    return shlex.join(words)


def subject_command(report: Report, key: comparing.Key, subject: str) -> str:
    """The bare call of one subject, without pairing: a figure of it proves nothing by itself."""
    program = next((arm["program"] for arm in report.race.get("arms", []) if arm["label"] == subject), subject)
    given = tables.params_of(key[1])
    workers = given.pop("workers", None) or report.race.get("workers", 2)
    params = " ".join(f"--param {name}={value}" for name, value in given.items() if name not in plans.RUNNERS)
    plan = " --plan PLAN" if scenarios.SCENARIOS[key[0]].open_loop else ""
    return f"{program} run --scenario {key[0]} {params} --workers {workers}{plan}"
