#!/usr/bin/env python3
"""Unpacks a container image of packaging/image.py as an engine does, and checks each digest and size on the way.

    unpack_image.py FILE.oci.tar DIRECTORY
"""

import hashlib
import io
import json
import sys
import tarfile
import zlib
from pathlib import Path


def main(file, directory):
    with tarfile.open(file) as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}

    def blob(descriptor):
        data = files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == descriptor["digest"], descriptor
        assert len(data) == descriptor["size"], descriptor
        return data

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    index = json.loads(files["index.json"])
    manifest = json.loads(blob(index["manifests"][0]))
    config = json.loads(blob(manifest["config"]))
    Path(directory).mkdir(parents=True)
    for layer, diff in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        data = zlib.decompress(blob(layer), 31)
        assert f"sha256:{hashlib.sha256(data).hexdigest()}" == diff, layer
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            tar.extractall(directory, numeric_owner=True)
    print(config["architecture"], *config["config"]["Cmd"])


if __name__ == "__main__":
    main(*sys.argv[1:])
