"""The recipe, by Conan itself, from the working tree: the package, and the example built against it. Skipped (status 77) where
Conan can neither be found in build/conan nor fetched.

    conan_test.py BUILD_FOLDER CXX_COMPILER"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from apiary_cli.base import libraries, repo  # noqa: E402

PINNED = HERE / "requirements.txt"
SKIPPED = 77


def main() -> int:
    folder, compiler = Path(sys.argv[1]).resolve() / "conan", sys.argv[2]
    where = repo.BUILD / "conan" / libraries.LIBRARIES.name
    with repo.locked("conan"):
        fetched = None if libraries.pinned(where, PINNED) else libraries.fetch(where, PINNED, retries=3)
    if fetched and not fetched.ok:
        skipped = libraries.out_of_reach(fetched.out)
        print("skipped: Conan cannot be fetched, no package index answers" if skipped else "pip failed", fetched.out, sep="\n")
        return SKIPPED if skipped else 1
    shutil.rmtree(folder, ignore_errors=True)
    surroundings = os.environ | {"CONAN_HOME": str(folder / "home"), "PYTHONPATH": str(where), "CXX": compiler}
    conan = [sys.executable, where / "bin" / "conan"]
    made = f"tools.cmake.cmake_layout:test_folder={folder}/example"
    for words in (["profile", "detect"], ["create", HERE, "--no-remote", "-s", "compiler.cppstd=20", "-c", made]):
        done = subprocess.run([*conan, *words], env=surroundings, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout)
        if done.returncode:
            return 1
    return 0 if "ran 100 tasks" in done.stdout else 1


sys.exit(main())
