#!/usr/bin/env python3
"""What a person types: sizes that fit, settings that stay, mistakes that are found before anything runs.

    settings.py PIPE
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PIPE = str(Path(sys.argv[1]).resolve())
FILE = """\
pipe: 1
name: mine
vars: { corpus: corpus.txt, out: out, vocab_size: 300, documents: blank_line, preset: tiny }
stages:
  source: { type: download, url: "${corpus}" }
  lines: { type: decompress, input: source, documents: "${documents}" }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.1 } }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: "${vocab_size}", out: "${out}/tokenizer" }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 32, out: "${out}/packed" }
  train: { type: train, plugin: train, inputs: { data: packed, tokenizer: tokenizer },
           config: { preset: "${preset}" }, steps: 2, out: "${out}" }
"""
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron upsilon".split()


def corpus(lines, blank):
    choose = random.Random(7)
    texts = [" ".join(choose.choice(WORDS) + choose.choice(["", "s", "ed", "ing"]) for _ in range(8))
             for _ in range(lines)]
    return ("\n\n" if blank else "\n").join(texts) + "\n"


class Place:
    """A directory with a pipeline file and a corpus."""

    def __init__(self, root, name, text):
        self.root = root / name
        self.root.mkdir()
        (self.root / "mine.yaml").write_text(FILE)
        (self.root / "corpus.txt").write_text(text)

    def pipe(self, *words, code=0):
        run = subprocess.run([PIPE, *words], cwd=self.root, capture_output=True, text=True, timeout=300)
        if run.returncode != code:
            raise AssertionError(f"{words}: {run.returncode}, not {code}\n{run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    def pieces(self, out="out"):
        return json.loads((self.root / out / "tokenizer/MANIFEST.json").read_text())["facts"]["vocab_size"]


def check(condition, *told):
    if not condition:
        raise AssertionError(*told)


def says(text, *parts):
    for part in parts:
        check(part in text, f"{part!r} is not in:\n{text}")


def sizes_that_fit(root):
    place = Place(root, "sizes", corpus(97, True))
    said = place.pipe("run", "mine.yaml", "--until", "packed", "--set", "vocab_size=8000", code=1)
    least, most = map(int, re.search(r"(\d+) to (\d+) would do", said).groups())
    says(said, "vocab_size: 8000 is more than this text has pieces for")
    check("goes on from there" not in said, said)
    says(said.splitlines()[-1], "tokenizer", f"{least} to {most} would do")
    said = place.pipe("run", "mine.yaml", "--until", "packed", "--set", "vocab_size=273", code=1)
    says(said, "273 is too few", f"{least} to {most} would do")
    for size in (least, (least + most) // 2, most):
        place.pipe("run", "mine.yaml", "--until", "packed", "--set", f"vocab_size={size}", "--set", f"out=at-{size}")
        check(place.pieces(f"at-{size}") == size, size)
    said = place.pipe("run", "mine.yaml", "--until", "packed", "--set", "vocab_size=auto", "-j", "1")
    says(said, f"tokenizer: {most} pieces")
    check(place.pieces() == most, place.pieces())
    packed = json.loads((place.root / "out/packed/packed.json").read_text())
    check(packed["tokenizer"]["vocab_size"] == most, packed["tokenizer"])
    says(place.pipe("run", "mine.yaml", "--until", "packed", "--set", "vocab_size=auto"), "nothing to do")
    said = place.pipe("status", "mine.yaml", "--set", "vocab_size=290")
    says(said, "done with vocab_size auto; this file asks 290")


def text_without_documents(root):
    place = Place(root, "lines", corpus(400, False))
    said = place.pipe("run", "mine.yaml", "--until", "packed", code=1)
    says(said, "split 'validation' has 0 of 1 documents", "400 lines are 1 document", "only a blank line ends one",
         "documents: line")
    place.pipe("run", "mine.yaml", "--until", "packed", "--set", "documents=line")
    # What was dropped is told, too.
    text = FILE.replace("  docs:", "  long: { type: filter, input: lines, min_chars: 60 }\n  docs:").replace(
        "input: lines, splits", "input: long, splits")
    (place.root / "mine.yaml").write_text(text)
    said = place.pipe("run", "mine.yaml", "--until", "packed", "--set", "documents=line", "--set", "out=other",
                      "--set", "vocab_size=20000", code=1)
    says(said, "is more than this text has pieces for", "before it: stage 'long' took in 400 and gave ")


def mistakes_before_anything_runs(root):
    place = Place(root, "mistakes", corpus(97, True))
    train = "stages.train.config."
    for words, part in ((["preset=small"], 'config.preset: "small"; there are '),
                        (["preset=tinny"], "did you mean tiny?"),
                        ([train + "optimizer.lr=0"], "config.optimizer.lr: wants more than 0"),
                        ([train + "optimizer.rate=0.1"], "config.optimizer.rate: there is no such key"),
                        ([train + "model.heads=5"], "config.model.heads: 5 does not divide d 64"),
                        ([train + "export.gguf=q4"], "config.export.gguf: wants one of"),
                        (["vocabsize=1"], "did you mean 'vocab_size'?"),
                        (["size=1"], "there are 'corpus', 'documents', 'out', 'preset', 'vocab_size'"),
                        (["stages.trian.steps=1"], "did you mean 'train'?"),
                        (["stages.docs.splits.validation=2"], "'validation' a fraction from 0 to 1"),
                        ([train + "preset.x=1"], "'preset' is no map")):
        settings = [word for setting in words for word in ("--set", setting)]
        for command in (["validate", "mine.yaml"], ["run", "mine.yaml", "-n"], ["run", "mine.yaml"]):
            says(place.pipe(*command, *settings, code=2), part)
    check(not (place.root / "out").exists() and not (place.root / ".pipe").exists(), "something ran")
    place.pipe("validate", "mine.yaml", *[word for key in ("optimizer.lr=0.002", "model.layers=3", "export.gguf=f16",
                                                           "mesh=auto") for word in ("--set", train + key)])
    says(place.pipe("run", "mine.yaml", "--until", "pakced", code=2), "did you mean 'packed'?")
    says(place.pipe("run", "mine.yaml", "--until", "model", code=2), "there are 'source', 'lines', 'docs'")
    says(place.pipe("trianer", "setup", code=2), "did you mean 'trainer'?")
    says(place.pipe("rnu", "mine.yaml", code=2), "did you mean 'run'?")


def a_text_that_yaml_would_not_read(root):
    place = Place(root, "quotes", corpus(97, True))
    for mark in "*&!%@`":
        said = place.pipe("run", "mine.yaml", "-n", "--set", f"stages.source.url={mark}.txt", code=2)
        says(said, f'a text that begins with {mark} wants quotes: "{mark}.txt"')
    said = place.pipe("run", "mine.yaml", "-n", "--set", 'stages.source.url="*.txt"')
    check("wants quotes" not in said, said)


def patterns_of_files(root):
    place = Place(root, "patterns", corpus(97, True))
    for lines, name in enumerate(("g/1.txt", "g/2.txt", "g/a/3.txt", "g/a/b/4.txt", "g/.hidden/5.txt", "h/i/x.csv", "h/i/y.csv",
                                  "h/i/z.md"), 97):
        (place.root / name).parent.mkdir(parents=True, exist_ok=True)
        (place.root / name).write_text(corpus(lines, True))
    run = ("run", "mine.yaml", "--until", "docs", "--set")
    said = place.pipe(*run, "stages.source.url=g/**/*.txt", code=2)
    says(said, 'list a pattern for each depth: ["g/*.txt", "g/*/*.txt", …]')
    for url, part in (("g/**", '["g/*", "g/*/*", …]'), ("g/**.txt", '["g/*.txt", "g/*/*.txt", …]'),
                      ("gs://bucket/g/**/*", '["gs://bucket/g/*", "gs://bucket/g/*/*", …]')):
        says(place.pipe(*run, f"stages.source.url={url}", code=2), part)
    for url, part in (("g", "e.g. g/*.txt\n"), ("h", "e.g. h/*/*.csv\n"), ("g/*", "g/a: is a directory; name its files, e.g. g/a/*.txt\n")):
        says(place.pipe(*run, f"stages.source.url={url}", code=2), part)
    said = place.pipe(*run, 'stages.source.url=["g/*.txt", "g/*/*.txt"]')
    says(said, "stage 'source': 3 files\n")
    check("more than once" not in said, said)
    said = place.pipe(*run, 'stages.source.url=["g/*.txt", "./g/1*"]', "--force", "docs")
    says(said, "stage 'source': 3 files\n", "warning: stage 'source': ./g/1.txt: is named more than once, and is read as often\n")
    check(said.count("more than once") == 1, said)


def mistakes_told_once(root):
    place = Place(root, "once", corpus(97, True))
    place.pipe("run", "mine.yaml", "--until", "docs")
    said = place.pipe("run", "mine.yaml", "--only", "packed", code=2)
    check(said.count("needs the artifact of 'tokenizer'") == 1, said)
    (place.root / "mine.yaml").write_text("""pipe: 1
