"""By night: README.md's other ways to build, by the package and from the sources; the second compiler; the other test frameworks.
Prints a row for each: same (found as it must be, and silent where mended), other, or left out.

    front_ends_test.py BUILD_FOLDER CXX_COMPILER [NAME…]"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "tests"))
from page import install, outside, run  # noqa: E402

# README.md's files by name: of the five minutes, and of the other ways.
BLOCKS, OTHER_BLOCKS = ({name: text for text, name in re.findall(r"^```\w+\n((?:// |# )(\S+)\n.*?)^```$", part, re.M | re.S)} for part in
                        (Path(__file__).resolve().parents[1] / "README.md").read_text().split("## Other ways")[:2])
CASE = "mailbox.wakes_its_taker"
# A class of the library, for the way with sources of its own.
BOX = '#include "mailbox.hpp"\nvoid post(mailbox& box, int letter) { box.post(letter); }\n'
# The same cases for the other frameworks; one name has what a filter must escape.
OTHER_TEST = """{head}
#include "mailbox.hpp"
#include <thread>
TEST_CASE("keeps, [a] letter") {{
    mailbox box;
    box.post(7);
    REQUIRE(box.take() == 7);
}}
TEST_CASE("wakes \\"its\\" taker, [always]") {{
    mailbox box;
    std::thread poster([&] {{ box.post(7); }});
    const int letter = box.take();
    poster.join();
    REQUIRE(letter == 7);
}}
"""
HUNT = f"{ROOT}/scripts/apiary hunt --time 120s --runs 400 --json told.json -- "


class Wrong(Exception):
    pass


class LeftOut(Exception):
    pass


def must(condition: object, what: str, shown: str) -> None:
    if not condition:
        raise Wrong(f"{what}: {' / '.join(shown.strip().splitlines()[-4:])}")


class Project:
    """The page's project in a folder of its own."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        folder.mkdir()
        self.folder, self.environment = folder, environment
        for name in ("mailbox.hpp", "mailbox_test.cpp"):
            self.write(name, BLOCKS[name])

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def mend(self) -> None:
        path = self.folder / "mailbox.hpp"
        path.write_text(re.sub(r", std::memory_order_(release|acquire)\)|\(std::memory_order_acquire\)",
                               lambda found: "()" if found[0][0] == "(" else ")", path.read_text()))

    def does(self, command: str) -> str:
        done = run(command, self.folder, self.environment)
        must(done.returncode == 0, command, done.stdout)
        return done.stdout

    def hunted(self, program: str, case: str, cases: int) -> None:
        """The failing case fails for its reason, alone."""
        done = run(HUNT + program, self.folder, self.environment)
        must(done.returncode in (0, 1), program, done.stdout)
        told = json.loads((self.folder / "told.json").read_text())
        failures = [(one["case"], one["kind"], one["needs"]) for one in told["failures"]]
        must(failures == [(case, "deadlock", "a stale read")] and len(told["cases"]) == cases, str(failures), done.stdout)
        must(any(path.endswith("mailbox.hpp") for path, _ in told["failures"][0]["places"]), "no place in the program", done.stdout)
        must("compiled without -fsanitize=thread" not in done.stdout, "all of it is instrumented", done.stdout)

    def found_then_silent(self, build: str, program: str, case: str = CASE, cases: int = 2) -> str:
        self.does(build)
        self.hunted(program, case, cases)
        self.mend()
        self.does(build)
        done = run(HUNT + program, self.folder, self.environment)
        must(done.returncode == 0, "the mended one", done.stdout)
        return "a wake is lost, and not when it is mended"


def by_make(project: Project) -> str:
    project.write("Makefile", OTHER_BLOCKS["Makefile"])
    return project.found_then_silent("make", "./mailbox_test")


def by_meson(project: Project) -> str:
    if not shutil.which("meson"):
        raise LeftOut("apt-get install meson")
    project.write("meson.build", OTHER_BLOCKS["meson.build"])
    return project.found_then_silent("test -d build || meson setup build; ninja -C build", "build/mailbox_test")


# What Bazel 4 would fetch before it builds a cc_test: names for rules that are its own, and a tool that a build does not use. With these
# in their places it needs no network.
RULES_CC = "".join(f"{name} = native.{name}\n" for name in ("cc_library", "cc_binary", "cc_test", "cc_toolchain", "cc_toolchain_suite"))
COVERAGE = 'filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])\n'
RULES_JAVA = Path("/usr/share/bazel/rules/java")


