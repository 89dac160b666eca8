"""Conan 2: the headers, built from this tree.    conan create scripts/packaging/conan -s compiler.cppstd=20"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy

ROOT = Path(__file__).resolve().parents[3]


class Apiary(ConanFile):
    name = "apiary"
    license = "MIT"
    description = "A proving ground for task schedulers"
    settings = "os", "compiler", "build_type", "arch"
    package_type = "header-library"

    def set_version(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.version = re.search(r"^project\(apiary VERSION (\S+)", text, re.MULTILINE)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "impl/*", "scripts/cmake/*", "model_check/apiary/*", "stress/apiary/*",
                        "bench/apiary/*", "bench/scenarios/*"):
            copy(self, pattern, ROOT, self.export_sources_folder)

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        tools = CMakeToolchain(self, generator="Ninja")
        for part in ("TESTS", "STRESS", "BENCH"):
            tools.cache_variables[f"APIARY_{part}"] = False
        tools.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "apiary")
        self.cpp_info.set_property("cmake_target_name", "apiary::apiary")
        self.cpp_info.set_property("pkg_config_name", "apiary")
