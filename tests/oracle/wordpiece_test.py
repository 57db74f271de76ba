#!/usr/bin/env python3
"""A vocabulary of our own making and its ids, for every line of a corpus with every kind of dirt, held against
transformers' BertTokenizer; and for morphemes against its WordPiece alone.

    wordpiece_test.py PIPE
"""

import lzma
import sys
import tempfile
from pathlib import Path

from tokenizers.models import WordPiece
from transformers import BertTokenizer

from pipe_test import corpus
from program import ran, records

PIPELINE = """
pipe: 1
name: wordpieces
limits: {{ memory: 2GiB }}
stages:
  source:    {{ type: download, url: corpus.txt.xz }}
  lines:     {{ type: decompress, input: source, partition: 256KiB }}
  tokenizer: {{ type: train_tokenizer, input: lines, layout: bert, model: wordpiece, vocab_size: 2000,
               boundaries: none, character_coverage: 0.99, out: out-{step}/tokenizer }}
  tokens:    {{ type: encode, input: lines, tokenizer: {tokenizer}, keep: true }}
  text:      {{ type: write_tfds, input: tokens, name: words, version: 1.0.0, out: out-{step} }}
"""
WORDS = ("Hello, world! It's 3.14 (or so): naïve Café — “quoted” ‘text’…", "한국어는 띄어쓰기가 있다. 그래서 좋아요!",
         "「がぎぐげご」と『ぱぴぷぺぽ』。ﾊﾝｶｸ･ｶﾅ①②③㈱", "\u2028行\u2029の\u0085中\x1f", "絵👩\u200d👧文字 \ue000私用 \U0002b820",
         "長" * 150, "か" * 100, "か" * 101, "か" * 201, "ab" * 60, "  ", "𠮷野家 㐂 豈")


def longest_first(vocabulary, word):
    """The ids of one word: the rule of google-research/bert, written out again."""
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


def check_line(tokenizer, record):
    text, ids, ends = (record["columns"][name] for name in ("text", "ids", "id_ends"))
    encoded = tokenizer._tokenizer.encode(text, add_special_tokens=False)  # pylint: disable=protected-access
    if encoded.ids != ids:
        yield f"ids {ids}, and {encoded.ids} by transformers"
    size = len(text.encode())
    expected = [len(text[:end].encode()) for _, end in encoded.offsets[:-1]] + [size] * bool(ids)
    if expected != ends:
        yield f"ends {ends}, and {expected} by transformers"


def main(pipe):
    wrong, lines = [], 0
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        text = corpus(seed=4) + ("\n" + "\n".join(line for line in WORDS if "\n" not in line) + "\n").encode()
        (place / "corpus.txt.xz").write_bytes(lzma.compress(text))
        for step, of in (("stage", "tokenizer"), ("file", "mine.txt")):
            (place / "p.yaml").write_text(PIPELINE.format(tokenizer=of, step=step), encoding="utf-8")
            ran(Path(pipe).resolve(), "run", "p.yaml", "--work", f"work-{step}", cwd=place)
            file = place / f"out-{step}" / "tokenizer" / "vocab.txt"
            (place / "mine.txt").write_bytes(file.read_bytes())
            vocabulary = {piece: number for number, piece in enumerate(file.read_text(encoding="utf-8").split("\n")[:-1])}
            if len(vocabulary) != 2000 or [*vocabulary][:5] != ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]:
                wrong.append(f"{len(vocabulary)} pieces, the first of them {[*vocabulary][:5]}")
            tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=False, tokenize_chinese_chars=True, strip_accents=False)
            alone = WordPiece(vocabulary, unk_token="[UNK]")
            kept, = (place / f"work-{step}" / "artifacts").glob("tokens-*")
            for record in records(pipe, kept):
                lines += 1
                wrong += [f"{step}: {record['columns']['text']!r}: {what}" for what in check_line(tokenizer, record)]
            for word in vocabulary:
                plain = word.removeprefix("##")
                if [token.id for token in alone.tokenize(plain)] != longest_first(vocabulary, plain):
                    wrong.append(f"{plain!r}: its pieces are others by the rule")
    print(f"{lines} lines, {len(wrong)} wrong")
    for what in wrong[:10]:
        print(f"  {what}", file=sys.stderr)
    return 1 if wrong or lines < 20000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
