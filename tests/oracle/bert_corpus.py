#!/usr/bin/env python3
"""Examples for BERT from a corpus: their shares are within three standard deviations of the specified ones, and with
whole words no morpheme is masked in part.

    bert_corpus.py PIPE [OPTIONS] FILE…   over the lines of FILE, unchanged, with a vocabulary of their morphemes
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # pylint: disable=wrong-import-position
import tensorflow as tf  # pylint: disable=wrong-import-position

from program import ran  # pylint: disable=wrong-import-position

PIPELINE = """
pipe: 1
name: examples
limits: {{ memory: 4GiB }}
stages:
  source:    {{ type: download, url: "{url}" }}
  lines:     {{ type: decompress, input: source, partition: {partition} }}
  words:     {{ type: segment_words, input: lines, dictionary: {dictionary} }}
  tokenizer: {{ type: train_tokenizer, input: words, layout: bert, model: wordpiece, vocab_size: {vocab_size}, out: tokenizer }}
  tokens:    {{ type: encode, input: words, tokenizer: tokenizer, keep: true }}
  none:      {{ type: write_bert, input: tokens, out: none, dupe_factor: {dupe}, whole_words: none, {lengths} }}
  morphemes: {{ type: write_bert, input: tokens, out: morphemes, dupe_factor: {dupe}, whole_words: morphemes, {lengths} }}
