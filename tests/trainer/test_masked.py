"""The masked objective: which ids are hidden, what an encoder sees, and that it learns from both sides."""

import dataclasses
import tempfile
import unittest
from pathlib import Path

import runs
import session

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config, exits
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.model import attention, model
from pipe_trainer.objectives import hiding, masked
from pipe_trainer.run import setup

LENGTH, VOCAB, MASK = 32, 61, 5
SHAPE = config.Model(family="bert", layers=2, d=32, heads=4, ff=64, vocab=VOCAB, seq_len=LENGTH).complete()
HIDING = config.ObjectiveKeys(name="masked", share=0.25, random=0.0, keep=0.0, mask_id=MASK)
ENCODER = {"model": {"family": "bert", "layers": 1, "d": 32, "heads": 2, "kv_heads": None, "ff": 64},
           "objective": {"name": "masked", "share": 0.25, "mask_id": MASK}}


def keys_of(rows, seed=0):
    return jax.random.split(jax.random.key(seed), rows)


def hidden_of(tokens, lengths=None, weights=None, options=HIDING, begins=None, seed=0):
    """(ids that are read, ids [R, T] of the rows, hidden [R, T]), as arrays of numpy."""
    tokens = np.asarray(tokens, np.int32)
    lengths = np.full(len(tokens), tokens.shape[1], np.int32) if lengths is None else np.asarray(lengths, np.int32)
    count = hiding.most(options.share, tokens.shape[1] - 1)
    shape = dataclasses.replace(SHAPE, seq_len=tokens.shape[1] - 1)
    read, _, places, targets, scored = (jax.device_get(part) for part in hiding.hide(
        shape, options, count, begins, tokens, lengths, weights, keys_of(len(tokens), seed)))
    hidden = np.zeros(read.shape, bool)
    for row, (at, counts) in enumerate(zip(places, scored)):
        assert len(set(at)) == len(at)
        hidden[row, at[counts == 1]] = True
    np.testing.assert_array_equal(targets, np.take_along_axis(tokens, places, axis=1))
    return read, tokens[:, :-1], hidden


