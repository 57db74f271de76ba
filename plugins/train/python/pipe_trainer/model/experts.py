"""A mixture of experts, as in ST-MoE (Zoph et al. 2022): in each last layer of a group of `expert_every`, a router
gives each position of a row to `expert_top` of the experts, before the MLP that every layer has. Shared by families.

A row is a group: an expert takes so many of its positions as its capacity is, first choices before second ones and
then in the order of the row. So neither micro-batches nor devices change what an expert takes. A choice that finds no
room adds nothing. Positions that are padding choose nothing and count nowhere.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from .norms import rms_norm
from .primitives import each_product
from .sharding import constrain

PURPOSE = 0x65787065  # of the keys that fresh parameters of experts are drawn with
ROUTER_STD = 0.02
SMALLER = 0.1 ** 0.5  # than without experts: the matrices of such a model at first, for stability


class Load(NamedTuple):
    """Of a layer, for each row; the means of a row are over its positions."""
    balance: jax.Array   # experts * the sum over them of (share of positions that chose one) * (its mean chance)
    router_z: jax.Array  # mean square of the logarithm of the router's normaliser
    dropped: jax.Array   # share of the choices without room


class Route(NamedTuple):
    """Of each position by its choices, [R, top, T]."""
    slot: jax.Array     # int32: the place that it has, expert * C + place of the expert; E * C: none
    weights: jax.Array  # float32: the chance of the expert that took it; 0: none did
    load: Load


def init(config, key):
    """Parameters of one stack, stacked over its groups."""
    d, count, ff = config.d, config.experts, config.ff
    keys = iter(jax.random.split(jax.random.fold_in(key, PURPOSE), 4))

    def normal(shape, std):
        return std * jax.random.normal(next(keys), (groups(config), *shape), jnp.float32)

    return {"experts_norm": jnp.ones((groups(config), d)), "router": normal((d, count), ROUTER_STD),
            "experts_gate": normal((count, d, ff), SMALLER * d ** -0.5),
            "experts_up": normal((count, d, ff), SMALLER * d ** -0.5),
            "experts_down": normal((count, ff, d), SMALLER * ff ** -0.5)}


def mixed(config, hidden, layer, drop, there, training, gated):
    """hidden [R, T, d] with the outputs of the experts added, and the load. `there` bool [R, T]: no padding; `gated`:
    the activation of (gate, up)."""
    normed = rms_norm(hidden, layer["experts_norm"], config.norm_eps)
    scores = jnp.einsum("rtd,de->rte", normed.astype(jnp.float32), layer["router"].astype(jnp.float32),
                        precision=lax.Precision.HIGHEST)
    room = capacity(config, hidden.shape[1], training)
    found = route(scores, there, config.expert_top, room)
    places = taken_rows(normed, positions_of(found.slot, config.experts * room))
    places = constrain(places.reshape(len(places), config.experts, room, -1), "dispatched")
    places = constrain(places, "experts")  # each device gets the places of its experts
    wide = gated(each_product(places, layer["experts_gate"]), each_product(places, layer["experts_up"]))
    places = constrain(constrain(each_product(wide, layer["experts_down"]), "experts"), "dispatched")
    answers = taken_rows(places.reshape(len(places), config.experts * room, -1), found.slot)
    added = jnp.einsum("rktd,rkt->rtd", answers, found.weights.astype(hidden.dtype))
    return constrain(hidden + drop(added, "experts"), "hidden"), found.load


def positions_of(slot, places):
    """slot [R, top, T] of a Route. Returns int32 [R, places], the position that has each place; T: none has."""
    rows, top, length = slot.shape
    return jax.vmap(lambda row: jnp.full(places + 1, length, jnp.int32).at[row].set(
        jnp.tile(jnp.arange(length, dtype=jnp.int32), top)))(slot.reshape(rows, -1))[:, :-1]


def taken_rows(values, index):
    """values [R, n, d], index int32 [R, ...] to n. Returns [R, ..., d]; zeros for n."""
    flat = index.reshape(len(index), -1, 1)
    return jnp.take_along_axis(values, flat, axis=1, mode="fill", fill_value=0).reshape(*index.shape, -1)


def capacity(config, positions, training):
    """The places of an expert in a row of so many positions."""
    factor = config.expert_capacity if training else config.expert_eval_capacity
    return min(max(int(factor * positions / config.experts + 0.5), 1), positions)


def route(scores, there, top, capacity):
    """scores float32 [R, T, E], there bool [R, T]. If two experts have one chance, the first is chosen."""
    count = scores.shape[-1]
    chances = jax.nn.softmax(scores, axis=-1)
    left, choices = lax.stop_gradient(chances), []
    for _ in range(top):
        choices.append(jax.nn.one_hot(jnp.argmax(left, axis=-1), count, dtype=jnp.int32))
        left = jnp.where(choices[-1] == 1, -1.0, left)
    taken = jnp.stack(choices, axis=1) * there[:, None, :, None].astype(jnp.int32)  # [R, top, T, E]
    queue = taken.reshape(len(taken), -1, count)
    place = (jnp.cumsum(queue, axis=1) - queue).reshape(taken.shape)
    kept = taken * (place < capacity)
    slot = jnp.sum(kept * (jnp.arange(count) * capacity + place), axis=-1)
    slot = jnp.where(jnp.any(kept == 1, axis=-1), slot, count * capacity)
    weights = jnp.sum(kept * chances[:, None], axis=-1)
    kept, taken = (jnp.sum(part, axis=1) for part in (kept, taken))

    positions = jnp.maximum(jnp.sum(there, axis=1), 1).astype(jnp.float32)
    inside = there[..., None].astype(jnp.float32)
    chosen = jnp.sum(taken, axis=1) / positions[:, None]
    balance = count * jnp.sum(chosen * jnp.sum(chances * inside, axis=1) / positions[:, None], axis=-1)
    normaliser = jnp.sum(jnp.square(jax.nn.logsumexp(scores, axis=-1)) * inside[..., 0], axis=1) / positions
    dropped = jnp.sum(taken - kept, axis=(1, 2)) / (positions * top)
    return Route(slot, weights, Load(balance, normaliser, dropped))


def summed(*loads):
    """The sums over rows of the means over layers. `loads`: of stacks, [layers with experts, R]."""
    return jax.tree.map(lambda *parts: jnp.sum(jnp.mean(jnp.concatenate(parts), axis=0)), *loads)


def penalised(loss, loads, penalties):
    """The loss with the gradient of the penalties, too. `loads`: means over rows, or parts of them."""
    penalty = penalties.balance * loads.balance + penalties.router_z * loads.router_z
    return loss + (penalty - lax.stop_gradient(penalty))


def groups(model):
    """The layers of a stack that have experts."""
    return model.layers // model.expert_every if model.experts else 0


def of_layer(model):
    """The parameters that a layer with experts has more; 0 without experts."""
    return model.experts * (model.d + matrices(model)) + model.d if model.experts else 0


def active(model):
    """Those of them that a position meets in training."""
    if not model.experts:
        return 0
    share = min(model.expert_top, model.expert_capacity, model.experts)
    return int(share * matrices(model)) + model.d * (model.experts + 1)


def matrices(model):
    return 3 * model.d * model.ff
