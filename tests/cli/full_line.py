#!/usr/bin/env python3
"""From compressed text to a tokenizer, packed rows and a data set: the same bytes, whatever happens in between.

    full_line.py PIPE settings           threads, batches, memory, locations
    full_line.py PIPE points             killed at commit points
    full_line.py PIPE moments            killed from outside at any moment
    full_line.py PIPE workers [CORPUS]   only worker processes, two at a time, with random deaths

With CORPUS, `workers` runs pipelines/cc100_ja.yaml over that file instead of the small pipeline below.
"""

import lzma
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipe_run import Run, corpus, differences, fail
from workers import Shared

FILE = """\
pipe: 1
name: full
vars: {{ out: "", corpus: "" }}
limits: {{ memory: {memory} }}
stages:
  source: {{ type: download, url: "${{corpus}}" }}
  lines: {{ type: decompress, input: source, partition: 96KiB, max_record_bytes: 64KiB }}
  clean: {{ type: normalize, input: lines, form: nfkc }}
  good: {{ type: filter, input: clean, min_chars: 3, max_run: 40 }}
  docs: {{ type: split, input: good, splits: {{ train: rest, validation: 0.1 }} }}
  pick: {{ type: sample, input: docs, split: train, bytes: 300KB }}
  words: {{ type: segment_words, input: pick, dictionary: ipadic }}
  tokenizer: {{ type: train_tokenizer, input: words, vocab_size: 900, character_coverage: 0.98, byte_fallback: true,
                out: "${{out}}/tokenizer" }}
  tokens: {{ type: encode, input: docs, tokenizer: tokenizer }}
  packed: {{ type: write_packed, input: tokens, seq_len: 64, shards: 3, out: "${{out}}/packed" }}
  best: {{ type: write_packed, input: tokens, seq_len: 64, packing: best_fit, encoding: array_record, segments: true,
           shards: 3, out: "${{out}}/best" }}
  ids: {{ type: write_packed, input: tokens, seq_len: 64, encoding: raw16, shards: 3, out: "${{out}}/ids" }}
  mmap: {{ type: write_packed, input: tokens, seq_len: 64, encoding: mmap, shuffle: none, out: "${{out}}/mmap" }}
  documents: {{ type: write_packed, input: tokens, packing: documents, encoding: mmap, shards: 2,
                out: "${{out}}/documents" }}
  pieces: {{ type: train_tokenizer, input: words, model: wordpiece, layout: bert, vocab_size: 700,
             character_coverage: 0.98, out: "${{out}}/pieces" }}
  bert_words: {{ type: segment_words, input: docs, dictionary: ipadic }}
  bert_ids: {{ type: encode, input: bert_words, tokenizer: pieces }}
  bert: {{ type: write_bert, input: bert_ids, seq_len: 64, max_predictions: 10, dupe_factor: 2, shards: 3,
           whole_words: morphemes, out: "${{out}}/bert" }}
  data: {{ type: write_tfdata, input: tokens, name: books, names: {{ validation: ptb }}, shards: 3,
          out: "${{out}}/data" }}
  rows: {{ type: write_jsonl, input: docs, unit: document, shards: 2, out: "${{out}}/rows" }}
  pairs: {{ type: write_jsonl, input: tokens, task: span_corruption, max_source: 48, out: "${{out}}/pairs" }}
  text: {{ type: write_tfds, input: docs, name: full, version: 1.0.0, shards: 3, out: "${{out}}" }}
"""
PUBLISHED = ("tokenizer", "packed", "best", "ids", "mmap", "documents", "pieces", "bert", "data", "rows",
             "pairs", "full/1.0.0")
SUBJECTS = "猫 犬 先生 学生 子供 母 父 鳥 町の人 旅人 船長 王様 私 あなた 彼女".split()
PLACES = "山 川 海 学校 図書館 東京 京都 庭 駅 村 森 部屋 台所 港 市場".split()
THINGS = "本 手紙 林檎 魚 絵 椅子 時計 新聞 花 石 電話 コンピューター 自転車 テーブル 写真".split()
DEEDS = "読む 書く 食べた 見つけた 描いた 買った 忘れた 洗っている 運んだ 探していた 捨てた 眺めている".split()
LETTERS = [chr(code) for code in (*range(0x4e00, 0x4e00 + 250), *range(0x30a2, 0x30f0, 2))]  # for names
TAILS = ("", "と言った", "ようだ", "かもしれない", "はずです", "ことがある", "らしい")
# In the order of a run, so that each start still reaches the point of its kill.
POINTS = ("partition.committed:2", "object.visible:3", "partition.logged:4", "input.ended:1", "object.written:2",
          "sidecars.committed:1", "manifest.committed:1", "artifact.published:1", "partition.committed:3",
          "object.synced:4", "shard.committed:1", "shard.logged:2", "manifest.committed:1", "artifact.published:1")
