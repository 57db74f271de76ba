"""Dropout, label smoothing, z-loss and the average of the weights: each does what it says, and nothing if it is off."""

import dataclasses
import tempfile
import unittest
from functools import partial
from pathlib import Path

import session

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config, exits
from pipe_trainer.checkpoints import resume
from pipe_trainer.config import PRESETS, Regularizers
from pipe_trainer.model import attention, model, regularizers
from pipe_trainer.optim import step
from pipe_trainer.run import job
from pipe_trainer.run.loop import Loop
from pipe_trainer.run.setup import prepare

SHAPE = config.Model(layers=2, d=32, heads=4, kv_heads=2, ff=64, vocab=61, seq_len=32).complete()
SEED_SHAPE = dataclasses.replace(SHAPE, family="lm1b", kv_heads=4, tied=False)
ALL_ON = {"dropout": 0.2, "label_smoothing": 0.1, "z_loss": 1e-3, "ema": 0.9}


def batch(count=8):
    rows = session.random_rows(count, SHAPE.seq_len, SHAPE.vocab).shuffled(0, count)
    lengths = rows.lengths.copy()
    lengths[0] = 20
    return rows.tokens, lengths


def drop_of(rate=0.2, seed=0, number=0, first=0, rows=8):
    return regularizers.dropout(rate, regularizers.row_keys(seed, jnp.int32(number), first, rows))


class Dropout(unittest.TestCase):
    def test_so_many_are_dropped_and_the_others_make_up_for_them(self):
        x = jnp.full((8, 128, 64), 2.0, jnp.bfloat16)
        y = np.asarray(jax.jit(lambda x: drop_of(0.1)(x, "mlp", layer=1))(x), np.float32)
        self.assertAlmostEqual((y == 0).mean(), 0.1, delta=0.005)
        self.assertEqual(set(np.unique(y)), {0.0, float(jnp.bfloat16(2 / 0.9))})

    def test_no_two_masks_are_the_same(self):
        @jax.jit
        def masks(seed, number):
            drop, x = regularizers.dropout(0.5, regularizers.row_keys(seed, number, 0, 8)), jnp.ones((8, 16, 16))
            return drop(x, "embedding"), [jax.lax.map(lambda layer, place=place: drop(x, place, layer), jnp.arange(2))
                                          for place in regularizers.PLACES[1:]]
        seen = set()
        for seed in (0, 1):
            for number in (0, 1):
                seen.update(row.tobytes() for mask in jax.tree.leaves(masks(seed, number))
                            for row in np.asarray(mask).reshape(-1, 16, 16))
        self.assertEqual(len(seen), 2 * 2 * (1 + 3 * 2) * 8)

    def test_a_mask_is_of_the_row_and_not_of_the_piece_that_the_row_is_computed_in(self):
        @jax.jit
        def mask(x, first):
            return regularizers.dropout(0.5, regularizers.row_keys(0, 0, first, len(x)))(x, "mlp", layer=0)
        x = jnp.ones((8, 16, 16))
        np.testing.assert_array_equal(mask(x, 0), np.concatenate([mask(x[:2], first) for first in (0, 2, 4, 6)]))

    def test_forward_and_backward_have_one_mask_however_layers_are_computed(self):
        tokens, lengths = batch()
        for shape in (SHAPE, SEED_SHAPE):
            params = model.init(shape, jax.random.key(0))

            def gradient(change, shape=shape, params=params):
                return jax.jit(jax.value_and_grad(lambda params, *rows: session.summed_loss(
                    params, dataclasses.replace(shape, **change), attention.dense, jnp.float32, 32, *rows,
                    drop=drop_of())))(params, tokens, lengths)
            nats, plain = gradient({})
            for change in ({"unroll": 1}, {"remat": "full"}, {"remat": "dots", "unroll": 1}):
                other_nats, other = gradient(change)
                self.assertAlmostEqual(float(other_nats / nats), 1.0, delta=1e-6)
                one, two = session.flat(plain), session.flat(other)
                self.assertLess(np.linalg.norm(one - two) / np.linalg.norm(one), 1e-5, change)

    def test_its_gradient_is_that_of_the_loss_with_these_masks(self):
        rows, params = batch(), model.init(SHAPE, jax.random.key(0))
        run = jax.jit(lambda params, *rows: session.summed_loss(params, SHAPE, attention.dense, jnp.float32, 32, *rows,
                                                                drop=drop_of()))
        gradient = jax.jit(jax.grad(run))(params, *rows)
        length = np.linalg.norm(session.flat(gradient))
        ahead, behind = (run(jax.tree.map(lambda p, d, sign=sign: p + sign * 1e-2 / length * d, params, gradient), *rows)
                         for sign in (1, -1))
        self.assertAlmostEqual(float(ahead - behind) / (2e-2 * length), 1.0, delta=0.01)


