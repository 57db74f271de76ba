#!/usr/bin/env python3
"""The output of write_tfds, opened by the calls that trainers make, and compared with the corpus itself.

    tfds_readers_test.py PIPE PYTHONPATH_OF_TFDS_4_7

tfds.load with a version, with wildcards, shuffled and in slices; seqio's TfdsDataSource with T5's span corruption;
seqio's vocabulary; labels; several texts; TensorFlow Text with the length filter of transformer-lm-japanese.
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
from program import ran
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["NO_GCE_CHECK"] = "true"
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

PIPELINE = """
pipe: 1
name: readers
limits: { memory: 2GiB }
stages:
  source:    { type: download, url: corpus.txt }
  lines:     { type: decompress, input: source, partition: 64KiB }
  docs:      { type: split, input: lines, splits: { train: rest, validation: 0.1 } }
  tokenizer: { type: train_tokenizer, input: docs, layout: t5, vocab_size: 1200, character_coverage: 0.99,
               byte_fallback: true, compare_boundaries: false, out: out/model }
  text:      { type: write_tfds, input: docs, name: texts, version: 1.0.0, shards: 4, hosts: 4, eval_batch: 20, out: out }
  newer:     { type: write_tfds, input: docs, name: texts, version: 1.2.0, shards: 2, out: out }
  short:     { type: write_tfds, input: docs, name: short, shards: 4, max_tokens: 48, tokenizer: tokenizer, out: out }
  table:     { type: download, url: ["pairs_train.jsonl", "pairs_test.jsonl"] }
  rows:      { type: read_rows, input: table, format: jsonl, text: [a, b], columns: fields, label: label,
               splits: { train: "*train*", test: "*test*" } }
  pairs:     { type: write_tfds, input: rows, name: pairs, features: [premise, hypothesis], labels_file: names.txt,
               shards: 2, out: out }
"""
NAMES = ["함의", "모순", "중립"]
INPUTS, TARGETS, CHUNK, DENSITY, MEAN_SPAN = 512, 114, 568, 0.15, 3.0
MOST_TOKENS = 48

# Runs with the other release of TFDS; prints as JSON what it read.
READER_47 = """
import ast, json, sys, types
from pathlib import Path
from google.protobuf import descriptor_pool
from google.protobuf.internal import builder
import tensorflow_metadata.proto.v0.schema_pb2, tensorflow_metadata.proto.v0.statistics_pb2

# Its messages as protoc 3.x generated them do not run with protobuf 5: made anew from the descriptors in that code.
protos = Path(sys.argv[2]) / "tensorflow_datasets/core/proto"
for name in ("feature_generated_pb2", "dataset_info_generated_pb2"):
    tree = ast.parse((protos / (name + ".py")).read_text())
    serialized, = (word.value.value for word in ast.walk(tree)
                   if isinstance(word, ast.keyword) and word.arg == "serialized_pb" and isinstance(word.value, ast.Constant))
    module = types.ModuleType("tensorflow_datasets.core.proto." + name)
    module.DESCRIPTOR = descriptor_pool.Default().AddSerializedFile(serialized)
    builder.BuildMessageAndEnumDescriptors(module.DESCRIPTOR, module.__dict__)
    builder.BuildTopDescriptorsAndMessages(module.DESCRIPTOR, module.__name__, module.__dict__)
    sys.modules[module.__name__] = module

import tensorflow_datasets.public_api as tfds
from tensorflow_datasets.core.utils import gcs_utils
gcs_utils._is_gcs_disabled = True
read = {"version": tfds.__version__}
for name in ("texts:1.0.0", "texts:1.*.*", "short:1.0.0", "pairs:1.0.0"):
    for split in ("train", "train[:98%]", "train[98%:]", "test" if name.startswith("pairs") else "validation"):
        examples = tfds.load(name, split=split, data_dir=sys.argv[1], shuffle_files=not split.endswith("]"))
        rows = read[name + "/" + split] = []
        for batch in tfds.as_numpy(examples.batch(256)):
            rows += zip(*([int(value) if key == "label" else value.decode() for value in values]
                          for key, values in sorted(batch.items())))
