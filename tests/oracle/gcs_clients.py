#!/usr/bin/env python3
"""Other clients use our fake bucket and read the objects that our store wrote: google-cloud-storage, gcsfs, and
gcloud storage if the machine has it.

    gcs_clients.py FAKE_GCS STORE_COPY
"""

import base64
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

BUCKET = "oracle-bucket"


class Fake:
    """A fake bucket that ends with its scope."""

    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, "--directory", str(directory), "--bucket", BUCKET],
                                        stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.counts = json.loads(self.process.communicate(timeout=60)[0])


def contents():
    """Names and bytes that reveal a shift or a gap, with sizes around every border."""
    rng = random.Random(5)
    sizes = {"empty": 0, "one": 1, "dir/small": 1000, "dir/名前 with space": 70_000, "dir/deep/quantum": 256 << 10,
             "threshold": 8 << 20, "above": (8 << 20) + 1, "large": 20_000_003}
    return {name: rng.randbytes(size) for name, size in sizes.items()}


def check(condition, what):
    if not condition:
        sys.exit(f"gcs_clients: {what}")


def with_google(fake, objects):
    """The official client: writes, reads, lists, composes, copies and deletes objects under `google/`."""
    import google_crc32c
    from google.api_core.exceptions import NotFound, PreconditionFailed
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage
    from google.cloud.storage.retry import DEFAULT_RETRY

    def client(**more):
        return storage.Client(project="p", credentials=AnonymousCredentials(),
                              client_options={"api_endpoint": fake.url}, **more)

    bucket = client().bucket(BUCKET)
    check(client().get_bucket(BUCKET).location == "US-CENTRAL1", "the bucket has no location")
    for name, data in objects.items():
        blob = bucket.blob(f"google/{name}", chunk_size=1 << 20 if len(data) > 1 << 20 else None)
        blob.upload_from_string(data, if_generation_match=0, checksum="crc32c")
        crc = base64.b64encode(struct.pack(">I", google_crc32c.value(data))).decode()
        check(blob.crc32c == crc and blob.size == len(data), f"google/{name}: the resource is not what was sent")

    # A resumable upload that breaks in the middle, and one whose session begins with a failure.
    for number, words in enumerate((["return-503-after-3000K"], ["return-503"], ["return-503", "return-408"])):
        test = client()._http.post(f"{fake.url}/retry_test",
                                   json={"instructions": {"storage.objects.insert": words}}).json()
        flaky = client(extra_headers={"x-retry-test-id": test["id"]}).bucket(BUCKET)
        blob = flaky.blob(f"google/flaky-{number}", chunk_size=4 << 20)
        blob.upload_from_string(objects["large"], if_generation_match=0, retry=DEFAULT_RETRY)
        check(client()._http.get(f"{fake.url}/retry_test/{test['id']}").json()["completed"], f"{words}: did not strike")
        check(blob.download_as_bytes() == objects["large"], f"google/flaky-{number}: other bytes after {words}")

    for name, data in objects.items():
        blob = bucket.get_blob(f"google/{name}")
        check(blob.download_as_bytes(checksum="auto") == data, f"google/{name}: other bytes")
        if len(data) > 100:
            check(blob.download_as_bytes(start=7, end=42, checksum=None) == data[7:43], f"google/{name}: other range")

    names = sorted(f"google/{name}" for name in objects if name.startswith("dir/"))
    check([blob.name for blob in bucket.list_blobs(prefix="google/dir/", page_size=1)] == names, "other names listed")
    listing = bucket.list_blobs(prefix="google/dir/", delimiter="/", page_size=2)
    check(len(list(listing)) == 2 and listing.prefixes == {"google/dir/deep/"}, "other prefixes listed")

    joined = bucket.blob("google/joined")
    joined.compose([bucket.blob("google/one"), bucket.blob("google/dir/small")], if_generation_match=0)
    check(joined.component_count == 2, "a composed object has no count of its parts")
    check(joined.download_as_bytes() == objects["one"] + objects["dir/small"], "parts were joined into other bytes")
    copied = bucket.blob("google/copied")
    copied.rewrite(bucket.blob("google/large"), if_generation_match=0)
    check(copied.download_as_bytes() == objects["large"], "a copy has other bytes")
    for break_it, kind in ((lambda: joined.upload_from_string(b"x", if_generation_match=0), PreconditionFailed),
                           (lambda: bucket.blob("google/joined").delete(if_generation_match=7), PreconditionFailed),
                           (lambda: bucket.blob("google/absent").delete(), NotFound)):
        try:
            break_it()
            sys.exit(f"gcs_clients: no {kind.__name__}")
        except kind:
            pass
    for name in ("joined", "copied", "flaky-0", "flaky-1", "flaky-2"):
        bucket.blob(f"google/{name}").delete()
    with_batches(client, bucket)
    return bucket


