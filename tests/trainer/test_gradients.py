"""Gradients that are written by hand: as exact as they claim to be, equal to the derived ones, and with less kept
memory."""

import dataclasses
import unittest
from functools import partial
from unittest import mock

import session

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import jaxprs_in_params
from jax.sharding import AbstractDevice, AbstractMesh

from pipe_trainer import config
from pipe_trainer.model import attention, llama, lm1b, model, norms, primitives, sharding

SHAPE = config.Model(layers=2, d=64, heads=4, kv_heads=2, ff=128, vocab=61, seq_len=64, tied=False).complete()
SEED_SHAPE = dataclasses.replace(SHAPE, family="lm1b", kv_heads=4)


def derived_rms_norm(x, scale, eps):
    wide = x.astype(jnp.float32)
    normed = wide * lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return normed.astype(x.dtype) * scale.astype(x.dtype)


def derived_layer_norm(x, scale, bias, eps):
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return (centred * lax.rsqrt(variance + eps)).astype(x.dtype) * scale.astype(x.dtype) + bias.astype(x.dtype)


def normal(seed, shape, kind=jnp.float32):
    return jax.random.normal(jax.random.key(seed), shape, kind)


def bytes_kept(function, *arguments):
    """Bytes that are kept between the forward and the backward pass."""
    kept = jax.eval_shape(lambda *arguments: jax.vjp(function, *arguments)[1], *arguments)
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(kept))


def off(found, right):
    found, right = np.asarray(found, np.float64), np.asarray(right, np.float64)
    return np.linalg.norm(found - right) / np.linalg.norm(right)


class Norms(unittest.TestCase):
    def both(self, kind):
        x, scale, bias = 1 + normal(0, (4, 64, 96)), 1 + 0.1 * normal(1, (96,)), normal(2, (96,))
        yield norms.rms_norm, derived_rms_norm, (x.astype(kind), scale)
        yield norms.layer_norm, derived_layer_norm, (x.astype(kind), scale, bias)

    def gradients(self, function, arguments):
        d_y = normal(3, arguments[0].shape, jnp.bfloat16).astype(arguments[0].dtype)
        return jax.jit(lambda *arguments: jax.vjp(lambda *a: function(*a, 1e-5), *arguments)[1](d_y))(*arguments)

    def test_in_bfloat16_they_are_the_derived_ones_and_those_of_vectors_nearer_to_float32(self):
        for ours, derived, arguments in self.both(jnp.bfloat16):
            np.testing.assert_array_equal(*(jax.jit(partial(form, eps=1e-5))(*arguments) for form in (ours, derived)))
            found, near = self.gradients(ours, arguments), self.gradients(derived, arguments)
            right = self.gradients(derived, [argument.astype(jnp.float32) for argument in arguments])
            self.assertEqual([leaf.dtype for leaf in found], [leaf.dtype for leaf in arguments])
            self.assertLess(off(found[0], near[0]), 1e-3)
            for one, two, exact in zip(found[1:], near[1:], right[1:]):
                self.assertLess(off(one, exact), 0.005)
                self.assertGreater(off(two, exact), off(one, exact))

    def test_in_float32_they_are_the_derived_ones_bit_for_bit(self):
        for ours, derived, arguments in self.both(jnp.float32):
            for found, right in zip(self.gradients(ours, arguments), self.gradients(derived, arguments)):
                np.testing.assert_array_equal(found, right)

    def test_in_bfloat16_they_keep_the_input_as_it_came_and_a_number_or_two_of_each_position(self):
        x, scale, bias = normal(0, (4, 64, 96), jnp.bfloat16), jnp.ones(96), jnp.zeros(96)
        positions, vectors = 4 * 64, 96 * 4
        self.assertEqual(bytes_kept(lambda x, scale: norms.rms_norm(x, scale, 1e-5), x, scale),
                         x.nbytes + 4 * positions + vectors)
        self.assertEqual(bytes_kept(lambda *three: norms.layer_norm(*three, 1e-5), x, scale, bias),
                         x.nbytes + 8 * positions + 2 * vectors)
        self.assertGreater(bytes_kept(lambda x, scale: derived_rms_norm(x, scale, 1e-5), x, scale), 2 * x.nbytes)

    def test_a_step_keeps_less_with_them(self):
        rows = np.zeros((8, SHAPE.seq_len + 1), np.int32), np.full(8, SHAPE.seq_len + 1)

        def temporaries(shape):
            params = jax.eval_shape(lambda: model.init(shape, jax.random.key(0)))
            run = jax.jit(jax.grad(lambda params, *rows: session.summed_loss(
                params, shape, attention.dense, jnp.bfloat16, 64, *rows)))
            return run.lower(params, *rows).compile().memory_analysis().temp_size_in_bytes
        deep = dataclasses.replace(SHAPE, layers=4, unroll=1)
        ours = temporaries(deep)
        with mock.patch.object(llama, "rms_norm", derived_rms_norm):
            self.assertLess(ours, temporaries(deep))
        deep = dataclasses.replace(SEED_SHAPE, layers=4, unroll=1)
        ours = temporaries(deep)
        with mock.patch.object(lm1b, "layer_norm", derived_layer_norm):
            self.assertLess(ours, temporaries(deep))


