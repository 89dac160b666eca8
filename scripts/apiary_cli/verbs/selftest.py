"""selftest: one defect of each kind, planted: is the part of the night that should be red red, and green without it?"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Iterator

from ..base import building, json_result, proc, repo, sources
from ..base.errors import Fault, tail, unknown
from ..base.say import colour, duration, markdown, say, table
from ..night import store as night
from ..night.unit import Unit
from ..race import plans, rounds, subjects
from ..analysis import qualification
from ..verify import enduring, exact, stressing
from ..verify.enduring import Cell, PLAIN, WORKS
from ..verify.verdicts import wrong
from . import entrants, qualify, setup, soak

SUMMARY = "plants a defect of each kind: the part of the night that it is for must be red, and green without it"
DESCRIPTION = """\
Plants one defect of each kind: a weakened order, a dropped statement, a lost, doubled and late task, a lost
wake-up, a leak, a race, a use after free, 10 % more time, an allocation and an instruction more, a twin that does
less, a stale binary, a result file that is cut short, a worker that lies about its hash. Each is shown to the part
of the night that it is for, which judges by its own code. A row is good if the part is red with the defect and
green without. Time is planted at a pinned point, three tries at most. The night runs this first.

writes:  build/selftest.json, build/selftest.md
takes:   building some programs of five presets, then about two minutes
exit:    0 every defect was seen, and nothing else was red; 1 not; 3 it could not be built"""

RECORD, PAGE = repo.BUILD / "selftest.json", repo.BUILD / "selftest.md"
CHECK, ASKED = "idle_set_check", "sleeper_sees_the_post"
SUBJECT, ROUNDS, TRIES = "bare_pool", 10, 3
LASTS = 0.5  # seconds of a planted scheduler whose defect shows by and by


@dataclass
class Seen:
    """What the part said: with the defect, and without."""

    red: bool
    said: str
    green: bool
    said_without: str = ""
    again: str = ""
    tried: bool = True

    @property
    def good(self) -> bool:
        return self.red and self.green


@dataclass(frozen=True)
class Plant:
    defect: str
    part: str  # of the night
    how: str
    look: Callable[[], Seen]


# ---- prove: a model check whose code is changed as it runs


def verdict_of(*more: str) -> tuple[dict, str]:
    program = repo.BUILD / "model" / "bin" / CHECK
    words = [str(program), ASKED, "--engine", "explorer", "--no-trace", *more]
    sources.refuse_other(repo.BUILD / "model", [program], "scripts/apiary build model")
    done = proc.run([*words, "--json", "-"], timeout=120)
    found = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    if done.rc not in (0, 1) or len(found) != 1:
        raise Fault(f"{CHECK} {done.how()}", tail(done.err + done.out, 600), shlex.join(words))
    return found[0], shlex.join([str(repo.shown(program)), *words[1:]])


def mutated(mutant: str) -> Seen:
    without, _ = verdict_of()
    planted, again = verdict_of("--mutate", mutant)
    return Seen(wrong(planted), planted.get("reason", ""), not wrong(without), without["verdict"], again)


def weakened_order() -> Seen:
    """The step by which a worker announces that it sleeps, which a poster's look must not miss."""
    sites, _ = verdict_of()
    site = next((name for name, order in sites["sites"].items() if "idle_set.hpp" in name and name.endswith("fetch_add") and order == "seq_cst"), "")
    if not site:
        raise Fault(f"{ASKED} runs no fetch_add of idle_set.hpp any more", "", "name another site in verbs/selftest.py")
    return mutated(f"{site}=relaxed")


def dropped_statement() -> Seen:
    return mutated("recheck:sleeper.last_look")


# ---- soak and stress: planted schedulers in the place of one of ours


def row_of(name: str, preset: str, seconds: float) -> tuple[dict, str]:
    enduring.must_be_built(preset)
    cell = Cell(name, preset, seconds=seconds, watchdog=1.0 if name == "planted_hangs" else 20.0)
    ((_, rows),) = enduring.run([cell], "selftest")
    return enduring.judged(rows[0], preset), enduring.replay(cell, rows[0])


