"""Files of a checkpoint of several hosts: who owns a chunk, and which chunks a host needs to restore.
plugins/train/hosts/checkpoints.md."""

import itertools
import json

import jax

STATE = "state"


def owned(like, host, host_of):
    """Returns a function that tells whether a file belongs to the part of this host. A chunk belongs to the lowest
    host with a device that holds it, every other file to host 0."""
    owners = {}
    for array, leaf in leaves(like):
        for device, index in leaf.sharding.devices_indices_map(leaf.shape).items():
            for chunk in chunks_of(index, leaf.shape, leaf.sharding.shard_shape(leaf.shape)):
                name = f"{STATE}/{array}/{chunk}"
                owners[name] = min(owners.get(name, 1 << 30), host_of(device.process_index))
    return lambda name: owners.get(name, 0) == host


def needed(directory, like):
    """Returns the names of the chunks with elements that the devices of this process hold, in the order of the
    arrays. `directory`: the checkpoint, with the `.zarray` of each array; its mesh may have been another one."""
    names = {}
    for array, leaf in leaves(like):
        head = json.loads((directory / STATE / array / ".zarray").read_text())
        if head["shape"] != list(leaf.shape) or head.get("dimension_separator", ".") != ".":
            raise ValueError(f"{directory / STATE / array}: has the shape {head['shape']}, and {list(leaf.shape)} was "
                             f"expected")
        for index in leaf.sharding.addressable_devices_indices_map(leaf.shape).values():
            for chunk in chunks_of(index, leaf.shape, head["chunks"]):
                names[f"{STATE}/{array}/{chunk}"] = None
    return list(names)


def leaves(like):
    """Yields (name of the directory, abstract array), as orbax names them."""
    for path, leaf in jax.tree_util.tree_flatten_with_path(like)[0]:
        yield ".".join(step(key) for key in path), leaf


def step(key):
    for name in ("key", "name", "idx"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def chunks_of(index, shape, chunk):
    """Yields the names of the chunks of this shape that the slices touch."""
    spans = []
    for part, size, width in zip(index, shape, chunk):
        start, stop, _ = part.indices(size)
        spans.append(range(start // width, -(-stop // width)) if width else range(0))
    for numbers in itertools.product(*spans):
        yield ".".join(map(str, numbers)) or "0"