class Products(unittest.TestCase):
    def test_over_rows_they_are_the_derived_ones_whichever_matrix_is_narrower(self):
        x, d_y = (normal(number, (2, 64, width)) for number, width in enumerate((24, 40)))
        for one, other in ((x, d_y), (d_y, x), (x[0], d_y[0])):
            with self.subTest(widths=(one.shape, other.shape)), jax.set_mesh(sharding.make_mesh(config.MeshShape())):
                given = jax.jit(primitives.over_rows, static_argnums=2)(one, other, jnp.float32)
                np.testing.assert_allclose(given, one.mT @ other, rtol=1e-5, atol=1e-5)

    def test_a_program_for_a_tpu_has_no_barrier_though_a_cpu_traces_it(self):
        x, d_y = jnp.ones((64, 24)), jnp.ones((64, 40))
        device = AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")
        tpu = AbstractMesh((1,), ("data",), abstract_device=device)
        for mesh, barriers in ((sharding.make_mesh(config.MeshShape()).abstract_mesh, 1), (tpu, 0)):
            with jax.sharding.use_abstract_mesh(mesh):
                traced = jax.make_jaxpr(primitives.over_rows, static_argnums=2)(x, d_y, jnp.float32)
            self.assertEqual(str(traced).count("optimization_barrier"), barriers)


