"""Names and versions in the dynamic section of programs and libraries, by readelf of binutils."""

import re
import struct
import subprocess

MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def read(path, *options):
    return subprocess.run(["readelf", "-W", *options, str(path)], capture_output=True, text=True, check=True,
                          env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"}).stdout


def machine(path):
    """The machine of a program, as in a wheel's tag."""
    return MACHINES[re.search(r"Machine: +(.+)", read(path, "-h"))[1]]


def dynamic_names(path):
    """Names of the libraries that a file needs, in its order."""
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^]]+)\]", read(path, "-d"))


def libraries_of(programs, place_of):
    """{name: path} of the libraries that programs need, and that these need. place_of(name) is the path of a library;
    None leaves it out."""
    found, wanted = {}, list(programs)
    while wanted:
        for name in dynamic_names(wanted.pop()):
            if name not in found and (path := place_of(name)):
                found[name] = path
                wanted.append(path)
    return found


def search_paths(path):
    """The paths where it looks for them first; "" has none."""
    found = re.search(r"\((?:RPATH|RUNPATH)\)\s+Library r(?:un)?path: \[([^]]*)\]", read(path, "-d"))
    return found[1] if found else ""


def versions(path):
    """{"GLIBC": {(2, 34), ...}, ...}: versions of symbols that it needs of others."""
    needs, inside = {}, False
    for line in read(path, "-V").splitlines():
        if line.startswith("Version"):
            inside = line.startswith("Version needs")
        elif inside:
            for kind, number in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", line):
                needs.setdefault(kind, set()).add(tuple(map(int, number.split("."))))
    return needs


def dynamic_symbols(path):
    """(names of the symbols that a file needs of others, of those that it has), each with its version: free@GLIBC_2.17.
    It has that of a default version without the version, too. A weak symbol may be absent: it is not needed."""
    needs, has = set(), set()
    for binding, section, name in re.findall(r"^ +\d+:(?: +\w+){3} +(\w+) +\w+ +(?:\[[^]]*\] +)?(\w+) (\S+)",
                                             read(path, "--dyn-syms"), re.M):
        if section != "UND":
            has |= {name.replace("@@", "@"), name.partition("@@")[0]}
        elif binding != "WEAK":
            needs.add(name)
    return needs, has


def symbols_of_version(path, version):
    """Names of the symbols that a file needs in this version."""
    return set(re.findall(rf" UND (\S+)@{re.escape(version)}\b", read(path, "--dyn-syms")))


def replace_version(path, old, new):
    """Needs all symbols of version `old` in version `new`, whose name the file must have. Little-endian ELF64: System V
    ABI, and "Symbol Versioning" in the Linux Standard Base."""
    sections = {name: (int(at, 16), int(size, 16)) for name, at, size in
                re.findall(r"\] (\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", read(path, "-S"))}
    data = bytearray(path.read_bytes())
    names, size = sections[".dynstr"]
    found = data.index(b"\0" + new.encode() + b"\0", names, names + size) + 1 - names
    need = sections[".gnu.version_r"][0]
    while True:
        _, _, _, first, next_need = struct.unpack_from("<HHIII", data, need)
        each = need + first
        while True:
            _, _, _, name, next_each = struct.unpack_from("<IHHII", data, each)
            if data[names + name:data.index(b"\0", names + name)] == old.encode():
                struct.pack_into("<I", data, each, hash_of(new))
                struct.pack_into("<I", data, each + 8, found)
            if not next_each:
                break
            each += next_each
        if not next_need:
            break
        need += next_need
    path.write_bytes(data)


def hash_of(name):
    """The hash of a name in an ELF file."""
    total = 0
    for byte in name.encode():
        total = (total << 4) + byte
        high = total & 0xF0000000
        total = (total ^ high >> 24) & ~high
    return total
