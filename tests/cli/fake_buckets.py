"""Runs the program fake_gcs of tests/support, for scripts that use buckets."""

import base64
import hashlib
import http.client
import json
import os
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from pipe_run import fail

BUCKET = "shelf"


class FakeBuckets:
    """Buckets on loopback; at the end of the scope, `told` has the program's report."""

    def __init__(self, program, directory, *options):
        self.process = subprocess.Popen([program, "--directory", str(directory), *options], stdout=subprocess.PIPE,
                                        text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]
        self.token = ""  # for requests of the test itself
        self.told = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.told = self.process.communicate(timeout=20)[0].strip()

    def ask(self, path, data=None, method=None):
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.read()

    def make(self, name, denied=(), **properties):
        """Makes a bucket with properties as in the API; replaces one of the same name."""
        resource = {"name": name, "denied": list(denied), **properties}
        self.ask("/storage/v1/b", json.dumps(resource).encode())

    def fault(self, operation, word):
        """Adds a fault for the next request of this operation."""
        self.ask("/fake/faults", json.dumps({operation: [word]}).encode())

    def slow(self, part, milliseconds):
        """An object whose name contains `part` takes so much longer to be made from now on; "": none does."""
        self.ask(f"/fake/slow?part={urllib.parse.quote(part, safe='')}&ms={milliseconds}")

    def put(self, bucket, name, data):
        name = urllib.parse.quote(name, safe="")
        self.ask(f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}", data)

    def get(self, bucket, name):
        return self.ask(f"/storage/v1/b/{bucket}/o/{urllib.parse.quote(name, safe='')}?alt=media")

    def items(self, bucket, prefix=""):
        """{name: resource}"""
        found, token, prefix = {}, "", urllib.parse.quote(prefix, safe="")
        while token is not None:
            page = json.loads(self.ask(f"/storage/v1/b/{bucket}/o?maxResults=1000&prefix={prefix}&pageToken={token}"))
            found.update((item["name"], item) for item in page.get("items", []))
            token = page.get("nextPageToken")
        return found

    def counts(self):
        return json.loads(self.ask("/fake/counts"))

    def secrets(self):
        """The tokens that clients sent, and the ids of upload sessions that the buckets returned."""
        told = json.loads(self.ask("/fake/secrets"))
        return told["tokens"], told["sessions"]

    def emulator(self):
        """The environment of a client without credentials."""
        return {**plain_environment(), "STORAGE_EMULATOR_HOST": self.url}

    def service(self, **more):
        """The environment of a client with credentials."""
        return {**plain_environment(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": self.url, "NO_GCE_CHECK": "true",
                **more}


class FakeBucket(FakeBuckets):
    """One bucket, with a seeded plan of faults if `options` name one."""

    def __init__(self, program, directory, *options):
        super().__init__(program, directory, "--bucket", BUCKET, *options)

    def objects(self):
        """{name: (generation, bytes)}, requested as by a client; after a fault the request is repeated."""
        found, token = {}, ""
        while token is not None:
            page = json.loads(self.asked(f"/storage/v1/b/{BUCKET}/o?maxResults=1000&pageToken={token}"))
            for item in page.get("items", []):
                name = urllib.parse.quote(item["name"], safe="")
                data = self.asked(f"/storage/v1/b/{BUCKET}/o/{name}?alt=media", item["md5Hash"])
                found[item["name"]] = (item["generation"], data)
            token = page.get("nextPageToken")
        return found

    def remove(self, name):
        """Deletes an object, as a person who cleans up does."""
        self.asked(f"/storage/v1/b/{BUCKET}/o/{urllib.parse.quote(name, safe='')}", method="DELETE")

    def asked(self, path, md5=None, method=None):
        for _ in range(20):
            try:
                data = self.ask(path, method=method)
            except urllib.error.HTTPError as refused:
                if method == "DELETE" and refused.code == 404:  # the response to the request before was lost
                    return b""
            except (OSError, http.client.HTTPException):
                pass
            else:
                if md5 in (None, base64.b64encode(hashlib.md5(data).digest()).decode()):
                    return data
        return fail(f"{path}: the fake bucket does not answer")


def plain_environment():
    """This process's environment, without variables that name credentials or endpoints."""
    told = ("PIPE_", "GOOGLE_", "CLOUDSDK_", "GCE_", "STORAGE_", "NO_GCE")
    return {name: value for name, value in os.environ.items() if not name.startswith(told)}
