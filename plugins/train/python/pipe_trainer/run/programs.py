"""Programs of the devices, compiled for a mesh: a fresh state, a step, unsharded parameters."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from ..checkpoints import ckpt
from ..exits import BAD_DATA, Ended
from ..model import lora, model, sharding
from ..optim import guard, pruning, step
from ..processes import agreed


def state_of(setup):
    """Returns (the state of a run as shapes, the shardings of its parts)."""
    shapes = jax.eval_shape(lambda: step.new_state(setup.config, jax.random.key(0)))
    return shapes, sharding.of_state(setup.mesh, shapes)


def base_of(setup):
    """Returns (the frozen parameters that have adapters,), as shapes where they lie; () without adapters."""
    if not setup.config.lora.rank:
        return ()
    shapes = model.shapes(setup.config.model)
    return (ckpt.abstract(shapes, sharding.of_state(setup.mesh, shapes)),)


def train_program(setup, layout, seed):
    """Returns the program of a step. Its devices need not be there. `seed`: for the masks of dropout."""
    mesh, base = setup.mesh, [jax.tree.map(lambda leaf: leaf.sharding, tree) for tree in base_of(setup)]
    rows, copies, each = sharding.of_batch(mesh, axis=1), sharding.copies(mesh), sharding.of_devices(mesh)
    return jax.jit(step.make_train_step(setup.config, setup.attend, setup.compute, setup.positions, seed,
                                        setup.objective),
                   in_shardings=(layout, rows, copies, each, *base), out_shardings=(layout, copies), donate_argnums=0)


def all_finite(tree):
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)
                              if jnp.issubdtype(leaf.dtype, jnp.inexact)]))


class Programs:
    def __init__(self, setup):
        self._setup, mesh = setup, setup.mesh
        shapes, layout = state_of(setup)
        self.like = ckpt.abstract(shapes, layout)  # shapes and shardings for a restored checkpoint
        self.model_like = next(iter(base_of(setup)), self.like["params"])  # the whole model
        self.learned = model.count(self.like["params"])
        self._base = None    # what `base` returns, once it is there
        self._copies, each = sharding.copies(mesh), sharding.of_devices(mesh)
        self._local = mesh.local_devices
        self._fresh = jax.jit(lambda key: step.new_state(setup.config, key), out_shardings=layout)
        self._around = jax.jit(lambda params: step.state_around(setup.config, params), out_shardings=layout,
                               donate_argnums=0)
        self._train = train_program(setup, layout, setup.job.seed)
        self._finite = jax.jit(all_finite, out_shardings=sharding.copies(mesh))
        self._pruned = jax.jit(partial(pruning.of_state, setup.config), out_shardings=layout, donate_argnums=0)
        self._forgive = jax.jit(guard.forgive, out_shardings=layout["guard"])
        self._whole = jax.jit(lambda tree: tree, out_shardings=self._copies)
        count = mesh.devices.size
        self._wishes = [jax.make_array_from_callback((count,), each, np.full(count, wish, np.float32).__getitem__)
                        for wish in range(3)]

    def fresh(self):
        """Returns the state before the first step. It depends on the seed, or on the model that the run begins with,
        not on the mesh."""
        with jax.set_mesh(self._setup.mesh):
            if self._setup.start is not None and not self._setup.config.lora.rank:
                return self._around(self._started())
            return self._fresh(jax.random.key(self._setup.job.seed))

    def _started(self):
        """Returns the parameters of the model that the run begins with."""
        made = self._setup.start.parameters(self._setup.config.model, self._setup.job.seed, self._setup.rows.labels)
        return self.placed(made)

    def base(self):
        """Returns (the frozen parameters that have adapters,); () without adapters. No step consumes them. The first
        call is one of all processes together."""
        if self._base is None and self._setup.config.lora.rank:
            start = self._setup.start
            if agreed(start.digest) != start.digest:
                raise Ended(BAD_DATA, f"init_from: {start.directory}: is not the model that the first process has; "
                                      f"copy that one here")
            self._base = self._started()
        return () if self._base is None else (self._base,)

    def parameters(self, learned):
        """Returns the parameters of the model. `learned`: those of a state, or its adapters."""
        return lora.attached(self._setup.config.lora, *self.base(), learned, merges=True) if self.base() else learned

    def placed(self, params):
        """Puts parameters of numpy, which each process has as a whole, where those of the model are."""
        return jax.tree.map(self._put, params, self.model_like)

    def release(self):
        """Gives up the frozen parameters; the next call of `base` reads them again."""
        self._base = None

    @staticmethod
    def _put(values, like):
        """Puts an array of numpy, which each process has as a whole, where its leaf is."""
        if values.shape != like.shape:
            raise Ended(BAD_DATA, f"init_from: an array of the shape {values.shape} instead of {like.shape}")
        return jax.make_array_from_callback(like.shape, like.sharding,
                                            lambda index: np.asarray(values[index], like.dtype))

    def compile(self, state, batch):
        """Compiles the step, so that the first step takes no longer than the others."""
        with jax.set_mesh(self._setup.mesh):
            self._train = self._train.lower(state, batch, self._scalar(0.0), self._wishes[0], *self.base()).compile()

    def train(self, state, batch, rate, wish):
        """Takes a step. Returns (state, metrics) and consumes the given state. `wish`: of this process; the metric
        `stop` is the greatest of all processes."""
        return self._train(state, batch, self._scalar(rate), self._wishes[wish], *self.base())

    def finite(self, state):
        """Whether each number of the state is finite. All processes call it together."""
        return bool(jax.device_get(self._finite(state)))

    def forgive(self, state):
        """Returns the state without the memory of skipped updates."""
        return {**state, "guard": self._forgive(state["guard"])}

    def pruned(self, state, share):
        """Returns the state with zeros for a share of each matrix of a layer, and consumes the given state."""
        with jax.set_mesh(self._setup.mesh):
            return self._pruned(state, self._scalar(share))

    def _scalar(self, value):
        # Each device by itself: for all of them at once device_put compares the value between processes, by a
        # collective of its own that waits for all steps before it and may meet one of them.
        parts = [jax.device_put(np.float32(value), device) for device in self._local]
        return jax.make_array_from_single_device_arrays((), self._copies, parts)

    def whole(self, params):
        """Returns the parameters, unsharded and without adapters, on every process. A single device already has them
        so. Of several devices none has to hold all of them: the copy is in the memory of the machine, where adapters
        are merged, too."""
        if self._setup.mesh.devices.size == 1 and not self._setup.config.lora.rank:
            return params
        if jax.process_count() == 1:
            return lora.merged(jax.device_get(params))
        return lora.merged(jax.tree.map(lambda leaf: jax.device_get(self._whole(leaf)), params))