class Penalties(unittest.TestCase):
    def explicit(self, shape, params, tokens, lengths, smoothing, z_loss):
        scores = model.logits(params, shape, model.forward(params, shape, tokens[:, :-1]))[..., :shape.vocab]
        chances = jax.nn.log_softmax(scores)
        wanted = jax.nn.one_hot(tokens[:, 1:], shape.vocab)
        wanted = wanted * (1 - smoothing) + (1 - wanted) * smoothing / (shape.vocab - 1)
        each = -jnp.sum(wanted * chances, axis=-1) + z_loss * jax.nn.logsumexp(scores, axis=-1) ** 2
        return jnp.sum(each * session.weights_of(lengths, tokens.shape[1] - 1))

    def test_the_gradient_is_that_of_the_objective_and_the_value_is_nats(self):
        rows, shape = batch(), dataclasses.replace(SHAPE, layers=1)
        params = jax.tree.map(lambda leaf: 3 * leaf, model.init(shape, jax.random.key(0)))
        explicit = jax.jit(jax.value_and_grad(partial(self.explicit, shape)))
        plain, _ = explicit(params, *rows, 0.0, 0.0)
        for smoothing, z_loss in ((0.1, 0.0), (0.0, 1e-2), (0.2, 1e-3)):
            value, found = jax.jit(jax.value_and_grad(partial(
                session.summed_loss, shape=shape, attend=attention.dense, compute=jnp.float32, positions=8,
                penalties=regularizers.Penalties(smoothing, z_loss))))(params, tokens=rows[0], lengths=rows[1])
            _, right = explicit(params, *rows, smoothing, z_loss)
            self.assertAlmostEqual(float(value / plain), 1.0, delta=1e-5)
            one, two = session.flat(found), session.flat(right)
            self.assertLess(np.linalg.norm(one - two) / np.linalg.norm(two), 1e-5, (smoothing, z_loss))


