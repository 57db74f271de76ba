"""Packs a folder as a tarball.

Same folder and SOURCE_DATE_EPOCH, same bytes: names are in order; owners, times and the umask of a machine are left
out.
"""

import gzip
import hashlib
import os
import shutil
import tarfile
import time


def epoch():
    """The time of all files in a package."""
    return int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))


def copy(source, target, mode=0o644):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode)


def add_tree(tar, root, name):
    """Adds root and all below it as `name`."""

    def plain(entry):
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        entry.mtime = epoch()
        entry.mode = 0o755 if entry.isdir() or entry.mode & 0o111 else 0o644
        return entry

    tar.add(root, name, recursive=False, filter=plain)
    for path in sorted(root.rglob("*")):
        tar.add(path, f"{name}/{path.relative_to(root)}", recursive=False, filter=plain)


def pack(root, path, name):
    """Packs root as `name` into path, and returns path."""
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        add_tree(tar, root, name)
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tell(path):
    """Prints a line about a package that was made."""
    print(f"{path}  {path.stat().st_size:,} bytes  sha256 {digest(path)}")
