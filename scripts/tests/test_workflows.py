"""What a job of the workflows runs needs more than a job has by itself: it stands there. So it does for the container."""

from __future__ import annotations

import json
import re
import unittest

from .support import REAL_ROOT

UNCONFINED = "--security-opt seccomp=unconfined"  # Docker's own profile refuses setarch, which ThreadSanitizer may need


def jobs() -> dict[str, str]:
    """The text of each job, by its workflow and its name."""
    found = {}
    for path in sorted((REAL_ROOT / ".github" / "workflows").glob("*.yml")):
        words = re.split(r"^  (\w+):\n", path.read_text().split("\njobs:\n")[1], flags=re.MULTILINE)[1:]
        found |= {f"{path.stem}.{name}": text for name, text in zip(words[::2], words[1::2])}
    return found


class Jobs(unittest.TestCase):
    def test_what_asks_the_gate_has_the_commit_that_the_gate_asks_of(self) -> None:
        asking = {name: text for name, text in jobs().items() if re.search(r"\.ci/run$|scripts/apiary nightly", text, re.MULTILINE)}
        self.assertEqual(sorted(asking), ["ci.check", "nightly.night"])
        for name, text in asking.items():
            self.assertIn("fetch-depth: 0", text, name)

    def test_thread_sanitizer_may_switch_off_the_randomisation_of_addresses(self) -> None:
        inside = {name: text for name, text in jobs().items() if "container:" in text}
        self.assertIn("ci.arm64", inside)
        for name, text in inside.items():
            self.assertIn(f"      options: {UNCONFINED}\n", text, name)
        folder = REAL_ROOT / ".devcontainer"
        self.assertIn(f"#   docker run --rm {UNCONFINED} ", (folder / "Dockerfile").read_text())
        self.assertEqual(json.loads((folder / "devcontainer.json").read_text())["runArgs"], UNCONFINED.split())


if __name__ == "__main__":
    unittest.main()