def with_batches(client, bucket):
    """The official client deletes several objects in one request, and is told of each of them."""
    from google.api_core.exceptions import PreconditionFailed
    names = ("a b", "dir/名前", "%2F", "x" * 300)
    blobs = [bucket.blob(f"batch/{name}") for name in names]
    for blob in blobs:
        blob.upload_from_string(b"x", if_generation_match=0)
    replaced, gone = blobs[1], bucket.blob("batch/gone")
    one = client()
    with one.batch(raise_exception=False) as batch:
        for blob in (*blobs, gone):
            one.bucket(BUCKET).blob(blob.name).delete(
                if_generation_match=7 if blob is replaced else blob.generation)
    statuses = [answer.status_code for answer in batch._responses]
    check(statuses == [204, 412, 204, 204, 404], f"a batch was answered with {statuses}")
    check([blob.name for blob in bucket.list_blobs(prefix="batch/")] == [replaced.name], "a batch removed other objects")
    try:
        with one.batch():
            one.bucket(BUCKET).blob(replaced.name).delete(if_generation_match=7)
        sys.exit("gcs_clients: no PreconditionFailed in a batch")
    except PreconditionFailed as error:
        check("pre-conditions" in str(error), f"a part of a batch has another message: {error}")
    with one.batch():
        one.bucket(BUCKET).blob(replaced.name).delete()
    check(not list(bucket.list_blobs(prefix="batch/")), "a batch left an object")


def with_gcsfs(fake, objects):
    """The file system that data frames use: writes under `gcsfs/`."""
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # otherwise it asks for the kind of the bucket by gRPC
    import gcsfs
    fs = gcsfs.GCSFileSystem(project="p", token="anon", endpoint_url=fake.url, cache_timeout=0)
    for name, data in objects.items():
        with fs.open(f"{BUCKET}/gcsfs/{name}", "wb", block_size=5 << 20) as file:
            file.write(data)
    fs.invalidate_cache()
    for name, data in objects.items():
        check(fs.cat_file(f"{BUCKET}/gcsfs/{name}") == data, f"gcsfs/{name}: other bytes")
        if len(data) > 100:
            check(fs.cat_file(f"{BUCKET}/gcsfs/{name}", start=7, end=43) == data[7:43], f"gcsfs/{name}: other range")
    check(sorted(fs.find(f"{BUCKET}/gcsfs")) == sorted(f"{BUCKET}/gcsfs/{name}" for name in objects), "other names found")
    check(len(fs.ls(f"{BUCKET}/gcsfs/dir")) == 3, "a directory has other entries")
    return fs


def with_gcloud(fake, objects, scratch):
    """The command line, if the machine has it: writes under `gcloud/`; returns the names that it wrote."""
    if shutil.which("gcloud") is None:
        print("gcloud is not on this machine: left out")
        return ()
    environment = dict(os.environ, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=f"{fake.url}/storage/v1/",
                       CLOUDSDK_AUTH_DISABLE_CREDENTIALS="true", CLOUDSDK_CONFIG=str(scratch / "gcloud"),
                       CLOUDSDK_CORE_DISABLE_PROMPTS="1", CLOUDSDK_CORE_PROJECT="p",
                       CLOUDSDK_CORE_CHECK_GCE_METADATA="false", CLOUDSDK_CORE_DISABLE_USAGE_REPORTING="true",
                       CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK="true")
    names = ("one", "large")
    (scratch / "up").mkdir()
    (scratch / "down").mkdir()
    for name in names:
        (scratch / "up" / name).write_bytes(objects[name])
    for arguments in (("cp", "-n", *(scratch / "up" / name for name in names), f"gs://{BUCKET}/gcloud/"),
                      ("cp", *(f"gs://{BUCKET}/ours/{name}" for name in names), f"{scratch}/down/")):
        done = subprocess.run(["gcloud", "storage", *map(str, arguments)], env=environment, capture_output=True,
                              text=True, check=False)
        check(done.returncode == 0, f"gcloud storage {arguments[0]}: {done.stderr[-2000:]}")
    for name in names:
        check((scratch / "down" / name).read_bytes() == objects[name], f"gcloud read other bytes of ours/{name}")
    return names


def copy(program, fake, source, target, scratch):
    environment = dict(os.environ, STORAGE_EMULATOR_HOST=fake.url)
    done = subprocess.run([program, str(source), str(target), str(scratch / "spool")], env=environment,
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"store_copy {source} {target}: {done.stderr}")


def main(fake_program, copy_program):
    objects = contents()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        for path, data in objects.items():
            (scratch / "local" / path).parent.mkdir(parents=True, exist_ok=True)
            (scratch / "local" / path).write_bytes(data)
        with Fake(fake_program, scratch / "bucket") as fake:
            copy(copy_program, fake, scratch / "local", f"gs://{BUCKET}/ours", scratch)
            bucket = with_google(fake, objects)
            fs = with_gcsfs(fake, objects)
            written = {"google": objects, "gcsfs": objects, "gcloud": with_gcloud(fake, objects, scratch)}
            for path, data in objects.items():
                check(bucket.blob(f"ours/{path}").download_as_bytes() == data, f"ours/{path}: google reads other bytes")
                check(fs.cat_file(f"{BUCKET}/ours/{path}") == data, f"ours/{path}: gcsfs reads other bytes")
            for theirs, names in written.items():
                copy(copy_program, fake, f"gs://{BUCKET}/{theirs}", scratch / theirs, scratch)
                for path in names:
                    check((scratch / theirs / path).read_bytes() == objects[path], f"{theirs}/{path}: we read other bytes")
    check(fake.counts["overwritten"] == 0, f"objects were overwritten: {fake.counts}")
    print(f"{len(objects)} objects by each client, read by all: {json.dumps(fake.counts)}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
