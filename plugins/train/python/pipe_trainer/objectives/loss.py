"""Cross-entropy without the logits of a whole batch: a few positions of each row at a time.

The gradient is made together with the loss, while a piece's logits are there, so that none are kept or computed
again.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ..model.model import masked_logits

LOGITS_AT_A_TIME = 1 << 26  # elements on a device, float32


def positions_at_a_time(config, rows_per_device, length=None):
    """The greatest divisor of `length` whose logits fit. `length`: places of a row that predict; None: all."""
    length = length or config.seq_len
    wanted = config.loss_chunk
    if wanted is None:
        wanted = LOGITS_AT_A_TIME // (rows_per_device * config.scored)
    if wanted == 0 and config.loss_chunk == 0 or wanted >= length:
        return length
    return max(size for size in range(1, max(wanted, 1) + 1) if length % size == 0)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def cross_entropy(config, positions, penalties, head, hidden, targets, weights):
    """The sum of weighted nats. hidden [B, T, d], head [d, Vp], targets and weights [B, T]. Its gradient is that of
    `penalties`, which adds label smoothing and z-loss: nats compare between runs, what is minimised would not."""
    head = head.astype(hidden.dtype)

    def add(total, piece):
        logits = masked_logits(config, piece[0], head)
        return total + jnp.sum(nats(logits, piece[1])[0] * piece[2]), None

    return lax.scan(add, jnp.float32(0), pieces(positions, hidden, targets, weights))[0]


def forward_and_gradient(config, positions, penalties, head, hidden, targets, weights):
    narrow = head.astype(hidden.dtype)

    def add(carry, piece):
        total, d_head = carry
        h, y, w = piece
        logits = masked_logits(config, h, narrow)
        loss, shifted, normalizer = nats(logits, y)
        d_logits = slope(config, penalties, logits, shifted, normalizer, y)
        d_logits = (d_logits * w[..., None]).astype(h.dtype)
        d_h = jnp.matmul(d_logits, narrow.T)
        flat = h.reshape(-1, h.shape[-1]), d_logits.reshape(-1, d_logits.shape[-1])
        d_head = d_head + jnp.matmul(flat[0].T, flat[1], preferred_element_type=jnp.float32)
        return (total + jnp.sum(loss * w), d_head), d_h

    start = jnp.float32(0), jnp.zeros(head.shape, jnp.float32)
    (total, d_head), d_hidden = lax.scan(add, start, pieces(positions, hidden, targets, weights))
    return total, (d_head.astype(head.dtype), jnp.moveaxis(d_hidden, 0, 1).reshape(hidden.shape))


def slope(config, penalties, logits, shifted, normalizer, targets):
    """The gradient of one target's part of the penalties by its logits."""
    chances = jnp.exp(shifted) / normalizer
    ids = jnp.arange(config.padded_vocab)
    wanted = ids == targets[..., None]
    if penalties.label_smoothing:  # the target gives a part of its chance to all others in equal shares
        others = jnp.where(ids < config.vocab, penalties.label_smoothing / (config.vocab - 1), 0.0)
        wanted = jnp.where(wanted, 1.0 - penalties.label_smoothing, others)
    if penalties.z_loss:  # z_loss times the square of the normaliser's logarithm
        log_normalizer = jnp.max(logits, axis=-1, keepdims=True) + jnp.log(normalizer)
        chances = chances * (1.0 + 2.0 * penalties.z_loss * log_normalizer)
    return chances - wanted


def backward(_config, _positions, _penalties, gradient, scale):
    d_head, d_hidden = gradient
    return d_head * scale.astype(d_head.dtype), d_hidden * scale.astype(d_hidden.dtype), None, None


cross_entropy.defvjp(forward_and_gradient, backward)


def nats(logits, targets):
    """(of each target, logits below their maximum, sum of their exponentials)."""
    shifted = logits - jnp.max(logits, axis=-1, keepdims=True)
    normalizer = jnp.sum(jnp.exp(shifted), axis=-1, keepdims=True)
    at_target = jnp.take_along_axis(shifted, targets[..., None], axis=-1)
    return (jnp.log(normalizer) - at_target)[..., 0], shifted, normalizer


def pieces(positions, *arrays):
    """[B, T, ...] as [T / positions, B, positions, ...]."""
    def split(array):
        rows, length = array.shape[:2]
        return jnp.moveaxis(array.reshape(rows, length // positions, positions, *array.shape[2:]), 1, 0)
    return tuple(split(array) for array in arrays)
