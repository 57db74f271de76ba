"""Labels: which documents of a row have which, the scores, the head of an encoder, and answers of models that write."""

import dataclasses
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path

import runs
import session
import tiny_tokenizer

import jax
import jax.numpy as jnp
import numpy as np
from packed_rows import write_packed

from pipe_trainer import config, exits, predict
from pipe_trainer.data import labels
from pipe_trainer.data.packed_info import DataError, read_packed_info
from pipe_trainer.data.text import Text
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.export import export, initial, model_card
from pipe_trainer.model import attention, model
from pipe_trainer.objectives import answers, label_scores, labelled, registry
from pipe_trainer.run import candidates, throughput

EOS, NEWLINE, VOCAB, LENGTH = session.EOS, 4, 61, 32
# Three labels whose second id tells them apart.
NAMED = labels.parse([{"name": "bad", "ids": [7, 8]}, {"name": "good", "ids": [7, 9, 10]}, {"name": "so", "ids": [7, 11]}])
HEAD = {"model": {"family": "bert", "layers": 1, "d": 32, "heads": 2, "kv_heads": None, "ff": 64},
        "objective": {"name": "classes"}}
CLASSES = registry.OBJECTIVES["classes"]


def row_of(documents, length=LENGTH):
    """(ids [T + 1], its length, weights [T + 1]) of documents, each (ids of text, number of its label)."""
    ids, weights = [EOS], [0]
    for text, number in documents:
        ids += [*text, NEWLINE, *NAMED.ids[number], EOS]
        weights += [0] * (len(text) + 1) + [1] * (len(NAMED.ids[number]) + 1)
    fill = length + 1 - len(ids)
    assert fill >= 0
    return ids + [0] * fill, len(ids), weights + [0] * fill


def rows_of(rows, length=LENGTH):
    parts = [row_of(documents, length) for documents in rows]
    return session.MemoryRows(*([part[number] for part in parts] for number in (0, 1)), vocab=VOCAB,
                              weights=[part[2] for part in parts], labels=NAMED)


def corpus(count, seed, labelled=lambda text: int(text[0]) % 3):
    """Rows of two documents of five ids. `labelled` gives the number of a text."""
    make = np.random.default_rng(seed)
    texts = make.integers(15, 27, (count, 2, 5))
    return rows_of([[(text.tolist(), labelled(text)) for text in row] for row in texts])


class Facts(unittest.TestCase):
    def test_the_id_behind_the_common_beginning_tells(self):
        self.assertEqual((NAMED.common, NAMED.telling), (1, (8, 9, 11)))
        self.assertEqual(labels.parse(NAMED.facts()), NAMED)

    def test_labels_that_nothing_tells_apart_are_refused(self):
        for ids in ([[7], [7]], [[7], [7, 8]], [[7, 8], [7, 8, 9]], [[7, 8, 9], [7, 8, 10], [7, 11]]):
            with self.assertRaises(ValueError, msg=ids):
                labels.parse([{"name": str(number), "ids": one} for number, one in enumerate(ids)])
        for listed in (None, {}, [], [{"name": "a", "ids": [1]}], [{"name": "a", "ids": [1]}, {"name": "b", "ids": []}],
                       [{"name": "a", "ids": [1]}, {"name": "b", "ids": [True]}], [{"name": "a", "ids": [1]}, 7],
                       [{"name": "a", "ids": [1]}, {"name": "a", "ids": [2]}]):
            with self.assertRaises(ValueError, msg=listed):
                labels.parse(listed)

    def test_a_description_of_rows_has_them(self):
        ids, length, weights = row_of([([20, 21], 1)])
        with tempfile.TemporaryDirectory() as place:
            def written(name, listed):
                rows = [[(ids, length, 3, 1, weights)]]
                made = write_packed(Path(place) / name, {"train": rows}, LENGTH, VOCAB, weights=True, labels=listed)
                return read_packed_info(made)
            self.assertEqual(written("good", NAMED.facts()).labels, NAMED)
            self.assertIsNone(written("none", None).labels)
            for name, listed in (("beyond", [{"name": "a", "ids": [6]}, {"name": "b", "ids": [VOCAB]}]), ("text", "a")):
                with self.assertRaises(DataError) as caught:
                    written(name, listed)
                self.assertIn("labels", str(caught.exception))


