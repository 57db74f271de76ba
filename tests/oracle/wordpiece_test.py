#!/usr/bin/env python3
"""Vocabularies trained by `pipe`, and the ids of every line with them, by words and by morphemes, compared with
transformers' BertTokenizer, and with its older one in Python alone.

    wordpiece_test.py PIPE                  over a corpus with every kind of dirt
    wordpiece_test.py PIPE [OPTIONS] FILE…  over the lines of FILE, unchanged, with a vocabulary trained on them
"""

import argparse
import itertools
import json
import lzma
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path

from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import BertTokenizer
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from pipe_test import corpus
from program import ran

PIPELINE = """
pipe: 1
name: wordpieces
limits: {{ memory: 3GiB }}
stages:
  source:    {{ type: download, url: "{url}" }}
  lines:     {{ type: decompress, input: source, partition: {partition} }}
  {words}
  tokenizer: {{ type: train_tokenizer, input: {input}, layout: bert, model: wordpiece, vocab_size: {vocab_size},
               boundaries: {boundaries}, character_coverage: {coverage}, out: {out}/tokenizer }}
  tokens:    {{ type: encode, input: {input}, tokenizer: {tokenizer}, keep: true }}
  text:      {{ type: write_tfds, input: tokens, name: words, version: 1.0.0, out: {out} }}
"""
SEGMENT = "words:     {{ type: segment_words, input: lines, dictionary: {dictionary} }}"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ("Hello, world! It's 3.14 (or so): naïve Café — “quoted” ‘text’…", "한국어는 띄어쓰기가 있다. 그래서 좋아요!",
         "「がぎぐげご」と『ぱぴぷぺぽ』。ﾊﾝｶｸ･ｶﾅ①②③㈱", "\u2028行\u2029の\u0085中\x1f", "絵👩\u200d👧文字 \ue000私用 \U0002b820",
         "長" * 150, "か" * 100, "か" * 101, "か" * 201, "ab" * 60, "  ", "𠮷野家 㐂 豈", "[CLS]text [SEP] ##と[MASK]は字[UNK][PAD]")
BATCH = 500


def longest_first(vocabulary, word):
    """The ids of one word, by a second implementation of the rule of google-research/bert."""
    if len(word) > 100:
        return [vocabulary["[UNK]"]]
    ids, begin = [], 0
    while begin < len(word):
        end = len(word)
        while end > begin and ("##" * (begin > 0) + word[begin:end]) not in vocabulary:
            end -= 1
        if end == begin:
            return [vocabulary["[UNK]"]]
        ids.append(vocabulary["##" * (begin > 0) + word[begin:end]])
        begin = end
    return ids


def words_of(text, cuts):
    """The morphemes of `text`; `cuts` are offsets in bytes."""
    encoded, begins = text.encode(), [0, *cuts[:-1]]
    return [encoded[begin:end].decode() for begin, end in zip(begins, cuts)]


class Words:
    """transformers' BertTokenizer; [SEP] and the like in a text are text."""

    def __init__(self, file):
        vocabulary = {piece: number for number, piece in enumerate(file.read_text(encoding="utf-8").split("\n")[:-1])}
        self.vocabulary = vocabulary
        self.tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=False, tokenize_chinese_chars=True,
                                       strip_accents=False)
        self.older = BertTokenizerLegacy(file, do_lower_case=False, tokenize_chinese_chars=True, strip_accents=False)

    def encode(self, rows):
        """For each row its ids, and their ends in characters."""
        made = self.tokenizer([row["text"] for row in rows], add_special_tokens=False, split_special_tokens=True)
        return [(one.ids, [end for _, end in one.offsets]) for one in made.encodings]

    def words(self, text):
        return self.older.basic_tokenizer.tokenize(text)

    def encode_older(self, row):
        return [number for word in self.words(row["text"]) for number in longest_first(self.vocabulary, word)]

    @lru_cache(maxsize=None)
    def older_differs(self, character):
        """Whether the older one treats this character in another way: it uses Python's Unicode."""
        text, backend = f"a{character}b", self.tokenizer._tokenizer  # pylint: disable=protected-access
        words = backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(text))
        return self.words(text) != [word for word, _ in words]

    def reason(self, row):
        """The reason why the older one gives a line other ids; None: unknown."""
        if any(self.older_differs(character) for character in set(row["text"])):
            return "characters that are something else in the Unicode of Python"
        if unicodedata.normalize("NFC", row["text"]) != row["text"]:
            return "decomposed characters, which it composes"
        return None


class Morphemes(Words):
    """Parts of BertTokenizer applied to morphemes: cleaning, white space, WordPiece."""

    def __init__(self, file):
        super().__init__(file)
        backend = self.tokenizer._tokenizer  # pylint: disable=protected-access
        backend.normalizer = BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
        backend.pre_tokenizer = WhitespaceSplit()

    def encode(self, rows):
        texts = [words_of(row["text"], row["cuts"]) for row in rows]
        made = self.tokenizer(texts, add_special_tokens=False, split_special_tokens=True, is_split_into_words=True)
        encoded = []
        for words, one in zip(texts, made.encodings):
            begins = list(itertools.accumulate(map(len, words), initial=0))
            encoded.append((one.ids, [begins[word] + end for word, (_, end) in zip(one.word_ids, one.offsets)]))
        return encoded

    def words(self, text):
        return self.older.basic_tokenizer._clean_text(text).split()  # pylint: disable=protected-access

    def encode_older(self, row):
        morphemes = map(self.words, words_of(row["text"], row["cuts"]))
        return [number for words in morphemes for word in words for number in longest_first(self.vocabulary, word)]


