#!/usr/bin/env python3
"""megatron-core itself, on the torch of Debian: its IndexedDatasetBuilder writes the bytes of `packing: documents`, and
its GPTDataset takes the samples of gpt_samples.py from them.

    gpt_dataset_test.py PIPE [PREFIX...]

With PREFIX, names of pairs of files without their suffix, only their samples are compared. The package's own
__init__ imports models, which need a newer torch; so the modules of its datasets are loaded without it, and without the
function that logs on one of many hosts.
"""

import importlib
import importlib.util
import json
import logging
import sys
import tempfile
import types
from pathlib import Path

sys.dont_write_bytecode = True
import megatron_documents as made
import numpy as np
from gpt_samples import GptSamples
from program import told


def load_megatron():
    """(IndexedDataset module, GPTDataset module, Split) of megatron-core."""
    core = types.ModuleType("megatron.core")
    core.__path__ = list(importlib.util.find_spec("megatron").submodule_search_locations)
    core.__path__ = [f"{path}/core" for path in core.__path__]
    utils = types.ModuleType("megatron.core.utils")
    utils.log_single_rank = lambda logger, *words, **_: logger.log(*words)
    sys.modules.update({"megatron.core": core, "megatron.core.utils": utils})
    logging.disable(logging.WARNING)
    return (importlib.import_module("megatron.core.datasets.indexed_dataset"),
            importlib.import_module("megatron.core.datasets.gpt_dataset"),
            importlib.import_module("megatron.core.datasets.utils").Split)


def build(indexed, prefix, documents, dtype):
    """Writes the files of these documents with megatron-core; returns their bytes."""
    import torch

    builder = indexed.IndexedDatasetBuilder(f"{prefix}.bin", dtype=getattr(np, dtype))
    for document in documents:
        builder.add_document(torch.tensor(document, dtype=torch.int64), [len(document)])
    builder.finalize(f"{prefix}.idx")
    return tuple(Path(f"{prefix}{suffix}").read_bytes() for suffix in (".bin", ".idx"))


class Taken:
    """The ids of samples of GPTDataset: those that a model sees, and the last target."""

    def __init__(self, gpt, split, dataset, seq_length, cache):
        tokenizer = types.SimpleNamespace(eod=2, eos=2, pad=-1, vocab_size=1000, unique_identifiers={})
        config = gpt.GPTDatasetConfig(
            random_seed=made.SEED, sequence_length=seq_length, path_to_cache=str(cache), tokenizer=tokenizer,
            reset_position_ids=False, reset_attention_mask=False, eod_mask_loss=False, create_attention_mask=False)
        indices = np.arange(len(dataset), dtype=np.int32)
        self.dataset = gpt.GPTDataset(dataset, dataset.path_prefix, indices, made.SAMPLES, split.train, config)

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, at):
        sample = self.dataset[at]
        return np.concatenate([sample["tokens"].numpy(), sample["labels"].numpy()[-1:]])


def check_samples(megatron, prefix, place):
    """The first samples of GPTDataset against those of the oracle."""
    indexed, gpt, split = megatron
    dataset = indexed.IndexedDataset(prefix)
    documents = [dataset[at] for at in range(len(dataset))]
    for seq_length in made.SEQ_LENGTHS:
        taken = Taken(gpt, split, dataset, seq_length, place / f"cache-{seq_length}")
        wanted = GptSamples(documents, list(map(len, documents)), seq_length, made.SAMPLES, made.SEED)
        equal = sum(np.array_equal(taken[at], wanted[at]) for at in range(made.SAMPLES))
        print(f"{Path(prefix).name}: sequences of {seq_length}: {equal} of {made.SAMPLES} samples equal the oracle")
        if equal != made.SAMPLES or len(taken) != len(wanted):
            yield f"{prefix}: sequences of {seq_length}: {made.SAMPLES - equal} other samples, {len(taken)} in all"


def check_fixed(megatron, place):
    """The digests that megatron_test.py holds files and samples against."""
    indexed, gpt, split = megatron
    documents = made.fixed_documents()
    for dtype, digest in made.BUILT.items():
        found = made.digest(*build(indexed, place / dtype, documents, dtype))
        if found != digest:
            yield f"IndexedDatasetBuilder, {dtype}: {found}"
    dataset = indexed.IndexedDataset(str(place / "uint16"))
    for seq_length, digest in made.TAKEN.items():
        taken = Taken(gpt, split, dataset, seq_length, place / f"fixed-{seq_length}")
        found = made.digest_of_samples(taken, made.SAMPLES)
        if found != digest:
            yield f"GPTDataset, sequences of {seq_length}: {found}"


def check_builder(megatron, root, place):
    """The builder's files of the documents of the text against those of the stage."""
    for name in made.ARTIFACTS:
        info = json.loads((root / name / "packed.json").read_text())
        for shard in (shard for split in info["splits"].values() for shard in split["shards"]):
            prefix = str(root / name / shard["object"])[:-len(".bin")]
            dataset = megatron[0].IndexedDataset(prefix)
            documents = [dataset[at].tolist() for at in range(len(dataset))]
            wrote = tuple(Path(prefix + suffix).read_bytes() for suffix in (".bin", ".idx"))
            if build(megatron[0], place / "built", documents, info["dtype"]) != wrote:
                yield f"{prefix}: IndexedDatasetBuilder writes other bytes"


def main(pipe, *prefixes):
    megatron = load_megatron()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        if prefixes:
            problems = [line for number, prefix in enumerate(prefixes)
                        for line in check_samples(megatron, prefix, place / str(number))]
            return told(problems, f"the samples of {len(prefixes)} pairs of files")
        text = place / "corpus.txt"
        text.write_text(made.corpus(seed=4), encoding="utf-8")
        root = made.published(pipe, place, text)
        problems = [*check_fixed(megatron, place), *check_builder(megatron, root, place),
                    *check_samples(megatron, str(root / "ordered/train/train-00000-of-00001"), place)]
    return told(problems, f"files and samples at {len(made.SEQ_LENGTHS)} lengths of sequences")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