LEAST_KILLS = {"points": 10, "moments": 20, "workers": 15}
MOST_ROUNDS = 30


def sentences(seed, size):
    """Japanese text of a few words and names, in which a tokenizer finds morphemes and something to learn."""
    chance = random.Random(seed)
    names = ["".join(chance.choices(LETTERS, k=chance.choice((2, 3)))) for _ in range(600)]
    made, lines = 0, []
    while made < size:
        line = "".join(f"{chance.choice(SUBJECTS)}は{chance.choice(PLACES)}で{chance.choice(THINGS + names)}を"
                       f"{chance.choice(DEEDS)}{chance.choice(TAILS)}。" for _ in range(chance.randrange(1, 6)))
        if chance.random() < 0.05:
            line += f"{chance.randrange(10_000)}円、ＡＢＣ{chr(chance.randrange(0x4e00, 0x9fa0))}"
        lines.append(line + "\n" * chance.choice((1, 1, 1, 2)))
        made += len(line.encode())
    return "".join(lines).encode()


class Trial:
    """A text, and the bytes that an undisturbed run publishes from it."""

    def __init__(self, program, root):
        self.program, self.root, self.runs = program, root, 0
        self.text = root / "corpus.txt.xz"
        # Includes the dirty lines of same_bytes.py: all later stages must accept them.
        self.text.write_bytes(lzma.compress(sentences(1, 900_000) + b"\n" + corpus(seed=2, size=150_000)))
        began = time.monotonic()
        self.undisturbed = self.new_run()
        self.check_exit(self.undisturbed, self.finish(self.undisturbed, "-j", "2"))
        self.seconds = time.monotonic() - began
        self.wanted = self.undisturbed.published()
        for artifact in PUBLISHED:
            if f"{artifact}/MANIFEST.json" not in self.wanted:
                fail(f"an undisturbed run did not publish {artifact}", self.undisturbed)
            if self.undisturbed.verify(self.undisturbed.out / artifact) != 0:
                fail(f"pipe verify finds something in {artifact}", self.undisturbed)
        print(f"an undisturbed run: {self.seconds:.1f} s, {len(self.wanted)} objects", flush=True)

    def new_run(self, kind=Run, memory="1GiB"):
        self.runs += 1
        return kind(self.program, self.root / f"run-{self.runs}", FILE.format(memory=memory))

    def settings(self):
        return "--set", f"corpus={self.text}"

    def finish(self, run, *options, kill_at=None):
        return run.finish(*self.settings(), *options, kill_at=kill_at)

    def check_exit(self, run, code):
        if code != 0:
            fail(f"exit code {code}", run)

    def check_same(self, run, what):
        found = differences(self.wanted, run.published())
        if found:
            fail(f"{what}: " + "; ".join(found), run)
        print(f"same bytes: {what}", flush=True)

    def check_visible(self, run, what):
        for name, digest in run.published().items():
            if self.wanted.get(name) != digest:
                fail(f"{what}: {name} is visible and is not what an undisturbed run publishes", run)


def settings(trial):
    for memory, options in (("1GiB", ("-j", "1")),
                            ("1GiB", ("-j", "7", "--batch-bytes", "700")),
                            ("600MiB", ("-j", "2", "--batch-bytes", "50000")),
                            ("8GiB", ("-j", "3",))):
        run = trial.new_run(memory=memory)
        trial.check_exit(run, trial.finish(run, *options))
        trial.check_same(run, f"{memory}, {' '.join(options)}")
    copy = trial.undisturbed
    copy.out = copy.root / "another location"
    trial.check_exit(copy, trial.finish(copy))
    trial.check_same(copy, "copied to another location")


