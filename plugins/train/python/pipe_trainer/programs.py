"""What the devices run, compiled for a mesh: a fresh state, a step, parameters in one piece."""

import jax
import numpy as np

from . import ckpt, guard, sharding, step


class Programs:
    def __init__(self, setup):
        self._setup, mesh = setup, setup.mesh
        shapes = jax.eval_shape(lambda: step.new_state(setup.config, jax.random.key(0)))
        layout = sharding.of_state(mesh, shapes)
        self.like = ckpt.abstract(shapes, layout)  # what a checkpoint is restored to
        self._copies = sharding.copies(mesh)
        rows, each = sharding.of_batch(mesh, axis=1), sharding.of_devices(mesh)
        self._fresh = jax.jit(lambda key: step.new_state(setup.config, key), out_shardings=layout)
        self._train = jax.jit(
            step.make_train_step(setup.config, setup.attend, setup.compute, setup.positions),
            in_shardings=(layout, rows, rows, self._copies, each), out_shardings=(layout, self._copies),
            donate_argnums=0)
        self._forgive = jax.jit(guard.forgive, out_shardings=layout["guard"])
        self._whole = jax.jit(lambda tree: tree, out_shardings=self._copies)
        count = mesh.devices.size
        self._stop = [jax.make_array_from_callback((count,), each, np.full(count, flag, np.float32).__getitem__)
                      for flag in (0, 1)]

    def fresh(self):
        """The state before the first step: of the seed, whatever the mesh."""
        with jax.set_mesh(self._setup.mesh):
            return self._fresh(jax.random.key(self._setup.job.seed))

    def compile(self, state, batch):
        """So that the first step takes no longer than the others."""
        with jax.set_mesh(self._setup.mesh):
            self._train = self._train.lower(state, *batch, self._scalar(0.0), self._stop[0]).compile()

    def train(self, state, batch, rate, stop):
        """(state, metrics); the state that goes in is used up. `stop`: that this process was asked to."""
        return self._train(state, *batch, self._scalar(rate), self._stop[stop])

    def forgive(self, state):
        """Without the memory of updates that were left out."""
        return {**state, "guard": self._forgive(state["guard"])}

    def _scalar(self, value):
        return jax.device_put(np.float32(value), self._copies)

    def whole(self, params):
        """A copy on every process. On a single device they are that already."""
        if self._setup.mesh.devices.size == 1:
            return params
        return jax.device_get(self._whole(params))
