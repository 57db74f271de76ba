"""Reads bert.json (stages/export/bert/bert.md) and its manifest (dag/books/manifest.md), which describe masked pairs of
sentences."""

from typing import NamedTuple

from .packed_info import PACKED, REMEDY, DataError, Members, Shard, check_sizes, described

BERT, MAKER = "bert.json", "write_bert"
LONGEST, MOST_PREDICTIONS = 1 << 16, 1 << 16  # of a row


class BertInfo(NamedTuple):
    directory: object
    seq_len: int
    predictions: int  # the most masked ids of a row
    tokenizer: dict   # with the id that ends a document as `eos_id`, as packed.json has it
    splits: dict      # name: tuple of packed_info.Shard, without indexes and totals of text
    digest: str       # content root of the manifest


def is_of_write_bert(directory):
    """Returns whether a directory is an artifact of write_bert. If it is none of any stage, the reader of packed rows
    refuses it."""
    return (directory / BERT).is_file() and not (directory / PACKED).is_file()


def read_bert_info(directory, read=None):
    """`read`: the split whose files must be there; None: no file is looked at."""
    directory, info, _, manifest, listed = described(directory, BERT, MAKER)
    path = directory / BERT
    tokenizer = Members(info.get("tokenizer", dict), f"{path}: tokenizer")
    tokenizer.get("model_digest", str)
    tokenizer.file("model")
    vocab = tokenizer.whole("vocab_size", 1, (1 << 31) - 1)
    for name in ("pad_id", "cls_id", "sep_id", "mask_id"):
        tokenizer.whole(name, 0, vocab - 1)
    splits = {}
    for number, shard in enumerate(manifest.get("shards", list)):
        members = Members(shard, f"{directory}/MANIFEST.json: shards[{number}]")
        rows = members.whole("records")
        splits.setdefault(members.get("split", str), []).append(
            (members.whole("number"), Shard(members.file("object"), "", rows, 0, 0, 0, size=members.whole("bytes"))))
    for name, shards in splits.items():
        shards.sort(key=lambda shard: shard[0])
        if [number for number, _ in shards] != list(range(len(shards))):
            raise DataError(f"{directory}/MANIFEST.json: a shard of the split {name!r} is missing{REMEDY}")
    splits = {name: tuple(shard for _, shard in shards) for name, shards in splits.items()}
    check_sizes(directory, listed, splits, read, False)
    facts = {"bos_id": -1, "newline_id": -1, "unk_id": -1, **info.get("tokenizer", dict)}
    return BertInfo(directory, info.whole("max_seq_length", 4, LONGEST),
                    info.whole("max_predictions_per_seq", 1, MOST_PREDICTIONS),
                    {**facts, "eos_id": facts["sep_id"]}, splits, manifest.get("content", str))
