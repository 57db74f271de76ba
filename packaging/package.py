#!/usr/bin/env python3
"""Makes the packages of a build: the folder, a tarball and a wheel of it.

    package.py BUILD OUT [--libraries DIR]

OUT gets FOLDER, FOLDER.tar.gz and a wheel, whose sizes and digests are printed. DIR is made by libraries.sh: then it is
an error if a file needs a symbol that is newer than OLDEST. Same build and SOURCE_DATE_EPOCH, same bytes.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

import folder
import tarball
import wheel
from elf import is_elf, machine, search_paths, versions

# The newest versions of symbols in manylinux_2_34, which is Red Hat Enterprise Linux 9.
OLDEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}


def version_of(build):
    cache = (build / "CMakeCache.txt").read_text(encoding="utf-8")
    return re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.+)$", cache, re.M)[1]


def newer(root, oldest):
    """Findings: a file that needs a symbol newer than `oldest`, or looks for libraries outside of the folder."""
    for path in sorted(path for path in root.rglob("*") if is_elf(path)):
        for kind, numbers in versions(path).items():
            if max(numbers) > oldest[kind]:
                yield f"{path.relative_to(root)} needs {kind}_{'.'.join(map(str, max(numbers)))}"
        if any(not part.startswith("$ORIGIN") for part in search_paths(path).split(":") if part):
            yield f"{path.relative_to(root)} looks for libraries in {search_paths(path)}"


def unresolved(root):
    """Findings: a symbol that a program of the folder or its libraries need, and that no library has. The loader of
    this machine looks for them, from each file that has a search path: the libraries come with these."""
    for path in sorted(path for path in root.rglob("*") if is_elf(path) and search_paths(path)):
        told = subprocess.run(["ldd", "-r", path], capture_output=True, text=True, check=False)
        for line in re.findall(r"undefined symbol: .*|.* => not found", told.stdout + told.stderr):
            yield f"{path.relative_to(root)}: {line.strip()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--libraries", type=Path)
    options = parser.parse_args()
    version = version_of(options.build)
    root = options.out / f"{folder.NAME}-{version}-linux-{machine(options.build / 'bin/pipe')}"
    folder.make(options.build, root, options.libraries)
    if options.libraries and (findings := [*newer(root, OLDEST), *unresolved(root)]):
        sys.exit("package.py: " + "; ".join(findings))
    tarball.tell(tarball.pack(root, options.out / f"{root.name}.tar.gz", root.name))
    tarball.tell(wheel.make(root, version, options.out))


if __name__ == "__main__":
    main()