class Runs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.rows = session.random_rows()

    def job(self, name, regular, sections=None, **members):
        wanted = {"model": {"layers": 1}, **(sections or {}), "regularizers": regular}
        return session.small_job(self.place / name, wanted, **members)

    def train(self, name, steps=6, regular=None, sections=None, **members):
        return session.trained(self.job(name, ALL_ON if regular is None else regular, sections, steps=steps, **members),
                               self.rows)

    def same(self, one, other):
        for number, value in other.events.losses().items():
            self.assertEqual(one.events.losses()[number], value, number)
        for a, b in zip(jax.tree.leaves(one.state), jax.tree.leaves(other.state)):
            np.testing.assert_array_equal(a, b)

    def test_runs_and_resumed_runs_are_the_same_bit_for_bit(self):
        whole = self.train("whole")
        self.same(whole, self.train("again"))
        self.train("parts", steps=3, checkpoint_every=3)
        resumed = self.train("parts")
        self.assertEqual(sorted(resumed.events.losses()), [4, 5, 6])
        self.same(whole, resumed)

    def test_micro_batches_change_rounding_alone(self):
        one, four = (self.train(f"micro{micro}", sections={"batch": {"micro": micro}}) for micro in (1, 4))
        for number, value in one.events.losses().items():
            self.assertAlmostEqual(four.events.losses()[number] / value, 1.0, delta=1e-5)

    def test_each_changes_the_training_and_none_of_them_the_evaluation(self):
        plain = self.train("plain", regular={})
        self.assertNotIn("average", plain.state)
        tokens, lengths = batch()
        for name, value in ALL_ON.items():
            other = self.train(name, regular={name: value})
            if name == "ema":
                del other.state["average"]
                self.same(plain, other)
            else:
                self.assertNotEqual(plain.events.losses()[6], other.events.losses()[6], name)
            nats = [jax.jit(step.make_eval_step(run.config, attention.reference, jnp.float32, 32))(
                plain.state["params"], tokens, lengths) for run in (plain, other)]
            self.assertEqual(*nats, name)

    def test_the_average_follows_the_weights_and_is_what_is_evaluated_and_exported(self):
        seen = []

        class Watched(Loop):
            def evaluate(self, told=False):
                self._evaluate = lambda params, told: seen.append(params) or {"loss": 0.0}
                super().evaluate()

        one = self.train("one", 1, {"ema": 0.15})
        two = session.trained(self.job("two", {"ema": 0.15}, steps=2), self.rows, loop_type=Watched)
        fresh = jax.jit(lambda: model.init(one.config.model, jax.random.key(0)))()
        for start, first, mean, second, then in zip(*map(jax.tree.leaves, (
                fresh, one.state["params"], one.state["average"], two.state["params"], two.state["average"]))):
            np.testing.assert_allclose(mean, 0.1 * start + 0.9 * first, atol=1e-6)
            np.testing.assert_allclose(then, 0.15 * mean + 0.85 * second, atol=1e-6)
        for given, exported, mean in zip(*map(jax.tree.leaves, (seen[-1], two.whole_parameters(), two.state["average"]))):
            np.testing.assert_array_equal(given, mean)
            np.testing.assert_array_equal(exported, mean)

    def test_an_update_that_is_left_out_moves_no_average(self):
        setup = prepare(self.job("run", {"ema": 0.5}), self.rows, self.rows)
        state = step.new_state(setup.config, jax.random.key(0))
        state["params"]["final_norm"] = state["params"]["final_norm"] * jnp.nan
        tokens, lengths = batch()
        after, _ = jax.jit(step.make_train_step(setup.config, attention.reference, jnp.float32, 32))(
            state, (tokens[None], lengths[None], None), jnp.float32(1e-2), jnp.zeros(1))
        for a, b in zip(jax.tree.leaves(state["average"]), jax.tree.leaves(after["average"])):
            np.testing.assert_array_equal(a, b)

    def test_a_checkpoint_without_an_average_is_not_gone_on_with_when_there_shall_be_one(self):
        self.train("run", steps=2, regular={}, checkpoint_every=2)
        with self.assertRaises(exits.Ended) as ended:
            self.train("run", steps=4, regular={"ema": 0.9})
        self.assertEqual(ended.exception.code, exits.BAD_JOB)
        self.assertIn("was made with ema False, and the job says True", str(ended.exception))
        self.assertTrue((self.place / "run/checkpoints/2").is_dir())
        goes_on = self.train("run", steps=4, regular={"dropout": 0.1})
        self.assertEqual(goes_on.events.of("restore")[0]["step"], 2)

    def test_facts_of_the_version_before_are_read(self):
        setup = prepare(session.small_job(self.place), self.rows, self.rows)
        facts = resume.facts_of(setup)
        del facts["ema"]
        self.assertNotIn("gradients", facts["model"])
        resume.check(setup, "checkpoints/1", facts)


class Config(unittest.TestCase):
    def test_they_are_off_but_in_the_presets_of_the_seeds_that_have_them(self):
        self.assertEqual(Regularizers(), Regularizers(dropout=0.0, label_smoothing=0.0, z_loss=0.0, ema=0.0))
        self.assertEqual(PRESETS["kc-moe"]["regularizers"], {"z_loss": 1e-4})
        self.assertEqual({name: preset["regularizers"] for name, preset in PRESETS.items()
                          if "regularizers" in preset and name != "kc-moe"},
                         {name: {"dropout": 0.1} for name in ("lm1b", "bert-base", "jestimator")})

    def test_what_they_cannot_be_is_refused(self):
        for name, value, said in (("dropout", 1.0, "wants less than 1.0, and is 1.0"), ("dropout", -0.1, "at least 0.0"),
                                  ("label_smoothing", "0.1", "wants a number"), ("ema", 1, "wants less than 1.0"),
                                  ("z_loss", -1e-4, "at least 0.0"), ("dropuot", 0.1, "did you mean dropout?")):
            mistakes = []
            job.parse_config({"regularizers": {name: value}}, mistakes)
            self.assertEqual(len(mistakes), 1, name)
            self.assertIn(f"config.regularizers.{name}: ", mistakes[0])
            self.assertIn(said, mistakes[0])


if __name__ == "__main__":
    unittest.main()
