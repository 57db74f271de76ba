#!/usr/bin/env python3
"""Compares the forms of a tokenizer, not their speed, on lines that it was not trained on, for
stages/tokenizer/train_tokenizer.md. Needs sentencepiece (.venv-oracle).

    tokenizer_forms.py PIPE TRAIN HELD [--dictionary ko] [--layout t5] [--vocab-size 10000] [--model FILE…]

TRAIN and HELD have a text per line. --model: models of other people, measured beside ours.
"""

import argparse
import json
import math
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import sentencepiece

PIPELINE = """
pipe: 1
name: forms
limits: {{ memory: 4GiB }}
stages:
  source: {{ type: download, url: "{text}" }}
  lines:  {{ type: decompress, input: source, documents: line }}
  clean:  {{ type: normalize, input: lines, form: nfkc, keep_jamo: true }}
  words:  {{ type: segment_words, input: clean, dictionary: {dictionary}, keep: true }}
  {last}
"""
TRAIN = """tokenizer: {{ type: train_tokenizer, input: words, layout: {layout}, model: {model}, boundaries: {boundaries},
            engine: {engine}, vocab_size: {vocab_size}, compare_boundaries: false, out: "{out}" }}"""
WRITE = 'text: {{ type: write_tfds, input: words, name: held, out: "{out}" }}'
FORMS = [("unigram", boundaries, engine) for boundaries in ("none", "spaces", "cuts", "cuts_in_words") for engine in ("own", "sentencepiece")]
FORMS += [("unigram", "scripts", "own"), ("bpe", "cuts_in_words", "sentencepiece")]
DISCOUNT = 0.75


class Sandbox:
    def __init__(self, options, root):
        self.options, self.root, self.runs = options, root, 0

    def run(self, text, last, **values):
        self.runs += 1
        values = {**vars(self.options), "out": self.root / f"out-{self.runs}", **values}
        file = self.root / "p.yaml"
        file.write_text(PIPELINE.format(text=Path(text).resolve(), last=last.format(**values), **values), encoding="utf-8")
        ended = subprocess.run([self.options.pipe, "run", file, "--work", self.root / f"work-{Path(text).name}"], check=False,
                               stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if ended.returncode:
            raise RuntimeError(next((line for line in ended.stderr.split("\n") if "vocab_size" in line), ended.stderr))
        return values["out"]

    def rows(self, text):
        """Returns [(line, {byte offset of the end of a morpheme})]."""
        self.run(text, WRITE)
        kept, = (self.root / f"work-{Path(text).name}" / "artifacts").glob("words-*")
        cat = subprocess.run([self.options.pipe, "cat", kept, "--json"], stdout=subprocess.PIPE, check=True)
        columns = [json.loads(line)["columns"] for line in cat.stdout.decode().split("\n")[:-1]]
        return [(one["text"], set(one["cuts"])) for one in columns]


class NextId:
    """Interpolated Kneser-Ney with `before` ids of context, down to the uniform distribution."""

    def __init__(self, lines, before, ids):
        self.order = order = before + 1
        self.uniform = 1 / (ids + 1)
        self.counts = [Counter() for _ in range(order + 1)]
        for line in lines:
            padded = self.padded(line)
            self.counts[order].update(tuple(padded[at - order + 1:at + 1]) for at in range(order - 1, len(padded)))
        for size in range(order - 1, 0, -1):
            self.counts[size].update(gram[1:] for gram in self.counts[size + 1])
        self.totals, self.kinds = ([Counter() for _ in range(order + 1)] for _ in range(2))
        for size in range(1, order + 1):
            for gram, count in self.counts[size].items():
                self.totals[size][gram[:-1]] += count
                self.kinds[size][gram[:-1]] += 1

    def padded(self, line):
        return [-1] * (self.order - 1) + line + [-2]

    def bits(self, line):
        padded, total = self.padded(line), 0
        for at in range(self.order - 1, len(padded)):
            share = self.uniform
            for size in range(1, self.order + 1):
                gram = tuple(padded[at - size + 1:at + 1])
                if (whole := self.totals[size].get(gram[:-1], 0)) > 0:
                    share = (max(self.counts[size].get(gram, 0) - DISCOUNT, 0) + DISCOUNT * self.kinds[size][gram[:-1]] * share) / whole
            total -= math.log2(share)
        return total


def across(model, line, cuts):
    """Counts the pieces with the end of a morpheme inside. A space belongs to the text behind it."""
    found = 0
    for piece in model.encode(line, out_type="immutable_proto").pieces:
        begin, end = len(line[:piece.begin].encode()), len(line[:piece.end].encode())
        begin += len(line[piece.begin:piece.end]) - len(line[piece.begin:piece.end].lstrip(" "))
        found += any(begin < cut < end for cut in cuts)
    return found


def measure(name, file, train, held):
    model = sentencepiece.SentencePieceProcessor(model_file=str(file))
    ids = [model.encode(line) for line, _ in held]
    count, characters = sum(map(len, ids)), sum(len(line) for line, _ in held)
    bare = sum(line.count(model.piece_to_id("▁")) for line in ids)
    unknown = sum(line.count(model.unk_id()) for line in ids)
    taught = [model.encode(line) for line, _ in train]
    bits = [sum(map(NextId(taught, before, model.get_piece_size()).bits, ids)) / (characters + len(held)) for before in (1, 2)]
    crossed = sum(across(model, line, cuts) for line, cuts in held)
    print(f"| {name} | {count:,} | {characters / count:.2f} | {bare / count:.1%} | {crossed / count:.1%} | {unknown:,} "
          f"| {bits[0]:.3f} | {bits[1]:.3f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("pipe", "train", "held"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--dictionary", default="ko")
    parser.add_argument("--layout", default="t5")
    parser.add_argument("--vocab-size", type=int, default=10000)
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    options.pipe = options.pipe.resolve()
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox(options, Path(directory))
        train, held = sandbox.rows(options.train), sandbox.rows(options.held)
        print(f"{len(train):,} lines to train on, {len(held):,} held, with {sum(len(cuts) for _, cuts in held):,} morphemes")
        print("| form | ids | characters per id | bare ▁ | across morphemes | unknown | bits per character, order 1 | order 2 |\n"
              "|---|---|---|---|---|---|---|---|")
        for model in options.model:
            measure(model, model, train, held)
        for model, boundaries, engine in FORMS:
            try:
                out = sandbox.run(options.train, TRAIN, model=model, boundaries=boundaries, engine=engine)
            except RuntimeError as error:  # usually too little text for so many pieces
                print(f"| {model} ({engine}), `{boundaries}` | {error} |")
                continue
            file = out / "tokenizer.base.model"
            measure(f"{model} ({engine}), `{boundaries}`", file if file.exists() else out / "tokenizer.model", train, held)


if __name__ == "__main__":
    main()
