"""The tables of README.md and TROPHIES.md hold what the programs print, and so do the front page's three rows; and a
data race names both places. With the orders that TROPHIES.md names what is red passes, and the other way round.

    table_test.py FIRST_STEPS PROGRAM…      the short tables, and the names of the long one
    table_test.py --long PROGRAM…           the long table, as `nightly` runs it: minutes

Not compared are the rows of a program that was left out for want of a package, and of one that was made with other
versions than the page tells: what the page says is of those. Where no row at all was compared the first ends with 77,
which CTest shows as skipped, and the second with 1."""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
LONG = sys.argv[1] == "--long"
FIRST_STEPS, *PROGRAMS = sys.argv[1:]
del sys.argv[1:]
BUILT = {Path(program).name: program for program in PROGRAMS}
LIBRARIES = ("libstdcxx", "boost", "moodycamel", "tbb")
# Debian 12's alone, as TROPHIES.md tells.
ONE_VERSION = ("atomic_queue", "boost_fiber", "eigen", "iceoryx", "iceoryx_compiled", "libcds", "libcds_compiled",
               "moodycamel_blocks", "readerwriterqueue", "tbb_compiled", "xenium")
SHORT_TABLE, LONG_TABLE, TROPHIES = "## What `prove` runs", "## The long form", "## The table"
NOTHING_COMPARED = 77
compared_rows = 0
# Of these the missing orders are tried within bounds that the page tells; within the default ones they are not exhausted.
WITHIN = {"xenium_stamp_it_leaves": "cas=0,timeout=0,spurious=0,reuse=0"}
NOT_BUILT = "its program was not built"
ROW = re.compile(r"^\| (?P<what>.+?) \| (?P<verdict>[^|]+?) \| (?P<graphs>[\d,]+) \| [^|]+ "
                 r"\| `(?P<program>\w+) (?P<name>\w+)` \|$", re.M)
# Of a missing order: what is written, and with what it passes. Of a weakened one: to what, and what is red then.
ORDER = re.compile(r"^\| `(?P<program>\w+) (?P<name>\w+)` \| `(?P<site>\S+:\d+:[\w.]+)` "
                   r"\| (?P<first>\w+) \| (?P<second>[\w ]+) \|$", re.M)
MISSING, WEAKENED = "| asked of | operation | written |", "| scenario | operation | weakened to |"


def verdict(program: str, name: str, *words: str) -> dict:
    done = subprocess.run([program, name, "--json", "-", *words], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=1200)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def rows(heading: str) -> list[dict]:
    page = "TROPHIES.md" if heading == TROPHIES else "README.md"
    section = (HERE / page).read_text().split(f"{heading}\n")[1].split("\n## ")[0]
    return [row.groupdict() for row in ROW.finditer(section)]


def orders(heading: str) -> dict[tuple[str, str], list[dict]]:
    """By program and scenario, the rows of the table that begins so."""
    table = (HERE / "TROPHIES.md").read_text().split(heading)[1].split("\n\n")[0]
    of = defaultdict(list)
    for row in ORDER.finditer(table):
        of[row["program"], row["name"]].append(row.groupdict())
    assert sum(map(len, of.values())) == table.count("\n| `"), heading
    return of


def told() -> dict[str, set[str]]:
    """By library, with what the page's figures were counted."""
    page = (HERE / "README.md").read_text()
    versions = re.search(r"(g\+\+ [\d.]+), Boost is Debian's ([\d.]+) .*oneTBB Debian's ([\d.]+) ", page, re.S)
    compiler, boost, tbb = versions.groups()
    of_some = {"boost": {compiler, f"Boost {boost}"}, "tbb": {compiler, f"oneTBB {tbb}"}}
    return dict.fromkeys(LIBRARIES + ONE_VERSION, {compiler}) | of_some


