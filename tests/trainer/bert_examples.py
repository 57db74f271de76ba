"""Writes a directory of write_bert (stages/export/bert/bert.md) in plain Python, for tests of its reader."""

import json
import struct
from pathlib import Path

import numpy as np
from packed_rows import crc32c, feature, frame, sub

PAD, UNK, CLS, SEP, MASK = range(5)
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def pair_of(first, second, masked, random):
    """An example: `masked` are the places of ids that are hidden, of [CLS] first [SEP] second [SEP]."""
    ids = [CLS, *first, SEP, *second, SEP]
    hidden = [ids[place] for place in masked]
    for place in masked:
        ids[place] = MASK
    return {"ids": ids, "second": len(first) + 2, "places": list(masked), "hidden": hidden, "random": random}


def lists_of(pair, seq_len, predictions):
    """The features of an example, by name."""
    size, masked = len(pair["ids"]), len(pair["places"])

    def filled(values, width):
        return [*values, *[0] * (width - len(values))]
    return {"input_ids": filled(pair["ids"], seq_len), "input_mask": filled([1] * size, seq_len),
            "masked_lm_ids": filled(pair["hidden"], predictions), "masked_lm_positions": filled(pair["places"], predictions),
            "masked_lm_weights": [float(slot < masked) for slot in range(predictions)], "next_sentence_labels": [pair["random"]],
            "segment_ids": filled([0] * pair["second"] + [1] * (size - pair["second"]), seq_len)}


def example_of(lists):
    def entry(name, values):
        if not isinstance(values[0], float):
            return feature(name.encode(), values)
        numbers = sub(0x12, sub(0x0A, struct.pack(f"<{len(values)}f", *values)))
        return sub(0x0A, sub(0x0A, name.encode()) + sub(0x12, numbers))
    return sub(0x0A, b"".join(entry(name, values) for name, values in sorted(lists.items())))


def write_bert(directory, splits, seq_len, predictions, vocab, change=lambda lists: None):
    """`splits`: {name: [pairs of one shard, of the next, …]}; `vocab`: the pieces behind SPECIAL. `change` may change
    the features of each example."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    pieces = SPECIAL + vocab
    tokenizer = {"bos_id": -1, "eos_id": -1, "newline_id": -1, "pad_id": PAD, "unk_id": UNK, "cls_id": CLS, "sep_id": SEP,
                 "mask_id": MASK, "layout": "bert", "model": "vocab.txt", "model_digest": "1" * 32, "vocab_size": len(pieces)}
    info = {"max_seq_length": seq_len, "max_predictions_per_seq": predictions, "instances": {}, "tokenizer": tokenizer}
    (directory / "bert.json").write_text(json.dumps(info))
    (directory / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    shards = []
    for split, parts in splits.items():
        for number, pairs in enumerate(parts):
            name = f"{split}-{number:05}-of-{len(parts):05}.tfrecord"
            data = bytearray()
            for pair in pairs:
                lists = lists_of(pair, seq_len, predictions)
                change(lists)
                data += frame(example_of(lists))
            (directory / name).write_bytes(data)
            shards.append({"object": name, "split": split, "number": number, "records": len(pairs)})
    seal(directory, shards)
    return directory


def seal(directory, shards):
    def entry(name):
        data = (directory / name).read_bytes()
        return {"object": name, "bytes": len(data), "crc32c": f"{crc32c(data):08x}"}
    manifest = {"pipe_manifest": 1, "shards": [{**shard, **entry(shard["object"])} for shard in shards],
                "sidecars": [entry("bert.json"), entry("vocab.txt")]}
    manifest["content"] = f"{crc32c(json.dumps(manifest).encode()):032x}"
    (directory / "MANIFEST.json").write_text(json.dumps(manifest))


def easy_pairs(count, kinds, seed=0):
    """Pairs that a small model learns: all ids of a segment are the same, and the second segment has another id if it
    does not follow. `kinds`: the number of ids of text."""
    make, found = np.random.default_rng(seed), []
    for number in range(count):
        random, sizes = number % 2, make.integers(3, 8, 2)
        first = int(make.integers(kinds))
        second = (first + int(make.integers(1, kinds))) % kinds if random else first
        places = [int(make.integers(1, sizes[0] + 1)), int(sizes[0] + 2 + make.integers(sizes[1]))]
        found.append(pair_of([len(SPECIAL) + first] * sizes[0], [len(SPECIAL) + second] * sizes[1], places, random))
    return found
