#!/usr/bin/env python3
"""`pipe tpu` against a fake of the API: a slice is rented, listed and given back, also by commands that are stopped or
killed; machines of other people stay; the script on the machine gives it back by itself.

    tpu.py PIPE FAKE_TPU
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

from pipe_run import fail

PIPE, FAKE = (str(Path(word).absolute()) for word in sys.argv[1:3])
ZONES = "us-central1-a,us-central1-b"
TOKEN = "ya29.of-the-machine"


def check(good, what):
    if not good:
        fail(what)


def until(holds, what):
    since = time.monotonic()
    while not holds():
        check(time.monotonic() - since < 40, f"not so: {what}")
        time.sleep(0.1)


class Cloud:
    """The fake API; a second of ours is a minute of its own."""

    def __init__(self):
        self.process = subprocess.Popen([FAKE, "--speed", "60"], stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.told = json.loads(self.process.communicate(timeout=20)[0])

    def ask(self, what, **values):
        with urllib.request.urlopen(f"{self.url}/fake/{what}?{urllib.parse.urlencode(values)}", timeout=20) as answer:
            return json.loads(answer.read())

    def fault(self, **fault):
        urllib.request.urlopen(f"{self.url}/fake/fault", json.dumps(fault).encode(), timeout=20).close()


def environment(cloud, **more):
    told = ("PIPE_", "GOOGLE_", "CLOUDSDK_", "GCE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(told)}
    return {**kept, "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU": cloud.url, "GOOGLE_CLOUD_PROJECT": "corpus", "PIPE_TPU_LOOK": "0.2",
            "NO_GCE_CHECK": "true", **more}


def tpu(cloud, *words, code=0, **more):
    done = subprocess.run([PIPE, "tpu", *words], capture_output=True, text=True, timeout=100, check=False,
                          env=environment(cloud, **more))
    check(done.returncode == code, f"pipe tpu {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def up(cloud, name, *words, code=0):
    return tpu(cloud, "up", name, "--type", "v3-8", "--zones", ZONES, "--for", "24h", *words, code=code)


def listed(cloud):
    return {line.split("\t")[0]: line.split("\t")[1:] for line in tpu(cloud, "ls").stdout.splitlines()}


def mistakes(cloud):
    whole = ("--type", "v3-8", "--zones", ZONES, "--for", "24h")
    for words, part in ((("up",), "NAME: name the slice"), (("up", "Mine", *whole), "'Mine': a name has small letters"),
                        (("up", "m" * 41, *whole), "at most 40"), (("up", "-", *whole), "NAME: '-'"),
                        (("up", "mine"), "--type: name the slice"), (("up", "mine", "--type", "v3-9"), "there are v3-8, v3-32"),
                        (("up", "mine", "--type", "v3-8"), "--zones: name zones"),
                        (("up", "mine", "--type", "v3-8", "--zones", "a b"), "'a b' is no name of Google Cloud"),
                        (("up", "mine", "--type", "v3-8", "--zones", "../x"), "is no name of Google Cloud"),
                        (("up", "mine", "--type", "v3-8", "--zones", ZONES), "--for: name the time"),
                        (("up", "mine", *whole, "--wait", "soon"), "--wait: 'soon' is no time"),
                        (("up", "mine", *whole, "--project", "a/b"), "'a/b' is no name of Google Cloud"),
                        (("ls", "mine"), "leave it out"), (("ls", "-n"), "-n: is for"), (("rent",), "rent")):
        said = tpu(cloud, *words, code=2).stderr
        check(part in said and len(said.splitlines()) == 1 or words == ("rent",), f"{words}: {said}")
    check("--project: name the project" in tpu(cloud, "ls", code=2, GOOGLE_CLOUD_PROJECT="").stderr, "no project")
    said = tpu(cloud, "ls", code=2, CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU="http://example.com").stderr
    check("neither https nor this machine" in said, said)
    said = tpu(cloud, "ls", code=2, CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU="", HOME="/nowhere").stderr
    check("gcloud auth application-default login" in said, said)


def a_life(cloud):
    cloud.ask("capacity", zone="us-central1-a", machines=0)
    cloud.ask("person", zone="us-central1-b", id="somebodys")
    done = up(cloud, "mine")
    name, state, kind, zone, tier, _, addresses = done.stdout.rstrip("\n").split("\t")
    check((name, state, kind, zone, tier, addresses) == ("pipe-mine-2", "READY", "v3-8", "us-central1-b", "spot", "10.0.0.2"),
          done.stdout)
    check("ssh pipe-mine-2 --zone us-central1-b" in done.stderr and "gives itself back in 23 h" in done.stderr, done.stderr)
    check(list(listed(cloud)) == ["pipe-mine-2"], "a person's machine is listed")
    # The records of another directory know nothing of it, and change nothing.
    said = tpu(cloud, "down", "mine", "--records", "elsewhere", code=2).stderr
    check("has no records of a slice, and us-central1-b/pipe-mine-2 is there" in said and not Path("elsewhere").exists(), said)
    check("lists all that are there" in tpu(cloud, "down", "other", code=2).stderr, "down of nothing")
    check(up(cloud, "mine").stdout.startswith("pipe-mine-2\t"), "up again")
    for other in (("--type", "v2-8", "--for", "24h"), ("--type", "v3-8", "--for", "48h"),
                  ("--type", "v3-8", "--for", "24h", "--internal-ips")):
        said = tpu(cloud, "up", "mine", "--zones", ZONES, *other, code=2).stderr
        check("is rented as v3-8 in us-central1-b with other settings" in said, said)
    tpu(cloud, "down", "mine")
    check(listed(cloud) == {}, "something is left")
    tpu(cloud, "down", "mine")  # once more
    cloud.ask("capacity", zone="us-central1-a", machines=100)


def stopped(cloud, kind, after):
    process = subprocess.Popen([PIPE, "tpu", "up", "mine", "--type", "v3-8", "--zones", ZONES, "--for", "24h"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(cloud))
    time.sleep(after)
    process.send_signal(kind)
    said = process.communicate(timeout=30)[1]
    if kind == signal.SIGINT and process.returncode != 0:
        check(process.returncode == 130 and "`pipe tpu down mine` gives it back" in said, f"{process.returncode}: {said}")
    tpu(cloud, "down", "mine")
    check(listed(cloud) == {}, f"left after {kind!r} at {after} s")


def refusals(cloud):
    cloud.fault(method="POST", part="nodes", kind="answer", status=429, word="RESOURCE_EXHAUSTED",
                message="Quota limit 'TPUV3sPreemptible' has been exceeded. Limit: 0 in zone us-central1-a.")
    said = up(cloud, "mine", code=1).stderr
    check("Limit: 0 in zone us-central1-a" in said and "ask for more quota of v3-8 in us-central1-a" in said, said)
    cloud.fault(method="POST", part="nodes", kind="drop_after")  # it comes all the same
    up(cloud, "mine")
    check(len(listed(cloud)) == 1, listed(cloud))


def dead_and_late(cloud):
    """`mine` is there."""
    (name,) = listed(cloud)
    check(tpu(cloud, "gc").stdout == "", "gc takes what is in time")
    cloud.ask("preempt", id=name)
    check(tpu(cloud, "gc", "-n").stdout.startswith(f"{name}\tPREEMPTED\t") and listed(cloud), "gc -n deletes")
    check("is of no use any more; it is deleted" in tpu(cloud, "gc").stderr, "gc does not say why")
    check(tpu(cloud, "gc").stdout == "", "gc deletes what is being deleted")
    until(lambda: listed(cloud) == {}, "the dead machine goes")
    tpu(cloud, "down", "mine")
    tpu(cloud, "up", "short", "--type", "v5e-16", "--zones", ZONES, "--for", "3m")
    until(lambda: "is over its time; it is deleted" in tpu(cloud, "gc").stderr, "gc sees the time")
    tpu(cloud, "down", "short")


def two_at_once(cloud):
    first = subprocess.Popen([PIPE, "tpu", "up", "mine", "--type", "v3-8", "--zones", ZONES, "--for", "24h"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(cloud))
    until(lambda: listed(cloud), "the first has begun")
    said = tpu(cloud, "down", "mine", code=2).stderr
    check("process" in said, said)  # it names the process that works there
    first.communicate(timeout=30)
    check(first.returncode == 0, "the first of two")
    tpu(cloud, "down", "mine")


class Metadata(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        good = self.headers["Metadata-Flavor"] == "Google" and self.path.endswith("/service-accounts/default/token")
        self.send_response(200 if good else 404)
        self.end_headers()
        self.wfile.write(json.dumps({"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}).encode())

    def log_message(self, *_):
        pass


def stop_watchdog(deadline):
    """On a machine it ends with the machine."""
    for process in Path("/proc").glob("[0-9]*/environ"):
        try:
            ours = f"PIPE_WATCHDOG_FILE={deadline}".encode() in process.read_bytes().split(b"\0")
        except OSError:
            continue
        if ours and int(process.parent.name) != os.getpid():
            os.kill(int(process.parent.name), signal.SIGKILL)


def gives_itself_back(cloud, place):
    """The script on each machine, with nobody else's help."""
    for kind in ("v3-8", "v5e-16"):
        tpu(cloud, "up", "alone", "--type", kind, "--zones", ZONES, "--for", "2s")
        asked = [line for line in cloud.ask("requests") if line.startswith("POST")][-1]
        body = json.loads(asked.split(" ", 2)[2])
        node = body["tpu"]["nodeSpec"][0]["node"] if "tpu" in body else body
        script = place / "startup.sh"
        script.write_text(node["metadata"]["startup-script"])
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            deadline = place / f"deadline-{kind}"
            began = time.monotonic()
            agent = subprocess.run(["bash", str(script)], timeout=30, check=False, start_new_session=True, env={
                **os.environ, "PIPE_WATCHDOG_API": cloud.url, "PIPE_WATCHDOG_FILE": str(deadline),
                "PIPE_WATCHDOG_METADATA": f"http://127.0.0.1:{server.server_port}"})
            check(agent.returncode == 0 and time.monotonic() - began < 2, "the script does not go on by itself")
            until(lambda: listed(cloud) == {}, "the machine gives itself back")
            server.shutdown()
        stop_watchdog(deadline)
        check(f"DELETE Bearer {TOKEN}" in cloud.ask("tokens"), f"{kind}: no token of the machine: {cloud.ask('tokens')}")
        check(not any(TOKEN in line for line in cloud.ask("requests")), "a token in an address")
        tpu(cloud, "down", "alone")


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        with Cloud() as cloud:
            mistakes(cloud)
            a_life(cloud)
            for kind, after in ((signal.SIGINT, 0.5), (signal.SIGKILL, 0.02), (signal.SIGKILL, 0.1), (signal.SIGKILL, 1)):
                stopped(cloud, kind, after)
            refusals(cloud)
            dead_and_late(cloud)
            two_at_once(cloud)
            gives_itself_back(cloud, Path(directory))
        check(cloud.told == {"left": [], "persons_lost": 0}, cloud.told)
        records = Path(directory, ".pipe/tpu/mine")
        check((records / "000001.json").exists() and (records / "000001.end.json").exists(), sorted(records.iterdir()))
    print("rented, listed, given back; nothing is left, and nobody lost a machine")


if __name__ == "__main__":
    main()
