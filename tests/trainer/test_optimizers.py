"""The optimisers beside AdamW: their published numbers, their keys, what they keep, and that a run resumes with them.

optimizer_vectors.json has parameters after four steps of the published implementations; optimizer_vectors.py made it, and
names their commits: optax.adafactor 0.2.8, amos.py of google-research/jestimator 326824a, muon.py of KellerJordan/Muon
857d1ad.
"""

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

import session

import jax
import jax.numpy as jnp
import numpy as np
import optimizer_vectors as vectors

from pipe_trainer import exits
from pipe_trainer.config import Optimizer, Regularizers
from pipe_trainer.model import matrices, model
from pipe_trainer.optim import optim, step
from pipe_trainer.run import candidates, job
from pipe_trainer.run.loop import Loop

OTHERS = ("adafactor", "amos", "muon")


def shape_of(**more):
    return session.small_job("-", {"model": {"vocab": 61, "seq_len": 32, **more}}).config.model


class Published(unittest.TestCase):
    def agree(self, kind, **settings):
        wanted = json.loads(vectors.FILE.read_text(encoding="utf-8"))[kind]

        def numbers(number):
            return {"blocks": {name: jnp.asarray(vectors.numbers(name, number)) for name in vectors.SHAPES}}

        optimizer = optim.make(Optimizer(name=kind.split()[0], weight_decay=vectors.DECAY, **settings))
        params = numbers(0)
        state, update = optimizer.init(params), jax.jit(optimizer.update)
        for number in range(vectors.STEPS):
            rate = jnp.float32(vectors.rate(number))
            directions, state = update(numbers(number + 1), state, params, rate=rate)
            params = jax.tree.map(lambda p, u, rate=rate: p - rate * u, params, directions)
        for name, values in wanted.items():
            # Muon's iteration enlarges the last bit of small singular values.
            np.testing.assert_allclose(np.ravel(params["blocks"][name]), values, rtol=0,
                                       atol=2e-5 if kind == "muon" else 1e-6, err_msg=name)

    def test_adafactor(self):
        self.agree("adafactor")
        self.agree("adafactor with momentum", momentum=vectors.MOMENTUM)
        self.agree("adafactor with parameter_scale", parameter_scale=True)

    def test_amos(self):
        self.agree("amos", b2=0.99)
        self.agree("amos with momentum", b2=0.99, momentum=vectors.MOMENTUM)

    def test_muon(self):
        self.agree("muon", momentum=0.95)

    def test_muon_gives_all_but_hidden_matrices_the_direction_of_adamw(self):
        params = model.init(shape_of(tied=False), jax.random.key(0))
        grads = jax.tree.map(jnp.sin, params)
        muon, adamw = (optim.make(Optimizer(name=name, momentum=0.95 * (name == "muon"))) for name in ("muon", "adamw"))
        ours, theirs = (one.update(grads, one.init(params), params)[0] for one in (muon, adamw))
        same = matrices.mapped(lambda name, a, b: bool(np.array_equal(a, b)), ours, theirs)
        self.assertEqual(same, matrices.mapped(lambda name, leaf: name in ("embed", "head") or name.endswith("norm"),
                                               params))

    def test_a_gradient_of_zero_gives_a_finite_direction(self):
        params = model.init(shape_of(), jax.random.key(0))
        for name in OTHERS:
            optimizer = optim.make(Optimizer(name=name, momentum=0.5))
            directions, _ = optimizer.update(jax.tree.map(jnp.zeros_like, params), optimizer.init(params), params,
                                             rate=jnp.float32(0.0))
            self.assertTrue(np.isfinite(session.flat(directions)).all(), name)


class Table(unittest.TestCase):
    def test_it_has_every_matrix_of_every_family(self):
        for family in ("llama", "lm1b", "bert"):
            shape = dataclasses.replace(shape_of(kv_heads=4, tied=False), family=family)
            params = jax.eval_shape(lambda shape=shape: model.init(shape, jax.random.key(0)))
            found = matrices.mapped(lambda name, leaf: name in matrices.MATRICES, params)
            self.assertEqual(found, optim.decayed(params))

    def test_axes(self):
        self.assertEqual((matrices.inputs("wo", 4), matrices.outputs("wo", 4)), ((1, 2), (3,)))
        self.assertEqual((matrices.own("final_norm", 1), matrices.own("up_bias", 2)), ((0,), (1,)))
        self.assertEqual([matrices.averaged(name, axes) for name, axes in (("embed", 2), ("head", 2), ("wq", 4))],
                         [(1,), (0,), (1,)])


