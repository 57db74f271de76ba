#!/usr/bin/env python3
"""Prints the sources that the fuzzers need: the headers that they include, and the sources beside these, transitively.

    needed_sources.py ROOT FUZZER...   paths relative to ROOT, one per line
    needed_sources.py --check ROOT     fails if a source has no header of its name, because it would never be found

So the fuzzer of one parser is built without the rest of the program.
"""

import re
import sys
from pathlib import Path

# Headers that declare for each source of their folder that has no header of its own.
SHARED = ("_export.h", "_stages.h")
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
            if header.endswith(SHARED):
                waiting += [str(source.relative_to(root)) for source in (root / header).parent.glob("*.cc")
                            if not source.with_suffix(".h").exists()]
    return sorted(name for name in found - set(fuzzers) if name.endswith(".cc"))


def without_header(root):
    """The sources below the rooms without a header of their name or a shared one. Those that begin a program or a library
    need none, and commands share a header: no fuzzer runs one."""
    rooms = {line.split("/")[0].split(":")[0] for line in (root / "rooms.txt").read_text().splitlines()
             if line and line[0] != "#"}
    found = (path for room in rooms for path in (root / room).rglob("*.cc"))
    return sorted(str(path.relative_to(root)) for path in found
                  if path.name not in ("main.cc", "plugin.cc") and not path.with_suffix(".h").exists()
                  and not path.match("cli/commands/*_command.cc")
                  and not path.match("plugins/train/model/*_command.cc")
                  and not any(path.parent.glob(f"*{ending}") for ending in SHARED))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        alone = without_header(Path(sys.argv[2]))
        sys.exit("".join(f"{name}: has no header of its name, and its folder has no shared one, so no fuzzer would be linked with it\n" for name in alone) or 0)
    print("\n".join(needed(Path(sys.argv[1]), sys.argv[2:])))