class Scores(unittest.TestCase):
    def test_they_follow_from_the_documents(self):
        confusion = np.array([[5, 1, 0], [2, 3, 1], [0, 0, 4]])
        found = label_scores.score(confusion)
        pairs = np.repeat(np.argwhere(confusion >= 0), confusion.ravel(), axis=0)
        own, theirs = (np.eye(3)[pairs[:, side]] - np.eye(3)[pairs[:, side]].mean(axis=0) for side in (0, 1))
        matthews = (own * theirs).sum() / np.sqrt((own ** 2).sum() * (theirs ** 2).sum())  # by covariances
        self.assertEqual(found["documents"], 16)
        for name, value in (("accuracy", 0.75), ("balanced_accuracy", (5 / 6 + 3 / 6 + 1) / 3),
                            ("macro_f1", (10 / 13 + 6 / 10 + 8 / 9) / 3), ("matthews", matthews)):
            self.assertAlmostEqual(found[name], value, places=12, msg=name)
        np.testing.assert_allclose(found["f1"], [10 / 13, 0.6, 8 / 9])

    def test_a_label_without_documents_and_answers_has_no_part(self):
        found = label_scores.score(np.array([[3, 1, 0], [0, 4, 0], [0, 0, 0]]))
        self.assertAlmostEqual(found["balanced_accuracy"], (0.75 + 1) / 2)
        self.assertIsNone(found["f1"][2])
        self.assertAlmostEqual(found["macro_f1"], (6 / 7 + 8 / 9) / 2)

    def test_one_answer_for_all_has_no_correlation(self):
        found = label_scores.majority(np.array([10, 70, 20]), np.diag([1, 2, 1]))
        self.assertEqual((found["accuracy"], found["matthews"]), (0.5, 0.0))
        self.assertAlmostEqual(found["balanced_accuracy"], 1 / 3)
        shares = np.array([11, 71, 21]) / 103
        self.assertAlmostEqual(found["nats_per_document"], float(-np.log(shares[[0, 1, 1, 2]]).mean()))


class Cards(unittest.TestCase):
    def test_leaner_forms_have_the_scores_of_labels(self):
        scores = dict.fromkeys(CLASSES.answering.metrics, 0.5)
        said = model_card.leaner(CLASSES.answering, {"leaner": [{"file": "int8.safetensors", "weights": "8 bits", "bytes_of_file": 7,
                                              "loss": 0.25, "bytes": 0, "targets": 3, "documents": 3, **scores}]})
        self.assertIn("nats/label | accuracy | balanced accuracy | macro F1 | Matthews correlation |", said)
        self.assertIn("| 0.2500 | 0.5000 | 0.5000 | 0.5000 | 0.5000 |", said)


