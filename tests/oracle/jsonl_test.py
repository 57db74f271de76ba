#!/usr/bin/env python3
"""JSON Lines as ttt reads them: a label, several fields, documents, and pairs for span corruption.

    jsonl_test.py PIPE

Values equal those of the table that was read. The sentinels are single ids for transformers' T5 tokenizer, made from a
tokenizer of our own training with the layout t5; the text between them is recovered.
"""

import json
import os
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
from program import ran, told

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
FILE = """\
pipe: 1
name: rows
vars: {{ out: "" }}
limits: {{ memory: 512MiB }}
stages:
  table: {{ type: download, url: "{table}" }}
  rows: {{ type: read_rows, input: table, format: tsv, text: tweet, label: label, partition: 20KB }}
  parts: {{ type: split, input: rows, splits: {{ train: rest, validation: 0.1, test: 0.1 }} }}
  labelled: {{ type: write_jsonl, input: parts, out: "${{out}}/labelled" }}
  both: {{ type: read_rows, input: table, format: tsv, text: [tweet, answer], columns: fields, partition: 20KB }}
  pairs: {{ type: write_jsonl, input: both, fields: {{ source: tweet, target: answer }}, shards: 3, out: "${{out}}/pairs" }}
  corpus: {{ type: download, url: "{corpus}" }}
  lines: {{ type: decompress, input: corpus, partition: 20KB }}
  documents: {{ type: write_jsonl, input: lines, unit: document, out: "${{out}}/documents" }}
  tokenizer: {{ type: train_tokenizer, input: lines, vocab_size: 450, layout: t5, byte_fallback: false,
                out: "${{out}}/tokenizer" }}
  ids: {{ type: encode, input: lines, tokenizer: tokenizer }}
  corrupted: {{ type: write_jsonl, input: ids, task: span_corruption, max_source: 64, out: "${{out}}/corrupted" }}
  words: {{ type: write_jsonl, input: lines, task: span_corruption, seed: 5, out: "${{out}}/words" }}
"""
WORDS = [*"the of and to in is that for it with as was on be by this are or his from at which but not have an".split(),
         'say "no"', "back\\slash", "猫", "é", "😺", "\u2028", "\x7f", "C:\\new"]
WORDS += ["".join(random.Random(at).choices("abdegiklmnoprstu", k=2 + at % 7)) for at in range(400)]


def rows(path):
    """Reads as ttt does: json.loads for each line of a file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line.strip()) for line in file]


def sentence(chance):
    return " ".join(chance.choices(WORDS, k=chance.randrange(4, 60)))


def joined(source, target):
    """The text from which the pair was made, by the rule of stages/export/jsonl/jsonl.md."""
    parts = re.split(r"(?:^| )<extra_id_\d+> ", target)[1:]
    texts = re.split(r"<extra_id_\d+>", source)
    if len(texts) != len(parts) + 1:
        raise ValueError(f"{len(texts)} pieces and {len(parts)} parts: {source!r} {target!r}")
    return texts[0] + "".join(part + text for part, text in zip(parts, texts[1:]))


def check_sentinels(problems, tokenizer, found, length):
    sentinels = {tokenizer.convert_tokens_to_ids(f"<extra_id_{number}>"): number for number in range(100)}
    if len(sentinels) != 100 or tokenizer.unk_token_id in sentinels:
        problems.append(f"sentinels are not single ids: {sorted(sentinels)[:3]}")
    taken = units = 0
    for row in found:
        ids = [tokenizer(row[field]).input_ids for field in ("source", "target")]
        numbers = [[sentinels[one] for one in of if one in sentinels] for of in ids]
        if numbers[0] != numbers[1] or numbers[0] != list(range(len(numbers[0]))) or not numbers[0]:
            problems.append(f"sentinels {numbers}: {row}")
        if len(ids[0]) > length + 3 * len(numbers[0]):  # divided text may have other pieces
            problems.append(f"a source of {len(ids[0])} ids: {row}")
        taken += len(ids[1]) - 1 - len(numbers[1])
        units += len(ids[0]) + len(ids[1]) - 2 - 2 * len(numbers[0])
    if not 0.13 < taken / units < 0.19:
        problems.append(f"{taken} of {units} ids are taken")


def main(pipe):
    import sentencepiece
    from transformers import T5Tokenizer

    chance = random.Random(4)
    table = [(sentence(chance), sentence(chance), chance.choice(("informative", "not \"so\""))) for _ in range(3000)]
    documents = [[sentence(chance) for _ in range(chance.randrange(1, 6))] for _ in range(1500)]
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "table.tsv").write_text("tweet\tanswer\tlabel\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in table), encoding="utf-8")
        (root / "corpus.txt").write_text("\n\n".join("\n".join(lines) for lines in documents) + "\n", encoding="utf-8")
        (root / "p.yaml").write_text(FILE.format(table=root / "table.tsv", corpus=root / "corpus.txt"), encoding="utf-8")
        out = root / "out"
        ran(pipe, "run", root / "p.yaml", "--work", root / "work", "--set", f"out={out}")
        for name in ("labelled", "pairs", "documents", "corrupted", "words"):
            ran(pipe, "verify", out / name)

        def compare(what, found, wanted):
            found, wanted = Counter(found), Counter(wanted)
            if found != wanted:
                problems.append(f"{what}: missing {list((wanted - found).items())[:3]}, extra {list((found - wanted).items())[:3]}")

        labelled = [rows(out / "labelled" / f"{name}.json") for name in ("train", "val", "test")]
        compare("labelled", [(row["text"], row["label"]) for split in labelled for row in split], [(a, c) for a, _, c in table])
        if not all(2000 < len(split) < 2800 if at == 0 else 200 < len(split) < 400 for at, split in enumerate(labelled)):
            problems.append(f"splits of {[len(split) for split in labelled]} rows")
        if [row["text"] for row in labelled[0]] == [a for a, _, _ in table if any(a == row["text"] for row in labelled[0])]:
            problems.append("labelled rows are not shuffled")
        pairs = [row for number in range(3) for row in rows(out / "pairs" / f"train-{number:05}-of-00003.json")]
        compare("pairs", [(row["source"], row["target"]) for row in pairs], [(a, b) for a, b, _ in table])
        compare("documents", [row["text"] for row in rows(out / "documents/train.json")], ["\n".join(lines) for lines in documents])

        lines = Counter(line for document in documents for line in document)
        words = rows(out / "words/train.json")
        compare("words", [joined(**row) for row in words], lines.elements())
        model = str(out / "tokenizer/tokenizer.model")
        encoder = sentencepiece.SentencePieceProcessor(model_file=model)
        # A line longer than a pair is divided into consecutive parts: lines that fit are compared whole.
        short = [line for line in lines.elements() if len(encoder.encode(line)) < 60]
        corrupted = rows(out / "corrupted/train.json")
        compare("corrupted", [one for one in (joined(**row) for row in corrupted) if one in set(short)], short)
        vocabulary = [(encoder.id_to_piece(at).replace("▁<extra_id_", "<extra_id_"), encoder.get_score(at))
                      for at in range(len(encoder))]
        tokenizer = T5Tokenizer(vocab=vocabulary, extra_ids=100)
        check_sentinels(problems, tokenizer, corrupted, 64)
    return told(problems, f"{len(table)} rows, {len(documents)} documents, {len(corrupted)} pairs")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
