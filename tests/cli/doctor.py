#!/usr/bin/env python3
"""`pipe doctor` reports every fault of credentials, buckets and locations, with the command that repairs it.

    doctor.py PIPE FAKE_GCS
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from fake_buckets import FakeBuckets, plain_environment
from metadata_server import ACCOUNT, MetadataServer
from scenarios import check
from web_server import WebServer

GRANT = "gcloud storage buckets add-iam-policy-binding gs://shelf --member=serviceAccount:" + ACCOUNT


class Doctor:
    def __init__(self, pipe, root):
        self.program, self.root = pipe, root
        self.key = root / "key.json"
        made = subprocess.run(["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                              capture_output=True, text=True, check=True)
        self.account = {"type": "service_account", "client_email": ACCOUNT, "private_key_id": "0123456789abcdef",
                        "private_key": made.stdout}
        self.key.write_text(json.dumps(self.account))
        self.key.chmod(0o600)

    def look(self, environment, *words, code=0):
        """{level: [lines]} of its output."""
        done = subprocess.run([self.program, "doctor", *map(str, words)], env={"HOME": str(self.root), **environment},
                              cwd=self.root, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == code, f"doctor {words}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
        found = {"ok": [], "warning": [], "wrong": []}
        for line in done.stdout.splitlines():
            level, _, what = line.partition(" ")
            found[level].append(what.strip())
        check(code == 2 or bool(found["wrong"]) == (code == 1), f"exit {code}\n{done.stdout}")
        parts = [line[at:at + 12] for line in self.account["private_key"].splitlines()[1:-1] for at in range(len(line) - 11)]
        check(not any(part in done.stdout + done.stderr for part in parts), f"doctor {words}: shows the key")
        return {**found, "all": done.stdout + done.stderr}


def says(lines, *parts):
    check(any(all(part in line for part in parts) for line in lines), f"no line has {parts}: {lines}")


def credentials(doctor, buckets):
    service = buckets.service
    key = {"GOOGLE_APPLICATION_CREDENTIALS": str(doctor.key)}
    found = doctor.look(service(**key), "gs://shelf/out")
    says(found["ok"], "credentials: the key of service account " + ACCOUNT, str(doctor.key))
    says(found["ok"], "access token: can be had")
    says(found["ok"], "gs://shelf/out: can be written to, and what was written removed")
    check(not found["warning"], f"warned: {found['warning']}")

    says(doctor.look(service(), "gs://shelf", code=1)["wrong"], "no credentials on this machine",
         "gcloud auth application-default login")
    says(doctor.look(service(), code=0)["warning"], "no credentials on this machine")  # no location needs them
    nowhere = {"GOOGLE_APPLICATION_CREDENTIALS": str(doctor.root / "none.json")}
    says(doctor.look(service(**nowhere), "gs://shelf", code=1)["wrong"], "GOOGLE_APPLICATION_CREDENTIALS", "none.json")
    for text, why in (("not a key {", "no JSON"), ("{}", "'type' is missing"),
                      (json.dumps({**doctor.account, "private_key": "-----BEGIN PRIVATE KEY-----\nQUJD\n"}), "download the key"),
                      (json.dumps({"type": "service_account", "client_email": ACCOUNT}), "is missing")):
        bad = doctor.root / "bad.json"
        bad.write_text(text)
        bad.chmod(0o600)
        says(doctor.look(service(GOOGLE_APPLICATION_CREDENTIALS=str(bad)), "gs://shelf", code=1)["wrong"], "bad.json", why)
    doctor.key.chmod(0o644)
    says(doctor.look(service(**key), "gs://shelf")["warning"], "can read these credentials", f"chmod 600 {doctor.key}")
    doctor.key.chmod(0o600)
    for _ in range(2):  # credentials that were valid once: the key was deleted
        buckets.fault("storage.buckets.get", "return-401")
    says(doctor.look(service(**key), "gs://shelf", code=1)["wrong"], "are refused", "gcloud auth application-default login")
    check(not buckets.items("shelf"), f"left behind: {list(buckets.items('shelf'))}")


def locations(doctor, buckets):
    key = {"GOOGLE_APPLICATION_CREDENTIALS": str(doctor.key)}
    environment = buckets.service(**key)
    says(doctor.look(environment, "gs://no-such-bucket/x", code=1)["wrong"], "no such bucket",
         "gcloud storage buckets create gs://no-such-bucket")
    for denied, level, code, *parts in (
            ("storage.buckets.get", "warning", 0, "its properties may not be seen", GRANT + " --role=roles/storage.legacyBucketReader"),
            ("storage.objects.list", "wrong", 1, "permission denied", GRANT + " --role=roles/storage.objectUser"),
            ("storage.objects.insert", "wrong", 1, "cannot be written to", GRANT + " --role=roles/storage.objectUser"),
            ("storage.objects.delete", "wrong", 1, "not be removed, and is left", GRANT + " --role=roles/storage.objectUser")):
        buckets.make("shelf", denied=[denied])
        says(doctor.look(environment, "gs://shelf", code=code)[level], *parts)
    buckets.make("shelf")
    left = list(buckets.items("shelf"))
    check(len(left) == 1 and left[0].startswith(".pipe/probe-"), f"one probe could not be removed, and there are {left}")

    buckets.make("soft", softDeletePolicy={"retentionDurationSeconds": "604800"})
    says(doctor.look(environment, "gs://soft")["warning"], "for 7 days", "gcloud storage buckets update gs://soft --clear-soft-delete")
    buckets.make("kept", retentionPolicy={"retentionPeriod": "86400"})
    says(doctor.look(environment, "gs://kept")["warning"], "retention policy", "--clear-retention-period")
    buckets.make("paid", billing={"requesterPays": True})
    says(doctor.look(environment, "gs://paid", code=1)["wrong"], "readers pay for this bucket", "export PIPE_USER_PROJECT=PROJECT")
    says(doctor.look({**environment, "PIPE_USER_PROJECT": "mine"}, "gs://paid")["ok"], "billed to the project mine")


def regions(doctor, buckets):
    """Uses the credentials of the machine itself."""
    machine = {"GCE_METADATA_HOST": MetadataServer().host}
    environment = {**plain_environment(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": buckets.url, **machine}
    found = doctor.look(environment, "gs://shelf")
    says(found["ok"], "this machine's service account, " + ACCOUNT)
    says(found["ok"], "gs://shelf: is there, in us-central1, as is this machine in us-central1")
    for location, level in (("US", "ok"), ("NAM4", "ok"), ("EU", "warning"), ("US-EAST1", "warning"), ("ASIA", "warning")):
        buckets.make("other", location=location)
        found = doctor.look(environment, "gs://other")
        says(found[level], f"gs://other: is there, in {location.lower()}", "this machine in us-central1")
        check(level == "ok" or any("create gs://NAME --location=us-central1" in line for line in found[level]), f"{found}")
    says(doctor.look(environment, "gs://no-such-bucket", code=1)["wrong"], "create gs://no-such-bucket --location=us-central1")
    check("token-of-the-machine" not in found["all"], "shows the token")


def clocks(doctor, fake):
    """The program continues with the servers' time, and says so."""
    for ahead, word in ((600, "600 seconds behind"), (-600, "600 seconds ahead of")):
        with FakeBuckets(fake, doctor.root / f"clock{ahead}", "--bucket", "shelf", "--require-token", "--clock-ahead",
                         str(ahead)) as buckets:
            environment = buckets.service(GOOGLE_APPLICATION_CREDENTIALS=str(doctor.key))
            found = doctor.look(environment, "gs://shelf")
            warned = [line for line in found["warning"] if "timedatectl set-ntp true" in line]
            near = [word.replace("600", str(seconds)) for seconds in range(598, 603)]
            check(len(warned) == 1 and any(one in warned[0] for one in near), f"{found}")


