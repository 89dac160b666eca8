"""The example as a stranger's project: against an installed prefix, and against the build folder.

    outside_test.py BUILD_FOLDER CXX_COMPILER"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent


def run(*command: object) -> subprocess.CompletedProcess:
    environment = {k: v for k, v in os.environ.items() if k != "APIARY_SOURCE_ROOT"}
    return subprocess.run([str(word) for word in command], text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def must(condition: object, what: str, shown: str = "") -> None:
    if not condition:
        sys.exit(f"{what}\n{shown}")


def built(at: Path, find: str, compiler: str) -> Path:
    """A copy of the example, configured by `find`, built, its tests passed. Returns the check program."""
    shutil.copytree(EXAMPLE, at)
    for command in (["cmake", "-G", "Ninja", "-S", at, "-B", at / "build", find, f"-DCMAKE_CXX_COMPILER={compiler}"],
                    ["cmake", "--build", at / "build"],
                    ["ctest", "--test-dir", at / "build", "--output-on-failure", "--no-tests=error"]):
        done = run(*command)
        must(done.returncode == 0, " ".join(map(str, command)), done.stdout)
    return at / "build" / "bin" / "index_stack_check"


def verdicts(program: Path) -> None:
    for engine in ("relacy", "explorer"):
        shown = run(program, "--engine", engine, "--trace").stdout
        for line in (rf"caught stack_without_tag\s+{engine}.*left twice", rf"pass   stack_with_tag\s+{engine}",
                     rf"caught stack_tag_wraps\s+{engine}.*left twice"):
            must(re.search(line, shown), f"no line like {line}", shown)
        # The trace finds the source of this project, and calls the operations' objects by their names.
        must(re.search(r"load next_\[index_of\(seen\)\].*index_stack\.hpp:\d+", shown), "the trace names no object", shown)


def first_page(program: Path) -> None:
    """The counterexample in WRITING_CHECKS.md is what the explorer prints."""
    def rows(text: str) -> list[str]:
        whole = re.sub(r"\n +\|[ |]*(stores \d+)[ |]*", r" \1 ", text)  # a store's value stands on a line of its own
        return [" ".join(re.split(r"[ |,]+", row.strip())) for row in re.findall(r"^ +\d+ +\|.*$", whole, re.M)]

    shown = run(program, "stack_without_tag", "--engine", "explorer", "--trace").stdout
    told, known = rows((EXAMPLE.parent / "WRITING_CHECKS.md").read_text()), [sorted(row.split()) for row in rows(shown)]
    must(len(told) == 6, f"WRITING_CHECKS.md shows {len(told)} rows of the trace, not 6")
    for row in told:
        must(sorted(row.split()) in known, f"WRITING_CHECKS.md's row is not the explorer's: {row}", shown)


def mutations(program: Path) -> None:
    """Each order of the stack but one is needed; an operation is named by its file's place in the stranger's project."""
    told = run(program, "stack_with_tag", "--engine", "explorer", "--json", "-").stdout
    verdict = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    ordered = [site for site, order in verdict["sites"].items()
               if site.startswith("index_stack.hpp:") and order in ("acquire", "release")]
    killed = {site for site in ordered
              if run(program, "stack_with_tag", "--engine", "explorer", "--mutate", f"{site}=relaxed").returncode == 1}
    # push; the first look of pop, and that of a compare-exchange that fails. Its success order is free beside a tag.
    must(len(ordered) == 4 and [site.split(":")[3] for site in ordered if site not in killed] == ["compare_exchange_weak"],
         "of the stack's four orders, one should survive", f"all {ordered}\nkilled {sorted(killed)}")
    table = run(program, "--mutate-all", "index_stack.hpp")
    must(table.returncode == 1 and "3 of 4 mutants killed" in table.stdout and
         [row.split(":")[3].split()[0] for row in table.stdout.splitlines() if "SURVIVES" in row] == ["compare_exchange_weak"],
         "the table by one command says the same", table.stdout)
    for typo in (f"{ordered[0]}=bogus", "index_stack.hpp:1=relaxed", f"{ordered[0]}=dropped"):
        done = run(program, "stack_with_tag", "--mutate", typo)
        must(done.returncode == 2, f"--mutate {typo} is no kill", done.stdout)


def without_relacy(folder: Path, prefix: Path, compiler: str) -> None:
    """A machine that lacks Relacy: CMake names the package, and so does the compiler where nobody asked CMake."""
    shutil.copytree(EXAMPLE, folder)
    told = run(compiler, "-E", "-v", "-x", "c++", "/dev/null").stdout
    found = re.search(r"#include <\.\.\.> search starts here:\n(.*?)\nEnd of search list", told, re.DOTALL)[1].split()
    asks = (folder / "CMakeLists.txt").read_text()
    for at, text, says in (("component", asks, "NOT FOUND. Reason given by package"),
                           ("function", asks.replace(" COMPONENTS model", ""), "index_stack_check: the Relacy")):
        (folder / "CMakeLists.txt").write_text(text)
        done = run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / at, f"-DCMAKE_PREFIX_PATH={prefix}",
                   f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_IGNORE_PATH={';'.join(found)}")
        shown = " ".join(done.stdout.split())
        must(done.returncode != 0 and says in shown and "apt-get install relacy-dev" in shown, f"asked by {at}", done.stdout)
    options, lacked = ["-nostdinc", "-nostdinc++"], False
    for place in map(Path, found):
        if (place / "relacy").exists():  # the same folder but for that
            lacked, farm = True, folder / "include"
            farm.mkdir()
            for one in place.iterdir():
                if one.name != "relacy":
                    (farm / one.name).symlink_to(one)
            place = farm
        options += ["-isystem", str(place)]
    must(lacked, f"none of these has Relacy: {found}")
    done = run(compiler, "-std=c++20", "-fsyntax-only", *options, f"-I{prefix / 'include'}", folder / "index_stack_check.cpp")
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    must(done.returncode != 0 and errors and "apt-get install relacy-dev" in errors[0], "the first error names the package", done.stdout)
    # The same call finds everything else.
    done = run(compiler, "-std=c++20", "-fsyntax-only", *options, f"-I{prefix / 'include'}", folder / "index_stack_stress.cpp")
    must("apt-get install" not in done.stdout, "only checks need it", done.stdout)


def main() -> None:
    build, compiler = Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "prefix"
        done = run("cmake", "--install", build, "--prefix", prefix)
        must(done.returncode == 0, "cmake --install", done.stdout)
        headers = prefix / "include/apiary"
        must((headers / "schedulers/hive/hive.hpp").exists() and not (headers / "testing").exists(),
             "the package has the headers, and not what only tests use", done.stdout)
        program = built(Path(folder) / "installed", f"-DCMAKE_PREFIX_PATH={prefix}", compiler)
        verdicts(program)
        first_page(program)
        mutations(program)
        without_relacy(Path(folder) / "without", prefix, compiler)
        uninstalled = built(Path(folder) / "from_build_folder", f"-Dapiary_DIR={build}", compiler)
        verdicts(uninstalled)
        first_page(uninstalled)
        for targets in (prefix / "lib/cmake/apiary/apiaryTargets.cmake", build / "apiaryTargets.cmake"):
            must("prefix-map" not in targets.read_text(), f"{targets} maps the files of whoever uses it")


main()
