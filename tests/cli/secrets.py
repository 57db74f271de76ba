#!/usr/bin/env python3
"""A run with credentials leaves nothing of keys, tokens, upload sessions and queries of addresses anywhere.

    secrets.py PIPE FAKE_GCS
"""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from fake_buckets import FakeBuckets, plain_environment
from metadata_server import ACCOUNT, MetadataServer
from scenarios import check
from web_server import WebServer

WINDOW = 12  # characters: the length of the parts of a secret that are searched for
FILE = """\
pipe: 1
name: hush
vars: { out: "", corpus: "" }
stages:
  source: { type: download, url: "${corpus}" }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest } }
  text: { type: write_tfds, input: docs, name: hush, version: 1.0.0, shards: 1, out: "${out}" }
"""


def windows(secret):
    return {secret[at:at + WINDOW] for at in range(len(secret) - WINDOW + 1)}


class Hush:
    def __init__(self, program, root, buckets):
        self.program, self.root, self.buckets = program, root, buckets
        self.artefacts = root / "artefacts"  # everything that is searched
        self.work = self.artefacts / "work"
        self.artefacts.mkdir()
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                             capture_output=True, text=True, check=True).stdout
        self.key = root / "key.json"
        self.key.write_text(json.dumps({"type": "service_account", "client_email": ACCOUNT, "private_key": key,
                                        "private_key_id": os.urandom(20).hex()}))
        self.key.chmod(0o600)
        self.key_lines = key.splitlines()[1:-1]
        self.file = root / "p.yaml"
        self.file.write_text(FILE)
        text = "".join(f"{number:07d} 吾輩は猫である。名前はまだ無い。\n\n" for number in range(170_000))
        self.server = WebServer(text.encode(), "corpus.txt")
        self.query = os.urandom(20).hex()
        self.corpus = f"{self.server.url}?part={self.query}&{self.query[::-1]}"
        self.machine_token = os.urandom(30).hex()
        self.environment = buckets.service(GOOGLE_APPLICATION_CREDENTIALS=str(self.key), HOME=str(self.artefacts),
                                           TMPDIR=str(self.artefacts))
        self.machine = {**plain_environment(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": buckets.url,
                        "GCE_METADATA_HOST": MetadataServer(self.machine_token).host, "HOME": str(self.artefacts)}

    def start(self, *words, environment=None):
        """Its output on both streams is one of the artefacts."""
        with open(self.artefacts / "messages", "ab") as messages:
            return subprocess.Popen([self.program, *map(str, words)], env=environment or self.environment,
                                    cwd=self.artefacts, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)

    def pipe(self, *words, code=0, environment=None):
        got = self.start(*words, environment=environment).wait(timeout=100)
        check(got == code, f"pipe {words[0]}: exit {got}, expected {code}\n{self.messages()[-3000:]}")

    def messages(self):
        return (self.artefacts / "messages").read_text(encoding="utf-8", errors="replace")

    def words(self, out="out", work=None):
        return (self.file, "--work", work or self.work, "--set", f"corpus={self.corpus}", "--set", f"out=gs://shelf/{out}")

    def needles(self):
        tokens, sessions = self.buckets.secrets()
        tokens = [token for token in tokens if token != self.buckets.token]
        sessions = [session.split("-", 2)[2] for session in sessions]
        check(tokens and sessions, f"{len(tokens)} tokens, {len(sessions)} sessions")
        return {part for secret in (*self.key_lines, *tokens, *sessions, self.query, self.query[::-1])
                for part in windows(secret)}

    def search(self, root):
        """Files below `root` that contain a part of a secret."""
        patterns = self.root / "patterns"
        patterns.write_text("\n".join(sorted(self.needles())) + "\n")
        found = subprocess.run(["grep", "--recursive", "--text", "--fixed-strings", "--files-with-matches", "--file",
                                patterns, root], capture_output=True, text=True, timeout=100, check=False,
                               env={**os.environ, "LC_ALL": "C"})
        check(found.returncode in (0, 1), found.stderr)
        return set(found.stdout.splitlines())

    def sessions(self):
        """The file of open upload sessions, and its text."""
        files = list(self.work.rglob("sessions"))
        check(len(files) == 1, f"files of sessions: {files}")
        check(stat.S_IMODE(files[0].stat().st_mode) == 0o600, f"{files[0]}: is not of mode 0600")
        return files[0], files[0].read_text()


def killed_in_an_upload(hush):
    """The URI of the session is in one file of mode 0600, and in no other."""
    hush.buckets.fault("storage.objects.insert.chunk", "stall-for-60000ms-after-300K")
    process = hush.start("run", *hush.words())
    while hush.buckets.counts()["operations"].get("storage.objects.insert.chunk", 0) == 0:
        check(process.poll() is None, f"ended without an upload session\n{hush.messages()[-3000:]}")
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=20)
    _, sessions = hush.buckets.secrets()
    path, text = hush.sessions()
    check(len(sessions) == 1 and sessions[0] in text, "the session is not noted")
    found = hush.search(hush.artefacts)
    check(found == {str(path)}, f"secrets are in {found}")
    return path


