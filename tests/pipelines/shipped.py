#!/usr/bin/env python3
"""Each file in pipelines/: has no mistake, keeps its own limits at the size that it is meant for, and runs on a small
cut, without the training (tests/pipelines/trainers.py). The output passes `pipe verify`, and has the names and numbers that its trainer expects.

    shipped.py PIPE [NAME...]
"""

import json
import random
import re
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from pipe_run import fail  # noqa: E402
from start_lines import outputs as outputs_in_head  # noqa: E402
from start_lines import without_training  # noqa: E402
from trainers import TRAINERS, words_for  # noqa: E402

# Bytes of text for which the limits of each file are made.
SIZES = {"cc100_ja": "82GB", "quickstart": "3MB", "bert_ja": "1GB", "jestimator_bert": "10GB", "kc_moe": "30GB",
         "kc_moe_nsmc": "20MB", "nsmc": "20MB", "lm1b": "4.2GB", "maxtext": "50GB", "ttt_tweets": "500MB", "wiki40b_ja": "2.4GB"}


def castagnoli(data, table=[]):  # pylint: disable=dangerous-default-value
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
            table.append(byte)
    value = 0xffffffff
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    return value ^ 0xffffffff


def framed(record):
    """A record of a TFRecord file."""
    def masked(data):
        value = castagnoli(data)
        return struct.pack("<I", ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff)
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def field(number, data):
    """A field of a protocol buffer, with a length."""
    size, out = len(data), bytearray([number << 3 | 2])
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    return bytes([*out, size]) + data


def example(**features):
    """A tf.train.Example of bytes."""
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, field(1, field(1, value.encode()))))
                             for name, value in features.items()))


def words(seed, first, count, least, most):
    """Returns a function that draws words, out of `count` words of letters from `first` on; the first words are
    common."""
    chance = random.Random(seed)
    letters = [chr(first + 13 * number) for number in range(200)]
    known = ["".join(chance.choices(letters, k=chance.randrange(least, most))) for _ in range(count)]
    weights = [1 / (number + 5) for number in range(count)]
    return lambda number: chance.choices(known, weights, k=number)


def korean(seed, lines):
    """Comments of Hangul words."""
    chance, some = random.Random(seed), words(seed, 0xac00, 800, 1, 4)
    return [" ".join(some(chance.randrange(3, 12))) + chance.choice(["", "!", "ㅋㅋ", " 👍", "."]) for _ in range(lines)]


def japanese(seed, documents):
    """Documents of a few lines with a few sentences."""
    chance, some = random.Random(seed), words(seed, 0x4e00, 600, 1, 3)
    kana = "のはがをにでもとから"
    def sentence():
        return "".join(word + chance.choice(kana) for word in some(chance.randrange(4, 12))) + "。"
    return ["\n".join("".join(sentence() for _ in range(chance.randrange(1, 4))) for _ in range(chance.randrange(2, 6)))
            for _ in range(documents)]