class Reading(unittest.TestCase):
    def setUp(self):
        self.rows = rows_of([[([20, 21, 22], 2), ([23], 0), ([24, 25], 1)], [([30] * 20, 1)]])
        batch = self.rows.in_order(0, 2)
        self.shape = config.Model(family="bert", vocab=VOCAB, seq_len=LENGTH, classes=3, eos=EOS).complete()
        self.batch = batch.tokens, batch.lengths, batch.weights

    def test_an_encoder_reads_text_alone_and_answers_where_a_document_begins(self):
        ids, (segments, positions), places, numbers, there = labelled.read(self.shape, NAMED, NEWLINE, *self.batch)
        self.assertEqual(there.sum(axis=1).tolist(), [3, 1])
        self.assertEqual(numbers[0, :3].tolist(), [2, 0, 1])
        self.assertEqual(int(numbers[1, 0]), 1)
        np.testing.assert_array_equal(np.take_along_axis(ids, places, axis=1)[np.asarray(there)], EOS)
        np.testing.assert_array_equal(np.take_along_axis(positions, places, axis=1)[np.asarray(there)], 0)
        seen = np.asarray(ids)[np.asarray(segments) >= 0]
        self.assertEqual(seen.tolist(), [EOS, 20, 21, 22, EOS, 23, EOS, 24, 25, EOS, EOS, *[30] * 20, EOS])

    def test_the_host_finds_the_same_labels(self):
        self.assertEqual(label_scores.numbers_of(NAMED, self.rows.in_order(0, 2), EOS).tolist(), [2, 0, 1, 1])

    def test_a_label_changes_nothing_that_is_read(self):
        params = model.init(dataclasses.replace(self.shape, layers=1, d=32, heads=2, kv_heads=2, head_dim=16, ff=64),
                            jax.random.key(0))
        params = jax.tree.map(lambda leaf: leaf * (9 if leaf.ndim > 1 else 1), params)
        shape = dataclasses.replace(self.shape, layers=1, d=32, heads=2, kv_heads=2, head_dim=16, ff=64)
        found = []
        for number in range(3):
            tokens, lengths, weights = (np.array([part]) for part in row_of([([20, 21, 22], number)]))
            ids, layout, places, _, _ = labelled.read(shape, NAMED, NEWLINE, tokens, lengths, weights)
            hidden = model.forward(params, shape, jnp.asarray(ids), attention.plain(causal=False), layout=layout)
            found.append(np.asarray(hidden[0, places[0, 0]]))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])


class Shown(unittest.TestCase):
    def test_the_least_likely_labels_come_first_and_with_their_text(self):
        class Plain:
            begin = eos = EOS

            @staticmethod
            def text_of(ids):
                return "".join("\n" if one == NEWLINE else chr(65 + one) for one in ids)
        rows = rows_of([[([20, 21], 2), ([23], 0)], [([30], 1)]])
        found = np.zeros((2, 3, 4), np.float32)
        for row, place, numbers in ((0, 0, (1, 2, 2, 0.5)), (0, 1, (1, 0, 2, 3.0)), (1, 0, (1, 1, 0, 1.0))):
            found[row, place] = numbers
        counted = answers.Answers(NAMED)
        counted.add(found[:1], 0)
        counted.add(found[1:], 1)
        self.assertEqual(counted.confusion.tolist(), [[0, 0, 1], [1, 0, 0], [0, 0, 1]])
        said = counted.shown(rows, Plain)
        self.assertEqual([(one["text"], one["label"], one["answer"]) for one in said],
                         [("X", "bad", "so"), ("_", "good", "bad"), ("UV", "so", "so")])


class Learning(unittest.TestCase):
    """The label is the first id of the text, modulo three."""

    def scores(self, sections, steps=200, **members):
        train, held = corpus(512, 0), corpus(48, 1)
        with tempfile.TemporaryDirectory() as place:
            given = session.small_job(place, {**sections, "batch": {"rows": 32}, "optimizer": {"lr": 5e-3, "b2": 0.99}},
                                      steps=steps, log_every=50, **members)
            loop = session.trained(given, train)
            scorer = HeldOut(dataclasses.replace(loop.setup, eval_rows=held), loop.events)
            return (scorer.score(loop.state["params"], lambda: False),
                    {one["name"]: one for one in scorer.baselines(Path(place) / "baselines.json")})

    def test_a_head_over_labels_learns_them(self):
        found, baselines = self.scores(HEAD)
        self.assertEqual(found["documents"], 96)
        self.assertGreater(found["accuracy"], 0.95, found)
        self.assertLess(found["loss"], 0.3 * baselines["majority"]["nats_per_document"])
        self.assertEqual(list(baselines), ["majority"])
        self.assertIsNone(found["bits_per_char"])

    def test_a_decoder_writes_them(self):
        found, baselines = self.scores({})
        self.assertEqual(found["documents"], 96)
        self.assertGreater(found["accuracy"], 0.95, found)
        self.assertEqual(set(baselines), {"uniform", "unigram", "bigram_kn", "majority"})

    def test_a_decoder_behind_an_encoder_writes_them(self):
        shape = {"family": "t5", "layers": 1, "d": 32, "heads": 2, "kv_heads": None, "ff": 64}
        found, _ = self.scores({"model": shape, "objective": {"name": "prefix"}}, steps=400)
        self.assertEqual(found["documents"], 96)
        self.assertGreater(found["accuracy"], 0.9, found)


