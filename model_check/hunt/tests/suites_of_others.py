"""By night: the test suites of five libraries, thirty seeds for each case. Nothing may be found but what KNOWN names with its reason.
Prints a row for each case: same, other, or left out; README.md has what the rows came to.

    suites_of_others.py BUILD_FOLDER CXX_COMPILER [--sources FOLDER] [--seconds N] [--mended] [SUITE…]

Sources are those of Debian's source packages. With --sources nothing is fetched: FOLDER has the unpacked sources, each in a folder of
its package's name (cpp-channel has no package: the tag of its repository). A case has N seconds (60), and what it did not reach of
thirty runs by then is told. With --mended the lines of MENDS are changed first, and only the cases are hunted that fail by them:
nothing may be found then."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from apiary_cli.base import source_packages  # noqa: E402
SEEDS = 30


@dataclass(frozen=True)
class Suite:
    package: str  # Debian's source package
    sources: tuple[str, ...]
    options: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # that the program is called with
    own_list: bool = False  # it names its cases itself, and takes one by --run
    shared: tuple[str, ...] | None = None  # where each source is a program of its own: what is part of them all
    parts: tuple[str, ...] = ()  # what is unpacked of a large package


SUITES = {
    "concurrentqueue": Suite("concurrentqueue", ("tests/unittests/unittests.cpp", "tests/common/simplethread.cpp", "tests/common/systemtime.cpp",
                                                 "c_api/concurrentqueue.cpp", "c_api/blockingconcurrentqueue.cpp"),
                             options=("-DMOODYCAMEL_EXPORT=",), words=("--disable-prompt", "--iterations", "1"), own_list=True),
    "readerwriterqueue": Suite("readerwriterqueue", ("tests/unittests/unittests.cpp", "tests/common/simplethread.cpp"),
                               words=("--disable-prompt",), own_list=True),
    "xenium": Suite("xenium", tuple(f"test/{name}.cpp" for name in (
        "main", "michael_scott_queue_test", "ramalhete_queue_test", "vyukov_bounded_queue_test", "nikolaev_bounded_queue_test",
        "nikolaev_queue_test", "kirsch_kfifo_queue_test", "kirsch_bounded_kfifo_queue_test", "chase_work_stealing_deque_test",
        "seqlock_test", "left_right_test")), options=("-I.", "-include", "limits"), libraries=("-lgtest",)),
    "lockfree": Suite("boost1.74", tuple(f"libs/lockfree/test/{name}_test.cpp" for name in (
        "freelist", "queue", "queue_bounded_stress", "queue_fixedsize_stress", "queue_unbounded_stress", "spsc_queue", "spsc_queue_stress",
        "stack", "stack_bounded_stress", "stack_fixedsize_stress", "stack_unbounded_stress", "tagged_ptr")),
        options=("-std=c++17", "-DBOOST_ALL_NO_LIB", "-DBOOST_THREAD_BUILD_LIB", "-DBOOST_LOCKFREE_INCLUDE_TESTS"),
        shared=("libs/thread/src/pthread/thread.cpp", "libs/thread/src/pthread/once.cpp"),
        parts=("*/libs/lockfree/test/*", "*/libs/thread/src/pthread/*")),
    "cpp-channel": Suite("cpp-channel", tuple(f"tests/{name}_test.cpp" for name in ("channel", "blocking_iterator", "storage")),
                         options=("-Iinclude",), libraries=("-lgtest_main", "-lgtest")),
}
# Suite and case (a pattern) -> the kind of failure (a pattern), and why it is none of the hunt's.
KNOWN: dict[tuple[str, str], tuple[str, str]] = {
    ("readerwriterqueue", "size_approx"): ("race", "a block is linked before the fence that publishes it (its issue 171, mended by 172)"),
    ("concurrentqueue", "core_(free_list|spmc_hash|thread_local)"):
        ("race", "the test's own: its threads write to the bits of one std::vector<bool>"),
    ("xenium", r"VyukovBoundedQueue\.parallel_usage"):
        ("failure", "try_pop says empty, and try_push full, by two relaxed loads of the positions: one may be older than the other"),
    ("xenium", r"RamalheteQueue/\d\.parallel_usage"): (".*", "pop_idx.fetch_add(release) does not acquire, so a pop may read a stale null next"),
    ("concurrentqueue", "block_recycling|(timed_)?blocking_wrappers|exceptions|try_dequeue_(bulk_)?threaded"):
        ("race", "a block's counter of emptied elements is changed by release alone, so one that uses the block again knows nothing of the last "
                 "reads (its issue 404); and FreeList::try_get goes on with a head that a failed exchange has read relaxed"),
    ("xenium", r"KirschKFifoQueue/\d\.parallel_usage"):
        (".*", "try_pop's exchange only acquires, and committed() reads a head that may be old: its item stays in a segment that was passed"),
    ("xenium", r"KirschBoundedKFifoQueue\.parallel_usage"):
        (".*", "all loads of head and tail are relaxed: try_pop says empty, and the test reads through its null pointer"),
    ("xenium", r"SeqLock\.parallel_usage"):
        ("failure", "of several slots, a reader of one does not notice the second store that comes after it (79601ee, which is in no release)"),
    ("xenium", r"MichaelScottQueue/4\.parallel_usage"):
        ("use after free", "stamp_it has no seq_cst fence between a new stamp and the load of a pointer, nor between an unlinking and its stamp"),
    ("lockfree", "freelist"): ("failure", "the test's own: its asserts fail in any build that has them"),
    ("lockfree", r"(queue|stack)_\w+_stress"):
        ("race", "the link of a node that is freed is written plainly while another thread still reads it (its issue 78)"),
    ("lockfree", "queue"):
        ("use after free", "pop copies to an owning pointer before its exchange, which may fail: the copy frees what the queue still has"),
    ("cpp-channel", r"ChannelTest\.Multithreading"): ("race", "the test's own: a flag is written without the lock that its readers hold"),
}
# What mends two of them: the cases, and in a header a text and what stands there instead.
MENDS: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "concurrentqueue": ("block_recycling|(timed_)?blocking_wrappers|exceptions|try_dequeue_(bulk_)?threaded", "concurrentqueue.h", [
        ("elementsCompletelyDequeued.fetch_add(1, std::memory_order_release)", "elementsCompletelyDequeued.fetch_add(1, std::memory_order_acq_rel)"),
        ("elementsCompletelyDequeued.fetch_add(count, std::memory_order_release)",
         "elementsCompletelyDequeued.fetch_add(count, std::memory_order_acq_rel)"),
        ("freeListHead.compare_exchange_strong(head, next, std::memory_order_acquire, std::memory_order_relaxed)",
         "freeListHead.compare_exchange_strong(head, next, std::memory_order_acquire, std::memory_order_acquire)")]),
    "xenium": (r"KirschKFifoQueue/\d\.parallel_usage", "xenium/kirsch_kfifo_queue.hpp", [
        ("old = segment->items()[index].value.load(std::memory_order_relaxed);", "old = segment->items()[index].value.load(std::memory_order_acquire);"),
        ("(old_value, new_value,\n              std::memory_order_acquire,", "(old_value, new_value,\n              std::memory_order_acq_rel,"),
        ("(old_value, new_value,\n              std::memory_order_release,", "(old_value, new_value,\n              std::memory_order_acq_rel,"),
        ("    if (segment.get() == head_current.get()) {",
         "    while (!head_.compare_exchange_strong(head_current, head_current, std::memory_order_acq_rel, std::memory_order_acquire)) {}\n"
         "    if (segment.get() == head_current.get()) {"),
        ("head_.compare_exchange_strong(head_current, new_head, std::memory_order_relaxed)",
         "head_.compare_exchange_strong(head_current, new_head, std::memory_order_acq_rel)"),
        ("head_.compare_exchange_strong(expected, new_head, std::memory_order_release,", "head_.compare_exchange_strong(expected, new_head, std::memory_order_acq_rel,")]),
}


def fetched(suite: Suite, folder: Path) -> Path | None:
    archive, _ = source_packages.download(suite.package, folder)
    if archive is None or source_packages.unpack(archive, folder / suite.package, suite.parts):
        return None
    return folder / suite.package


def flags(build: Path, prefix: Path) -> tuple[list[str], list[str]]:
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], stdout=subprocess.DEVNULL, check=True)
    def of(option: str) -> list[str]:
        told = subprocess.run(["pkg-config", option, "apiary-hunt"], env=os.environ | {"PKG_CONFIG_PATH": str(prefix / "share/pkgconfig")},
                              text=True, stdout=subprocess.PIPE, check=True)
        return shlex.split(told.stdout)

    return of("--cflags"), of("--libs")


def built(suite: Suite, at: Path, compiler: str, compile_flags: list[str], link_flags: list[str]) -> dict[str, Path]:
    """The programs by name: one, or one for each source."""
    def compiled(source: str) -> Path:
        to = at / f"hunt_{source.replace('/', '_')}.o"
        subprocess.run([compiler, "-std=c++20", "-w", *suite.options, *compile_flags, "-c", source, "-o", to], cwd=at, check=True)
        return to

    def linked(objects: list[Path], to: Path) -> Path:
        subprocess.run([compiler, *objects, "-o", to, *link_flags, *suite.libraries], cwd=at, check=True)
        return to

    objects = [compiled(source) for source in suite.sources if (at / source).exists()]  # an older version has fewer
    if suite.shared is None:
        return {"": linked(objects, at / "hunted")}
    shared = [compiled(source) for source in suite.shared]
    names = [Path(source).stem.removesuffix("_test") for source in suite.sources if (at / source).exists()]
    return {name: linked([one, *shared], at / f"hunted_{name}") for name, one in zip(names, objects)}


def hunted(words: list[str], seconds: float, jobs: int) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".json") as told:
        done = subprocess.run([ROOT / "scripts/apiary", "hunt", "--runs", str(SEEDS), "--time", f"{seconds:.1f}s", "--jobs", str(jobs), "--json", told.name,
                               "--", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        told_by = json.loads(Path(told.name).read_text() or "{}")
        return told_by if "cases" in told_by else {"said": done.stdout, "cases": {}}


def rows_of(name: str, told: dict, rename: str = "", mended: bool = False) -> list[str]:
    failures, rows = {one["case"]: one for one in told["failures"]}, []
    for case, row in told["cases"].items():
        shown = rename or case
        runs = f"{row['runs']} runs" + (f", {row['cuts']} of them cut" if row["cuts"] else "")
        known = next((why for (suite, pattern), why in KNOWN.items() if suite == name and re.fullmatch(pattern, shown)), None)
        if (one := failures.get(case)) is None:
            why = told["refused"].get(case) or ("no run has ended" if row["runs"] == row["cuts"] else "")
            rows.append(f"{'left out' if why else 'same'} {name} {shown}: {why or f'nothing found in {runs}'}")
        elif not mended and known and re.fullmatch(known[0], one["kind"]):
            rows.append(f"same {name} {shown}: {one['kind']} in run {one['run']}: {known[1]}")
        else:
            rows.append(f"other {name} {shown}: {one['kind']} in run {one['run']}, needs {one['needs']}; {one['replay']}")
    return rows


def mend(name: str, at: Path) -> None:
    _, file, changes = MENDS[name]
    text = (at / file).read_text()
    for before, after in changes:
        if text.count(before) != 1:
            sys.exit(f"{name}: {file} has not once: {before}")
        text = text.replace(before, after)
    (at / file).write_text(text)


def suite_rows(name: str, programs: dict[str, Path], seconds: float, mended: bool) -> list[str]:
    suite, jobs, rows = SUITES[name], os.cpu_count() or 1, []
    only = MENDS[name][0] if mended else ".*"
    if suite.shared is not None:
        for case, program in programs.items():
            rows += rows_of(name, hunted([str(program)], seconds, jobs), case)
        return rows
    program = programs[""]
    if not suite.own_list:
        listed = subprocess.run([program, "--gtest_list_tests"], text=True, stdout=subprocess.PIPE).stdout
        cases = sum(line.startswith("  ") for line in listed.splitlines())
        if not mended:
            return rows_of(name, hunted([str(program)], seconds * max(1, cases) / jobs, jobs))
        words = [str(program), "--gtest_filter=" + only.replace(r"\d", "*").replace(r"\.", ".")]
        return rows_of(name, hunted(words, seconds * 7 / jobs, jobs), mended=True)  # of seven reclaimers
    listed = subprocess.run([program, "--run"], text=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    for case in re.findall(r"^ {4,}(\w[\w<>]*)$", listed, re.M):
        if not re.fullmatch(only, case):
            continue
        told = hunted([str(program), *suite.words, "--run", case], seconds, jobs)
        rows += rows_of(name, told, case, mended) if told["cases"] else [f"other {name} {case}: {told['said'].strip().splitlines()[-3:]}"]
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: Path(text).resolve())
    parser.add_argument("compiler")
    parser.add_argument("--sources", type=lambda text: Path(text).resolve())
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--mended", action="store_true")
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=", ".join(SUITES))
    args = parser.parse_intermixed_args()
    if unknown := set(args.suites) - set(MENDS if args.mended else SUITES):
        parser.error(f"no suite {unknown.pop()}; there are {', '.join(SUITES)}")
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        both = flags(args.build, Path(temporary) / "prefix")
        for name in args.suites or (MENDS if args.mended else SUITES):
            at = args.sources / SUITES[name].package if args.sources else fetched(SUITES[name], Path(temporary))
            if at is None or not at.is_dir():
                rows.append(f"left out {name} all: its source package could not be had")
                continue
            if args.mended:
                mend(name, at)
            found = suite_rows(name, built(SUITES[name], at, args.compiler, *both), args.seconds, args.mended)
            rows += found or [f"other {name} all: no case was listed"]
    print(*rows, sep="\n", flush=True)
    return any(row.startswith("other") for row in rows)


sys.exit(main())
