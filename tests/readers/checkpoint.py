#!/usr/bin/env python3
"""Reads a checkpoint by its marker, by plugins/train/CONTRACT.md (10, 11) and plugins/train/hosts/checkpoints.md.

    checkpoint.py MARKER        such as RUN/checkpoints/20.json, or RUN/checkpoints/20/91e70ef655664d61.json

It needs numpy, and tensorstore for a checkpoint of one host; the Python environment of the trainer has both.
"""

import itertools
import json
import sys
from pathlib import Path

import numpy as np

import xxh3
from checksums import crc32c
from cursor import wants
from zstd import decompressed


def name_of(value):
    return xxh3.digest(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode())[:16]


def files_of(marker_path, marker):
    """{name: (path, bytes, crc32c)}, and the directory of a checkpoint of one host."""
    wants("unfinished" not in marker, "this checkpoint was never finished")
    here = marker_path.with_suffix("")  # beside STEP.json, or beside STEP/ID.json
    if marker["pipe_checkpoint"] == 1:
        in_bucket = here.name != str(marker["step"])
        wants(not in_bucket or name_of(marker["files"]) == here.name, "the marker has the name of another checkpoint")
        parts = [(here, marker["files"])]
    else:
        wants(marker["pipe_checkpoint"] == 2 and "parts" in marker, "a part of a host, or another version")
        parts = [(here.with_name(part["digest"]), part["files"]) for part in marker["parts"]]
        wants(all(name_of(files) == place.name for place, files in parts), "a part has the name of another one")
        digests = [{"digest": part["digest"], "host": part["host"]} for part in marker["parts"]]
        wants(name_of(digests) == here.name, "the marker has the name of another checkpoint")
    return {file["name"]: (place / file["name"], file["bytes"], file["crc32c"])
            for place, files in parts for file in files}


def checked(name, path, size, crc):
    wants(path.is_file(), f"{name}: is gone")
    data = path.read_bytes()
    wants(len(data) == size, f"{name}: {len(data)} bytes, not {size}")
    wants(f"{crc32c(data):08x}" == crc, f"{name}: another CRC-32C")
    return data


def zarr_array(name, files):
    """An array of several hosts: a file for each chunk."""
    about = json.loads(files[f"state/{name}/.zarray"])
    shape, chunks, kind = about["shape"], about["chunks"], np.dtype(about["dtype"])
    wants((about["zarr_format"], about["compressor"]["id"], about["order"]) == (2, "zstd", "C"), f"{name}: {about}")
    array, size = np.empty(shape, kind), kind.itemsize * int(np.prod(chunks))
    for place in itertools.product(*(range(-(-whole // part)) for whole, part in zip(shape, chunks))):
        file = f"state/{name}/{about['dimension_separator'].join(map(str, place)) or '0'}"
        wants(file in files, f"{file}: is gone")
        chunk = np.frombuffer(decompressed(files[file], size), kind).reshape(chunks)
        where = tuple(slice(at * part, min((at + 1) * part, whole)) for at, part, whole in zip(place, chunks, shape))
        array[where] = chunk[tuple(slice(0, one.stop - one.start) for one in where)]
    return array


def stored_arrays(state):
    """{name: array} of one host: the same arrays in OCDBT, a format of tensorstore."""
    import tensorstore

    base = {"driver": "ocdbt", "base": f"file://{state.absolute()}/"}
    names = [key.decode().removesuffix("/.zarray") for key in tensorstore.KvStore.open(base).result().list().result()
             if key.endswith(b"/.zarray")]
    return {name: tensorstore.open({"driver": "zarr", "kvstore": {**base, "path": f"{name}/"}}).result().read().result()
            for name in names}


def read(marker_path):
    """(step, facts, {name: array})."""
    marker = json.loads(Path(marker_path).read_text(encoding="utf-8"))
    places = files_of(Path(marker_path), marker)
    files = {name: checked(name, *place) for name, place in places.items()}
    facts = json.loads(files["facts/metadata"])
    if "state/manifest.ocdbt" in files:
        arrays = stored_arrays(places["state/manifest.ocdbt"][0].parent)
    else:
        names = [name.split("/")[1] for name in files if name.endswith("/.zarray")]
        arrays = {name: zarr_array(name, files) for name in names}
    wants(int(arrays["step"]) == marker["step"], f"the arrays are of step {arrays['step']}")
    return marker["step"], facts, arrays


if __name__ == "__main__":
    step, facts, arrays = read(sys.argv[1])
    print(f"step {step}, sample {facts['samples_consumed']}")
    for name, array in sorted(arrays.items()):
        print(name, array.shape, array.dtype)