"""
LENGTHS = "seq_len: {0}, max_predictions: {1}, masked_share: 0.15, short_share: 0.1"
KEY = 4  # ids in a key of 64 bits
CLS, SEP, MASK = 2, 3, 4


class Findings:
    def __init__(self, name):
        self.name, self.wrong = name, []

    def share(self, what, found, of, share):
        """Checks `found` of `of` independent draws with the probability `share`."""
        self.number(what, found, of * share, of * share * (1 - share))

    def number(self, what, found, expected, variance):
        off = (found - expected) / math.sqrt(variance)
        print(f"{self.name}: {what}: {found}, {expected:.0f} expected: {off:+.2f} sigma")
        if abs(off) > 3:
            self.wrong.append(f"{what}: {found}, {off:+.2f} sigma from {expected:.0f}")

    def holds(self, what, count):
        if count:
            self.wrong.append(f"{what}: {count}")


class Corpus:
    """All ids in order, the beginnings of morphemes, and an index of positions by the next ids."""

    def __init__(self, pipe, kept):
        ids, begins = [], []
        with subprocess.Popen([pipe, "cat", str(kept), "--json"], stdout=subprocess.PIPE, encoding="utf-8") as cat:
            for line in cat.stdout:
                row = json.loads(line)["columns"]
                cuts = set(row["cuts"])
                ids += row["ids"]
                begins += [at == 0 or row["id_ends"][at - 1] in cuts for at in range(len(row["ids"]))]
        self.ids, self.begins = np.array(ids, dtype=np.uint64), np.array(begins, dtype=bool)
        padded = np.concatenate([self.ids, np.zeros(KEY, dtype=np.uint64)])
        keys = sum(padded[at:at + len(ids)] << np.uint64(16 * (KEY - 1 - at)) for at in range(KEY))
        self.order = np.argsort(keys, kind="stable")
        self.keys = keys[self.order]

    def occurrences(self, part):
        """Positions of this sequence of ids."""
        head = part[:KEY]
        key = sum(int(number) << (16 * (KEY - 1 - at)) for at, number in enumerate(head))
        last = key + (1 << (16 * (KEY - len(head)))) - 1
        first, end = np.searchsorted(self.keys, np.uint64(key)), np.searchsorted(self.keys, np.uint64(last), side="right")
        found = self.order[first:end]
        found = found[found + len(part) <= len(self.ids)]
        for at in range(KEY, len(part)):
            if not len(found):
                break
            found = found[self.ids[found + at] == part[at]]
        return found

    def divided(self, part, masked):
        """None: the sequence is not in the corpus. True: this mask divides a morpheme at every position (of at most
        200)."""
        occurrences = self.occurrences(part)
        if not len(occurrences):
            return None
        for begin in occurrences[:200]:
            words = np.cumsum(self.begins[begin:begin + len(part)])
            if not any(0 < masked[words == word].sum() < (words == word).sum() for word in np.unique(words[masked])):
                return False
        return True


def examples(directory, length, predictions):
    """Yields all examples, a thousand at a time, as arrays by name."""
    lengths = {"input_ids": length, "input_mask": length, "segment_ids": length, "masked_lm_positions": predictions,
               "masked_lm_ids": predictions, "masked_lm_weights": predictions, "next_sentence_labels": 1}
    features = {name: tf.io.FixedLenFeature([size], tf.float32 if name.endswith("weights") else tf.int64)
                for name, size in lengths.items()}
    files = sorted(map(str, Path(directory).glob("*tfrecord")))
    for records in tf.data.TFRecordDataset(files).batch(1000):
        yield {name: value.numpy() for name, value in tf.io.parse_example(records, features).items()}


def check_shares(directory, length, predictions, dupe, found):
    manifest = json.loads((directory / "MANIFEST.json").read_text(encoding="utf-8"))
    reasons = manifest["counts"][manifest["stage"]]["reasons"]
    documents = sum(split["documents"] for split in manifest["splits"].values())
    vocab_size = json.loads((directory / "bert_config.json").read_text(encoding="utf-8"))["vocab_size"]
    count = labels = masks = masked = kept = others = below = front = expected = variance = wrong = 0
    for rows in examples(directory, length, predictions):
        sizes = rows["input_mask"].sum(axis=1)
        chosen = rows["masked_lm_weights"] > 0
        wanted = np.minimum(predictions, np.maximum(1, np.rint(sizes * 0.15)))
        wrong += int((chosen.sum(axis=1) != wanted).sum())
        now = np.take_along_axis(rows["input_ids"], rows["masked_lm_positions"], axis=1)
        is_kept = chosen & (now == rows["masked_lm_ids"])
        is_mask = chosen & (now == MASK)
        is_other = chosen & ~is_kept & ~is_mask
        count += len(sizes)
        labels += int(rows["next_sentence_labels"].sum())
        masks, masked, kept = masks + int(chosen.sum()), masked + int(is_mask.sum()), kept + int(is_kept.sum())
        others, below = others + int(is_other.sum()), below + int((is_other & (now < vocab_size // 2)).sum())
        # Share of the front half in the ids without [CLS] and [SEP].
        at, middle = np.arange(length), np.argmax(rows["segment_ids"] == 1, axis=1)[:, None] - 1
        may = (at > 0) & (at < sizes[:, None] - 1) & (at != middle)
        share = (may & (2 * at < sizes[:, None])).sum(axis=1) / may.sum(axis=1)
        front += int((chosen & (2 * rows["masked_lm_positions"] < sizes[:, None])).sum())
        expected += (wanted * share).sum()
        variance += (wanted * share * (1 - share)).sum()
    found.holds("instances with another number of masked ids", wrong)
    found.holds("instances that are not counted", count - reasons["instances"])
    found.holds("masked ids that are not counted", masks - reasons["masked_ids"])
    found.holds("random sentences that are not counted", labels - reasons["random_next"])
    # One of all ids is [MASK], and one is the original id.
    found.share("[MASK]", masked, masks, 0.8 + 0.1 / vocab_size)
    found.share("kept", kept, masks, 0.1 + 0.1 / vocab_size)
    found.share("another id", others, masks, 0.1 - 0.2 / vocab_size)
    found.share("another id is of the first half", below, others, (vocab_size // 2) / vocab_size)
    found.number("in the front half of an instance", front, expected, variance)
    only = reasons.get("only_sentence", 0)
    found.share("B is random where there is a choice", labels - only, count - only, 0.5)
    found.share("short targets", reasons.get("short_targets", 0), documents * dupe, 0.1)
    return count


def check_morphemes(directory, corpus, length, predictions, found):
    count = several = divided = lost = unequal = 0
    for rows in examples(directory, length, predictions):
        for at in range(len(rows["input_ids"])):
            size, chosen = int(rows["input_mask"][at].sum()), int(rows["masked_lm_weights"][at].sum())
            ids, masked = rows["input_ids"][at][:size].copy(), np.zeros(size, dtype=bool)
            positions = rows["masked_lm_positions"][at][:chosen]
            ids[positions], masked[positions] = rows["masked_lm_ids"][at][:chosen], True
            middle = int(np.argmax(ids == SEP))
            unequal += ids[0] != CLS or ids[-1] != SEP or (ids == SEP).sum() != 2
            for begin, end in ((1, middle), (middle + 1, size - 1)):
                if not masked[begin:end].any():
                    continue
                wrong = corpus.divided(ids[begin:end].astype(np.uint64), masked[begin:end])
                lost += wrong is None
                divided += bool(wrong)
            several += bool((masked[1:] & masked[:-1]).any())
        count += len(rows["input_ids"])
    print(f"{found.name}: {count} instances by morphemes: {several} with masked ids side by side, {divided} morphemes divided")
    found.holds("instances that do not begin with [CLS] or have not two [SEP]", unequal)
    found.holds("segments that are no ids of the corpus", lost)
    found.holds("morphemes that are masked in part", divided)
    found.holds("instances without masked ids side by side", 0 if several > count // 20 else count)
    return count


def check(pipe, root, file, **values):
    """Checks the examples of `file`: the faults, and the number of examples of each kind."""
    length, predictions = values.pop("lengths")
    (root / "p.yaml").write_text(PIPELINE.format(url=file, lengths=LENGTHS.format(length, predictions), **values),
                                 encoding="utf-8")
    ran(pipe, "run", "p.yaml", "--work", "work", cwd=root, seconds=3600)
    found = Findings(Path(file).name)
    kept, = (root / "work" / "artifacts").glob("tokens-*")
    seen = min(check_shares(root / "none", length, predictions, values["dupe"], found),
               check_morphemes(root / "morphemes", Corpus(pipe, kept), length, predictions, found))
    return found.wrong, seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pipe", type=Path)
    parser.add_argument("--dictionary", default="ipadic", help="of segment_words")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--partition", default="8MiB")
    parser.add_argument("--dupe", type=int, default=1, help="passes")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    failed = False
    for file in options.files:
        with tempfile.TemporaryDirectory() as directory:
            wrong, seen = check(options.pipe.resolve(), Path(directory), Path(file).resolve(), lengths=(128, 20),
                                dictionary=options.dictionary, vocab_size=options.vocab_size, partition=options.partition,
                                dupe=options.dupe)
        for what in wrong:
            print(f"{file}: {what}", file=sys.stderr)
        failed = failed or bool(wrong) or not seen
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