class Answering(unittest.TestCase):
    def test_a_line_is_answered_before_the_next_is_written(self):
        reader, writer = os.pipe()
        with open(reader, "rb") as file:
            found = predict.groups(file)
            with open(writer, "wb", buffering=0) as pipe:
                pipe.write("一\n".encode() + b"tw")
                self.assertEqual(next(found), ["一".encode()])
                pipe.write(b"o\r\n\n" + b"x\n" * 100 + b"last")
                self.assertEqual(next(found), [b"two\r", b"", *[b"x"] * 62])
                self.assertEqual(next(found), [b"x"] * 38)
            self.assertEqual(list(found), [[b"last"]])


class Mistakes(unittest.TestCase):
    def refused(self, sections, rows, *words):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            session.setup_of(HEAD, place, rows, **sections)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_rows_without_labels_are_refused(self):
        self.refused({}, session.random_rows(), "config.objective.name: classes", "write_packed the key `labels`")

    def test_another_number_of_labels_is_refused(self):
        self.refused({"model": {"classes": 2}}, corpus(8, 0), "config.model.classes: 2", "3 labels")

    def test_a_head_over_labels_is_for_their_objective_alone(self):
        session.refused(self, {"model": {"classes": 2}}, "config.model.classes", "objective.name: classes")
        session.refused(self, {**HEAD, "objective": {"name": "masked"}, "eval": {"metric": "macro_f1"}},
                        "config.eval.metric: macro_f1", "masked does not answer")


class Arithmetic(unittest.TestCase):
    def test_a_head_over_labels_costs_no_vocabulary(self):
        shape = config.Model(family="bert", layers=1, d=32, heads=2, ff=48, vocab=32000, seq_len=32, classes=3).complete()
        self.assertEqual(shape.scored, 128)
        whole = config.Config(model=shape, objective=config.ObjectiveKeys(name="classes"))
        counted = throughput.flops_per_token(whole)[0]
        blocks = model.count(model.shapes(shape)["blocks"]) + (32 * 128 + 32 * 32) // 2  # 16 places of 32 positions
        self.assertEqual(counted, 6 * blocks + 12 * 32 * 32)
        self.assertAlmostEqual(candidates.operations(whole)[0] / (counted * 8 * 32), 1, delta=0.03)


class BeginsWithAModel(unittest.TestCase):
    SHAPE = config.Model(family="bert", layers=1, d=32, heads=2, ff=48, vocab=tiny_tokenizer.VOCAB, seq_len=16).complete()

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = Path(directory.name)

    def exported(self, shape, seed=0, named=None):
        params = jax.device_get(model.init(shape, jax.random.key(seed)))
        export.write(params, shape, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {},
                     self.place / "export", named=named)
        return params, initial.Initial(self.place)

    def test_a_model_of_hidden_ids_gets_a_fresh_head(self):
        params, start = self.exported(self.SHAPE)
        shape = dataclasses.replace(self.SHAPE, classes=3)
        found, again, other = (start.parameters(shape, seed, NAMED) for seed in (1, 1, 2))
        np.testing.assert_array_equal(found["embed"][:300], params["embed"][:300])  # the export has no others
        for name, leaf in params["blocks"].items():
            np.testing.assert_array_equal(found["blocks"][name], leaf)
        self.assertEqual(found["readout"]["labels"].shape, (32, 128))
        np.testing.assert_array_equal(found["readout"]["labels"], again["readout"]["labels"])
        self.assertGreater(np.abs(found["readout"]["labels"] - other["readout"]["labels"]).max(), 0)

    def test_the_head_goes_on_if_the_labels_are_the_same(self):
        shape = dataclasses.replace(self.SHAPE, classes=3)
        params, start = self.exported(shape, named=NAMED)
        self.assertEqual(start.shape.classes, 3)
        found = start.parameters(shape, 1, NAMED)["readout"]
        np.testing.assert_array_equal(found["labels"][:, :3], params["readout"]["labels"][:, :3])
        other = labels.parse([{"name": name, "ids": [ids]} for name, ids in (("a", 8), ("b", 9))])
        found = start.parameters(dataclasses.replace(shape, classes=2), 1, other)["readout"]
        self.assertGreater(np.abs(found["labels"] - params["readout"]["labels"]).max(), 0)

    def test_hidden_ids_are_not_learned_with_a_head_over_labels(self):
        _, start = self.exported(dataclasses.replace(self.SHAPE, classes=3), named=NAMED)
        with self.assertRaises(exits.Ended) as caught:
            start.adopt(config.Config(objective=config.ObjectiveKeys(name="masked")), ())
        self.assertIn("its head is over labels, which masked does not learn", str(caught.exception))


