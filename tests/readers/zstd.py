"""Decompresses zstd (RFC 8878) by the program of that name: Python has it from 3.14 on."""

import subprocess

from cursor import wants


def decompressed(data, size):
    done = subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=False)
    wants(done.returncode == 0, f"zstd: {done.stderr.decode(errors='replace').strip()}")
    wants(len(done.stdout) == size, f"a frame of {len(done.stdout)} bytes, not {size}")
    return done.stdout
