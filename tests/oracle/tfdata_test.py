#!/usr/bin/env python3
"""Directories of ids, loaded and cut into windows as JEstimator does it.

    tfdata_test.py PIPE

The ids of each directory are the documents as sentencepiece's own library encodes them, each complete and once.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
from program import ran, told

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
FILE = """\
pipe: 1
name: ids
vars: {{ out: "" }}
limits: {{ memory: 512MiB }}
stages:
  source: {{ type: download, url: "{corpus}" }}
  lines: {{ type: decompress, input: source, partition: 40KB }}
  docs: {{ type: split, input: lines, splits: {{ train: rest, validation: 0.1 }} }}
  tokenizer: {{ type: train_tokenizer, input: docs, vocab_size: 500, layout: jestimator, byte_fallback: false,
                out: "${{out}}/tokenizer" }}
  ids: {{ type: encode, input: docs, tokenizer: tokenizer }}
  data: {{ type: write_tfdata, input: ids, name: books, names: {{ validation: ptb }}, eos: {eos}, shards: 4, hosts: 2,
           eval_ids: 2048, out: "${{out}}/data" }}
"""
WINDOW = 512


def windows(tf, paths):
    """pipeline_from_filenames of jestimator/data/pipeline_lm.py, one host, in training: skip, cut, drop the
    remainder."""
    loaded = tf.data.Dataset.from_tensor_slices([tf.data.Dataset.load(path) for path in paths])
    loaded = loaded.shuffle(len(paths), seed=len(paths) + 37).repeat(1)
    loaded = tf.data.Dataset.zip((loaded, tf.data.Dataset.random(seed=len(paths) + 19)))
    return loaded.interleave(lambda one, chance: one.skip(chance % WINDOW).batch(WINDOW, drop_remainder=True),
                             deterministic=False, num_parallel_calls=tf.data.AUTOTUNE)


def cut(ids, eos):
    """Documents, each with its eos."""
    documents, begin = [], 0
    for at, one in enumerate(ids):
        if one == eos:
            documents.append(tuple(ids[begin:at + 1]))
            begin = at + 1
    return documents, ids[begin:]


def check(tf, out, documents, eos_of, problems):
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(out / "tokenizer/tokenizer.model"))
    eos = processor.piece_to_id("</s>")
    if eos_of == "document":
        wanted = Counter(tuple(sum((processor.encode(line) for line in lines), []) + [eos]) for lines in documents)
    else:
        wanted = Counter(tuple(processor.encode(line) + [eos]) for lines in documents for line in lines)
    train = sorted(tf.io.gfile.glob(str(out / "data/books-0000?-of-00004")))
    if [Path(path).name for path in train] != [f"books-{number:05}-of-00004" for number in range(4)]:
        problems.append(f"the pattern matches {train}")
    found, order = Counter(), []
    streams = {}
    for path in [*train, str(out / "data/ptb")]:
        loaded = tf.data.Dataset.load(path)
        if loaded.element_spec != tf.TensorSpec(shape=(), dtype=tf.int32):
            problems.append(f"{path}: elements are {loaded.element_spec}")
        ids = [int(one) for one in loaded.as_numpy_iterator()]
        streams[path] = ids
        if int(loaded.cardinality()) != len(ids):
            problems.append(f"{path}: {len(ids)} ids, cardinality {int(loaded.cardinality())}")
        parts, rest = cut(ids, eos)
        if rest:
            problems.append(f"{path}: ends inside of a document")
        found.update(parts)
        order += parts
    if found != wanted:
        problems.append(f"missing {list((wanted - found).items())[:2]}, extra {list((found - wanted).items())[:2]}")
    if eos_of == "document" and order == [one for one in wanted.elements()][:len(order)]:
        problems.append("documents are not shuffled")
    if len(streams[str(out / "data/ptb")]) < 2048:
        problems.append("validation is too small")
    seen = 0
    joined = {path: " ".join(map(str, ids)) + " " for path, ids in streams.items()}
    for window in windows(tf, train).as_numpy_iterator():
        text = " ".join(map(str, window)) + " "
        if window.shape != (WINDOW,) or not any(text in joined[path] for path in train):
            problems.append(f"a window of {window.shape} that no directory has")
        seen += 1
    least = sum((len(streams[path]) - WINDOW + 1) // WINDOW for path in train)
    most = sum(len(streams[path]) // WINDOW for path in train)
    if not least <= seen <= most:
        problems.append(f"{seen} windows, {least} to {most} are there")
    return sum(map(len, streams.values())), seen


def main(pipe):
    import tensorflow as tf

    chance = random.Random(9)
    words = ["".join(chance.choices("abdegiklmnoprstuあいうえお", k=2 + at % 6)) for at in range(500)]
    documents = [[f"{number} " + " ".join(chance.choices(words, k=chance.randrange(1, 30)))
                  for _ in range(chance.randrange(1, 6))] for number in range(1200)]
    problems, found = [], []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        text = "\n\n".join("\n".join(lines) for lines in documents) + "\n"
        (root / "corpus.txt").write_text(text, encoding="utf-8")
        for eos in ("document", "line"):
            out = root / eos
            (root / "p.yaml").write_text(FILE.format(corpus=root / "corpus.txt", eos=eos), encoding="utf-8")
            ran(pipe, "run", root / "p.yaml", "--work", root / "work", "--set", f"out={out}")
            ran(pipe, "verify", out / "data")
            found.append(check(tf, out, documents, eos, problems))
    return told(problems, ", ".join(f"{ids} ids in {seen} windows" for ids, seen in found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
