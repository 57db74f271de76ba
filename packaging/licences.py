"""The list of the work of others in a package, with the licence of each."""

import re
import subprocess
from pathlib import Path

from tarball import copy

COMMON = Path("/usr/share/common-licenses")


def output(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def package_of(path, sysroot):
    """The package of a library of the Debian at `sysroot`. dpkg knows it below /lib or /usr/lib, and one may be a link to
    the other."""
    inner = f"/{path.resolve().relative_to(sysroot)}".removeprefix("/usr")
    for place in (f"/usr{inner}", inner):
        found = subprocess.run(["dpkg-query", f"--root={sysroot}", "-S", place], capture_output=True, text=True,
                               check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"licences.py: {path} is in no Debian package, so its licence is unknown; take it away")


class Licences:
    """Below the folder `doc` of a package: licences/, and parts.txt. `sysroot` is the root of a Debian."""

    def __init__(self, doc, sysroot=Path("/")):
        self.doc, self.sysroot = doc, sysroot
        self.parts = {}  # {package: version} of what lies inside and is not ours

    def add_installed(self, package):
        """A package of this Debian."""
        version = output("dpkg-query", f"--root={self.sysroot}", "-W", "-f=${Version}", package)
        self.add(package, self.sysroot / "usr/share/doc" / package / "copyright", version)

    def add(self, package, source, version):
        """`source`: its file of licences, as Debian's packages have one."""
        if not source.exists():
            raise SystemExit(f"licences.py: {source} is missing, and each part goes with its licence; install {package} "
                             f"again with its documentation")
        self.parts[package] = version
        licences = self.doc / "licences"
        copy(source, licences / package)
        # Debian has long texts once for all packages; other systems have them nowhere.
        for name in set(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", source.read_text(encoding="utf-8"))):
            copy(COMMON / name, licences / "common-licenses" / name)

    def write_parts(self):
        lines = [f"{package} {version}\n" for package, version in sorted(self.parts.items())]
        (self.doc / "parts.txt").write_text(
            "# Work of others in this folder, with versions of Debian; licences/ has the licence of each.\n" +
            "".join(lines), encoding="utf-8")
