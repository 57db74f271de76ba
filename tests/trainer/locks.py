#!/usr/bin/env python3
"""pip resolves each requirements-EXTRA.txt for each Python that `pipe trainer setup` accepts, from wheels alone and
with their digests; none of these interpreters is needed. A lock without one of the packages fails here:
--require-hashes needs all of them.

    locks.py EXTRA KEPT        KEPT: a directory that records the questions resolved before

pip reads every file to its end to check it: 170 MB for a CPU, 3 GB for CUDA, for each Python. A lock that was resolved
once stays good while neither it nor the question changes, because an index never replaces a file.
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GLIBC = range(5, 36)  # minor versions, up to 2.35 of Ubuntu 22.04


def fail(what):
    raise SystemExit(f"locks.py: {what}")


def versions():
    """The versions in plugins/train/python_choice.cc, so that no version is accepted without a lock."""
    source = (ROOT / "plugins/train/python_choice.cc").read_text()
    minors = re.search(r"kMinors = \{([\d, ]+)\}", source)[1]
    found = [f"3.{minor.strip()}" for minor in minors.split(",")]
    if sorted(found) != ["3.11", "3.12", "3.13"]:
        fail(f"{found}: CONTRACT.md names 3.11, 3.12 and 3.13")
    return found


def question(lock, version):
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in GLIBC] + ["manylinux2014_x86_64", "manylinux2010_x86_64"]
    return ["install", "--dry-run", "--ignore-installed", "--require-hashes", "--only-binary=:all:", "--python-version",
            version, "--implementation", "cp", *(word for name in platforms for word in ("--platform", name)),
            "--disable-pip-version-check", "--quiet", "--no-cache-dir", "-r", str(lock)]


def main():
    extra, kept = sys.argv[1], Path(sys.argv[2])
    lock = ROOT / f"plugins/train/python/requirements-{extra}.txt"
    text = lock.read_text()
    if "sentencepiece" in text:
        fail(f"{lock.name}: has sentencepiece, whose wheels encode otherwise than `pipe` or are missing")
    kept.mkdir(parents=True, exist_ok=True)
    for version in versions():
        words = question(lock, version)
        done = kept / hashlib.sha256("\0".join([text, *words[:-1]]).encode()).hexdigest()[:32]
        if done.exists():
            print(f"{extra}, Python {version}: resolved before, nothing changed since")
            continue
        since = time.monotonic()
        with tempfile.TemporaryDirectory(dir=kept) as place:
            run = subprocess.run([sys.executable, "-m", "pip", *words, "--target", f"{place}/target"], capture_output=True,
                                 text=True, env={**os.environ, "TMPDIR": place})
        if run.returncode:
            fail(f"{extra}, Python {version}: not resolved; the trainer cannot be set up with it\n{run.stderr[-3000:]}")
        done.touch()
        print(f"{extra}, Python {version}: resolved in {time.monotonic() - since:.0f} s", flush=True)


if __name__ == "__main__":
    main()
