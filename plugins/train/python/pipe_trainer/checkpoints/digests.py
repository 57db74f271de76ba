"""The sizes and checksums of the files of a checkpoint, in a file beside it: CONTRACT.md, section 11."""

import os
from pathlib import Path

import numpy as np

from ..atomic import read_json, sync_directory, write_json
from ..data import crc32c, native_reader

VERSION, OF_A_HOST = 1, 2  # of the file: of a whole checkpoint, of one host's part
PIECE = 4 << 20
BEST, BEFORE_DECAY = "best", "before_decay"
PINS = (BEST, BEFORE_DECAY)  # names under which a checkpoint is never removed


class Damaged(Exception):
    """The message names the file and its damage."""


def place(checkpoint):
    return checkpoint.with_name(checkpoint.name + ".json")


def begin(checkpoint, part=None):
    """Marks a checkpoint as unfinished, before its first byte is written: a kill may leave a part of it. `part`: as in
    finish."""
    _write(checkpoint, {**_head(checkpoint, part), "unfinished": True})


def finish(checkpoint, pinned=(), best=None, part=None, owned=lambda name: True):
    """Reads every file, syncs it to disk, and writes its size and checksum. From then on the checkpoint counts. `best`:
    the scores for which it is pinned, if it is. `part`: of several hosts, {attempt, host, hosts}; then the files that
    are not `owned` are copies of another host's."""
    files = [{"name": name, "bytes": size, "crc32c": crc}
             for name in _files(checkpoint) for size, crc in [_measured(checkpoint / name, sync=True)]]
    for directory, _, _ in os.walk(checkpoint):
        sync_directory(directory)
    sync_directory(checkpoint.parent)
    members = {**_head(checkpoint, part), "files": [file for file in files if owned(file["name"])]}
    if part:
        members["copies"] = [file for file in files if not owned(file["name"])]
    _write(checkpoint, {**members, **_pins(pinned, best)})


def is_unfinished(checkpoint):
    said = _read(checkpoint)
    return said.get("unfinished") is True and said.get("step") == int(checkpoint.name)


def fetched(checkpoint):
    """Returns the names of all files of a checkpoint that the stage is bringing in parts; None: it is not one."""
    said = _read(checkpoint)
    return [str(file["name"]) for file in said["files"]] if said.get("fetched") is True else None


def pins(checkpoint):
    """Returns the names under which the checkpoint is pinned; none if its digests cannot be read."""
    names = _read(checkpoint).get("pinned")
    return tuple(name for name in PINS if isinstance(names, list) and name in names)


def best(checkpoint):
    """Returns the scores for which the checkpoint is pinned, with its step; None if there are none."""
    scores = _read(checkpoint).get("best") if BEST in pins(checkpoint) else None
    usable = isinstance(scores, dict) and isinstance(scores.get("loss"), (int, float))
    return {**scores, "step": int(checkpoint.name)} if usable else None


def pin(checkpoint, pinned, scores=None):
    """Pins the checkpoint under these names and no others. A checkpoint of an earlier version, without digests, gets
    them now. `scores` None: keeps the scores that it has."""
    said = _read(checkpoint)
    if "files" not in said:
        finish(checkpoint, pinned, scores)
    else:
        kept = {name: value for name, value in said.items() if name not in ("pinned", "best")}
        _write(checkpoint, {**kept, **_pins(pinned, scores or said.get("best"))})


def verify(checkpoint):
    """Compares the files with their digests. Returns False if there are no digests: an earlier version wrote the
    checkpoint. Raises Damaged."""
    if not place(checkpoint).exists():
        return False
    said = _read(checkpoint)
    try:
        if said["pipe_checkpoint"] not in (VERSION, OF_A_HOST) or said["step"] != int(checkpoint.name):
            raise ValueError
        listed = [*said["files"], *said.get("copies", ())]
        if not listed:
            raise ValueError
        if not isinstance(said.get("pinned", []), list) or not set(said.get("pinned", [])) <= set(PINS):
            raise ValueError
        wanted = [(str(file["name"]), int(file["bytes"]), str(file["crc32c"])) for file in listed]
    except (KeyError, TypeError, ValueError):
        raise Damaged(f"{place(checkpoint)}: is not what was written there") from None
    for name, size, crc in wanted:
        path = checkpoint / name
        try:
            found = _measured(path)
        except FileNotFoundError:
            raise Damaged(f"{path}: is gone") from None
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror}") from None
        if found[0] != size:
            raise Damaged(f"{path}: has {found[0]} bytes, and {size} were written")
        if found[1] != crc:
            raise Damaged(f"{path}: has CRC-32C {found[1]}, and {crc} was written")
    return True


def _head(checkpoint, part=None):
    return {"pipe_checkpoint": OF_A_HOST if part else VERSION, "step": int(checkpoint.name), **(part or {})}


def _pins(names, scores):
    names = [name for name in PINS if name in names]
    return {**({"pinned": names} if names else {}), **({"best": scores} if BEST in names and scores else {})}


def _write(checkpoint, members):
    write_json(place(checkpoint), members, indent=1)


def _read(checkpoint):
    """Returns the digests; {} if there is no whole file of them."""
    return read_json(place(checkpoint)) or {}


def _files(checkpoint):
    return sorted(str(Path(directory, name).relative_to(checkpoint))
                  for directory, _, names in os.walk(checkpoint) for name in names)


def _measured(path, sync=False):
    """Returns (bytes, CRC-32C as 8 hexadecimal digits). `sync`: also syncs the file."""
    add, size, crc = _checksum(), 0, 0
    buffer = np.empty(PIECE, np.uint8)
    with open(path, "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            crc = add(buffer[:got], crc)
            size += got
        if sync:
            os.fsync(file.fileno())
    return size, f"{crc:08x}"


def _checksum():
    if native_reader.expected():
        try:
            return native_reader.checksum()
        except OSError:
            pass  # the library is not needed: rows are read without it, too
    return crc32c.crc32c
