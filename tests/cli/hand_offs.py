#!/usr/bin/env python3
"""Exports that no reader could use: each is refused with the reason, as early as the fault can be known. `verify`
accepts a good artifact and rejects it after a change. A stop also ends the passes of a writer.

    hand_offs.py PIPE [SCENARIO...]
"""

import signal
import subprocess
import sys
import time
from string import Template

import replan_support as support
from bad_input import expect, wait_for
from replan_support import Sandbox, check, check_says

TEXT = "吾輩は猫である。\n名前はまだ無い。\n\nどこで生れたかとんと見当がつかぬ。\n\n" * 100
WORDS = "猫 映画 吾輩 名前 とても 良い つまらない 普通".split()
ROWS = "text\tlabel\n" + "".join(f"{first}は{second}が{third}\t{label}\n" for first in WORDS for second in WORDS
                                 for third, label in zip(WORDS, ["good", "bad"] * 4))


class Line(Sandbox):
    """A `Sandbox` whose pipeline file is the text `stages` after a source with `text`."""

    def __init__(self, stages, text=TEXT, read="{ type: decompress, input: source }"):
        super().__init__()
        self.write_file = lambda: None
        self.source.write_text(text)
        self.file.write_text(f"pipe: 1\nname: line\nstages:\n  source: {{ type: download, url: \"{self.source}\" }}\n"
                             f"  lines: {read}\n{stages}")

    def refused(self, *parts, code=2):
        run = self.run()
        expect(run, code, *parts)
        out = self.root / "out"
        made = [path for path in out.rglob("*") if path.is_file() and ".pipe" not in path.parts] if out.exists() else []
        check(not made, f"published {made}")
        return run.err.splitlines()[0]


TOKENIZER = Template("""  tokenizer: { type: train_tokenizer, input: $input, $keys }
  tokens: { type: encode, input: $input, tokenizer: tokenizer }
""")
WORDPIECE = TOKENIZER.substitute(input="lines", keys="vocab_size: 200, model: wordpiece, layout: bert")
TRAINED = TOKENIZER.substitute(input="docs", keys="")
BERT = "  w: { type: write_bert, input: tokens, seq_len: 16, max_predictions: 3, out: out/w }\n"
SPLIT = Template("  docs: { type: split, input: lines, splits: { train: rest, $held }, min_documents: 0 }\n")
TRAIN = "  train: { type: train, plugin: train, inputs: { data: w, tokenizer: tokenizer }, steps: 1, out: out/t }\n"


def unigram(layout, vocab_size=300):
    return TOKENIZER.substitute(input="lines", keys=f"layout: {layout}, vocab_size: {vocab_size}")


def packed(encoding, keys=""):
    return f"  w: {{ type: write_packed, input: tokens, seq_len: 16, encoding: {encoding}, {keys} out: out/w }}\n"


DOCUMENTS = packed("mmap", "packing: documents,").replace("seq_len: 16, ", "")


def keys_about_rows_beside_documents():
    docs = SPLIT.substitute(held="validation: 0.2") + TRAINED
    return refused_by_the_file_alone(
        (docs + packed("mmap", "packing: documents,"), "seq_len: is about rows, and `packing: documents` makes none"),
        (docs + DOCUMENTS.replace("mmap", "raw16"), "packing: documents are the sequences of a Megatron data set; write"),
        (docs + DOCUMENTS.replace("documents", "stream"), "seq_len: is missing, and rows need a length; write `seq_len: 1024`"))


def tfdata(keys):
    return f"  w: {{ type: write_tfdata, input: tokens, name: ids, {keys} out: out/w }}\n"


def tfds(name="x", keys="", input="lines"):
    return f"  w: {{ type: write_tfds, input: {input}, name: {name}, version: 1.0.0, {keys} out: out/w }}\n"


