"""The table of outside code in README.md holds what the programs print; and a data race names both places.

    outside_test.py FIRST_STEPS PROGRAM…    a program that was left out for want of a package has no row compared"""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST_STEPS, *PROGRAMS = sys.argv[1:]
del sys.argv[1:]
BUILT = {Path(program).name: program for program in PROGRAMS}
SOURCES = {"libstdcxx_as_is": "outside.cpp", "boost_as_is": "outside_boost.cpp", "moodycamel_as_is": "outside_moodycamel.cpp",
           "tbb_as_is": "outside_tbb.cpp"}
ROW = re.compile(r"^\| (?P<what>.+?) \| (?P<verdict>[^|]+?) \| (?P<graphs>[\d,]+) \| [^|]+ \| `(?P<program>\w+) (?P<name>\w+)` \|$", re.M)


def verdict(program: str, name: str) -> dict:
    done = subprocess.run([program, name, "--json", "-"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def rows() -> list[dict]:
    section = (HERE / "README.md").read_text().split("## Code that nobody here wrote")[1].split("\n## ")[0]
    return [row.groupdict() for row in ROW.finditer(section)]


class Table(unittest.TestCase):
    def test_each_row_is_what_its_program_prints(self):
        for row in rows():
            if row["program"] not in BUILT:
                print(f"not compared, because {row['program']} was left out: {row['name']}", file=sys.stderr)
                continue
            with self.subTest(row["name"]):
                found = verdict(BUILT[row["program"]], row["name"])
                said = row["verdict"].replace("*", "")
                self.assertEqual(found["verdict"], "pass" if said.startswith("pass") else "fail")
                if not said.startswith("pass"):
                    self.assertTrue(found["reason"].startswith(said.split(" in the")[0]), found["reason"])
                self.assertEqual(found["graphs"], int(row["graphs"].replace(",", "")))

    def test_each_scenario_that_is_no_mistake_of_its_user_has_a_row(self):
        named = {(row["program"], row["name"]) for row in rows()}
        self.assertEqual({program for program, _ in named}, set(SOURCES))
        for program, source in SOURCES.items():
            text = (HERE / source).read_text()
            exhibits = set(re.findall(r'APIARY_SCENARIO\(\w+, "(\w+)"\)', text))
            passing = set(re.findall(r"APIARY_SCENARIO\((\w+)", text))
            failing = set(re.findall(r"APIARY_FAILING_SCENARIO\((\w+)", text))
            listed = {name for its, name in named if its == program}
            self.assertLessEqual(listed, passing | failing, source)
            self.assertEqual(passing - listed, set(), source)
            self.assertEqual(failing - exhibits - listed, set(), source)


class Reasons(unittest.TestCase):
    def test_a_data_race_names_both_places(self):
        lines = (HERE / "first_steps.cpp").read_text().splitlines()
        begins = next(n for n, line in enumerate(lines, 1) if "(message_passing_relaxed" in line and "FAILING" in line)
        written = next(n for n, line in enumerate(lines, 1) if n > begins and "data = 42" in line)
        read = next(n for n, line in enumerate(lines, 1) if n > begins and "data == 42" in line)
        flag = next(n for n, line in enumerate(lines, 1) if n > begins and "flag.store(1" in line)
        file = "model_check/as_it_is/first_steps.cpp"
        self.assertEqual(
            verdict(FIRST_STEPS, "message_passing_relaxed")["reason"],
            f"data race: a plain read at {file}:{read} (thread 2) and a plain write at {file}:{written} (thread 1) are not "
            f"ordered by happens-before; load at {file}:{read} (acquire) reads from store at {file}:{flag} (relaxed), which does "
            "not release it")


if __name__ == "__main__":
    unittest.main()
