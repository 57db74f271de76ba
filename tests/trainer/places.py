"""Where tests find what they test; imported for its effect on the path."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "plugins/train/python"
sys.path[:0] = [str(PACKAGE), str(Path(__file__).parent)]
