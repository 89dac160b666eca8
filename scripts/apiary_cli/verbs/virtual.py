"""virtual: how the schedulers scale, on processors that do not exist."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path
from typing import Iterable

from ..analysis import virtual_ablation, virtual_points
from ..base import argument_kinds, building, json_result, proc, repo
from ..base.errors import Fault, INCORRECT, USAGE, unknown
from ..base.say import colour, counted, duration, heading, say, table, warn
from ..report import panels
from ..verify import exact
from . import setup, virtual_ablate

SUMMARY = "scaling curves on a virtual machine, and which cache lines bend them"
DESCRIPTION = """\
Runs whole schedulers on a multiprocessor that does not exist (bench/virtual): a process for each scenario and
number of workers, the same figures each time. Prints for each operation the time, the speed-up over the first number
of workers, and how many cache lines moved between processors; then which lines, by object, and which places moved
them. It is a model: bench/virtual/README.md says what it does not see, and each profile where its prices come from.
--compare prints beside each curve what races recorded of it, how far the model is off, and whether that is within
the larger of 30 % and that point's own recorded spread. --robust runs the last number of workers again with each
price halved and doubled, and names the changes under which another line costs most.
--ablate runs every point again without each rule of the workers, with each switch the other way round and with each
number halved and doubled, 1 to 64 workers unless --processors says so, and tells where that is slower and where faster.
--gate holds the moves and accesses of every scenario, with 1 to 16 workers, to those recorded for this compiler in
results/virtual/. They are counted, not measured: a difference in the fourth decimal of an operation is red, and is
recorded (--update) with the change that explains it. Of a program with many operations a few moves may differ unseen.

writes:  nothing, but with --json; with --csv or --draw that file; with --update results/virtual/COMPILER.csv
takes:   about a minute after building, with 256 workers several; --robust some fifty points for each scenario
exit:    0 every answer is right, and nothing differs; 1 a wrong answer, a deadlock, a point that does not end, or a
         count that differs or is not recorded; 2 bad arguments; 3 the harness failed"""

WORKERS = [1, 2, 4, 8, 16, 32, 64]
MOST = 256  # that crews can have
GATED = [1, 2, 4, 8, 16]
COLUMNS = ["subject", "scenario", "workers", "moves", "accesses"]
PROFILES = repo.ROOT / "bench" / "virtual" / "profiles"


def numbers(text: str) -> list[int]:
    """1,2,4: in this order, each once."""
    found = [argument_kinds.whole(1, MOST)(word.strip()) for word in text.split(",")]
    if len(set(found)) != len(found):
        raise argument_kinds.refuse(text, "a list in which each number stands once")
    return found


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("subject", nargs="*", default=[], help="schedulers (default: all)")
    argument_kinds.repeatable(parser, "--scenario", "NAME", "this one alone; repeatable")
    parser.add_argument("--processors", "--workers", type=numbers, metavar="N,N,…",
                        help=f"numbers of workers, one to a processor, 1 to {MOST}; one more processor stands outside "
                             f"(default {','.join(map(str, WORKERS))})")
    parser.add_argument("--profile", default="flat", help="prices: a name in bench/virtual/profiles, or a file (default flat)")
    argument_kinds.repeatable(parser, "--price", "NAME=NUMBER", "one price of the profile changed; repeatable")
    argument_kinds.repeatable(parser, "--param", "NAME=NUMBER", "this size of the program, in place of the usual one; repeatable")
    parser.add_argument("--lines", type=argument_kinds.whole(0, 100), default=3, metavar="N",
                        help="list so many of the lines that cost most, for the last number of workers (default 3)")
    parser.add_argument("--host-seconds", type=argument_kinds.seconds, default=300.0, metavar="S",
                        help="at most so long for one point (default 300)")
    parser.add_argument("--compare", action="store_true", help="print beside each curve what races recorded")
    parser.add_argument("--robust", action="store_true", help="say whether the most expensive line stays so at other prices")
    parser.add_argument("--csv", metavar="FILE", help="write the points to FILE")
    parser.add_argument("--draw", metavar="FILE", help="write the curves to FILE, as SVG")
    parser.add_argument("--drawn", metavar="NAME,NAME,…", help="with --draw: only these scenarios")
    parser.add_argument("--before", metavar="FILE", help="with --draw: also draw, dotted, a file that --csv wrote for other sources")
    parser.add_argument("--ablate", action="store_true", help="run again with each rule and number of the schedulers changed in turn")
    argument_kinds.repeatable(parser, "--rule", "NAME", "with --ablate: this number alone, such as naps; repeatable")
    parser.add_argument("--gate", action="store_true", help="compare with the record; a difference is red")
    parser.add_argument("--update", action="store_true", help="record what was counted")
    parser.add_argument("--no-build", action="store_true", help="take the build as it is")


def program() -> Path:
    found = repo.built("release", "virtual")
    if not found:
        raise Fault("there is no apiary_virtual", "build/release/manifest/virtual.txt names none", "scripts/apiary build release")
    return found[0]


def profile(name: str) -> Path:
    path = PROFILES / f"{name}.profile"
    if path.exists():
        return path
    if Path(name).is_file():
        return Path(name)
    raise unknown("profile", name, [known.stem for known in PROFILES.glob("*.profile")])


def chosen(subjects: list[str], scenarios: list[str], listed: list[list[str]]) -> list[tuple[str, str]]:
    for kind, words, column in (("subject", subjects, 0), ("scenario", scenarios, 1)):
        for word in words:
            if word not in (known := [row[column] for row in listed]):
                raise unknown(kind, word, known)
    wanted = [(row[0], row[1]) for row in listed if (not subjects or row[0] in subjects) and (not scenarios or row[1] in scenarios)]
    if not wanted:
        raise Fault(f"no scenario of {', '.join(subjects)} is called {', '.join(scenarios)}", "",
                    "the scenarios:\n" + "\n".join(" ".join(row[:2]) for row in listed), USAGE)
    return wanted


def name_plain_code(binary: Path, points: list[dict], lines: int) -> None:
    """Plain code is known by its distance from the program's beginning; debugging information has its file and line."""
    shown = [p for point in points for line in point["lines"][: max(lines, 1)] for p in line["places"][:3]]
    places = [p for p in shown if p["function"] == "plain code"]
    addresses = sorted({int(p["place"].partition(":")[2]) for p in places})
    if not addresses or not shutil.which("addr2line"):
        return
    told = proc.run(["addr2line", "-e", str(binary), *(hex(one - 1) for one in addresses)], timeout=60)  # of the call itself
    names = dict(zip(addresses, told.out.splitlines())) if told.ok else {}
    for p in places:
        name = names.get(int(p["place"].partition(":")[2]), "??")
        if not name.startswith("??"):
            p["place"] = name.partition(" (discriminator")[0].replace(f"{repo.ROOT}/", "")