class Lookup(unittest.TestCase):
    def test_an_id_that_occurs_thousands_of_times_gets_its_whole_gradient(self):
        """Compares the model's gradient, in bfloat16, with a sum in 64 bits of the gradients of the rows that were
        looked up."""
        make = np.random.default_rng(0)
        common = make.random((128, SHAPE.seq_len + 1)) < 0.9
        tokens = np.where(common, make.integers(5, 8, common.shape), make.integers(8, 61, common.shape))
        lengths, ids = np.full(128, SHAPE.seq_len + 1), tokens[:, :-1]
        self.assertGreater(np.bincount(ids.ravel())[5:8].min(), 2000)
        for shape in (SHAPE, SEED_SHAPE):
            shape = dataclasses.replace(shape, layers=1, d=32, heads=2, kv_heads=2, head_dim=16, ff=32)
            params = model.init(shape, jax.random.key(0))

            def loss(params, tokens, shape=shape):
                return session.summed_loss(params, shape, attention.dense, jnp.bfloat16, 64, tokens, lengths)

            def of_rows(rows, params, tokens, loss=loss, shape=shape):
                with mock.patch.object(model.module(shape), "lookup", lambda *_: rows):
                    return loss(params, tokens)
            found = jax.jit(jax.grad(loss))(params, tokens)["embed"]
            d_rows = jax.jit(jax.grad(of_rows))(params["embed"].astype(jnp.bfloat16)[ids], params, tokens)
            right = np.zeros(found.shape)
            np.add.at(right, ids, np.asarray(d_rows, np.float64))
            self.assertEqual(found.dtype, jnp.float32)
            for one in (5, 6, 7):  # two programs round the same rows slightly differently
                self.assertLess(off(found[one], right[one]), 0.003, one)
        with mock.patch.object(model.module(shape), "lookup", lambda table, ids, compute: table.astype(compute)[ids]):
            derived = jax.jit(jax.grad(lambda *given: loss(*given)))(params, tokens)["embed"]
        self.assertGreater(max(off(derived[one], right[one]) for one in (5, 6, 7)), 0.01)

    def test_in_float32_it_is_the_derived_one_bit_for_bit(self):
        table, d_rows = normal(0, (61, 32)), normal(2, (8, 64, 32))
        ids = jax.random.randint(jax.random.key(1), (8, 64), 0, 9)

        def gradient(function):
            return jax.jit(lambda table: jax.vjp(function, table)[1](d_rows)[0])(table)
        np.testing.assert_array_equal(gradient(lambda table: primitives.lookup(table, ids, jnp.float32)),
                                      gradient(lambda table: table[ids]))


class Sums(unittest.TestCase):
    def setUp(self):
        make = np.random.default_rng(0)
        self.tokens = make.integers(5, 61, (16, SHAPE.seq_len + 1))
        self.lengths = np.full(16, SHAPE.seq_len + 1)

    def function(self, shape, compute):
        return jax.grad(lambda params, *rows: session.summed_loss(params, shape, attention.dense, compute, 64, *rows))

    def gradient(self, shape, compute):
        params = model.init(shape, jax.random.key(0))
        return jax.jit(self.function(shape, compute))(params, self.tokens, self.lengths)

    def test_none_of_a_parameter_is_in_bfloat16_on_its_way_but_where_that_is_asked_for(self):
        """Devices add up the results of a product or of a sum over positions, in the type that it has there."""
        for shape in (SHAPE, SEED_SHAPE):
            shape = dataclasses.replace(shape, vocab=200)  # no other parameter has the shape of the embedding
            params = jax.eval_shape(lambda shape=shape: model.init(shape, jax.random.key(0)))
            sizes = {leaf.shape[1:] for leaf in jax.tree.leaves(params["blocks"])}
            sizes |= {params[name].shape for name in params if name != "blocks"}
            for kind in ("float32", "compute"):
                function = self.function(dataclasses.replace(shape, gradients=kind), jnp.bfloat16)
                narrow = widened(jax.make_jaxpr(function)(params, self.tokens, self.lengths).jaxpr) & sizes
                self.assertEqual(narrow, set() if kind == "float32" else sizes - {params["embed"].shape}, kind)

    def test_the_key_changes_nothing_in_float32(self):
        for shape in (SHAPE, SEED_SHAPE):
            one, other = (self.gradient(dataclasses.replace(shape, gradients=kind), jnp.float32)
                          for kind in ("float32", "compute"))
            for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
                np.testing.assert_array_equal(a, b)


def widened(jaxpr):
    """Shapes of values that are converted from bfloat16 to float32, in a program and in the programs inside it."""
    found = set()
    for equation in jaxpr.eqns:
        if equation.primitive.name == "convert_element_type" and equation.invars[0].aval.dtype == jnp.bfloat16 \
                and equation.outvars[0].aval.dtype == jnp.float32:
            found.add(equation.outvars[0].aval.shape)
        for held in jaxprs_in_params(equation.params):
            found |= widened(held)
    return found


if __name__ == "__main__":
    unittest.main()
