"""Pairs of sentences of write_bert, for a BERT that also tells whether a second segment follows."""

import json
import tempfile
import unittest
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import bert_examples
import places  # noqa: F401
import runs
from bert_examples import CLS, MASK, SEP, easy_pairs, pair_of, write_bert
from packed_rows import frame

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config as configs
from pipe_trainer.data import bert_rows
from pipe_trainer.data.labels import parse
from pipe_trainer.data.open_rows import info_of, open_rows
from pipe_trainer.data.packed_info import DataError
from pipe_trainer.exits import BadJob
from pipe_trainer.export import initial
from pipe_trainer.model import attention, bert, families, lora, model
from pipe_trainer.objectives import registry
from pipe_trainer.optim import step
from pipe_trainer.run import setup

VOCAB = ["a", "b", "c", "d"]
LENGTH, MOST = 20, 3
PAIRS = [pair_of([5, 6, 7], [8, 5], [2, 6], 0), pair_of([7, 7], [6], [1], 1), pair_of([6] * 15, [5] * 2, [3, 9, 17], 0),
         pair_of([5, 6], [], [], 0)]
SMALL = {"preset": "tiny-masked", "model": {"layers": 2, "d": 32, "heads": 2, "ff": 64}, "batch": {"rows": 8},
         "objective": {"name": "next_sentence"}, "schedule": {"name": "const"}}


