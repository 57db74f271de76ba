"""Makes the folder that runs anywhere (README.md) of a build.

`libraries` is the directory that libraries.sh makes. If absent: the folder has the libraries of this machine as they
are, and so runs only where their glibc is. `sysroot` is the root of the Debian whose libraries are taken.
"""

import shutil
from pathlib import Path

import elf
from elf import dynamic_names, is_elf, libraries_of
from licences import Licences, output, package_of
from symbols import OF_THE_SYSTEM, find_library, places_of_debian
from tarball import copy, digest

HEADERS_ALONE = ("libcli11-dev", "nlohmann-json3-dev")  # Debian packages whose code is in the program
NAME = "text2lm"
RENAMED = {"libstdc++.so.6": "libstdc++-text2lm.so.6"}  # those of libraries.sh that the system has, too
# libstdc++ 12 has one function in two versions that do the same; manylinux_2_34 knows the older one alone.
NEWER, OLDER, WAIT = "GLIBCXX_3.4.30", "GLIBCXX_3.4.11", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"


class Folder:
    def __init__(self, root, libraries, sysroot):
        self.root, self.libraries, self.sysroot = root, libraries, sysroot
        self.renamed = RENAMED if libraries else {}
        self.licences = Licences(root / "share/doc/pipe", sysroot)

    def install(self, build):
        output("cmake", "--install", build, "--prefix", self.root)

    def add_libraries(self):
        programs = sorted(path for path in self.root.rglob("*") if is_elf(path))
        places = [*([self.libraries / "lib"] if self.libraries else ()), *places_of_debian(programs[0], self.sysroot)]

        def place_of(name):
            return None if name in OF_THE_SYSTEM else find_library(self.renamed.get(name, name), places)

        for name, path in sorted(libraries_of(programs, place_of).items()):
            copy(path.resolve(), self.root / "lib/pipe" / self.renamed.get(name, name))
            self.licences.add_installed("libstdc++6" if name in self.renamed else package_of(path, self.sysroot))
        if self.libraries:
            self.rename()
        for package in HEADERS_ALONE:
            self.licences.add_installed(package)
        if self.libraries:
            for doc in sorted((self.libraries / "share/doc").glob("*/version")):
                self.licences.add(doc.parent.name, doc.parent / "copyright", doc.read_text(encoding="utf-8").strip())

    def rename(self):
        for path in sorted(path for path in self.root.rglob("*") if is_elf(path)):
            for name in set(dynamic_names(path)) & set(RENAMED):
                output("patchelf", "--replace-needed", name, RENAMED[name], path)
            if elf.symbols_of_version(path, NEWER) == {WAIT}:
                elf.replace_version(path, NEWER, OLDER)

    def pin_python(self, archive):
        """The trainer takes this archive of python.sh and no other."""
        (self.root / "lib/pipe/plugins/train/python.txt").write_text(f"{archive.name} {digest(archive)}\n")

    def finish(self):
        self.licences.write_parts()
        for path in sorted(self.root.rglob("*")):  # umask of this machine aside
            if path.is_file():
                path.chmod(0o755 if is_elf(path) and path.parent.name == "bin" else 0o644)
            else:
                path.chmod(0o755)
        (self.root / f"bin/{NAME}").symlink_to("pipe")


def make(build, root, libraries=None, python=None, sysroot=Path("/")):
    """Makes the folder `root`, and replaces one that is there."""
    shutil.rmtree(root, ignore_errors=True)
    folder = Folder(root, libraries and libraries.resolve(), sysroot.resolve())
    folder.install(build)
    folder.add_libraries()
    if python:
        folder.pin_python(python)
    folder.finish()