def refused_by_the_file_alone(*cases):
    """Each case is a text of stages and a part of the refusal."""
    told = []
    for stages, part in cases:
        with Line(stages) as sandbox:
            told.append(sandbox.refused(part))
            check(not sandbox.work.exists(), "work was begun")
    return "\n  " + "\n  ".join(told)


def tokenizers_that_do_not_fit():
    """Refused before anything is trained for hours."""
    return refused_by_the_file_alone(
        *((unigram(layout) + BERT, f"a tokenizer of layout '{layout}' has no vocab.txt with [CLS], [SEP] and [MASK]")
          for layout in ("pipe", "flax_lm1b", "t5", "jestimator")),
        (WORDPIECE + packed("example", "answers_after: '[SEP]',"), "answers_after: a vocab.txt has no user-defined symbols"),
        (WORDPIECE + tfdata(""), "write_tfdata ends each document with the id eos"),
        (WORDPIECE + tfds(keys="max_tokens: 20, tokenizer: tokenizer,"), "max_tokens: a vocab.txt cannot count tokens"),
        (unigram("pipe", 65537) + packed("raw16"),
         "raw16 has room for ids below 65536, and the tokenizer has 65537 pieces; write `encoding: raw32`"),
        (unigram("t5", 65500) + packed("raw16"), "the tokenizer has 65600 pieces"),
        (tfds() + "  tokens: { type: encode, input: lines, tokenizer: w }\n", "a stage of type write_tfds makes no tokenizer"))


def data_that_the_trainer_does_not_read():
    docs = SPLIT.substitute(held="validation: 0.2") + TRAINED
    return refused_by_the_file_alone(
        (docs + packed("mmap") + TRAIN, "data: rows in mmap, which the trainer does not read"),
        (docs + DOCUMENTS + TRAIN, "data: whole documents, which the trainer does not read: give write_packed"),
        (docs.replace("validation", "test") + packed("raw16") + TRAIN, "data: there is no split 'validation', only train, test"),
        (docs + tfds(input="docs") + TRAIN,
         "data: is made by a stage of type write_tfds, and the trainer reads artifacts of `write_packed` or `write_bert` only"),
        (docs.replace(TRAINED, WORDPIECE.replace("lines", "docs")) + BERT + TRAIN,
         "data: masked pairs of sentences of write_bert, which config.objective.name: causal does not learn"))


def names_that_no_reader_finds():
    return refused_by_the_file_alone(
        (tfds("Comments"), "finds only names in lower snake case"),
        (tfds("lm1b"), "lm1b"),
        (unigram("jestimator") + tfdata("shuffle: none,"), "documents have to come shuffled"),
        (unigram("jestimator") + tfdata("names: { validation: val },"), "names: there is no split 'validation'"),
        ("  w: { type: write_jsonl, input: lines, names: { train: ../x }, out: out/w }\n", "names: train: must be a name of letters"))


READ_LABELS = "{ type: read_rows, input: source, format: tsv, text: text, label: label }"
LABELS = "packing: best_fit, labels: [good, bad],"


def labels_outside_the_list():
    told = []
    for stages in (tfds(keys="labels: [good, bad],"), unigram("pipe") + packed("example", LABELS)):
        with Line(stages, ROWS + "普通\tmeh\n", READ_LABELS) as sandbox:
            told.append(sandbox.refused("its label 'meh' is not among `labels`; name it there, or set "
                                        "on_unknown_label: quarantine", code=1))
    return "\n  " + "\n  ".join(told)


