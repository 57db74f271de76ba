"""Checks before the first step that attention on this device agrees with the plain form. Wrong kernels are silent, and
some kernels do not compile for every generation of a device."""

from dataclasses import replace

import jax
import numpy as np

from ..exits import first_line
from ..processes import of_all
from . import attention, families, sharding

ENOUGH = 0.999  # cosine; two correct forms in 16 bits are nearer


def check_attention(setup):
    """Returns the arrangement with a reliable form of attention: its own form, or the reference if that fails or
    disagrees here. `lack` has the reason. Several processes decide the same."""
    if setup.attention == "reference":
        return setup
    ours, why = together(lambda: computed(setup, setup.attend))
    if why is None:
        theirs, unknown = together(lambda: computed(setup, plain_form(setup)))
        if unknown is not None:  # the reference would end the run, too
            return replace(setup, lack=f"attention {setup.attention} is not checked: its reference {unknown}")
        _, why = together(lambda: disagreement(cosines_of(ours, theirs)))
    if why is None:
        return setup
    return replace(setup, attention="reference", attend=plain_form(setup),
                   lack=f"attention is slower than it could be: {setup.attention} on "
                        f"{setup.mesh.devices.flat[0].device_kind} {why}; report it")


def plain_form(setup):
    return attention.plain(families.of(setup.config.model).causal)


class Disagrees(Exception):
    """The message has the cosines."""


def together(action):
    """Returns (result of `action`, None), or (None, reason). An exception of any process is one of all."""
    value = why = None
    try:
        value = action()
    except Disagrees as error:
        why = f"disagrees with its reference: {error}"
    except Exception as error:  # a compiler, a runtime and a kernel have no common exception
        why = f"fails: {first_line(error)}"
    failed = of_all(why is not None)
    if any(failed) and why is None:
        value, why = None, f"fails for worker {failed.index(True)}"
    return value, why


def computed(setup, form):
    """Returns output and gradients on rows of several documents. No process runs a program that another cannot
    compile."""
    model, mesh = setup.config.model, setup.mesh
    shape = mesh.shape["data"] * mesh.shape["fsdp"], model.seq_len
    keys = jax.random.split(jax.random.key(0), 5)

    def random(key, heads):
        return np.asarray(jax.random.normal(key, (*shape, heads, model.head_dim), setup.compute))
    q, k, v, out = (random(key, heads) for key, heads in
                    zip(keys, (model.heads, model.kv_heads, model.kv_heads, model.heads)))
    segments = np.cumsum(np.asarray(jax.random.bernoulli(keys[4], 0.05, shape)), axis=-1, dtype=np.int32)

    def run(q, k, v, out, segments):
        mixed, pull = jax.vjp(lambda *qkv: form(*qkv, segments), q, k, v)
        return mixed, *pull(out)

    copies = sharding.copies(mesh)
    with jax.set_mesh(mesh):
        program, why = together(lambda: jax.jit(run, in_shardings=copies, out_shardings=copies).lower(
            q, k, v, out, segments).compile())
        if why is not None:
            raise RuntimeError(why.removeprefix("fails: "))
        return [np.asarray(jax.device_get(array), np.float64).ravel() for array in program(q, k, v, out, segments)]


def cosines_of(ours, theirs):
    return {name: float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
            for name, a, b in zip(("output", "d_q", "d_k", "d_v"), ours, theirs)}


def disagreement(found):
    if not all(value >= ENOUGH for value in found.values()):  # false for NaN
        raise Disagrees("cosines " + ", ".join(f"{name} {value:.4f}" for name, value in found.items()))