def planted(name: str, preset: str = PLAIN, seconds: float = 0.0, sign: str = "") -> Seen:
    """Red, and for its own reason; the honest one is the smallest of ours."""
    row, again = row_of(name, preset, seconds)
    without, _ = row_of("bare_pool", preset, seconds)
    red = row["word"] in enduring.RED and sign in row["said"]
    named = next((line for line in row["said"].splitlines() if sign and sign in line), row["said"].splitlines()[0] if row["said"] else "")
    return Seen(red, f"{row['word']}: {named.strip()}", without["word"] == WORKS, without["word"], again)


# ---- exact: a driver with one more


def more(operation: str, count: str) -> Seen:
    program = repo.BUILD / "release" / "bin" / "planted_exact"
    sources.refuse_other(repo.BUILD / "release", [program], "scripts/apiary selftest")
    plain = {figure.count: figure.per_operation for figure in exact.slope(program, "plain")}
    changed = {figure.count: figure.per_operation for figure in exact.slope(program, operation)}
    judge = lambda after: exact.changes({("planted", "step", count): plain[count]}, [exact.Figure("planted", "step", count, after)])[0]  # noqa: E731
    found, same = judge(changed[count]), judge(plain[count])
    return Seen(found.red, f"{found.word}: {count} {found.before:g}, then {found.after:g}", not same.red, same.word,
                f"valgrind --tool=callgrind {repo.shown(program)} run {operation} {exact.N}")


# ---- race: copies of one program, one of which is 10 % slower


def more_time() -> Seen:
    program = repo.BUILD / "release" / "bin" / f"subject_{SUBJECT}"
    entrants.refuse_other_source([program])
    subject, like = subjects.introduce(program), qualify.AS["one_cpu"]
    said, red, green = [], False, False
    for _ in range(TRIES):
        plan = plans.Plan("selftest", qualification.points("one_cpu")[:1], ROUNDS, ROUNDS, batches=1, block_ms=like.block_ms,
                          warmup_blocks=like.warmup_blocks, controls=False)
        with tempfile.TemporaryDirectory(prefix="apiary-selftest-") as scratch:
            arms = qualify.line_up(subject, Path(scratch))
            state = rounds.Race(plan, arms, 2, 1, "selftest", "selftest", repo.commit(), Path(scratch))
            with rounds.measuring(state):
                trials = qualify.measure(state, 1)
        slow = [trial for trial in trials if trial.kind == "slow10"]
        red, green = any(trial.alarm for trial in slow), bool(slow) and not any(trial.alarm for trial in trials if trial.kind == "aa")
        said.append(", ".join(f"×{trial.found.ratio:.3f} of a margin of {100 * trial.margin:.1f} %: {trial.verdict}" for trial in slow) or "no pair")
        if red and green:
            break
    return Seen(red, f"{said[-1]} (try {len(said)} of {TRIES})", green, "equal copies are not called different" if green else "equal copies differ",
                f"scripts/apiary qualify --subject {SUBJECT} --batches 1 --rounds {ROUNDS}")


# ---- the harness's own readers


def tested(with_defect: str, without: str) -> Seen:
    """By tests that hold the part to both."""
    done = {name: proc.run([sys.executable, "-m", "unittest", f"tests.{name}"], cwd=repo.ROOT / "scripts", timeout=300, merge=True)
            for name in (with_defect, without)}
    bad, good = done[with_defect], done[without]
    last = lambda one: "caught, as its test says" if one.ok else tail(one.out, 300)  # noqa: E731
    return Seen(bad.ok and "skipped" not in bad.out, last(bad), good.ok, "" if good.ok else last(good),
                f"(cd scripts && python3 -m unittest tests.{with_defect})")