def stopped(hush):
    """The message with the command that continues has no query."""
    hush.server.here(1 << 20)
    process = hush.start("run", *hush.words(out="stopped", work=hush.artefacts / "stopped"))
    while not hush.server.is_waiting():
        check(process.poll() is None, f"ended\n{hush.messages()[-3000:]}")
    process.send_signal(signal.SIGTERM)
    check(process.wait(timeout=60) == 143, "did not stop")
    hush.server.break_off()
    hush.server.here(len(hush.server.data))
    check("goes on from there" in hush.messages() and f"corpus={hush.server.url}?***" in hush.messages(), "the command is not told")


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as root, \
            FakeBuckets(fake, Path(root) / "buckets", "--bucket", "shelf", "--require-token") as buckets:
        buckets.token = "of-the-test"
        hush = Hush(pipe, Path(root), buckets)
        sessions = killed_in_an_upload(hush)
        print("ok: killed in an upload", flush=True)
        hush.pipe("run", *hush.words(), "--log-format", "json")
        check(hush.sessions() == (sessions, ""), "a session is still noted")
        check(buckets.counts()["open_sessions"] == 0, "a session is still open")
        print("ok: went on", flush=True)

        stopped(hush)
        hush.pipe("run", *hush.words(out="machine", work=hush.artefacts / "machine"), environment=hush.machine)
        for words in (("status",), ("status", "--json"), ("report",), ("run", "--explain"), ("run", "-n", "--ask")):
            hush.pipe(words[0], *hush.words(), *words[1:])
        hush.pipe("plan", *hush.words(out="handed", work=hush.artefacts / "handed"), "-o", hush.artefacts / "package")
        hush.pipe("verify", "gs://shelf/out/hush/1.0.0")
        hush.pipe("ls", "-lr", "gs://shelf", hush.corpus)
        hush.pipe("cp", hush.corpus, "gs://shelf/copy.txt")
        hush.pipe("cat", "--limit", "2", hush.corpus)
        hush.pipe("doctor", "gs://shelf", hush.corpus)
        hush.pipe("doctor", hush.file, "--set", f"corpus={hush.corpus}", "--set", "out=gs://shelf/out")
        objects = hush.artefacts / "objects"
        objects.mkdir()
        for number, (name, item) in enumerate(buckets.items("shelf").items()):
            (objects / f"{number}.json").write_text(json.dumps(item))
            (objects / str(number)).write_bytes(buckets.get("shelf", name))
        # Messages of failures are searched as well.
        for operation in ("storage.objects.get", "storage.objects.list"):
            for _ in range(40):
                buckets.fault(operation, "return-401")
        hush.pipe("ls", "gs://shelf/out", code=1)
        hush.pipe("run", *hush.words(out="refused", work=hush.artefacts / "refused"), code=2)
        hush.pipe("ls", f"{hush.corpus.replace('.txt?', '.gz?')}", code=2)
        hush.pipe("run", hush.file, "--set", f"corpus={hush.corpus.replace('.txt?', '.gz?')}", "--set", "out=o", code=2)

        check(hush.machine_token in buckets.secrets()[0], "the machine's token was not used")
        check(hush.search(hush.key) == {str(hush.key)}, "the search does not find a key")
        check(hush.search(hush.root / "patterns"), "the search does not find what it looks for")

        # Workers need the address with its query: no other user may read the file.
        handed = hush.artefacts / "package/plan.json"
        found = hush.search(hush.artefacts)
        check(found == {str(handed)}, f"secrets are in {found}")
        check(stat.S_IMODE(handed.stat().st_mode) == 0o600, "plan.json is not of mode 0600")
        plan = handed.read_text()
        check(not any(part in plan for part in hush.needles() - windows(hush.query) - windows(hush.query[::-1])),
              "plan.json holds more than the address")
        files = sum(path.is_file() for path in hush.artefacts.rglob("*"))
        print(f"ok: nothing of {len(hush.needles())} parts of secrets in {files} files", flush=True)


if __name__ == "__main__":
    main()
