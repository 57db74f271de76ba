"""Makes the folder that runs anywhere (README.md) of a build.

`libraries` is the directory that libraries.sh makes. If absent: the folder has the libraries of this machine as they
are, and so runs only where their glibc is.
"""

import re
import shutil
import subprocess
from pathlib import Path

import elf
from elf import dynamic_names, is_elf, machine

# Libraries of glibc, and libgcc_s, which glibc's package needs wherever there is one: they fit the kernel and the
# loader of a machine, and are its own.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1",
                 "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
HEADERS_ALONE = ("libcli11-dev", "nlohmann-json3-dev")  # Debian packages whose code is in the program
NAME = "text2lm"
RENAMED = {"libstdc++.so.6": "libstdc++-text2lm.so.6"}  # those of libraries.sh that the system has, too
# libstdc++ 12 has one function in two versions that do the same; manylinux_2_34 knows the older one alone.
NEWER, OLDER, WAIT = "GLIBCXX_3.4.30", "GLIBCXX_3.4.11", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE"
COMMON = Path("/usr/share/common-licenses")
MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}  # folders of Debian, by the machine


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def library_places(programs, libraries):
    """{name: path} of the libraries that programs need, and that these need, less those of the system. With `libraries`
    the names are those that RENAMED gives them."""
    places = [*([libraries / "lib"] if libraries else ()), *(Path(f"{lib}/{MULTIARCH[machine(programs[0])]}")
                                                            for lib in ("/usr/lib", "/lib"))]
    found, wanted = {}, list(programs)
    while wanted:
        for name in dynamic_names(wanted.pop()):
            name = RENAMED.get(name, name) if libraries else name
            if name in found or name in OF_THE_SYSTEM:
                continue
            path = next((place / name for place in places if (place / name).exists()), None)
            if path is None:
                raise SystemExit(f"folder.py: {name} is in none of {', '.join(map(str, places))}; install its package")
            found[name] = path
            wanted.append(path)
    return found


def package_of(path):
    """The Debian package of a library. dpkg knows it below /lib or /usr/lib, and one may be a link to the other."""
    inner = str(path.resolve()).removeprefix("/usr")
    for place in (f"/usr{inner}", inner):
        found = subprocess.run(["dpkg-query", "-S", place], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"folder.py: {path} is in no Debian package, so its licence is unknown; take it away")


def copy(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


class Folder:
    def __init__(self, root, libraries):
        self.root, self.libraries = root, libraries
        self.parts = {}  # {package: version} of what lies inside and is not ours

    def install(self, build):
        output("cmake", "--install", build, "--prefix", self.root)

    def add_libraries(self):
        programs = sorted(path for path in self.root.rglob("*") if is_elf(path))
        for name, path in sorted(library_places(programs, self.libraries).items()):
            copy(path.resolve(), self.root / "lib/pipe" / name)
            if self.libraries and path.is_relative_to(self.libraries):
                self.licence("libstdc++6", Path("/usr/share/doc/libstdc++6"), version_of("libstdc++6"))
            else:
                package = package_of(path)
                self.licence(package, Path("/usr/share/doc") / package, version_of(package))
        if self.libraries:
            self.rename()
        for package in HEADERS_ALONE:
            self.licence(package, Path("/usr/share/doc") / package, version_of(package))
        if self.libraries:
            for doc in sorted((self.libraries / "share/doc").glob("*/version")):
                self.licence(doc.parent.name, doc.parent, doc.read_text(encoding="utf-8").strip())

    def rename(self):
        for path in sorted(path for path in self.root.rglob("*") if is_elf(path)):
            for name in set(dynamic_names(path)) & set(RENAMED):
                output("patchelf", "--replace-needed", name, RENAMED[name], path)
            if elf.symbols_of_version(path, NEWER) == {WAIT}:
                elf.replace_version(path, NEWER, OLDER)

    def licence(self, package, doc, version):
        source = doc / "copyright"
        if not source.exists():
            raise SystemExit(f"folder.py: {source} is missing, and each part goes with its licence; install {package} "
                             f"again with its documentation")
        self.parts[package] = version
        licences = self.root / "share/doc/pipe/licences"
        copy(source, licences / package)
        # Debian has long texts once for all packages; other systems have them nowhere.
        for name in set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", source.read_text(encoding="utf-8"))):
            copy(COMMON / name, licences / "common-licenses" / name)

    def finish(self):
        lines = [f"{package} {version}\n" for package, version in sorted(self.parts.items())]
        (self.root / "share/doc/pipe/parts.txt").write_text(
            "# Work of others in this folder, with versions of Debian; licences/ has the licence of each.\n" +
            "".join(lines), encoding="utf-8")
        for path in sorted(self.root.rglob("*")):  # umask of this machine aside
            if path.is_file():
                path.chmod(0o755 if is_elf(path) and path.parent.name == "bin" else 0o644)
            else:
                path.chmod(0o755)
        (self.root / f"bin/{NAME}").symlink_to("pipe")


def version_of(package):
    return output("dpkg-query", "-W", "-f=${Version}", package)


def make(build, root, libraries=None):
    """Makes the folder `root`, and replaces one that is there."""
    shutil.rmtree(root, ignore_errors=True)
    folder = Folder(root, libraries and libraries.resolve())
    folder.install(build)
    folder.add_libraries()
    folder.finish()
