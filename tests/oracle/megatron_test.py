#!/usr/bin/env python3
"""Documents for Megatron-LM: the files have the bytes of its builder, and its samples are those of the text.

    megatron_test.py PIPE

The documents are made from the text a second time. Files and samples of fixed documents were made by megatron-core
itself (megatron_documents.py); gpt_dataset_test.py runs it.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import compare_packed
import megatron_documents as made
import numpy as np
from gpt_samples import GptSamples
from packed_readers import MegatronIndexed
from program import ran, told


def expected(text, model, special):
    """(ids with eos, bytes, characters) of each document of each split, in the order of the text."""
    rule = compare_packed.SplitRule([("train", "rest"), ("validation", "0.1")])
    documents = {name: [] for name in rule.names}
    for key, lines in compare_packed.documents(text, "nfkc"):
        if lines:
            stream = compare_packed.Stream(special["eos_id"])
            compare_packed.add_document(stream, lines, model, special)
            documents[rule.of(key)].append((stream.ids[1:], sum(stream.bytes), sum(stream.chars)))
    return documents


def check_the_oracle():
    documents = made.fixed_documents()
    for dtype, digest in made.BUILT.items():
        if made.digest(*made.built(documents, dtype)) != digest:
            yield f"{dtype}: other bytes than IndexedDatasetBuilder wrote"
    for seq_length, digest in made.TAKEN.items():
        samples = GptSamples(documents, list(map(len, documents)), seq_length, made.SAMPLES, made.SEED)
        if made.digest_of_samples(samples, made.SAMPLES) != digest:
            yield f"{seq_length}: other samples than GPTDataset gave"


def check_files(directory, info, wanted, ordered):
    """The files of each split against the documents of the text."""
    for name, split in info["splits"].items():
        found, files = [], []
        for shard in split["shards"]:
            prefix = str(directory / shard["object"])[:-len(".bin")]
            documents = [document.tolist() for document in MegatronIndexed(prefix)]
            if (len(documents), sum(map(len, documents))) != (shard["documents"], shard["tokens"]):
                yield f"{prefix}: packed.json has other numbers of documents and tokens"
            files.append((prefix, documents))
            found += documents
        ids = [document for document, _, _ in wanted[name]]
        if (found if ordered else sorted(found)) != (ids if ordered else sorted(ids)):
            yield f"{directory.name}/{name}: other documents than the text has"
        totals = {"documents": len(ids), "tokens": sum(map(len, ids)),
                  "bytes": sum(size for _, size, _ in wanted[name]),
                  "chars": sum(count for _, _, count in wanted[name])}
        yield from (f"{directory.name}/{name}: {split[key]} {key}, the text has {value}"
                    for key, value in totals.items() if split[key] != value)
        for prefix, documents in files:
            wrote = tuple(Path(prefix + suffix).read_bytes() for suffix in (".bin", ".idx"))
            if wrote != made.built(documents, info["dtype"]):
                yield f"{prefix}: other bytes than IndexedDatasetBuilder writes"


def check_samples(prefix, documents):
    """The samples from the files against those of the text, over several epochs."""
    read, lengths = MegatronIndexed(prefix), list(map(len, documents))
    for seq_length in made.SEQ_LENGTHS:
        samples = GptSamples(read, read.lengths, seq_length, made.SAMPLES, made.SEED)
        wanted = GptSamples(documents, lengths, seq_length, made.SAMPLES, made.SEED)
        equal = sum(np.array_equal(samples[at], wanted[at]) for at in range(made.SAMPLES))
        print(f"sequences of {seq_length}: {equal} of {made.SAMPLES} samples are those of the text")
        if equal != made.SAMPLES:
            yield f"sequences of {seq_length}: {made.SAMPLES - equal} other samples"


def main(pipe):
    import sentencepiece

    problems = list(check_the_oracle())
    with tempfile.TemporaryDirectory() as place:
        text = Path(place) / "corpus.txt"
        text.write_text(made.corpus(seed=4), encoding="utf-8")
        root = made.published(pipe, place, text)
        info = json.loads((root / "ordered" / "packed.json").read_text())
        model = sentencepiece.SentencePieceProcessor(model_file=str(root / "ordered" / info["tokenizer"]["model"]))
        wanted = expected(text, model, info["tokenizer"])
        for name in made.ARTIFACTS:
            info = json.loads((root / name / "packed.json").read_text())
            problems += check_files(root / name, info, wanted, name != "shuffled")
            shown = ran(pipe, "cat", root / name).splitlines()
            if sorted(shown) != sorted(" ".join(map(str, ids)) for split in wanted.values() for ids, _, _ in split):
                problems.append(f"pipe cat {name}: other documents")
        prefix = str(root / "ordered/train/train-00000-of-00001")
        problems += check_samples(prefix, [ids for ids, _, _ in wanted["train"]])
    return told(problems, f"{sum(map(len, wanted.values()))} documents, in {len(made.ARTIFACTS)} forms")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
