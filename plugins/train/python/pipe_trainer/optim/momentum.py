"""Momentum as the published Adafactor and Amos have it: an average of updates with their learning rates."""

import jax
import jax.numpy as jnp
import optax


def of_updates(decay):
    """The step multiplies a direction by its learning rate, so the average is divided by it. A rate of 0 moves
    nothing."""
    def init(params):
        return {"momentum": jax.tree.map(jnp.zeros_like, params)}

    def update(directions, state, params=None, *, rate, **_):
        mean = jax.tree.map(lambda before, now: decay * before + (1.0 - decay) * rate * now, state["momentum"],
                            directions)
        return jax.tree.map(lambda leaf: jnp.where(rate > 0, leaf / rate, 0.0), mean), {"momentum": mean}

    return optax.GradientTransformationExtraArgs(init, update)
