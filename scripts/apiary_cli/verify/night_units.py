"""The units of a night that prove, stress and mutate: lists, made without running more than `--list` of what is built."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

from ..base import repo, sources
from ..night.store import Store
from ..night.unit import VERDICTS, Unit
from . import checks, inventory, logic, mutation, search_parts, stressing

APIARY = Path(__file__).resolve().parents[2] / "apiary"
SHARDS_OF_A_DRAW = 6            # units of the logic mutants that a day draws
RUN_SECONDS = 10.0              # of a stress program with one seed
HUNT_SECONDS = 60.0             # of a suite, through all its cases
SEEDS_OF_A_HUNT = 10**6         # that a day has to itself
HOUR = 3600.0
VERIFY = "scripts/apiary_cli/verify"  # says which mutants there are, and what kills one
LOGIC, LOGIC_FOLDERS = "logic", (*repo.PROVED_FOLDERS, "stress")
MARGIN = 3                      # a stress under a sanitizer may take so often its seconds to begin and end


def of_entry(entry: checks.Entry, engine: str, store: Store) -> Unit:
    kind = "exhibit" if entry.kind == "exhibit" else "search"
    if engine == "explorer" and search_parts.divides(entry):
        return search_parts.part(entry, [search_parts.WHOLE], store)
    return Unit(kind, f"{entry.name} {engine}", str(entry.program), (entry.name, "--engine", engine, "--json", "{out}"), limit=HOUR,
                reads=VERDICTS, replay=f"scripts/apiary prove {entry.name} --engine {engine}")


def searches(entries: list[checks.Entry], store: Store, kinds: tuple[str, ...] = ("check", "exhibit")) -> list[Unit]:
    """Whole: each check by each engine, the exhibits until they are seen."""
    return [of_entry(entry, engine, store) for entry in entries if entry.kind in kinds for engine in entry.engines]


def seeds(day: datetime.date, number: int) -> list[int]:
    """Others on each day, and the same on every machine."""
    return [day.toordinal() * 100 + i for i in range(number)]


def stresses(day: datetime.date, number: int = 1, seconds: float = RUN_SECONDS) -> list[Unit]:
    found = []
    for i, seed in enumerate(seeds(day, number)):
        for run in stressing.plan([name for name in stressing.PRESETS if of_this_source(name, "stress")], [], [seed]):
            program, words, files = stressing.unit_command(run.preset, run.program, stressing.command(run, seconds, None)[1:])
            again = "" if i == 0 else f" {i + 1}"
            found.append(Unit("stress", f"{run.name} {run.preset}{again}", program, words, files, tuple(stressing.SANITIZER_ENV.items()),
                              limit=MARGIN * seconds + 120, replay=f"scripts/apiary stress {run.name} --preset {run.preset} "
                              f"--seed {seed} --seconds {seconds:g}"))
    return found


def of_this_source(preset: str, kind: str) -> list[Path]:
    """All programs of a kind, or none: where one cannot be built, the night has its other units all the same."""
    found = repo.manifest(preset, kind)
    return found if all(path.exists() for path in found) and not sources.of(repo.BUILD / preset, found) else []


def hunts(day: datetime.date, seconds: float = HUNT_SECONDS) -> list[Unit]:
    """Our own suites under drawn schedules and stale reads, from where no other day hunted."""
    found, seed = [], str(day.toordinal() * SEEDS_OF_A_HUNT)
    for program in of_this_source("model", "hunted"):
        words = ("hunt", "--time", f"{seconds:g}s", "--jobs", "1", "--seed", seed, "--")
        found.append(Unit("hunt", program.name, sys.executable, ("{apiary}", *words, "{program}"), (("apiary", str(APIARY)), ("program", str(program))),
                          salt=repo.source_hash("model_check/hunt"), tree=True, limit=3 * seconds + 300, lasts=seconds,
                          replay=f"scripts/apiary {' '.join(words)} {repo.shown(program)}"))
    return found


def by_verb(kind: str, name: str, words: list[str], folders: tuple[str, ...], limit: float) -> Unit:
    """A unit that is a call of this command, in this checkout."""
    salt = f"{repo.source_hash(*folders, VERIFY)} {repo.reasons_hash()}"
    return Unit(kind, name, sys.executable, ("{apiary}", *words), (("apiary", str(APIARY)),), salt=salt, tree=True, limit=limit,
                memory=0, replay=f"scripts/apiary {' '.join(words)}")


def mutants(build: bool) -> list[Unit]:
    """A unit for each header with atomic sites that an engine runs: all its weaker orders. Where all orders are relaxed, none is weaker."""
    files = sorted({item.file for item in inventory.read()[0] if not item.real_only and mutation.mutants(item)})
    more = [] if build else ["--no-build"]
    return [by_verb("mutant", header_name(file), ["mutate", file, "--jobs", "1", *more], repo.PROVED_FOLDERS, HOUR)
            for file in files]


def changed_since(commit: str) -> frozenset[str]:
    """The mutants whose header is another than in that commit, of the last night; none where git does not know it."""
    told = repo.git("diff", "--name-only", commit, "--", "impl/apiary")
    new = repo.git("ls-files", "--others", "--exclude-standard", "--", "impl/apiary") if told is not None else ""
    files = [*(told or "").split(), *(new or "").split()]
    return frozenset(f"mutant {header_name(file)}" for file in files if file.endswith(".hpp"))


def header_name(file: str) -> str:
    return file.removeprefix("impl/apiary/").removesuffix(".hpp")


def logic_of_headers(names: frozenset[str], build: bool) -> list[Unit]:
    """All logic mutants of each of these headers, by the names of such units. A name that is no header with mutants is none: it was
    renamed, or is a part of a draw."""
    wanted = {header for kind, _, header in (name.partition(" ") for name in names) if kind == LOGIC and "/" in header}
    files = sorted({m.file for m in logic.catalogue() if header_name(m.file) in wanted}) if wanted else []
    more = [] if build else ["--no-build"]
    return [by_verb(LOGIC, header_name(file), ["mutate", "--logic", file, "--shard", "1", "--jobs", "1", *more], LOGIC_FOLDERS, 2 * HOUR)
            for file in files]


def logic_mutants(day: datetime.date, build: bool) -> list[Unit]:
    """The sixth that this day draws, in parts, each of which goes on where it was stopped."""
    drawn, of = logic.draw_of(day).number, logic.DRAWS * SHARDS_OF_A_DRAW
    more = [] if build else ["--no-build"]
    parts = range((drawn - 1) * SHARDS_OF_A_DRAW + 1, drawn * SHARDS_OF_A_DRAW + 1)
    return [by_verb(LOGIC, f"part {number} of {of}", ["mutate", "--logic", "--shard", f"{number}/{of}", "--jobs", "1", *more],
                    LOGIC_FOLDERS, 2 * HOUR) for number in parts]


def outside() -> list[Unit]:
    """Code that nobody here wrote, in sizes that `prove` has no time for: as its pages say? They are no source, so the salt is without
    them."""
    folder = repo.ROOT / "model_check" / "outside"
    table, pages = folder / "table_test.py", tuple((name, str(folder / name)) for name in ("README.md", "TROPHIES.md"))
    return [Unit("outside", program.name, sys.executable, ("{table}", "--long", "{program}"), (("table", str(table)), ("program", str(program)), *pages),
                 salt=repo.source_hash("model_check/outside"), tree=True, limit=HOUR,
                 replay=f"python3 {repo.shown(table)} --long {repo.shown(program)}") for program in sources.built("model", "long")]
