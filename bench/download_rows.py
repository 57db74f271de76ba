"""The rows of `run.py` about downloads: a source from a server on loopback, into memory, compared with curl."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from measuring import output_of, run, spread


def rows(bench):
    """Compares the download of a file from a server on loopback into memory with curl; measures the cost of its
    checksum."""
    program, size, root = bench.binaries / "download_speed", 1 << 30, Path("/dev/shm") / f"pipe-bench-{os.getpid()}"
    root.mkdir()
    file = root / "file"
    with subprocess.Popen([program, "serve", str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        url = server.stdout.readline().decode().strip()

        def fetched(*command):
            for path in root.iterdir():
                path.unlink()
            cost = run([*command])
            if file.stat().st_size != size:
                sys.exit(f"bench: {command[0]}: {file.stat().st_size} bytes of {size}")
            return cost
        curl = lambda: fetched("curl", "-sS", "-o", file, url)  # noqa: E731
        ours = lambda: fetched(program, "fetch", url, file)  # noqa: E731
        value, values, foreign = bench.pairs(curl, ours, lambda a, b: a.wall / b.wall, wall=True)
        speed = size / 1e6 / ours().wall
        bench.row("wall of curl / of a source that arrives, one connection", value, 0.9,
                  note=f"{spread(values)}; {speed:.0f} MB/s; the server is busy, too")
        value, values, _ = bench.pairs(curl, ours, lambda a, b: a.cpu / b.cpu)
        bench.row("CPU of curl / of a source that arrives", value, None, note=spread(values))
        server.stdin.close()
    shutil.rmtree(root)
    seconds = float(output_of(program, "crc"))
    bench.row("CRC-32C of 100 MB/s, share of a core", 100 * seconds, 1, most=True, unit=" %")
