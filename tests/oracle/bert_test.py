#!/usr/bin/env python3
"""Examples for BERT, read as run_pretraining.py reads them and compared with the text: without the masks, A and B are
consecutive ids of documents by transformers' BertTokenizer. bert_corpus.py then checks the shares and morphemes of many
more.

    bert_test.py PIPE
"""

import json
import os
import random
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # pylint: disable=wrong-import-position
from transformers import BertTokenizer  # pylint: disable=wrong-import-position

import bert_corpus  # pylint: disable=wrong-import-position
from program import ran  # pylint: disable=wrong-import-position

PIPELINE = """
pipe: 1
name: bert
limits: {{ memory: 2GiB }}
stages:
  source:    {{ type: download, url: corpus.txt }}
  lines:     {{ type: decompress, input: source, partition: 64KiB }}
  docs:      {{ type: split, input: lines, splits: {{ train: rest, validation: 0.1 }} }}
  tokenizer: {{ type: train_tokenizer, input: docs, layout: bert, model: wordpiece, vocab_size: 500,
               boundaries: none, out: out/{name}-tokenizer }}
  tokens:    {{ type: encode, input: docs, tokenizer: tokenizer }}
  bert:      {{ type: write_bert, input: tokens, out: out/{name}, seq_len: {length}, max_predictions: {predictions},
               dupe_factor: 2, next_sentence: {pairs}, whole_words: {words}, model_size: tiny }}
"""
CASES = (
    {"name": "pairs", "length": 64, "predictions": 10, "pairs": "true", "words": "none"},
    {"name": "pieces", "length": 48, "predictions": 8, "pairs": "true", "words": "pieces"},
    {"name": "full", "length": 64, "predictions": 10, "pairs": "false", "words": "none"},
)
CONFIG_KEYS = {"attention_probs_dropout_prob", "hidden_act", "hidden_dropout_prob", "hidden_size", "initializer_range",
               "intermediate_size", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
               "type_vocab_size", "vocab_size"}


def corpus(seed):
    """Documents of sentences of invented words: (text, documents as lists of lines)."""
    chance = random.Random(seed)
    syllables = [chr(code) for code in range(0x304b, 0x3068)]
    words = ["".join(chance.choices(syllables, k=chance.randrange(1, 5))) for _ in range(300)]
    documents = []
    for _ in range(400):
        lines = []
        for _ in range(chance.randrange(1, 6)):
            ends = chance.choice(("。", "！", "？", "。」"))
            lines.append("".join("".join(chance.choices(words, k=chance.randrange(1, 9))) + ends
                                 for _ in range(chance.randrange(1, 6))))
        documents.append(lines)
    return "".join("\n".join(lines) + "\n\n" for lines in documents), documents


