#!/usr/bin/env python3
"""A source on a web server: the same bytes as from a file, whatever the server and the machine do meanwhile.

    remote_source.py PIPE
"""

import lzma
import signal
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, corpus, differences, hold, text_line
from scenarios import play, scenario
from web_server import WebServer

FILE = text_line("remote", shards=2)
PACKED = lzma.compress(corpus(11, 3_000_000), preset=1)
OTHER = lzma.compress(corpus(12, 3_000_000), preset=1)
SECRET = "key=hidden0123456789"


class Scenarios:
    """One method per scenario; its run has a directory of its own."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        local = root / "corpus.txt.xz"
        local.write_bytes(PACKED)
        run = self.run("local")
        hold(run.finish("--set", f"corpus={local}") == 0, run, "the run from a file failed")
        self.wanted = run.published(lineage=False)

    def run(self, name):
        return Run(self.program, self.root / name, FILE)

    def same(self, run, what):
        found = differences(self.wanted, run.published(lineage=False))
        hold(not found, run, f"{what}: {found}")

    @scenario
    def a_run(self, server):
        run, source = self.run("a_run"), ("--set", f"corpus={server.url}?{SECRET}")
        hold(run.finish(*source) == 0, run, "failed")
        self.same(run, "from a server")
        hold(server.sent < 1.1 * len(PACKED), run, f"{server.sent} bytes were sent of {len(PACKED)}")
        before = len(server.requests)
        hold(run.finish(*source) == 0 and server.requests[before:] == [("HEAD", 0)], run,
                  f"what is done was asked for again: {server.requests[before:]}")
        for path in (path for path in run.root.rglob("*") if path.is_file()):
            hold(b"hidden0123456789" not in path.read_bytes(), run, f"{path}: holds the secret of the address")

    @scenario
    def a_server_that_breaks_off(self, server):
        server.break_every = 200_000
        run = self.run("breaks")
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run, "from a server that breaks off")
        hold(len(server.requests) > len(PACKED) // server.break_every, run, "it never broke off")

    @scenario
    def kills(self, server):
        """Bytes that had arrived are not sent again."""
        run, source = self.run("kills"), ("--set", f"corpus={server.url}")
        for number, share in enumerate((0.2, 0.4, 0.6, 0.8)):
            server.here(int(share * len(PACKED)))
            # Bytes that arrived before SIGTERM are safe; SIGKILL loses the last two seconds.
            code = run.stop_when(lambda: server.is_waiting() and self.arrived(run), signal.SIGKILL if number % 2 else signal.SIGTERM, *source)
            hold(code != 0, run, "ended without the whole file")
            server.break_off()
        server.here(len(PACKED))
        hold(run.finish(*source) == 0, run, "failed")
        self.same(run, "after kills")
        firsts = [first for method, first in server.requests if method == "GET" and first > 0]
        hold(len(firsts) >= 2, run, f"never went on where it was: {server.requests}")

    @staticmethod
    def arrived(run):
        """Number of bytes in part files."""
        return sum(path.stat().st_size for path in (run.work / "sources").glob("*") if path.suffix != ".json")

    @scenario
    def another_version(self, server):
        run, source = self.run("version"), ("--set", f"corpus={server.url}")
        hold(run.finish(*source) == 0, run, "failed")
        server.data, server.etag = OTHER, '"2"'
        hold(run.finish(*source) == 2 and "another recipe" in run.messages(), run,
                  "another version of the source was not told from the published one")
        hold(run.finish(*source, "--force", "text") == 0, run, "failed for the other version")
        hold(differences(self.wanted, run.published(lineage=False)), run, "the old text stayed")

    @scenario
    def another_version_meanwhile(self, server):
        """Bytes of two versions are never combined."""
        server.here(len(PACKED) // 2)
        run, source = self.run("meanwhile"), ("--set", f"corpus={server.url}")

        def change():
            if server.is_waiting() and server.data is not OTHER:
                server.data, server.etag = OTHER, '"2"'
                server.break_off()
                server.here(len(OTHER))
            return False
        code = run.stop_when(change, signal.SIGKILL, *source)
        hold(code == 1 and "changed while it was read" in run.messages(), run, f"exit {code}")
        hold(run.finish(*source) == 0, run, "failed for the new version")
        hold(run.verify(run.out / "remote/1.0.0") == 0, run, "does not verify")

    @scenario
    def a_server_without_versions(self, server):
        """Nothing is decoded before the whole file is here."""
        server.gives_versions = False
        run = self.run("unversioned")
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run, "from a server without versions")

    @scenario
    def nobody_is_asked_by_a_dry_run(self, server):
        run, source = self.run("dry"), ("--set", f"corpus={server.url}")
        hold(run.finish("-n", *source) == 0 and not server.requests, run, f"asked: {server.requests}")
        hold("was not asked" in run.messages(), run, "does not say that nobody was asked")
        hold(run.finish("-n", *source, "--set", "out=gs://no-such-bucket/here") == 0, run, "asked for a bucket")
        hold(run.finish("-n", "--ask", *source) == 0 and server.requests == [("HEAD", 0)], run,
                  f"asked: {server.requests}")

    @scenario
    def what_is_no_file_is_said(self, server):
        run = self.run("absent")
        code = run.finish("--set", f"corpus={server.url}.gz?{SECRET}")
        hold(code == 2 and "corpus.txt.xz.gz: " in run.messages() and "hidden" not in run.messages(), run, f"exit {code}")
        code = run.finish("--set", "corpus=ftp://host/file")
        hold(code == 2 and "ftp://host/file" in run.messages(), run, f"exit {code}")

    @scenario
    def what_is_done_needs_no_server(self, server):
        run, source = self.run("gone"), ("--set", f"corpus={server.url}")
        hold(run.finish(*source) == 0, run, "failed")
        server.stop()
        hold(run.finish(*source) == 0, run, "what is done was wanted again")
        kept = run.work / "sources"
        hold(any(kept.iterdir()), run, "the part file is not where it is looked for")
        hold(run.clean(*source) == 0 and not any(kept.iterdir()), run, "clean left what nothing needs")


def main():
    with tempfile.TemporaryDirectory() as root:
        play(Scenarios(Path(sys.argv[1]).resolve(), Path(root)), sys.argv[2:], lambda name: (WebServer(PACKED),))


if __name__ == "__main__":
    main()
