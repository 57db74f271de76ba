#!/usr/bin/env python3
"""pip can resolve each requirements-EXTRA.txt for each Python that `pipe trainer setup` accepts: for each of its
entries the index has a wheel for this Python with a digest of the lock, and all requirements of these wheels are in the
lock, with versions that they accept. None of these interpreters is needed. Only the table of a wheel's files and its
metadata are read: all the wheels for CUDA have 3 GB.

    locks.py EXTRA KEPT        KEPT: a directory that records the questions resolved before
    locks.py sizes EXTRA...    prints sizes.txt: the bytes of the files of each lock, and those that they take installed

A lock that was resolved once stays good while neither it nor the question changes, because an index never replaces a
file.
"""

import email
import hashlib
import io
import json
import os
import re
import sys
import time
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pip._vendor.packaging import tags
from pip._vendor.packaging.requirements import Requirement
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent.parent
INDEX = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
GLIBC = range(35, 4, -1)  # minor versions, from 2.35 of Ubuntu 22.04
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC] + ["manylinux2014_x86_64", "manylinux2010_x86_64"]
ATTEMPTS, BLOCK = 4, 1 << 16


def fail(what):
    raise SystemExit(f"locks.py: {what}")


def versions():
    """The versions in plugins/train/environment/python_choice.cc, so that no version is accepted without a lock."""
    source = (ROOT / "plugins/train/environment/python_choice.cc").read_text()
    minors = re.search(r"kMinors = \{([\d, ]+)\}", source)[1]
    found = [f"3.{minor.strip()}" for minor in minors.split(",")]
    if sorted(found) != ["3.11", "3.12", "3.13"]:
        fail(f"{found}: CONTRACT.md names 3.11, 3.12 and 3.13")
    return found


def entries(text):
    """Yields (requirement, digests) of a lock."""
    for entry in re.split(r"(?<!\\)\n", text):
        words = entry.split("\\\n")
        if words[0].strip() and not words[0].lstrip().startswith("#"):
            digests = set(re.findall(r"--hash=sha256:([0-9a-f]{64})", " ".join(words[1:])))
            yield Requirement(words[0].strip()), digests


def fetched(address, **headers):
    """(status, body) of a GET."""
    for attempt in range(ATTEMPTS):
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
                return answer.status, answer.read()
        except OSError as error:
            if attempt == ATTEMPTS - 1:
                fail(f"{address}: {error}")
            time.sleep(2 ** attempt)


class RemoteFile(io.RawIOBase):
    """Reads parts of a file of a server that knows ranges, and all of it from another server."""

    def __init__(self, address, size):
        super().__init__()
        self._address, self._size, self._at, self._whole = address, size, 0, None

    def readable(self):
        return True

    seekable = readable

    def seek(self, offset, whence=io.SEEK_SET):
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer):
        first, last = self._at, min(self._at + len(buffer), self._size)
        if first >= last:
            return 0
        part = self._whole[first:last] if self._whole else self._fetched(first, last)
        buffer[:len(part)] = part
        self._at += len(part)
        return len(part)

    def _fetched(self, first, last):
        status, body = fetched(self._address, Range=f"bytes={first}-{last - 1}")
        if status != 206:
            self._whole, body = body, body[first:last]
        return body


