"""A mixture of experts: its routing against a plain version, its losses and gradients, and the mistakes in its shapes."""

import dataclasses
import tempfile
import types
import unittest
from functools import lru_cache
from pathlib import Path

import session
import tiny_tokenizer
from expert_shapes import LENGTH, PAIRS, SHAPE, VOCAB

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config, exits, fit
from pipe_trainer.config import PRESETS
from pipe_trainer.export import export, initial
from pipe_trainer.model import experts, model, regularizers, sharding
from pipe_trainer.model.primitives import gelu, swiglu
from pipe_trainer.run import candidates, job, throughput


def softmax(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def plain_route(scores, there, top, capacity):
    """A row, position by position: ({(position, expert): place}, the choices, the load)."""
    length, count = scores.shape
    places, choices, used = {}, [[] for _ in range(length)], [0] * count
    for _ in range(top):
        for position in range(length):
            if there[position]:
                left = [expert for expert in range(count) if expert not in choices[position]]
                choices[position].append(max(left, key=lambda expert: (scores[position, expert], -expert)))
        for position in range(length):
            if there[position]:
                expert = choices[position][-1]
                if used[expert] < capacity:
                    places[position, expert] = used[expert]
                    used[expert] += 1
    inside = max(int(there.sum()), 1)
    chances = [softmax(row) for row, counts in zip(scores.astype(np.float64), there) if counts]
    balance = count * sum(sum(expert in made for made in choices) / inside
                          * sum(chance[expert] for chance in chances) / inside for expert in range(count))
    router_z = sum(np.log(np.exp(row).sum()) ** 2 for row in scores.astype(np.float64)[there]) / inside
    return places, choices, (balance, router_z, (sum(map(len, choices)) - len(places)) / (inside * top))


class Routing(unittest.TestCase):
    def check(self, scores, there, top, capacity):
        scores, there = np.asarray(scores, np.float32), np.asarray(there, bool)
        found = jax.device_get(experts.route(jnp.asarray(scores), jnp.asarray(there), top, capacity))
        for row in range(len(scores)):
            places, _, load = plain_route(scores[row], there[row], top, capacity)
            taken = np.argwhere(found.slot[row] < scores.shape[-1] * capacity).tolist()
            slots = {(t, k): divmod(int(found.slot[row, k, t]), capacity) for k, t in taken}
            self.assertEqual({(t, expert): place for (t, _), (expert, place) in slots.items()}, places)
            self.assertEqual(len(slots), len(places))
            wanted = np.zeros((top, scores.shape[1]))
            for (position, choice), (expert, _) in slots.items():
                wanted[choice, position] = softmax(scores[row, position])[expert]
            np.testing.assert_allclose(found.weights[row], wanted, rtol=1e-6)
            at = np.asarray(experts.positions_of(found.slot[row:row + 1], scores.shape[-1] * capacity))[0]
            self.assertEqual({(position, slot // capacity): slot % capacity
                              for slot, position in enumerate(at.tolist()) if position < scores.shape[1]}, places)
            np.testing.assert_allclose([part[row] for part in found.load], load, rtol=1e-5, atol=1e-7)
        return found

    def random(self, seed, rows=6, length=40, count=5):
        """Scores with many ties, and rows of different lengths, one without a position."""
        make = np.random.default_rng(seed)
        lengths = np.append(make.integers(1, length + 1, rows - 1), 0)
        return make.integers(-2, 3, (rows, length, count)) / 2, np.arange(length) < lengths[:, None]

    def test_it_is_that_of_a_plain_version(self):
        for top, capacity in ((1, 40), (2, 40), (2, 10), (1, 3), (3, 7), (5, 12), (2, 1)):
            self.check(*self.random(top + capacity), top, capacity)

    def test_an_expert_takes_first_choices_before_second_ones(self):
        scores = np.array([[[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 0.0, 1.0]]])
        found = self.check(scores, np.ones((1, 4)), 2, 2)
        self.assertEqual([sorted(slot // 2 for slot in of_position if slot < 6) for of_position in found.slot[0].T.tolist()],
                         [[1], [0, 1], [0], [2]])
        self.assertAlmostEqual(float(found.load.dropped[0]), 3 / 8)

    def test_padding_takes_no_room_and_counts_nowhere(self):
        scores, _ = self.random(3)
        there = np.zeros(scores.shape[:2], bool)
        there[:, 20:] = True
        changed = scores.copy()
        changed[:, :20] = 9.0
        one, other = (self.check(given, there, 2, 8) for given in (scores, changed))
        jax.tree.map(np.testing.assert_array_equal, one, other)

    def test_the_balance_by_hand(self):
        # Both choose the first of two; its chances are 3/4 and 1/2 (a tie): 2 * (1 * 5/8 + 0 * 3/8).
        scores = np.log([[[3.0, 1.0], [1.0, 1.0], [0.0001, 1.0]]])
        found = experts.route(jnp.asarray(scores, jnp.float32), jnp.array([[True, True, False]]), 1, 3)
        self.assertAlmostEqual(float(found.load.balance[0]), 1.25, places=6)
        self.assertAlmostEqual(float(found.load.router_z[0]), (np.log(4) ** 2 + np.log(2) ** 2) / 2, places=5)
        # With all experts chosen alike it is the number of choices.
        even = experts.route(jnp.asarray(np.tile(np.eye(4), (1, 6, 1)), jnp.float32), jnp.ones((1, 24), bool), 2, 24)
        self.assertAlmostEqual(float(even.load.balance[0]), 2.0, delta=0.4)

    def test_places_of_an_expert(self):
        kc_moe = config.Model(experts=16)
        self.assertEqual([experts.capacity(kc_moe, length, training) for length, training in (
            (512, True), (512, False), (136, True), (1, True))], [40, 64, 11, 1])
        self.assertEqual(experts.capacity(dataclasses.replace(kc_moe, expert_capacity=99.0), 20, True), 20)


class Mixture(unittest.TestCase):
    def setUp(self):
        self.layer = jax.tree.map(lambda leaf: leaf[0], experts.init(SHAPE, jax.random.key(0)))
        self.layer["router"] *= 50  # so that choices differ
        self.hidden = jax.random.normal(jax.random.key(1), (3, LENGTH, SHAPE.d))
        self.there = jnp.arange(LENGTH) < jnp.array([[LENGTH], [20], [0]])
        self.shape = dataclasses.replace(SHAPE, expert_capacity=1.0)

    def mixed(self, layer, hidden, gated=lambda gate, up: gelu(gate) * up, compute=jnp.float32):
        return experts.mixed(self.shape, hidden.astype(compute), layer, regularizers.no_dropout, self.there, True, gated)

    def plain(self, layer, hidden, gated=lambda gate, up: gelu(gate) * up):
        """Every expert computes every position."""
        normed = hidden * jax.lax.rsqrt(jnp.mean(hidden ** 2, axis=-1, keepdims=True) + SHAPE.norm_eps)
        normed *= layer["experts_norm"]
        scores = normed @ layer["router"]
        kept = np.zeros(scores.shape)
        for row in range(len(hidden)):
            places = plain_route(np.asarray(jax.lax.stop_gradient(scores[row])), np.asarray(self.there[row]), 2,
                                 experts.capacity(self.shape, LENGTH, True))[0]
            for position, expert in places:
                kept[row, position, expert] = 1
        gate, up = (jnp.einsum("rtd,edf->rtef", normed, layer[name]) for name in ("experts_gate", "experts_up"))
        outputs = jnp.einsum("rtef,efd->rted", gated(gate, up), layer["experts_down"])
        return hidden + jnp.einsum("rte,rted->rtd", jax.nn.softmax(scores) * kept, outputs)

    def test_each_expert_adds_its_outputs_for_the_positions_that_it_took(self):
        for gated in (lambda gate, up: gelu(gate) * up, swiglu):
            found, load = self.mixed(self.layer, self.hidden, gated)
            np.testing.assert_allclose(found, self.plain(self.layer, self.hidden, gated), atol=1e-5)
            self.assertGreater(float(load.dropped[0]), 0.1)
            np.testing.assert_array_equal(found[1, 20:], self.hidden[1, 20:])

    def test_gradients_are_those_of_the_plain_version(self):
        def gradient(function):
            return jax.grad(lambda *given: jnp.sum(jnp.sin(function(*given))), argnums=(0, 1))(self.layer, self.hidden)
        jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, rtol=2e-4, atol=2e-5),
                     gradient(lambda *given: self.mixed(*given)[0]), gradient(self.plain))

    def test_memory_grows_with_the_row_and_not_with_its_square(self):
        def temporaries(length):
            hidden, there = jax.ShapeDtypeStruct((1, length, SHAPE.d), jnp.float32), jnp.ones((1, length), bool)
            gradient = jax.grad(lambda hidden: jnp.sum(experts.mixed(
                self.shape, hidden, self.layer, regularizers.no_dropout, there, True,
                lambda gate, up: gelu(gate) * up)[0]))
            return jax.jit(gradient).lower(hidden).compile().memory_analysis().temp_size_in_bytes
        self.assertLess(temporaries(8192), 2.3 * temporaries(4096))

    def test_gradients_of_experts_are_summed_in_float32(self):
        layer = jax.grad(lambda layer: jnp.sum(self.mixed(layer, self.hidden, compute=jnp.bfloat16)[0].astype(
            jnp.float32)))(self.layer)
        exact = jax.grad(lambda layer: jnp.sum(self.mixed(layer, self.hidden)[0]))(self.layer)
        for name in ("experts_gate", "experts_up", "experts_down"):
            self.assertEqual(layer[name].dtype, jnp.float32)
            self.assertLess(np.linalg.norm(layer[name] - exact[name]) / np.linalg.norm(exact[name]), 0.02, name)

    def test_the_gradient_has_the_penalties_and_the_value_has_not(self):
        def nats(scores):
            load = experts.route(scores, jnp.ones((1, 8), bool), 2, 8).load
            return jax.tree.map(lambda part: part[0], load)
        scores = jax.random.normal(jax.random.key(2), (1, 8, 4))
        penalties = regularizers.Penalties(balance=0.25, router_z=0.5)
        value, found = jax.value_and_grad(lambda scores: experts.penalised(jnp.sum(scores), nats(scores), penalties))(scores)
        self.assertEqual(float(value), float(jnp.sum(scores)))
        right = jax.grad(lambda scores: jnp.sum(scores) + 0.25 * nats(scores).balance + 0.5 * nats(scores).router_z)(scores)
        np.testing.assert_allclose(found, right, rtol=1e-6)
        pushed = jax.grad(lambda scores: nats(scores).balance)(scores)  # down where too many chose: towards even shares
        self.assertLess(float(nats(scores - 0.1 * pushed).balance), float(nats(scores).balance))


READ_IN, GIVEN_IN = np.repeat([0, 1, -1], (8, 6, 2))[None], np.repeat([0, 1, -2], (4, 6, 2))[None]


@lru_cache
def fresh(layers, every):
    params = model.init(dataclasses.replace(SHAPE, layers=layers, expert_every=every), jax.random.key(1))
    for stack in ("encoder", "decoder"):
        params[stack]["experts"]["router"] *= 50
    return params


@lru_cache
def program(shape, training):
    return jax.jit(lambda params, read, given: model.forward_with_loads(
        params, shape, read, layout=(READ_IN, None), given=(given, GIVEN_IN), training=training))


class EncoderAndDecoder(unittest.TestCase):
    def hidden(self, shape, training=False, read=None, given=None):
        found, loads = program(shape, training)(fresh(shape.layers, shape.expert_every),
                                                np.arange(5, 21)[None] if read is None else read,
                                                np.arange(30, 42)[None] if given is None else given)
        return np.asarray(found)[0, :10], loads

    def test_with_room_for_all_a_slot_sees_its_document_and_the_slots_before_it(self):
        shape = dataclasses.replace(SHAPE, expert_eval_capacity=4.0)
        before, loads = self.hidden(shape)
        self.assertEqual(float(loads.dropped), 0)

        def moved(side, place):
            other = [np.arange(5, 21)[None], np.arange(30, 42)[None]]
            other[side][0, place] = 50
            return np.flatnonzero(np.abs(self.hidden(shape, False, *other)[0] - before).max(axis=-1) > 1e-5).tolist()
        self.assertEqual(moved(1, 2), [2, 3])
        self.assertEqual(moved(1, 6), [6, 7, 8, 9])
        self.assertEqual(moved(0, 7), [0, 1, 2, 3])
        self.assertEqual(moved(0, 15), [], "padding is not seen")

    def test_training_and_evaluation_have_their_own_capacity(self):
        narrow = dataclasses.replace(SHAPE, expert_capacity=0.3)
        np.testing.assert_array_equal(self.hidden(SHAPE)[0], self.hidden(narrow)[0])
        self.assertGreater(float(self.hidden(narrow, training=True)[1].dropped), float(self.hidden(narrow)[1].dropped))

    def test_every_layer_may_have_experts(self):
        every = dataclasses.replace(SHAPE, layers=1, expert_every=1)
        self.assertTrue(np.isfinite(self.hidden(every)[0]).all())


class Counts(unittest.TestCase):
    def test_parameters_and_operations(self):
        kc_moe = candidates_config("kc-moe")
        dense = dataclasses.replace(kc_moe, model=dataclasses.replace(kc_moe.model, experts=0))
        added = 2 * 3 * (16 * (3 * 768 * 2048 + 768) + 768)
        self.assertEqual(candidates.count(kc_moe.model) - candidates.count(dense.model), added)
        shapes = jax.eval_shape(lambda: model.init(kc_moe.model, jax.random.key(0)))
        self.assertAlmostEqual(model.count(shapes) / candidates.count(kc_moe.model), 1.0, delta=1e-5)
        # A position meets 1.25 experts: those of its two choices that find room.
        meets = 3 * (1.25 * 3 * 768 * 2048 + 768 * 17)
        one, two = (throughput.flops_per_token(whole)[0] for whole in (kc_moe, dense))
        self.assertAlmostEqual(one - two, 6 * meets * (1 + 136 / 512), delta=10)
        estimated = candidates.operations(kc_moe)[0] - candidates.operations(dense)[0]
        self.assertAlmostEqual(estimated / (256 * 512 * (one - two)), 1.0, delta=1e-6)

    def test_auto_takes_no_mesh_that_does_not_divide_the_experts(self):
        whole = candidates_config("kc-moe", {"experts": 6, "expert_top": 2})
        self.assertEqual({mesh[1] for mesh in candidates.meshes(whole, 8)}, {1, 2})


def candidates_config(preset, more=None):
    mistakes = []
    found = job.parse_config({"preset": preset, "model": more or {}}, mistakes)
    if mistakes:
        raise exits.BadJob(mistakes)
    return fit.shaped(found, 512, 32000)


class Mistakes(unittest.TestCase):
    def refused(self, members, *words):
        session.refused(self, {**PAIRS, "model": {**PAIRS["model"], **members}}, *words)

    def test_shapes_that_cannot_be(self):
        self.refused({"layers": 3}, "config.model.expert_every: 2 does not divide layers 3")
        self.refused({"expert_top": 5}, "config.model.expert_top: 5, and there are 4 experts")
        self.refused({"experts": -1}, "config.model.experts", "at least 0")
        self.refused({"expert_top": 0}, "config.model.expert_top", "at least 1")
        self.refused({"expert_capacity": 0}, "config.model.expert_capacity", "more than 0")
        self.refused({"experts": 0, "expert_top": 1}, "config.model.expert_every: there are no experts",
                     "config.model.expert_top: there are no experts")
        session.refused(self, {**PAIRS, "export": {"int8": True}}, "config.export.int8", "family t5 with experts")
        session.refused(self, {"model": {"experts": 4}}, "config.model.experts: a model of family llama has none; t5")

    def test_a_mesh_divides_the_experts(self):
        mesh = types.SimpleNamespace(shape={"data": 1, "fsdp": 3, "tensor": 1})
        whole = dataclasses.replace(candidates_config("kc-moe"), batch=config.BatchSize(rows=3))
        self.assertEqual(list(sharding.mistakes(whole, mesh)), ["config.mesh.fsdp: 3 does not divide model.experts 16"])

    def test_a_model_to_begin_with_has_none(self):
        with tempfile.TemporaryDirectory() as place:
            shape = dataclasses.replace(SHAPE, experts=0, expert_every=4, vocab=384)
            export.write(jax.device_get(model.init(shape, jax.random.key(0))), shape,
                         {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {}, Path(place) / "export", start=0)
            start = initial.Initial(place)
            wanted = config.Config(model=config.Model(**PRESETS["kc-moe"]["model"]))
            self.assertEqual(start.adopt(wanted, ()).model.experts, 0)
            with self.assertRaises(exits.BadJob) as caught:
                start.adopt(wanted, ("experts",))
        self.assertIn("config.model.experts: 16, and the model of init_from", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
