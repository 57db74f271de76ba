"""Before the first step: does attention on this device do what the plain form says? Wrong kernels are silent."""

import jax
import jax.numpy as jnp
import numpy as np

from . import attention, sharding
from .exits import BUG, Ended

ENOUGH = 0.999  # cosine; two right forms in 16 bits are nearer


def check_attention(setup):
    """Raises when the output or a gradient of the form points elsewhere than that of the reference."""
    if setup.attention == "reference":
        return
    found = cosines(setup)
    if not all(value >= ENOUGH for value in found.values()):  # NaN is not
        raise Ended(BUG, f"attention {setup.attention} disagrees with its reference on {setup.mesh.devices.flat[0]}: "
                         f"cosines {', '.join(f'{name} {value:.4f}' for name, value in found.items())}; set "
                         f"config.model.attention: reference, and report it")


def cosines(setup):
    """Of output and gradients, on rows of several documents."""
    model, mesh = setup.config.model, setup.mesh
    shape = mesh.shape["data"] * mesh.shape["fsdp"], model.seq_len
    keys = jax.random.split(jax.random.key(0), 5)

    def random(key, heads):
        return jax.random.normal(key, (*shape, heads, model.head_dim), setup.compute)
    q, k, v, out = (random(key, heads) for key, heads in
                    zip(keys, (model.heads, model.kv_heads, model.kv_heads, model.heads)))
    segments = jnp.cumsum(jax.random.bernoulli(keys[4], 0.05, shape), axis=-1, dtype=jnp.int32)

    def of(form):
        def run(q, k, v):
            mixed, pull = jax.vjp(lambda *qkv: form(*qkv, segments), q, k, v)
            return mixed, *pull(out)
        with jax.set_mesh(mesh):
            return jax.jit(run, out_shardings=sharding.copies(mesh))(q, k, v)

    return {name: cosine(ours, theirs) for name, ours, theirs in
            zip(("output", "d_q", "d_k", "d_v"), of(setup.attend), of(attention.reference))}


def cosine(a, b):
    a, b = (np.asarray(jax.device_get(x), np.float64).ravel() for x in (a, b))
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
