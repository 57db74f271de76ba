#!/usr/bin/env python3
"""Jamo of Korean chat: their form after `normalize` compared with Python's NFKC, and the ids that the sentencepiece
package gives the text that the pipeline of kc-moe publishes, with the model that it publishes.

    jamo_test.py PIPE PIPELINE
"""

import json
import random
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.dont_write_bytecode = True
import sentencepiece
from program import before_training, ran, records, told

JAMO = re.compile("([\u3131-\u318e\uffa0-\uffdc])")
CHAT = ("ㅋㅋ ㅠㅠ", "ㅋㅋㅠㅠ", "ㅋㅋㅋㅋㅋ", "ㅠㅜ", "ㅎㅎ;;", "ㄱㄱ", "ㅇㅇ", "가ㄳ", "ㄱㅏ", "ㅡㅡ", "ﾻﾻ")
CONJOINING = "\u110f\u110f \u1172\u1172"
FORMS = """
pipe: 1
name: forms
stages:
  source: {{ type: download, url: lines.txt }}
  lines:  {{ type: decompress, input: source, documents: line }}
  clean:  {{ type: normalize, input: lines, form: {form}, whitespace: keep, drop_empty: false, keep_jamo: true }}
  text:   {{ type: write_jsonl, input: clean, shuffle: none, out: "out-{form}" }}
"""


def kept(text):
    """NFKC of everything except jamo; half-width jamo become full-width."""
    def jamo(letter):
        wide = unicodedata.decomposition(letter).split()
        return chr(int(wide[1], 16)) if letter >= "\uffa0" and wide else letter
    return "".join(jamo(part) if JAMO.fullmatch(part) else unicodedata.normalize("NFKC", part) for part in JAMO.split(text))


def any_text(chance, lines):
    """Lines of all characters in Python's Unicode; jamo and combining characters are more frequent than the rest."""
    everything = [chr(code) for code in range(0x20, 0x110000)
                  if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Cc", "Co", "Zl", "Zp") and code not in (0xfeff, 0xfffd)]
    korean = [chr(code) for code in (*range(0x3131, 0x318f), *range(0x1100, 0x1200), *range(0xffa0, 0xffdd), *range(0xac00, 0xad00))]
    marks = [letter for letter in everything if unicodedata.combining(letter)]
    for _ in range(lines):
        yield "".join(chance.choice(chance.choice((everything, korean, korean, marks))) for _ in range(chance.randrange(1, 24)))


def check_forms(pipe, root):
    """Lines whose form with the key is not the expected one."""
    lines = list(any_text(random.Random(11), 6000)) + list(CHAT)
    (root / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    (root / "p.yaml").write_text(FORMS.format(form="nfkc"), encoding="utf-8")
    ran(pipe, "run", "p.yaml", "--work", "work-forms", cwd=root)
    found = [record["text"] for record in map(json.loads, (root / "out-nfkc" / "train.json").read_text(
        encoding="utf-8").split("\n")[:-1])]
    if len(found) != len(lines):
        return [f"{len(found)} lines of {len(lines)}"]
    return [f"{ascii(line)}: {ascii(one)}, and {ascii(kept(line))} by Python"
            for line, one in zip(lines, found) if one != kept(line)]


def comments(chance, count):
    """Korean words with chat among them; no two comments are equal."""
    syllables = [chr(code) for code in range(0xac00, 0xd7a4, 23)]
    words = ["".join(chance.choices(syllables, k=chance.randrange(1, 4))) for _ in range(600)]
    weights = [1 / (number + 5) for number in range(len(words))]
    for number in range(count):
        yield " ".join((*chance.choices(words, weights, k=chance.randrange(4, 10)), chance.choice((*CHAT, "")) + str(number)))


def check_model(pipe, pipeline, root):
    lines = list(comments(random.Random(12), 5000))
    (root / "comments.txt").write_text("\n".join(lines), encoding="utf-8")
    ran(pipe, "run", before_training(pipeline, root), "--work", root / "work", "--set", f"corpus={root / 'comments.txt'}", "--set",
        f"out={root / 'out'}", "--set", "vocab_size=1200")
    published = {record["features"]["text"] for record in records(pipe, root / "out" / "kcbert_cleaned" / "1.0.0")}
    problems = [f"{ascii(line)} is not published as {ascii(kept(line))}" for line in lines if kept(line) not in published]
    for name in ("tokenizer.base.model", "tokenizer.model"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(root / "out" / "tokenizer" / name))
        ids = model.encode("ㅋㅋ ㅠㅠ")
        pieces = [model.id_to_piece(one) for one in ids]
        print(f"{name}: ㅋㅋ ㅠㅠ: ids {ids}, pieces {pieces}, decoded {ascii(model.decode(ids))}")
        # The model's own normaliser makes conjoining jamo in training and in encoding; decoding therefore gives
        # them, too.
        if model.decode(ids) != CONJOINING or model.unk_id() in ids:
            problems.append(f"{name}: ids {ids} decode to {ascii(model.decode(ids))}")
        if model.encode(CONJOINING) != ids:
            problems.append(f"{name}: conjoining jamo have the ids {model.encode(CONJOINING)}, the others {ids}")
        if not any("\u110f" in model.id_to_piece(one) for one in range(model.get_piece_size())):
            problems.append(f"{name}: no piece holds U+110F: it was trained on other text than it encodes")
        # The seed's trainer encodes the comment itself, which nothing has normalised before.
        other = [line for line in lines if model.encode(line) != model.encode(kept(line))]
        problems += [f"{name}: {ascii(line)}: ids {model.encode(line)}, as it is published {model.encode(kept(line))}" for line in other]
        if all(model.encode(line) == model.encode(unicodedata.normalize("NFKC", line)) for line in lines):
            problems.append("NFKC would give the same ids everywhere: no line shows the difference")
    return problems


def main(pipe, pipeline):
    with tempfile.TemporaryDirectory() as directory:
        root, pipe = Path(directory), Path(pipe).resolve()
        return told(check_forms(pipe, root) + check_model(pipe, pipeline, root),
                    "forms beside Python's, ids of published text beside those of the comments as they came")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
