"""What is refused says where: of two operations that overlap both places and both sizes."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

FAULTS, WIDE = sys.argv[1:]
del sys.argv[1:]
HERE = Path(__file__).resolve().parent
REMEDY = "Remedy: one size for all, and std::atomic<T> rather than a cast"


def reason(program: str, name: str) -> str:
    done = subprocess.run([program, name, "--json", "-"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["reason"]


def place(file: str, name: str, text: str) -> str:
    """The line of `text` in the scenario of this name."""
    lines = (HERE / file).read_text().splitlines()
    begins = next(i for i, line in enumerate(lines, 1) if f"({name}," in line)
    line = next(i for i, line in enumerate(lines, 1) if i > begins and text in line)
    return f"model_check/as_it_is/{file}:{line}"


class Overlaps(unittest.TestCase):
    def overlap(self, program: str, name: str, what: str, later: tuple[str, str], first: tuple[str, str]) -> None:
        """Each of the two: what it is called, and its text in the scenario."""
        file = "wide.cpp" if program == WIDE else "faults.cpp"
        (now, its), (before, other) = later, first
        self.assertEqual(reason(program, name), f"refused: {what} on the same bytes: an atomic operation on {now} at {place(file, name, its)}, "
                         f"where {before} at {place(file, name, other)} came first. {REMEDY}")

    def test_atomics_of_two_sizes(self) -> None:
        for program, name, later, first in (
            (FAULTS, "four_bytes_in_eight", ("4 bytes", "__atomic_load_n(half"), ("8 bytes", "__atomic_store_n(&both")),
            (FAULTS, "eight_bytes_around_four", ("8 bytes", "__atomic_load_n(&both"), ("4 bytes", "__atomic_store_n(half")),
            (WIDE, "half_of_a_wide_one", ("8 bytes", "__atomic_load_n"), ("16 bytes", "__atomic_store(&word")),
        ):
            with self.subTest(scenario=name):
                self.overlap(program, name, "atomic operations of different sizes", later, (f"an atomic operation on {first[0]}", first[1]))

    def test_a_lock_and_an_atomic(self) -> None:
        self.overlap(FAULTS, "atomic_in_a_lock", "a lock and an atomic", ("4 bytes", "__atomic_load_n"), ("a lock of 8 bytes", "of_c)"))


if __name__ == "__main__":
    unittest.main()
