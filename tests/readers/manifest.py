#!/usr/bin/env python3
"""Reads a manifest, by dag/books/manifest.md: its content root, its seal, and each file that it names.

    manifest.py DIRECTORY
"""

import json
import struct
import sys
from pathlib import Path

import xxh3
from checksums import crc32c
from cursor import wants

REQUIRED = ("stage", "recipe", "content", "lineage", "schema", "splits", "counts", "sidecars", "followers", "shards",
            "partitions")
MEMBERS = {"pipe_manifest", *REQUIRED, "facts", "continues"}


def number(value):
    return struct.pack("<Q", value)


def text(value):
    return number(len(value.encode())) + value.encode()


def words(digest):
    return number(int(digest[:16], 16)) + number(int(digest[16:], 16))


def content_root(manifest):
    parts = text("pipe content v1") + number(len(manifest["shards"]))
    for shard in manifest["shards"]:
        parts += number(shard["number"]) + number(shard["count"]) + text(shard["split"]) + words(shard["digest"])
    for entries, name in (("partitions", "partition"), ("sidecars", "object"), ("followers", "object")):
        parts += number(len(manifest[entries]))
        parts += b"".join(text(entry[name]) + words(entry["digest"]) for entry in manifest[entries])
    return xxh3.digest(parts)


def seal(manifest):
    parts = text("pipe seal v1")
    for name in sorted(manifest.keys() - {"seal"}):
        value = json.dumps(manifest[name], ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        parts += text(name) + words(xxh3.digest(value.encode()))
    return xxh3.digest(parts)


def objects(manifest):
    """Every object that the manifest names, with bytes, crc32c and digest."""
    partitions = [entry for partition in manifest["partitions"] for entry in partition["objects"]]
    return manifest["sidecars"] + manifest["shards"] + partitions + manifest["followers"]


def read(directory):
    """The manifest, after all files were compared with it."""
    directory = Path(directory)
    manifest = json.loads((directory / "MANIFEST.json").read_text(encoding="utf-8"))
    wants(manifest.get("pipe_manifest") == 1, f"version {manifest.get('pipe_manifest')}")
    for name in REQUIRED:
        wants(name in manifest, f"{name}: missing")
    wants("seal" in manifest or manifest.keys() <= MEMBERS, "no seal, and a member that no earlier version wrote")
    wants(manifest.get("seal", seal(manifest)) == seal(manifest), "another seal")
    wants(content_root(manifest) == manifest["content"], "another content root")
    last = manifest["lineage"][-1]
    wants((last["stage"], last["recipe"]) == (manifest["stage"], manifest["recipe"]), "the lineage ends elsewhere")
    for entry in objects(manifest):
        data = (directory / entry["object"]).read_bytes()
        wants(len(data) == entry["bytes"], f"{entry['object']}: {len(data)} bytes, not {entry['bytes']}")
        wants(f"{crc32c(data):08x}" == entry["crc32c"], f"{entry['object']}: another CRC-32C")
        wants(xxh3.digest(data) == entry["digest"], f"{entry['object']}: another digest")
    return manifest


if __name__ == "__main__":
    for entry in objects(read(sys.argv[1])):
        print(entry["digest"], entry["bytes"], entry["object"])