def a_pipeline(doctor, buckets):
    (doctor.root / "c.txt").write_text("一\n", encoding="utf-8")
    server = WebServer(b"x" * 2048, "corpus.txt")
    buckets.put("shelf", "in/c.txt", b"text\n")

    def file(sources, dictionary="ipadic", out="gs://shelf/out"):
        (doctor.root / "p.yaml").write_text(f"""\
pipe: 1
name: tiny
vars: {{ out: "{out}" }}
stages:
  source: {{ type: download, url: {json.dumps(sources)} }}
  lines: {{ type: decompress, input: source }}
  words: {{ type: segment_words, input: lines, dictionary: {dictionary} }}
  docs: {{ type: split, input: words, splits: {{ train: rest }} }}
  text: {{ type: write_tfds, input: docs, name: tiny, version: 1.0.0, shards: 1, out: "${{out}}" }}
""", encoding="utf-8")
    environment = buckets.emulator()
    file(["c.txt", f"{server.url}?part=hidden0123456789", "gs://shelf/in/c.txt"])
    found = doctor.look(environment, "p.yaml")
    says(found["ok"], "work directory .pipe/tiny", "free")
    says(found["ok"], "c.txt: 4 B")
    says(found["ok"], f"{server.url}: 2.00 KiB")
    says(found["ok"], "gs://shelf/in/c.txt: 5 B")
    says(found["ok"], "gs://shelf/out: can be written to")
    says(found["ok"], "stage 'words': its files are here")
    # The need counts, not the limit of the run.
    one = ("p.yaml", "--set", "stages.source.url=c.txt", "--set", "limits.disk=900TiB")
    says(doctor.look(environment, *one)["ok"], "work directory .pipe/tiny", " free, about ", " needed")
    huge = doctor.look(environment, *one, "--set", "stages.source.text_size=100TiB")
    says(huge["warning"], "work directory .pipe/tiny", " free where about ", " may be needed")
    tight = doctor.look(environment, *one, "--set", "limits.disk=1", code=1)
    says(tight["wrong"], "limits.disk of 1 B is too small: a run takes about ", "raise it")
    check("hidden" not in found["all"], found["all"])
    check(list(buckets.items("shelf")) == ["in/c.txt"], "left something behind")
    check(not (doctor.root / ".pipe").exists(), "made a work directory")
    file(["none.txt"], dictionary=f"{doctor.root}/dictionary")
    found = doctor.look(environment, "p.yaml", code=1)
    says(found["wrong"], "stage 'source'", "none.txt: no such file")
    says(found["wrong"], "stage 'words'", "/dictionary")
    file(["gs://shelf/in/none.txt", f"{server.url}.gz?part=hidden0123456789"])
    found = doctor.look(environment, "p.yaml", "--set", "out=gs://no-such-bucket/x", code=1)
    says(found["wrong"], "gs://shelf/in/none.txt: there is no such object", "pipe ls gs://shelf")
    says(found["wrong"], "not found")
    says(found["wrong"], "no such bucket", "gcloud storage buckets create gs://no-such-bucket")
    check("hidden" not in found["all"], found["all"])
    file(["c.txt"], out="c.txt/x")
    says(doctor.look(environment, "p.yaml", code=1)["wrong"], "is no directory")
    (doctor.root / "q.yaml").write_text("pipe: 1\nstagse: {}\n")
    doctor.look(environment, "q.yaml", code=2)
    doctor.look(environment, "ftp://host/x", code=2)
    server.stop()


def nobody_answers(doctor):
    """The command does not hang."""
    environment = {**plain_environment(), "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"}
    says(doctor.look(environment, "gs://shelf", code=1)["wrong"], "gs://shelf")


def main():
    pipe, fake = (Path(word).resolve() for word in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as root:
        doctor = Doctor(pipe, Path(root))
        with FakeBuckets(fake, Path(root) / "buckets", "--bucket", "shelf", "--require-token") as buckets:
            buckets.token = "of-the-test"
            for scenario in (credentials, locations, regions):
                scenario(doctor, buckets)
                print(f"ok: {scenario.__name__}", flush=True)
        with FakeBuckets(fake, Path(root) / "open", "--bucket", "shelf") as buckets:
            a_pipeline(doctor, buckets)
        print("ok: a pipeline", flush=True)
        clocks(doctor, fake)
        print("ok: clocks", flush=True)
        nobody_answers(doctor)
        print("ok: nobody answers", flush=True)


if __name__ == "__main__":
    main()