def stale_binary() -> Seen:
    """A copy of a program whose record names another version of its source."""
    enduring.must_be_built(PLAIN)
    program, name = enduring.program(PLAIN), "stress/night/night.cpp"
    told = next((hash for hash, of in sources.recorded(program) or () if of == name), "")
    with tempfile.TemporaryDirectory(prefix="apiary-selftest-") as folder:
        same, other = Path(folder, "same"), Path(folder, "other")
        shutil.copyfile(program, same)
        entry = f"{told}  {name}".encode()
        other.write_bytes(program.read_bytes().replace(entry, (("0" if told[:1] != "0" else "1") + told[1:]).encode() + entry[len(told):]))
        now = sources.Present()
        differing, fresh = now.differing(other), now.differing(same)
    return Seen(bool(told) and differing == [name], f"refused: {', '.join(differing)} changed since it was built", not fresh, "taken", "")


def a_result() -> dict:
    return {"schema": 1, "unit": "0" * 32, "kind": "selftest", "name": "planted", "ended": "", "rc": 0, "seconds": 0.1, "output": "", "lines": []}


def cut_short() -> Seen:
    with tempfile.TemporaryDirectory(prefix="apiary-selftest-") as folder:
        store, result = night.Store(Path(folder)), night.sealed(a_result())
        store.put(result)
        green, path = store.get(result["unit"]) == result, store.path(result["unit"])
        path.write_text(path.read_text()[: path.stat().st_size // 2])
        found = store.get(result["unit"])
        return Seen(found is None and bool(store.garbage), (store.garbage or ["it was taken"])[-1], green, "taken", "")


def lies_about_its_hash() -> Seen:
    """A result under the key of another unit, and one whose contents are not those of its digest."""
    honest = night.sealed(a_result())
    others, changed = night.faults(honest, "1" * 32), night.faults(honest | {"rc": 1}, honest["unit"])
    return Seen(bool(others) and bool(changed), f"refused: {others}; {changed}", not night.faults(honest, honest["unit"]), "taken", "")


TRUST = "test_trust.Trust."
PLANTS = (
    Plant("weakened order", "prove", f"a seq_cst step of idle_set.hpp made relaxed, under {ASKED}", weakened_order),
    Plant("dropped statement", "prove", "a sleeper's last look left out", dropped_statement),
    Plant("lost task", "soak", "a scheduler that drops each hundredth piece", lambda: planted("planted_loses", sign="lost")),
    Plant("doubled task", "soak", "a scheduler that runs each hundredth piece twice", lambda: planted("planted_doubles", sign="twice")),
    Plant("late task", "soak", "a scheduler that runs pieces after its stop has returned", lambda: planted("planted_late", sign="after the stop")),
    Plant("lost wake-up", "soak", "a scheduler that keeps pieces and sleeps", lambda: planted("planted_hangs", sign="no progress")),
    Plant("leak", "soak", "16 KiB for each hundredth piece, by resident memory", lambda: planted("planted_leaks", seconds=LASTS, sign="a leak")),
    Plant("race", "stress", "a count without a lock, by ThreadSanitizer", lambda: planted("planted_races", "tsan", sign="data race")),
    Plant("use after free", "stress", "a read of a block that was given back, by AddressSanitizer",
          lambda: planted("planted_uses_freed", "asan-ubsan", sign="heap-use-after-free")),
    Plant("+ 10 % time", "race", f"{SUBJECT} with a built-in slow-down at a pinned point", more_time),
    Plant("+ 1 allocation", "exact", "an operation with one allocation more", lambda: more("allocation", "allocations")),
    Plant("+ 1 instruction", "exact", "an operation with one instruction more", lambda: more("instruction", "instructions")),
    Plant("a twin that does less", "race", "a subject that does fewer operations than it was given",
          lambda: tested(TRUST + "test_ops_always_in_post_throughput_is_caught", TRUST + "test_an_honest_subject_is_believed")),
    Plant("a stale binary", "build", "a program whose record names another source", stale_binary),
    Plant("a result file cut short", "units", "half of a unit's result", cut_short),
    Plant("a worker that lies about its hash", "units", "a result under another unit's hash; one that was changed", lies_about_its_hash),
)


def slug(plant: Plant) -> str:
    return plant.defect.replace("+ ", "more ").replace(" % ", " percent ").replace(" ", "_")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="DEFECT", help=f"of {', '.join(map(slug, PLANTS))} (default: all)")
    parser.add_argument("--no-build", action="store_true", help="take the builds as they are, if they are of this source")


def units() -> list[Unit]:
    """For a night: all of it, first, on each day and machine anew: it is about this machine and its tools, too."""
    return [Unit("selftest", "every kind of defect", sys.executable, (str(repo.ROOT / "scripts" / "apiary"), "selftest", "--no-build"),
                 salt=f"{repo.source_hash(*repo.STRESSED_FOLDERS, 'scripts')} {repo.host()} {repo.utc_stamp()[:8]}", tree=True, limit=600.0, replay="scripts/apiary selftest")]


def build_all() -> None:
    setup.ensure(quiet=True)
    for preset in (PLAIN, *stressing.PRESETS):
        building.build(preset, only="night")
    building.build("model", only="checks", names=(CHECK,))
    building.build("release", only="planted")
    building.build("release", only="subjects", names=(f"subject_{SUBJECT}",))


def look(plant: Plant) -> Seen:
    """A row that cannot be tried is no good row."""
    try:
        return plant.look()
    except Fault as fault:
        return Seen(False, fault.seen, False, fault.remedy, tried=False)


def tried(plants: list[Plant]) -> Iterator[tuple[Plant, Seen, float]]:
    for plant in plants:
        began = time.monotonic()
        yield plant, look(plant), time.monotonic() - began


def row(plant: Plant, seen: Seen, seconds: float) -> list[str]:
    words = ["red" if seen.red else "NOT SEEN", "green" if seen.green else f"RED: {seen.said_without}"] if seen.tried else ["not tried"] * 2
    return [plant.defect, plant.part, *words, f"{seconds:.1f}",
            seen.said.splitlines()[0][:100] if seen.said else ""]


HEAD = ["defect", "part", "with it", "without", "s:n", "what was said"]


def run(args: argparse.Namespace) -> int:
    known = {slug(plant): plant for plant in PLANTS}
    for name in args.names:
        if name not in known:
            raise unknown("defect", name, known)
    if not args.no_build:
        build_all()
    began, rows, found = time.monotonic(), [], []
    for plant, seen, seconds in tried([known[name] for name in args.names] or list(PLANTS)):
        rows.append(row(plant, seen, seconds))
        found.append({"defect": plant.defect, "part": plant.part, "how": plant.how, "red": seen.red, "green": seen.green, "said": seen.said,
                      "said_without": seen.said_without, "seconds": round(seconds, 1), "again": seen.again})
        if not seen.good:
            how = "could not be tried" if not seen.tried else f"not seen by {plant.part}" if not seen.red else f"red without it, too, by {plant.part}"
            say(colour(f"{plant.defect}: {how}: {'; '.join(filter(None, (seen.said, seen.said_without)))}", "red"))
    bad = sum(not (one["red"] and one["green"]) for one in found)
    say(table(HEAD, rows))
    head = f"# Selftest: {'RED' if bad else f'{len(found)} defects seen'}"
    repo.write_text(PAGE, "\n".join([head, "", f"commit {repo.commit()[:12]}, {repo.utc_stamp()}", "", *markdown(HEAD, rows)]) + "\n")
    record = {"schema_version": 1, "utc": repo.utc_stamp(), "commit": repo.commit(), "passed": not bad, "plants": found}
    repo.write_json(RECORD, record)
    json_result.note(**record)
    say(f"{len(found)} defects, {bad} not as they should be, {duration(time.monotonic() - began)}; {repo.shown(PAGE)}")
    return 1 if bad else 0