@functools.cache
def other_versions(program: str) -> str:
    """How the program was made otherwise than the page tells; nothing if it was made so."""
    made = re.search(rb"made with ([^;]+);", Path(program).read_bytes())[1].decode().replace("_", ".")
    wanted = told()[Path(program).name.removesuffix("_as_is").removesuffix("_long")]
    if wanted <= set(made.split(", ")):
        return ""
    return f"the page tells of {', '.join(sorted(wanted))}, and it was made with {made}"


def not_compared(row: dict) -> str:
    """Why; nothing if the row is to be compared."""
    return other_versions(BUILT[row["program"]]) if row["program"] in BUILT else NOT_BUILT


def without_column(site: str) -> str:
    file, line, _, operation = site.rsplit(":", 3)
    return f"{file}:{line}:{operation}"


def differences(row: dict, found: dict) -> str:
    """What the program says otherwise than the page; nothing if it says the same."""
    said, wrong = row["verdict"].replace("*", ""), []
    if found["verdict"] != ("pass" if said.startswith("pass") else "fail"):
        wrong.append(f"{found['verdict']}: {found['reason']}")
    elif found["verdict"] == "pass" and found["mode"] != "exhaustive":
        wrong.append(f"a pass that is {found['mode']}")
    elif found["verdict"] == "fail" and not found["reason"].startswith(said.split(" in the")[0]):
        wrong.append(found["reason"])
    if found["graphs"] != int(row["graphs"].replace(",", "")):
        wrong.append(f"{found['graphs']:,} graphs and not {row['graphs']}")
    return "; ".join(wrong)


