"""What knows nothing of proving or racing: faults, output, processes, the repository, its builds,
the machine, statistics.

The libraries of scripts/requirements.txt lie in a folder of their own, which setup makes (libraries.py)."""

import sys
from pathlib import Path

LIBRARIES = Path(__file__).resolve().parents[3] / "build" / "python" / "{}.{}".format(*sys.version_info)
if str(LIBRARIES) not in sys.path:
    sys.path.insert(0, str(LIBRARIES))
