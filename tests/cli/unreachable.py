#!/usr/bin/env python3
"""While a person waits for a plan or a list, a server that cannot be reached is told within 5 s, the first signal ends the
program within 10 s, and an answer that cannot change ends it without a signal.

    unreachable.py PIPE
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from pipe_run import fail

MOST_UNTIL_TOLD, MOST_UNTIL_ENDED = 5, 10
FILE = """pipe: 1
name: far
stages:
  source: { type: download, url: "%s" }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.1 } }
  text: { type: write_tfds, input: docs, name: far, shards: 2, out: "%s" }
"""


class Page(BaseHTTPRequestHandler):
    """Answers as a network does that wants a login, or as a server that is overloaded."""

    def do_GET(self):
        body = b"<html>please sign in</html>"
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def page(status):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.status = status
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def silent():
    """A server that takes connections and says nothing, and a port where nobody listens."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    closed = socket.create_server(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    return listening, f"http://127.0.0.1:{listening.getsockname()[1]}", f"http://127.0.0.1:{port}"


class Case:
    """A command whose bucket is at `server`."""

    slack = 0.0  # seconds that a program may take to start on this machine, beside so many others

    def __init__(self, pipe, root, name, server, *words, source=None, out="gs://shelf/out"):
        self.name, self.directory = name, root / name.replace(" ", "-")
        self.directory.mkdir()
        text = self.directory / "text.txt"
        text.write_text("".join(f"line {number}\n" * 5 + "\n" for number in range(50)))
        (self.directory / "far.yaml").write_text(FILE % (source or text, out))
        names = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        names |= {"HOME": str(self.directory), "NO_GCE_CHECK": "1"}
        names.pop("GOOGLE_APPLICATION_CREDENTIALS", None)
        names["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE" if server.startswith("https") else "STORAGE_EMULATOR_HOST"] = server
        self.began = time.monotonic()
        self.process = subprocess.Popen([pipe, *words], cwd=self.directory, env=names, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        self.said = []

    def told(self):
        """Reads to the line about the server."""
        most = MOST_UNTIL_TOLD + Case.slack
        timer = threading.Timer(2 * most, self.process.kill)
        timer.start()
        for line in self.process.stderr:
            self.said.append(line)
            if "given up in" in line:
                break
        timer.cancel()
        waited = time.monotonic() - self.began
        if self.process.poll() is not None or waited > most:
            fail(f"{self.name}: told after {waited:.1f} s: {''.join(self.said)}")
        return waited

    def ended(self, most):
        began = time.monotonic()
        try:
            _, rest = self.process.communicate(timeout=most)
        except subprocess.TimeoutExpired:
            self.process.kill()
            fail(f"{self.name}: does not end within {most} s: {''.join(self.said)}{self.process.communicate()[1]}")
        self.said.append(rest)
        return time.monotonic() - began


def stopped(pipe, root, name, server, number, *words, **more):
    """The first signal ends it."""
    case = Case(pipe, root, name, server, *words, **more)
    told = case.told()
    case.process.send_signal(number)
    ended = case.ended(MOST_UNTIL_ENDED)
    if case.process.returncode not in (128 + number, -number):
        fail(f"{name}: exit {case.process.returncode}: {''.join(case.said)}")
    return f"{name}: told after {told:.1f} s, ended {ended:.1f} s after the signal: {case.said[0].strip()}"


def refused(pipe, root, name, server, *words, why):
    """It ends by itself."""
    case = Case(pipe, root, name, server, *words)
    ended = case.ended(30)
    said = "".join(case.said)
    if case.process.returncode not in (1, 2) or why not in said:
        fail(f"{name}: exit {case.process.returncode}: {said}")
    return f"{name}: ended after {ended:.1f} s: {said.splitlines()[-1]}"


def main(pipe):
    began = time.monotonic()
    subprocess.run([pipe, "--version"], stdout=subprocess.DEVNULL, check=True)
    Case.slack = 1 + 20 * (time.monotonic() - began)
    listening, mute, closed = silent()
    busy, login = page(503), page(200)
    run = ("run", "far.yaml")
    home = ("--work", "gs://shelf/home")
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(16) as pool, listening:
        root = Path(directory)
        cases = [
            (stopped, "run, silent", mute, signal.SIGINT, *run),
            (stopped, "run, nobody listens", closed, signal.SIGTERM, *run),
            (stopped, "run, overloaded", busy, signal.SIGINT, *run),
            (stopped, "home, silent", mute, signal.SIGTERM, *run, *home),
            (stopped, "dry run", mute, signal.SIGINT, *run, "-n", "--ask"),
            (stopped, "plan", closed, signal.SIGINT, "plan", "far.yaml", "-o", "package"),
            (stopped, "ls", mute, signal.SIGINT, "ls", "gs://shelf/"),
            (stopped, "cp", closed, signal.SIGTERM, "cp", "-r", "gs://shelf/a/", "here/"),
            (stopped, "status", mute, signal.SIGINT, "status", "far.yaml", *home),
            (stopped, "retry", mute, signal.SIGINT, "retry", "far.yaml", *home),
            (stopped, "clean", closed, signal.SIGINT, "clean", "far.yaml", *home),
        ]
        waits = [pool.submit(call, pipe, root, *rest) for call, *rest in cases]
        waits.append(pool.submit(stopped, pipe, root, "a source", mute, signal.SIGINT, *run, source=f"{mute}/text.txt",
                                 out="out"))
        waits.append(pool.submit(refused, pipe, root, "a page in place of a bucket", login, *run,
                                 why="the answer is no list of Google Cloud Storage"))
        waits.append(pool.submit(refused, pipe, root, "https where http is spoken", login.replace("http:", "https:"), *run,
                                 why="tried 3 times"))
        for wait in waits:
            print(wait.result(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve())))
