#!/usr/bin/env python3
"""Holds a TFDS data set against the corpus that it was made from, by a chain of its own.

    compare_tfds.py CORPUS VERSION_DIR [--form nfkc] [--split validation=0.05]...

The chain is lzma + unicodedata + the white-space rule of stages/lines/normalize.md; the data set is read
with tensorflow_datasets.builder_from_directory, every example of every split. Compared are

* the lines: their number, and a digest that does not depend on their order (the sum of 128-bit
  hashes modulo 2^128). Where it differs, both sides are read again and each line that only one of
  them has is looked at. Python and ICU may have different versions of Unicode: a difference is
  forgiven, and listed, only for lines with characters that this Python has not heard of;
* the splits: no document is torn between two, and each split named has about that share of them;
* the metadata: shardLengths against the records of each shard, cardinality against examples read.

Exits 0 when all agrees, 1 when not. Lines longer than max_record_bytes are not cut here.
"""

import argparse
import hashlib
import lzma
import os
import re
import sys
import unicodedata
from collections import Counter
from pathlib import Path

SPACE = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
SHOWN = 5  # examples of each kind of difference
TORN = -1  # instead of a document's number: the line is in more than one document


def corpus_lines(path, form):
    """Yields (number of the document, line) of the corpus as they are expected in the data set."""
    document, in_document = 0, False
    with (lzma.open(path) if path.suffix == ".xz" else path.open("rb")) as stream:
        for number, raw in enumerate(stream):
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 0:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if raw.strip():
                in_document = True
            elif in_document:
                document, in_document = document + 1, False
            line = raw.decode("utf-8", errors="replace").replace("\0", "\ufffd")
            if form != "none":
                line = unicodedata.normalize(form.upper(), line)
            line = SPACE.sub(" ", line).strip(" ")
            if line:
                yield document, line


def has_unknown_characters(line):
    """Whether a later Unicode may define a decomposition or an order for a character of `line`."""
    return any(unicodedata.category(character) == "Cn" for character in line)


def hash_of(line):
    return hashlib.blake2b(line.encode("utf-8"), digest_size=16).digest()


class Multiset:
    """A multiset of lines, independent of their order."""

    def __init__(self):
        self.count = 0
        self._sum = 0

    def add(self, line_hash):
        self.count += 1
        self._sum += int.from_bytes(line_hash, "little")

    def merge(self, other):
        self.count += other.count
        self._sum += other._sum

    @property
    def digest(self):
        return f"{self._sum % 2**128:032x}"


class Corpus:
    """The first side: the lines, and the document of each hash."""

    def __init__(self, path, form):
        self.path, self.form = path, form
        self.lines = Multiset()
        self.document_of = {}
        documents = set()
        for document, line in corpus_lines(path, form):
            line_hash = hash_of(line)
            self.lines.add(line_hash)
            documents.add(document)
            if self.document_of.setdefault(line_hash, document) != document:
                self.document_of[line_hash] = TORN
        self.documents = len(documents)

    def read(self):
        return (line for _, line in corpus_lines(self.path, self.form))


class DataSet:
    """The second side: every example of every split, and its metadata."""

    def __init__(self, directory, corpus):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        import tensorflow as tf
        import tensorflow_datasets as tfds

        self._tf = tf
        self._builder = tfds.builder_from_directory(str(directory))
        self.wrong = []
        self.splits = {}
        self.documents_of = {}
        self.lines = Multiset()
        features = dict(self._builder.info.features)
        if list(features) != ["text"]:
            self.wrong.append(f"the features are {sorted(features)}, not one `text`")
            return
        for split, info in self._builder.info.splits.items():
            self.splits[split] = self._read_split(split, info, corpus)
            self.lines.merge(self.splits[split])
        self._find_torn_documents()

    @property
    def shards(self):
        return sum(info.num_shards for info in self._builder.info.splits.values())

    def read(self):
        return (line for split in self.splits for line in self._examples(split))

    def _examples(self, split):
        for batch in self._builder.as_dataset(split=split, batch_size=1024).as_numpy_iterator():
            for text in batch["text"]:
                yield text.decode("utf-8")

    def _read_split(self, split, info, corpus):
        lines, documents = Multiset(), set()
        for line in self._examples(split):
            line_hash = hash_of(line)
            lines.add(line_hash)
            documents.add(corpus.document_of.get(line_hash, TORN))
        self.documents_of[split] = documents - {TORN}
        cardinality = self._builder.as_dataset(split=split).cardinality().numpy()
        if not lines.count == info.num_examples == cardinality:
            self.wrong.append(f"{split}: {lines.count} examples were read, dataset_info.json counts "
                              f"{info.num_examples}, cardinality is {cardinality}")
        for path, length in zip(info.filepaths, info.shard_lengths):
            records = sum(1 for _ in self._tf.data.TFRecordDataset(str(path)))
            if records != length:
                self.wrong.append(f"{Path(path).name}: {records} records, shardLengths says {length}")
        return lines

    def _find_torn_documents(self):
        seen = Counter(document for documents in self.documents_of.values() for document in documents)
        torn = [document for document, splits in seen.items() if splits > 1]
        if torn:
            self.wrong.append(f"{len(torn)} documents have lines in two splits; the first is number {min(torn)}")


