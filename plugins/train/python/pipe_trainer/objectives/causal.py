"""The objective `causal`: each id of a row from those before it."""

from .objective import BY_CLASS, USE, Examples, Objective


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
            known = jnp.arange(tokens.shape[1] - 1) < lengths[..., None] - 1 if weights is None else weights[:, 1:]
            known = known.astype(jnp.float32)
            return tokens[:, 1:], known
        return Examples(tokens[:, :-1], None, None, answers)

    def scored(self, batch, keys):
        import jax.numpy as jnp
        _, lengths, weights = batch
        counted = jnp.sum(lengths - 1) if weights is None else jnp.sum(weights[..., 1:], dtype=jnp.int32)
        return counted.astype(jnp.float32)
