"""The objective `causal`: each id of a row from those before it."""

from .objective import BY_CLASS, USE, Examples, Objective


def weights_of(lengths, positions):
    """1 for each target of a row, 0 for padding."""
    import jax.numpy as jnp
    return (jnp.arange(positions) < lengths[..., None] - 1).astype(jnp.float32)


class Causal(Objective):
    name = "causal"
    families = ("llama", "lm1b")
    answering = BY_CLASS
    task, said = "text-generation", "A decoder language model"
    use = USE.format(auto="AutoModelForCausalLM") + "\nor `pipe sample` on the directory of the run.\n"

    @property
    def places(self):
        return self.model.seq_len

    def examples(self, tokens, lengths, weights, keys):
        import jax.numpy as jnp

        def answers():  # behind the hidden states, so that a program is the one that earlier versions compiled
            known = weights_of(lengths, tokens.shape[1] - 1) if weights is None else weights[:, 1:].astype(jnp.float32)
            return tokens[:, 1:], known
        return Examples(tokens[:, :-1], None, None, answers)

    def scored(self, batch, keys):
        import jax.numpy as jnp
        _, lengths, weights = batch
        counted = jnp.sum(lengths - 1) if weights is None else jnp.sum(weights[..., 1:], dtype=jnp.int32)
        return counted.astype(jnp.float32)