class Cut:
    """One pipeline on a small cut, in a directory of its own."""

    def __init__(self, pipe, directory, name):
        self.pipe, self.root, self.name = pipe, directory / name, name
        self.out = self.root / "out"
        self.root.mkdir()

    def told(self, *command):
        """Output of the program; the test ends if the program fails."""
        ended = subprocess.run([self.pipe, *map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=100,
                               check=False)
        if ended.returncode:
            fail(f"{self.name}: pipe {' '.join(map(str, command))}: exit code {ended.returncode}\n"
                 f"{ended.stdout[-2000:]}{ended.stderr[-4000:]}")
        return ended.stdout + ended.stderr

    def write(self, name, data):
        path = self.root / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def command(self, **variables):
        return [f"pipelines/{self.name}.yaml", "--work", self.root / "work", "--set", f"out={self.out}",
                *(part for key, value in variables.items() for part in ("--set", f"{key}={value}"))]

    def run(self, *artifacts, options=(), **variables):
        file, *words = self.command(**variables)
        data = self.write(f"{self.name}.yaml", without_training(ROOT / file))
        self.told("run", data, *words, *options)
        for artifact in artifacts:
            self.holds((self.out / artifact / "MANIFEST.json").exists(), f"{artifact} was published")
        self.told("verify", *(self.out / artifact for artifact in artifacts))

    def splits(self, *artifact):
        """{split: examples} of a TFDS data set."""
        info = json.loads(self.out.joinpath(*artifact, "dataset_info.json").read_text(encoding="utf-8"))
        self.holds(info["name"] == artifact[0] and info["version"] == artifact[1], f"it is called {info['name']}")
        return {one["name"]: sum(map(int, one["shardLengths"])) for one in info["splits"]}

    def holds(self, condition, what):
        if not condition:
            fail(f"{self.name}: it does not hold that {what}; there are "
                 f"{sorted(str(path.relative_to(self.root)) for path in self.root.rglob('*') if 'work' not in path.parts)}")

    def are_labelled(self, *labels):
        facts = json.loads((self.out / "labelled" / "packed.json").read_text(encoding="utf-8"))
        self.holds([one["name"] for one in facts["labels"]] == list(labels), f"the rows have labels: {facts}")
        self.holds(set(facts["splits"]) == {"train", "validation", "test"}, f"they have three splits: {facts}")

    def pieces(self, file, *artifact):
        return [line.split("\t")[0] for line in self.out.joinpath(*artifact, file).read_text(encoding="utf-8").split("\n")]


def kc_moe_nsmc(cut):
    """Two tables with known numbers of reviews. tests/oracle/labels_test.py reads them with TFDS."""
    settings = {}
    for seed, (name, count) in enumerate((("train", 2000), ("test", 500))):
        rows = [f"{number}\t{text}{number}\t{number % 2}\n" for number, text in enumerate(korean(seed, count))]
        settings[name] = cut.write(f"ratings_{name}.txt", "id\tdocument\tlabel\n" + "".join(rows))
    cut.run("nsmc/1.0.0", "tokenizer", "packed", "labelled", vocab_size=600, **settings)
    splits = cut.splits("nsmc", "1.0.0")
    cut.holds(splits == {"test": 500, "train": 2000}, f"all are in the splits that the trainer reads: {splits}")
    cut.are_labelled("0", "1")


def nsmc(cut):
    """Up to the rows; tests/trainer/labelled_pipeline.py trains on them."""
    rows = [f"{number}\t{text}{number}\t{number % 2}\n" for number, text in enumerate(korean(9, 2000))]
    cut.run("tokenizer", "text", "labelled", vocab=600,
            reviews=cut.write("ratings.txt", "id\tdocument\tlabel\n" + "".join(rows)))
    cut.are_labelled("0", "1")
    cut.holds(any("ㅋ" in piece for piece in cut.pieces("tokenizer.vocab", "tokenizer")), "jamo are the letters that people write")


def bert_ja(cut):
    # To BERT an ideograph is a word of its own: with kana there are words of several characters.
    kana = {0x4e00 + 13 * number: 0x3042 + number for number in range(80)}
    text = cut.write("text.txt", "\n\n".join(japanese(1, 400)).translate(kana))
    cut.run("tokenizer", "pretraining_data", corpus=text, vocab_size=500, validation=0.1, dupe_factor=2, model_size="tiny")
    made = cut.out / "pretraining_data"
    cut.holds(len(list(made.glob("train-*tfrecord"))) >= 8, "there are eight shards of train, which end in tfrecord")
    cut.holds(len(list(made.glob("validation-*tfrecord"))) >= 1, "validation is there")
    lines = cut.pieces("vocab.txt", "pretraining_data")
    cut.holds(lines[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "the special pieces come first")
    size = json.loads((made / "bert_config.json").read_text())["vocab_size"]
    cut.holds(size == len(lines) - 1, f"the model has as many ids as there are lines: {size}")


def jestimator_bert(cut):
    text = cut.write("text.txt", "\n\n".join(japanese(2, 400)))
    cut.run("tokenizer", "data", "packed", corpus=text, vocab_size=600, validation=0.1, eval_ids=512)
    shards = sorted(path.name for path in (cut.out / "data").glob("text-00???-of-*"))
    cut.holds(shards and len(shards) % 4 == 0 and shards[0] == f"text-00000-of-{len(shards):05}", "hosts share the shards")
    for name in [*shards, "ptb"]:
        cut.holds((cut.out / "data" / name / "dataset_spec.pb").read_bytes() == bytes.fromhex("8a020412001803"),
                  f"{name} is of scalar int32")
    cut.holds(cut.pieces("tokenizer.vocab", "tokenizer")[:6] == ["<pad>", "<unk>", "<cls>", "<sep>", "<mask>", "</s>"],
              "mask_token_id is 4")


def kc_moe(cut):
    comments = korean(3, 4000)
    text = cut.write("comments.txt", "\n".join([*comments, "ㅋ" * 40, "no Korean in this one", "http://example.com/" + "a" * 90]))
    cut.run("tokenizer", "kcbert_cleaned/1.0.0", "packed", corpus=text, vocab_size=1000)
    splits = cut.splits("kcbert_cleaned", "1.0.0")
    kept = sum(len(one) >= 5 for one in comments)
    cut.holds(list(splits) == ["train"] and 0.9 * kept < splits["train"] <= kept, f"{kept} comments stay: {splits}")
    for name in ("tokenizer.base.model", "tokenizer.model"):
        cut.holds((cut.out / "tokenizer" / name).exists(), f"{name} is there")
    pieces = [one for one in cut.pieces("tokenizer.vocab", "tokenizer") if one]
    cut.holds(len(pieces) == 1100 and pieces[:3] == ["<pad>", "</s>", "<unk>"], f"{len(pieces)} are 1000 and 100")
    cut.holds(pieces[1000] == "▁<extra_id_99>" and pieces[-1] == "▁<extra_id_0>", "the sentinels come last")


def ttt_tweets(cut):
    tweets = [f'{text} "{number}"\t{("good", "bad", "news")[number % 3]}\n' for number, text in enumerate(korean(4, 1500))]
    cut.run("classification", "text_to_text", "packed", "labelled", options=("--set", "stages.labelled.labels=[good, bad, news]"),
            vocab_size=500, corpus=cut.write("tweets.tsv", "text\tlabel\n" + "".join(tweets)))
    cut.are_labelled("good", "bad", "news")
    rows = {}
    for folder, names in (("classification", ("text", "label")), ("text_to_text", ("source", "target"))):
        rows[folder] = Counter()
        for split in ("train", "val", "test"):
            lines = (cut.out / folder / f"{split}.json").read_text(encoding="utf-8").split("\n")[:-1]
            cut.holds(len(lines) > 100, f"{folder}/{split}.json has rows")
            for row in map(json.loads, lines):
                cut.holds(tuple(row) == names, f"rows of {folder} are {names}: {row}")
                rows[folder][(split, *row.values())] += 1
    cut.holds(rows["classification"] == rows["text_to_text"], "both have the same rows in the same splits")
    found = Counter(f"{text}\t{label}\n" for _, text, label in rows["classification"].elements())
    cut.holds(found == Counter(tweets), "no row is missing or other than it was")


def maxtext(cut):
    text = cut.write("text.txt", "\n\n".join(japanese(5, 400)))
    cut.run("tokenizer", "packed", "maxtext_text/1.0.0", corpus=text, vocab_size=600, validation=0.1, seq_len=127, hosts=2)
    facts = json.loads((cut.out / "packed" / "packed.json").read_text(encoding="utf-8"))
    cut.holds(facts["seq_len"] == 127, "max_target_length is 128")
    shards = list((cut.out / "packed").glob("train-*.tfrecord"))
    cut.holds(shards and len(shards) % 2 == 0, "hosts share the shards")
    rows = {shard["rows"] for shard in facts["splits"]["train"]["shards"]}
    cut.holds(len(rows) == 1 and rows != {0}, f"all shards have the same number of rows: {rows}")
    cut.holds((cut.out / "packed" / "tokenizer.model").exists(), "the tokenizer lies beside the rows")
    cut.holds(set(cut.splits("maxtext_text", "1.0.0")) == {"train", "validation"}, "both splits are there")


def wiki40b_ja(cut):
    """Shards like those of TFDS; a paragraph in ten is too short."""
    wanted = {}
    for seed, (split, count) in enumerate((("train", 300), ("validation", 40), ("test", 40))):
        chance, made, wanted[split] = random.Random(seed), b"", 0
        for number, text in enumerate(japanese(seed + 10, count)):
            lines = [line if chance.random() > 0.1 else "短い。" for line in text.split("\n")]
            wanted[split] += sum(len(line) >= 10 for line in lines)
            made += framed(example(wikidata_id=f"Q{number}", version_id=str(number), text=f"\n_START_ARTICLE_\n題{number}の題名"
                                   f"\n_START_SECTION_\n節\n_START_PARAGRAPH_\n{'_NEWLINE_'.join(lines)}"))
        cut.write(f"wiki40b-{split}.tfrecord-00000-of-00001", made)
    cut.run("tokenizer", "wiki40b_ja/1.0.0", "packed", seq_len=128, corpus=cut.root / "wiki40b-*", vocab_size=600)
    splits = cut.splits("wiki40b_ja", "1.0.0")
    cut.holds(set(splits) == set(wanted) and all(wanted[one] <= splits[one] < 1.1 * wanted[one] for one in wanted),
              f"each paragraph is there, of those that fit in one piece: {splits}, {wanted}")
    texts = cut.told("cat", cut.out / "wiki40b_ja" / "1.0.0")
    cut.holds("_START" not in texts and "_NEWLINE_" not in texts and "題名" not in texts, "no mark and no title is left")
    cut.holds(cut.pieces("tokenizer.vocab", "tokenizer")[:3] == ["<unk>", "<s>", "</s>"], "</s> is 2")


def lm1b(cut):
    chance, some = random.Random(6), words(6, 0x61, 900, 2, 6)
    made, texts = BytesIO(), {"train": Counter(), "test": Counter()}
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for split, file, count in (("test", "heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050", 200),
                                   ("train", "training-monolingual.tokenized.shuffled/news.en-00001-of-00100", 1500),
                                   (None, "README", 3), (None, "heldout-monolingual.tokenized.shuffled/.svn/news.en", 3),
                                   ("train", "training-monolingual.tokenized.shuffled/news.en-00002-of-00100", 1500),
                                   ("test", "heldout-monolingual.tokenized.shuffled/news.en.heldout-00049-of-00050", 100)):
            lines = [" ".join(some(chance.randrange(3, 30))) + f" {number} ." for number in range(count)]
            if split:
                texts[split].update(lines)
            text = "\n".join(lines).encode() + b"\n"
            member = tarfile.TarInfo(f"1-billion-word-language-modeling-benchmark-r13output/{file}")
            member.size = len(text)
            archive.addfile(member, BytesIO(text))
    corpus = cut.write("text.tar.gz", made.getvalue())
    cut.run("tokenizer", "lm1b_text/1.0.0", "packed", corpus=corpus, checksum="none", vocab_size=800)
    packed = json.loads((cut.out / "packed" / "packed.json").read_text(encoding="utf-8"))
    cut.holds(set(packed["splits"]) == {"train", "validation"}, f"our own trainer has its splits: {set(packed['splits'])}")
    splits = cut.splits("lm1b_text", "1.0.0")
    cut.holds(splits == {"test": 300, "train": 3000}, f"train and test are those of the archive: {splits}")
    for split, wanted in texts.items():
        shards = (cut.out / "lm1b_text" / "1.0.0").glob(f"lm1b_text-{split}.tfrecord-*")
        found = Counter(line for shard in shards for line in cut.told("cat", shard).split("\n"))
        cut.holds(not wanted - found, f"each line of {split} is there")
    cut.run("tokenizer/subset-150", "subset-150/lm1b_text/1.0.0", options=("--subset", "150"), corpus=corpus,
            checksum="none", vocab_size=500)
    info = json.loads((cut.out / "subset-150" / "lm1b_text" / "1.0.0" / "dataset_info.json").read_text(encoding="utf-8"))
    cut.holds({one["name"]: sum(map(int, one["shardLengths"])) for one in info["splits"]} == {"test": 150, "train": 150},
              "a trial has the first lines of each split")


CUTS = {one.__name__: one for one in (kc_moe_nsmc, nsmc, bert_ja, jestimator_bert, kc_moe, ttt_tweets, maxtext, wiki40b_ja, lm1b)}
ELSEWHERE = {"cc100_ja", "quickstart"}  # tests/pipelines/moves.py, tests/oracle/pipe_test.py


def number_of(size):
    """Number of bytes in `82GB` or `14.0 GiB`."""
    digits, unit = re.fullmatch(r"([0-9.]+) ?([KMGT]?)i?B", size).groups()
    return float(digits) * (1024 if "i" in size else 1000) ** " KMGT".index(unit or " ")


def fits(cut):
    """No mistake, and no more disk or memory than the file says, at the size that it is meant for."""
    cut.told("validate", f"pipelines/{cut.name}.yaml")
    settings = {"corpus": "README.md"}
    if cut.name == "kc_moe_nsmc":
        settings = {name: cut.write(f"ratings_{name}.txt", "id\tdocument\tlabel\n") for name in ("train", "test")}
    elif cut.name == "nsmc":
        settings = {"reviews": cut.write("ratings.txt", "id\tdocument\tlabel\n")}
    elif cut.name == "wiki40b_ja":
        for split in ("train", "validation", "test"):
            cut.write(f"wiki40b-{split}.tfrecord-00000-of-00001", b"")
        settings = {"corpus": cut.root / "wiki40b-*"}
    elif cut.name == "lm1b":
        settings = {"corpus": cut.write("text.tar.gz", b""), "checksum": "none"}
    settings["stages.source.text_size"] = SIZES[cut.name]
    for trainer in TRAINERS.get(cut.name, ()):
        planned = cut.told("run", "-n", "--until", "train", *cut.command(**settings), *words_for(trainer))
        cut.holds(trainer == "bundled" or f"stage 'train': trainer {trainer}, " in planned, f"the plan has its command: {planned}")
    said = cut.told("run", "-n", *cut.command(**settings))
    there = number_of(SIZES[cut.name])
    for read in re.findall(r"about ([0-9.]+ [KMGT]?i?B) of text", said):
        cut.holds(number_of(read) <= 1.05 * there, f"no stage reads more text than there is, {SIZES[cut.name]}:\n{said}")
    return next(line for line in said.splitlines() if line.startswith("peak of disk"))


def main(pipe, *names):
    files = {path.stem for path in (ROOT / "pipelines").glob("*.yaml")}
    if files != {*CUTS, *ELSEWHERE}:
        fail(f"not the pipelines that this test knows: {sorted(files ^ {*CUTS, *ELSEWHERE})}")
    with tempfile.TemporaryDirectory() as directory:
        for part in ("fits", "runs"):
            (Path(directory) / part).mkdir()
        for name in names or sorted(files):
            print(f"{name}: {fits(Cut(pipe, Path(directory) / 'fits', name))}", flush=True)
            if name in CUTS:
                began = time.monotonic()
                cut = Cut(pipe, Path(directory) / "runs", name)
                CUTS[name](cut)
                for output in outputs_in_head(name):
                    cut.holds(any(cut.out.glob(output)), f"OUT/{output}, which its head names, is there")
                print(f"{name}: done in {time.monotonic() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
