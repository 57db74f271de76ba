"""One training step as one program: gradients over micro-batches, the guard, the update."""

import jax
import jax.numpy as jnp
import optax
from jax import lax

from ..model import experts, families, lora, model, regularizers
from ..objectives import registry
from . import guard, optim, pruning

# The numbers that a step reports, in the order of its one array. Only a model with experts has the last ones.
OF_EXPERTS = experts.Load._fields
METRICS = ("loss", "grad_norm", "tokens", "skipped", "skips", "stop", *OF_EXPERTS)


def new_state(config, key):
    if config.lora.rank:
        whole = families.learned_whole(config.model)
        return state_around(config, lora.fresh(config.lora, model.shapes(config.model), key, whole))
    return state_around(config, model.init(config.model, key))


def state_around(config, params):
    """The state before the first step, with these parameters, or with these adapters of frozen ones."""
    averaged = {"average": jax.tree.map(jnp.copy, params)} if config.regularizers.ema else {}
    return {"params": params, "optimizer": optim.make(config.optimizer, config.model.family).init(params),
            "guard": guard.fresh(config.guard), "step": jnp.int32(0), **averaged}


def summed_loss(params, objective, attend, compute, positions, batch, keys=None, drop=regularizers.no_dropout,
                penalties=regularizers.Penalties()):
    """Returns (the loss over the scored targets of rows [R, T + 1], the loads of experts; None without). The gradient
    has the penalties, too, but not those of the loads. `batch`: tokens, lengths, weights; `keys`: of the rows, for an
    objective that draws."""
    examples = objective.examples(*batch, keys)
    hidden, loads = states(params, objective.model, attend, compute, examples, drop, training=True)
    return objective.loss(params, positions, examples, hidden, penalties)[0], loads


def states(params, config, attend, compute, examples, drop=regularizers.no_dropout, training=False):
    """Returns (the hidden states that predict, [R, K, d]; the loads of experts)."""
    hidden, loads = model.forward_with_loads(params, config, examples.ids, attend, compute, drop, examples.layout,
                                             examples.given, training)
    if examples.places is not None:
        hidden = jnp.take_along_axis(hidden, examples.places[..., None], axis=1)
    return hidden, loads


def make_train_step(config, attend, compute, positions, seed=0, objective=None):
    """(state, batch, rate, stop [devices], base) to (state, metrics). A batch is tokens [M, R, T + 1], lengths [M, R]
    and weights [M, R, T + 1], or None instead of weights: then the program has nothing of them. `base`: frozen
    parameters that have adapters; None: there are none. The loss and the gradient of a step without a scored target are
    0, and the guard does not remember it."""
    optimizer, objective = optim.make(config.optimizer, config.model.family), objective or registry.of(config)

    def gradients(params, number, batch, base):
        _, lengths, weights = batch
        pieces, rows = lengths.shape
        keys = None
        if objective.on_device:
            keys = regularizers.row_keys(seed, number, 0, pieces * rows, regularizers.OF_HIDING).reshape(pieces, rows)
        total = objective.scored(batch, keys)
        batch = objective.in_step(batch, total)
        sure = weights is None and not objective.on_device
        divisor = total if sure else jnp.maximum(total, 1.0)

        def share(params, batch, first, keys=None):
            options = regularizers.in_training(config.regularizers, seed, number, first, rows)
            whole = params if base is None else lora.attached(config.lora, base, params)
            nats, loads = summed_loss(whole, objective, attend, compute, positions, batch, keys, **options)
            if loads is None:
                return nats / divisor, ()
            loads = jax.tree.map(lambda load: jnp.where(total > 0, load / (pieces * rows), 0.0), loads)
            return experts.penalised(nats / divisor, loads, options["penalties"]), loads

        drawn = () if keys is None else (keys,)
        if pieces == 1:
            batch, *drawn = jax.tree.map(lambda part: part[0], (batch, *drawn))
            return jax.value_and_grad(share, has_aux=True)(params, batch, 0, *drawn), total

        def add(carry, piece):
            return jax.tree.map(jnp.add, carry, jax.value_and_grad(share, has_aux=True)(params, *piece)), None

        loads = experts.Load(*[jnp.float32(0)] * len(OF_EXPERTS)) if config.model.experts else ()
        zero = (jnp.float32(0), loads), jax.tree.map(jnp.zeros_like, params)
        return lax.scan(add, zero, (batch, rows * jnp.arange(pieces), *drawn))[0], total

    def train_step(state, batch, rate, stop, base=None):
        params = state["params"]
        ((mean_loss, loads), grads), total = gradients(params, state["step"], batch, base)
        norm = optax.tree.norm(grads)
        watch, take = guard.judge(config.guard, state["guard"], mean_loss,
                                  guard.unheld(norm, config.optimizer.clip))
        if batch[2] is not None or objective.on_device:
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
        if config.pruning.share:
            state["params"] = pruning.kept(before["params"], state["params"])
        if config.regularizers.ema:
            mean = regularizers.average(config.regularizers.ema, before["step"], before["average"], state["params"])
            if config.pruning.share:
                mean = pruning.kept(state["params"], mean)
            state["average"] = unless_skipped(mean, before["average"])
        skips = jnp.sum(watch["skipped"]).astype(jnp.float32)
        return state, jnp.stack([mean_loss, norm, total, 1.0 - take, skips, jnp.max(stop), *loads])

    return train_step


def make_eval_step(config, attend, compute, positions, objective=None, labels=None):
    """(params, tokens [R, T + 1], lengths [R], weights [R, T + 1] or None) to the nats of their scored targets; to
    (nats, scored targets, Objective.sums_beside) if only the devices know these. With `labels`: to (this,
    Objective.answers)."""
    objective = objective or registry.of(config)

    def eval_step(params, tokens, lengths, weights=None):
        examples = objective.examples(tokens, lengths, weights, objective.keys_of(tokens, lengths))
        examples = examples._replace(answers=examples.judged or examples.answers)
        hidden, _ = states(params, config.model, attend, compute, examples)
        nats, counted = objective.loss(params, positions, examples, hidden, regularizers.Penalties())
        more = objective.sums_beside(params, examples, hidden)
        sums = jnp.stack([nats, jnp.sum(counted), *more]) if objective.on_device else nats
        if labels is None:
            return sums
        return sums, objective.answers(params, labels, hidden, *examples.answers())
    return eval_step
