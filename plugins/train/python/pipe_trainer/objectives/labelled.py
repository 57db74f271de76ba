"""Labelled documents, and the answers of any model about them. Made on the devices.

The head of an encoder reads the first position of a document, which has the id that begins it, and nothing of its
label. Another model writes the label: its answer is the label whose telling id is likeliest where this id is written.
"""

import jax.numpy as jnp
from jax import lax, nn

from ..data.labels import most
from ..model import model
from . import hiding

# The numbers of a document in the array of `answers`.
THERE, LABEL, ANSWER, NATS = range(4)


def begun(scored):
    """scored bool [R, N]: ids of labels. Returns (the place where each begins, whether there is one), each [R, K], in
    the order of the documents."""
    length = scored.shape[1]
    begins = scored & ~jnp.pad(scored[:, :-1], ((0, 0), (1, 0)))
    order = jnp.argsort(jnp.where(begins, jnp.arange(length), length), axis=1, stable=True)[:, :most(length)]
    return order, jnp.take_along_axis(begins, order, axis=1)


def told(labels, ids, scored):
    """As `begun` for ids [R, N]: (the place of each telling id, its label, whether there is one)."""
    order, there = begun(scored)
    places = jnp.minimum(order + labels.common, ids.shape[1] - 1)
    match = jnp.take_along_axis(ids, places, axis=1)[..., None] == jnp.array(labels.telling)
    return places, jnp.argmax(match, axis=-1), there & jnp.any(match, axis=-1)


def read(shape, labels, newline, tokens, lengths, weights):
    """The rows as an encoder reads them. Returns (ids [R, T], their segments and positions, the first position of each
    document [R, K], its label, whether there is one). `labels` None: they are numbers, which the ids do not tell; then
    so is each label."""
    ids, inside, scored = hiding.free_of(shape, tokens, lengths, weights)
    if labels is None:
        (places, there), classes = begun(scored), None
    else:
        places, classes, there = told(labels, ids, scored)
    segments, positions = model.documents(shape, ids)
    first = ids == (shape.eos if shape.begin is None else shape.begin)
    begins = lax.cummax(jnp.where(first, jnp.arange(ids.shape[1]), 0), axis=1)
    hidden = scored
    if newline >= 0:  # the one before a label is no text of the document
        hidden |= jnp.pad(scored[:, 1:], ((0, 0), (0, 1))) & (ids == newline)
    segments = jnp.where(inside & ~hidden, segments, -1)
    return ids, (segments, positions), jnp.take_along_axis(begins, places, axis=1), classes, there


def answers(params, config, labels, hidden, targets, weights):
    """hidden [R, N, d]: the states that predict targets [R, N], whose weights say which are scored. Returns float32
    [R, K, 4]: THERE, LABEL, ANSWER, NATS of each document; nats are those of its label among all labels."""
    places, classes, there = told(labels, targets, (weights > 0) & (targets != config.eos))
    hidden = jnp.take_along_axis(hidden, places[..., None], axis=1)
    return judged(there, classes, scores(params, config, labels, hidden))


def scores(params, config, labels, hidden):
    """The scores of all labels: of a head over them, or of their telling ids."""
    states, head = model.readout(params, config, hidden)
    head = head[:, :config.classes] if config.classes else head[:, jnp.array(labels.telling)]
    return jnp.matmul(states, head.astype(states.dtype), preferred_element_type=jnp.float32)


def judged(there, classes, scores):
    """The answers of `scores` [R, K, C]."""
    nats = -jnp.take_along_axis(nn.log_softmax(scores), classes[..., None], axis=-1)[..., 0]
    return jnp.stack([there.astype(jnp.float32), classes.astype(jnp.float32),
                      jnp.argmax(scores, axis=-1).astype(jnp.float32), nats], axis=-1)


def shares(params, config, labels, ids, ends, places, begun=None, slots=0):
    """Returns [R, C]: the share of each label at `places`. The others: of hidden_at."""
    return nn.softmax(scores(params, config, labels, hidden_at(params, config, ids, ends, places, begun, slots))[:, 0])


def hidden_at(params, config, ids, ends, places, begun=None, slots=0):
    """Returns the states [R, 1, d] at `places` [R]. Each row is one document, of `ends` [R] ids. `begun`: the text of a
    decoder of so many `slots`; the encoder does not read the ids that it shares with the end of a row."""
    index, given = jnp.arange(ids.shape[1]), None
    if begun is not None:
        ends, segments = ends - (len(begun) - 1), jnp.where(jnp.arange(slots) < len(begun), 0, -2)
        begun = jnp.pad(begun, (0, slots - len(begun)))
        given = tuple(jnp.broadcast_to(one, (len(ids), slots)) for one in (begun, segments))
    layout = jnp.where(index < ends[:, None], 0, -1), jnp.broadcast_to(index, ids.shape)
    hidden = model.forward(params, config, ids, layout=layout, given=given)
    return jnp.take_along_axis(hidden, places[:, None, None], axis=1)


def outputs(states, head):
    """[R, K, d] and [d, V] to float32 [R, K], in float32: a number has no other precision."""
    return jnp.matmul(states.astype(jnp.float32), head[:, 0].astype(jnp.float32))