class Keys(unittest.TestCase):
    def parsed(self, optimizer, preset="lm1b"):
        mistakes = []
        return job.parse_config({"preset": preset, "optimizer": optimizer}, mistakes).optimizer, mistakes

    def test_defaults(self):
        self.assertEqual(self.parsed({})[0], Optimizer(lr=1.6e-3, b2=0.98, eps=1e-9, clip=0.0))
        amos, muon = self.parsed({"name": "amos"})[0], self.parsed({"name": "muon", "b1": 0.8})[0]
        self.assertEqual((amos.lr, amos.b2, amos.momentum), (5e-3, 0.999, 0.0))
        self.assertEqual((muon.lr, muon.b1, muon.b2, muon.momentum), (1.6e-3, 0.8, 0.98, 0.95))

    def test_a_key_of_another_optimiser_is_refused(self):
        for optimizer, key in (({}, "momentum"), ({"name": "adafactor"}, "b1"), ({"name": "amos"}, "weight_decay"),
                               ({"name": "muon"}, "threshold")):
            name = optimizer.get("name", "adamw")
            self.assertEqual([line.split(";")[0] for line in self.parsed({**optimizer, key: 0.5})[1]],
                             [f"config.optimizer.{key}: {name} does not read it"])
        for wrong in ("adam", 7, None, []):
            self.assertEqual(len(self.parsed({"name": wrong})[1]), 1, wrong)

    def test_a_config_of_the_version_before_is_read(self):
        from pipe_trainer.config import Config, of_dict
        values = dataclasses.asdict(Config())
        for key in ("momentum", "b2_exponent", "threshold"):
            del values["optimizer"][key]
        self.assertEqual(of_dict(values), Config())


class Memory(unittest.TestCase):
    def test_the_estimate_counts_what_is_kept(self):
        for name, momentum in (("adafactor", 0.0), ("adafactor", 0.9), ("amos", 0.0), ("muon", 0.95)):
            optimizer = Optimizer(name=name, momentum=momentum)
            config = dataclasses.replace(session.small_job("-").config, model=shape_of(), optimizer=optimizer,
                                         regularizers=Regularizers())
            state = jax.eval_shape(lambda config=config: step.new_state(config, jax.random.key(0)))["optimizer"]
            self.assertEqual(candidates.kept_by(optimizer, config.model),
                             sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)))

    def test_shares_of_adamw(self):
        shape = job.parse_config({"preset": "ja-1b", "model": {"vocab": 32000, "seq_len": 1024}}, []).model
        whole = candidates.kept_by(Optimizer(), shape)
        self.assertEqual(whole, 8 * candidates.count(shape))
        kept = {name: candidates.kept_by(Optimizer(name=name), shape) / whole for name in OTHERS}
        self.assertLess(max(kept["adafactor"], kept["amos"]), 0.001)
        self.assertTrue(0.5 < kept["muon"] < 0.55, kept)
        one = candidates.Candidate(1, "none", 1, 1, 1)
        config = dataclasses.replace(session.small_job("-").config, model=shape, regularizers=Regularizers())
        taken = [candidates.bytes_of(dataclasses.replace(config, optimizer=Optimizer(name=name)), one)
                 for name in ("adamw", "muon", "adafactor")]
        self.assertEqual(taken, sorted(taken, reverse=True))


class Runs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def train(self, name, place, steps, momentum=0.0):
        """Returns the loop, with the rows of its last step as `rows`."""
        class Keeping(Loop):
            def _take(self, batch):
                self.rows = batch
                super()._take(batch)

        made = session.small_job(self.place / place, steps=steps, checkpoint_every=2)
        optimizer = Optimizer(name=name, lr=1e-2, momentum=momentum or 0.95 * (name == "muon"))
        return session.trained(dataclasses.replace(made, config=dataclasses.replace(made.config, optimizer=optimizer)),
                               session.random_rows(), loop_type=Keeping)

    def test_it_resumes_bit_for_bit_and_a_skipped_step_changes_nothing_it_keeps(self):
        for name in OTHERS:
            whole = self.train(name, f"{name}-whole", 4)
            self.train(name, name, 2)
            resumed = self.train(name, name, 4)
            self.assertEqual([event["step"] for event in resumed.events.of("restore")], [2])
            for one, other in zip(*(jax.tree.leaves(loop.state) for loop in (whole, resumed)), strict=True):
                np.testing.assert_array_equal(one, other, name)
            kept = jax.device_get(whole.state["optimizer"])
            poisoned = {**whole.state, "params": jax.tree.map(lambda leaf: leaf * jnp.nan, whole.state["params"])}
            after, metrics = whole.programs.train(poisoned, whole.rows, 0.01, False)
            self.assertEqual(float(metrics[step.METRICS.index("skipped")]), 1.0)
            for one, other in zip(jax.tree.leaves(kept), jax.tree.leaves(after["optimizer"]), strict=True):
                np.testing.assert_array_equal(one, other, name)

    def test_another_optimiser_does_not_continue(self):
        self.train("adafactor", "run", 2)
        for name, momentum, said in (("adamw", 0.0, "adamw"), ("adafactor", 0.9, "adafactor with momentum")):
            with self.assertRaises(exits.Ended) as ended:
                self.train(name, "run", 4, momentum)
            self.assertEqual(ended.exception.code, exits.BAD_JOB)
            self.assertIn(f"was made with optimizer adafactor, and the job says {said};", str(ended.exception))


if __name__ == "__main__":
    unittest.main()
