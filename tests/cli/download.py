#!/usr/bin/env python3
"""Downloads that always finish or say why they cannot: checksums, mirrors, parts, patience with servers of every kind.

    download.py PIPE
"""

import hashlib
import lzma
import os
import pty
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipe_run import Run, corpus, differences, hold, text_line
from scenarios import play, scenario
from web_server import WebServer

PACKED = lzma.compress(corpus(21, 2_000_000), preset=1)
OTHER = PACKED[:1000] + bytes([PACKED[1000] ^ 1]) + PACKED[1001:]  # of the same size
PLAIN = corpus(22, 2_500_000) * 7  # is downloaded in more than two parts


def pin(data, kind="sha256"):
    return f"{kind}:{hashlib.new(kind, data).hexdigest()}"


def pipeline(**keys):
    """A pipeline whose source has further keys besides its address."""
    more = "".join(f", {key}: {value}" for key, value in keys.items())
    return text_line("remote", shards=2).replace('url: "${corpus}"', f'url: "${{corpus}}"{more}')


class Scenarios:
    """One method per scenario; its run has a directory of its own."""

    def __init__(self, program, root):
        self.program, self.root = program, root
        self.wanted = self.from_file("local", PACKED, "corpus.txt.xz")

    def from_file(self, name, data, file):
        path = self.root / f"{name}-{file}"
        path.write_bytes(data)
        run = self.run(name)
        hold(run.finish("--set", f"corpus={path}") == 0, run, "the run from a file failed")
        return run.published(lineage=False)

    def run(self, name, **keys):
        return Run(self.program, self.root / name, pipeline(**keys))

    def same(self, run, wanted=None):
        found = differences(wanted or self.wanted, run.published(lineage=False))
        hold(not found, run, f"other bytes than from a file: {found}")

    # ------------------------------------------------------------------------------------- checksums

    @scenario
    def a_pinned_file_counts_by_its_checksum(self, server):
        run, elsewhere = self.run("pinned", checksum=pin(PACKED)), WebServer(PACKED, name="moved.xz")
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)
        made = run.log().done()
        hold(run.finish("--set", f"corpus={elsewhere.url}") == 0 and run.log().done() == made, run,
                  "the same file elsewhere was taken for another")
        hold(elsewhere.requests == [], run, f"asked for what is here: {elsewhere.requests}")
        path = self.root / "pinned.xz"
        path.write_bytes(PACKED)
        hold(run.finish("--set", f"corpus={path}") == 0 and run.log().done() == made, run,
                  "the same file on this machine was taken for another")

    @scenario
    def another_file_than_the_pinned_one(self, server):
        server.data = OTHER
        run, source = self.run("mismatch", checksum=pin(PACKED, "md5")), ("--set", f"corpus={server.url}")
        for downloads in (1, 2):
            code = run.finish(*source)
            hold(code == 1 and pin(PACKED, "md5") in run.messages() and pin(OTHER, "md5") in run.messages(), run,
                      f"exit {code}")
            hold(server.requests.count(("GET", 0)) == downloads, run, "looked at the same bytes again")
        server.data = PACKED
        hold(run.finish(*source) == 0, run, "failed for the right file")
        self.same(run)

    @scenario
    def a_local_file_is_held_to_its_checksum(self, server):
        path = self.root / "held.xz"
        path.write_bytes(OTHER)
        run, source = self.run("held", checksum=pin(PACKED)), ("--set", f"corpus={path}")
        code = run.finish(*source)
        hold(code == 2 and pin(OTHER) in run.messages(), run, f"exit {code}")
        path.write_bytes(PACKED)
        hold(run.finish(*source) == 0, run, "failed for the right file")
        self.same(run)

    @scenario
    def a_pinned_file_goes_on_after_a_kill(self, server):
        server.gives_versions = False  # the checksum is enough
        run, source = self.run("kill", checksum=pin(PACKED)), ("--set", f"corpus={server.url}")
        server.here(len(PACKED) // 2)
        code = run.stop_when(lambda: server.is_waiting() and self.arrived(run) > 100_000, signal.SIGTERM, *source)
        hold(code != 0, run, "ended without the whole file")
        server.break_off()
        server.here(len(PACKED))
        hold(run.finish(*source) == 0, run, "failed")
        self.same(run)
        hold(any(first > 0 for _, first in server.requests), run, f"began anew: {server.requests}")

    @staticmethod
    def arrived(run):
        return sum(path.stat().st_size for path in (run.work / "sources").glob("*") if path.suffix != ".json")

    # --------------------------------------------------------------------------------------- mirrors

    @scenario
    def a_mirror_in_place_of_what_is_gone(self, server):
        mirror, server.is_gone = WebServer(PACKED), True
        run = self.run("gone", checksum=pin(PACKED), mirrors=mirror.url.replace("corpus.txt.xz", ""))
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)

    @scenario
    def a_mirror_goes_on_in_the_middle(self, server):
        mirror = WebServer(PACKED)
        run = self.run("middle", checksum=pin(PACKED), mirrors=mirror.url)
        server.here(len(PACKED) // 2)

        def leave():
            if server.is_waiting() and self.arrived(run) > 100_000 and not server.is_gone:
                server.is_gone = True
                server.break_off()
            return False
        hold(run.stop_when(leave, signal.SIGKILL, "--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)
        firsts = [first for method, first in mirror.requests if method == "GET"]
        hold(len(firsts) == 1 and firsts[0] > 0 and "going on at" in run.messages(), run, f"{mirror.requests}")

    @scenario
    def a_mirror_with_another_file(self, server):
        mirror, server.data = WebServer(PACKED), OTHER
        run = self.run("wrong", checksum=pin(PACKED), mirrors=mirror.url)
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)

    @scenario
    def a_mirror_with_a_file_of_another_size(self, server):
        mirror, server.data = WebServer(PACKED), PACKED[:-1000]
        run, source = self.run("shorter", checksum=pin(PACKED), mirrors=mirror.url), ("--set", f"corpus={server.url}")
        code = run.finish(*source)
        hold(code == 0 and pin(PACKED[:-1000]) not in run.messages(), run, f"exit {code}")
        self.same(run)

    @scenario
    def one_checksum_at_two_addresses(self, server):
        """Both addresses share one part file."""
        other = WebServer(PACKED, name="again.xz")
        run = self.run("twice", checksum=f"[{pin(PACKED)}, {pin(PACKED)}]")
        run.file.write_text(run.file.read_text().replace('"${corpus}"', f'["{server.url}", "{other.url}"]'))
        hold(run.finish() == 0, run, "failed")
        hold(server.sent + other.sent < 1.1 * len(PACKED), run, "was sent twice")

    @scenario
    def parts_of_a_pinned_file_that_are_refused(self, server):
        wanted = self.from_file("whole", PLAIN, "corpus.txt")
        server = WebServer(PLAIN, name="corpus.txt")
        server.takes_ranges = False
        run = self.run("refused", checksum=pin(PLAIN), connections=4)
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run, wanted)

    @scenario
    def mirrors_need_a_checksum(self, server):
        run = self.run("unpinned", mirrors=server.url)
        code = run.finish("--set", f"corpus={server.url}")
        hold(code == 2 and "has no checksum" in run.messages() and not server.requests, run, f"exit {code}")

    # ------------------------------------------------------------------------------- parts and rate limits

    @scenario
    def parts_of_one_file(self, server):
        wanted = self.from_file("plain", PLAIN, "corpus.txt")
        for connections in (1, 4):
            server = WebServer(PLAIN, name="corpus.txt")
            run = self.run(f"parts-{connections}", connections=connections)
            server.here(0)

            def let_go():
                if server.at_once == connections:
                    server.here(len(PLAIN))
                return False
            hold(run.stop_when(let_go, signal.SIGKILL, "--set", f"corpus={server.url}") == 0, run, "failed")
            self.same(run, wanted)
            hold(server.sent < 1.1 * len(PLAIN), run, f"{server.sent} bytes were sent of {len(PLAIN)}")
            hold(server.most_at_once == connections, run, f"{server.most_at_once} at once of {connections}")

    @scenario
    def parts_of_a_server_that_breaks_off(self, server):
        server = WebServer(PLAIN, name="corpus.txt")
        chance = random.Random(7)
        server.break_every = lambda: chance.randrange(1, 9_000_000)
        run = self.run("broken-parts", connections=3)
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run, self.run_of("plain").published(lineage=False))

    def run_of(self, name):
        run = Run.__new__(Run)
        run.root, run.out = self.root / name, self.root / name / "out"
        return run

    @scenario
    def one_transfer_at_a_time_from_a_host(self, server):
        server.looks_twice = True
        run = self.run("polite")
        run.file.write_text(run.file.read_text().replace('"${corpus}"', f'["{server.url}", "{server.url}?again"]'))
        hold(run.finish() == 0, run, "failed")
        hold(server.most_at_once == 1, run, f"{server.most_at_once} transfers at once")

    @scenario
    def no_faster_than_it_may_be(self, server):
        run, began = self.run("rate", rate=f"{len(PACKED) // 2}"), time.monotonic()
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)
        hold(time.monotonic() - began > 1.5, run, "faster than it may be")

    @scenario
    def people_see_how_it_goes(self, server):
        server.here(len(PACKED) // 2)
        run = self.run("seen")
        ours, theirs = pty.openpty()
        command = [self.program, "run", run.file, "--work", run.work, "--set", f"out={run.out}", "--set",
                   f"corpus={server.url}"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=theirs, stdout=subprocess.DEVNULL) as process:
            os.close(theirs)
            seen = b""
            while b"[corpus.txt.xz] 50% " not in seen and b"[corpus.txt.xz] 49% " not in seen:
                seen += os.read(ours, 4096)
            server.here(len(PACKED))
            try:
                while os.read(ours, 4096):
                    pass
            except OSError:  # the client has closed its side
                pass
            hold(process.wait(timeout=100) == 0, run, "failed")
        os.close(ours)

    # ---------------------------------------------------------------------------------------- faults

    @scenario
    def closes_at_random_offsets(self, server):
        chance = random.Random(3)
        server.break_every = lambda: chance.randrange(1, 2 * len(PACKED) // 3)
        run = self.run("offsets")
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)

    @scenario
    def answers_with_all_of_it_to_a_range(self, server):
        server.takes_ranges, breaks = False, iter([300_000, 900_000])
        server.break_every = lambda: next(breaks, len(PACKED))
        run = self.run("ranges", connections=4)
        hold(run.finish("--set", f"corpus={server.url}") == 0, run, "failed")
        self.same(run)

    @scenario
    def lies_about_the_length(self, server):
        for more in (-1000, 1000):
            server.length_told = len(PACKED) + more
            run = self.run(f"length{more}")
            code = run.finish("--set", f"corpus={server.url}")
            hold(code == 1 and "changed while it was read" in run.messages(), run, f"exit {code}")

    @scenario
    def no_file_where_it_should_be(self, server):
        page = (200, {"Content-Type": "text/html"})
        server.answers = {"/circle": (302, {"Location": "/circle"}), "/ftp": (302, {"Location": "ftp://127.0.0.1/x"}),
                          "/file": (302, {"Location": "file:///etc/passwd"}), "/page": page}
        base = server.url.replace("/corpus.txt.xz", "")
        for path, words in (("circle", "redirects more than 10 times"), ("file", "it is not http or https"),
                            ("ftp", "it is not http or https"), ("page", "answers with a web page")):
            run = self.run(f"no-file-{path}")
            code = run.finish("--set", f"corpus={base}/{path}")
            hold(code == 2 and words in run.messages(), run, f"{path}: exit {code}")

    @scenario
    def certificates(self, server):
        """A CA made by this test, in the variables that curl and OpenSSL read."""
        root = self.root / "tls"
        root.mkdir()

        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=root, check=True, capture_output=True, timeout=60)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        openssl("req", "-x509", *key, "-subj", "/CN=Test CA", "-keyout", "ca.key", "-out", "ca.pem")
        openssl("req", *key, "-subj", "/CN=127.0.0.1", "-keyout", "host.key", "-out", "host.csr")
        (root / "names").write_text("subjectAltName=IP:127.0.0.1\n")
        openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", "host.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(root / "host.pem", root / "host.key")
        server = WebServer(PACKED, tls=context)
        run, source = self.run("certificate"), ("--set", f"corpus={server.url}")
        code = run.finish(*source)
        hold(code == 2 and "certificate does not hold" in run.messages(), run, f"unknown CA: exit {code}")
        hold(not server.requests, run, "talked to a server that nobody vouches for")
        for number, variable in enumerate(("CURL_CA_BUNDLE", "SSL_CERT_FILE")):
            os.environ[variable] = str(root / "ca.pem")
            run = self.run(f"certificate-{number}")
            hold(run.finish(*source) == 0, run, f"failed with {variable}")
            self.same(run)
            del os.environ[variable]


def main():
    with tempfile.TemporaryDirectory() as root:
        play(Scenarios(Path(sys.argv[1]).resolve(), Path(root)), sys.argv[2:], lambda name: (WebServer(PACKED),))


if __name__ == "__main__":
    main()
