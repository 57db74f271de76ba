"""The objective `regression`: the head of an encoder reads the first position of a document, as that of `classes`, and
its one output is the number of the document, in standard units. Made on the devices."""

import jax.numpy as jnp

from ..model import model

# The numbers of a document in the array of `answers`.
THERE, LABEL, ANSWER = range(3)


def outputs(states, head):
    """[R, K, d] and [d, V] to float32 [R, K], in float32: a number has no other precision."""
    return jnp.matmul(states.astype(jnp.float32), head[:, 0].astype(jnp.float32))


def squares(head, states, targets, weights):
    """The sum of the squared errors of the documents."""
    return jnp.sum(weights * (outputs(states, head) - targets) ** 2)


def answers(params, config, hidden, targets, weights):
    """hidden [R, K, d]: the states of the first positions. Returns float32 [R, K, 3]: THERE, LABEL and ANSWER of each
    document."""
    states, head = model.readout(params, config, hidden)
    return jnp.stack([weights, targets, outputs(states, head)], axis=-1)
