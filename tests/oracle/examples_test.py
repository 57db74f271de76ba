#!/usr/bin/env python3
"""Files that TensorFlow and TensorFlow Datasets write, read by `pipe`: texts, labels, wiki40b's lines, refusals.

    examples_test.py PIPE
"""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["NO_GCE_CHECK"] = "true"

PIPELINE = """
pipe: 1
name: examples
limits: {{ memory: 1GiB }}
stages:
  source: {{ type: download, url: "{url}" }}
  lines:  {{ type: read_examples, input: source, partition: 16KiB, {keys} }}
  text:   {{ type: write_tfds, input: lines, name: out, version: 1.0.0, {sink} out: out }}
"""
ARTICLES, LINES, REVIEWS = 400, 3000, 2000
NAMES = ["부정적", "긍정적", "중립"]


def sentence(chance, least=0):
    letters = [chr(code) for code in (*range(0x3041, 0x3094), *range(0x4e00, 0x4f00))]
    return "".join(chance.choices(letters, k=chance.randrange(least, 40)))


def article(chance, number):
    """An article as wiki40b writes it."""
    text = f"\n_START_ARTICLE_\n題{number}"
    for _ in range(chance.randrange(4)):
        if chance.random() < 0.7:
            text += f"\n_START_SECTION_\n節{sentence(chance)}"
        text += "\n_START_PARAGRAPH_\n" + "_NEWLINE_".join(sentence(chance) for _ in range(chance.randrange(1, 5)))
    return text


def paragraphs(text):
    """The lines of an article as transformer-lm-japanese reads them, without its minimum length."""
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1]):
        if "_START_PARAGRAPH_" in line:
            yield from lines[number + 1].split("_NEWLINE_")


def builders(tfds):
    """Three data sets like those that people use, prepared by TFDS itself."""
    text = tfds.features.Text

    class Wiki40bLike(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.3.0")
        BUILDER_CONFIGS = [tfds.core.BuilderConfig(name="ja")]

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(
                {"wikidata_id": text(), "text": text(), "version_id": text()}))

        def _split_generators(self, _):
            return {"train": self._generate_examples(1), "validation": self._generate_examples(2)}

        def _generate_examples(self, seed):
            chance = random.Random(seed)
            for number in range(ARTICLES):
                yield number, {"wikidata_id": f"Q{number}", "text": article(chance, number), "version_id": "7"}

    class Lm1bLike(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.1.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict({"text": text()}))

        def _split_generators(self, _):
            return {"train": self._generate_examples(3), "test": self._generate_examples(4)}

        def _generate_examples(self, seed):
            chance = random.Random(seed)
            for number in range(LINES):
                yield number, {"text": sentence(chance)}

    class Reviews(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(
                {"text": text(), "label": tfds.features.ClassLabel(names=NAMES)}))

        def _split_generators(self, _):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            chance = random.Random(5)
            for number in range(REVIEWS):
                yield number, {"text": sentence(chance, 1), "label": chance.choice([*NAMES, -1])}

    return Wiki40bLike, Lm1bLike, Reviews


class Sandbox:
    def __init__(self, pipe, root):
        self.pipe, self.root, self.runs = pipe, root, 0

    def run(self, url, keys="", sink=""):
        """(exit code, output, path of the data set)."""
        self.runs += 1
        sandbox = self.root / f"run-{self.runs}"
        sandbox.mkdir()
        (sandbox / "p.yaml").write_text(PIPELINE.format(url=url, keys=keys, sink=sink), encoding="utf-8")
        ended = subprocess.run([self.pipe, "run", "p.yaml"], cwd=sandbox, capture_output=True, text=True, timeout=120,
                               check=False)
        return ended.returncode, ended.stdout + ended.stderr, sandbox / "out" / "out" / "1.0.0"

    def read(self, tfds, url, keys="", sink=""):
        """Each example of the data set made from `url`, as TFDS returns it."""
        code, said, made = self.run(url, keys, sink)
        if code:
            raise SystemExit(f"{url}, {keys}: exit code {code}\n{said[-3000:]}")
        builder = tfds.builder_from_directory(str(made))
        return Counter(tuple(value.decode() if isinstance(value, bytes) else int(value)
                             for _, value in sorted(example.items()))
                       for example in tfds.as_numpy(builder.as_dataset(split="all")))


def same(what, found, wanted):
    if found == wanted:
        print(f"{what}: {sum(found.values())} equal")
        return True
    print(f"{what}: missing {list((wanted - found).items())[:3]}, extra {list((found - wanted).items())[:3]}",
          file=sys.stderr)
    return False


