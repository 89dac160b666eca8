"""The example of scripts/packaging/example, built against the package."""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Example(ConanFile):
    settings = "os", "compiler", "build_type", "arch"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        tools = CMakeToolchain(self, generator="Ninja")
        tools.cache_variables["HOW"] = "find_package"
        tools.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=str(Path(__file__).resolve().parents[2] / "example"))
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(str(Path(self.build_folder) / "hundred_tasks"), env="conanrun")