class InADirectory(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.place = Path(root.name, "rows")

    def rows(self, pairs=PAIRS, split="train", **more):
        written = write_bert(self.place, {"train": [pairs[:1], pairs[1:]], "validation": [pairs]}, LENGTH, MOST, VOCAB, **more)
        return open_rows(written, split, seed=5)


class Reading(InADirectory):
    def test_rows_come_as_they_were_written_with_zeros_behind_them(self):
        batch = self.rows().in_order(0, 9)
        self.assertEqual(len(batch.lengths), 4)
        self.assertEqual(batch.tokens[0].tolist(), [CLS, 5, MASK, 7, SEP, 8, MASK, SEP] + [0] * 13)
        self.assertEqual(batch.lengths.tolist(), [8, 6, 20, 5])
        self.assertEqual(batch.second[:, 0].tolist(), [5, 4, 17, 4])
        self.assertEqual((batch.places[0].tolist(), batch.hidden[0].tolist(), batch.there[0].tolist()), ([2, 6, 0], [6, 5, 0], [1, 1, 0]))
        self.assertEqual(batch.random[:, 0].tolist(), [0, 1, 0, 0])
        self.assertFalse(batch.there[3].any())

    def test_samples_come_in_the_order_of_the_plan_on_and_on(self):
        rows = self.rows()
        plan = rows.plan(2, 9)
        whole = rows.in_order(0, 4)
        np.testing.assert_array_equal(rows.shuffled(2, 9).tokens, whole.tokens[plan])
        self.assertEqual(sorted(rows.plan(0, 4)), [0, 1, 2, 3])

    def test_the_facts_need_no_row(self):
        info = self.rows() and info_of(self.place)
        self.assertEqual((info.seq_len, info.predictions, info.tokenizer["eos_id"]), (LENGTH, MOST, SEP))

    def test_a_row_that_write_bert_does_not_make_is_refused_with_its_place(self):
        def changed(name, at, value):
            def change(lists):
                lists[name][at] = value
            return change
        wrong = {"its padding is not zeros at its end": [("input_ids", 19, 5), ("input_mask", 2, 0)],
                 "none of the tokenizer's 9 pieces": [("input_ids", 1, 9), ("masked_lm_ids", 0, 300)],
                 "second segment does not end with it": [("segment_ids", 1, 1), ("segment_ids", 19, 1)],
                 "weights are not ones": [("masked_lm_weights", 0, 0.0), ("masked_lm_weights", 1, 0.5)],
                 "do not ascend within it": [("masked_lm_positions", 1, 2), ("masked_lm_positions", 1, 8),
                                             ("masked_lm_positions", 2, 3), ("masked_lm_ids", 2, 5)],
                 "its label is neither": [("next_sentence_labels", 0, 2)]}
        for message, changes in wrong.items():
            for one in changes:
                with self.subTest(one), self.assertRaisesRegex(DataError, f"train-00000-of-00002.tfrecord: the row at byte 0.*{message}"):
                    self.rows(PAIRS[:1] * 2, change=changed(*one)).in_order(0, 1)
        for name in ("segment_ids", "masked_lm_ids", "next_sentence_labels"):
            with self.assertRaisesRegex(DataError, "other features, or other lengths"):
                self.rows(change=lambda lists, name=name: lists[name].append(0)).in_order(0, 1)
        with self.assertRaisesRegex(DataError, "other features, or other lengths"):
            self.rows(change=lambda lists: lists.pop("segment_ids")).in_order(0, 1)

    def test_an_example_with_changed_bytes_is_read_or_refused(self):
        """Its checksums fit: another program may have written it."""
        make = np.random.default_rng(1)
        directory = write_bert(self.place, {"train": [PAIRS[:1]]}, LENGTH, MOST, VOCAB)
        shard, refused = directory / "train-00000-of-00001.tfrecord", 0
        whole = shard.read_bytes()[12:-4]
        for _ in range(300):
            data = bytearray(whole)
            for at in make.integers(0, len(data), make.integers(1, 4)):
                data[at] = make.integers(0, 256)
            shard.write_bytes(frame(bytes(data)))
            try:
                batch = open_rows(directory, "train").in_order(0, 1)
                self.assertLess(batch.tokens.max(), len(bert_examples.SPECIAL) + len(VOCAB))
            except DataError as error:
                self.assertIn(f"{shard.name}: the row at byte 0", str(error))
                refused += 1
        self.assertGreater(refused, 200)

    def test_damaged_files_are_refused_by_name(self):
        self.rows()
        shard = self.place / "train-00001-of-00002.tfrecord"
        whole = shard.read_bytes()
        for data, message in ((whole[:-1], "bytes, its MANIFEST.json says"), (whole[:40] + b"\x01" + whole[41:], "the CRC of the data"),
                              (whole[:7] + b"\xff" + whole[8:], "inside the row at byte 0")):
            shard.write_bytes(data)
            with self.assertRaisesRegex(DataError, f"{shard.name}.*{message}"):
                open_rows(self.place, "train").in_order(1, 1)
        shard.write_bytes(whole)
        with self.assertRaisesRegex(DataError, "there is no split 'test'; it has train, validation"):
            open_rows(self.place, "test")
        manifest = json.loads((self.place / "MANIFEST.json").read_text())
        for change, message in ((lambda: manifest["shards"][1].update(records=2), "bytes behind its 2 rows"),
                                (lambda: manifest["shards"].pop(0), "a shard of the split 'train' is missing")):
            change()
            (self.place / "MANIFEST.json").write_text(json.dumps(manifest))
            with self.assertRaisesRegex(DataError, message):
                open_rows(self.place, "train").in_order(1, 2)
        (self.place / "bert.json").write_text("{}")
        with self.assertRaisesRegex(DataError, "bert.json: its CRC is not that of its MANIFEST.json"):
            open_rows(self.place, "train")

    def test_a_shard_that_was_closed_is_opened_again(self):
        rows = self.rows()
        before, bert_rows.OPEN_SHARDS = bert_rows.OPEN_SHARDS, 1
        try:
            first = rows.in_order(0, 4).tokens
            np.testing.assert_array_equal(rows.in_order(0, 4).tokens, first)
        finally:
            bert_rows.OPEN_SHARDS = before

    def test_a_damaged_shard_is_refused_each_time(self):
        rows = self.rows()
        shard = self.place / "train-00001-of-00002.tfrecord"
        whole = shard.read_bytes()
        shard.write_bytes(whole[:7] + b"\xff" + whole[8:])
        for _ in range(2):
            with self.assertRaisesRegex(DataError, "inside the row|by their lengths"):
                rows.in_order(1, 1)
        shard.write_bytes(whole)
        self.assertEqual(len(rows.in_order(1, 1).lengths), 1)


class Learning(InADirectory):
    def setUp(self):
        super().setUp()
        self.read = self.rows()
        config = configs.Config(model=configs.Model(family="bert", layers=2, d=16, heads=2, ff=32),
                                objective=configs.ObjectiveKeys(name="next_sentence"), batch=configs.BatchSize(rows=4))
        self.config = setup.fill_in(config, self.read)
        self.objective = registry.of(self.config, self.read)
        self.batch = self.read.in_order(0, 4)

    @cached_property
    def params(self):
        def wide():
            return jax.tree.map(lambda leaf: leaf * (8 if leaf.ndim > 1 else 1), model.init(self.config.model, jax.random.key(3)))
        return jax.jit(wide)()

    def parts(self, micro=1):
        parts = self.batch.tokens, self.batch.lengths, self.objective.weigh(self.batch)
        return jax.tree.map(lambda part: jnp.asarray(part).reshape(micro, 4 // micro, *part.shape[1:]), parts)

    def by_hand(self, params):
        """The loss of run_pretraining.py, document by document. Returns (the sum, (that of masked ids, that of labels))."""
        shape, hidden_nats, label_nats = self.config.model, [], []
        for row in range(4):
            size, second = int(self.batch.lengths[row]), int(self.batch.second[row, 0])
            types = (jnp.arange(size) >= second).astype(jnp.int32)[None]
            ids = jnp.asarray(self.batch.tokens[row, :size])[None]
            layout = jnp.zeros((1, size), jnp.int32), jnp.arange(size)[None], types
            states = model.forward(params, shape, ids, attention.plain(causal=False), layout=layout)
            chances = jax.nn.log_softmax(model.logits(params, shape, states))[0]
            for slot in np.flatnonzero(self.batch.there[row]):
                hidden_nats.append(-chances[self.batch.places[row, slot], self.batch.hidden[row, slot]])
            pooled = jnp.tanh(states[0, 0] @ params["pooler"]["dense"] + params["pooler"]["dense_bias"])
            scores = pooled @ params["pooler"]["next"] + params["pooler"]["next_bias"]
            label_nats.append(-jax.nn.log_softmax(scores)[self.batch.random[row, 0]])
        told, other = sum(hidden_nats) / len(hidden_nats), sum(label_nats) / len(label_nats)
        return told + other, (told, other)

    def step_of(self, micro, rate):
        config = replace(self.config, batch=configs.BatchSize(rows=4, micro=micro), guard=configs.Guard(sigmas=0.0),
                         optimizer=configs.Optimizer(name="adafactor", lr=1.0, weight_decay=0.0, clip=0.0))
        made = jax.jit(step.make_train_step(config, attention.plain(causal=False), jnp.float32, MOST, objective=registry.of(config, self.read)))
        return made(step.state_around(config, self.params), self.parts(micro), jnp.float32(rate), jnp.zeros(1))

    def test_the_gradient_is_that_of_both_losses_and_the_loss_that_of_masked_ids(self):
        (_, (told, other)), wanted = jax.jit(jax.value_and_grad(self.by_hand, has_aux=True))(self.params)
        total = self.objective.scored(self.parts(), None)
        self.assertEqual(float(total), 6)

        def loss(params):
            batch = jax.tree.map(lambda part: part[0], self.objective.in_step(self.parts(), total))
            return step.summed_loss(params, self.objective, attention.plain(causal=False), jnp.float32, MOST, batch)[0] / total
        found, gradient = jax.jit(jax.value_and_grad(loss))(self.params)
        self.assertAlmostEqual(float(found), float(told), places=5)
        self.assertGreater(float(other), 0.01)
        jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=2e-5, rtol=1e-4), gradient, wanted)

    def test_adapters_learn_the_new_parts_as_a_whole(self):
        chosen = configs.Lora(rank=2, targets=["wq", "dense"])
        adapters = lora.fresh(chosen, self.params, jax.random.key(0), families.learned_whole(self.config.model))
        batch = jax.tree.map(lambda part: part[0], self.objective.in_step(self.parts(), jnp.float32(6)))

        def loss(adapters):
            whole = lora.attached(chosen, self.params, adapters)
            return step.summed_loss(whole, self.objective, attention.plain(causal=False), jnp.float32, MOST, batch)[0]
        found, gradient = jax.jit(jax.value_and_grad(loss))(adapters)
        told = step.summed_loss(self.params, self.objective, attention.plain(causal=False), jnp.float32, MOST, batch)[0]
        self.assertAlmostEqual(float(found), float(told), places=4)
        for leaf in (gradient["types"], gradient["pooler"]["dense"], gradient["pooler"]["next"], gradient["blocks"]["wq_b"]):
            self.assertGreater(float(jnp.abs(leaf).max()), 0)

    def test_micro_batches_change_nothing(self):
        whole, parted = self.step_of(1, 0.01), self.step_of(2, 0.01)
        np.testing.assert_allclose(whole[1][:3], parted[1][:3], rtol=1e-5)
        for state in (whole, parted):
            # A softmax does not change with the bias of its keys: their gradient is rounding alone, which differs by processor,
            # and the optimizer makes steps of it.
            state[0]["params"]["blocks"].pop("k_bias")
        jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-4), whole[0]["params"], parted[0]["params"])

    def test_an_evaluation_counts_answers_of_rows_that_are_there(self):
        batch = jax.tree.map(lambda part: jnp.asarray(np.pad(part[0], ((0, 2), (0, 0))[:part[0].ndim])), self.parts())
        made = jax.jit(step.make_eval_step(self.config, attention.plain(causal=False), jnp.float32, MOST, self.objective))
        sums, (_, (told, other)) = made(self.params, *batch), jax.jit(self.by_hand)(self.params)
        np.testing.assert_allclose(sums[:3], [float(told) * 6, 6, 4], rtol=1e-5)
        scores = self.objective.scores_beside(sums[2:].tolist())
        self.assertAlmostEqual(scores["next_sentence_loss"], float(other), places=5)

    def test_baselines_see_the_ids_that_were_masked(self):
        batch = self.objective.of_ids(self.read).in_order(0, 1)
        self.assertEqual(batch.tokens[0, :8].tolist(), [CLS, 5, 6, 7, SEP, 8, 5, SEP])
        self.assertEqual(np.flatnonzero(batch.weights[0]).tolist(), [2, 6])

    def test_rows_of_the_other_kind_are_refused(self):
        masked = replace(self.config, objective=configs.ObjectiveKeys(name="masked"), model=configs.Model(family="bert"))
        with self.assertRaisesRegex(BadJob, "masked learns packed rows, and these are pairs of sentences; name a stage write_packed"):
            setup.fill_in(masked, self.read)

        class OfRows:
            tokenizer, seq_len, labels, weights, predictions = self.read.tokenizer, LENGTH, None, False, None
        with self.assertRaisesRegex(BadJob, "next_sentence learns pairs of sentences, and these are packed rows"):
            setup.fill_in(self.config, OfRows)
        mistakes = list(registry.mistakes(replace(masked, model=configs.Model(family="bert", next_sentence=True))))
        self.assertEqual(mistakes, ["config.model.next_sentence: is for objective.name: next_sentence; leave it out"])