def show(points: list[dict], lines: int) -> None:
    """The curve of one scenario, and the lines of its last point."""
    first, last = points[0], points[-1]
    heading(f"{first['subject']} {first['scenario']}, for each {first['operation']}")
    rows = [[str(p["workers"]), f"{p['ns']:.2f}", f"{first['ns'] / p['ns']:.2f}", f"{p['moves']:.3f}", f"{p['sleeps']:.4f}"]
            for p in points]
    say(table(["workers:n", "ns:n", "speed-up:n", "moves:n", "sleeps:n"], rows))
    rows = []
    for line in last["lines"][:lines]:
        rows.append([f"{line['object']}+{line['offset']}", f"{line['moves']:.3f}", f"{line['ns']:.1f}", ", ".join(line["members"])])
        for p in line["places"][:3]:
            where = f"{p['access']} {p['place'].rpartition('/')[2]} {p['function'].partition('<')[0]}"
            rows.append(["", f"{p['moves']:.3f}", f"{p['ns']:.1f}", where])
    if rows:
        say(table([f"line, at {last['workers']}", "moves:n", "ns:n", "members; place"], rows))


POINT = ["subject", "scenario", "operation", "workers", "ns", "moves", "accesses", "sleeps", "wakes", "yields", "heavy_fences"]


def write_points(path: Path, points: list[dict], prices: str) -> None:
    repo.write_csv(path, [*POINT, "prices"], [[*(p.get(name, "") for name in POINT), prices] for p in points])


def read_points(path: Path) -> list[dict]:
    if not path.is_file():
        raise Fault(f"--before {path} is no file", "", "what --csv wrote", USAGE)
    rows = repo.read_csv(path, [*POINT, "prices"], "what --csv wrote", USAGE)
    return [row | {"workers": int(row["workers"]), "ns": float(row["ns"])} for row in rows]


def measured(points: list[dict], known: dict) -> None:
    """The curve beside races."""
    rows = virtual_points.comparison(points, known)
    if not rows:
        say("no race has recorded this")
        return
    head = [name + (":n" if at < 6 else "") for at, name in enumerate(virtual_points.HEAD)]
    say(table(head, [[*row[:6], colour(row[6], "red") if row[6] == "out" else row[6], row[7]] for row in rows]))