def labels_that_no_trainer_tells_apart():
    """Refused by the file alone, or by the ids of the names before a row is made. Good ones are published, without
    records of other labels, and verified."""
    told = [refused_by_the_file_alone(
        (unigram("pipe") + packed("example", LABELS), "labels: the records that come in have none"))]
    for keys, part in ((LABELS.replace("best_fit", "stream"), "write `packing: best_fit`"),
                       (LABELS.replace(", bad", ""), "labels: 1 name, and there is nothing to choose"),
                       (LABELS + "answers_after: <answer>,", "leave one of the two out")):
        with Line(unigram("pipe") + packed("example", keys), ROWS, READ_LABELS) as sandbox:
            told.append(sandbox.refused(part))
            check(not sandbox.work.exists(), "work was begun")
    alike = LABELS.replace("bad", "gone, bad")
    with Line(unigram("pipe") + packed("example", alike), ROWS, READ_LABELS) as sandbox:
        told.append(sandbox.refused("labels: 'good' and 'gone' have the same id", code=1))
    others = LABELS + "on_unknown_label: quarantine,"
    with Line(unigram("pipe") + packed("example", others), ROWS + "普通\tmeh\n", READ_LABELS) as sandbox:
        check_says(sandbox.ok().err, "dropped_unknown_label 1")
        verified = subprocess.run([support.PIPE, "verify", sandbox.root / "out/w"], capture_output=True, text=True,
                                  check=False)
        check(verified.returncode == 0, verified.stdout)
    return "\n  ".join(told)


def labels_that_are_numbers():
    """One that is no number is refused; others are published in their one form, and verified."""
    rows = ROWS.replace("good", "+4.50").replace("bad", "-1e3")
    stages = unigram("pipe") + packed("example", "packing: best_fit, labels: numbers,").replace("16", "32")
    with Line(stages, rows + "普通\t1e999\n", READ_LABELS) as sandbox:
        told = [sandbox.refused("its label '1e999' is no finite decimal number; correct it, or set "
                                "on_unknown_label: quarantine", code=1)]
    with Line(stages.replace("32", "16"), rows, READ_LABELS) as sandbox:
        told.append(sandbox.refused("labels: a number and the ends of lines take up to 29 ids", code=1))
    with Line(stages, rows, READ_LABELS) as sandbox:
        sandbox.ok()
        check_says((sandbox.root / "out/w/packed.json").read_text(), '"labels": "numbers"')
        verified = subprocess.run([support.PIPE, "verify", sandbox.root / "out/w"], capture_output=True, text=True,
                                  check=False)
        check(verified.returncode == 0, verified.stdout)
    return "\n  " + "\n  ".join(told)


def splits_too_small():
    """Splits need at least one batch for evaluation, and at least one record."""
    with Line(SPLIT.substitute(held="validation: 0.2") + tfds(input="docs", keys="eval_batch: 100000,")) as sandbox:
        told = [sandbox.refused("eval_batch", code=1)]
    with Line(SPLIT.substitute(held="validation: 0.000001") + tfds(input="docs")) as sandbox:
        told.append(sandbox.refused("split 'validation' has no records", code=1))
    return "\n  " + "\n  ".join(told)


BERT_FILE = """pipe: 1
name: bert
stages:
  source: {{ type: download, url: text.txt }}
  lines: {{ type: decompress, input: source }}
  tokens: {{ type: encode, input: lines, tokenizer: "{file}" }}
  bert: {{ type: write_bert, input: tokens, out: out/bert, max_predictions: 3, {keys} }}
"""
BERT_VOCABULARY = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n.\n"


def bert_sandbox(sandbox, text, keys):
    """Sets the pipeline and the files that `sandbox` runs from now on."""
    sandbox.write_file = lambda: None
    (sandbox.root / "text.txt").write_text(text)
    (sandbox.root / "vocab.txt").write_text(BERT_VOCABULARY)
    sandbox.file.write_text(BERT_FILE.format(file=sandbox.root / "vocab.txt", keys=keys))


