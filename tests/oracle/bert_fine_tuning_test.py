#!/usr/bin/env python3
"""bert_ja.yaml pre-trains with the ids that fine-tuning gives the same text. The tokenizer of fine-tuning is the one of
transformers in Python alone, which was made from the tokenization.py of google-research/bert.

    bert_fine_tuning_test.py PIPE [FILE]     over the lines of FILE, in NFKC, with a vocabulary of 8,000 pieces
"""

import os
import random
import sys
import tempfile
import unicodedata
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # pylint: disable=wrong-import-position
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy  # pylint: disable=wrong-import-position

sys.dont_write_bytecode = True
from bert_test import features_of  # noqa: E402  pylint: disable=wrong-import-position
from program import before_training, ran, told  # noqa: E402  pylint: disable=wrong-import-position

PIPELINE = Path(__file__).resolve().parents[2] / "pipelines" / "bert_ja.yaml"
CASE = {"length": 64, "predictions": 10}
WORDS = ("私", "東京都", "学校", "行っ", "楽しい", "食べ", "言葉", "研究所", "です", "ます", "から", "という", "コンピュータ", "データ",
         "Python", "BERT", "naïve", "3.14", "2026", "年", "月", "々", "〆切", "ガラス", "ぱぴぷ", "が", "の", "は", "を", "に", "한국어",
         "①", "㈱", "ﾊﾝｶｸ", "Ａ", "𠮷野家", "豈", "e\u0301", "👩\u200d👧", "「引用」", "(注)", "https://example.jp/a?b=c", "[SEP]", "##", "…")


def documents_of(seed):
    chance = random.Random(seed)
    def sentence():
        return "".join(chance.choices(WORDS, k=chance.randrange(3, 12))) + chance.choice(("。", "！", "? ", "。」", ""))
    return [["".join(sentence() for _ in range(chance.randrange(1, 4))) for _ in range(chance.randrange(1, 6))]
            for _ in range(500)]


def letters(ids):
    """One letter per id, so that ids can be searched like text."""
    return "".join(chr(0x10000 + number) for number in ids)


class FineTuning:
    def __init__(self, vocabulary):
        self.pieces = vocabulary.read_text(encoding="utf-8").split("\n")[:-1]
        # tokenization.py never takes text for a special piece.
        self.tokenizer = BertTokenizerLegacy(vocabulary, do_lower_case=False, strip_accents=False)

    def ids(self, text):
        words = self.tokenizer.basic_tokenizer.tokenize(text)
        pieces = [piece for word in words for piece in self.tokenizer.wordpiece_tokenizer.tokenize(word)]
        return self.tokenizer.convert_tokens_to_ids(pieces)

    def never(self):
        """Pieces that are a part of no word that the tokenizer finds in any text."""
        words = self.tokenizer.basic_tokenizer.tokenize
        def occurs(piece):
            return words("か" + piece[2:]) == ["か" + piece[2:]] if piece.startswith("##") else words(piece) == [piece]
        return [piece for piece in self.pieces[5:] if not occurs(piece)]


def examples(root):
    features = features_of(CASE)
    for record in tf.data.TFRecordDataset(sorted(map(str, root.glob("*tfrecord")))):
        row = {name: value.numpy() for name, value in tf.io.parse_single_example(record, features).items()}
        size, masked = int(sum(row["input_mask"])), int(sum(row["masked_lm_weights"]))
        ids = row["input_ids"][:size].tolist()
        for position, label in zip(row["masked_lm_positions"][:masked], row["masked_lm_ids"][:masked]):
            ids[position] = int(label)
        middle = row["segment_ids"][:size].tolist().index(1) - 1
        yield ids[1:middle], ids[middle + 1:-1]


def check(pipe, root, documents, boundaries, vocab_size):
    """The tokenizer of fine-tuning, the number of compared ids, and the parts of examples that it gives no text."""
    (root / "text.txt").write_text("".join("\n".join(lines) + "\n\n" for lines in documents), encoding="utf-8")
    out = root / f"out-{boundaries}"
    variables = {"corpus": root / "text.txt", "out": out, "validation": 0, "vocab_size": vocab_size, "dupe_factor": 1,
                 "model_size": "tiny", "seq_len": CASE["length"], "max_predictions": CASE["predictions"],
                 "boundaries": boundaries}
    ran(pipe, "run", before_training(PIPELINE, root), "--work", root / f"work-{boundaries}",
        *(word for name, value in variables.items() for word in ("--set", f"{name}={value}")), seconds=600)
    fine = FineTuning(out / "pretraining_data" / "vocab.txt")
    texts = "\0".join(letters([one for line in lines for one in fine.ids(unicodedata.normalize("NFKC", line))])
                      for lines in documents)
    parts = [part for pair in examples(out / "pretraining_data") for part in pair]
    return fine, sum(map(len, parts)), [part for part in parts if letters(part) not in texts]


def main(pipe, file=None):
    problems, pipe = [], Path(pipe).resolve()
    documents = documents_of(21)
    if file:
        lines = [line for line in Path(file).read_text(encoding="utf-8").split("\n") if line.strip()]
        documents = [lines[at:at + 8] for at in range(0, len(lines), 8)]
    with tempfile.TemporaryDirectory() as directory:
        size = 8000 if file else 200
        fine, count, wrong = check(pipe, Path(directory), documents, "none", size)
        never = fine.never()
        print(f"none: {count} ids of {sum(map(len, documents))} lines, {len(wrong)} parts that fine-tuning cuts otherwise, "
              f"{len(never)} of {len(fine.pieces)} pieces that it never gives")
        problems += [f"{[fine.pieces[one] for one in part]} are not in the corpus" for part in wrong]
        problems += [f"{piece} is a part of no word in fine-tuning" for piece in never]
        if count < 10000:
            problems.append(f"only {count} ids")
        # As the head of the pipeline says, a vocabulary of morphemes does not suit this tokenizer.
        fine, count, wrong = check(pipe, Path(directory), documents, "auto", size)
        print(f"auto: {count} ids, {len(wrong)} parts, {len(fine.never())} of {len(fine.pieces)} pieces")
        if not wrong or not fine.never():
            problems.append("a vocabulary of morphemes would do for google-research/bert, too")
    return told(problems, "ids of pre-training and of fine-tuning")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