class Runs(runs.WithRows):
    config = SMALL

    @classmethod
    def rows_at(cls, directory):
        splits = {"train": [easy_pairs(200, 4), easy_pairs(200, 4, 1)], "validation": [easy_pairs(60, 4, 2)]}
        return write_bert(directory, splits, LENGTH, MOST, VOCAB)

    def test_a_run_goes_on_bit_for_bit_and_trains_on_a_mesh(self):
        self.goes_on_bit_for_bit_and_trains_on_a_mesh(2e-3)

    def test_a_model_learns_both_and_others_begin_with_it(self):
        run = self.run_here("learns", steps=250, log_every=50, checkpoint_every=250, export=True)
        self.assertEqual(run.end(), 0, run.log_end())
        final, export = run.result()["final"], run.run_dir / "export"
        self.assertLess(final["loss"], 0.2)
        self.assertGreater(final["next_sentence_accuracy"], 0.95)
        self.assertIn("follows the first, it tells in", (export / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(json.loads((export / "config.json").read_text())["architectures"], ["BertForPreTraining"])
        code, out, err = runs.asked("score", "--run", run.run_dir, "--data", self.data)
        self.assertEqual(code, 0, err)
        self.assertIn(f"{final['next_sentence_accuracy']:.4f}  next sentence accuracy", out)
        self.assertIn(f"{final['loss']:.4f} nats", out)
        packed = runs.make_rows(self.place / "packed")
        code, _, err = runs.asked("score", "--run", run.run_dir, "--data", packed)
        self.assertEqual((code, "made with the tokenizer" in err), (65, True), err)
        code, _, err = runs.asked("predict", "--run", run.run_dir, lines=b"a\n")
        self.assertIn("learned no labels", err)
        begun = self.run_here("begun", steps=1, init_from=str(run.run_dir), config={
            **SMALL, "optimizer": {"name": "adamw", "lr": 1e-9, "weight_decay": 0.0}})
        self.assertEqual(begun.end(), 0, begun.log_end())
        self.assertAlmostEqual(begun.result()["final"]["loss"], final["loss"], delta=1e-4)
        self.assertEqual(begun.result()["final"]["next_sentence_accuracy"], final["next_sentence_accuracy"])
        self.begins_with(export)

    def begins_with(self, export):
        """Parameters of a model that begins with the export, for other objectives."""
        start = initial.Initial(export)
        params = start.parameters(start.shape)
        shape = replace(start.shape, next_sentence=False)
        one = start.parameters(shape)
        np.testing.assert_array_equal(one["position_embed"], params["position_embed"] + params["types"][0])
        self.assertFalse({"types", "pooler"} & one.keys())
        labels = parse([{"name": "x", "ids": [1]}, {"name": "y", "ids": [2]}])
        self.assertEqual(start.drawn(replace(shape, classes=2), labels), "a fresh head behind its pooler")
        self.assertEqual(start.drawn(start.shape, None), "")
        head = start.parameters(replace(shape, classes=2), seed=4, named=labels)["readout"]
        np.testing.assert_array_equal(head["dense"], params["pooler"]["dense"])
        np.testing.assert_array_equal(head["labels"], bert.fresh(bert.head_over_labels, replace(shape, classes=2), 4)["labels"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
