"""Loss weights: the loss is the mean over the targets of weight 1 of a step, and nothing else is learned."""

import math
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import session

import jax
import jax.numpy as jnp
import numpy as np

import packed_rows
from pipe_trainer.data.feed import Feed
from pipe_trainer.data.rows import Rows
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.model import attention, model
from pipe_trainer.optim import optim, step
from pipe_trainer.run import compiled
from pipe_trainer.run.setup import prepare

SYMBOLS, ASKED, VOCAB = 8, 4, 61
QUESTION, MARK, ANSWER = 5, 4, 20  # the first id of questions, the id before an answer, the first id of answers
SEQ_LEN = 3 * (2 * ASKED + 2)      # of three documents
REGULARIZED = {"dropout": 0.1, "label_smoothing": 0.1, "z_loss": 1e-3, "ema": 0.9}


def answered(count, seed):
    """Rows of documents: random ids, a mark, and the image of each id under one permutation. The answers alone, with
    the eos behind them, have weight 1."""
    chance = np.random.default_rng(seed)
    image = np.random.default_rng(7).permutation(SYMBOLS)
    scored = [0] * (ASKED + 1) + [1] * (ASKED + 1)
    for _ in range(count):
        ids, weights = [session.EOS], [0]
        for _ in range(3):
            asked = chance.integers(0, SYMBOLS, ASKED)
            ids += [*(QUESTION + asked).tolist(), MARK, *(ANSWER + image[asked]).tolist(), session.EOS]
            weights += scored
        yield ids, len(ids), 3 * sum(weights), sum(weights), weights


class AnswersAlone(unittest.TestCase):
    def test_answers_are_learned_and_questions_are_not(self):
        """Questions have 8 ids of 61, so a model that learned from them would lose no more than log 8 there."""
        steps = 150
        with tempfile.TemporaryDirectory() as place:
            packed_rows.write_packed(Path(place) / "packed", {"train": [list(answered(32 * steps, 0))],
                                                              "validation": [list(answered(64, 1))]},
                                     SEQ_LEN, VOCAB, weights=True)
            train, validation = (Rows(Path(place) / "packed", split) for split in ("train", "validation"))
            job = session.small_job(Path(place) / "run", {
                "model": {"layers": 2, "d": 64, "heads": 4, "kv_heads": 4, "ff": 128},
                "batch": {"rows": 32, "micro": 2},
                "optimizer": {"lr": 4e-3, "b2": 0.99}, "schedule": {"name": "wsd", "warmup": 0.1, "decay": 0.5}},
                steps=steps)
            loop = session.trained(job, train)
            rows = validation.in_order(0, 64)
            asked = rows.weights.copy()
            asked[:, 1:] = 1 - rows.weights[:, 1:]
            of_questions = session.MemoryRows(rows.tokens, weights=asked)
            answers, questions = (
                HeldOut(prepare(job, train, part), loop.events).score(loop.state["params"], lambda: False)
                for part in (validation, of_questions))
        losses = loop.events.losses()
        self.assertGreater(losses[1], 0.9 * math.log(VOCAB))
        self.assertLess(losses[steps], 0.1, losses)
        self.assertLess(answers["loss"], 0.1)
        self.assertEqual((answers["targets"], answers["chars"]), (64 * 3 * (ASKED + 1),) * 2)
        self.assertLess(answers["bits_per_char"], 0.1 / math.log(2))
        self.assertGreater(questions["loss"], 0.9 * math.log(VOCAB), "the model learned from the questions")


def sparse_rows(count=64, seed=3):
    """Random rows of unequal length, with random weights: none is 1 in the first two of every eight rows and in rows 24
    to 31."""
    rows = session.random_rows(count)
    rows.lengths[::3] = 11
    make = np.random.default_rng(seed)
    weights = make.random(rows.tokens.shape) < make.choice([0.1, 0.5, 0.9], (count, 1))
    weights &= (np.arange(33) > 0) & (np.arange(33) < rows.lengths[:, None])
    weights[np.arange(count) % 8 < 2] = 0
    weights[24:32] = 0
    rows.weights = weights.astype(np.uint8)
    return rows


