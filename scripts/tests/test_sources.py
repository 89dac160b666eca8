"""Which source ran: small projects really built, then changed behind the back of every time stamp."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.base import building, repo, sources
from apiary_cli.base.errors import Fault
from apiary_cli.verify import night_units

from . import fakes
from .support import REAL_ROOT, TreeCase, apiary

PRESETS = """{"version": 6, "configurePresets": [
  {"name": "model", "generator": "Ninja", "binaryDir": "${sourceDir}/build/${presetName}"}]}"""
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(tiny LANGUAGES CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${{CMAKE_BINARY_DIR}}/bin)
list(APPEND CMAKE_MODULE_PATH "{REAL_ROOT}/scripts/cmake")
include(apiary_manifest)
include(apiary_record)
include_directories(${{PROJECT_SOURCE_DIR}}/impl)
add_library(law STATIC model_check/law.cpp)
add_executable(tiny_check model_check/tiny_check.cpp)
target_link_libraries(tiny_check law)
apiary_register(checks tiny_check)
add_executable(other_check model_check/other_check.cpp)
apiary_register(checks other_check)
"""
CHECK = """#include <cstdio>
#include <cstring>
#ifdef TINY
#include <apiary/slot.hpp>
bool law();
bool good() { return fence && law(); }
#else
bool good() { return true; }
#define TINY "other"
#endif
int main(int argc, char** argv) {
    if (!std::strcmp(argv[1], "--list")) {
        std::puts(R"({"name": ")" TINY R"(", "kind": "check", "engines": ["explorer"], "one_engine": "tiny"})");
        return 0;
    }
    std::FILE* file = std::fopen(argv[argc - 1], "w");
    std::fprintf(file, R"({"name": ")" TINY R"(", "kind": "check", "engine": "explorer", "verdict": "%s", "executions": 1,)"
        R"( "as_expected": %s})", good() ? "pass" : "fail", good() ? "true" : "false");
    return std::fclose(file) || !good();
}
"""
LONG_AGO = 1_000_000_000
HEADER, LAW = "impl/apiary/slot.hpp", "model_check/law.cpp"
WITH_FENCE, WITHOUT = "constexpr bool fence = true;\n", "constexpr bool fence = false;\n"


