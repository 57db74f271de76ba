"""The answers of a head that gives a number, in standard units. Made on the devices."""

import jax.numpy as jnp

from ..model import model


def outputs(states, head):
    """[R, K, d] and [d, V] to float32 [R, K], in float32: a number has no other precision."""
    return jnp.matmul(states.astype(jnp.float32), head[:, 0].astype(jnp.float32))


def answers(params, config, hidden, targets, weights):
    """hidden [R, K, d]: the states of the first positions. Returns float32 [R, K, 3]: THERE, LABEL and ANSWER, of
    `labelled`, of each document."""
    states, head = model.readout(params, config, hidden)
    return jnp.stack([weights, targets, outputs(states, head)], axis=-1)