def compare_lines(corpus, data_set):
    """Returns (faults, number of differences that come from versions of Unicode)."""
    if (corpus.lines.count, corpus.lines.digest) == (data_set.lines.count, data_set.lines.digest):
        return [], 0
    missing = Counter(corpus.read())
    extra = Counter(data_set.read())
    missing, extra = missing - extra, extra - missing
    unknown = Counter({line: count for line, count in missing.items() if has_unknown_characters(line)})
    if unknown == missing and extra.total() <= missing.total() and corpus.lines.count == data_set.lines.count:
        for line in list(unknown)[:SHOWN]:
            print(f"  newer than Unicode {unicodedata.unidata_version}: {line!r}", file=sys.stderr)
        return [], unknown.total()
    wrong = [f"{missing.total()} lines of the corpus are missing, {extra.total()} are not of the corpus"]
    wrong += [f"  missing {count} x {line!r}" for line, count in missing.most_common(SHOWN)]
    wrong += [f"  extra   {count} x {line!r}" for line, count in extra.most_common(SHOWN)]
    return wrong, 0


def compare_shares(corpus, data_set, shares):
    """Checks that each split has its share of the documents, within six standard deviations of a fair draw."""
    for split, share in shares:
        found = len(data_set.documents_of.get(split, ()))
        told_apart = len(set(corpus.document_of.values()) - {TORN})
        slack = 6 * (told_apart * share * (1 - share)) ** 0.5 + 1
        if abs(found - told_apart * share) > slack:
            yield f"{split}: {found} of {told_apart} documents, {share} of them would be {told_apart * share:.0f}"


def share(text):
    name, fraction = text.split("=")
    return name, float(fraction)


def main(argv):
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("corpus", type=Path, help="a text file, or an .xz of one")
    arguments.add_argument("version_dir", type=Path, help=".../NAME/VERSION, with dataset_info.json in it")
    arguments.add_argument("--form", choices=("nfkc", "nfc", "none"), default="nfkc")
    arguments.add_argument("--split", type=share, action="append", default=[], metavar="NAME=FRACTION")
    options = arguments.parse_args(argv)

    corpus = Corpus(options.corpus, options.form)
    try:
        data_set = DataSet(options.version_dir, corpus)
    except ImportError as error:
        print(f"TensorFlow Datasets cannot be imported: {error}; `./dev test` makes .venv-oracle", file=sys.stderr)
        return 1
    wrong, newer = compare_lines(corpus, data_set)
    wrong += data_set.wrong
    wrong += compare_shares(corpus, data_set, options.split)

    splits = ", ".join(f"{name} {lines.count:,}" for name, lines in data_set.splits.items())
    print(f"corpus    {corpus.lines.count:,} lines in {corpus.documents:,} documents, "
          f"{options.form} of Unicode {unicodedata.unidata_version}, digest {corpus.lines.digest}")
    print(f"data set  {data_set.lines.count:,} lines in {data_set.shards} shards ({splits}), "
          f"digest {data_set.lines.digest}")
    for line in wrong:
        print(line, file=sys.stderr)
    forgiven = f" but for {newer} with characters of a newer Unicode" if newer else ""
    print("DIFFERENT" if wrong else f"equal     every line{forgiven}, every shard length, no document torn")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
