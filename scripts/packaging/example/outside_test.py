"""The example by each way in, as a stranger's project: from an installed prefix, and from the sources.

    outside_test.py BUILD_FOLDER SOURCE_FOLDER CXX_COMPILER"""

import json
import re
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent
PACKAGING = EXAMPLE.parent
sys.path.insert(0, str(PACKAGING.parent / "tests"))
from page import call, install, must  # noqa: E402


def built(at: Path, compiler: str, how: str, *words: object, **environment: str) -> Path:
    """The example, configured by `how`, built and run. Returns its build folder."""
    for command in (["cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", at, f"-DHOW={how}", f"-DCMAKE_CXX_COMPILER={compiler}",
                     "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *words],
                    ["cmake", "--build", at]):
        done = call(*command, **environment)
        must(done.returncode == 0, f"{how}: {' '.join(map(str, command))}", done.stdout)
    shown = next(path for path in (at / "hundred_tasks", at / "bin" / "hundred_tasks") if path.exists())
    done = call(shown)
    must(done.returncode == 0 and "ran 100 tasks" in done.stdout, f"{how}: {shown}", done.stdout)
    return at


def only_what_it_asked_for(build: Path, how: str) -> None:
    """One program, no test, and no compile option but the include path and the standard."""
    commands = json.loads((build / "compile_commands.json").read_text())
    must(len(commands) == 1, f"{how} brings other sources", json.dumps(commands, indent=1))
    for option in ("-ffile-prefix-map", "-Wall", "-Werror", "-fsanitize"):
        must(option not in commands[0]["command"], f"{how} brings {option}", commands[0]["command"])
    # With find_package come the functions for subjects and stress programs, and with those their list.
    must(how == "find_package" or not (build / "manifest").exists(), f"{how} writes a manifest")


def refused(folder: Path, compiler: str, prefix: Path) -> None:
    """Another minor version is not this one."""
    text = (EXAMPLE / "CMakeLists.txt").read_text().replace("find_package(apiary 0.1 ", "find_package(apiary 0.2 ")
    (folder / "other").mkdir()
    (folder / "other" / "CMakeLists.txt").write_text(text)
    (folder / "other" / "hundred_tasks.cpp").write_text((EXAMPLE / "hundred_tasks.cpp").read_text())
    done = call("cmake", "-G", "Ninja", "-S", folder / "other", "-B", folder / "other" / "build", "-DHOW=find_package",
               f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
    must(done.returncode != 0 and "0.1" in done.stdout, "a package of 0.1 was taken for 0.2", done.stdout)


def as_a_part(folder: Path, compiler: str, source: Path) -> None:
    """A project that takes the sources in may ask for stress programs, and is told where checks and subjects are to be had."""
    for option, says in (("STRESS", ""), ("MODEL_CHECKS", "COMPONENTS model bench"), ("BENCH", "COMPONENTS model bench")):
        done = call("cmake", "-G", "Ninja", "-S", EXAMPLE, "-B", folder / option, "-DHOW=FetchContent", f"-DAPIARY={source}",
                   f"-DAPIARY_{option}=ON", f"-DCMAKE_CXX_COMPILER={compiler}")
        must((done.returncode == 0) == (not says) and says in " ".join(done.stdout.split()), f"a part with {option}", done.stdout)


ASKS = """cmake_minimum_required(VERSION 3.25)
project(asks LANGUAGES CXX)
function(ask)
  find_package(apiary 0.1 QUIET ${ARGN})
  message(STATUS "[${ARGN}] ${apiary_FOUND}: ${apiary_NOT_FOUND_MESSAGE}.")
endfunction()
ask(COMPONENTS model)
ask(OPTIONAL_COMPONENTS model)
ask(COMPONENTS modle)
ask(OPTIONAL_COMPONENTS modle)
find_package(apiary)
message(STATUS "files: ${APIARY_BENCH_DIR}/scenarios ${APIARY_AS_IT_IS_DIR}.")
"""
ANSWERS = (
    "[COMPONENTS;model] 0: this package was built without model", "[OPTIONAL_COMPONENTS;model] 1: .",
    "[COMPONENTS;modle] 0: there is no component modle; there are model, as_it_is, hunt, stress, bench", "[OPTIONAL_COMPONENTS;modle] 1: .",
)


def headers_alone(folder: Path, source: Path, compiler: str, include: Path, data: Path) -> None:
    """Installed into these folders, which may be absolute; what the package then says of components and of folders."""
    prefix = folder / "prefix"
    for command in (["-G", "Ninja", "-S", source, "-B", folder / "made", f"-DCMAKE_CXX_COMPILER={compiler}", "-DAPIARY_TESTS=OFF",
                     "-DAPIARY_STRESS=OFF", "-DAPIARY_BENCH=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib64",
                     f"-DCMAKE_INSTALL_INCLUDEDIR={include}", f"-DCMAKE_INSTALL_DATADIR={data}",
                     "-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON", "-DCMAKE_OBJCOPY="],  # headers need neither
                    ["--install", folder / "made"]):
        done = call("cmake", *command)
        must(done.returncode == 0, f"headers alone, in {include} and {data}", done.stdout)
    done = call("pkg-config", "--variable=includedir", "apiary", PKG_CONFIG_PATH=str(prefix / data / "pkgconfig"))
    must((Path(done.stdout.strip()) / "apiary" / "version.hpp").exists(), "pkg-config tells of another folder", done.stdout)
    (folder / "CMakeLists.txt").write_text(ASKS)
    done = call("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "asks", f"-Dapiary_DIR={prefix}/lib64/cmake/apiary",
               f"-DCMAKE_CXX_COMPILER={compiler}")
    for answer in ANSWERS:
        must(f"-- {answer}" in done.stdout, f"find_package does not answer {answer}", done.stdout)
    for place in re.search(r"files: (.+)\.\n", done.stdout)[1].split():
        must(Path(place).is_dir(), f"the package tells of {place}, and there is nothing", done.stdout)


def by_the_port(folder: Path, compiler: str) -> None:
    """vcpkg's port, by a CMake script that does what vcpkg's own functions do with their arguments: vcpkg is not needed."""
    folder.mkdir()
    done = call("cmake", f"-DCOMPILER={compiler}", f"-DPORT={PACKAGING}/vcpkg/ports/apiary", f"-DFOLDER={folder}",
               "-P", EXAMPLE / "as_vcpkg_does.cmake")
    must(done.returncode == 0, "the port of vcpkg", done.stdout)
    left = sorted(str(path.relative_to(folder / "package")) for path in (folder / "package").glob("*/*"))
    must(left == ["include/apiary", "share/apiary", "share/pkgconfig"], f"the port leaves {left}", done.stdout)
    built(folder / "build", compiler, "find_package", f"-Dapiary_DIR={folder}/package/share/apiary")


def main() -> None:
    build, source, compiler = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3]
    with tempfile.TemporaryDirectory() as name:
        folder, prefix = Path(name), Path(name) / "prefix"
        install(build, prefix)
        strangers = [path for path in (prefix / "include").rglob("*test*.hpp")] + list((prefix / "include").rglob("testing"))
        must(not strangers, f"the package holds what only tests use: {strangers}")
        absolute = [line for path in prefix.rglob("apiaryTargets*.cmake") for line in path.read_text().splitlines() if "/usr/" in line]
        must(not absolute, f"the package names places of this machine: {absolute}")
        only_what_it_asked_for(built(folder / "a", compiler, "find_package", f"-DCMAKE_PREFIX_PATH={prefix}"), "find_package")
        only_what_it_asked_for(built(folder / "b", compiler, "FetchContent", f"-DAPIARY={source}"), "FetchContent")
        only_what_it_asked_for(
            built(folder / "c", compiler, "pkg-config", PKG_CONFIG_PATH=str(prefix / "share" / "pkgconfig")), "pkg-config")
        refused(folder, compiler, prefix)
        as_a_part(folder / "part", compiler, source)
        by_the_port(folder / "vcpkg", compiler)
        headers_alone(folder / "deep", source, compiler, Path("inc/x"), Path("share/x"))
        headers_alone(folder / "absolute", source, compiler, folder / "inc", folder / "data")
    print("three ways in, and the port of vcpkg; one version refused")


main()
