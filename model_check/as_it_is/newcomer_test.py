"""The five minutes of README.md: every file and command of that page, in an empty folder, against an installed package; and
what a project outside is refused: assembly, another compiler, another processor.

    newcomer_test.py BUILD_FOLDER CXX_COMPILER"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "tests"))
from page import followed, install, must, outside, run  # noqa: E402

PAGE = Path(__file__).resolve().parent / "README.md"


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(refused LANGUAGES CXX)
find_package(apiary REQUIRED COMPONENTS as_it_is)
BEFORE
apiary_check_as_is(counts_check SOURCES counts_check.cpp OPTIONS)
"""
# Without the refusal it passes: the explorer sees a thread that stores, and one that does nothing.
ASSEMBLY = """#include <apiary/check.hpp>
#include <atomic>
#include <thread>
static int hidden;
ATTRIBUTE static void count() { __asm__ volatile("INSTRUCTION); }
APIARY_SCENARIO(counts) {
    std::atomic<int> seen{0};
    std::thread a([&] { seen.store(1); }), b([] { count(); __asm__ volatile("pause"); });
    a.join();
    b.join();
}
"""
UNKNOWN_NAMES = """#include <apiary/specifications.hpp>
struct pile { void put(int) {} };
APIARY_LINEARIZABLE(pile, apiary::stack_spec<int>);
"""


def has_plugin_headers(compiler: str) -> bool:
    told = subprocess.run([compiler, "-print-file-name=plugin/include/gcc-plugin.h"], text=True, stdout=subprocess.PIPE, check=True)
    return Path(told.stdout.strip()).exists()


def refusals(parent: Path, environment: dict[str, str]) -> None:
    folder = parent / "refused"
    folder.mkdir()
    def write(instruction: str, attribute: str = "[[gnu::noinline]]") -> None:
        source = ASSEMBLY.replace("INSTRUCTION", instruction).replace("ATTRIBUTE", attribute)
        (folder / "counts_check.cpp").write_text(source)

    def build(before: str = "", options: str = "", compiler: str = "") -> subprocess.CompletedProcess:
        (folder / "CMakeLists.txt").write_text(PROJECT.replace("BEFORE", before).replace("OPTIONS", options))
        # One build folder for each compiler, so that CMake looks at that once.
        at, words = ("other", f"-DCMAKE_CXX_COMPILER={compiler}") if compiler else ("build", "")
        return run(f"cmake -G Ninja -S . -B {at} -DCMAKE_PREFIX_PATH=$PREFIX {words} && cmake --build {at}", folder, environment)

    write('lock incl (%0)" : : "r"(&hidden)')  # nothing tells g++ that it uses memory
    done = build()
    line = 1 + ASSEMBLY[: ASSEMBLY.index("INSTRUCTION")].count("\n")
    must(done.returncode != 0 and f"\n    counts_check.cpp:{line}: count(): lock incl " in done.stdout,
         "assembly is refused by file, line, function and instruction", done.stdout)
    must("Remedy: std::atomic" in done.stdout and "ALLOW_ASSEMBLY" in done.stdout, "with the remedy", done.stdout)
    must(" pause" not in done.stdout, "pause does nothing to memory", done.stdout)
    must(not (folder / "build/counts_check").exists(), "what is refused is not linked")
    must(build(options="ALLOW_ASSEMBLY").returncode == 0, "ALLOW_ASSEMBLY goes on")
    done = run("build/counts_check", folder, environment)
    must(done.returncode == 0 and "all but assembly" in done.stdout, "its verdict is not called exhaustive", done.stdout)
    done = run("build/counts_check --json -", folder, environment)
    must("assembly is allowed, and what it does is not seen" in done.stdout, "and says why", done.stdout)

    done = build(options="COMPILE_OPTIONS -flto -ffat-lto-objects")
    must(done.returncode != 0 and "count(): lock incl " in done.stdout, "no -flto compiles anew behind our back", done.stdout)

    (folder / "counts_check.cpp").write_text(UNKNOWN_NAMES)
    done = build()
    must(done.returncode != 0 and re.search(r"the type has no push\(v\), Push\(v\).* Remedy: .*apiary::call\(", done.stdout),
         "a type whose calls have other names is refused with what to write", done.stdout)

    if has_plugin_headers(environment["CXX"]):
        for what, *words in (("this assembly may use memory", 'incl %0" : "+m"(hidden)'),
                             ("this assembly may use memory", 'movl $1, (%0)" : : "r"(&hidden) : "memory"'),
                             ("this assembly may use memory", '" : "=r"(hidden)'),
                             ("this assembly may use memory", 'incl %0" : "+m"(hidden)', '[[gnu::noinline, gnu::optimize("Og")]]'),
                             ("this function is kept from the instrumentation", 'nop"', '[[gnu::no_sanitize("thread")]]')):
            write(*words)
            done = build()
            told = rf"counts_check\.cpp:{line}:\d+: error: refused: {what}.* Remedy: .*ALLOW_ASSEMBLY"
            must(done.returncode != 0 and re.search(told, done.stdout), "refused by g++'s plug-in, with the place and a remedy",
                 done.stdout)
            must(build(options="ALLOW_ASSEMBLY").returncode == 0, "ALLOW_ASSEMBLY goes on")

    clang = shutil.which("clang++-19")
    others = [("set(CMAKE_CXX_COMPILER_ID Clang)", "", "Clang"), ("set(CMAKE_SYSTEM_PROCESSOR aarch64)", "", "aarch64")]
    for before, compiler, name in [*others, ("", clang, "Clang")] if clang else others:
        done = build(before, compiler=compiler)
        said = " ".join(done.stdout.split())
        must(done.returncode != 0 and re.search(rf"needs g\+\+ on x86-64, and this is .*{name}.* Remedy: -DCMAKE_CXX_COMPILER", said),
             "another compiler is refused", done.stdout)


def main() -> None:
    build, compiler = sys.argv[1:3]
    section = PAGE.read_text().split("## Five minutes")[1].split("\n## ")[0]
    with tempfile.TemporaryDirectory() as parent:
        prefix, folder = Path(parent) / "prefix", Path(parent) / "my_stack"
        folder.mkdir()
        environment = outside(PREFIX=prefix, CXX=compiler)
        install(Path(build), prefix)
        said = list(followed(section, folder, environment))
        must(len(said) == 3, f"the page has {len(said)} blocks of commands, not 3")
        buggy, fixed, weakened = said
        must(buggy.returncode == 1 and re.search(r"FAIL +my_stack .*freed memory.*\[in .*pop\(\)", buggy.stdout),
             "the stack that deletes is caught", buggy.stdout)
        replay = re.search(r"replay: (\S+my_stack_check my_stack --engine explorer --replay \d+\.\S+)", buggy.stdout)
        must(replay, "its verdict has a line that replays it", buggy.stdout)
        counts = re.search(r"pass +my_stack .*exhaustive.* (\d+) generated, (\d+) exhausted, 0 cut", fixed.stdout)
        must(fixed.returncode == 0 and counts and counts[1] == counts[2] and int(counts[1]) > 100,
             "the stack that buries is proved", fixed.stdout)
        must(weakened.returncode == 1 and "data race" in weakened.stdout and "my_stack.hpp:15" in weakened.stdout,
             "the weakened order is caught", weakened.stdout)
        done = run("build/my_stack_check --budget 100x", folder, environment)
        must(done.returncode == 1 and re.search(r"FAIL +my_stack .* [1-9]\d* cut.*not finished", done.stdout),
             "a search that was cut is no pass", done.stdout)
        refusals(Path(parent), environment)


main()
