"""What files of a package may need of the system where they run."""

import re
import subprocess

from elf import is_elf, search_paths, versions

# Libraries of glibc, and libgcc_s, which glibc's package needs wherever there is one: they fit the kernel and the
# loader of a machine, and are its own.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
                 "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
# The newest versions of symbols in manylinux_2_34, which is Red Hat Enterprise Linux 9.
OLDEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}


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