def a_stop_during_the_passes_of_bert():
    """The passes are made at the end of a partition; a thousand of them take minutes."""
    with Sandbox() as sandbox:
        bert_sandbox(sandbox, "a b. b a.\na. b.\n\nb b. a\n\n" * 20_000, "seq_len: 16, dupe_factor: 1000")
        child = sandbox.start()
        wait_for(lambda: list(sandbox.work.rglob("*.1.spill")))
        child.send_signal(signal.SIGTERM)
        began = time.monotonic()
        _, err = child.communicate(timeout=20)
        seconds = time.monotonic() - began
        check(child.returncode == 143, f"exit {child.returncode}\n{err.decode()}")
        check(seconds < 2, f"took {seconds:.1f} s")
        check_says(sandbox.ok(command="status").out, "cancelled")
        check("failed\t" not in sandbox.log_text(), "a partition that was stopped is said to have failed")
        bert_sandbox(sandbox, "a b. b a.\na. b.\n\nb b. a\n\n" * 20, "seq_len: 16, dupe_factor: 2")
        sandbox.ok()
        return f"exit 143 after {seconds:.2f} s"


def text_without_a_word_of_bert():
    with Sandbox() as sandbox:
        bert_sandbox(sandbox, "\u200b\n\n" * 50, "seq_len: 16")
        run = sandbox.run()
        expect(run, 1, "stage 'bert': split 'train' has 50 records and no id in any of them")
        check(not (sandbox.root / "out/bert/bert.json").exists(), "something was published")
        return run.err.splitlines()[0]


def vocabularies_that_do_not_fit():
    """A faulty vocab.txt or key is refused before a partition begins; `verify` finds a later change of the published
    files."""
    good = BERT_VOCABULARY
    with Sandbox() as sandbox:
        bert_sandbox(sandbox, "a b. b a.\na.\n\nb b. a\n\n" * 50, "")
        vocabulary, told = sandbox.root / "vocab.txt", []
        for text, keys, code, part in (
                (good.replace("\n", "\r\n"), "seq_len: 16", 2, "vocab.txt: line 1: ends with CR LF"),
                (good + "a\n", "seq_len: 16", 2, "vocab.txt: line 9: the piece 'a' stands in line 6 already"),
                (good.replace("[UNK]", "[unk]"), "seq_len: 16", 2, "vocab.txt: has no piece [UNK]"),
                (good.replace("[MASK]\n", ""), "seq_len: 16", 2, "vocab.txt has no piece [MASK]"),
                ("c\n" + good, "seq_len: 16", 2, "vocab.txt has [PAD] further down"),
                (good, "seq_len: 4", 2, "seq_len: 4: must be from 8"),
                (good, "whole_words: morphemes", 2, "needs the column 'cuts'")):
            vocabulary.write_bytes(text.encode())
            sandbox.file.write_text(BERT_FILE.format(file=vocabulary, keys=keys))
            run = sandbox.run()
            expect(run, code, part)
            check(not (sandbox.root / "out/bert").exists(), "something was published")
            told.append(run.err.splitlines()[0])
        vocabulary.write_text(good)
        sandbox.file.write_text(BERT_FILE.format(file=vocabulary, keys="seq_len: 16"))
        sandbox.ok()
        out = sandbox.root / "out/bert"
        check(subprocess.run([support.PIPE, "verify", out], capture_output=True, check=False).returncode == 0, "verify finds something in what was just made")
        config = out / "bert_config.json"
        config.write_text(config.read_text().replace('"vocab_size": 8', '"vocab_size": 7'))
        found = subprocess.run([support.PIPE, "verify", out], capture_output=True, text=True, check=False)
        check(found.returncode == 1, f"exit {found.returncode}")
        check_says(found.stdout, "bert_config.json: vocab_size is 7 where there are ids below 8")
        return "\n  " + "\n  ".join(told)


SCENARIOS = [
    tokenizers_that_do_not_fit, data_that_the_trainer_does_not_read, keys_about_rows_beside_documents,
    names_that_no_reader_finds, labels_outside_the_list, labels_that_no_trainer_tells_apart, labels_that_are_numbers, splits_too_small, vocabularies_that_do_not_fit,
    a_stop_during_the_passes_of_bert, text_without_a_word_of_bert,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
