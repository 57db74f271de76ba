"""Steps with experts: the same on other meshes and in other micro-batches."""

import os
import tempfile
import unittest
from pathlib import Path

import xla_flags

# Four devices on one core may wait for each other longer than the default of 40 seconds.
os.environ["XLA_FLAGS"] = xla_flags.and_these("--xla_cpu_collective_timeout_seconds=600",
                                              "--xla_cpu_collective_call_terminate_timeout_seconds=600")

import session  # noqa: E402
from expert_shapes import PAIRS, SHAPE, VOCAB  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

from pipe_trainer import config  # noqa: E402
from pipe_trainer.model import experts  # noqa: E402
from pipe_trainer.optim import optim  # noqa: E402
from pipe_trainer.run.programs import Programs  # noqa: E402

jax.config.update("jax_num_cpu_devices", 4)


class Steps(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place, self.rows = Path(place.name), session.random_rows(vocab=VOCAB)

    def metrics(self, micro=1, mesh=None, **shape):
        mesh = mesh or {"data": 1}
        count = int(np.prod(list(mesh.values())))
        return session.metrics_of_a_step(session.setup_of(
            PAIRS, self.place, self.rows, jax.devices()[:count], batch={"rows": 8, "micro": micro}, mesh=mesh,
            model=shape, regularizers={"dropout": 0.1}), self.rows)

    def test_meshes_micro_batches_and_recomputation_change_only_rounding(self):
        alone = self.metrics()
        self.assertEqual(len(alone), 9)
        for more in ({"mesh": {"data": 2}, "micro": 4, "remat": "full"},
                     {"mesh": {"fsdp": 2, "tensor": 2}, "micro": 2, "remat": "dots"}):
            np.testing.assert_allclose(self.metrics(**more), alone, rtol=3e-5, err_msg=str(more))

    def test_experts_lie_along_fsdp(self):
        whole = session.setup_of(PAIRS, self.place, self.rows, jax.devices(), mesh={"fsdp": 2, "tensor": 2})
        found = Programs(whole).like["params"]["encoder"]["experts"]
        self.assertEqual({name: leaf.sharding.shard_shape(leaf.shape) for name, leaf in found.items()},
                         {"experts_gate": (1, 2, 32, 32), "experts_up": (1, 2, 32, 32), "experts_down": (1, 2, 32, 32),
                          "router": (1, 32, 4), "experts_norm": (1, 32)})

    def test_the_balance_keeps_experts_from_being_left_out(self):
        found = {}
        for factor in (0.0, 1.0):
            loop = session.trained(session.small_job(self.place / str(factor), {
                **PAIRS, "regularizers": {"balance": factor, "router_z": 0.0}}, steps=40), self.rows)
            found[factor] = np.mean([event["balance"] for event in loop.events.of("step")[-5:]])
            self.assertEqual(set(event["balance"] > 0 for event in loop.events.of("step")), {True})
        self.assertLess(found[1.0], found[0.0] - 0.02, found)

    def test_optimisers_take_each_expert_as_a_matrix(self):
        params = experts.init(SHAPE, jax.random.key(0))
        kept = optim.make(config.Optimizer(name="adafactor")).init(params)[0]
        self.assertEqual([kept[side]["experts_gate"].shape for side in ("rows", "columns")], [(1, 4, 32), (1, 4, 48)])
        muon = optim.make(config.Optimizer(name="muon", weight_decay=0.0))
        directions, state = muon.update(params, muon.init(params), params)
        self.assertEqual(set(state[0]["momentum"]), {"experts_gate", "experts_up", "experts_down"})
        for expert in directions["experts_gate"][0]:
            values = np.linalg.svd(expert, compute_uv=False) / (0.2 * 48 ** 0.5)
            self.assertTrue((0.6 < values).all() and (values < 1.3).all(), values)


if __name__ == "__main__":
    unittest.main()