def texts(examples, split):
    return [example["text"].decode() for example in examples.as_dataset(split=split).as_numpy_iterator()]


def check_data_sets(sandbox, tfds):
    prepared = []
    for builder in builders(tfds):
        made = builder(data_dir=str(sandbox.root / "tfds"))
        made.download_and_prepare()
        prepared.append(made)
    wiki, lm1b, reviews = prepared

    def shards(of, split):
        return f"{of.data_path}/*-{split}.tfrecord-*"

    wanted = Counter((line,) for text in texts(wiki, "train") for line in paragraphs(text) if line)
    yield same("wiki40b", sandbox.read(tfds, shards(wiki, "train"), "markers: wiki40b"), wanted)
    titles = Counter()
    for text in texts(wiki, "validation"):
        lines = [part for line in text.split("\n") if not line.startswith("_START_") for part in line.split("_NEWLINE_")]
        titles.update((line,) for line in lines if line)
    yield same("wiki40b with titles",
               sandbox.read(tfds, shards(wiki, "validation"), "markers: wiki40b, titles: true"), titles)
    yield same("another feature", sandbox.read(tfds, shards(wiki, "train"), "text: wikidata_id"),
               Counter((f"Q{number}",) for number in range(ARTICLES)))
    wanted = Counter((text,) for split in ("train", "test") for text in texts(lm1b, split) if text)
    yield same("lm1b", sandbox.read(tfds, f"{lm1b.data_path}/*.tfrecord-*"), wanted)

    names = f"{reviews.data_path}/label.labels.txt"
    wanted = Counter((int(example["label"]), example["text"].decode())
                     for example in reviews.as_dataset(split="train").as_numpy_iterator() if example["label"] >= 0)
    # An example with the label -1 has none.
    yield same("labels", sandbox.read(tfds, shards(reviews, "train"),
                                      f'label: label, labels_file: "{names}", max_bad_rows: 1',
                                      f"labels: {json.dumps(NAMES)},"), wanted)
    turned = Counter({(2 - label, text): count for (label, text), count in wanted.items()})
    yield same("labels in another order", sandbox.read(
        tfds, shards(reviews, "train"), f"label: label, labels: {json.dumps(NAMES)}, max_bad_rows: 1",
        f"labels: {json.dumps(NAMES[::-1])},"), turned)


def check_files(sandbox, tf, tfds):
    """Files written by TensorFlow itself: lists, features in the order of a hash table, no label, other kinds."""
    def example(**features):
        made = {}
        for name, values in features.items():
            if isinstance(values[0], bytes):
                made[name] = tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
            else:
                made[name] = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()

    records = [example(b=[b"one\ntwo", b"three"], a=["四".encode()], n=[7]), example(a=[b"x"], n=[1]),
               example(a=[b"\xff"], b=[b"five"], n=[-2]), example(a=[3], b=[b"six"]), b"no example"]
    file = sandbox.root / "lists.tfrecord"
    with tf.io.TFRecordWriter(str(file)) as writer:
        for record in records:
            writer.write(record)
    yield same("lists", sandbox.read(tfds, file, "text: [a, b]"),
               Counter([("四",), ("one",), ("two",), ("three",), ("x",), ("\ufffd",), ("five",)]))

    options = tf.io.TFRecordOptions(compression_type="GZIP")
    with tf.io.TFRecordWriter(str(sandbox.root / "zipped.tfrecord"), options) as writer:
        writer.write(example(text=[b"x"]))
    whole = file.read_bytes()
    (sandbox.root / "torn.tfrecord").write_bytes(whole[:-3])
    (sandbox.root / "flipped.tfrecord").write_bytes(whole[:200] + bytes([whole[200] ^ 4]) + whole[201:])
    for name, why in (("zipped", "a compressed one"), ("torn", "truncated"), ("flipped", "damaged")):
        code, said, _ = sandbox.run(sandbox.root / f"{name}.tfrecord", "text: b")
        good = code != 0 and why in said and f"{name}.tfrecord: record at offset" in said
        print(f"{name}: exit code {code}", *([] if good else [said]))
        yield good


def main(pipe):
    import tensorflow as tf
    import tensorflow_datasets as tfds

    tfds.core.utils.gcs_utils._is_gcs_disabled = True
    tfds.disable_progress_bar()
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox(Path(pipe).resolve(), Path(directory))
        results = [*check_data_sets(sandbox, tfds), *check_files(sandbox, tf, tfds)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