def robust(binary: Path, usual: dict, prices: Path, given: list[str], sizes: list[str], seconds: float, lines: int) -> dict[str, list[list[str]]]:
    """The last point of a scenario under each price halved and doubled."""
    key = [usual["subject"], usual["scenario"], str(usual["workers"])]
    now = virtual_points.prices_of(prices) | {name: float(n) for name, n in (price.split("=") for price in given)}
    changes = virtual_points.other_prices(now)
    words = ["--profile", str(prices), *sizes, *(word for price in given for word in ("--price", price))]
    specs = [proc.Spec([binary, *key, *words, "--price", change], timeout=seconds, tag=change) for change in changes]
    found, failed = {}, []
    for done in counted(f"prices, {' '.join(key)}", proc.run_many(specs, os.cpu_count() or 1), len(specs)):
        if done.ok:
            found[done.tag] = json.loads(done.out)
        else:
            failed.append([done.tag, "", "did not end" if done.timed_out else done.err.strip()])
    heading(f"{' '.join(key)}: each price halved and doubled")
    first = virtual_points.first_lines(usual, 1)
    times = sorted(p["ns"] for p in found.values())
    if not first or not times:
        say("no line moves")
        return {"other": [], "failed": failed}
    other = virtual_points.upset(usual, found, max(lines, 1))
    say(f"{first[0]} costs most in {len(found) - len(other)} of {len(found)}; {times[0]:.2f} to {times[-1]:.2f} ns, usually "
        f"{usual['ns']:.2f}")
    if other or failed:
        say(table(["price", "ns:n", "lines that cost most"], other + failed))
    return {"other": other, "failed": failed}


def recorded_in() -> Path:
    return repo.RESULTS / "virtual" / f"{exact.compiler()}.csv"


def counts_of(points: Iterable[dict]) -> dict[tuple[str, str, str], tuple[str, str]]:
    return {(p["subject"], p["scenario"], str(p["workers"])): (f"{p['moves']:.4f}", f"{p['accesses']:.4f}") for p in points}


def differences(path: Path, now: dict[tuple[str, str, str], tuple[str, str]]) -> list[str]:
    """What was counted beside what is recorded: each point that differs, is new, or is gone."""
    if not path.exists():
        return [f"nothing is recorded for this compiler: scripts/apiary virtual --update ({path.name})"]
    rows = repo.read_csv(path, COLUMNS, "scripts/apiary virtual --update")
    before = {(r["subject"], r["scenario"], r["workers"]): (r["moves"], r["accesses"]) for r in rows}
    nothing = ("nothing", "nothing")
    told = []
    for key in sorted(before.keys() | now.keys()):
        was, is_now = before.get(key, nothing), now.get(key, nothing)
        told += [f"{' '.join(key)}: {what} {a} -> {b}" for what, a, b in zip(COLUMNS[3:], was, is_now) if a != b]
    return told


def picture(points: list[dict], prices: str, before: list[dict] | None) -> str:
    """Those of `before` that are of the same scenarios and workers are dotted."""
    known = {(p["subject"], p["scenario"], p["workers"]) for p in points}
    former = [p for p in before or [] if (p["subject"], p["scenario"], p["workers"]) in known]
    note = f"ns for each operation by workers; a model (prices: {prices}), not a measurement{'; dotted: before' if former else ''}"
    return panels.drawn(curves(points), note, "nanoseconds for each operation, by workers, on the virtual machine",
                        sorted({p["workers"] for p in points}), curves(former))


def curves(points: list[dict]) -> list[panels.Point]:
    return [panels.Point(p["subject"], p["scenario"], p["workers"], p["ns"], f"{p['scenario']}, {p['workers']} workers: {p['ns']:.2f} ns")
            for p in sorted(points, key=lambda p: (p["subject"], p["scenario"], p["workers"]))]