class Short(unittest.TestCase):
    def test_each_row_is_what_its_program_prints(self):
        global compared_rows
        for row in rows(SHORT_TABLE) + rows(TROPHIES):
            if why := not_compared(row):
                print(f"not compared: {row['program']} {row['name']}: {why}", file=sys.stderr)
                continue
            compared_rows += 1
            with self.subTest(row["name"]):
                self.assertEqual(differences(row, verdict(BUILT[row["program"]], row["name"])), "")

    def each_of(self, heading: str):
        """What is built of the rows of orders, each with its program."""
        global compared_rows
        for (program, name), given in orders(heading).items():
            if why := not_compared({"program": program}):
                print(f"not compared: {program} {name}, with other orders: {why}", file=sys.stderr)
                continue
            compared_rows += 1
            yield BUILT[program], name, given

    def test_with_the_missing_orders_it_passes_and_without_one_of_them_it_does_not(self):
        for program, name, given in self.each_of(MISSING):
            with self.subTest(name):
                changes = [("--mutate", f"{row['site']}={row['second']}") for row in given]
                within = ("--bounds", WITHIN[name]) if name in WITHIN else ()
                found = verdict(program, name, *within, *(word for change in changes for word in change))
                self.assertEqual((found["verdict"], found["mode"]), ("pass", "exhaustive"), found["reason"])
                written = {(without_column(site), order) for site, order in found["sites"].items()}
                self.assertLessEqual({(row["site"], row["first"]) for row in given}, written)
                for left_out in changes:
                    others = [word for change in changes if change != left_out for word in change]
                    self.assertEqual(verdict(program, name, *within, *others)["verdict"], "fail", f"without {left_out[1]}")

    def test_what_passes_is_red_with_an_order_weakened(self):
        for program, name, given in self.each_of(WEAKENED):
            for row in given:
                with self.subTest(name):
                    found = verdict(program, name, "--mutate", f"{row['site']}={row['first']}")
                    self.assertEqual(found["verdict"], "fail", row["site"])
                    self.assertTrue(found["reason"].startswith(row["second"]), found["reason"])

    def test_bounds_of_a_control_are_told(self):
        page = (HERE / "TROPHIES.md").read_text()
        for name, bounds in WITHIN.items():
            self.assertIn(f"`--bounds {bounds}`", page, name)

    def test_each_red_row_has_a_control(self):
        """A row of the same structure that passes, or orders with which one does."""
        page = (HERE / "TROPHIES.md").read_text()
        table = page.split(f"{TROPHIES}\n")[1].split("\nNothing was found")[0]
        rows_of = [row.groupdict() for row in ROW.finditer(table)]
        for at, row in enumerate(rows_of):
            if row["verdict"].startswith("pass") or (row["program"], row["name"]) in orders(MISSING):
                continue
            with self.subTest(row["name"]):
                structure = row["what"].split("`")[1].split("<")[0]
                self.assertTrue(any(f"`{structure}" in other["what"] for other in rows_of if other["verdict"].startswith("pass")
                                    or (other["program"], other["name"]) in orders(MISSING)), "no control")

    def test_each_scenario_that_is_no_mistake_of_its_user_has_a_row(self):
        for heading, ending, folder, libraries in ((SHORT_TABLE, "as_is", HERE, LIBRARIES),
                                                   (TROPHIES, "as_is", HERE, ONE_VERSION),
                                                   (LONG_TABLE, "long", HERE / "long", LIBRARIES)):
            named = {(row["program"], row["name"]) for row in rows(heading)}
            self.assertEqual({program for program, _ in named}, {f"{library}_{ending}" for library in libraries})
            for library in libraries:
                text = (folder / f"{library}.cpp").read_text()
                exhibits = set(re.findall(r'APIARY_SCENARIO\(\w+, "(\w+)"\)', text))
                passing = set(re.findall(r"APIARY_SCENARIO\((\w+)", text))
                failing = set(re.findall(r"APIARY_FAILING_SCENARIO\((\w+)", text))
                if heading == TROPHIES:  # there what fails is what was found
                    exhibits = set()
                listed = {name for program, name in named if program == f"{library}_{ending}"}
                self.assertLessEqual(listed, passing | failing, library)
                self.assertEqual(passing - listed, set(), library)
                self.assertEqual(failing - exhibits - listed, set(), library)

    def test_the_front_page_has_three_rows_of_this_one(self):
        front = [row.group() for row in ROW.finditer((HERE.parents[1] / "README.md").read_text())]
        self.assertEqual(len(front), 3)
        self.assertLessEqual(set(front), set((HERE / "TROPHIES.md").read_text().splitlines()))

    def test_each_row_of_the_long_form_is_what_its_program_lists(self):
        named = rows(LONG_TABLE)
        for program in {row["program"] for row in named} & BUILT.keys():
            done = subprocess.run([BUILT[program], "--list", "--json"], text=True, capture_output=True, timeout=300,
                                  check=True)
            kinds = {entry["name"]: entry["kind"] for entry in map(json.loads, done.stdout.splitlines())}
            said = {row["name"]: "check" if row["verdict"].startswith("pass") else "exhibit"
                    for row in named if row["program"] == program}
            self.assertEqual(said, kinds, program)


class Differences(unittest.TestCase):
    """What must not be called the same."""

    def test_each_is_seen(self):
        passed = {"verdict": "pass", "graphs": "1,200"}
        failed = {"verdict": "**deadlock** in the model only", "graphs": "7"}
        exhausted = {"verdict": "pass", "mode": "exhaustive", "graphs": 1200, "reason": ""}
        caught = {"verdict": "fail", "mode": "exhaustive", "graphs": 7, "reason": "deadlock: every thread waits"}
        self.assertEqual((differences(passed, exhausted), differences(failed, caught)), ("", ""))
        for row, found in ((passed, exhausted | {"graphs": 1201}),
                           (passed, exhausted | {"mode": "all but plain races"}),
                           (passed, exhausted | {"verdict": "budget", "mode": "unfinished"}),
                           (passed, caught | {"graphs": 1200}), (failed, exhausted | {"graphs": 7}),
                           (failed, caught | {"reason": "data race: a plain read"}),
                           (failed, caught | {"graphs": 8})):
            self.assertNotEqual(differences(row, found), "", found)


