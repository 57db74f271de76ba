"""The family t5: the positions that its decoder sees, learning, and no change by meshes, micro-batches or
interruptions."""

import dataclasses
import json
import tempfile
import unittest
from functools import partial
from pathlib import Path
from unittest import mock

import runs
import session

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config, exits
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.model import attention, model, t5
from pipe_trainer.run import setup

LENGTH, VOCAB = 32, 61
SHAPE = config.Model(family="t5", layers=2, d=32, heads=4, ff=48, vocab=VOCAB + 10, seq_len=LENGTH,
                     tied=False).complete()
PAIRS = {"model": {"family": "t5", "layers": 1, "d": 32, "heads": 2, "kv_heads": None, "ff": 64, "tied": False},
         "objective": {"name": "spans", "share": 0.25, "sentinel": VOCAB + 9, "sentinels": 10}}


class EncoderAndDecoder(unittest.TestCase):
    def setUp(self):
        self.params = model.init(SHAPE, jax.random.key(1))

    def hidden(self, read, read_in, given, given_in):
        return np.asarray(model.forward(self.params, SHAPE, jnp.asarray(read), layout=(jnp.asarray(read_in), None),
                                        given=(jnp.asarray(given), jnp.asarray(given_in))))

    def test_fresh_parameters_are_drawn_in_the_order_of_the_first_version(self):
        keys, (n, d, h, ff) = jax.random.split(jax.random.key(1), 24), (2, 32, 8, 48)
        for number, (name, std, shape) in enumerate((
                ("wq", (d * h) ** -0.5, (n, d, 4, h)), ("wk", d ** -0.5, (n, d, 4, h)), ("wv", d ** -0.5, (n, d, 4, h)),
                ("wo", d ** -0.5, (n, 4, h, d)), ("w_gate", d ** -0.5, (n, d, ff)), ("w_up", d ** -0.5, (n, d, ff)),
                ("w_down", ff ** -0.5, (n, ff, d))), 1):
            np.testing.assert_array_equal(self.params["encoder"][name],
                                          std * jax.random.normal(keys[number], shape, jnp.float32), name)

    def test_without_a_gate_it_learns_as_the_first_t5(self):
        gated = {**PAIRS, "optimizer": {"lr": 3e-3}}
        plain = {**gated, "model": {**PAIRS["model"], "gated": False}}
        place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        found = {}
        for name, sections in (("gated", gated), ("plain", plain)):
            loop = session.trained(session.small_job(place / name, sections, steps=30), session.random_rows())
            self.assertEqual("w_gate" in loop.state["params"]["encoder"], name == "gated")
            found[name] = loop.events.losses()
            self.assertLess(found[name][30], found[name][1] - 0.1)
        self.assertNotEqual(found["gated"][1], found["plain"][1])

    def test_a_slot_sees_its_document_and_the_slots_before_it(self):
        read, read_in = np.arange(5, 21)[None], np.repeat([0, 1, -1], (8, 6, 2))[None]
        given, given_in = np.arange(30, 42)[None], np.repeat([0, 1, -2], (4, 6, 2))[None]
        before = self.hidden(read, read_in, given, given_in)

        def moved(side, place):
            other = [read.copy(), given.copy()]
            other[side][0, place] = 50
            after = self.hidden(other[0], read_in, other[1], given_in)
            used = given_in[0] >= 0
            return np.flatnonzero((np.abs(after - before).max(axis=-1)[0] > 1e-5) & used).tolist()
        self.assertEqual(moved(0, 7), [0, 1, 2, 3])
        self.assertEqual(moved(0, 8), [4, 5, 6, 7, 8, 9])
        self.assertEqual(moved(1, 2), [2, 3])
        self.assertEqual(moved(1, 6), [6, 7, 8, 9])
        self.assertEqual(moved(0, 15), [], "padding is not seen")

    def test_distances_have_the_buckets_of_t5(self):
        distances = np.arange(300)[None, :] - np.arange(300)[:, None]
        both, before = t5.buckets(distances, both=True), t5.buckets(distances, both=False)
        # From the function of T5 for these distances: keys behind a position count from 16 on.
        self.assertEqual(both[299, [299, 298, 292, 291, 288, 285, 260, 180, 0]].tolist(),
                         [0, 1, 7, 8, 8, 9, 12, 15, 15])
        self.assertEqual(both[0, [1, 7, 8, 14, 39, 119, 299]].tolist(), [17, 23, 24, 25, 28, 31, 31])
        self.assertEqual(before[299, [299, 284, 283, 280, 260, 172, 0]].tolist(), [0, 15, 16, 17, 22, 31, 31])
        self.assertEqual(before[0].tolist(), [0] * 300)
        for table in (both, before):
            self.assertEqual((table.min(), table.max()), (0, 31))


