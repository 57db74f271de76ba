"""Where tests find what they test; imported for its effect on the path and on the environment."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "plugins/train/python"
sys.path[:0] = [str(PACKAGE), str(Path(__file__).parent)]

# CTest names the library of its own build; by hand the newest one is taken.
if "PIPE_READER_LIBRARY" not in os.environ:
    built = [*ROOT.glob("build/*/plugins/train/reader/libpipe_reader.so"),
             *ROOT.glob("build/*/bin/plugins/train/libpipe_reader.so")]
    if built:
        os.environ["PIPE_READER_LIBRARY"] = str(max(built, key=lambda path: path.stat().st_mtime))