class Ends(unittest.TestCase):
    @unittest.skipIf(not PROGRAMS, "this is the run that is asked for")
    def test_a_run_that_compared_nothing_is_no_pass(self):
        for words, code in (([FIRST_STEPS], NOTHING_COMPARED), (["--long"], 1)):
            done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
            with self.subTest(words):
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)


class Versions(unittest.TestCase):
    def test_a_program_of_other_versions_is_not_compared(self):
        for name, made, same in (
            ("libstdcxx_as_is", "g++ 12.2, Boost none, oneTBB 2022.0", True),
            ("moodycamel_long", "g++ 12.2, Boost 1_83, oneTBB 2022.0", True),
            ("boost_as_is", "g++ 12.2, Boost 1_74, oneTBB 2022.0", True),
            ("boost_long", "g++ 12.2, Boost 1_83, oneTBB 2021.8", False),
            ("tbb_long", "g++ 12.2, Boost 1_83, oneTBB 2021.8", True),
            ("tbb_as_is", "g++ 12.2, Boost 1_74, oneTBB 2021.11", False),
            ("tbb_as_is", "g++ 12.2, Boost 1_74, oneTBB 2021.80", False),
            ("moodycamel_as_is", "g++ 14.2, Boost 1_74, oneTBB 2021.8", False),
            ("atomic_queue_as_is", "g++ 12.2, Boost none, oneTBB 2021.8", True),
            ("eigen_as_is", "g++ 14.2, Boost none, oneTBB 2021.8", False),
        ):
            with self.subTest(name, made=made), tempfile.TemporaryDirectory() as folder:
                program = Path(folder) / name
                program.write_bytes(b"\0" + f"made with {made};".encode() + b"\0")
                self.assertEqual(other_versions(str(program)) == "", same)


class Reasons(unittest.TestCase):
    def test_a_data_race_names_both_places(self):
        file = "model_check/as_it_is/first_steps.cpp"
        lines = (HERE.parents[1] / file).read_text().splitlines()
        begins = next(n for n, line in enumerate(lines, 1) if "(message_passing_relaxed" in line and "FAILING" in line)
        written = next(n for n, line in enumerate(lines, 1) if n > begins and "data = 42" in line)
        read = next(n for n, line in enumerate(lines, 1) if n > begins and "data == 42" in line)
        flag = next(n for n, line in enumerate(lines, 1) if n > begins and "flag.store(1" in line)
        self.assertEqual(
            verdict(FIRST_STEPS, "message_passing_relaxed")["reason"],
            f"data race: a plain read at {file}:{read} (thread 2) and a plain write at {file}:{written} (thread 1) are "
            f"not ordered by happens-before; load at {file}:{read} (acquire) reads from store at {file}:{flag} "
            "(relaxed), which does not release it")


def compared(row: dict) -> str:
    """A line that `nightly` reads: how the row did, its name, and what its program said."""
    begins = f"{row['program']} {row['name']}"
    if why := not_compared(row):
        return f"left out {begins}: {why}"
    found = verdict(BUILT[row["program"]], row["name"])
    wrong = differences(row, found)
    line = (f"{'other' if wrong else 'same'} {begins}: {wrong or found['verdict']}; "
            f"{found['graphs']:,} graphs, {found['seconds']:.1f} s")
    print(line, flush=True)
    return line


def long_form() -> int:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        lines = list(pool.map(compared, rows(LONG_TABLE)))
    for line in lines:
        if line.startswith("left out"):
            print(line)
    other = [line.split(": ")[0].removeprefix("other ") for line in lines if line.startswith("other")]
    if other:
        print(f"other than the page has it: {', '.join(other)}")  # the last line is what a night shows
    return 1 if other or all(line.startswith("left out") for line in lines) else 0


def short_form() -> int:
    if not unittest.main(exit=False).result.wasSuccessful():
        return 1
    return 0 if compared_rows else NOTHING_COMPARED


if __name__ == "__main__":
    sys.exit(long_form() if LONG else short_form())