read["names"] = tfds.builder("pairs:1.0.0", data_dir=sys.argv[1]).info.features["label"].names
json.dump(read, sys.stdout)
"""


def make_corpus(root):
    """(documents, rows by split) of the written corpus."""
    chance = random.Random(11)
    letters = [chr(code) for code in (*range(0x3041, 0x3094), *range(0x4e00, 0x4e80))]
    words = ["".join(chance.choices(letters, k=chance.randrange(1, 4))) for _ in range(400)]
    documents = []
    for number in range(350):
        lines = []
        for _ in range(chance.randrange(1, 5)):
            sentences = ["".join(chance.choices(words, k=chance.randrange(2, 12))) + chance.choice("。！？")
                         for _ in range(chance.randrange(1, 7))]
            lines.append(chance.choice(("", " ")).join(sentences))
        documents.append([f"{number}{lines[0]}", *lines[1:]])
    (root / "corpus.txt").write_text("\n\n".join("\n".join(lines) for lines in documents), encoding="utf-8")
    rows = {}
    for split, count in (("train", 400), ("test", 150)):
        rows[split] = [(chance.choice(NAMES), "".join(chance.choices(words, k=5)), "".join(chance.choices(words, k=4)))
                       for _ in range(count)]
        (root / f"pairs_{split}.jsonl").write_text(
            "".join(json.dumps({"a": a, "b": b, "label": label}) + "\n" for label, a, b in rows[split]))
    (root / "names.txt").write_text("".join(name + "\n" for name in NAMES), encoding="utf-8")
    return documents, rows


class Oracle:
    def __init__(self, pipe, root, tfds_47):
        self.root, self.tfds_47, self.wrong = root, tfds_47, []
        self.documents, self.rows = make_corpus(root)
        (root / "p.yaml").write_text(PIPELINE, encoding="utf-8")
        ran(pipe, "run", "p.yaml", cwd=root)
        self.out = str(root / "out")
        for made in ("texts/1.0.0", "texts/1.2.0", "short/1.0.0", "pairs/1.0.0"):
            ran(pipe, "verify", f"out/{made}", cwd=root)
        self.corpus = Counter(line for lines in self.documents for line in lines)
        self.pairs = {split: Counter((NAMES.index(label), a, b) for label, a, b in rows)
                      for split, rows in self.rows.items()}

    def check(self, good, what):
        if not good:
            self.wrong.append(what)

    def same(self, what, found, wanted):
        self.check(found == wanted, f"{what}: missing {list((wanted - found).items())[:2]}, "
                                    f"extra {list((found - wanted).items())[:2]}")

    # ------------------------------------------------------------------------------------------- TFDS

    def load(self, tfds, name, split, shuffle_files=True):
        examples = tfds.load(name, split=split, data_dir=self.out, shuffle_files=shuffle_files)
        read = []
        for batch in tfds.as_numpy(examples.batch(256)):
            columns = sorted(batch.items(), key=lambda item: (item[0] != "label", item[0] == "hypothesis"))
            read += zip(*([int(value) if key == "label" else value.decode() for value in values]
                          for key, values in columns))
        return read

    def read_by_tfds(self, tfds):
        train = [text for text, in self.load(tfds, "texts:1.0.0", "train")]
        validation = [text for text, in self.load(tfds, "texts:1.0.0", "validation")]
        self.same("texts", Counter(train) + Counter(validation), self.corpus)
        first = {lines[0] for lines in self.documents}
        self.check(len(first & set(train)) + len(first & set(validation)) == len(first), "a document in two splits")
        self.check(not any(set(lines[:1]) & set(validation) and Counter(lines) - Counter(validation)
                           for lines in self.documents), "a torn document")
        in_order = [text for text, in self.load(tfds, "texts:1.0.0", "train", shuffle_files=False)]
        self.same("shuffled or not", Counter(in_order), Counter(train))
        parts = [[text for text, in self.load(tfds, "texts:1.0.0", part, shuffle_files=False)]
                 for part in ("train[:98%]", "train[98%:]", "train[:-100]", "train[-100:]")]
        self.check(abs(len(parts[0]) - 0.98 * len(train)) <= 1, f"98 % are {len(parts[0])} of {len(train)}")
        self.check(len(parts[3]) == 100, f"the last 100 are {len(parts[3])}")
        self.same("98 % and 2 %", Counter(parts[0]) + Counter(parts[1]), Counter(train))
        self.same("all but 100 and 100", Counter(parts[2]) + Counter(parts[3]), Counter(train))
        for wildcard, version in (("1.*.*", "1.2.0"), ("1.0.*", "1.0.0"), ("1.2.*", "1.2.0"), ("*.*.*", "1.2.0")):
            found = tfds.builder(f"texts:{wildcard}", data_dir=self.out)
            self.check(str(found.info.version) == version, f"{wildcard} is {found.info.version}")
            self.check(found.info.splits["train"].num_examples == len(train), f"{wildcard}: another number")
        self.same("1.*.*", Counter(text for text, in self.load(tfds, "texts:1.*.*", "train")), Counter(train))
        self.check(len(tfds.builder("texts:1.0.0", data_dir=self.out).info.splits["train"].shard_lengths) == 4, "shards")

        info = tfds.builder("pairs:1.0.0", data_dir=self.out).info
        self.check(info.features["label"].names == NAMES, f"names are {info.features['label'].names}")
        for split, wanted in self.pairs.items():
            self.same(f"pairs {split}", Counter(self.load(tfds, "pairs:1.0.0", split)), wanted)
        print(f"TFDS {tfds.__version__}: {len(train)} + {len(validation)} texts, {sum(map(len, self.rows.values()))} pairs")

    def read_by_other_tfds(self):
        """Release 4.7, from an environment that is put in front of this one."""
        path = os.pathsep.join([self.tfds_47, *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path}
        del environment["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"]  # set for seqio, whose messages are newer
        ended = subprocess.run([sys.executable, "-c", READER_47, self.out, self.tfds_47], env=environment,
                               capture_output=True, text=True, timeout=120, check=False)
        if ended.returncode:
            return self.check(False, f"TFDS 4.7: exit code {ended.returncode}\n{ended.stderr[-3000:]}")
        read = json.loads(ended.stdout)
        self.check(read["version"].startswith("4.7."), f"version {read['version']} where 4.7 is wanted")
        self.check(read["names"] == NAMES, f"4.7: names are {read['names']}")
        for name in ("texts:1.0.0", "texts:1.*.*"):
            self.same(f"4.7, {name}", Counter(text for split in ("train", "validation") for text, in read[f"{name}/{split}"]),
                      self.corpus)
        for name in ("texts:1.0.0", "short:1.0.0", "pairs:1.0.0"):
            whole = Counter(map(tuple, read[f"{name}/train"]))
            self.same(f"4.7, slices of {name}",
                      Counter(map(tuple, read[f"{name}/train[:98%]"] + read[f"{name}/train[98%:]"])), whole)
        for split, wanted in self.pairs.items():  # hypothesis, label, premise
            self.same(f"4.7, pairs {split}", Counter((label, premise, hypothesis) for hypothesis, label, premise in
                                                     read[f"pairs:1.0.0/{split}"]), wanted)
        print(f"TFDS {read['version']}: the same")

    # ------------------------------------------------------------------------------------ tokenizers

    def read_vocabulary(self, seqio, sentencepiece):
        """Our model with its sentinels, and the one that seqio makes from the base by itself."""
        ours = sentencepiece.SentencePieceProcessor(model_file=f"{self.out}/model/tokenizer.model")
        theirs = seqio.SentencePieceVocabulary(f"{self.out}/model/tokenizer.base.model", extra_ids=100)
        self.check(theirs.vocab_size == ours.get_piece_size(), f"{theirs.vocab_size} and {ours.get_piece_size()} pieces")
        self.check(theirs.tokenizer.get_piece_size() == ours.get_piece_size(), "pieces")
        for number in range(ours.get_piece_size()):
            if theirs.tokenizer.id_to_piece(number) != ours.id_to_piece(number):
                return self.check(False, f"id {number} is {theirs.tokenizer.id_to_piece(number)} for seqio")
        self.check(theirs.sp_model == Path(f"{self.out}/model/tokenizer.model").read_bytes(), "the bytes of the two models")
        lines = list(self.corpus)
        for line, by_tensorflow in zip(lines, theirs.encode_tf(lines).to_list()):
            if not theirs.encode(line) == ours.encode(line) == by_tensorflow:
                return self.check(False, f"{line!r}: {theirs.encode(line)[:9]}, and {ours.encode(line)[:9]} by us")
        for number in (0, 1, 99):
            mark = f"<extra_id_{number}>"
            self.check(theirs.encode(mark)[-1] == theirs.vocab_size - 1 - number == ours.piece_to_id("\u2581" + mark), mark)
        self.check((theirs.pad_id, theirs.eos_id, theirs.unk_id) == (0, 1, 2), "special ids")
        print(f"seqio's vocabulary: {theirs.vocab_size} pieces and {len(self.corpus)} lines equal")
        return theirs

    def corrupt_spans(self, seqio, tf, vocabulary):
        """A Task like kc-moe's, with T5's span corruption; each pair, recombined, equals the corpus."""
        features = {name: seqio.Feature(vocabulary, add_eos=True) for name in ("inputs", "targets")}

        def targets_only(dataset):
            return dataset.map(lambda example: {"inputs": "", "targets": example["text"]})

        def chunks(dataset):
            """reduce_concat_tokens and split_tokens: 128 texts are joined, and cut to the length that corruption
            shortens to 512."""
            dataset = dataset.map(lambda example: example["targets"]).padded_batch(128, padded_shapes=[-1])
            dataset = dataset.map(lambda batch: tf.boolean_mask(tf.reshape(batch, [-1]), tf.reshape(batch, [-1]) != 0))
            dataset = dataset.map(lambda ids: ids[:tf.size(ids) // CHUNK * CHUNK])
            return dataset.flat_map(lambda ids: tf.data.Dataset.from_tensor_slices(tf.reshape(ids, [-1, CHUNK])))

        def corrupt(dataset):
            def segments(total, parts, seed):
                marks = tf.random.experimental.stateless_shuffle(
                    tf.cast(tf.range(total - 1) < parts - 1, tf.int32), seed=seed)
                return tf.math.segment_sum(tf.ones([total], tf.int32), tf.cumsum(tf.pad(marks, [[1, 0]])))

            def spans(ids, noise):
                """`ids` outside of `noise`; each run of noise is replaced by a sentinel of its own."""
                begins = noise & ~tf.pad(noise[:-1], [[1, 0]])
                marks = vocabulary.vocab_size - tf.cumsum(tf.cast(begins, tf.int32))
                return tf.boolean_mask(tf.where(begins, marks, ids), begins | ~noise)

            @seqio.map_over_dataset(num_seeds=2)
            def one(ids, seeds):
                noise_tokens = round(CHUNK * DENSITY)
                runs = round(noise_tokens / MEAN_SPAN)
                lengths = tf.reshape(tf.stack([segments(CHUNK - noise_tokens, runs, seeds[0]),
                                               segments(noise_tokens, runs, seeds[1])], axis=1), [2 * runs])
                starts = tf.math.unsorted_segment_sum(tf.ones([2 * runs - 1], tf.int32), tf.cumsum(lengths)[:-1], CHUNK)
                noise = tf.cumsum(starts) % 2 == 1
                ids = tf.cast(ids, tf.int32)
                return {"inputs": spans(ids, noise), "targets": spans(ids, ~noise)}

            return one(dataset)

        seqio.TaskRegistry.add(
            "texts_corrupted",
            source=seqio.TfdsDataSource("texts:1.0.0", tfds_data_dir=self.out,
                                        splits={"train": "train[:98%]", "validation": "train[98%:]"}),
            preprocessors=[targets_only, seqio.preprocessors.tokenize, chunks, corrupt, seqio.preprocessors.append_eos_after_trim],
            output_features=features)
        task = seqio.get_mixture_or_task("texts_corrupted")
        import tensorflow_datasets as tfds
        stream = {}
        for shuffle in (False, True):
            dataset = task.get_dataset({"inputs": INPUTS, "targets": TARGETS}, "train", shuffle=shuffle, seed=3)
            pairs = [(example["inputs"].tolist(), example["targets"].tolist()) for example in tfds.as_numpy(dataset)]
            for inputs, targets in pairs:
                self.check(len(inputs) == INPUTS and len(targets) == TARGETS, f"{len(inputs)} and {len(targets)} ids")
                self.check(inputs[-1] == 1 == targets[-1], "no end mark")
            stream[shuffle] = [put_together(inputs[:-1], targets[:-1], vocabulary.vocab_size - 100) for inputs, targets in pairs]
            self.check(len(pairs) > 20, f"{len(pairs)} pairs")
        # In the order of the files the chunks are the ids of the texts in that order.
        texts = [text for text, in self.load(tfds, "texts:1.0.0", "train[:98%]", shuffle_files=False)]
        ids = [self.ours.encode(text) for text in texts]
        wanted = []
        for begin in range(0, len(ids), 128):
            joined = [number for line in ids[begin:begin + 128] for number in line]
            wanted += [joined[at:at + CHUNK] for at in range(0, len(joined) - CHUNK + 1, CHUNK)]
        self.check(stream[False] == wanted, "the pairs put together are not the corpus")
        self.check(stream[True] != wanted and len(stream[True]) > 20, "shuffle_files does not shuffle")
        print(f"seqio: {len(wanted)} spans of {CHUNK} ids, corrupted to {INPUTS}/{TARGETS} and put together again")

    def filter_lengths(self, tf_text, tfds):
        """transformer-lm-japanese drops lines with too many tokens; it drops none that `write_tfds` split."""
        model = Path(f"{self.out}/short/1.0.0/tokenizer.model").read_bytes()
        tokenizer = tf_text.SentencepieceTokenizer(model=model, add_bos=False, add_eos=True)
        lines = Counter(text for split in ("train", "validation") for text, in self.load(tfds, "short:1.0.0", split))
        longest = max(len(tokenizer.tokenize(line)) for line in lines)
        self.check(longest <= MOST_TOKENS, f"a line has {longest} tokens")
        was_long = [line for line in self.corpus if len(tokenizer.tokenize(line)) > MOST_TOKENS]
        self.check(len(was_long) > 50 and not any(line in lines for line in was_long), f"{len(was_long)} long lines")
        self.same("short lines", Counter({line: count for line, count in lines.items() if line in self.corpus}),
                  Counter({line: count for line, count in self.corpus.items() if line not in set(was_long)}))
        for line in was_long:
            left = line.replace(" ", "")
            parts = [part for part in lines if part.replace(" ", "") in left]
            covered = max((cover(left, [part.replace(" ", "") for part in parts])), default=0)
            self.check(covered == len(left), f"{line!r}: its parts end at {covered} of {len(left)}")
        ends = sum(part[-1] in "。！？" for part in lines)
        self.check(ends > 0.95 * len(lines), f"{ends} of {len(lines)} lines end with a sentence")
        print(f"TensorFlow Text: {len(was_long)} long lines in parts of at most {longest} of {MOST_TOKENS} tokens")


def put_together(inputs, targets, first_sentinel):
    """The ids from which T5's corruption made a pair."""
    def parts(ids):
        found = [[]]
        for number in ids:
            if number >= first_sentinel:
                found.append([])
            else:
                found[-1].append(number)
        return found
    kept, noise = parts(inputs), parts(targets)[1:]  # targets begin with a sentinel for the kept ids
    return [number for pair in zip(kept, [*noise, []]) for part in pair for number in part]