def run(args: argparse.Namespace) -> int:
    started = time.monotonic()
    if args.gate or args.update:
        if more := argument_kinds.besides(args, arguments, "gate", "update", "lines", "host_seconds", "no_build"):
            raise Fault(f"--gate and --update take no {more}", "what is recorded is every scenario at the usual prices", "", USAGE)
        args.processors = GATED
    if args.ablate and (more := argument_kinds.besides(args, arguments, "ablate", "subject", "scenario", "processors", "profile", "price",
                                                       "host_seconds", "rule", "csv", "no_build")):
        raise Fault(f"--ablate takes no {more}", "it has points and a table of its own", "", USAGE)
    before = read_points(Path(args.before)) if args.before else []
    args.processors = args.processors or (virtual_ablation.WORKERS if args.ablate else WORKERS)
    prices = profile(args.profile)
    if not args.no_build:
        setup.ensure()
        building.build("release", only="virtual")
    binary = program()
    listing = proc.run([binary, "--list"], timeout=30)
    if not listing.ok:
        raise Fault(f"{binary.name} --list {listing.how()}", listing.err)
    wanted = chosen(args.subject, args.scenario, [line.split() for line in listing.out.splitlines()])
    sizes = [word for size in args.param for word in ("--param", size)]
    extra = ["--profile", str(prices), *sizes, *(word for price in args.price for word in ("--price", price))]
    if args.ablate:
        rows, wrong = virtual_ablate.run(binary, wanted, args.processors, prices, args.price, args.host_seconds, args.rule, args.csv)
        for line in wrong:
            warn(colour(line, "red"))
        say(f"prices: {repo.shown(prices)}; a model, not a measurement", f"took {duration(time.monotonic() - started)}")
        json_result.note(profile=prices.stem, prices=args.price, wrong=wrong, ablation=rows)
        return INCORRECT if wrong else 0
    drawn = args.drawn.split(",") if args.drawn else [scenario for _, scenario in wanted]
    for name in drawn:
        if name not in (known_names := sorted({scenario for _, scenario in wanted})):
            raise unknown("scenario", name, known_names)
    # The largest first: they take longest.
    keys = [(*which, workers) for workers in sorted(args.processors, reverse=True) for which in wanted]
    specs = [proc.Spec([binary, key[0], key[1], str(key[2]), *extra], timeout=args.host_seconds, tag=key) for key in keys]
    found: dict[tuple[str, str, int], dict] = {}
    wrong: list[str] = []
    for done in counted("virtual", proc.run_many(specs, os.cpu_count() or 1), len(specs)):
        if done.ok:
            found[done.tag] = json.loads(done.out)
            continue
        if done.rc == USAGE:  # of a price or a size: the same for every point, or no size of one of these programs
            raise Fault(done.err.removeprefix(f"{binary.name}: ").strip(), "", "", USAGE)
        name = " ".join(map(str, done.tag))
        late = f"did not end within {args.host_seconds:.0f} s of this machine (--host-seconds)"
        wrong.append(f"{name}: {late if done.timed_out else done.err.strip() or done.how()}")
    known = virtual_points.recorded(repo.RESULTS) if args.compare else {}
    compared: list[list[str]] = []
    robustness: dict[str, dict] = {}
    for subject, scenario in wanted:
        points = [found[subject, scenario, n] for n in args.processors if (subject, scenario, n) in found]
        if not points:
            continue
        name_plain_code(binary, points[-1:], args.lines)
        virtual_points.name_members(points[-1], repo.ROOT)
        show(points, args.lines)
        if args.compare:
            measured(points, known)
            compared += [[subject, scenario, *row] for row in virtual_points.comparison(points, known)]
        if args.robust:
            told = robust(binary, points[-1], prices, args.price, sizes, args.host_seconds, args.lines)
            robustness[f"{subject} {scenario}"] = told
            wrong += [f"{subject} {scenario} with {row[0]}: {row[2]}" for row in told["failed"]]
    told_prices = ", ".join([prices.stem, *args.price, *args.param])
    if args.csv:
        write_points(Path(args.csv), [found[key] for key in sorted(found)], told_prices)
    if args.draw and found:
        repo.write_text(Path(args.draw), picture([p for p in found.values() if p["scenario"] in drawn], told_prices, before))
    if compared:
        out = sum(row[8] == "out" for row in compared)
        say(f"beside races: {len(compared) - out} of {len(compared)} points in, {out} out")
    if args.update and not wrong:
        path = recorded_in()
        path.parent.mkdir(parents=True, exist_ok=True)
        repo.write_csv(path, COLUMNS, [[*key, *found_there] for key, found_there in sorted(counts_of(found.values()).items())])
        say(f"recorded: results/virtual/{path.name}")
    elif args.gate:
        wrong += differences(recorded_in(), counts_of(found.values()))
    for line in wrong:
        warn(colour(line, "red"))
    sized = f"; sizes: {', '.join(args.param)}" if args.param else ""
    say(f"prices: {', '.join([str(repo.shown(prices)), *args.price])}{sized}; a model, not a measurement",
        f"took {duration(time.monotonic() - started)}")
    json_result.note(profile=prices.stem, prices=args.price, params=args.param, wrong=wrong, compared=compared, robust=robustness, points=[found[key] for key in sorted(found)])
    return INCORRECT if wrong else 0
