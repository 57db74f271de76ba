#!/usr/bin/env python3
"""Makes a container image of a Debian and a folder of package.py, without a container engine.

    image.py BASE FOLDER

BASE is a root that debootstrap made. FOLDER.oci.tar, in the layout of the Open Container Initiative (image-spec 1.1:
image-layout.md, manifest.md, config.md, layer.md), has two layers: BASE, and the folder in /opt/text2lm with links in
/usr/local/bin. `skopeo copy oci-archive:FILE`, `podman load` and others read it. Same inputs and SOURCE_DATE_EPOCH,
same bytes: what an installation leaves of its machine and its day is left out. As root, which may read all of BASE.
"""

import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path

from elf import machine
from folder import NAME
from tarball import add_tree, epoch, tell

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Below BASE: lists, logs and caches, and what debootstrap copied of its machine.
OF_ITS_DAY = re.compile(r"(var/cache/|var/log/|var/lib/apt/lists/|var/lib/dpkg/.*-old$|dev/|proc/|sys/|run/|tmp/"
                        r"|etc/(resolv\.conf|hostname|machine-id)$|etc/(passwd|group|shadow|gshadow)-$)")


def add_base(tar, base):
    for path in sorted(base.rglob("*")):
        name = path.relative_to(base).as_posix()
        if OF_ITS_DAY.match(name):
            continue
        entry = tar.gettarinfo(path, name)
        if entry is None:  # a socket
            continue
        entry.mtime, entry.uname, entry.gname = epoch(), "", ""
        if not entry.isreg():
            tar.addfile(entry)
            continue
        data = path.read_bytes()
        if name == "etc/shadow":  # the day when an account was made
            data = re.sub(rb"(?m)^([^:]*:[^:]*):\d+:", rb"\1:1:", data)
        entry.size = len(data)
        tar.addfile(entry, io.BytesIO(data))


def add_folder(tar, folder):
    for place in ("opt", "usr", "usr/local", "usr/local/bin"):
        entry = tarfile.TarInfo(place)
        entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, 0o755, epoch()
        tar.addfile(entry)
    add_tree(tar, folder, f"opt/{NAME}")
    for command in ("pipe", NAME):
        entry = tarfile.TarInfo(f"usr/local/bin/{command}")
        entry.type, entry.linkname, entry.mtime = tarfile.SYMTYPE, f"/opt/{NAME}/bin/pipe", epoch()
        tar.addfile(entry)


def layer(add):
    """(packed bytes, digest of the bytes before packing) of what `add` adds to a tar file."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        add(tar)
    return gzip.compress(plain.getvalue(), 9, mtime=0), hashlib.sha256(plain.getvalue()).hexdigest()


class Layout:
    """Files of an image, by digest."""

    def __init__(self):
        self.files = {}

    def add(self, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, kind, value):
        return self.add(kind, json.dumps(value, sort_keys=True).encode())


def make(base, folder):
    when = datetime.fromtimestamp(epoch(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    layers = layer(lambda tar: add_base(tar, base)), layer(lambda tar: add_folder(tar, folder))
    layout = Layout()
    config = layout.add_json("config.v1+json", {
        "architecture": ARCHITECTURES[machine(folder / "bin/pipe")], "os": "linux", "created": when,
        "config": {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
                   "Cmd": ["pipe", "--help"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for _, digest in layers]},
        "history": [{"created": when, "created_by": text} for text in ("debootstrap --variant=minbase", NAME)]})
    manifest = layout.add_json("manifest.v1+json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
        "layers": [layout.add("layer.v1.tar+gzip", data) for data, _ in layers]})
    version = folder.name.removeprefix(f"{NAME}-").split("-")[0]
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"{NAME}:{version}"}
    layout.files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True).encode()
    layout.files["oci-layout"] = b'{"imageLayoutVersion": "1.0.0"}'
    path = folder.with_name(f"{folder.name}.oci.tar")
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for file, data in sorted(layout.files.items()):
            entry = tarfile.TarInfo(file)
            entry.size, entry.mtime, entry.mode = len(data), epoch(), 0o644
            tar.addfile(entry, io.BytesIO(data))
    return path


if __name__ == "__main__":
    tell(make(Path(sys.argv[1]), Path(sys.argv[2])))
