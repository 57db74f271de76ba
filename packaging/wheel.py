"""Makes a wheel of a folder of folder.py.

The wheel has the folder as the package text2lm, and two commands that become its program. Its tag is that of the newest
glibc whose functions a file of the folder calls. Same folder and SOURCE_DATE_EPOCH, same bytes. Format:
packaging.python.org, "Binary distribution format", "Recording installed projects", "Entry points".
"""

import base64
import hashlib
import time
import zipfile
from pathlib import Path

from elf import is_elf, machine, versions
from folder import NAME
from tarball import epoch

HERE = Path(__file__).resolve().parent
def tag(root):
    newest = max(max(versions(path).get("GLIBC", {(2, 17)})) for path in root.rglob("*") if is_elf(path))
    return f"py3-none-manylinux_{newest[0]}_{newest[1]}_{machine(root / 'bin/pipe')}"


def metadata(version, licences):
    summary = "From raw web text to a trained language model, above all in Japanese and Korean"
    lines = ["Metadata-Version: 2.4", f"Name: {NAME}", f"Version: {version}", f"Summary: {summary}",
             "Requires-Python: >=3.9", "License-Expression: Apache-2.0",
             *(f"License-File: {name}" for name in licences),
             "Keywords: corpus,tokenizer,pretraining,japanese,korean,tpu,tfrecord",
             "Classifier: Operating System :: POSIX :: Linux", "Classifier: Environment :: Console",
             "Description-Content-Type: text/markdown", ""]
    return "\n".join(lines) + "\n" + (HERE / "description.md").read_text(encoding="utf-8")


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


def make(root, version, out):
    tags = tag(root)
    path, info = out / f"{NAME}-{version}-{tags}.whl", f"{NAME}-{version}.dist-info"
    wheel = Wheel(path)
    for name in ("__init__.py", "__main__.py"):
        wheel.add(f"{NAME}/{name}", (HERE / "python" / name).read_bytes())
    for file in sorted(root.rglob("*")):
        if file.is_file() and not file.is_symlink():  # a wheel has no links: the second command is an entry point
            mode = 0o755 if file.stat().st_mode & 0o111 else 0o644
            wheel.add(f"{NAME}/{file.relative_to(root)}", file.read_bytes(), mode)
    licences = sorted(path for path in (root / "share/doc/pipe/licences").iterdir())
    names = ["LICENSE", *(f"licences/{path.name}" for path in licences)]
    wheel.add(f"{info}/METADATA", metadata(version, names).encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {tags}\n".encode())
    wheel.add(f"{info}/entry_points.txt",
              f"[console_scripts]\npipe = {NAME}:main\n{NAME} = {NAME}:main\n".encode())
    wheel.add(f"{info}/licenses/LICENSE", (root / "share/doc/pipe/LICENSE").read_bytes())
    for licence in licences:
        wheel.add(f"{info}/licenses/licences/{licence.name}", licence.read_bytes())
    wheel.close(info)
    return path
