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
    return {"params": params, "optimizer": optim.make(config.optimizer, config.model.family).init(params),
            "guard": guard.fresh(config.guard), "step": jnp.int32(0), **averaged}


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for what fills it."""
    return (jnp.arange(positions) < lengths[..., None] - 1).astype(jnp.float32)


def scored_targets(lengths, weights):
    """The number of targets that the loss counts. With weights a step may have none."""
    counted = jnp.sum(lengths - 1) if weights is None else jnp.sum(weights[..., 1:], dtype=jnp.int32)
    return counted.astype(jnp.float32)


def summed_loss(params, config, attend, compute, positions, tokens, lengths, drop=regularizers.no_dropout,
                objective=regularizers.Objective(), weights=None):
    """Nats over every target of [R, T + 1] rows, or over those of weight 1; the gradient is that of the objective."""
    hidden = model.forward(params, config, tokens[:, :-1], attend, compute, drop)
    head = model.for_gradients(model.head_matrix(params), config, compute)
    counted = weights_of(lengths, tokens.shape[1] - 1) if weights is None else weights[:, 1:].astype(jnp.float32)
    return loss.cross_entropy(config, positions, head, hidden, tokens[:, 1:], counted, objective)


def make_train_step(config, attend, compute, positions, seed=0):
    """(state, batch, rate, stop [devices]) to (state, metrics). A batch is tokens [M, R, T + 1], lengths [M, R] and
    weights [M, R, T + 1], or None instead of weights: then the program has nothing of them. The loss and the gradient
    of a step without a scored target are 0, and the guard does not remember it."""
    optimizer = optim.make(config.optimizer, config.model.family)

    def gradients(params, number, batch):
        _, lengths, weights = batch
        total = scored_targets(lengths, weights)
        divisor = total if weights is None else jnp.maximum(total, 1.0)
        pieces, rows = lengths.shape

        def share(params, batch, first):
            tokens, lengths, weights = batch
            options = regularizers.in_training(config.regularizers, seed, number, first, rows)
            return summed_loss(params, config.model, attend, compute, positions, tokens, lengths, weights=weights,
                               **options) / divisor

        if pieces == 1:
            return jax.value_and_grad(share)(params, jax.tree.map(lambda part: part[0], batch), 0), total

        def add(carry, piece):
            return jax.tree.map(jnp.add, carry, jax.value_and_grad(share)(params, *piece)), None

        zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        return lax.scan(add, zero, (batch, rows * jnp.arange(pieces)))[0], total

    def train_step(state, batch, rate, stop):
        params = state["params"]
        (mean_loss, grads), total = gradients(params, state["step"], batch)
        norm = optax.tree.norm(grads)
        watch, take = guard.judge(config.guard, state["guard"], mean_loss,
                                  guard.unheld(norm, config.optimizer.clip))
        if batch[2] is not None:
            watch = jax.tree.map(lambda new, old: jnp.where(total > 0, new, old), watch, state["guard"])
        if config.optimizer.clip:
            grads = jax.tree.map(lambda grad: grad * jnp.minimum(1.0, config.optimizer.clip / norm), grads)
        directions, kept = optimizer.update(grads, state["optimizer"], params, rate=rate)

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
    """(params, tokens [R, T + 1], lengths [R], weights [R, T + 1] or None) to the nats of their scored targets."""
    def eval_step(params, tokens, lengths, weights=None):
        return summed_loss(params, config.model, attend, compute, positions, tokens, lengths, weights=weights)
    return eval_step
