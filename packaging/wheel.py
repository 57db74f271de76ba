"""Makes wheels. That of a folder of folder.py has the folder as the package text2lm, and two commands that become its
program. Its tag is that of the newest glibc whose functions a file of the folder calls. Same folder and
SOURCE_DATE_EPOCH, same bytes. Format: packaging.python.org, "Binary distribution format", "Recording installed
projects", "Entry points".
"""

import base64
import hashlib
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from elf import is_elf, machine, versions
from folder import NAME
from tarball import epoch

HERE = Path(__file__).resolve().parent
# Of all that the folder has: licences/ and parts.txt in it.
LICENCES = ("Apache-2.0 AND 0BSD AND BSD-2-Clause AND BSD-3-Clause AND GPL-3.0-or-later WITH GCC-exception-3.1 AND ICU "
            "AND MIT AND Unicode-DFS-2016 AND Zlib AND bzip2-1.0.6 AND curl")
def tag(root):
    newest = max(max(versions(path).get("GLIBC", {(2, 17)})) for path in root.rglob("*") if is_elf(path))
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{machine(root / 'bin/pipe')}"


@dataclass
class About:
    """What a wheel says of itself. `licences`: files that go with it, by name."""
    name: str
    version: str
    tag: str
    summary: str
    licence: str  # SPDX
    keywords: str
    text: str  # Markdown
    licences: dict

    def metadata(self):
        lines = ["Metadata-Version: 2.4", f"Name: {self.name}", f"Version: {self.version}", f"Summary: {self.summary}",
                 "Requires-Python: >=3.9", f"License-Expression: {self.licence}",
                 *(f"License-File: {name}" for name in self.licences), f"Keywords: {self.keywords}",
                 "Classifier: Operating System :: POSIX :: Linux", "Classifier: Environment :: Console",
                 "Description-Content-Type: text/markdown", ""]
        return "\n".join(lines) + "\n" + self.text


class Wheel:
    def __init__(self, path):
        self.when = time.gmtime(max(epoch(), 315532800))[:6]  # a zip file begins in 1980
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.record = []

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, self.when)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self, info):
        self.add(f"{info}/RECORD", "".join([*self.record, f"{info}/RECORD,,\n"]).encode())
        self.zip.close()


def pack(root, about, out, commands=None):
    """The wheel of all files below root, as the package of this name. `commands`: {name: function of the package}."""
    file_name = about.name.replace("-", "_")
    path, info = out / f"{file_name}-{about.version}-{about.tag}.whl", f"{file_name}-{about.version}.dist-info"
    wheel = Wheel(path)
    if commands:
        for name in ("__init__.py", "__main__.py"):
            wheel.add(f"{file_name}/{name}", (HERE / "python" / name).read_bytes())
    else:  # pip takes away the directory of a package with this file
        wheel.add(f"{file_name}/__init__.py", f'"""{about.summary}."""\n'.encode())
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink():  # a wheel has no links: the second command is an entry point
            mode = 0o755 if file.stat().st_mode & 0o111 else 0o644
            wheel.add(f"{file_name}/{file.relative_to(root)}", file.read_bytes(), mode)
    wheel.add(f"{info}/METADATA", about.metadata().encode())
    wheel.add(f"{info}/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {about.tag}\n".encode())
    if commands:
        wheel.add(f"{info}/entry_points.txt", "\n".join(
            ["[console_scripts]", *(f"{name} = {calls}" for name, calls in commands.items()), ""]).encode())
    for name, licence in about.licences.items():
        wheel.add(f"{info}/licenses/{name}", licence.read_bytes())
    wheel.close(info)
    return path


def make(root, version, out):
    """The wheel of a folder."""
    doc = root / "share/doc/pipe"
    licences = {"LICENSE": doc / "LICENSE"}
    others = sorted(path for path in (doc / "licences").rglob("*") if path.is_file())
    licences |= {path.relative_to(doc).as_posix(): path for path in others}
    summary = "From raw web text to a trained language model, above all in Japanese and Korean"
    about = About(NAME, version, tag(root), summary, LICENCES,
                  "corpus,tokenizer,pretraining,japanese,korean,tpu,tfrecord",
                  (HERE / "description.md").read_text(encoding="utf-8"), licences)
    return pack(root, about, out, {"pipe": f"{NAME}:main", NAME: f"{NAME}:main"})
