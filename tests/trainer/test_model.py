"""The ids that the model may see; variants that save time or memory compute the same as the plain ones."""

import dataclasses
import math
import unittest

import session
from session import EOS

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config
from pipe_trainer.model import attention, model
from pipe_trainer.objectives import loss

SMALL = config.Model(layers=2, d=32, heads=4, kv_heads=2, ff=64, vocab=61, seq_len=32).complete()
SEED_SHAPE = config.Model(family="lm1b", layers=2, d=32, heads=4, ff=64, vocab=61, seq_len=32, tied=False,
                          norm_eps=1e-6).complete()


def logits_of(shape, params, x):
    return model.logits(params, shape, model.forward(params, shape, x))


def loss_of(shape, params, tokens, lengths, attend=attention.reference, compute=jnp.float32, positions=None):
    return session.summed_loss(params, shape, attend, compute, positions or tokens.shape[1] - 1, tokens, lengths)


def gradient_of(shape, *arguments, **options):
    return jax.jit(jax.value_and_grad(lambda params: loss_of(shape, params, *arguments, **options)))


def rows(count=4, seed=0):
    batch = session.random_rows(count, SMALL.seq_len, SMALL.vocab, seed).shuffled(0, count)
    lengths = batch.lengths.copy()
    lengths[0] = 20  # a row with fill
    return jnp.asarray(batch.tokens), jnp.asarray(lengths)


def products(program):
    """Number of matrix products in a program; the body of a loop counts once."""
    inner = [part for equation in program.eqns for value in equation.params.values()
             for part in (value if isinstance(value, (list, tuple)) else [value])]
    return (sum(equation.primitive.name == "dot_general" for equation in program.eqns)
            + sum(products(getattr(part, "jaxpr", part)) for part in inner if hasattr(getattr(part, "jaxpr", part), "eqns")))


class WhatIsSeen(unittest.TestCase):
    def test_a_token_changes_nothing_before_it_and_nothing_in_another_document(self):
        for shape in (SMALL, SEED_SHAPE):
            params = model.init(shape, jax.random.key(0))
            run = jax.jit(lambda x, shape=shape, params=params: logits_of(shape, params, x))
            x = np.random.default_rng(1).integers(5, 61, (1, 32))
            x[0, [0, 9, 21]] = EOS
            before = np.asarray(run(jnp.asarray(x)))
            for at in (3, 9 + 5, 30):
                changed = x.copy()
                changed[0, at] = 5 if x[0, at] != 5 else 6
                moved = np.any(np.asarray(run(jnp.asarray(changed))) != before, axis=-1)[0]
                end = min([place for place in (9, 21, 32) if place > at])
                self.assertFalse(moved[:at].any(), (shape.family, at))
                self.assertFalse(moved[end:].any(), (shape.family, at))
                self.assertTrue(moved[at:end].all(), (shape.family, at))

    def test_losses_of_packed_documents_are_those_of_the_documents_alone(self):
        make = np.random.default_rng(2)
        documents = [make.integers(5, 61, size) for size in (7, 12, 1, 8)]
        stream = np.concatenate([np.concatenate([[EOS], document]) for document in documents] + [[EOS]])
        packed = np.zeros((1, SMALL.seq_len + 1), np.int32)
        self.assertLessEqual(len(stream), packed.shape[1])
        packed[0, :len(stream)] = stream
        alone = np.zeros((len(documents), SMALL.seq_len + 1), np.int32)
        lengths = []
        for number, document in enumerate(documents):
            ids = [EOS, *document, EOS]
            alone[number, :len(ids)] = ids
            lengths.append(len(ids))
        for shape in (SMALL, SEED_SHAPE):
            params = model.init(shape, jax.random.key(3))
            together = loss_of(shape, params, jnp.asarray(packed), jnp.asarray([len(stream)]))
            apart = loss_of(shape, params, jnp.asarray(alone), jnp.asarray(lengths))
            self.assertAlmostEqual(float(together) / float(apart), 1.0, delta=1e-5)

    def test_what_fills_a_row_has_no_part_in_its_loss(self):
        params = model.init(SMALL, jax.random.key(0))
        tokens, lengths = rows(1)
        filled = tokens.at[0, 20:].set(7)
        self.assertEqual(float(loss_of(SMALL, params, tokens, lengths)), float(loss_of(SMALL, params, filled, lengths)))

    def test_a_fresh_model_knows_nothing(self):
        for shape in (SMALL, SEED_SHAPE):
            params = model.init(shape, jax.random.key(0))
            tokens, lengths = rows()
            nats = float(loss_of(shape, params, tokens, lengths)) / int((lengths - 1).sum())
            self.assertAlmostEqual(nats, math.log(shape.vocab), delta=0.1 if shape is SMALL else 1.0)


