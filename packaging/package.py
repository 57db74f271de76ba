#!/usr/bin/env python3
"""Makes the packages of a build: the folder, a tarball and a wheel of it.

    package.py BUILD OUT [--libraries DIR] [--python ARCHIVE] [--sysroot DIR]

OUT gets FOLDER, FOLDER.tar.gz and a wheel. Printed are the symbols and the libraries of the machine that each file needs,
sizes and digests. DIR is made by libraries.sh: then it is
an error if a file needs a symbol that is newer than OLDEST. ARCHIVE is made by python.sh: OUT gets it, and the folder
its digest. A build for another processor has the libraries of the Debian at --sysroot, which tests/arm64/sysroot.sh
makes. Same build and SOURCE_DATE_EPOCH, same bytes.
"""

import argparse
import re
import sys
from pathlib import Path

import folder
import tarball
import wheel
from elf import machine
from symbols import OLDEST, needs, newer, unresolved


def version_of(build):
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.+)$", cache, re.M)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--libraries", type=Path)
    parser.add_argument("--python", type=Path)
    parser.add_argument("--sysroot", type=Path, default=Path("/"))
    options = parser.parse_args()
    version = version_of(options.build)
    root = options.out / f"{folder.NAME}-{version}-linux-{machine(options.build / 'bin/pipe')}"
    folder.make(options.build, root, options.libraries, options.python, options.sysroot)
    if options.libraries and (findings := [*newer(root, OLDEST), *unresolved(root, options.sysroot)]):
        sys.exit("package.py: " + "; ".join(findings))
    print(*needs(root), sep="\n")
    parts = (root / "share/doc/pipe/parts.txt").read_text(encoding="utf-8").splitlines()
    print(f"{sum(not part.startswith('#') for part in parts)} parts of others, with their licences: share/doc/pipe/parts.txt")
    tarball.tell(tarball.pack(root, options.out / f"{root.name}.tar.gz", root.name))
    tarball.tell(wheel.make(root, version, options.out))
    if options.python:
        tarball.copy(options.python, options.out / options.python.name)
        tarball.tell(options.out / options.python.name)


if __name__ == "__main__":
    main()
