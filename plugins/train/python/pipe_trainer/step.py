"""One training step as one program: gradients over micro-batches, the guard, the update."""

import jax
import jax.numpy as jnp
import optax
from jax import lax

from . import guard, loss, model, optim, regularizers

# What a step reports, in the order of its one array.
METRICS = ("loss", "grad_norm", "tokens", "skipped", "skips", "stop")


def new_state(config, key):
    params = model.init(config.model, key)
    averaged = {"average": jax.tree.map(jnp.copy, params)} if config.regularizers.ema else {}
    return {"params": params, "optimizer": optim.make(config.optimizer).init(params),
            "guard": guard.fresh(config.guard), "step": jnp.int32(0), **averaged}


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for what fills it."""
    return (jnp.arange(positions) < lengths[..., None] - 1).astype(jnp.float32)


def summed_loss(params, config, attend, compute, positions, tokens, lengths, drop=regularizers.no_dropout,
                objective=regularizers.Objective()):
    """Nats over every target of [R, T + 1] rows; the gradient is that of the objective."""
    hidden = model.forward(params, config, tokens[:, :-1], attend, compute, drop)
    head = model.for_gradients(model.head_matrix(params), config, compute)
    weights = weights_of(lengths, tokens.shape[1] - 1)
    return loss.cross_entropy(config, positions, head, hidden, tokens[:, 1:], weights, objective)


def make_train_step(config, attend, compute, positions, seed=0):
    """(state, tokens [M, R, T + 1], lengths [M, R], rate, stop [devices]) to (state, metrics)."""
    optimizer = optim.make(config.optimizer)

    def gradients(params, number, tokens, lengths):
        total = jnp.sum(lengths - 1).astype(jnp.float32)
        pieces, rows = lengths.shape

        def share(params, tokens, lengths, first):
            options = regularizers.in_training(config.regularizers, seed, number, first, rows)
            return summed_loss(params, config.model, attend, compute, positions, tokens, lengths, **options) / total

        if pieces == 1:
            return jax.value_and_grad(share)(params, tokens[0], lengths[0], 0), total

        def add(carry, piece):
            return jax.tree.map(jnp.add, carry, jax.value_and_grad(share)(params, *piece)), None

        zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        return lax.scan(add, zero, (tokens, lengths, rows * jnp.arange(pieces)))[0], total

    def train_step(state, tokens, lengths, rate, stop):
        params = state["params"]
        (mean_loss, grads), total = gradients(params, state["step"], tokens, lengths)
        norm = optax.tree.norm(grads)
        watch, take = guard.judge(config.guard, state["guard"], mean_loss,
                                  guard.unheld(norm, config.optimizer.clip))
        if config.optimizer.clip:
            grads = jax.tree.map(lambda grad: grad * jnp.minimum(1.0, config.optimizer.clip / norm), grads)
        directions, kept = optimizer.update(grads, state["optimizer"], params)

        def unless_skipped(new, old):
            return jax.tree.map(lambda a, b: jnp.where(take, a, b), new, old)

        before = state
        state = {
            "params": jax.tree.map(lambda p, u: jnp.where(take, p - rate * u, p), params, directions),
            "optimizer": unless_skipped(kept, state["optimizer"]),
            "guard": watch, "step": state["step"] + 1,
        }
        if config.regularizers.ema:
            mean = regularizers.average(config.regularizers.ema, before["step"], before["average"], state["params"])
            state["average"] = unless_skipped(mean, before["average"])
        skips = jnp.sum(watch["skipped"]).astype(jnp.float32)
        return state, jnp.stack([mean_loss, norm, total, 1.0 - take, skips, jnp.max(stop)])

    return train_step


def make_eval_step(config, attend, compute, positions):
    """(params, tokens [R, T + 1], lengths [R]) to the nats of all their targets."""
    def eval_step(params, tokens, lengths):
        return summed_loss(params, config.model, attend, compute, positions, tokens, lengths)
    return eval_step