class Turns(unittest.TestCase):
    """`with_bias` with more queries than it takes at once."""

    @staticmethod
    def gradient(length, keys, bias, causal=False):
        """Returns (program, shapes of what it takes): the output and the gradients of all that has one."""
        def total(q, k, v, table, segments, of_keys):
            found = attention.with_bias(q, k, v, segments, of_keys,
                                        partial(t5.distance_bias, table, both=not causal) if bias else None, causal)
            return jnp.sum(jnp.sin(found)), found
        size = jax.ShapeDtypeStruct
        shapes = (size((2, length, 2, 4), jnp.float32), *[size((2, keys, 2, 4), jnp.float32)] * 2,
                  size((t5.BUCKETS, 2), jnp.float32), size((2, length), jnp.int32), size((2, keys), jnp.int32))
        return jax.jit(jax.value_and_grad(total, argnums=(0, 1, 2, 3), has_aux=True)), shapes

    def test_turns_change_nothing(self):
        for length, keys, bias, causal in ((40, 40, True, False), (37, 37, True, True), (37, 50, False, False),
                                           (300, 300, True, False)):
            program, shapes = self.gradient(length, keys, bias, causal)
            keyed = iter(jax.random.split(jax.random.key(length), 4))
            given = [jax.random.normal(next(keyed), shape.shape) for shape in shapes[:4]]
            places = [np.arange(shape.shape[1]) // 15 + np.array([[0], [1]]) for shape in shapes[4:]]
            wanted = program(*given, *places)
            for turn in (5, 8, 16):
                with mock.patch.object(attention, "WHOLE", 16), mock.patch.object(attention, "TURN", turn):
                    found = self.gradient(length, keys, bias, causal)[0](*given, *places)
                jax.tree.map(partial(np.testing.assert_allclose, rtol=2e-5, atol=2e-6), found, wanted)

    def test_turns_sum_the_gradients_of_keys_in_float32(self):
        def gradients(dtype, whole):
            keyed = iter(jax.random.split(jax.random.key(3), 3))
            given = [jax.random.normal(next(keyed), (1, 512, 2, 4)).astype(dtype) for _ in range(3)]
            places = jnp.zeros((1, 512), jnp.int32)
            with mock.patch.object(attention, "WHOLE", whole), mock.patch.object(attention, "TURN", 8):
                found = jax.grad(lambda k, v: jnp.sum(jnp.sin(attention.with_bias(
                    given[0], k, v, places, places).astype(jnp.float32))), argnums=(0, 1))(*given[1:])
            return [np.asarray(part, np.float32) for part in found]
        exact = gradients(jnp.float32, 512)
        errors = [[np.linalg.norm(part - wanted) / np.linalg.norm(wanted) for part, wanted in zip(
            gradients(jnp.bfloat16, whole), exact)] for whole in (512, 16)]
        for whole, turns in zip(*errors):
            self.assertLess(turns, 1.5 * whole)

    def test_the_bias_of_a_place_is_that_of_its_distance(self):
        row = jnp.arange(24, dtype=jnp.float32).reshape(2, 12)
        found = np.asarray(attention.shifted(row, 5))
        self.assertEqual(found.shape, (2, 5, 7))
        for head in range(2):
            self.assertEqual([[12 * head + key - query + 4 for key in range(7)] for query in range(5)], found[head].tolist())

    def test_memory_grows_with_the_row_and_not_with_its_square(self):
        def temporaries(length, keys, bias):
            program, shapes = self.gradient(length, keys, bias)
            return program.lower(*shapes).compile().memory_analysis().temp_size_in_bytes
        for of_keys, bias in ((1, True), (4, False)):
            self.assertLess(temporaries(4096, of_keys * 4096, bias), 2.3 * temporaries(2048, of_keys * 2048, bias))


class Steps(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def metrics(self, micro=1, dropout=0.0, **more):
        rows = session.random_rows(vocab=VOCAB)
        return session.metrics_of_a_step(session.setup_of(
            PAIRS, self.place.name, rows, jax.devices()[:1], batch={"rows": 8, "micro": micro},
            regularizers={"dropout": dropout}, **more), rows)

    def test_micro_batches_hide_the_same_ids_and_change_only_rounding(self):
        for dropout in (0.0, 0.2):
            np.testing.assert_allclose(self.metrics(dropout=dropout), self.metrics(micro=4, dropout=dropout), rtol=3e-5)

    def test_turns_of_attention_change_only_rounding(self):
        for remat in ("none", "full"):
            more = {"model": {**PAIRS["model"], "remat": remat}}
            whole = self.metrics(**more)
            with mock.patch.object(attention, "WHOLE", 8), mock.patch.object(attention, "TURN", 8):
                np.testing.assert_allclose(self.metrics(**more), whole, rtol=3e-5)

    def test_the_targets_of_a_step_are_all_used_slots(self):
        loss, _, counted = self.metrics()[:3]
        rows = session.random_rows(vocab=VOCAB)
        text = np.floor(0.25 * (rows.tokens[:8, :-1] != session.EOS).sum(axis=1) + 0.5).sum()
        self.assertGreater(counted, text + 8 * 3)
        self.assertLess(loss, 9)

    def test_other_objectives_and_shapes_of_it(self):
        for more in ({"objective": {"name": "prefix"}}, {"model": {**PAIRS["model"], "tied": True}},
                     {"model": {**PAIRS["model"], "remat": "full", "layers": 2}}):
            self.assertTrue(np.isfinite(self.metrics(**more)).all(), more)


def ladders(count, seed, length=LENGTH):
    """Documents of eleven ids: each is the one before it and one more. Only the shown ids tell where a span begins."""
    make = np.random.default_rng(seed)
    first = make.integers(0, VOCAB - 5, (count, length // 12 + 1, 1))
    ids = np.concatenate([np.full(first.shape, session.EOS), 5 + (first + np.arange(11)) % (VOCAB - 5)], axis=-1)
    return session.MemoryRows(ids.reshape(count, -1)[:, :length + 1], vocab=VOCAB)


class Learning(unittest.TestCase):
    def test_a_model_learns_from_all_that_is_shown_and_its_score_is_always_the_same(self):
        train, held = ladders(4096, 0), ladders(64, 1)
        with tempfile.TemporaryDirectory() as place:
            given = session.small_job(place, {**PAIRS, "batch": {"rows": 32},
                                              "model": {**PAIRS["model"], "layers": 2, "d": 64},
                                              "optimizer": {"lr": 3e-3, "b2": 0.99},
                                              "schedule": {"name": "wsd", "warmup": 0.05, "decay": 0.5}},
                                      steps=500, log_every=50)
            loop = session.trained(given, train)
            scorer = HeldOut(dataclasses.replace(loop.setup, eval_rows=held), loop.events)
            scores = [scorer.score(loop.state["params"], lambda: False) for _ in range(2)]
            found = {item["name"]: item for item in scorer.baselines(Path(place) / "baselines.json")}
        self.assertEqual(scores[0], scores[1])
        self.assertIsNone(scores[0]["bits_per_char"])
        self.assertLess(scores[0]["loss"], 0.2 * found["unigram"]["nats_per_token"], scores[0])


class Mistakes(unittest.TestCase):
    def test_a_family_learns_its_own_objective(self):
        session.refused(self, {"objective": {"name": "spans"}}, "config.objective.name", "family llama", "for t5")
        session.refused(self, {**PAIRS, "objective": {}}, "config.objective.name", "learns spans, prefix")

    def test_spans_have_an_id_and_sentinels_go_down_to_0(self):
        session.refused(self, {**PAIRS, "objective": {"name": "spans", "span": 0.5}}, "config.objective.span", "at least 1")
        session.refused(self, {**PAIRS, "objective": {"name": "spans", "sentinel": 5, "sentinels": 9}},
                     "config.objective.sentinels", "greater sentinel")

    def test_a_sentinel_far_behind_the_vocabulary_is_refused(self):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            session.setup_of(PAIRS, place, session.random_rows(vocab=VOCAB), objective={"sentinel": 10 ** 9})
        self.assertIn("config.objective.sentinel: 1000000000", str(caught.exception))

    def test_it_has_one_form_of_attention(self):
        session.refused(self, {**PAIRS, "model": {**PAIRS["model"], "attention": "splash"}}, "config.model.family", "reference")

    def test_prompts_are_refused(self):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            setup.prepare(session.small_job(place, PAIRS, prompts=["猫"]), session.random_rows(), session.random_rows())
        self.assertIn("job.prompts", str(caught.exception))


class WholeRuns(runs.WithTokenizer):
    """As processes, on several devices."""

    config = runs.small_pairs(PAIRS)

    def test_a_killed_run_goes_on_bit_for_bit_and_a_mesh_changes_only_rounding(self):
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(delta=3e-5, export=True)
        told = json.loads((whole.run_dir / "export/config.json").read_text())
        self.assertEqual((told["model_type"], told["vocab_size"], told["decoder_start_token_id"]), ("t5", 400, 0))


if __name__ == "__main__":
    unittest.main()
