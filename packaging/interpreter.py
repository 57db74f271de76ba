#!/usr/bin/env python3
"""Packs the CPython that python.sh has installed, so that it runs on every Linux with glibc 2.34 wherever it lies.

    interpreter.py ROOT SOURCE OUT PACKAGE...

ROOT is the installation, SOURCE its source with Debian's folder. OUT gets an archive with the one folder `python`, as
`uv python install` and others want it. PACKAGE: the packages of Debian whose static libraries are in it. Same source,
packages and SOURCE_DATE_EPOCH, same bytes.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import elf
import symbols
import tarball
from folder import NAME
from licences import Licences, output

# What the trainer's environment needs and no other module needs. setup.py of CPython goes on if it cannot make a module.
MODULES = ("_asyncio", "_bz2", "_ctypes", "_datetime", "_decimal", "_elementtree", "_hashlib", "_json", "_lzma",
           "_multiprocessing", "_pickle", "_posixshmem", "_posixsubprocess", "_socket", "_ssl", "_struct", "_zoneinfo",
           "array", "binascii", "cmath", "fcntl", "math", "mmap", "pyexpat", "resource", "select", "termios",
           "unicodedata", "zlib", "ensurepip", "venv")
# Beside the interpreter and its library: tests, programs with windows, and files for those who link with CPython.
UNUSED = ("share", "lib/pkgconfig", "lib/python*/config-*", "lib/python*/idlelib", "lib/python*/tkinter",
          "lib/python*/turtledemo", "lib/python*/turtle.py", "lib/python*/**/__pycache__", "lib/python*/**/tests")
# glibc 2.35 has a second version of `hypot`, without the error handling of System V, which nothing here asks for.
HYPOT = "GLIBC_2.35"


def reduce(root):
    """Leaves what runs, and `python` as a name of the program."""
    program = next(path for path in (root / "bin").glob("python3.*") if elf.is_elf(path))
    for path in [*(root / "bin").iterdir(), *(path for pattern in UNUSED for path in sorted(root.glob(pattern)))]:
        if path.is_dir():
            shutil.rmtree(path)
        elif path != program:
            path.unlink(missing_ok=True)
    for name in ("python", "python3"):
        (root / "bin" / name).symlink_to(program.name)
    for path in (path for path in root.rglob("*") if elf.is_elf(path)):
        path.chmod(0o755)
        output("strip", "--strip-all" if path == program else "--strip-unneeded", path)
        if elf.symbols_of_version(path, HYPOT) == {"hypot"}:
            elf.replace_version(path, HYPOT, f"GLIBC_{'.'.join(map(str, min(elf.versions(path)['GLIBC'])))}")
    return program


def forget(root, source):
    """The place where it was built is in no file."""
    for path in root.rglob("_sysconfigdata*.py"):
        path.write_text(path.read_text(encoding="utf-8").replace(str(source), "/build"), encoding="utf-8")


def findings(root, source):
    yield from symbols.newer(root, symbols.OLDEST)
    for path in sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
        if str(source.parent).encode() in path.read_bytes():
            yield f"{path.relative_to(root)} names the place where it was built"
        if elf.is_elf(path):
            for name in sorted(set(elf.dynamic_names(path)) - symbols.OF_THE_SYSTEM):
                yield f"{path.relative_to(root)} needs {name}"


def missing_modules(program):
    """Names of MODULES that it cannot import."""
    code = "import importlib, sys\nfor name in sys.argv[1:]:\n  try: importlib.import_module(name)\n" \
           "  except ImportError as error: print(name, error, sep=': ')"
    told = subprocess.run([program, "-I", "-B", "-c", code, *MODULES], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()


def add_licences(root, source, packages):
    licences = Licences(root / "share/doc/python")
    name, version = re.match(r"(\S+) \((\S+)\)", (source / "debian/changelog").read_text(encoding="utf-8")).groups()
    licences.add(name, source / "debian/copyright", version)
    for package in packages:
        licences.add_installed(package)
    licences.write_parts()


def make(root, source, out, packages):
    program = reduce(root)
    forget(root, source)
    if found := [*findings(root, source), *missing_modules(program)]:
        sys.exit("interpreter.py: " + "; ".join(found))
    add_licences(root, source, packages)
    header = next(root.glob("include/python*/patchlevel.h")).read_text(encoding="utf-8")
    version = re.search(r'^#define PY_VERSION\s+"([\d.]+)', header, re.M)[1]
    path = out / f"{NAME}-python-{version}-linux-{elf.machine(program)}.tar.gz"
    return tarball.pack(root, path, "python")


if __name__ == "__main__":
    tarball.tell(make(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]))
