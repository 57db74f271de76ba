#!/usr/bin/env python3
"""gcloud, where it is installed, is a client of the fake API, too: it makes, shows, lists and deletes a node and a queued
resource with their words, and sees the refusals. Where it is not installed, nothing is tried, and the output says so.

    gcloud_tpu.py FAKE_TPU
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

ZONE = "us-central1-a"


def check(good, what):
    if not good:
        raise SystemExit(f"gcloud_tpu.py: {what}")


def gcloud(environment, *words, code=0):
    done = subprocess.run(["gcloud", "compute", "tpus", *words, "--zone", ZONE, "--format=json", "--quiet"], env=environment,
                          capture_output=True, text=True, timeout=100, check=False)
    check((done.returncode == 0) == (code == 0), f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stderr if code else json.loads(done.stdout or "null")


def lives(environment):
    what = ("--accelerator-type=v3-8", "--version=tpu-ubuntu2204-base", "--spot", "--labels=pipe-slice=theirs")
    gcloud(environment, "tpu-vm", "create", "theirs", *what)
    node = gcloud(environment, "tpu-vm", "describe", "theirs")
    check(node["state"] == "READY" and node["labels"] == {"pipe-slice": "theirs"}, node)
    check([one["name"].rsplit("/", 1)[1] for one in gcloud(environment, "tpu-vm", "list")] == ["theirs"], "the list")
    said = gcloud(environment, "tpu-vm", "create", "theirs", *what, code=1)
    check("already exists" in said, said)
    said = gcloud(environment, "tpu-vm", "create", "other", *what[1:], "--accelerator-type=v9-8", code=1)
    check("v9-8" in said, said)
    gcloud(environment, "tpu-vm", "delete", "theirs")
    said = gcloud(environment, "tpu-vm", "describe", "theirs", code=1)
    check("was not found" in said, said)

    gcloud(environment, "queued-resources", "create", "many", "--node-count=2", "--node-prefix=slice",
           "--accelerator-type=v5litepod-16", "--runtime-version=v2-alpha-tpuv5-lite", "--spot", "--valid-until-duration=1h")
    queued = gcloud(environment, "queued-resources", "describe", "many")
    check(queued["tpu"]["nodeSpec"][0]["multisliceParams"] == {"nodeCount": 2, "nodeIdPrefix": "slice"}, queued)
    gcloud(environment, "queued-resources", "delete", "many", "--force")
    said = gcloud(environment, "queued-resources", "describe", "many", code=1)
    check("was not found" in said, said)


def main():
    if shutil.which("gcloud") is None:
        print("gcloud is not installed here: nothing was tried")
        return
    with tempfile.TemporaryDirectory() as config:
        process = subprocess.Popen([sys.argv[1], "--speed", "60"], stdout=subprocess.PIPE, text=True)
        try:
            lives({**os.environ, "CLOUDSDK_CONFIG": config, "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
                   "CLOUDSDK_CORE_PROJECT": "corpus", "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
                   "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": json.loads(process.stdout.readline())["url"] + "/"})
        finally:
            process.send_signal(signal.SIGTERM)
            told = json.loads(process.communicate(timeout=20)[0])
    check(told["left"] == [], told)
    print("gcloud makes, shows, lists and deletes a node and a queued resource")


if __name__ == "__main__":
    main()
