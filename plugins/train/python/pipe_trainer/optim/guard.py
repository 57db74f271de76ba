"""Against single bad steps: an update whose loss or gradient is not finite, or far above those before it, is left
out; a gradient that clipping holds does no harm. How many were, and what then, is decided by the loop."""

import jax.numpy as jnp


def fresh(config):
    """Part of the state, so that a resumed run judges as an uninterrupted one."""
    return {"losses": jnp.zeros(config.window), "norms": jnp.zeros(config.window),
            "skipped": jnp.zeros(config.window, bool), "seen": jnp.int32(0)}


def unheld(norm, clip):
    """What of the norm of a gradient clipping at `clip` leaves to judge: whether it is finite. 0 clips nothing."""
    return jnp.where(jnp.isfinite(norm), 0.0, norm) if clip else norm


def judge(config, watch, loss, norm):
    """(the window with this step, whether to take its update)."""
    finite = jnp.isfinite(loss) & jnp.isfinite(norm)
    take = finite
    if config.sigmas:
        full = watch["seen"] >= config.window
        for value, before in ((loss, watch["losses"]), (norm, watch["norms"])):
            take &= ~full | (value <= jnp.mean(before) + config.sigmas * jnp.std(before))
    slot = watch["seen"] % config.window

    def note(values, value):  # a skipped loss counts as well: a lasting new level must not be skipped for ever
        return jnp.where(finite, values.at[slot].set(value), values)

    return {"losses": note(watch["losses"], loss), "norms": note(watch["norms"], norm),
            "skipped": watch["skipped"].at[watch["seen"] % config.window].set(~take),
            "seen": watch["seen"] + 1}, take


def forgive(watch):
    """After going back: the skips are dealt with."""
    return {**watch, "skipped": jnp.zeros_like(watch["skipped"])}
