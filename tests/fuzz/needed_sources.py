#!/usr/bin/env python3
"""Prints the sources that the fuzzers need: what they include, and what stands beside it, from one to the next.

    needed_sources.py ROOT FUZZER...   paths from ROOT, one a line

A fuzzer of one parser is so built without the rest of the program.
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
