"""One compiled program that goes on with a row of ids: fixed shapes, keys and values of the past kept."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from ..model import attention, llama, model, regularizers

IMPOSSIBLE = -1e30


def pick(scores, temperature, top_p, key):
    """An id by its logits. Temperature 0: the likeliest; top_p keeps the likeliest that reach it together."""
    order = jnp.argsort(-scores)
    chances = jax.nn.log_softmax(scores[order] / jnp.maximum(temperature, 1e-6))
    before = jnp.cumsum(jnp.exp(chances)) - jnp.exp(chances)
    kept = (before < top_p).at[0].set(True)
    chosen = jax.random.categorical(key, jnp.where(kept, chances, -jnp.inf))
    return order[jnp.where(temperature > 0, chosen, 0)].astype(jnp.int32)


@partial(jax.jit, static_argnames=("config", "compute", "cached"))
def go_on(params, ids, known, until, stop, pieces, temperature, top_p, key, *, config, compute, cached):
    """ids [T], the first `known` of them given: (ids, n) with n up to `until`, or up to the first `stop`. No id from
    `pieces` on is drawn."""
    score = cached_scores(params, config, compute) if cached else plain_scores(params, config, compute)

    def more(state):
        return (state[1] < until) & ~state[2]

    def one(state):
        ids, at, _, scores, past = state
        scores = jnp.where(jnp.arange(len(scores)) < pieces, scores, -jnp.inf)
        token = pick(scores, temperature, top_p, jax.random.fold_in(key, at))
        ids = ids.at[at].set(token)
        scores, past = score.next(ids, at, past)
        return ids, at + 1, token == stop, scores, past

    scores, past = score.first(ids, known)
    ids, at, *_ = lax.while_loop(more, one, (ids, known, jnp.bool_(False), scores, past))
    return ids, at


class plain_scores:
    """Everything is computed again for each id: for models that have no cache, and for tests."""

    def __init__(self, params, config, compute):
        self._params, self._config, self._compute = params, config, compute

    def first(self, ids, known):
        hidden = model.forward(self._params, self._config, ids[None], compute=self._compute)[0, known - 1]
        return model.logits(self._params, self._config, hidden), ()

    def next(self, ids, at, past):
        return self.first(ids, at + 1)


class cached_scores:
    """model.forward a position at a time. `past`: keys and values [L, T, K, h], segments, positions."""

    def __init__(self, params, config, compute):
        self._config = config
        self._params = jax.tree.map(lambda leaf: leaf.astype(compute), params)

    def first(self, ids, known):
        segments, positions = model.documents(self._config, ids[None])
        hidden, (keys, values) = self._through(
            ids[None], positions, lambda q, k, v, _: attention.reference(q, k, v, segments))
        return self._logits(hidden[0, known - 1]), (keys[:, 0], values[:, 0], segments[0], positions[0])

    def next(self, ids, at, past):
        keys, values, segments, positions = past
        begins = ids[at] == self._config.eos
        segments = segments.at[at].set(segments[at - 1] + begins)
        positions = positions.at[at].set(jnp.where(begins, 0, positions[at - 1] + 1))
        seen = (jnp.arange(len(ids)) < at) & (segments == segments[at])

        def attend(q, k, v, layer_past):
            return attend_one(q, k, v, *layer_past, seen)

        hidden, (new_keys, new_values) = self._through(ids[at][None, None], positions[at][None, None], attend,
                                                       (keys, values))
        keys = lax.dynamic_update_slice_in_dim(keys, new_keys[:, 0], at, 1)
        values = lax.dynamic_update_slice_in_dim(values, new_values[:, 0], at, 1)
        return self._logits(hidden[0, 0]), (keys, values, segments, positions)

    def _logits(self, hidden):
        return model.logits(self._params, self._config, hidden)

    def _through(self, x, positions, attend, past=None):
        """[1, S] ids through all layers; the keys and values of each."""
        config = self._config

        def block(hidden, layer_and_past):
            layer, layer_past = layer_and_past
            made = []

            def attend_and_keep(q, k, v, _):
                made.append((k, v))
                return attend(q, k, v, layer_past)
            one = llama.block(config, attend_and_keep, None, positions)
            return one(hidden, layer, regularizers.no_dropout), made[0]

        hidden, made = lax.scan(block, self._params["embed"][x], (self._params["blocks"], past))
        return llama.final(config, hidden, self._params), made


def attend_one(q, k, v, keys, values, seen):
    """q [1, 1, H, h] over itself and those of keys, values [T, K, h] that are seen."""
    groups, width = k.shape[2:]
    q = q.reshape(groups, -1, width)
    past = jnp.einsum("gnh,tgh->gnt", q, keys, preferred_element_type=jnp.float32) * width ** -0.5
    own = jnp.einsum("gnh,gh->gn", q, k[0, 0], preferred_element_type=jnp.float32) * width ** -0.5
    past = jnp.where(seen[None, None], past, IMPOSSIBLE)
    shares = jax.nn.softmax(jnp.concatenate([past, own[..., None]], axis=-1), axis=-1).astype(values.dtype)
    mixed = jnp.einsum("gnt,tgh->gnh", shares[..., :-1], values) + shares[..., -1:] * v[0, 0][:, None]
    return mixed.reshape(1, 1, -1, width)
