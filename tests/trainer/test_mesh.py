"""Eight devices in any arrangement compute the same as one. Runs in a process of its own, because the number of devices
is per process."""

import dataclasses
import os
import tempfile
import unittest
from pathlib import Path

import xla_flags

# Eight devices on two busy cores may wait for each other longer than the default of 40 seconds.
os.environ["XLA_FLAGS"] = xla_flags.and_these("--xla_cpu_collective_timeout_seconds=600",
                                              "--xla_cpu_collective_call_terminate_timeout_seconds=600")

import session  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402

from pipe_trainer import exits  # noqa: E402
from pipe_trainer.checkpoints import ckpt  # noqa: E402
from pipe_trainer.config import Optimizer  # noqa: E402
from pipe_trainer.model import sharding  # noqa: E402
from pipe_trainer.run.programs import Programs  # noqa: E402
from pipe_trainer.run.setup import prepare  # noqa: E402

jax.config.update("jax_num_cpu_devices", 8)

MESHES = ({"data": 8}, {"fsdp": 8}, {"data": 2, "fsdp": 2, "tensor": 2}, {"data": 4, "tensor": 2})
STEPS = 3
# Of what optimisers keep: the shape on a device of MESHES[2].
PARTS = {
    "adafactor": {"rows wq": (2, 16), "rows wo": (2, 2, 8), "columns wq": (2, 2, 8), "columns wo": (2, 16)},
    "amos": {"wq": (2, 2, 8), "wo": (2, 16), "attn_norm": (2,), "embed": (64,)},
    "muon": {"wq": (2, 16, 2, 8), "embed": (64, 16)},
}


def job_for(place, mesh, **members):
    return session.small_job(place, {"mesh": mesh, "model": {"unroll": 1}}, steps=STEPS, **members)


