#!/usr/bin/env python3
"""The tokenizer of kc_moe.yaml, read by the sentencepiece package: the space in front of a word is a part of its first
morpheme, no piece contains the end of a morpheme, and comments outside of its training have hardly an id that is a
space alone.

    word_starts_test.py PIPE PIPELINE
"""

import json
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import sentencepiece
from program import before_training, ran, records, told

NOUNS = ("영화", "배우", "연기", "감독", "음악", "이야기", "장면", "주인공", "시간", "친구", "가족", "사람", "마음", "결말", "작품", "극장")
PARTICLES = ("은", "는", "이", "가", "을", "를", "도", "만", "에서", "까지", "의", "보다", "")
ADVERBS = ("정말", "너무", "아주", "다시", "조금", "그냥", "역시", "매우")
ENDS = ("재미있다", "좋았어요", "봤습니다", "지루했다", "아쉽네요", "최고였다", "싫었는데", "추천합니다", "감동적이다", "웃었어요")
MARK = "▁"
SEGMENT = """
pipe: 1
name: morphemes
stages:
  source: {{ type: download, url: "{url}" }}
  lines:  {{ type: decompress, input: source, documents: line }}
  words:  {{ type: segment_words, input: lines, dictionary: ko, keep: true }}
  text:   {{ type: write_tfds, input: words, name: morphemes, out: "{out}" }}
"""


def comments(seed, count):
    chance = random.Random(seed)
    def words():
        for _ in range(chance.randrange(1, 4)):
            if chance.random() < 0.5:
                yield chance.choice(ADVERBS)
            yield chance.choice(NOUNS) + chance.choice(PARTICLES)
        yield chance.choice(ENDS) + chance.choice((".", "!", "", "!!"))
    return [" ".join(words()) + f" {number}" * (number % 10 == 0) for number in range(count)]


def morphemes_of(pipe, root, lines):
    """The morphemes of each line, with the mark in front of those after a space and at the beginning of a line."""
    (root / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    (root / "morphemes.yaml").write_text(SEGMENT.format(url=root / "lines.txt", out=root / "out"), encoding="utf-8")
    ran(pipe, "run", root / "morphemes.yaml", "--work", root / "work-morphemes")
    kept, = (root / "work-morphemes" / "artifacts").glob("words-*")
    found = set()
    for columns in (record["columns"] for record in records(pipe, kept)):
        text, begin = columns["text"].encode(), 0
        for end in columns["cuts"]:
            morpheme = text[begin:end].decode()
            found.add(MARK * (begin == 0 or morpheme.startswith(" ")) + morpheme.strip())
            begin = end
    return found


def main(pipe, pipeline):
    problems, pipe = [], Path(pipe).resolve()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        lines = comments(31, 4000)
        (root / "comments.txt").write_text("\n".join(lines), encoding="utf-8")
        ran(pipe, "run", before_training(pipeline, root), "--work", root / "work", "--set", f"corpus={root / 'comments.txt'}", "--set",
            f"out={root / 'out'}", "--set", "vocab_size=460")
        morphemes = morphemes_of(pipe, root, lines)
        model = sentencepiece.SentencePieceProcessor(model_file=str(root / "out" / "tokenizer" / "tokenizer.base.model"))
        pieces = [model.id_to_piece(one) for one in range(model.get_piece_size())
                  if not (model.is_byte(one) or model.is_control(one) or model.is_unknown(one))]
        problems += [f"{piece} is a part of no morpheme" for piece in pieces
                     if piece != MARK and not any(piece in morpheme for morpheme in morphemes)]
        starts = sum(piece.startswith(MARK) for piece in pieces)
        ids = [model.encode(line) for line in comments(32, 1000)]
        count = sum(map(len, ids))
        bare = sum(line.count(model.piece_to_id(MARK)) for line in ids) / count
        compared = json.loads((root / "out" / "tokenizer" / "report.json").read_text(encoding="utf-8"))["comparison"]
        print(f"{len(morphemes)} morphemes, {len(pieces)} pieces, {starts} of them begin a word; {count} ids, {bare:.2%} of them "
              f"a bare space; characters per token {compared['characters_per_token']}")
        if bare >= 0.03:
            problems.append(f"{bare:.1%} of the ids are a bare space")
        if starts < 30 or starts > 0.8 * len(pieces):
            problems.append(f"{starts} of {len(pieces)} pieces begin a word")
        rates = compared["characters_per_token"]
        if not rates["cuts_in_words"] > 1.1 * rates["cuts"]:
            problems.append(f"characters per token: {rates}")
    return told(problems, "pieces beside morphemes, and spaces of held comments")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
