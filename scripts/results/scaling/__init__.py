"""The parts of dlrm_scaling.py. The configurations are those of examples/dlrm."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "dlrm"))