def killed_at_points(trial):
    run, counted = trial.new_run(), 0
    for point in POINTS:
        code = trial.finish(run, "-j", "2", kill_at=point)
        if code == 0:
            break
        if code != -9:
            fail(f"exit code {code} of a run to be killed at {point}", run)
        trial.check_visible(run, f"after a kill at {point}")
        counted += run.was_killed_at_work()
    trial.check_exit(run, trial.finish(run, "-j", "2"))
    trial.check_same(run, f"killed {counted} times at commit points")
    return counted


def killed_at_moments(trial):
    """Kills in any phase: MeCab, the child that trains, a shard. Starts a new run when one has finished."""
    chance, counted, at_work = random.Random(7), 0, set()
    shortest = trial.seconds  # of a run without a kill; the machine may have been busier then
    for _ in range(20):
        run, killed = trial.new_run(), False
        while True:
            began = time.monotonic()
            process = run.start(*trial.settings(), "-j", chance.choice("127"))
            enough = counted >= LEAST_KILLS["moments"]
            try:
                code = process.wait(timeout=100 if enough else chance.uniform(0.1, 0.9 * shortest))
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait(timeout=100)
            if code == 0:
                shortest = shortest if killed else min(shortest, time.monotonic() - began)
                break
            if code != -9:
                fail(f"exit code {code} of a run killed from outside", run)
            killed = True
            trial.check_visible(run, "after a kill from outside")
            if run.was_killed_at_work():
                counted += 1
                at_work |= {re.split(r"[/@]", fields["unit"])[0] for kind, fields in run.log().lines if kind == "done"}
        trial.check_same(run, f"killed from outside, {counted} kills so far")
        if counted >= LEAST_KILLS["moments"]:
            break
    print(f"stages that had units done when a kill came: {', '.join(sorted(at_work))}")
    return counted


def points(trial):
    check_count("points", killed_at_points(trial))


def moments(trial):
    check_count("moments", killed_at_moments(trial))


def check_count(what, counted):
    if counted < LEAST_KILLS[what]:
        fail(f"{counted} counted kills at {what}, at least {LEAST_KILLS[what]} are wanted")


def by_workers(shared, settings, wanted):
    """Alternates `pipe plan` and workers for all its units, until no unit is left."""
    chance, rounds = random.Random(5), []
    while units := shared.plan(*settings):
        rounds.append(len(units))
        if len(rounds) > MOST_ROUNDS:
            fail(f"no end after rounds of {rounds}", shared)
        shared.work_off(units, chance)
    found = differences(wanted, shared.published())
    if found:
        fail("workers made other bytes than one run: " + "; ".join(found), shared)
    lines = len(shared.log().lines)
    if shared.finish(*settings) != 0 or len(shared.log().lines) > lines + 2:
        fail("`pipe run` found something to do after the workers", shared)
    if shared.kills.total() < LEAST_KILLS["workers"]:
        fail(f"too few kills: {shared.kills}", shared)
    print(f"rounds of {rounds} units, {shared.kills.total()} kills: "
          + ", ".join(f"{number} {point}" for point, number in shared.kills.most_common()))


def workers(trial):
    shared = trial.new_run(Shared)
    by_workers(shared, trial.settings(), trial.wanted)
    for artifact in PUBLISHED:
        if shared.verify(shared.out / artifact) != 0:
            fail(f"pipe verify finds something in {artifact}", shared)


def workers_on(program, root, text):
    pipeline = (Path(__file__).parents[2] / "pipelines/cc100_ja.yaml").read_text(encoding="utf-8")
    given = "--set", f"corpus={Path(text).resolve()}", "--set", "validation=0.02"
    one = Run(program, root / "one", pipeline)
    if one.finish(*given, "-j", "2", patience=1200) != 0:
        fail("a run of one process failed", one)
    wanted = one.published()
    print(f"one run made {len(wanted)} objects", flush=True)
    by_workers(Shared(program, root / "many", pipeline), given, wanted)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        pipe, part, root = str(Path(sys.argv[1]).resolve()), sys.argv[2], Path(directory)
        if part == "workers" and len(sys.argv) > 3:
            workers_on(pipe, root, sys.argv[3])
        else:
            {"settings": settings, "points": points, "moments": moments, "workers": workers}[part](Trial(pipe, root))