name: words
stages:
  source: { type: download, url: corpus.txt }
  lines: { type: decompress, input: source }
  plain: { type: write_jsonl, input: lines, out: plain }
  words: { type: segment_words, input: lines, dictionary: nowhere/dic }
  cut: { type: write_jsonl, input: words, out: cut }
""")
    said = place.pipe("run", "mine.yaml", code=2)
    check(said.count("dictionary 'nowhere/dic'") == 1, said)
    check("dictionary" not in place.pipe("run", "mine.yaml", "--until", "plain"), "a stage that does not run is told of")


def settings_stay(root):
    place = Place(root, "stay", corpus(97, True))
    (place.root / "my.vars").write_text("vocab_size: 290\nout: elsewhere\n")
    said = place.pipe("run", "mine.yaml", "--until", "packed", "--vars", "my.vars")
    says(said, "elsewhere/tokenizer")
    check(place.pieces("elsewhere") == 290 and not (place.root / "out").exists(), "not as in the file")
    says(place.pipe("status", "mine.yaml"), "as in the last run: --vars my.vars", "elsewhere/tokenizer")
    place.pipe("run", "mine.yaml", "--until", "packed", "--vars", "my.vars", "--set", "vocab_size=9000", "--set",
               "out=third", code=1)
    said = place.pipe("retry", "mine.yaml", code=1)
    says(said, "as in the last run: --vars my.vars --set vocab_size=9000 --set out=third", "9000 is more than this text has")
    check(not (place.root / "out").exists(), "the file's own settings were taken")
    said = place.pipe("retry", "mine.yaml", code=1)  # its own line in the log has them, too
    says(said, "as in the last run: --vars my.vars --set vocab_size=9000")
    said = place.pipe("status", "mine.yaml")
    says(said, "done with vocab_size 290; this file asks 9000", "(unit tokenizer/-)", "would do")
    says(place.pipe("clean", "mine.yaml", "-n"), "as in the last run")
    says(place.pipe("report", "mine.yaml"), "as in the last run")
    said = place.pipe("status", "mine.yaml", "--set", "vocab_size=290")
    check("as in the last run" not in said, "given, and taken")
    says(said, "the last run had the settings --vars my.vars --set vocab_size=9000 --set out=third; this is its work")


def status_of_other_inputs(root):
    """A run with three files, then one with another file: the newest work is that of one file."""
    place = Place(root, "inputs", corpus(97, True))
    many = root / "inputs" / "many"
    many.mkdir()
    for number in range(3):
        (many / f"{number}.txt").write_text(corpus(40 + number, True))
    place.pipe("run", "mine.yaml", "--until", "docs", "--set", f"corpus={many}/*.txt", "--set", "out=three")
    (root / "inputs" / "one.txt").write_text(corpus(50, True))
    place.pipe("run", "mine.yaml", "--until", "docs", "--set", "corpus=one.txt", "--set", "out=one")
    says(place.pipe("status", "mine.yaml"), "1 of 1 partition, ")
    said = place.pipe("status", "mine.yaml", "--set", "corpus=none.txt", "--set", "out=never")
    says(said, "the last run had the settings --set corpus=one.txt --set out=one; this is its work")
    for text, part in (("- a\n", "a map of names to values"), ("out: [a]\n", "bad.vars:1:6: 'out' must be a text")):
        (place.root / "bad.vars").write_text(text)
        says(place.pipe("run", "mine.yaml", "--vars", "bad.vars", code=2), part)


def a_secret_is_not_kept(root):
    place = Place(root, "secret", corpus(97, True))
    text = FILE.replace("vars: {", "vars: { token: none, ").replace("steps: 2", 'steps: 2, prompts: "${token}"')
    (place.root / "mine.yaml").write_text(text)
    place.pipe("run", "mine.yaml", "--until", "packed", "--set", "token=hush", "--set", "vocab_size=9000", code=1)
    said = place.pipe("retry", "mine.yaml", code=2)
    says(said, "--set token=…", "--set vocab_size=9000")
    for file in (place.root / ".pipe").rglob("*"):
        check(not file.is_file() or b"hush" not in file.read_bytes(), file)


with tempfile.TemporaryDirectory() as directory:
    for part in (sizes_that_fit, text_without_documents, mistakes_before_anything_runs, a_text_that_yaml_would_not_read,
                 patterns_of_files, mistakes_told_once, settings_stay, status_of_other_inputs,
                 a_secret_is_not_kept):
        part(Path(directory))
        print(f"{part.__name__}: good", flush=True)