def ends_in_bytes(text, ends):
    """The end of each id in bytes; the last id includes the rest of the text."""
    return [len(text[:end].encode()) for end in ends[:-1]] + [len(text.encode())] * bool(ends)


class Comparison:
    def __init__(self, name, oracle):
        self.name, self.oracle = name, oracle
        self.lines = self.ids = 0
        self.wrong, self.older = [], Counter()

    def check(self, rows):
        for row, (ids, ends) in zip(rows, self.oracle.encode(rows)):
            self.lines += 1
            self.ids += len(ids)
            if row["ids"] != ids:
                self.wrong.append(f"{row['text']!r}: ids {row['ids']}, and {ids} by transformers")
            elif row["id_ends"] != ends_in_bytes(row["text"], ends):
                self.wrong.append(f"{row['text']!r}: ends {row['id_ends']}, and {ends} characters by transformers")
            if row["ids"] == self.oracle.encode_older(row):
                continue
            reason = self.oracle.reason(row)
            self.older[reason] += 1
            if reason is None:
                self.wrong.append(f"{row['text']!r}: ids {row['ids']}, and {self.oracle.encode_older(row)} by the older one")

    def check_rule(self):
        """Checks that transformers takes the longest piece first, like the implementation above."""
        for piece in self.oracle.vocabulary:
            plain = piece.removeprefix("##")
            tokens = self.oracle.tokenizer._tokenizer.model.tokenize(plain)  # pylint: disable=protected-access
            if [token.id for token in tokens] != longest_first(self.oracle.vocabulary, plain):
                self.wrong.append(f"{plain!r}: its pieces are others by the rule")

    def report(self):
        older = "".join(f"; {count} of the older one: {reason}" for reason, count in self.older.items())
        print(f"{self.name}: {self.lines} lines, {self.ids} ids, {len(self.wrong)} wrong{older}", flush=True)
        for what in self.wrong[:10]:
            print(f"  {what[:2000]}", file=sys.stderr)


def run(pipe, root, name, oracle, **values):
    """Runs the pipeline and compares the ids of each line with the oracle's."""
    words = SEGMENT.format(**values) if values["dictionary"] else ""
    (root / "p.yaml").write_text(PIPELINE.format(words=words, input="words" if words else "lines", out=f"out-{name}",
                                                 boundaries="cuts" if words else "none", **values), encoding="utf-8")
    ran(pipe, "run", "p.yaml", "--work", f"work-{name}", cwd=root, seconds=3600)
    compared = Comparison(name, oracle(root / f"out-{name}" / "tokenizer" / "vocab.txt"))
    kept, = (root / f"work-{name}" / "artifacts").glob("tokens-*")
    with subprocess.Popen([pipe, "cat", str(kept), "--json"], stdout=subprocess.PIPE, encoding="utf-8") as cat:
        lines = iter(cat.stdout.readline, "")
        while rows := [json.loads(line)["columns"] for line in itertools.islice(lines, BATCH)]:
            compared.check(rows)
    if cat.returncode:
        compared.wrong.append(f"pipe cat ends with {cat.returncode}")
    compared.check_rule()
    if list(compared.oracle.vocabulary)[:5] != SPECIAL or len(compared.oracle.vocabulary) != values["vocab_size"]:
        compared.wrong.append(f"{len(compared.oracle.vocabulary)} pieces, the first {list(compared.oracle.vocabulary)[:5]}")
    compared.report()
    return compared


def of_dirt(pipe, root):
    text = corpus(seed=4) + ("\n" + "\n".join(line for line in WORDS if "\n" not in line) + "\n").encode()
    (root / "corpus.txt.xz").write_bytes(lzma.compress(text))
    values = {"url": "corpus.txt.xz", "partition": "256KiB", "vocab_size": 2000, "coverage": 0.99, "dictionary": None}
    made = [run(pipe, root, "words", Words, tokenizer="tokenizer", **values),
            run(pipe, root, "file", Words, tokenizer="out-words/tokenizer/vocab.txt", **values),
            run(pipe, root, "morphemes", Morphemes, tokenizer="tokenizer",
                **{**values, "vocab_size": 4000, "dictionary": "ipadic"})]
    return all(not one.wrong and one.lines > 13000 for one in made)


def of_files(pipe, root, options):
    good = True
    for number, file in enumerate(options.files):
        values = {"url": Path(file).resolve(), "partition": "16MiB", "vocab_size": options.vocab_size, "coverage": 0.9995,
                  "tokenizer": "tokenizer"}
        for name, oracle, dictionary in (("words", Words, None), ("morphemes", Morphemes, options.dictionary)):
            print(file, end=": ", flush=True)
            one = run(pipe, root, f"{name}-{number}", oracle, dictionary=dictionary, **values)
            good = not one.wrong and one.lines > 0 and good
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pipe", type=Path)
    parser.add_argument("--dictionary", default="ipadic", help="of segment_words, for the morphemes of the files")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root, pipe = Path(directory), options.pipe.resolve()
        return 0 if (of_files(pipe, root, options) if options.files else of_dirt(pipe, root)) else 1


if __name__ == "__main__":
    sys.exit(main())