def by_bazel(project: Project) -> str:
    if not shutil.which("bazel") or not RULES_JAVA.exists():
        raise LeftOut("apt-get install bazel-bootstrap bazel-rules-java")
    for name in ("BUILD.bazel", "bazelrc.sh"):
        project.write(name, OTHER_BLOCKS[name])
    project.write("WORKSPACE", "")
    instead = project.folder.with_name("instead")
    for name, text in {"rules_cc/WORKSPACE": "", "rules_cc/cc/BUILD": "", "rules_cc/cc/defs.bzl": RULES_CC,
                       "remote_coverage_tools/WORKSPACE": "", "remote_coverage_tools/BUILD": COVERAGE}.items():
        (instead / name).parent.mkdir(parents=True, exist_ok=True)
        (instead / name).write_text(text)
    project.does("sh bazelrc.sh")
    places = {one: instead / one for one in ("rules_cc", "remote_coverage_tools")} | {"rules_java": RULES_JAVA}
    words = " ".join(f"--override_repository={name}={at}" for name, at in places.items())
    build = f"bazel --batch --output_user_root={instead} build --config=hunt {words} //:mailbox_test"
    return project.found_then_silent(build, "bazel-bin/mailbox_test")


def by_sources(project: Project) -> str:
    project.write("CMakeLists.txt", OTHER_BLOCKS["CMakeLists.txt"])
    project.write("box.cpp", BOX)
    project.write("mailbox_test.cpp", BLOCKS["mailbox_test.cpp"].replace("TEST(", "void post(mailbox&, int);\nTEST(", 1).replace("[&] { box.post(7); }", "[&] { post(box, 7); }"))
    told = project.found_then_silent("cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build", "build/mailbox_test")
    # Without its name the library is not compiled so, and its stores are not seen: that is told.
    project.write("CMakeLists.txt", OTHER_BLOCKS["CMakeLists.txt"].replace("mailbox_test box)", "mailbox_test)").replace(
        "add_library(", "add_compile_options(-g)\nadd_library("))
    project.does("cmake --build build")
    done = run(HUNT + "build/mailbox_test", project.folder, project.environment)
    must("compiled without -fsanitize=thread" in done.stdout and "box.cpp" in done.stdout, "half of it is instrumented", done.stdout)
    return told


def by_clang(project: Project) -> str:
    if not (compiler := shutil.which("clang++-19")):
        raise LeftOut("apt-get install clang-19")
    project.write("CMakeLists.txt", BLOCKS["CMakeLists.txt"] + "find_package(apiary REQUIRED COMPONENTS hunt)\napiary_hunt(mailbox_test)\n")
    build = f"cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH=$PREFIX -DCMAKE_CXX_COMPILER={compiler} && cmake --build build"
    return project.found_then_silent(build, "build/mailbox_test")


def framework(header: str, package: str, head: str, libraries: str = "") -> Callable[[Project], str]:
    def tried(project: Project) -> str:
        if not Path("/usr/include", header).exists():
            raise LeftOut(f"apt-get install {package}")
        project.write("mailbox_test.cpp", OTHER_TEST.format(head=head))
        project.write("Makefile", OTHER_BLOCKS["Makefile"].replace(" -lgtest_main -lgtest", libraries))
        return project.found_then_silent("make", "./mailbox_test", 'wakes "its" taker, [always]')

    return tried


ROWS = {
    "Make": by_make, "Meson": by_meson, "Bazel": by_bazel, "FetchContent": by_sources, "clang": by_clang,
    "doctest": framework("doctest/doctest.h", "doctest-dev", "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>"),
    # Debian 12 has version 2, later ones have 3.
    "Catch2": framework("catch2/catch.hpp", "catch2", "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>")
    if Path("/usr/include/catch2/catch.hpp").exists() else
    framework("catch2/catch_all.hpp", "catch2", "#include <catch2/catch_all.hpp>", " -lCatch2Main -lCatch2"),
}


def main() -> int:
    build, compiler, names = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:] or list(ROWS)
    rows = []
    with tempfile.TemporaryDirectory() as parent:
        prefix = Path(parent) / "prefix"
        environment = outside(PREFIX=prefix, CXX=compiler, APIARY=ROOT, PKG_CONFIG_PATH=prefix / "share" / "pkgconfig", NO_COLOR=1)
        install(build, prefix)
        for name in names:
            try:
                rows.append(f"same {name}: {ROWS[name](Project(Path(parent) / name, environment))}")
            except LeftOut as why:
                rows.append(f"left out {name}: {why}")
            except Wrong as why:
                rows.append(f"other {name}: {why}")
    print(*rows, sep="\n", flush=True)
    return any(row.startswith("other") for row in rows)


sys.exit(main())