class Mesh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if len(jax.devices()) != 8:
            raise AssertionError("this file wants a process of its own: python tests/trainer/test_mesh.py")
        cls.rows = session.random_rows()

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def test_four_meshes_agree_with_one_device(self):
        alone = session.trained(job_for(self.place / "one", {}), self.rows, devices_=jax.devices()[:1])
        for number, mesh in enumerate(MESHES):
            many = session.trained(job_for(self.place / str(number), mesh), self.rows)
            for step, loss in alone.events.losses().items():
                self.assertAlmostEqual(many.events.losses()[step] / loss, 1.0, delta=1e-5, msg=f"{mesh} step {step}")

    def test_pruned_matrices_of_several_devices_are_those_of_one(self):
        pruning = {"pruning": {"share": 0.5, "begin": 0, "end": 1, "every": 1}}

        def zeros(place, mesh, **more):
            job_ = session.small_job(place, {"mesh": mesh, "model": {"unroll": 1}, **pruning}, steps=STEPS)
            blocks = jax.device_get(session.trained(job_, self.rows, **more).state["params"]["blocks"])
            return {name: leaf == 0 for name, leaf in blocks.items()}
        alone = zeros(self.place / "one", {}, devices_=jax.devices()[:1])
        self.assertAlmostEqual(alone["wq"].mean(), 0.5, delta=1e-3)
        for number, mesh in enumerate(MESHES[1:3]):
            for name, gone in zeros(self.place / str(number), mesh).items():
                self.assertLess((gone != alone[name]).mean(), 0.01, f"{name} {mesh}")  # rounding decides near the limit

    def test_rows_with_weights_agree_with_one_device(self):
        """The devices have different numbers of scored targets, some of them none."""
        rows = session.random_rows()
        rows.weights = (np.random.default_rng(1).random(rows.tokens.shape) < 0.3).astype(np.uint8)
        rows.weights[:, 0] = rows.weights[::3] = 0
        alone = session.trained(job_for(self.place / "one", {}), rows, devices_=jax.devices()[:1])
        many = session.trained(job_for(self.place / "many", MESHES[2]), rows)
        for step, loss in alone.events.losses().items():
            self.assertAlmostEqual(many.events.losses()[step] / loss, 1.0, delta=1e-5, msg=f"step {step}")

    def test_parameters_lie_where_the_table_says(self):
        setup = prepare(job_for(self.place, {"data": 2, "fsdp": 2, "tensor": 2}), self.rows, self.rows)
        state = Programs(setup).fresh()
        wq = state["params"]["blocks"]["wq"]  # [L, d, H, h]
        self.assertEqual(wq.sharding.shard_shape(wq.shape), (2, 16, 2, 8))
        for leaf in jax.tree.leaves(state["optimizer"][0].mu["blocks"]["w_down"]):
            self.assertEqual(leaf.sharding.shard_shape(leaf.shape), (2, 32, 16))

    def test_other_optimisers_agree_with_one_device(self):
        for name, delta in (("adafactor", 1e-5), ("amos", 1e-5), ("muon", 1e-4)):
            def job_of(mesh, name=name):
                made = job_for(self.place / f"{name}-{len(mesh)}", mesh)
                optimizer = Optimizer(name=name, lr=1e-2, momentum=0.9)
                return dataclasses.replace(made, config=dataclasses.replace(made.config, optimizer=optimizer))

            alone = session.trained(job_of({}), self.rows, devices_=jax.devices()[:1])
            many = session.trained(job_of(MESHES[2]), self.rows)
            for step, loss in alone.events.losses().items():
                self.assertAlmostEqual(many.events.losses()[step] / loss, 1.0, delta=delta, msg=f"{name} step {step}")
            kept = many.state["optimizer"][0]
            self.assertEqual({key: leaf.sharding.shard_shape(leaf.shape) for key, leaf in self.parts_of(name, kept)},
                             PARTS[name])

    @staticmethod
    def parts_of(name, kept):
        if name == "adafactor":  # wq [2, 32, 4, 8], wo [2, 4, 8, 32], embed [128, 32]
            yield from ((f"{side} {leaf}", kept[side]["blocks"][leaf]) for side in ("rows", "columns")
                        for leaf in ("wq", "wo"))
        elif name == "amos":
            yield from ((leaf, kept["squares"]["blocks"][leaf]) for leaf in ("wq", "wo", "attn_norm"))
            yield "embed", kept["progress"]["embed"]
        else:
            yield "wq", kept["momentum"]["blocks"]["wq"]
            yield "embed", kept["adam"].mu["embed"]

    def test_a_checkpoint_of_one_mesh_is_gone_on_with_on_another(self):
        whole = session.trained(job_for(self.place / "whole", {"data": 8}), self.rows)
        first = job_for(self.place / "parts", {"data": 2, "fsdp": 2, "tensor": 2}, checkpoint_every=1)
        session.trained(dataclasses.replace(first, steps=2), self.rows)
        second = session.trained(job_for(self.place / "parts", {"data": 4, "tensor": 2}), self.rows)
        self.assertEqual(second.events.of("restore")[0]["step"], 2)
        self.assertAlmostEqual(second.events.losses()[3] / whole.events.losses()[3], 1.0, delta=1e-5)

    def test_restoring_changes_no_bit_of_a_parameter(self):
        first = session.trained(job_for(self.place, {"fsdp": 8}, checkpoint_every=3), self.rows)
        setup = prepare(job_for(self.place, {"data": 2, "fsdp": 2, "tensor": 2}), self.rows, self.rows)
        checkpoints = ckpt.Checkpoints(self.place / "checkpoints", 1)
        state = checkpoints.restore(3, Programs(setup).like)
        checkpoints.close()
        for a, b in zip(jax.tree.leaves(first.state), jax.tree.leaves(state)):
            np.testing.assert_array_equal(a, b)

    def test_what_a_mesh_cannot_divide_is_said_beforehand(self):
        with self.assertRaises(exits.BadJob) as refused:
            prepare(session.small_job(self.place, {"mesh": {"fsdp": 2, "tensor": 4}, "batch": {"rows": 3}}), self.rows,
                    self.rows)
        self.assertEqual(refused.exception.code, 64)
        text = str(refused.exception)
        self.assertIn("config.batch.rows: 3", text)
        self.assertIn("config.mesh.tensor: 4 does not divide model.kv_heads 2", text)
        with self.assertRaisesRegex(exits.BadJob, "3 x 1 x 1 are 3 devices, and there are 8"):
            prepare(session.small_job(self.place, {"mesh": {"data": 3}}), self.rows, self.rows)

    def test_the_table_names_only_parameters_that_there_are(self):
        names = {path[-1].key for path, _ in jax.tree_util.tree_leaves_with_path(
            Programs(prepare(job_for(self.place, {}), self.rows, self.rows)).like["params"])}
        of_others = {"head", "experts_gate", "experts_up", "experts_down"}
        self.assertLessEqual(set(sharding.PARAMETERS) - of_others, names)


if __name__ == "__main__":
    unittest.main()