def features_of(case):
    """The features in google-research/bert's input_fn_builder."""
    length, predictions = case["length"], case["predictions"]
    return {
        "input_ids": tf.io.FixedLenFeature([length], tf.int64),
        "input_mask": tf.io.FixedLenFeature([length], tf.int64),
        "segment_ids": tf.io.FixedLenFeature([length], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([predictions], tf.int64),
        "masked_lm_ids": tf.io.FixedLenFeature([predictions], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([predictions], tf.float32),
        "next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64),
    }


class Corpus:
    """Finds sequences of ids: all documents are strings with one letter per id."""

    def __init__(self, tokenizer, documents):
        backend = tokenizer._tokenizer  # pylint: disable=protected-access
        self.texts = []
        for lines in documents:
            ids = [number for line in lines for number in backend.encode(line, add_special_tokens=False).ids]
            self.texts.append(self.letters(ids))
        self.all = "\x00".join(self.texts)

    @staticmethod
    def letters(ids):
        return "".join(chr(0x10000 + number) for number in ids)

    def joined(self, first, second):
        """Whether both are in one document, `second` after `first`; ids that were cut off may be between them."""
        first, second = self.letters(first), self.letters(second)
        return any(first in text and second in text[text.index(first) + len(first):] for text in self.texts)

    def has(self, ids):
        return self.letters(ids) in self.all


def check_example(row, case, vocabulary, corpus_lines):
    """Yields the faults of one example, by a second implementation of the page."""
    size = int(sum(row["input_mask"]))
    ids, segments = list(row["input_ids"][:size]), list(row["segment_ids"][:size])
    masked = int(sum(row["masked_lm_weights"]))
    positions, labels = list(row["masked_lm_positions"][:masked]), list(row["masked_lm_ids"][:masked])
    for name, used in (("input_ids", size), ("segment_ids", size), ("input_mask", size), ("masked_lm_positions", masked),
                       ("masked_lm_ids", masked), ("masked_lm_weights", masked)):
        if any(row[name][used:]):
            yield f"{name} is not filled with 0"
    if row["input_mask"][:size].tolist() != [1] * size or row["masked_lm_weights"][:masked].tolist() != [1.0] * masked:
        yield "a mask with holes"
    wanted = min(case["predictions"], max(1, int(round(size * 0.15))))
    if positions != sorted(set(positions)) or masked > wanted or (case["words"] == "none" and masked != wanted):
        yield f"masked at {positions}, {wanted} wanted"
    for position, label in zip(positions, labels):
        ids[position] = label
    cls, sep = vocabulary["[CLS]"], vocabulary["[SEP]"]
    if ids[0] != cls or ids[-1] != sep or cls in ids[1:]:
        yield "does not begin with [CLS] or end with [SEP]"
        return
    if case["pairs"] == "false":
        if any(segments) or row["next_sentence_labels"][0]:
            yield "has a second segment"
        part = []
        for number in ids[1:]:
            if number != sep:
                part.append(number)
                continue
            if not part or not corpus_lines.has(part):
                yield f"{part} is not in the corpus"
            part = []
        return
    middle = ids.index(sep)
    if segments != [0] * (middle + 1) + [1] * (size - middle - 1):
        yield f"segments {segments} with [SEP] at {middle}"
    first, second = ids[1:middle], ids[middle + 1:-1]
    if not first or not second or not corpus_lines.has(first) or not corpus_lines.has(second):
        yield f"{first} or {second} is not in the corpus"
    if not row["next_sentence_labels"][0] and not corpus_lines.joined(first, second):
        yield f"{second} do not follow {first}"


def whole_words_wrong(row, pieces):
    """Whether an unmasked position is next to a masked one of the same word; random ids say nothing about words."""
    size, masked = int(sum(row["input_mask"])), int(sum(row["masked_lm_weights"]))
    ids, positions = list(row["input_ids"][:size]), set(row["masked_lm_positions"][:masked].tolist())
    for position, label in zip(row["masked_lm_positions"][:masked], row["masked_lm_ids"][:masked]):
        ids[position] = label
    for at in range(1, size):
        special = pieces[ids[at - 1]] in ("[CLS]", "[SEP]")
        if pieces[ids[at]].startswith("##") and not special and (at in positions) != (at - 1 in positions):
            return True
    return False


def check(pipe, root, case, documents):
    (root / "p.yaml").write_text(PIPELINE.format(**case), encoding="utf-8")
    ran(pipe, "run", "p.yaml", "--work", f"work-{case['name']}", cwd=root)
    out, wrong = root / "out" / case["name"], []
    pieces = (out / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=False, tokenize_chinese_chars=True, strip_accents=False)
    corpus_lines = Corpus(tokenizer, documents)
    config = json.loads((out / "bert_config.json").read_text(encoding="utf-8"))
    if set(config) != CONFIG_KEYS or config["vocab_size"] != len(pieces) or pieces[0] != "[PAD]":
        wrong.append(f"bert_config.json: {config}")
    files = sorted(map(str, out.glob("*tfrecord")))
    if len(files) < 16 or not all(path.endswith("tfrecord") for path in files):
        wrong.append(f"{len(files)} files")
    seen, random_next = 0, 0
    for record in tf.data.TFRecordDataset(files):
        row = {name: value.numpy() for name, value in tf.io.parse_single_example(record, features_of(case)).items()}
        seen += 1
        if max(row["input_ids"].max(), row["masked_lm_ids"].max()) >= len(pieces):
            wrong.append("an id that the vocabulary lacks")
        wrong += list(check_example(row, case, vocabulary, corpus_lines))
        if case["words"] == "pieces" and whole_words_wrong(row, pieces):
            wrong.append("a word is masked in part")
        if case["pairs"] == "true":
            random_next += int(row["next_sentence_labels"][0])
    ran(pipe, "verify", out)
    if case["pairs"] == "true" and not 0.4 * seen < random_next < 0.8 * seen:
        wrong.append(f"{random_next} of {seen} are random")
    return seen, wrong


def main(pipe):
    text, documents = corpus(seed=5)
    failed = False
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "corpus.txt").write_text(text, encoding="utf-8")
        for case in CASES:
            seen, wrong = check(Path(pipe).resolve(), root, case, documents)
            print(f"{case['name']}: {seen} examples, {len(wrong)} wrong")
            for what in wrong[:10]:
                print(f"  {what}", file=sys.stderr)
            failed = failed or bool(wrong) or seen < 800
        wrong, seen = bert_corpus.check(Path(pipe).resolve(), root, root / "corpus.txt", dictionary="ipadic", vocab_size=600,
                                        partition="32KiB", dupe=4, lengths=(64, 10))
        print(f"corpus: {seen} examples, {len(wrong)} wrong")
        for what in wrong:
            print(f"  {what}", file=sys.stderr)
        failed = failed or bool(wrong) or seen < 2000
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