class Tiny(TreeCase):
    """Two check programs, a header, a static library. Their trees stand at one path, one after the other, because CMake's
    files name it: so the first build of all is one, kept and copied."""

    @classmethod
    def setUpClass(cls) -> None:
        holder = TemporaryDirectory(prefix="apiary-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.place, cls.kept = Path(holder.name) / "tree", Path(holder.name) / "kept"

    def setUp(self) -> None:
        super().setUp()
        shutil.rmtree(self.place, ignore_errors=True)
        self.root = fakes.tree(self.place)
        shutil.rmtree(self.root / "build")
        self.write("CMakePresets.json", PRESETS)
        self.write("CMakeLists.txt", PROJECT)
        self.write(HEADER, WITH_FENCE)
        self.write(LAW, "bool law() { return true; }\n")
        self.write("model_check/tiny_check.cpp", '#define TINY "tiny"\n' + CHECK)
        self.write("model_check/other_check.cpp", CHECK)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def write_as_of_long_ago(self, name: str, text: str) -> None:
        self.write(name, text)
        os.utime(self.root / name, (LONG_AGO, LONG_AGO))

    def build(self) -> None:
        done = apiary(self.root, "build", "model")
        self.assertEqual(done.returncode, 0, done.stderr)

    def first_build(self) -> None:
        """A build of what setUp has written."""
        if not self.kept.exists():
            self.build()
            shutil.copytree(self.root, self.kept, symlinks=True)
        else:
            shutil.rmtree(self.root)
            shutil.copytree(self.kept, self.root, symlinks=True)

    def prove(self, status: int) -> str:
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def record(self) -> dict:
        return json.loads((self.root / "build/model/prove.json").read_text())

    def program(self, name: str = "tiny_check") -> Path:
        return self.root / "build/model/bin" / name


class CppBuilds(Tiny):
    def test_an_edit_is_refused_then_built_whatever_its_time_stamp(self) -> None:
        self.first_build()
        self.prove(0)
        before = self.record()
        for name, broken, mended in (
            (HEADER, WITHOUT, WITH_FENCE),
            (LAW, "bool law() { return false; }\n", "bool law() { return true; }\n"),
            ("CMakeLists.txt", PROJECT + "set(NOTHING 1)\n", PROJECT),
        ):
            with self.subTest(name):
                self.write_as_of_long_ago(name, broken)
                told = self.prove(3)
                self.assertIn(name, told)
                self.assertIn("scripts/apiary build model", told)
                self.assertEqual(self.record(), before, "the record is still of what ran")
                self.build()
                self.prove(0 if name == "CMakeLists.txt" else 1)
                self.assertNotEqual(self.record()["source_hash"], before["source_hash"])
                self.write_as_of_long_ago(name, mended)
                self.build()
                self.prove(0)
                self.assertEqual(self.record()["source_hash"], before["source_hash"])
                before = self.record()

    def test_what_a_precompiled_header_is_made_of_is_in_the_record_and_is_built_again(self) -> None:
        once = "#pragma once\n"
        self.write("CMakeLists.txt", PROJECT + "target_precompile_headers(tiny_check PRIVATE <apiary/slot.hpp>)\n")
        self.write(HEADER, once + WITH_FENCE)
        self.build()
        self.prove(0)
        for text, status in ((WITHOUT, 1), (WITH_FENCE, 0)):
            self.write_as_of_long_ago(HEADER, once + text)
            self.assertIn(HEADER, self.prove(3))
            self.build()
            self.prove(status)

    def test_only_what_the_edit_concerns_is_built_again(self) -> None:
        self.first_build()
        other, tiny = (self.program(name).stat().st_mtime_ns for name in ("other_check", "tiny_check"))
        self.write_as_of_long_ago(HEADER, WITHOUT)
        self.assertIn("1 of 2 programs of build/model are not of this source: tiny_check", self.prove(3))
        self.build()
        self.assertEqual(self.program("other_check").stat().st_mtime_ns, other)
        self.assertNotEqual(self.program().stat().st_mtime_ns, tiny)

    def test_flags_and_sources_that_were_configured_by_hand_and_not_built(self) -> None:
        self.first_build()
        for more, told in (
            ("target_compile_definitions(tiny_check PRIVATE MORE)\n", "the flags of tiny_check.cpp"),
            ("target_sources(tiny_check PRIVATE model_check/more.cpp)\n", "the flags of more.cpp"),
        ):
            self.write("model_check/more.cpp", "int more = 1;\n")
            self.write("CMakeLists.txt", PROJECT + more)
            subprocess.run(["cmake", "--preset", "model"], cwd=self.root, check=True, capture_output=True)
            self.assertIn(told, self.prove(3))
            self.build()
            self.prove(0)
        self.write_as_of_long_ago("CMakeLists.txt", PROJECT)  # the source is taken away again
        self.prove(3)
        self.build()
        self.prove(0)

    def test_a_program_that_is_called_by_a_link(self) -> None:
        """As those of a room of model checks: what the link leads to is told, and built."""
        project = PROJECT.replace("executable(tiny_check", "executable(checks_tiny").replace("libraries(tiny_check", "libraries(checks_tiny")
        project = project.replace("apiary_register(checks tiny_check)", """set(link ${CMAKE_BINARY_DIR}/bin/tiny_check)
add_custom_command(OUTPUT ${link} DEPENDS checks_tiny COMMAND ${CMAKE_COMMAND} -E create_symlink checks_tiny ${link})
add_custom_target(tiny_check ALL DEPENDS ${link})
set_property(GLOBAL APPEND PROPERTY APIARY_checks ${link})""")
        self.write("model_check/more.cpp", "int more = 1;\n")
        self.write("CMakeLists.txt", project)
        self.build()
        self.prove(0)
        self.write("CMakeLists.txt", project + "target_sources(checks_tiny PRIVATE model_check/more.cpp)\n")
        subprocess.run(["cmake", "--preset", "model"], cwd=self.root, check=True, capture_output=True)
        self.assertIn("the flags of more.cpp", self.prove(3))
        self.build()
        self.prove(0)
        self.write_as_of_long_ago("CMakeLists.txt", project)  # the source is taken away again: the objects are right, the program is not
        self.prove(3)
        self.build()
        self.prove(0)
        self.assertTrue(self.program().is_symlink())

    def test_a_header_that_is_gone(self) -> None:
        self.first_build()
        (self.root / HEADER).unlink()
        self.assertIn(HEADER, self.prove(3))
        done = apiary(self.root, "build", "model")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("slot.hpp", done.stderr)

    def test_a_program_that_says_nothing_or_is_another(self) -> None:
        self.first_build()
        shutil.copy2(self.program(), self.root / "kept")
        subprocess.run(["objcopy", "--remove-section", ".apiary.source", self.program()], check=True)
        self.assertIn("does not say what it was made of", self.prove(3))
        self.build()
        self.prove(0)
        self.write(HEADER, WITHOUT)
        self.build()
        self.prove(1)
        shutil.copy2(self.root / "kept", self.program())  # an older build, with its fence
        self.assertIn(HEADER, self.prove(3))
        self.build()
        self.prove(1)

    def test_a_folder_of_before_this(self) -> None:
        self.write("CMakeLists.txt", PROJECT.replace("include(apiary_record)\n", ""))
        subprocess.run(["cmake", "--preset", "model"], cwd=self.root, check=True, capture_output=True)
        subprocess.run(["cmake", "--build", "build/model"], cwd=self.root, check=True, capture_output=True)
        self.write_as_of_long_ago("CMakeLists.txt", PROJECT)
        self.assertIn("does not say", self.prove(3))
        self.build()
        self.prove(0)

    def test_a_program_tells_its_source_wherever_it_is(self) -> None:
        self.first_build()
        shutil.copy2(self.program(), self.root / "elsewhere")
        names = {name for _, name in sources.recorded(self.root / "elsewhere")}
        self.assertLessEqual({HEADER, LAW, "model_check/tiny_check.cpp"}, names, "the library's, too")
        now = sources.Present(self.root)
        self.assertEqual(now.differing(self.root / "elsewhere"), [])
        self.write_as_of_long_ago(HEADER, WITHOUT)
        self.assertEqual(sources.Present(self.root).differing(self.root / "elsewhere"), [HEADER])

    def test_another_compiler_is_another_source(self) -> None:
        self.first_build()
        with mock.patch.object(sources.subprocess, "run", return_value=mock.Mock(stdout=b"c++ 99.0\n")):
            (found,) = sources.Present(self.root).differing(self.program())
        self.assertIn("another version", sources.words_for(found))


class WhileItBuilds(Tiny):
    def test_a_file_that_changes_while_it_is_compiled(self) -> None:
        """The compiler may have read either; neither is recorded."""
        launcher = fakes.script(self.root / "launcher", f"""#!/bin/sh
"$@" || exit
case "$*" in *tiny_check.cpp) printf '{WITHOUT[:-1]}' > {self.root / HEADER}; touch -d @{LONG_AGO} {self.root / HEADER};; esac
""")
        with mock.patch.dict(os.environ, CMAKE_CXX_COMPILER_LAUNCHER=str(launcher)):
            done = apiary(self.root, "build", "model")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(HEADER, done.stderr)
        self.assertIn("while this built", done.stderr)
        self.assertIn(("-", HEADER), sources.recorded(self.program()))
        self.prove(3)

    def test_the_compile_is_what_it_was_and_a_failed_one_fails(self) -> None:
        log = self.root / "log"
        launcher = fakes.script(self.root / "launcher", f'#!/bin/sh\necho "$@" >> {log}\nexec "$@"\n')
        with mock.patch.dict(os.environ, CMAKE_CXX_COMPILER_LAUNCHER=str(launcher)):
            self.build()
        (command,) = (line for line in log.read_text().splitlines() if line.endswith("law.cpp"))
        self.assertIn(" -MF ", command)
        self.assertNotIn("record_sources", command)
        self.write(LAW, "no C++\n")
        done = apiary(self.root, "build", "model")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("law.cpp", done.stderr)


class WhileItRuns(TreeCase):
    """Evidence, on a fake program."""

    def setUp(self) -> None:
        super().setUp()
        self.program = fakes.stress(self.root / "build/tsan/bin/stress_x")
        fakes.manifest(self.root, "tsan", "stress", [self.program])
        for name, value in (("ROOT", self.root), ("BUILD", self.root / "build")):
            patched = mock.patch.object(repo, name, value)
            patched.start()
            self.addCleanup(patched.stop)

    def evidence(self) -> sources.Evidence:
        return sources.Evidence(("impl",), ["tsan"], "stress")

    def test_the_record_is_of_what_ran(self) -> None:
        before, evidence = repo.source_hash("impl"), self.evidence()
        (self.root / fakes.SOURCE).write_text("// changed meanwhile\n")
        self.assertEqual(evidence.check()["source_hash"], before)
        self.assertNotEqual(repo.source_hash("impl"), before)

    def test_a_reason_why_a_mutant_may_live_is_no_source(self) -> None:
        reasons = self.root / "impl" / "logic_survivors.csv"
        before = repo.source_hash("impl")
        reasons.write_text("file,function,code,change,reason\n")
        self.assertEqual(repo.source_hash("impl"), before)
        reasons.with_name("logic_mutants.toml").write_text("")
        self.assertNotEqual(repo.source_hash("impl"), before)

    def test_but_a_night_asks_mutants_again_when_it_came_or_went(self) -> None:
        def salt() -> str:
            return night_units.by_verb("mutant", "a.hpp", ["mutate"], ("impl",), 1.0).salt

        before, reasons = salt(), self.root / "model_check" / "survivors.csv"
        reasons.parent.mkdir(exist_ok=True)
        reasons.write_text("file,line\n")
        self.assertNotEqual(salt(), before)

    def test_and_when_the_code_changed_that_makes_and_judges_them(self) -> None:
        def key() -> str:
            return night_units.by_verb("mutant", "a.hpp", ["mutate"], ("impl",), 1.0).key

        before, code = key(), self.root / "scripts/apiary_cli/verify/mutation.py"
        repo.write_text(code, "WEAKER = {}\n")
        self.assertNotEqual(key(), before)

    def test_what_nobody_here_wrote_is_asked_again_when_a_page_tells_another_table(self) -> None:
        folder = self.root / "model_check" / "outside"
        for name in ("table_test.py", "README.md", "TROPHIES.md"):
            repo.write_text(folder / name, "before")
        with mock.patch.object(sources, "built", lambda *_: [self.program]):
            for name in ("README.md", "TROPHIES.md"):
                (before,) = night_units.outside()
                key = before.key
                repo.write_text(folder / name, "another table")
                (after,) = night_units.outside()
                self.assertNotEqual(after.key, key, name)
        words = after.command("python3", {**dict(after.files), "program": "p"})
        self.assertEqual(words, ["python3", str(folder / "table_test.py"), "--long", "p"])

    def test_a_program_that_was_replaced_records_nothing(self) -> None:
        evidence, text = self.evidence(), self.program.read_text()
        old = self.program.stat()
        self.program.write_text(text)
        os.utime(self.program, ns=(old.st_atime_ns, old.st_mtime_ns))
        with self.assertRaisesRegex(Fault, "stress_x changed while they ran"):
            evidence.check()

    def test_what_lies_beside_another_program_says_nothing(self) -> None:
        self.assertIsNotNone(sources.recorded(self.program))
        record = self.program.with_name("stress_x.source")
        (own,) = (line for line in record.read_text().splitlines() if line.endswith("  ."))
        for useless in (own, "nonsense", f"{own}\n{'0' * 64}  compiler:/usr/bin/c++"):
            record.write_text(useless + "\n")
            self.assertIn("does not say", " ".join(sources.Present(self.root).differing(self.program)))
        fakes.manifest(self.root, "tsan", "stress", [self.program])
        self.program.write_text(self.program.read_text() + "# relinked\n")
        self.assertIsNone(sources.recorded(self.program))
        with self.assertRaisesRegex(Fault, "are not of this source: stress_x"):
            self.evidence()


class Verbs(TreeCase):
    def test_each_refuses_programs_of_another_source(self) -> None:
        model = fakes.checks(self.root / "build/model/bin/c", [("a", "check", "pass"), ("x", "exhibit", "fail")])
        fakes.manifest(self.root, "model", "checks", [model])
        for preset in ("tsan", "asan-ubsan"):
            stress = fakes.stress(self.root / f"build/{preset}/bin/stress_x")
            fakes.manifest(self.root, preset, "stress", [stress])
        fakes.manifest(self.root, "release", "exact", [fakes.stress(self.root / "build/release/bin/x_exact")])
        fakes.manifest(self.root, "release", "micro", [fakes.stress(self.root / "build/release/bin/x_micro")])
        self.subjects({"name": "hive"})
        (hive,) = repo_manifest(self.root, "release", "subjects")
        (self.root / fakes.SOURCE).write_text("// edited\n")
        for words in (
            ("prove",), ("prove", "a", "--replay", "7"), ("mutate",), ("mutate", "--inventory"), ("museum", "--times"),
            ("stress",), ("stress", "--preset", "tsan"), ("exact",), ("race", "--subject", "hive", *self.one_point()),
            ("tune", "--rounds", "1", "--minutes", "0.1"), ("qualify", "--batches", "1", "--rounds", "1"),
        ):
            with self.subTest(words):
                done = apiary(self.root, *words, "--no-build")
                self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
                self.assertIn("not of this source", done.stderr)
                self.assertIn(fakes.SOURCE, done.stderr)
        fakes.of_this_source(self.root, hive)
        done = apiary(self.root, "race", "--no-build", "--subject", "hive")
        self.assertIn("x_micro", done.stderr, "the micro-benchmarks stand in the same report")
        self.assertEqual([path.name for path in (self.root / "results").iterdir()], [], "nothing is left")
        self.assertEqual(list((self.root / "build").rglob("*.json")), [])

    def test_the_record_of_a_proof_is_of_what_ran(self) -> None:
        """The check itself edits the source."""
        model = fakes.checks(self.root / "build/model/bin/c", [("a", "check", "pass")])
        edit = f"out = words[words.index('--json') + 1]; open({str(self.root / fakes.SOURCE)!r}, 'a').write('//')\n"
        model.write_text(model.read_text().replace("bad = 0\n", f"bad = 0\n{edit}", 1))
        fakes.manifest(self.root, "model", "checks", [model])
        with mock.patch.object(repo, "ROOT", self.root):
            before = repo.source_hash(*repo.PROVED_FOLDERS)
        done = apiary(self.root, "prove", "--no-build")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the source changed meanwhile", done.stderr)
        record = json.loads((self.root / "build/model/prove.json").read_text())
        self.assertEqual(record["source_hash"], before)


def repo_manifest(root: Path, preset: str, kind: str) -> list[Path]:
    with mock.patch.object(repo, "BUILD", root / "build"):
        return repo.manifest(preset, kind)


class Elf(unittest.TestCase):
    def test_more_sections_than_the_head_can_count(self) -> None:
        with TemporaryDirectory() as folder:
            source, made = Path(folder) / "x.s", Path(folder) / "x.o"
            lines = (f'.section .s{i},"",@progbits\n.byte 1\n' for i in range(66_000))
            source.write_text("".join(lines) + '.section .apiary.source,"",@progbits\n.ascii "12  x\\n"\n')
            subprocess.run(["as", "-o", made, source], check=True)
            self.assertEqual(sources.recorded(made), {("12", "x")})

    def test_what_is_no_program_says_nothing(self) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "x"
            for content in (b"", b"\x7fELF", b"\x7fELF\2\1" + b"\xff" * 90, b"#!/bin/sh\n"):
                path.write_bytes(content)
                self.assertIsNone(sources.recorded(path))
                self.assertIsNone(sources.code(path))


@unittest.skipUnless(shutil.which("cargo"), "no cargo")
class CargoBuilds(TreeCase):
    def test_cargo_s_programs_too(self) -> None:
        crate = self.root / "tokio_baseline"
        for name, text in (
            ("Cargo.toml", '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n'),
            ("Cargo.lock", 'version = 3\n\n[[package]]\nname = "tiny"\nversion = "0.1.0"\n'),
            ("src/lib.rs", "pub fn word() -> &'static str { \"fence\" }\n"),
            ("src/bin/subject_tiny.rs", 'fn main() { println!("{}", tiny::word()); }\n'),
        ):
            fakes.script(crate / name, text)
        for name, value in (("ROOT", self.root), ("BUILD", self.root / "build"), ("RUST", crate)):
            patched = mock.patch.object(repo, name, value)
            patched.start()
            self.addCleanup(patched.stop)

        def says() -> str:
            (program,) = building.build_rust()
            sources.refuse_other(crate / "target", [program], "")
            return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()

        self.assertEqual(says(), "fence")
        lib = crate / "src/lib.rs"
        lib.write_text(lib.read_text().replace("fence", "none"))
        os.utime(lib, (LONG_AGO, LONG_AGO))
        with self.assertRaises(Fault) as refused:
            sources.refuse_other(crate / "target", building.rust_programs(), "scripts/apiary build rust")
        self.assertIn("tokio_baseline/src/lib.rs", refused.exception.cause)
        self.assertEqual(says(), "none")
        (program,) = building.rust_programs()
        lib.write_text(lib.read_text().replace("none", "by hand"))
        subprocess.run(building.cargo_command("build", "--release"), check=True, capture_output=True, cwd=crate)
        lib.write_text(lib.read_text().replace("by hand", "none"))
        os.utime(lib, (LONG_AGO, LONG_AGO))  # the source of before, the program of meanwhile
        with self.assertRaises(Fault):
            sources.refuse_other(crate / "target", [program], "")
        self.assertEqual(says(), "none")


class Touched(TreeCase):
    def test_one_program_s_record_vouches_for_one_that_is_not_there_and_for_no_other_source(self) -> None:
        source, made, other = self.root / "lib.rs", self.root / "subject_a", self.root / "subject_b"
        source.write_text("one\n")
        made.write_text("a program")
        os.utime(source, (LONG_AGO, LONG_AGO))
        with mock.patch.object(repo, "ROOT", self.root):
            sources.write_beside(made, [source])
            building.touch_differing([made, other], [source])
            self.assertEqual(source.stat().st_mtime, LONG_AGO, "Cargo builds the other one, of the same library")
            other.write_text("a program that says nothing")
            building.touch_differing([made, other], [source])
            self.assertGreater(source.stat().st_mtime, LONG_AGO, "one that is there without a record")
            other.unlink()
            source.write_text("two\n")
            os.utime(source, (LONG_AGO, LONG_AGO))
            building.touch_differing([made, other], [source])
            self.assertGreater(source.stat().st_mtime, LONG_AGO, "another source than the record's")


if __name__ == "__main__":
    unittest.main()