class EqualForms(unittest.TestCase):
    def setUp(self):
        self.params = model.init(SMALL, jax.random.key(0))
        self.batch = rows()
        self.plain = gradient_of(SMALL, *self.batch)(self.params)

    def same(self, found, tolerance, plain=None):
        plain = plain or self.plain
        self.assertAlmostEqual(float(found[0]) / float(plain[0]), 1.0, delta=tolerance)
        one, other = session.flat(found[1]), session.flat(plain[1])
        self.assertLess(np.linalg.norm(one - other) / np.linalg.norm(other), tolerance)

    def test_dense_attention_is_the_reference(self):
        for kv_heads in (1, 2, 4):
            shape = dataclasses.replace(SMALL, kv_heads=kv_heads)
            params = model.init(shape, jax.random.key(1))
            self.same(gradient_of(shape, *self.batch, attend=attention.dense)(params), 1e-5,
                      gradient_of(shape, *self.batch)(params))

    def test_cross_entropy_in_pieces_is_that_of_all_logits(self):
        tokens, lengths = self.batch

        def plainly(params):
            logits = logits_of(SMALL, params, tokens[:, :-1])
            nats = -jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)[..., 0]
            return jnp.sum(nats * session.weights_of(lengths, SMALL.seq_len))

        plain = jax.value_and_grad(plainly)(self.params)
        for positions in (1, 8, 32):
            self.same(gradient_of(SMALL, *self.batch, positions=positions)(self.params), 1e-5, plain)

    def test_layers_computed_again_or_scanned_are_the_same(self):
        for change in ({"remat": "dots"}, {"remat": "full"}, {"unroll": 1}):
            self.same(gradient_of(dataclasses.replace(SMALL, **change), *self.batch)(self.params), 1e-5)

    def test_remat_decides_which_products_are_made_again(self):
        """`dots` keeps products with parameters, so that only the scores of attention are computed again; `full` keeps
        none."""
        for shape, projections in ((SMALL, 7), (SEED_SHAPE, 6)):
            params = model.init(shape, jax.random.key(0))
            made = {}
            for remat in ("none", "dots", "full"):
                changed = dataclasses.replace(shape, remat=remat)
                program = jax.make_jaxpr(jax.grad(lambda params, changed=changed: loss_of(changed, params, *self.batch)))(params)
                made[remat] = products(program.jaxpr)
            self.assertLessEqual(made["dots"] - made["none"], 2, (shape.family, made))
            self.assertGreaterEqual(made["full"] - made["none"], projections, (shape.family, made))

    def test_bfloat16_is_near(self):
        self.same(gradient_of(SMALL, *self.batch, compute=jnp.bfloat16)(self.params), 0.03)

    def test_a_piece_of_logits_fits_and_divides_the_row(self):
        wide = dataclasses.replace(SMALL, vocab=32000, seq_len=1024)
        positions = loss.positions_at_a_time(wide, 32)
        self.assertEqual(wide.seq_len % positions, 0)
        self.assertLessEqual(positions * 32 * wide.padded_vocab, loss.LOGITS_AT_A_TIME)
        self.assertEqual(loss.positions_at_a_time(dataclasses.replace(wide, loss_chunk=0), 32), 1024)
        self.assertEqual(loss.positions_at_a_time(SMALL, 8), SMALL.seq_len)


if __name__ == "__main__":
    unittest.main()
