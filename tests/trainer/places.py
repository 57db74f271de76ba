"""Locations of the code under test; imported for its effect on the path and the environment."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "plugins/train/python"
sys.path[:0] = [str(PACKAGE), str(Path(__file__).parent)]

# CTest names the libraries of its own build; a test started by hand uses the newest ones.
for name in ("reader", "pieces"):
    if f"PIPE_{name.upper()}_LIBRARY" not in os.environ:
        built = [*ROOT.glob(f"build/*/plugins/train/{name}/libpipe_{name}.so"),
                 *ROOT.glob(f"build/*/bin/plugins/train/libpipe_{name}.so")]
        if built:
            os.environ[f"PIPE_{name.upper()}_LIBRARY"] = str(max(built, key=lambda path: path.stat().st_mtime))
