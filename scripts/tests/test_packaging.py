"""One version, wherever a package manager looks for it; recipes that name what is there."""

from __future__ import annotations

import ast
import json
import re
import unittest
from pathlib import Path

from apiary_cli import main
from apiary_cli.base import repo
from apiary_cli.verbs import publish

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "scripts" / "packaging"


class Issues(unittest.TestCase):
    def test_each_template_asks_for_what_doctor_prints(self) -> None:
        found = [path for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
        self.assertGreater(len(found), 1)
        for path in found:
            asked = next((one for one in path.read_text().split("  - type: ") if "scripts/apiary doctor" in one), "")
            self.assertIn("required: true", asked, path.name)


class Refuted(unittest.TestCase):
    def test_each_claim_has_a_command_that_there_is(self) -> None:
        rows = re.findall(r"^\| (?!claim|---)(.+) \| (.+) \| (.+) \|$", (ROOT / "REFUTE.md").read_text(), re.MULTILINE)
        self.assertGreater(len(rows), 15)
        lacking = [claim for claim, command, refuted in rows if not (re.search(r"`scripts/|the same", command) and refuted.strip())]
        self.assertEqual(lacking, [])
        for verb, words in re.findall(r"`scripts/apiary (\w+)([^`]*)`", " ".join(command for _, command, _ in rows)):
            main.parse(verb, words.split())


    def test_the_race_of_each_page_has_its_command_there(self) -> None:
        text = (ROOT / "REFUTE.md").read_text()
        told = (re.search(r"race --plan (\w+)", page.read_text().partition("<!-- race -->")[2]) for page in (ROOT / "impl/apiary/schedulers").glob("*/*.md"))
        plans = {found[1] for found in told if found} | {step.words[2] for step in publish.STEPS if step.kind == publish.TRACK}
        self.assertGreater(len(plans), 7)
        self.assertEqual([name for name in sorted(plans) if not re.search(f"`(scripts/apiary race --plan )?{name}`", text)], [])


class OneVersion(unittest.TestCase):
    def test_header_port_and_changes_say_what_cmake_says(self) -> None:
        version = repo.version()
        header = (ROOT / "impl/apiary/version.hpp").read_text()
        parts = [re.search(rf"APIARY_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        self.assertEqual(".".join(parts), version)
        self.assertIn(f'library_version[] = "{version}"', header)
        self.assertEqual(json.loads((PACKAGING / "vcpkg/ports/apiary/vcpkg.json").read_text())["version"], version)
        self.assertEqual(re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1], version)
        self.assertEqual(re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1], version)

    def test_recipes_leave_out_every_part_that_a_user_of_the_headers_does_not_want(self) -> None:
        """The options that default to on in the tree's own build, but for the installation."""
        options = re.findall(r"^option\(APIARY_(\w+) .*PROJECT_IS_TOP_LEVEL", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
        parts = sorted(set(options) - {"INSTALL"})
        self.assertEqual(len(parts), 3)
        port = (PACKAGING / "vcpkg/ports/apiary/portfile.cmake").read_text()
        self.assertEqual(sorted(re.findall(r"-DAPIARY_(\w+)=OFF", port)), parts)
        recipe = ast.parse((PACKAGING / "conan/conanfile.py").read_text())
        named = [node for node in ast.walk(recipe) if isinstance(node, ast.For) and isinstance(node.iter, ast.Tuple)]
        words = [sorted(one.value for one in node.iter.elts) for node in named]
        self.assertIn(parts, words)

    def test_the_port_s_manifest_obeys_vcpkg_s_schema(self) -> None:
        """Its fields, one version, names and platforms as vcpkg writes them; by hand, since vcpkg is not to be had here."""
        port = json.loads((PACKAGING / "vcpkg/ports/apiary/vcpkg.json").read_text())
        self.assertLessEqual(set(port), {"name", "version", "description", "license", "supports", "dependencies", "port-version"})
        self.assertRegex(port["version"], r"^\d+(\.\d+)*$")
        self.assertRegex(port["supports"], r"^!?[a-z0-9]+( [&|] !?[a-z0-9]+)*$")
        for one in port["dependencies"]:
            self.assertLessEqual(set(one), {"name", "host"})
        names = [one["name"] for one in port["dependencies"]]
        self.assertEqual(names, sorted(set(names)))
        for name in (port["name"], *names):
            self.assertRegex(name, r"^[a-z0-9]+(-[a-z0-9]+)*$")

    def test_conan_s_versions_are_pinned_and_apart_from_the_command_s(self) -> None:
        lines = [line for line in (PACKAGING / "conan/requirements.txt").read_text().splitlines() if line[0] not in "#-"]
        self.assertTrue(any(line.startswith("conan==") for line in lines))
        for line in lines:
            self.assertRegex(line, r"^[a-z0-9-]+==[0-9a-z.]+$")
        self.assertNotIn("conan", (ROOT / "scripts/requirements.txt").read_text())

    def test_the_recipe_exports_every_folder_that_an_installation_reads(self) -> None:
        """install(DIRECTORY …) and add_subdirectory below the options."""
        recipe = (PACKAGING / "conan/conanfile.py").read_text()
        text = (ROOT / "scripts/cmake/apiary_package.cmake").read_text()
        for folder in re.findall(r"install\(DIRECTORY (\S+)", text):
            self.assertTrue(f'"{folder}/*"' in recipe or f'"{folder.split("/")[0]}/*"' in recipe, folder)

    def test_the_package_preset_builds_what_is_installed_and_no_check(self) -> None:
        """So the first page's example takes a minute: `build` hands the preset's own targets on."""
        (target,) = repo.preset_targets("package")
        self.assertIn(f"add_custom_target({target})", (ROOT / "scripts/cmake/apiary_package.cmake").read_text())
        self.assertEqual({name: repo.preset_targets(name) for name in ("ci", "model")}, {"ci": [], "model": []})


if __name__ == "__main__":
    unittest.main()
