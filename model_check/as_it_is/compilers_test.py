"""What clang calls under -fsanitize=thread is there, and does what it does for g++: the linker is asked, then the scenarios.

    compilers_test.py G++ CLANG++ SOURCE_ROOT LIBRARY…"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

GXX, CLANG, ROOT, *LIBRARIES = sys.argv[1:]
del sys.argv[1:]
RUNTIME = f"{ROOT}/model_check/apiary/model_check/as_it_is"
SCENARIOS = "model_check/as_it_is"  # places are told from the root of the source
OPTIONS = [f"-I{ROOT}/impl", f"-I{ROOT}/model_check", "-std=c++20", "-g", f'-DAPIARY_SOURCE_ROOT="{ROOT}"']
# As in apiary_as_it_is.cmake, but for what clang does not know.
INSTRUMENTED = ["-fsanitize=thread", "-fno-builtin", "-fno-omit-frame-pointer", "-U_FORTIFY_SOURCE", "-Wno-atomic-alignment",
                "-include", f"{RUNTIME}/instrumented.hpp", "-fdebug-compilation-dir=."]


def call(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, cwd=ROOT)


class Clang(unittest.TestCase):
    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)

    def built(self, source: str, *options: str) -> str:
        at = Path(self.room.name)
        for name, words in {"begin": [GXX, *OPTIONS, "-c", f"{RUNTIME}/image_begin.cpp"],
                            "end": [GXX, *OPTIONS, "-c", f"{RUNTIME}/image_end.cpp"],
                            "scenarios": [CLANG, *OPTIONS, *INSTRUMENTED, *options, "-c", f"{SCENARIOS}/{source}"]}.items():
            done = call(*words, "-o", f"{at}/{name}.o")
            self.assertEqual(done.returncode, 0, done.stdout)
        done = call(GXX, "-no-pie", f"{at}/begin.o", f"{at}/scenarios.o", f"{at}/end.o", "-Wl,--start-group", *LIBRARIES,
                    "-Wl,--end-group", "-lbacktrace", "-ldl", "-pthread", "-o", f"{at}/program")
        self.assertEqual(done.returncode, 0, "the linker finds something that clang calls nowhere:\n" + done.stdout)
        return f"{at}/program"

    def same_verdicts(self, source: str, *options: str):
        done = call(self.built(source, *options))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^pass ")
        self.assertRegex(done.stdout, r"(?m)^caught ")

    def test_each_kind_of_access(self):
        for options in (["-O1"], ["-O2", "-mcx16"]):
            with self.subTest(options):
                self.same_verdicts("corpus.cpp", *options)

    def test_atomics_of_sixteen_bytes(self):
        self.same_verdicts("wide.cpp", "-O1")


if __name__ == "__main__":
    unittest.main()
