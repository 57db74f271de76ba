#!/usr/bin/env python3
"""Prints the sources that the fuzzers need: the headers that they include, and the sources beside these, transitively.

    needed_sources.py ROOT FUZZER...   paths relative to ROOT, one per line

So the fuzzer of one parser is built without the rest of the program.
"""

import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def needed(root, fuzzers):
    found, waiting = set(), list(fuzzers)
    while waiting:
        name = waiting.pop()
        if name in found or not (root / name).is_file():
            continue
        found.add(name)
        for header in INCLUDE.findall((root / name).read_text(encoding="utf-8")):
            waiting += [header, str(Path(header).with_suffix(".cc"))]
    return sorted(name for name in found - set(fuzzers) if name.endswith(".cc"))


if __name__ == "__main__":
    print("\n".join(needed(Path(sys.argv[1]), sys.argv[2:])))