class WholeRuns(runs.WithRows):
    """As processes, with the tokenizer of tiny_tokenizer. A text with 猫 is good, one with 犬 is bad."""

    NAMES = ("bad", "good")

    config = {**HEAD, "batch": {"rows": 4}, "optimizer": {"lr": 5e-3}, "schedule": {"name": "const"},
              "eval": {"metric": "macro_f1", "each_epoch": True}}

    @classmethod
    def rows_at(cls, directory):
        text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)
        cls.listed = [{"name": name, "ids": text.prompt_ids(name)[1:]} for name in cls.NAMES]
        make = np.random.default_rng(0)

        def rows(count):
            return [cls.row(text, [int(number) for number in make.integers(0, 2, 2)], make) for _ in range(count)]
        return write_packed(directory, {"train": [rows(24)], "validation": [rows(6)]}, LENGTH, tiny_tokenizer.VOCAB,
                            model=tiny_tokenizer.path().read_bytes(), weights=True, labels=cls.listed)

    @classmethod
    def row(cls, text, numbers, make):
        ids, weights = [EOS], [0]
        for number in numbers:
            said = text.prompt_ids(f"{'犬猫'[number]}が{'走る。' if make.random() < 0.5 else '鳴く。'}")[1:]
            label = cls.listed[number]["ids"]
            ids += [*said, NEWLINE, *label, EOS]
            weights += [0] * (len(said) + 1) + [1] * (len(label) + 1)
        fill = LENGTH + 1 - len(ids)
        return ids + [0] * fill, len(ids), 9, 9, weights + [0] * fill

    def test_a_killed_run_goes_on_bit_for_bit_and_a_mesh_changes_only_rounding(self):
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(delta=2e-5)
        self.assertEqual(set(whole.result()["baselines"]), {"majority"})

    def test_a_run_keeps_its_best_evaluation_and_its_export_answers(self):
        run = self.run_here("best", steps=60, keep_best=True, export=True, checkpoint_every=60, log_every=10)
        self.assertEqual(run.end(), 0, run.log_end())
        scores, found = run.of("eval"), run.result()
        self.assertEqual([one["step"] for one in scores], list(range(6, 61, 6)))  # 24 rows, 4 a step
        best = max(scores, key=lambda one: one["macro_f1"])
        self.assertEqual(found["best"]["macro_f1"], best["macro_f1"])
        self.assertEqual(found.get("export_step", 60), best["step"])
        self.assertEqual(len(run.of("mistakes")[-1]["documents"]), 12)
        self.assertEqual({one["text"][0] for one in run.of("mistakes")[-1]["documents"]}, set("犬猫"))
        place = run.run_dir / "export"
        settings = json.loads((place / "config.json").read_text())
        self.assertEqual(settings["architectures"], ["BertForSequenceClassification"])
        self.assertEqual(settings["id2label"], {"0": "bad", "1": "good"})
        card = (place / "README.md").read_text()
        self.assertIn("macro F1", card)

        code, said, error = runs.asked("score", "--run", run.run_dir, "--data", self.data, "--json", self.place / "s")
        self.assertEqual(code, 0, error)
        scored = json.loads((self.place / "s").read_text())
        for name in ("loss", "documents", *CLASSES.answering.metrics, "confusion"):
            self.assertAlmostEqual(scored[name], best[name], places=5, msg=name)
        self.assertIn(f"{best['macro_f1']:.4f}  macro F1", said)

        lines = "猫が走る。\n犬が鳴く。\n\n犬が走る。猫\xff\r\n".encode("utf-8", "surrogateescape")
        code, said, error = runs.asked("predict", "--run", run.run_dir, lines=lines)
        self.assertEqual(code, 0, error)
        answered = [line.split("\t") for line in said.splitlines()]
        self.assertEqual(len(answered), 4)
        self.assertEqual([one[0] for one in answered[:2]], ["good", "bad"])
        for _, share in answered:
            self.assertTrue(0.5 <= float(share) <= 1.0, share)

        code, said, error = runs.asked("sample", "--run", run.run_dir)
        self.assertEqual((code, said, error.count("\n")), (65, "", 1), error)
        self.assertIn("continues no text; `pipe predict` asks it for the label of each line", error)
        # A byte order mark is no text of the first line.
        code, said, error = runs.asked("predict", "--run", run.run_dir, lines=("猫が走る。\n" + "犬が鳴く。" * 50 + "\n").encode())
        self.assertEqual((code, len(said.splitlines())), (0, 2))
        self.assertRegex(error, r"1 of 2 texts has more ids than the model takes \(\d+\) and lost the end: \d+ of \d+ ids")
        answers = [runs.asked("predict", "--run", run.run_dir, lines=mark + "猫が走る。\n".encode())[1] for mark in (b"", b"\xef\xbb\xbf")]
        self.assertEqual(*answers)

        other = self.place / "other"
        write_packed(other, {"train": [[row_of_ids()]], "validation": [[row_of_ids()]]}, LENGTH, tiny_tokenizer.VOCAB,
                     model=tiny_tokenizer.path().read_bytes())
        code, _, error = runs.asked("score", "--run", run.run_dir, "--data", other)
        self.assertEqual((code, error.count("\n")), (65, 1), error)
        self.assertIn("its labels are none, and the model answers with bad, good", error)
        numbers = self.place / "numbers"
        write_packed(numbers, {"validation": [[(*row_of([([20], 1)])[:2], 9, 9, row_of([([20], 1)])[2])]]}, LENGTH,
                     tiny_tokenizer.VOCAB, model=tiny_tokenizer.path().read_bytes(), weights=True, labels="numbers")
        code, _, error = runs.asked("score", "--run", run.run_dir, "--data", numbers)
        self.assertEqual((code, error.count("\n")), (65, 1), error)
        self.assertIn("its labels are numbers, and the model answers with bad, good", error)

        damaged = self.place / "damaged"
        shutil.copytree(self.data, damaged)
        shard = next(damaged.glob("validation-*.tfrecord"))
        shard.write_bytes(bytes([shard.read_bytes()[0] ^ 1]) + shard.read_bytes()[1:])
        code, _, error = runs.asked("score", "--run", run.run_dir, "--data", damaged)
        self.assertEqual((code, error.count("\n")), (65, 1), error)
        self.assertIn(f"{shard.name}: damaged at byte 0", error)

    def test_a_decoder_that_learned_labels_answers_as_it_was_scored(self):
        config = {**self.config, "model": {"layers": 1, "d": 32, "heads": 2, "ff": 64}, "objective": {"name": "causal"}}
        run = self.run_here("decoder", config=config, steps=120, export=True, eval_every=0, log_every=10)
        self.assertEqual(run.end(), 0, run.log_end())
        self.assertGreater(run.result()["final"]["accuracy"], 0.9, run.result()["final"])
        code, said, error = runs.asked("predict", "--run", run.run_dir, lines="猫が走る。\n犬が鳴く。\n".encode())
        self.assertEqual(code, 0, error)
        self.assertEqual([line.split("\t")[0] for line in said.splitlines()], ["good", "bad"])


def row_of_ids():
    return [EOS, *range(10, 10 + LENGTH)], LENGTH + 1, 9, 9


if __name__ == "__main__":
    unittest.main()