class Weighted(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.place, cls.rows = Path(place.name), sparse_rows()

    def job(self, name, micro=1, regular=None, **members):
        return session.small_job(self.place / name, {"model": {"layers": 1}, "batch": {"micro": micro},
                                                     "regularizers": regular or {}}, **members)

    def setup_of(self, name, **more):
        setup = prepare(self.job(name, **more), self.rows, self.rows)
        return setup, step.new_state(setup.config, jax.random.key(0))

    def stepped(self, first, micro=1, weights=True, clip=0.0):
        """(the state before, after, the metrics) of one step on 8 rows."""
        setup, state = self.setup_of("one", micro=micro)
        batch = self.rows.shuffled(first, 8)
        shape = micro, 8 // micro
        held = batch.weights.reshape(*shape, -1) if weights else None
        given = batch.tokens.reshape(*shape, -1), batch.lengths.reshape(shape), held
        run = jax.jit(step.make_train_step(setup.config, attention.dense, jnp.float32, 32))
        after, metrics = run(state, given, jnp.float32(1e-2), jnp.zeros(1))
        return state, after, dict(zip(step.METRICS, metrics.tolist()))

    def gradient(self, after):
        """Of the first step: Adam's first moment has a tenth of it, if nothing was clipped."""
        return session.flat(after["optimizer"][0].mu)


class Steps(Weighted):
    def test_the_gradient_of_micro_batches_is_that_of_one_batch_and_of_the_mean_over_scored_targets(self):
        """One of the four micro-batches has no scored target, and the others have different numbers."""
        batch = self.rows.shuffled(0, 8)
        counts = batch.weights.reshape(4, -1).sum(axis=1)
        self.assertEqual(counts[0], 0)
        self.assertEqual(len(set(counts.tolist())), 4)
        state, one, metrics = self.stepped(0)
        _, four, others = self.stepped(0, micro=4)

        def mean(params):
            return session.summed_loss(params, self.setup_of("one")[0].config.model, attention.dense, jnp.float32, 32,
                                       *batch[:2], weights=batch.weights) / batch.weights.sum()
        value, right = jax.jit(jax.value_and_grad(mean))(state["params"])
        self.assertEqual((metrics["tokens"], others["tokens"]), (counts.sum(), counts.sum()))
        for found, told in ((one, metrics), (four, others)):
            self.assertAlmostEqual(told["loss"] / float(value), 1.0, delta=1e-5)
            norm = np.linalg.norm(session.flat(right))
            self.assertAlmostEqual(told["grad_norm"] / norm, 1.0, delta=1e-5)
            held = self.gradient(found) / np.linalg.norm(self.gradient(found))
            self.assertLess(np.linalg.norm(held - session.flat(right) / norm), 1e-5)

    def test_the_loss_is_that_of_the_logits_of_scored_targets(self):
        batch = self.rows.shuffled(0, 8)
        state, _, metrics = self.stepped(0)
        shape = self.setup_of("one")[0].config.model
        logits = model.logits(state["params"], shape, model.forward(state["params"], shape, batch.tokens[:, :-1]))
        chances = jax.nn.log_softmax(logits[..., :61])
        nats = -np.take_along_axis(np.asarray(chances), batch.tokens[:, 1:, None], axis=-1)[..., 0]
        self.assertAlmostEqual(metrics["loss"], nats[batch.weights[:, 1:] == 1].mean(), places=4)

    def test_weights_of_all_targets_are_no_weights(self):
        given = self.rows.weights
        self.rows.weights = ((np.arange(33) > 0) & (np.arange(33) < self.rows.lengths[:, None])).astype(np.uint8)
        try:
            _, with_them, metrics = self.stepped(0)
            _, without, others = self.stepped(0, weights=False)
        finally:
            self.rows.weights = given
        self.assertEqual(metrics["tokens"], others["tokens"])
        self.assertAlmostEqual(metrics["loss"] / others["loss"], 1.0, delta=1e-6)
        np.testing.assert_allclose(self.gradient(with_them), self.gradient(without), atol=1e-7)

    def test_a_step_without_a_scored_target_is_one_of_a_zero_gradient(self):
        for micro in (1, 4):
            before, after, metrics = self.stepped(24, micro)
            self.assertEqual({name: metrics[name] for name in ("loss", "grad_norm", "tokens", "skipped", "skips")},
                             dict.fromkeys(("loss", "grad_norm", "tokens", "skipped", "skips"), 0.0))
            config = self.setup_of("one")[0].config.optimizer
            zero = jax.tree.map(jnp.zeros_like, before["params"])
            directions, kept = optim.make(config).update(zero, before["optimizer"], before["params"])
            moved = jax.tree.map(lambda value, change: value - jnp.float32(1e-2) * change, before["params"], directions)
            np.testing.assert_allclose(session.flat(after["params"]), session.flat(moved), rtol=1e-6)
            np.testing.assert_array_equal(session.flat(after["optimizer"]), session.flat(kept))
            for one, other in zip(jax.tree.leaves(before["guard"]), jax.tree.leaves(after["guard"])):
                np.testing.assert_array_equal(one, other)
            self.assertEqual(after["step"], 1)

    def test_a_program_without_weights_has_nothing_of_them(self):
        setup = self.setup_of("program", micro=4, regular=REGULARIZED)[0]
        text = compiled.lowered(setup.config, jax.devices()[:1]).as_text()
        self.assertNotIn("ui8", text)


class Training(Weighted):
    def test_a_process_of_several_feeds_the_weights_of_its_own_rows(self):
        setup = prepare(self.job("fed", micro=2), self.rows, self.rows)
        feed = Feed(self.rows, setup.mesh, setup.config.batch, setup.objective.weigh)
        feed._low, feed._high = 1, 3  # of the four rows of a micro-batch
        with mock.patch.object(feed, "_place", np.asarray):
            tokens, lengths, weights = feed.load(8)
        for found, whole in ((tokens, self.rows.tokens), (lengths, self.rows.lengths), (weights, self.rows.weights)):
            np.testing.assert_array_equal(found, np.stack([whole[9:11], whole[13:15]]))

    def same(self, one, other):
        for number, value in other.events.losses().items():
            self.assertEqual(one.events.losses()[number], value, number)
        for a, b in zip(jax.tree.leaves(one.state), jax.tree.leaves(other.state)):
            np.testing.assert_array_equal(a, b)

    def test_a_resumed_run_is_the_same_bit_for_bit_and_goes_past_a_step_without_scored_targets(self):
        def trained(name, **members):
            return session.trained(self.job(name, 4, REGULARIZED, **members), self.rows)
        whole = trained("whole", steps=6)
        trained("parts", steps=3, checkpoint_every=3)
        resumed = trained("parts", steps=6)
        self.assertEqual(sorted(resumed.events.losses()), [4, 5, 6])
        self.same(whole, resumed)
        losses = whole.events.losses()
        self.assertIsNone(losses.pop(4))  # rows 24 to 31
        self.assertTrue(np.isfinite(list(losses.values())).all(), losses)
        self.assertTrue(np.isfinite(session.flat(whole.state["params"])).all())
        self.assertEqual(whole.events.of("warn"), [])


if __name__ == "__main__":
    unittest.main()
