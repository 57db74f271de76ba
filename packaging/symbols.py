"""What files of a package may need of the system where they run, and where it is found."""

from elf import dynamic_names, dynamic_symbols, is_elf, libraries_of, machine, search_paths, versions

# Libraries of glibc, and libgcc_s, which glibc's package needs wherever there is one: they fit the kernel and the
# loader of a machine, and are its own.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
                 "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}  # folders of Debian, by the machine
# The newest versions of symbols in manylinux_2_34, which is Red Hat Enterprise Linux 9.
OLDEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}


def places_of_debian(program, sysroot):
    """Where the Debian at `sysroot` has libraries for the machine of a program."""
    return [sysroot / lib / MULTIARCH[machine(program)] for lib in ("usr/lib", "lib")]


def find_library(name, places):
    path = next((place / name for place in places if (place / name).exists()), None)
    if path is None:
        raise SystemExit(f"symbols.py: {name} is in none of {', '.join(map(str, places))}; install its package")
    return path


def newer(root, oldest):
    """Findings: a file that needs a symbol newer than `oldest`, or looks for libraries outside of the folder."""
    for path in sorted(path for path in root.rglob("*") if is_elf(path)):
        for kind, numbers in versions(path).items():
            if max(numbers) > oldest[kind]:
                yield f"{path.relative_to(root)} needs {kind}_{'.'.join(map(str, max(numbers)))}"
        if any(not part.startswith("$ORIGIN") for part in search_paths(path).split(":") if part):
            yield f"{path.relative_to(root)} looks for libraries in {search_paths(path)}"


def needs(root):
    """A line for each file: the newest versions of symbols that it needs, and the libraries of the machine. All its other
    libraries are in the folder."""
    for path in sorted(path for path in root.rglob("*") if is_elf(path)):
        newest = " ".join(f"{kind}_{'.'.join(map(str, max(numbers)))}" for kind, numbers in sorted(versions(path).items()))
        machines = " ".join(name for name in dynamic_names(path) if name in OF_THE_SYSTEM)
        yield f"{path.relative_to(root)}: {newest or 'no version'}; {machines or 'nothing of the machine'}"


def unresolved(root, sysroot):
    """Findings: a symbol that a program of the folder or its libraries need, and that none of these and of the system's
    libraries has. Programs are all files with a search path: the libraries come with these."""
    for program in sorted(path for path in root.rglob("*") if is_elf(path) and search_paths(path)):
        outside = places_of_debian(program, sysroot)

        def place_of(name, outside=outside):
            return find_library(name, outside if name in OF_THE_SYSTEM else [root / "lib/pipe"])

        files = {program.name: program, **libraries_of([program], place_of)}
        known = {name: dynamic_symbols(path) for name, path in files.items()}
        has = set().union(*(has for _, has in known.values()))
        for name, (needs, _) in known.items():
            for symbol in sorted(needs - has):
                yield f"{program.relative_to(root)}: {symbol} of {name} is nowhere"