class Hiding(unittest.TestCase):
    def setUp(self):
        self.rows = session.random_rows(count=400, seq_len=LENGTH)

    def test_a_share_of_the_ids_is_hidden_everywhere_alike(self):
        read, ids, hidden = hidden_of(self.rows.tokens)
        free = ids != session.EOS
        np.testing.assert_array_equal(hidden.sum(axis=1), np.floor(0.25 * free.sum(axis=1) + 0.5))
        self.assertFalse((hidden & ~free).any())
        each = hidden.sum(axis=0) / free.sum(axis=0)
        self.assertLess(np.abs(each - 0.25).max(), 0.12)
        self.assertTrue((read[hidden] == MASK).all())
        np.testing.assert_array_equal(read[~hidden], ids[~hidden])

    def test_other_keys_hide_other_ids_and_the_same_keys_the_same(self):
        first, again, other = (hidden_of(self.rows.tokens, seed=seed)[2] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        self.assertLess((first & other).sum() / first.sum(), 0.35)

    def test_padding_and_ids_of_weight_0_stay(self):
        lengths = np.arange(400) % LENGTH + 2
        weights = (np.arange(LENGTH + 1) % 2 == 0).astype(np.uint8) * np.ones((400, 1), np.uint8)
        _, ids, hidden = hidden_of(self.rows.tokens, lengths, weights)
        inside = np.arange(LENGTH) < lengths[:, None]
        self.assertFalse((hidden & ~(inside & (weights[:, :-1] == 1))).any())
        free = inside & (weights[:, :-1] == 1) & (ids != session.EOS)
        np.testing.assert_array_equal(hidden.any(axis=1), free.any(axis=1))

    def test_some_hidden_ids_stay_and_some_are_others(self):
        read, ids, hidden = hidden_of(self.rows.tokens, options=dataclasses.replace(HIDING, random=0.3, keep=0.2))
        mask, kept = (read == MASK) & hidden, (read == ids) & hidden
        self.assertAlmostEqual(mask.sum() / hidden.sum(), 0.5, delta=0.05)
        self.assertAlmostEqual(kept.sum() / hidden.sum(), 0.2, delta=0.05)
        others = read[hidden & ~mask & ~kept]
        self.assertGreater(len(set(others.tolist())), VOCAB // 2)
        np.testing.assert_array_equal(read[~hidden], ids[~hidden])

    def test_a_word_that_the_share_holds_is_hidden_as_a_whole_or_not_at_all(self):
        begins = np.arange(VOCAB) % 3 != 0  # ids that 3 divides continue a word
        read, ids, hidden = hidden_of(self.rows.tokens, begins=begins)
        free = ids != session.EOS
        budget = np.floor(0.25 * free.sum(axis=1) + 0.5)
        for row in range(len(ids)):
            words, word = [], []
            for at in range(LENGTH):
                if begins[ids[row, at]] or not free[row, at]:
                    words, word = [*words, word], []
                if free[row, at]:
                    word.append(hidden[row, at])
            for word in [*words, word]:
                if len(word) <= budget[row]:
                    self.assertIn(sum(word), (0, len(word)), row)
        self.assertTrue((hidden.sum(axis=1) <= budget).all())
        self.assertGreater(hidden.sum() / budget.sum(), 0.85)

    def test_ids_of_a_word_that_is_longer_than_the_share_are_hidden_one_by_one(self):
        begins = np.zeros(VOCAB, bool)
        _, _, hidden = hidden_of(np.full((200, LENGTH + 1), 9), begins=begins)
        np.testing.assert_array_equal(hidden.sum(axis=1), 8)
        self.assertLess(np.abs(hidden.mean(axis=0) - 0.25).max(), 0.15)

    def test_the_tokenizer_tells_its_mask_and_where_words_begin(self):
        pieces = [("<pad>", 0, 3), ("<unk>", 0, 2), ("</s>", 0, 3), ("▁猫", 0, 1), ("が", 0, 1), ("[MASK]", 0, 4),
                  ("<0x0A>", 0, 6), ("\n", 0, 4)]
        self.assertEqual(masked.mask_id(pieces, 8), 5)
        self.assertEqual(masked.mask_id(pieces[:5], 5), 5, "behind the vocabulary")
        self.assertEqual(hiding.begins_of(pieces, 8).tolist(), [True, True, True, True, False, True, False, True])


class Encoder(unittest.TestCase):
    def setUp(self):
        self.params = model.init(SHAPE, jax.random.key(1))
        self.params = jax.tree.map(lambda leaf: leaf * (5 if leaf.ndim > 2 else 1), self.params)

    def logits(self, ids, attend=attention.plain(causal=False), layout=None):
        return np.asarray(model.logits(self.params, SHAPE, model.forward(self.params, SHAPE, jnp.asarray(ids), attend,
                                                                         layout=layout)))[..., :VOCAB]

    def test_a_position_sees_both_sides_of_its_document_and_no_other(self):
        ids = np.array([[2, *range(6, 17), 2, *range(20, 39)]])
        before = self.logits(ids)
        self.assertEqual(ids.shape[1], LENGTH)
        for changed, seen in ((11, slice(0, 12)), (13, slice(12, LENGTH))):
            other = ids.copy()
            other[0, changed] = 50
            moved = np.abs(self.logits(other) - before).max(axis=-1)[0] > 1e-5
            self.assertEqual(np.flatnonzero(moved).tolist(), list(range(LENGTH))[seen])

    def test_padding_is_not_seen(self):
        tokens = np.full((1, LENGTH + 1), 9, np.int32)
        tokens[0, 0] = session.EOS
        other = tokens.copy()
        other[0, 20:] = 0
        found = []
        for row in (tokens, other):
            ids, parts, places, _, scored = hiding.hide(SHAPE, HIDING, 5, None, row, np.array([20], np.int32), None,
                                                        keys_of(1))
            found.append(self.logits(ids, layout=parts)[:, :20])
        np.testing.assert_array_equal(*found)

    def test_the_form_for_a_cpu_gives_the_values_and_gradients_of_the_reference(self):
        make = np.random.default_rng(0)
        q, k, v, out = (make.normal(size=(2, 8, 2, 4)).astype(np.float32) for _ in range(4))
        segments = np.array([[0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, -1, -1]])
        pairs = []
        for form in (attention.plain(causal=False), lambda *given: attention.dense(*given, causal=False)):
            mixed, pull = jax.vjp(lambda *given, form=form: form(*given, segments), q, k, v)
            pairs.append([mixed, *pull(out)])
        for ours, theirs in zip(*pairs):
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
        self.assertGreater(np.abs(pairs[0][0] - attention.reference(q, k, v, segments)).max(), 0.1)


class Steps(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def metrics(self, micro=1):
        rows = session.random_rows(vocab=VOCAB)
        return session.metrics_of_a_step(session.setup_of(
            ENCODER, self.place.name, rows, jax.devices()[:1], batch={"rows": 8, "micro": micro}), rows)

    def test_micro_batches_hide_the_same_ids_and_change_only_rounding(self):
        np.testing.assert_allclose(self.metrics(), self.metrics(micro=4), rtol=2e-5)

    def test_the_loss_is_the_mean_over_hidden_ids(self):
        loss, _, counted = self.metrics()[:3]
        self.assertAlmostEqual(loss, np.log(VOCAB), delta=0.1)
        tokens = session.random_rows(vocab=VOCAB).tokens[:8, :-1]
        self.assertEqual(counted, np.floor(0.25 * (tokens != session.EOS).sum(axis=1) + 0.5).sum())


def middles(count, seed, length=LENGTH):
    """Documents of three ids: the middle one is the sum of the others. The id before it alone tells nothing about it."""
    make = np.random.default_rng(seed)
    left, right = make.integers(0, 15, (2, count, length // 4 + 1))
    ids = np.stack([np.full(left.shape, session.EOS), 15 + left, 30 + (left + right) % 15, 45 + right], axis=-1)
    return session.MemoryRows(ids.reshape(count, -1)[:, :length + 1], vocab=VOCAB)


class Learning(unittest.TestCase):
    def test_a_model_learns_from_both_sides_and_its_score_is_always_the_same(self):
        steps, train, held = 600, middles(4096, 0), middles(64, 1)
        with tempfile.TemporaryDirectory() as place:
            given = session.small_job(place, {**ENCODER, "batch": {"rows": 32},
                                              "model": {**ENCODER["model"], "layers": 2, "d": 64},
                                              "optimizer": {"lr": 3e-3, "b2": 0.99},
                                              "schedule": {"name": "wsd", "warmup": 0.05, "decay": 0.5}},
                                      steps=steps, log_every=50)
            loop = session.trained(given, train)
            scorer = HeldOut(dataclasses.replace(loop.setup, eval_rows=held), loop.events)
            scores = [scorer.score(loop.state["params"], lambda: False) for _ in range(2)]
            found = {item["name"]: item for item in scorer.baselines(Path(place) / "baselines.json")}
        self.assertEqual(scores[0], scores[1])
        for unknown in (scores[0], *found.values()):  # nobody knows how much text hidden ids are
            self.assertIsNone(unknown["bits_per_char"])
        unigram = found["unigram"]["nats_per_token"]
        # Two ids of a document tell the third.
        self.assertLess(scores[0]["loss"], 0.75 * unigram, (scores[0], unigram))
        self.assertLess(scores[0]["loss"], found["bigram_kn"]["nats_per_token"] - 0.3)

    def test_rows_that_fill_the_last_batch_up_have_no_hidden_id(self):
        held = middles(12, 1)
        with tempfile.TemporaryDirectory() as place:
            scores = []
            for batch in (4, 8):
                wanted = session.setup_of(ENCODER, place, held, jax.devices()[:1], eval={"batch": batch})
                params = model.init(wanted.config.model, jax.random.key(0))
                scores.append(HeldOut(wanted, session.Recorder()).score(params, lambda: False))
        self.assertEqual(scores[0]["targets"], scores[1]["targets"])
        self.assertAlmostEqual(scores[0]["loss"], scores[1]["loss"], places=5)


class Mistakes(unittest.TestCase):
    def test_a_family_learns_its_own_objective(self):
        session.refused(self, {"objective": {"name": "masked"}}, "config.objective.name", "family llama", "for bert")
        session.refused(self, {"model": {"family": "bert", "kv_heads": None}}, "config.objective.name", "learns masked")

    def test_shares_are_below_one(self):
        session.refused(self, {**ENCODER, "objective": {"name": "masked", "share": 1.0}}, "config.objective.share", "less than 1")
        session.refused(self, {**ENCODER, "objective": {"name": "masked", "keep": 0.6, "random": 0.6}}, "more than 1 together")

    def test_a_mask_beyond_the_vocabulary_is_refused(self):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            session.setup_of(ENCODER, place, session.random_rows(vocab=VOCAB), objective={"mask_id": 99})
        self.assertIn("config.objective.mask_id: 99", str(caught.exception))

    def test_prompts_are_refused(self):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            setup.prepare(session.small_job(place, ENCODER, prompts=["猫"]), session.random_rows(), session.random_rows())
        self.assertIn("job.prompts", str(caught.exception))


class WholeRuns(runs.WithRows):
    """As processes, on several devices."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = {**ENCODER, "model": {**ENCODER["model"], "kv_heads": 2}, "batch": {"rows": 4},
                      "schedule": {"name": "const"}}

    def test_a_killed_run_goes_on_bit_for_bit_and_a_mesh_changes_only_rounding(self):
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(delta=2e-5)
        self.assertEqual(set(whole.result()["baselines"]), {"uniform", "unigram", "bigram_kn"})


if __name__ == "__main__":
    unittest.main()