def cover(text, parts):
    """Every position in `text` up to which it is a sequence of parts."""
    reached, ends = {0}, [0]
    while ends:
        at = ends.pop()
        for part in parts:
            if text.startswith(part, at) and at + len(part) not in reached:
                reached.add(at + len(part))
                ends.append(at + len(part))
    return reached


def main(pipe, tfds_47):
    import sentencepiece
    import seqio
    import tensorflow as tf
    import tensorflow_datasets as tfds
    import tensorflow_text as tf_text

    tfds.core.utils.gcs_utils._is_gcs_disabled = True
    with tempfile.TemporaryDirectory() as directory:
        oracle = Oracle(str(Path(pipe).resolve()), Path(directory), str(Path(tfds_47).resolve()))
        oracle.ours = sentencepiece.SentencePieceProcessor(model_file=f"{oracle.out}/model/tokenizer.model")
        oracle.read_by_tfds(tfds)
        oracle.read_by_other_tfds()
        vocabulary = oracle.read_vocabulary(seqio, sentencepiece)
        if vocabulary is not None:
            oracle.corrupt_spans(seqio, tf, vocabulary)
        oracle.filter_lengths(tf_text, tfds)
        for what in oracle.wrong[:20]:
            print(what, file=sys.stderr)
    return 1 if oracle.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