class Index:
    """Files and metadata of packages; each is fetched once."""

    def __init__(self):
        self._files, self._metadata, self.unpacked = {}, {}, {}

    def files(self, name):
        if name not in self._files:
            _, page = fetched(f"{INDEX}/{canonicalize_name(name)}/", Accept="application/vnd.pypi.simple.v1+json")
            self._files[name] = json.loads(page)["files"]
        return self._files[name]

    def metadata(self, file):
        """METADATA of a wheel."""
        address = file["url"]
        if address not in self._metadata:
            remote = io.BufferedReader(RemoteFile(address, file["size"]), BLOCK)
            with zipfile.ZipFile(remote) as wheel:
                (name,) = (name for name in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
                self._metadata[address] = email.message_from_bytes(wheel.read(name))
                # A module has its compiled form beside it, which is about as large.
                self.unpacked[address] = sum(one.file_size * (2 if one.filename.endswith(".py") else 1)
                                             for one in wheel.infolist())
        return self._metadata[address]


def environment(version):
    return {"python_version": version, "python_full_version": f"{version}.0", "implementation_name": "cpython",
            "platform_python_implementation": "CPython", "sys_platform": "linux", "platform_system": "Linux",
            "os_name": "posix", "platform_machine": "x86_64", "extra": ""}


def supported(version):
    """{tag of wheels for this Python: rank}, from the best one on."""
    parts = tuple(int(part) for part in version.split("."))
    found = [*tags.cpython_tags(parts, platforms=PLATFORMS),
             *tags.compatible_tags(parts, f"cp{parts[0]}{parts[1]}", PLATFORMS)]
    return {tag: rank for rank, tag in enumerate(found)}


def wheel_of(index, requirement, digests, accepted):
    """The best wheel with a digest of the lock. `accepted`: of supported."""
    found = []
    for file in index.files(requirement.name):
        if file["hashes"].get("sha256") in digests and file["filename"].endswith(".whl"):
            name, number, _, kinds = parse_wheel_filename(file["filename"])
            ranks = [accepted[kind] for kind in kinds if kind in accepted]
            if ranks and name == canonicalize_name(requirement.name) and requirement.specifier.contains(number, True):
                found.append((min(ranks), number, file))
    return min(found, key=lambda one: one[0])[1:] if found else (None, None)


def chosen_of(index, text, version):
    """Returns (the requirements of a lock for this Python, [(requirement, version, file)] of those with a wheel,
    the metadata of these)."""
    where, accepted = environment(version), supported(version)
    wanted = [(one, digests) for one, digests in entries(text) if one.marker is None or one.marker.evaluate(where)]
    with ThreadPoolExecutor(8) as pool:
        wheels = list(pool.map(lambda one: wheel_of(index, *one, accepted), wanted))
        chosen = [(one, number, file) for (one, _), (number, file) in zip(wanted, wheels) if file]
        said = list(pool.map(lambda one: index.metadata(one[2]), chosen))
    return [one for one, _ in wanted], chosen, said


def sizes(index, text):
    """Returns (the bytes of the wheels, those that they take installed) for the oldest Python."""
    _, chosen, _ = chosen_of(index, text, versions()[-1])
    return sum(file["size"] for _, _, file in chosen), sum(index.unpacked[file["url"]] for _, _, file in chosen)


def mistakes(index, text, version):
    """Lines about all that keeps pip from resolving a lock for this Python."""
    where = environment(version)
    wanted, chosen, said = chosen_of(index, text, version)
    found = {str(one) for one, _, _ in chosen}
    for one in wanted:
        if str(one) not in found:
            yield f"{one}: the index has no wheel of it with a digest of the lock"
    locked = {canonicalize_name(one.name): number for one, number, _ in chosen}
    for (_, _, file), metadata in zip(chosen, said):
        python = metadata["Requires-Python"]
        if python and not Requirement(f"python{python}").specifier.contains(f"{version}.0"):
            yield f"{file['filename']}: it is for Python {python}"
        for need in map(Requirement, metadata.get_all("Requires-Dist", [])):
            if need.marker is None or need.marker.evaluate(where):
                there = locked.get(canonicalize_name(need.name))
                if there is None or not need.specifier.contains(there, True):
                    yield f"{file['filename']}: it requires {need}, and the lock has {there or 'none'}"


def spoiled(text):
    """The lock without a package that others require, and with other digests of it."""
    start = re.search(r"^numpy==", text, re.M).start()
    entry = text[start:text.index("\n    # via", start)]
    return text.replace(entry, ""), text.replace(entry, entry.replace("sha256:", "sha256:0"))


def lock_of(extra):
    return ROOT / f"plugins/train/python/requirements-{extra}.txt"


def main():
    if sys.argv[1] == "sizes":
        for extra in sys.argv[2:]:
            print(extra, *sizes(Index(), lock_of(extra).read_text()))
        return
    extra, kept = sys.argv[1], Path(sys.argv[2])
    lock = lock_of(extra)
    text = lock.read_text()
    told = next(line for line in (lock.parent / "sizes.txt").read_text().splitlines() if line.split()[0] == extra)
    if "sentencepiece" in text:
        fail(f"{lock.name}: has sentencepiece, whose wheels encode otherwise than `pipe` or are missing")
    kept.mkdir(parents=True, exist_ok=True)
    index, here, controlled = Index(), Path(__file__).read_text(), False
    for version in versions():
        done = kept / hashlib.sha256("\0".join([text, version, here, told]).encode()).hexdigest()[:32]
        if done.exists():
            print(f"{extra}, Python {version}: resolved before, nothing changed since")
            continue
        since = time.monotonic()
        found = list(mistakes(index, text, version))
        if found:
            fail("\n".join([f"{extra}, Python {version}: the trainer cannot be set up with it", *found]))
        for bad in () if controlled else spoiled(text):
            if not any("numpy" in line for line in mistakes(index, bad, version)):
                fail(f"{lock.name}: a mistake that was made in it is not found")
        controlled = True
        if version == versions()[-1] and told != (now := " ".join(map(str, (extra, *sizes(index, text))))):
            fail(f"sizes.txt: has {told!r}, and the index {now!r}; renew it: ./dev lock-trainer")
        done.touch()
        print(f"{extra}, Python {version}: resolved in {time.monotonic() - since:.0f} s", flush=True)


if __name__ == "__main__":
    main()
