"""Writes a directory of packed rows (stages/export/packed/packed.md) in plain Python, for tests of their readers."""

import json
import struct
from pathlib import Path

CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def sub(tag, data):
    return bytes([tag]) + varint(len(data)) + data


def feature(name, numbers):
    values = b"".join(varint(number) for number in numbers)
    return sub(0x0A, sub(0x0A, name) + sub(0x12, sub(0x1A, sub(0x0A, values))))


def example(ids, name=b"tokens", weights=None):
    return sub(0x0A, feature(name, ids) + (b"" if weights is None else feature(b"weights", weights)))


def frame(data):
    size = struct.pack("<Q", len(data))
    return size + masked(size) + data + masked(data)


ID_BYTES = {"example": 0, "raw16": 2, "raw32": 4}


def row_of(ids, encoding, weights=None):
    width = ID_BYTES[encoding]
    return b"".join(id_.to_bytes(width, "little") for id_ in ids) if width else frame(example(ids, weights=weights))


def write_shard(directory, name, rows, facts=None, encoding="example"):
    """Returns the entry of packed.json. A row is (ids, length, bytes, chars), or has its weights behind them."""
    object_, index_ = (f"{name}.tfrecord", f"{name}.idx") if encoding == "example" else (f"{name}.bin", f"{name}.rows")
    shard, index = bytearray(), bytearray()
    for ids, length, size, chars, *weights in rows:
        index += struct.pack("<QIII", len(shard), length, size, chars)
        shard += row_of(ids, encoding, *weights)
    (directory / object_).write_bytes(shard)
    (directory / index_).write_bytes(index)
    tokens = sum(row[1] for row in rows)
    return {"object": object_, "index": index_, "rows": len(rows), "tokens": tokens,
            "targets": tokens - len(rows), "bytes": sum(row[2] for row in rows),
            "chars": sum(row[3] for row in rows), **(facts or {}),
            **({"scored": sum(sum(row[4]) for row in rows)} if rows and len(rows[0]) > 4 else {})}


def write_manifest(directory):
    """Writes a manifest that names every other file of the directory, with the fields that the trainer reads."""
    entries = {"shards": [], "sidecars": []}
    for path in sorted(directory.iterdir()):
        if path.name != "MANIFEST.json":
            data = path.read_bytes()
            kind = "shards" if path.suffix in (".tfrecord", ".bin") else "sidecars"
            entries[kind].append({"object": path.name, "bytes": len(data), "crc32c": f"{crc32c(data):08x}"})
    content = f"{crc32c(json.dumps(entries).encode()):032x}"
    (directory / "MANIFEST.json").write_text(json.dumps({"pipe_manifest": 1, "content": content, **entries}))


def write_packed(directory, splits, seq_len, vocab_size, model=b"no model", ids=None, encoding="example",
                 weights=False, labels=None):
    """`splits`: {name: [rows of one shard, rows of the next, ...]}. `weights`: every row has them. `labels`: the member
    of packed.json."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = {"bos_id": 1, "eos_id": 2, "layout": "pipe", "model": "tokenizer.model", "newline_id": 4,
                 "model_digest": "0" * 32, "pad_id": 0, "unk_id": 3, "vocab_size": vocab_size, **(ids or {})}
    info = {"pipe_packed": 1, "dtype": "int64", "feature": "tokens", "fill_id": 0, "seq_len": seq_len,
            "splits": {}, "tokenizer": tokenizer}
    if encoding != "example":
        info.update(pipe_packed=2, encoding=encoding, dtype=f"uint{8 * ID_BYTES[encoding]}")
        del info["feature"]
    if weights:
        info.update(pipe_packed=3, weights=True)
    if labels is not None:
        info["labels"] = labels
    for name, shards in splits.items():
        entries = [write_shard(directory, f"{name}-{number:05}-of-{len(shards):05}", rows, encoding=encoding)
                   for number, rows in enumerate(shards)]
        for entry in entries if weights else ():
            entry.setdefault("scored", 0)  # of a shard without rows
        totals = {key: sum(entry[key] for entry in entries)
                  for key in ("rows", "tokens", "targets", "bytes", "chars", *(["scored"] if weights else []))}
        info["splits"][name] = {**totals, "left_out": 0, "shards": entries}
    (directory / "tokenizer.model").write_bytes(model)
    (directory / "packed.json").write_text(json.dumps(info))
    write_manifest(directory)
    return directory


def stream_rows(ids, seq_len, fill=0):
    """Rows from a stream of ids; each target counts as three bytes and one character."""
    for at in range(0, len(ids) - 1, seq_len):
        row = list(ids[at:at + seq_len + 1])
        targets = len(row) - 1
        yield row + [fill] * (seq_len - targets), len(row), 3 * targets, targets
