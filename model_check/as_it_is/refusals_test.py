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
    def test_four_bytes_in_eight(self) -> None:
        name = "four_bytes_in_eight"
        eight, four = (place("faults.cpp", name, text) for text in ("__atomic_store_n(&both", "__atomic_load_n(half"))
        self.assertEqual(reason(FAULTS, name),
                         f"refused: atomic operations of different sizes on the same bytes: an atomic operation on 4 bytes at {four}, "
                         f"where an atomic operation on 8 bytes at {eight} came first. {REMEDY}")

    def test_eight_bytes_around_four(self) -> None:
        name = "eight_bytes_around_four"
        eight, four = (place("faults.cpp", name, text) for text in ("__atomic_load_n(&both", "__atomic_store_n(half"))
        self.assertEqual(reason(FAULTS, name),
                         f"refused: atomic operations of different sizes on the same bytes: an atomic operation on 8 bytes at {eight}, "
                         f"where an atomic operation on 4 bytes at {four} came first. {REMEDY}")

    def test_half_of_sixteen(self) -> None:
        name = "half_of_a_wide_one"
        half, whole = (place("wide.cpp", name, text) for text in ("__atomic_load_n", "__atomic_store(&word"))
        self.assertEqual(reason(WIDE, name),
                         f"refused: atomic operations of different sizes on the same bytes: an atomic operation on 8 bytes at {half}, "
                         f"where an atomic operation on 16 bytes at {whole} came first. {REMEDY}")

    def test_a_lock_and_an_atomic(self) -> None:
        name = "atomic_in_a_lock"
        word, lock = (place("faults.cpp", name, text) for text in ("__atomic_load_n", "of_c)"))
        self.assertEqual(reason(FAULTS, name),
                         f"refused: a lock and an atomic on the same bytes: an atomic operation on 4 bytes at {word}, "
                         f"where a lock of 8 bytes at {lock} came first. {REMEDY}")


if __name__ == "__main__":
    unittest.main()
