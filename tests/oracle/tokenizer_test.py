#!/usr/bin/env python3
"""Ids and their ends, for every line of a corpus with every kind of dirt, compared with the sentencepiece package.

    tokenizer_test.py PIPE
"""

import lzma
import sys
import tempfile
from pathlib import Path

import sentencepiece

from pipe_test import corpus
from program import ran, records

PIPELINE = """
pipe: 1
name: tokenizers
limits: {{ memory: 2GiB }}
stages:
  source:    {{ type: download, url: corpus.txt.xz }}
  lines:     {{ type: decompress, input: source, partition: 256KiB }}
  clean:     {{ type: normalize, input: lines, form: {form}, whitespace: {whitespace} }}
  docs:      {{ type: split, input: clean, splits: {{ train: rest, validation: 0.05 }} }}
  tokenizer: {{ type: train_tokenizer, input: docs, layout: {layout}, model: {model}, byte_fallback: {bytes},
               vocab_size: {vocab_size}, character_coverage: 0.99, compare_boundaries: false, out: out/{name} }}
  tokens:    {{ type: encode, input: docs, tokenizer: tokenizer, keep: true }}
  text:      {{ type: write_tfds, input: tokens, name: {name}, version: 1.0.0, out: out }}
"""
CASES = (
    {"name": "kept", "layout": "pipe", "model": "unigram", "bytes": "true", "form": "nfkc", "whitespace": "collapse"},
    {"name": "raw", "layout": "pipe", "model": "unigram", "bytes": "true", "form": "none", "whitespace": "keep"},
    {"name": "unknown", "layout": "pipe", "model": "bpe", "bytes": "false", "form": "nfkc", "whitespace": "keep"},
    {"name": "changed", "layout": "flax_lm1b", "model": "unigram", "bytes": "false", "form": "none", "whitespace": "keep"},
    {"name": "sentinels", "layout": "t5", "model": "unigram", "bytes": "true", "form": "nfc", "whitespace": "keep"},
)
SPACE_MARK = "\u2581"


def check_line(processor, record, case):
    """Yields the faults in the ids of one line."""
    text, ids, ends = (record["columns"][name] for name in ("text", "ids", "id_ends"))
    pieces = processor.encode(text, out_type="immutable_proto").pieces
    if [piece.id for piece in pieces] != ids:
        yield f"ids {ids}, and {[piece.id for piece in pieces]} by the package"
    size = len(text.encode())
    expected = [len(text[:piece.end].encode()) for piece in pieces[:-1]] + [size] * bool(ids)
    if expected != ends:
        yield f"ends {ends}, and {expected} by the package"
    restored = processor.decode(ids)
    if case["layout"] == "pipe" and case["bytes"] == "true" and restored != text.replace(SPACE_MARK, " "):
        yield f"its ids decode to {restored!r}"


def check(pipe, root, case):
    """The number of compared lines, and their faults."""
    vocabulary = 1400 + 260 * (case["bytes"] == "true")
    (root / "p.yaml").write_text(PIPELINE.format(vocab_size=vocabulary, **case), encoding="utf-8")
    ran(pipe, "run", "p.yaml", "--work", f"work-{case['name']}", cwd=root)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(root / "out" / case["name"] / "tokenizer.model"))
    wrong, lines = [], 0
    if processor.get_piece_size() != vocabulary + 100 * (case["layout"] == "t5"):
        wrong.append(f"{processor.get_piece_size()} pieces")
    kept, = (root / f"work-{case['name']}" / "artifacts").glob("tokens-*")
    for record in records(pipe, kept):
        lines += 1
        wrong += [f"{record['columns']['text']!r}: {what}" for what in check_line(processor, record, case)]
    return lines, wrong


def main(pipe):
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "corpus.txt.xz").write_bytes(lzma.compress(corpus(seed=3)))
        for case in CASES:
            lines, wrong = check(Path(pipe).resolve(), root, case)
            print(f"{case['name']}: {lines} lines, {len(wrong)} wrong")
            for what in wrong[:10]:
                print(f"  {what}", file=sys.stderr)
            failed = failed or bool(wrong) or lines < 1000
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
